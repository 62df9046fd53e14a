"""The English of addresses that are refused: templates for `str.format`, filled where a result is found."""


# --- addresses.py ---

SERVER_OF_SITE = "{server} port {port} is a server of this site itself."
NO_WEBHOOK_NETWORK = "{server} is {reason}, and lies in no network that the operator allows for webhooks."
PLAIN_HTTP = "{server} would be told over plain http: write https://."
NO_WEBHOOK_PORT = "Port {port} of {server} is not among the ports of webhooks that the operator allows: {ports}."
NO_ADDRESS = "“{text}” is no address: write host:port, or [IPv6 address]:port."
OWN_SERVER_NEVER_ALLOWED = "{server} port {port} is a server of this site itself: nobody can allow it."
NEVER_ALLOWED = "{server} is {reason}: nobody can allow it."
MAY_BE_ALLOWED = "{server} is {reason}: an operator of this site can allow {example} on the page Networks."
OUTSIDE_NETWORKS = (
    "{server} lies outside the networks ({networks}) that operators of this site allow your team on the page Networks."
)
UNKNOWN_NAME = "“{host}” is no address, and no name that a name server knows: check how it is spelt."
NAME_SERVERS_FAILED = "No name server tells the address of “{host}” at the moment: try again, or write its IP address."
NO_SINGLE_MACHINE = "no address of a single machine"
THIS_MACHINE = "an address of this machine"

# --- encryption.py ---

OTHER_SECRET_KEY = (
    "Its secret was kept under another BENCHSITE_SECRET_KEY. Add that one to BENCHSITE_SECRET_KEY_FALLBACKS, or give "
    "it a new secret."
)

# --- env.py ---

WRITE_NETWORKS = "{name}: {error}; write networks such as 10.0.0.0/8."

# --- http_client.py ---

CERTIFICATE_REFUSED = "Its certificate is not accepted: {reason}."
CONNECTION_REFUSED = "Nothing listens there: the connection was refused."
NO_HTTP = "What it answered is no HTTP."

# --- production.py ---

WRITE_HTTPS = "{variable}={url!r}: write https:// and the name of the site."
SITE_AT_ROOT = "{variable}={url!r}: the site lives at the root of a host, so write no path."

"""The English of tokens and second factors: templates for `str.format`, filled where a result is found."""


# --- tokens.py ---

MEMBERS_ONLY = "Only members of a team make tokens of it."
NO_SCOPE = "Choose at least one thing that the token may do."
BEYOND_ROLE = "A {role} cannot give {scopes} to a token."
LIFE_TOO_LONG = "A token lives at most {days} days."
TOKEN_ENDED = "“{name}” has ended: make a new token."
TOKEN_ROTATED = "“{name}” was rotated already: use its successor."

# --- second_factor.py ---

TOO_MANY_CODES = "Too many wrong codes. Wait {minutes} minutes."
CODE_USED = "This code was already stated. Wait for the next one."
KEY_CHANGED = "The site's key has changed. Ask an operator to remove your second factor."

# --- membership.py ---

TOO_MANY_INVITATIONS = "{limit} invitations are open already: withdraw some first."

# --- networks.py ---

NO_NETWORK = "{error}. Write a network such as 10.0.0.0/8 or one address."
NETWORK_NEVER_ALLOWED = "{network} is link-local or multicast: no server may lie there."
TOO_MANY_NETWORKS = "A team has at most {limit} networks: withdraw some first."

# --- oidc.py ---

CONTROL_CHARACTERS = "text without control characters, please"
ID_TOKEN_OF_OTHER_CLIENT = "The ID token was issued for another client."

# --- password_validation.py ---

PASSWORD_IS_SITE_WORD = "Your password cannot be a name of this site, with or without digits."

# --- sign_in_link.py ---

SIGN_IN_LINKS_EMBEDDED_ONLY = (
    "One-time sign-in links exist only on a site with its own embedded servers (no DATABASE_URL, no REDIS_URL): sign "
    "in with a password, which `manage.py createsuperuser` sets."
)

# --- sso.py ---

SIGN_IN_CONNECTED = "From now on you can sign in through {name} too."

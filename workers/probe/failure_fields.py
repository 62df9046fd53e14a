"""In which fields of a form the failure of a client is corrected, by what servers and drivers say of it.

Their texts have no common codes; the phrases are those that the servers send in English. Benchsite's own are "no answer
within" and "has no" of a database, keyspace or namespace. Where none fits, the caller's own answer holds.
"""

import re
from collections.abc import Iterable
from typing import Final

# The first that fits tells: a server without space may also say that it refuses a write.
_PHRASES: Final = (
    # What is amiss is at the server: no field mends it.
    ((), "MISCONF|[Nn]o space left|[Dd]isk full|could not extend file|OOM command|NOREPLICAS|READONLY|LOADING"),
    ((), "[Tt]oo many (?:connections|clients)|max number of clients|connection slots|too large|is full"),
    # libpq reports the tries with TLS and without it: of a wrong password the second one may name pg_hba.conf.
    (("user", "password"), "password authentication failed"),
    (("user", "database", "ssl"), "pg_hba"),
    (("certificate", "key"), "(?i:bad[_ ]certificate|unknown[_ ]ca|certificate[_ ]required|client certificate)"),
    (("ssl", "ca"), "SSL|TLS|[Cc]ertificate|CERTIFICATE|PKIX|secure transport"),
    (("database",), "Unknown database|database .* does not exist|has no (?:database|keyspace|namespace)|DB index"),
    (("user", "database"), "Access denied .* to database"),
    (("user",), "NOPERM|[Pp]ermission|privilege|command denied|not authorized|AccessDenied"),
    # Where an account demands TLS or a certificate, MariaDB denies access as for a wrong password.
    (("user", "password", "ssl", "certificate", "key"), "Access denied"),
    (("user", "password"), "WRONGPASS|NOAUTH|AUTH |[Aa]uthenticat|[Pp]assword|credential|role .* (?:does|is) not"),
    # A server that expects TLS, or does not know it, waits or hangs up.
    (("address", "ssl"), "[Tt]imeout|[Tt]imed out|no answer within|[Cc]onnection closed|reset by peer"),
)


def find_fields(text: str, offered: Iterable[str], otherwise: Iterable[str] = ()) -> tuple[str, ...]:
    """The address and those of the `offered` fields that belong to the failure; of `otherwise` where nothing tells."""
    belonging: Iterable[str] = next((fields for fields, phrases in _PHRASES if re.search(phrases, text)), otherwise)
    return tuple(name for name in belonging if name in (*offered, "address"))

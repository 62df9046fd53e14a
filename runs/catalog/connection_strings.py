"""Connection strings as people paste them: postgresql://user:password@host/database?sslmode=require, host lists.

Pure. Nothing is refused here: what a string has beside these parts is left out, and the form's fields check the rest.
"""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote, urlsplit

from runs.catalog.records import System

_JDBC = "jdbc:"
_SCHEME = re.compile(r"[a-z][a-z0-9+]*://", re.I)
_DNS_RECORD = "+srv"
_HOST = re.compile(r"[^\s,;]+")
# Options of URLs that say whether connections are encrypted, and what they say.
_TLS_OPTIONS = frozenset({"ssl", "tls", "sslmode", "usessl"})
_TLS_SYNONYMS = {"verifyca": "verify-ca", "verifyfull": "verify-full", "required": "require", "false": "disable"}
_ENCRYPTED = ("require", "verify-ca")  # of the choices of a system, the one that `ssl=true` means


def parse_connection_string(text: str, systems: Iterable[System]) -> tuple[dict[str, str], bool] | None:
    """The system, the addresses as comma-separated host:port and what is known of the fields of `Endpoint.sign_in`.

    With it, whether the string names a DNS record that lists the servers. None of a text that names no system by its
    scheme, such as host:port.
    """
    url = text.strip().removeprefix(_JDBC)
    if not _SCHEME.match(url):
        return None

    scheme, _, rest = url.partition("://")
    system = next((system for system in systems if scheme.lower() in system.binding.endpoint.schemes), None)
    if system is None:
        return None

    # Several hosts, each with a port, are more than urlsplit takes for one.
    location = re.split(r"[/?#]", rest, maxsplit=1)[0]
    parts = urlsplit(f"//host{rest[len(location) :]}")
    credentials, _, hosts = location.rpartition("@")
    user, _, password = credentials.partition(":")
    values = {"user": unquote(user), "password": unquote(password), "database": unquote(parts.path.strip("/"))}
    values["ssl"] = system.binding.endpoint.schemes[scheme.lower()]
    fields = system.binding.endpoint.sign_in
    names = {field.replace("_", ""): field for field in fields}
    for option, value in parse_qsl(parts.query):
        plain = option.lower().replace("_", "")
        if plain in _TLS_OPTIONS:
            values["ssl"] = _read_tls(system, value)
        elif plain in names:
            values[names[plain]] = value

    addresses = ", ".join(_HOST.findall(hosts))
    values = {name: value for name, value in values.items() if value and name in fields}
    return {"system": system.slug, "address": addresses, **values}, scheme.lower().endswith(_DNS_RECORD)


def _read_tls(system: System, value: str) -> str:
    """The choice of the system's client that the option of a URL means; empty where there is none."""
    choices = system.binding.properties[system.binding.endpoint.ssl].choices
    value = _TLS_SYNONYMS.get(value.lower().replace("-", "").replace("_", ""), value.lower())
    if value == "true":
        return next((choice for choice in _ENCRYPTED if choice in choices), "")
    return value if value in choices else ""

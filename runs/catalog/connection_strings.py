"""Connection strings as people paste them: postgresql://user:password@host/database?sslmode=require, host lists.

Pure. Nothing is refused here: what a string has beside these parts is named as ignored, and the form's fields check the
rest. An option that cannot be read changes no other.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from runs.catalog.records import System

_JDBC: Final = "jdbc:"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+]*://", re.I)
_DNS_RECORD: Final = "+srv"
_HOST: Final = re.compile(r"[^\s,;]+")
# Options of URLs that say whether connections are encrypted, and what they say.
_TLS_OPTIONS: Final = frozenset({"ssl", "tls", "sslmode", "usessl"})
_TLS_SYNONYMS: Final = {
    "verifyca": "verify-ca", "verifyfull": "verify-full", "verifyidentity": "verify-full", "required": "require",
    "preferred": "prefer", "disabled": "disable", "false": "disable",
}  # fmt: skip
# `ssl=true`, and what some clients call encrypted without a check of the certificate.
_ENCRYPTED: Final = ("require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True)
class ConnectionString:
    """`values`: the system, the addresses as comma-separated host:port and fields of `Binding.form_fields`.

    `ignored` names what else the string has. `is_dns_record`: its host is one of a DNS record that lists the servers.
    """

    values: Mapping[str, str]
    ignored: tuple[str, ...] = ()
    is_dns_record: bool = False


def parse_connection_string(text: str, systems: Iterable[System], chosen: str = "") -> ConnectionString | None:
    """None of a text that names no system by its scheme, such as host:port.

    Several systems have a scheme in common: it is the `chosen` one where that is one of them.
    """
    url = text.strip().removeprefix(_JDBC)
    if not _SCHEME.match(url):
        return None

    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    fitting = [system for system in systems if scheme in system.binding.endpoint.schemes]
    if not fitting:
        return None
    system = min(fitting, key=lambda system: (system.slug != chosen, not scheme.startswith(system.slug)))

    # Several hosts, each with a port, are more than urlsplit takes for one.
    location = re.split(r"[/?#]", rest, maxsplit=1)[0]
    parts = urlsplit(f"//host{rest[len(location) :]}")
    credentials, _, hosts = location.rpartition("@")
    user, _, password = credentials.partition(":")
    values = {"user": unquote(user), "password": unquote(password), "database": unquote(parts.path.strip("/"))}
    values["ssl"] = system.binding.endpoint.schemes[scheme]
    options, ignored = read_options(system, parts.query)
    fields = system.binding.form_fields
    lacking = [name for name, value in values.items() if value and name not in fields]
    values = {name: value for name, value in (values | options).items() if value and name in fields}
    address = ", ".join(_HOST.findall(hosts))
    return ConnectionString(
        {"system": system.slug, "address": address, **values}, (*lacking, *ignored), scheme.endswith(_DNS_RECORD)
    )


def read_options(system: System, query: str) -> tuple[dict[str, str], list[str]]:
    """The fields of `Binding.form_fields` that the options of a URL fill, and the names of the others."""
    values, ignored = {}, []
    names = {field.replace("_", ""): field for field in system.binding.form_fields}
    for option, value in parse_qsl(query, keep_blank_values=True):
        plain = option.lower().replace("_", "").replace("-", "")
        ssl = _read_tls(system, value) if plain in _TLS_OPTIONS else ""
        if ssl:
            values["ssl"] = ssl
        elif plain in _TLS_OPTIONS:
            ignored.append(f"{option}={value}")
        elif plain in names:
            values[names[plain]] = value
        else:
            ignored.append(option)
    return values, ignored


def _read_tls(system: System, value: str) -> str:
    """The choice of the system's client that the option of a URL means; empty where there is none."""
    if not system.binding.endpoint.ssl:
        return ""
    choices = system.binding.properties[system.binding.endpoint.ssl].choices
    value = _TLS_SYNONYMS.get(value.lower().replace("-", "").replace("_", ""), value.lower())
    if value in ("true", "require"):
        return next((choice for choice in _ENCRYPTED if choice in choices), "")
    return value if value in choices else ""

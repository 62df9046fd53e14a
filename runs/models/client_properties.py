"""Client properties as columns: the values that hold secrets are encrypted in them."""

import functools
from collections.abc import Mapping
from typing import Any, Final

from django.db import models

from benchsite.core.encryption import CLIENT_PROPERTIES, CannotOpen, seal, unseal
from runs.catalog import GO_FLAVOUR, STOCK_FLAVOUR, load_catalog, secret_properties
from runs.ycsb.redact import HIDDEN, is_secret, redact

SEALED: Final = "sealed"  # the only key of what stands for an encrypted value


class ClientPropertiesField(models.JSONField):
    """Names to texts. What was encrypted under a key that the site has no more is read as it is stored: clients refuse
    it, and nothing is lost when the row is saved.
    """

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(_sealed(value), connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return _opened(super().from_db_value(value, expression, connection))


class ClientOrderField(models.JSONField):
    """A `runs.queue.spec.ClientOrder`, with the client's properties below `properties`."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if isinstance(value, dict) and "properties" in value:
            value = {**value, "properties": _sealed(value["properties"])}
        return super().get_db_prep_value(value, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        value = super().from_db_value(value, expression, connection)
        if isinstance(value, dict) and "properties" in value:
            value["properties"] = _opened(value["properties"])
        return value


def without_secrets(properties: Mapping[str, Any]) -> dict[str, str]:
    """The properties with HIDDEN in the place of every secret."""
    return {
        name: redact(value) if isinstance(value, str) and not _is_secret(name) else HIDDEN
        for name, value in properties.items()
    }


def find_secrets(properties: Mapping[str, Any]) -> list[str]:
    """Names of the properties that are secrets, or hold one."""
    return [name for name, text in without_secrets(properties).items() if text != properties[name]]


def _sealed(properties: Any) -> Any:
    if not isinstance(properties, dict):
        return properties
    return {
        name: {SEALED: seal(text, CLIENT_PROPERTIES)} if isinstance(text, str) and _holds_secret(name, text) else text
        for name, text in properties.items()
    }


def _holds_secret(name: str, text: str) -> bool:
    """Addresses may hold a password, too."""
    return text not in ("", HIDDEN) and (_is_secret(name) or redact(text) != text)


def _is_secret(name: str) -> bool:
    return name in _secret_names() or is_secret(name)


def _opened(properties: Any) -> Any:
    if isinstance(properties, dict):
        return {name: _text(text) for name, text in properties.items()}
    return properties


def _text(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    try:
        return unseal(value[SEALED], CLIENT_PROPERTIES)
    except CannotOpen:
        return value


@functools.cache
def _secret_names() -> frozenset[str]:
    """The secret properties of the clients of every system, of every flavour."""
    names: set[str] = set()
    for system in load_catalog().systems.values():
        for flavour in ("", STOCK_FLAVOUR, GO_FLAVOUR):
            names.update(secret_properties(system.with_client(flavour)))
    return frozenset(names)

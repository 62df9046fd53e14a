"""Client properties as a column: the values of secret ones are encrypted in it."""

import functools
from typing import Any, Final

from django.db import models

from benchsite.teams.encryption import CLIENT_PROPERTIES, CannotOpen, seal, unseal
from runs.catalog import load_catalog, secret_properties

SEALED: Final = "sealed"  # the only key of what stands for an encrypted value


class ClientPropertiesField(models.JSONField):
    """Names to texts. What was encrypted under a key that the site has no more is read as it is stored: clients refuse
    it, and nothing is lost when the row is saved.
    """

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if isinstance(value, dict):
            value = {
                name: {SEALED: seal(text, CLIENT_PROPERTIES)}
                if name in _secret_names() and isinstance(text, str) and text
                else text
                for name, text in value.items()
            }
        return super().get_db_prep_value(value, connection, prepared)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        value = super().from_db_value(value, expression, connection)
        return {name: _opened(text) for name, text in value.items()} if isinstance(value, dict) else value


def _opened(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    try:
        return unseal(value[SEALED], CLIENT_PROPERTIES)
    except CannotOpen:
        return value


@functools.cache
def _secret_names() -> frozenset[str]:
    """Of the clients of every system, stock ones included."""
    systems = load_catalog().systems.values()
    flavours = [client for system in systems for client in (system, system.with_client("ycsb"))]
    return frozenset(name for system in flavours for name in secret_properties(system))

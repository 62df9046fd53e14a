"""The systems Benchsite knows: bindings, durability modes, settings and recipes, read from one TOML file each.

Pure: no Django, and nothing read but the files beside this module.
"""

from runs.catalog.durability import Durability, Survival
from runs.catalog.loader import load_catalog, read_catalog, read_system
from runs.catalog.reading import CatalogError
from runs.catalog.records import (
    Binding,
    Catalog,
    Endpoint,
    Mode,
    ProcessRecipe,
    Readback,
    System,
    UnknownMode,
    UnknownName,
    UnknownSystem,
)
from runs.catalog.rendering import (
    RenderedServer,
    client_properties,
    render_config,
    render_server,
    secret_properties,
    server_settings,
)
from runs.declared import Property, PropertyError, check_properties

__all__ = [
    "Binding",
    "Catalog",
    "CatalogError",
    "Durability",
    "Endpoint",
    "Mode",
    "ProcessRecipe",
    "Property",
    "PropertyError",
    "Readback",
    "RenderedServer",
    "Survival",
    "System",
    "UnknownMode",
    "UnknownName",
    "UnknownSystem",
    "check_properties",
    "client_properties",
    "load_catalog",
    "read_catalog",
    "read_system",
    "render_config",
    "render_server",
    "secret_properties",
    "server_settings",
]

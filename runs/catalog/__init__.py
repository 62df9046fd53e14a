"""The systems Benchsite knows: bindings, durability modes, settings and recipes, read from one TOML file each.

Pure: no Django, and nothing read but the files beside this module.
"""

from runs.catalog.configuration import (
    RenderedServer,
    client_properties,
    data_target,
    node_count,
    render_config,
    render_server,
    scans,
    secret_properties,
    server_settings,
    site_files,
    start_problem,
)
from runs.catalog.durability import Durability, Survival, same_class
from runs.catalog.loader import load_catalog, read_catalog, read_system
from runs.catalog.recognition import recognise
from runs.catalog.records import (
    GO_FLAVOUR,
    MAX_OWN_MODES,
    OTHER_SYSTEM,
    STATED_SUFFIX,
    STOCK_FLAVOUR,
    UNKNOWN_MODE,
    UPLOAD_NAMES,
    BadTag,
    Binding,
    Catalog,
    Endpoint,
    ImageRecipe,
    Mode,
    OwnMode,
    ProcessRecipe,
    Readback,
    Recognition,
    System,
    UnknownMode,
    UnknownName,
    UnknownSystem,
    flavour_of,
)
from runs.catalog.toml_table import CatalogError
from runs.property_schema import Property, PropertyError, check_properties

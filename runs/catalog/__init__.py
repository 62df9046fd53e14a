"""The systems Benchsite knows: bindings, durability modes, settings and recipes, read from one TOML file each.

Pure: no Django, and nothing read but the files beside this module.
"""

from runs.catalog.configuration import (
    RenderedServer,
    client_properties,
    copies_problem,
    count_copies,
    count_servers,
    data_target,
    node_count,
    ports_problem,
    refuse_fixed_settings,
    render_server,
    scans,
    secret_properties,
    server_settings,
    site_files,
    start_problem,
)
from runs.catalog.durability import Durability
from runs.catalog.loader import load_catalog
from runs.catalog.recognition import JDBC, recognise
from runs.catalog.records import (
    GO_FLAVOUR,
    MAX_OWN_MODES,
    OTHER_SYSTEM,
    OWN_FLAVOUR,
    STATED_SUFFIX,
    STOCK_FLAVOUR,
    UNCHECKED,
    UNKNOWN_MODE,
    UPLOAD_NAMES,
    BadTag,
    Catalog,
    ImageRecipe,
    Mode,
    OwnMode,
    ProcessRecipe,
    System,
    UnknownMode,
    UnknownName,
    UnknownSystem,
    get_flavour,
)
from runs.ycsb.property_schema import Property, PropertyError

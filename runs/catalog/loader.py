"""Reading the catalog: `system.toml` of each system's folder, checked as a whole before anybody sees it.

CatalogError        a file is wrong: which one, where in it, and what would be right
"""

import dataclasses
import functools
import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from runs.catalog.configuration import render_config
from runs.catalog.durability import Durability
from runs.catalog.property_schema import Kind, Property, PropertyError, check_properties
from runs.catalog.records import (
    OTHER_SYSTEM,
    STATED_SUFFIX,
    UNKNOWN_MODE,
    BadTag,
    Binding,
    Catalog,
    ConfigFormat,
    Endpoint,
    ImageRecipe,
    Mode,
    ProcessRecipe,
    Readback,
    Recognition,
    StockClient,
    System,
)
from runs.catalog.toml_table import CatalogError, Table, check_slug

# One folder per system: its description, binding, servers and verifications. Only the description is read here.
SYSTEMS = Path(__file__).resolve().parents[2] / "workers" / "systems"
DESCRIPTION = "system.toml"
SHARED = "shared.toml"  # what is no system: the properties that all bindings have
# What the templates of a recipe may speak of.
PROGRAMS = frozenset({"program", "bin", "lib"})
ADDRESS_PROPERTIES = ("host", "port", "user", "password", "database", "ssl", "url", "folder")
PLACEHOLDERS = PROGRAMS | {
    "folder", "config", "data", "host", "port", "cluster_port", "seeds", "token", "primary", "node", "user", "password",
    "password_file",
}  # fmt: skip
# Names of images have small letters, as those of their registries do.
_REPOSITORY = re.compile(r"[a-z0-9]+([._/-][a-z0-9]+)*")


@functools.cache
def load_catalog() -> Catalog:
    """The catalog that ships with Benchsite, read once."""
    return read_catalog(read_files())


def read_files() -> dict[str, str]:
    """The files of the catalog: `shared.toml` and `SYSTEM/system.toml` to their texts."""
    files = {f"{path.parent.name}/{DESCRIPTION}": path.read_text("utf-8") for path in SYSTEMS.glob(f"*/{DESCRIPTION}")}
    return {SHARED: Path(__file__).with_name(SHARED).read_text("utf-8"), **files}


def read_catalog(files: Mapping[str, str]) -> Catalog:
    """The catalog of these files (name to text). Raises CatalogError."""
    systems: dict[str, System] = {}
    digest = hashlib.sha256()
    shared = _shared(files[SHARED]) if SHARED in files else {}
    for name, text in sorted(files.items()):
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
        if name == SHARED:
            continue
        system = read_system(text, name, shared)
        if system.slug in systems:
            raise CatalogError(f"{name}: another file already describes {system.slug}")
        systems[system.slug] = system
    return Catalog(systems, digest.hexdigest())


def read_system(text: str, file: str, shared: Mapping[str, Property] = MappingProxyType({})) -> System:
    """The system that one file describes; `shared` are the properties all bindings have. Raises CatalogError."""
    with Table(_toml(text, file), file) as table:
        settings = _properties(table, "settings")
        # YCSB's own client knows nothing of Benchsite's properties.
        binding = _binding(table.table("binding"), shared if table.flag("own_client") else {})
        modes = _modes(table.table("modes"), settings, binding)
        process = _process(table.table("process"), settings) if "process" in table else None
        return table.record(
            System,
            slug=_not(OTHER_SYSTEM, table.slug("slug"), table),
            recognition=_recognition(table.table("ycsb")) if "ycsb" in table else Recognition(),
            binding=binding,
            settings=settings,
            modes=modes,
            process=process,
            image=_image(table.table("image"), process, settings) if "image" in table else None,
            stock=_stock(table.table("stock"), modes) if "stock" in table else None,
            go=_stock(table.table("go"), modes) if "go" in table else None,
        )


def _not(reserved: str, slug: str, table: Table) -> str:
    if slug == reserved:
        raise table.error(f"{slug} stands for what the catalog does not know; choose another name")
    return slug


def _recognition(table: Table) -> Recognition:
    with table:
        recognition = table.record(Recognition)
        for key, names in dataclasses.asdict(recognition).items():
            if [name.lower() for name in names] != list(names):
                raise table.error(f"write {key} in small letters")
        return recognition


def _shared(text: str) -> dict[str, Property]:
    with Table(_toml(text, SHARED), SHARED) as table:
        return _properties(table, "properties")


def _toml(text: str, file: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"{file}: {error}") from None


def _binding(table: Table, shared: Mapping[str, Property]) -> Binding:
    with table:
        properties = {**_properties(table, "properties"), **shared}
        endpoint = _endpoint(table.table("endpoint"), properties) if "endpoint" in table else Endpoint()
        target = table.text("target", "")
        _check_placeholders(table, [target], frozenset({"database", "table"}))
        return table.record(
            Binding,
            name=table.slug("name"),
            properties=properties,
            endpoint=endpoint,
            when_scanning=_checked(table, "when_scanning", properties),
            target=target,
            fixed=_checked(table, "fixed", properties),
        )


def _stock(table: Table, modes: Mapping[str, Mode]) -> StockClient:
    with table:
        binding = _binding(table.table("binding"), {})
        requests, no_modes = table.table("modes"), table.mapping("no_modes")
        for slug in (*requests.names(), *no_modes):
            if slug not in modes:
                raise table.error(f"{slug} is no durability mode of this system")
        with requests:
            stock = {slug: _checked(requests, slug, binding.properties) for slug in requests.names()}
        return table.record(StockClient, binding=binding, modes=stock, no_modes=no_modes)


def _endpoint(table: Table, properties: Mapping[str, Property]) -> Endpoint:
    with table:
        endpoint = table.record(Endpoint)
        _check_placeholders(table, [endpoint.template], frozenset({"nodes", "database", "credentials", "options"}))
        named = {key: [table.text(key)] for key in ADDRESS_PROPERTIES if key in table}
        for key, names in {**named, "options": endpoint.options}.items():
            for name in names:
                if name not in properties:
                    raise table.error(f"{key} names {name!r}, which is no property of the binding")
        if not endpoint.default_port and endpoint.port:
            return dataclasses.replace(endpoint, default_port=int(properties[endpoint.port].default or 0))
        return endpoint


def _properties(parent: Table, key: str) -> dict[str, Property]:
    tables = parent.table(key)
    return {name: _property(name, tables.table(name)) for name in tables.names()}


def _property(name: str, table: Table) -> Property:
    with table:
        kind = table.word("type", Kind)
        choices = table.texts("choices", required=kind == "choice")
        pattern = table.text("pattern", "")
        try:
            re.compile(pattern)
        except re.error as error:
            raise table.error(f"pattern: {error}") from None
        default = table.text("default") if "default" in table else None
        declared = table.record(
            Property, name=name, type=kind, default=default, choices=choices, pattern=pattern, help=table.text("help")
        )
        if declared.default is not None:
            _check_default(table, declared, declared.default)
        return declared


def _check_default(table: Table, declared: Property, default: str) -> None:
    try:
        canonical = declared.check(default)
    except PropertyError as error:
        raise table.error(f"the default is wrong: {error}") from None
    if canonical != default:
        raise table.error(f"write the default as {canonical!r}, not {default!r}")


def _modes(parent: Table, settings: Mapping[str, Property], binding: Binding) -> dict[str, Mode]:
    modes: dict[str, Mode] = {}
    for slug in parent.names():
        _not(UNKNOWN_MODE, check_slug(slug, parent.where), parent)
        if slug.endswith(STATED_SUFFIX):
            raise parent.error(f"{slug}: names that end with {STATED_SUFFIX} are those of databases' own modes")
        with parent.table(slug) as table:
            server = _checked(table, "server", settings)
            # Every setting of the mode is read back; `readback` adds what the mode relies on without setting it.
            expected = {**server, **_checked(table, "readback", settings)}
            modes[slug] = table.record(
                Mode,
                slug=slug,
                durability=_durability(table.table("durability")),
                server_settings=server,
                client_properties=_checked(table, "client", binding.properties),
                readback=tuple(Readback(setting, text) for setting, text in expected.items()),
            )
    if not modes:
        raise parent.error("a system needs at least one durability mode")
    return modes


def _durability(table: Table) -> Durability:
    with table:
        window = table.value("loss_window_s")
        record = {key: table.value(key) for key in ("ack", "replicas_acked", "replica_ack", "reads")}
        record["worst_loss_window_s"] = table.value("worst_loss_window_s") if "worst_loss_window_s" in table else None
        try:
            return Durability.from_dict({**record, "loss_window_s": None if window == "unbounded" else window})
        except ValueError as error:
            raise table.error(str(error)) from None


def _process(table: Table, settings: Mapping[str, Property]) -> ProcessRecipe:
    with table:
        config_format: ConfigFormat = table.word("config_format", ConfigFormat) if "config_format" in table else "none"
        config_name = table.text("config_name") if config_format != "none" else ""
        fixed = _fixed(table, config_format, settings)
        argv = table.texts("argv", required=True)
        init_argv = table.texts("init_argv")
        not_in_config = table.texts("not_in_config")
        if unknown := set(not_in_config) - settings.keys():
            raise table.error(f"not_in_config: no such settings: {', '.join(sorted(unknown))}.")
        config_head = table.text("config_head", "")
        texts = (*argv, *init_argv, *fixed.values(), config_head)
        _check_placeholders(table, texts, PLACEHOLDERS | set(not_in_config))
        recipe = table.record(
            ProcessRecipe,
            config_name=config_name,
            fixed=fixed,
            settings=_checked(table, "settings", settings),
            files=_files(table, config_name),
            facts=_checked(table, "facts", settings),
            primary=None,
            replica=None,
        )
        return dataclasses.replace(
            recipe,
            primary=_node_recipe(table, "primary", recipe, settings),
            replica=_node_recipe(table, "replica", recipe, settings),
        )


def _node_recipe(
    parent: Table, name: str, recipe: ProcessRecipe, settings: Mapping[str, Property]
) -> ProcessRecipe | None:
    """The recipe of a primary or a replica: command lines of its own, and more settings and files."""
    if name not in parent:
        return None
    table = parent.table(name)
    with table:
        fixed = {**recipe.fixed, **_fixed(table, recipe.config_format, settings)}
        argv, init_argv = table.texts("argv") or recipe.argv, table.texts("init_argv") or recipe.init_argv
        config_head = recipe.config_head + table.text("config_head", "")
        texts = (*argv, *init_argv, *fixed.values(), config_head)
        _check_placeholders(table, texts, PLACEHOLDERS | set(recipe.not_in_config))
        return dataclasses.replace(
            recipe,
            argv=argv,
            init_argv=init_argv,
            fixed=fixed,
            files={**recipe.files, **_files(table, recipe.config_name)},
            config_head=config_head,
        )


def _files(table: Table, config_name: str) -> dict[str, str]:
    files = table.mapping("files")
    for name in files:
        if not re.fullmatch(r"[a-z][a-z0-9_.-]{0,39}", name) or name == config_name:
            raise table.error(f"files: {name!r} cannot stand beside {config_name}")
    return files


def _fixed(table: Table, config_format: ConfigFormat, settings: Mapping[str, Property]) -> dict[str, str]:
    fixed = table.mapping("fixed")
    for name in fixed:
        if name in settings:
            raise table.error(f"{name} is fixed, so it must not be declared as a setting too")
    try:
        render_config(config_format, fixed)
    except PropertyError as error:
        raise table.error(f"fixed: {error}") from None
    return fixed


def _image(table: Table, process: ProcessRecipe | None, settings: Mapping[str, Property]) -> ImageRecipe:
    """What a container adds to the recipe of the plain process, whose configuration it shares."""
    if process is None:
        raise table.error("an image needs a part [process] too, whose configuration it shares")
    with table:
        fixed = _fixed(table, process.config_format, settings)
        files = _files(table, process.config_name)
        argv, init_argv = table.texts("argv", required=True), table.texts("init_argv")
        known = (PLACEHOLDERS | set(process.not_in_config)) - PROGRAMS
        _check_placeholders(table, (*argv, *init_argv, *fixed.values()), known)
        repository = table.text("repository")
        if not _REPOSITORY.fullmatch(repository):
            raise table.error(f"repository is {repository!r}: write the image's name without a tag")

        def adapted(recipe: ProcessRecipe | None, name: str) -> ProcessRecipe | None:
            """A primary or replica in a container, with the image's command lines or those of its own part."""
            if recipe is None:
                return None
            lines = argv, init_argv
            if name in table:
                with table.table(name) as own:
                    lines = own.texts("argv") or argv, own.texts("init_argv") or init_argv
            return dataclasses.replace(
                recipe,
                argv=lines[0],
                init_argv=lines[1],
                fixed={**recipe.fixed, **fixed},
                files={**recipe.files, **files},
            )

        recipe = ImageRecipe(
            repository=repository,
            tag=table.text("tag"),
            user=table.text("user"),
            process=dataclasses.replace(
                process,
                argv=argv,
                init_argv=init_argv,
                fixed={**process.fixed, **fixed},
                files=files,
                primary=adapted(process.primary, "primary"),
                replica=adapted(process.replica, "replica"),
            ),
        )
        try:
            recipe.reference(recipe.tag)
        except BadTag as error:
            raise table.error(str(error)) from None
        return recipe


def _check_placeholders(table: Table, texts: Iterable[str], known: frozenset[str]) -> None:
    for name in re.findall(r"\{([^{}]*)\}", "\n".join(texts)):
        if name not in known:
            raise table.error(f"{{{name}}} stands for nothing; known are {', '.join(sorted(known))}")


def _checked(table: Table, key: str, declared: Mapping[str, Property]) -> dict[str, str]:
    """A table of values of declared properties, in canonical form."""
    texts = table.mapping(key)
    try:
        return check_properties(declared, texts)
    except PropertyError as error:
        raise table.error(f"{key}: {error}") from None

"""Reading the catalog: `system.toml` of each system's folder, checked as a whole before anybody sees it."""

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import TypeAdapter, ValidationError

from runs.catalog.configuration import render_config
from runs.catalog.messages import (
    CONFIGURATION_FILE,
    FIXED_AND_DECLARED,
    IMAGE_WITHOUT_PROCESS,
    NAME_WITHOUT_FORMAT,
    NO_MODE_OF_SYSTEM,
    NO_PLACEHOLDER,
    NO_PROPERTY_OF_BINDING,
    NO_SUCH_SETTINGS,
    PROPERTIES_ONLY,
    RESERVED_MODE,
    RESERVED_SLUG,
    RESERVED_SUFFIX,
)
from runs.catalog.records import (
    OTHER_SYSTEM,
    SIGN_IN,
    STATED_SUFFIX,
    UNKNOWN_MODE,
    Binding,
    Catalog,
    ImageRecipe,
    NodeRecipe,
    ProcessRecipe,
    Properties,
    StockClient,
    System,
)
from runs.ycsb.property_schema import Property, PropertyError, check_properties

# One folder per system: its description, binding, servers and verifications. Only the description is read here.
SYSTEMS = Path(__file__).resolve().parents[2] / "workers" / "systems"
DESCRIPTION = "system.toml"
SHARED = "shared.toml"  # what is no system: the properties that all bindings have
# What the templates of a recipe may speak of.
PROGRAMS = frozenset({"program", "bin", "lib"})
ADDRESS_PROPERTIES = ("host", "port", *SIGN_IN, "url", "folder")
PLACEHOLDERS = PROGRAMS | {
    "folder", "config", "data", "host", "port", "cluster_port", "seeds", "token", "primary", "node", "user", "password",
    "password_file",
}  # fmt: skip


class CatalogError(ValueError):
    """A catalog file is wrong. The message names the file, the place in it and what would be right."""


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
    shared = _read_shared(files[SHARED]) if SHARED in files else {}
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
    try:
        system = System.model_validate_json(_toml_as_json(text, file))
    except ValidationError as error:
        raise CatalogError(f"{file}{_explain(error)}") from None

    if system.own_client:  # YCSB's own client knows nothing of Benchsite's properties.
        binding = system.binding
        properties = {**binding.properties, **shared}
        system = system.model_copy(update={"binding": binding.model_copy(update={"properties": properties})})

    for problem in _find_problems(system):
        raise CatalogError(f"{file}, {problem}")

    modes = {slug: mode.model_copy(update={"slug": slug}) for slug, mode in system.modes.items()}
    return system.model_copy(update={"modes": modes})


def _read_shared(text: str) -> dict[str, Property]:
    try:
        tables = TypeAdapter(dict[str, Properties]).validate_json(_toml_as_json(text, SHARED))
    except ValidationError as error:
        raise CatalogError(f"{SHARED}{_explain(error)}") from None
    if list(tables) != ["properties"]:
        raise CatalogError(PROPERTIES_ONLY.format(file=SHARED))
    return {**tables["properties"]}


def _toml_as_json(text: str, file: str) -> str:
    """JSON, in which strict models take lists for tuples."""
    try:
        return json.dumps(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError) as error:  # TypeError: a date
        raise CatalogError(f"{file}: {error}") from None


def _explain(error: ValidationError) -> str:
    """The place in the file, and what is wrong there first."""
    fault = error.errors()[0]
    places = [f", {part}" for part in fault["loc"] if part != "[key]"]
    message = fault["msg"].removeprefix("Value error, ")
    return f"{''.join(places)}: {message}"


def _find_problems(system: System) -> Iterator[str]:
    """Contradictions between parts of the file."""
    if system.slug == OTHER_SYSTEM:
        yield RESERVED_SLUG.format(slug=OTHER_SYSTEM)
    yield from _find_binding_problems(system.binding, "binding")
    for slug, mode in system.modes.items():
        location = f"modes, {slug}"
        if slug == UNKNOWN_MODE:
            yield RESERVED_MODE.format(location=location, slug=slug)
        if slug.endswith(STATED_SUFFIX):
            yield RESERVED_SUFFIX.format(location=location, suffix=STATED_SUFFIX)
        yield from _check_values(system.settings, mode.server_settings, f"{location}: server")
        yield from _check_values(system.settings, mode.readback, f"{location}: readback")
        yield from _check_values(system.binding.properties, mode.client_properties, f"{location}: client")

    for name, client in (("stock", system.stock), ("go", system.go)):
        if client is not None:
            yield from _find_client_problems(system, client, name)

    if system.process is not None:
        yield from _find_process_problems(system, system.process)
    if system.image is not None:
        yield from _find_image_problems(system, system.image)


def _find_binding_problems(binding: Binding, location: str) -> Iterator[str]:
    endpoint = binding.endpoint
    yield from _check_placeholders([binding.target], {"database", "table"}, f"{location}, target")
    template_words = {"nodes", "database", "credentials", "options"}
    yield from _check_placeholders([endpoint.template], template_words, f"{location}, endpoint")
    for name in (*(getattr(endpoint, key) for key in ADDRESS_PROPERTIES), *endpoint.options, *endpoint.more):
        if name and name not in binding.properties:
            yield NO_PROPERTY_OF_BINDING.format(location=location, name=name)
    yield from _check_values(binding.properties, binding.when_scanning, f"{location}: when_scanning")
    yield from _check_values(binding.properties, binding.fixed, f"{location}: fixed")


def _find_client_problems(system: System, client: StockClient, location: str) -> Iterator[str]:
    yield from _find_binding_problems(client.binding, f"{location}, binding")
    for slug in (*client.modes, *client.no_modes):
        if slug not in system.modes:
            yield NO_MODE_OF_SYSTEM.format(location=location, slug=slug)
    for slug, properties in client.modes.items():
        yield from _check_values(client.binding.properties, properties, f"{location}, modes: {slug}")


def _find_process_problems(system: System, process: ProcessRecipe) -> Iterator[str]:
    if unknown := set(process.not_in_config) - system.settings.keys():
        yield NO_SUCH_SETTINGS.format(names=", ".join(sorted(unknown)))
    if (process.config_format == "none") != (not process.config_name):
        yield NAME_WITHOUT_FORMAT
    yield from _check_values(system.settings, process.settings, "process: settings")
    yield from _check_values(system.settings, process.facts, "process: facts")
    words = PLACEHOLDERS | set(process.not_in_config)
    nodes = {"process": process, "process, primary": process.primary, "process, replica": process.replica}
    yield from _find_node_problems(system, process, nodes, words)


def _find_image_problems(system: System, image: ImageRecipe) -> Iterator[str]:
    process = system.process
    if process is None:
        yield IMAGE_WITHOUT_PROCESS
        return
    nodes = {"image": image, "image, primary": image.primary, "image, replica": image.replica}
    words = (PLACEHOLDERS | set(process.not_in_config)) - PROGRAMS
    yield from _find_node_problems(system, process, nodes, words)


def _find_node_problems(
    system: System, process: ProcessRecipe, nodes: Mapping[str, NodeRecipe | None], words: frozenset[str]
) -> Iterator[str]:
    for location, node in nodes.items():
        if node is None:
            continue

        if process.config_name in node.files:
            yield CONFIGURATION_FILE.format(location=location, name=process.config_name)
        for name in node.fixed:
            if name in system.settings:
                yield FIXED_AND_DECLARED.format(location=location, name=name)

        try:
            render_config(process.config_format, node.fixed)
        except PropertyError as error:
            yield f"{location}: fixed: {error}"

        texts = (*node.argv, *node.init_argv, *node.fixed.values(), node.config_head)
        yield from _check_placeholders(texts, words, location)


def _check_placeholders(texts: Iterable[str], words: Iterable[str], location: str) -> Iterator[str]:
    for word in re.findall(r"\{([^{}]*)\}", "\n".join(texts)):
        if word not in words:
            yield NO_PLACEHOLDER.format(location=location, word=word, words=", ".join(sorted(words)))


def _check_values(declared: Mapping[str, Property], values: Mapping[str, str], location: str) -> Iterator[str]:
    """Values must be in the form in which servers and clients get them."""
    try:
        canonical = check_properties(declared, values)
    except PropertyError as error:
        yield f"{location}: {error}"
        return
    if canonical != values:
        yield f"{location}: write it as {canonical}"

"""Reading the catalog: `system.toml` of each system's folder, checked as a whole before anybody sees it."""

import functools
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from runs.catalog.configuration import render_config
from runs.catalog.messages import (
    CONFIGURATION_FILE,
    DOES_NOT_MATCH,
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
from runs.ycsb.property_schema import Property, PropertyError, check_properties, unknown_name

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
    shared = {}
    if SHARED in files:
        shared = _read_shared(files[SHARED])
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
        raise CatalogError(f"{file}{_explain(error.errors()[0], System)}") from None

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
        raise CatalogError(f"{SHARED}{_explain(error.errors()[0], dict[str, Properties])}") from None
    if list(tables) != ["properties"]:
        raise CatalogError(PROPERTIES_ONLY.format(file=SHARED))
    return {**tables["properties"]}


def _toml_as_json(text: str, file: str) -> str:
    """JSON, in which strict models take lists for tuples."""
    try:
        return json.dumps(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, TypeError) as error:  # TypeError: a date
        raise CatalogError(f"{file}: {error}") from None


def _explain(fault: ErrorDetails, table: Any) -> str:
    """The place in the file, and what would be right there."""
    places = [str(part) for part in fault["loc"] if part != "[key]"]
    *tables, key = places
    match fault["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            message = unknown_name(key, _find_keys(table, tables))
        case "missing":
            message = f"{key} is missing"
        case "value_error":
            tables = places
            message = str(fault["ctx"]["error"])
        case "string_pattern_mismatch":
            message = DOES_NOT_MATCH.format(key=key, value=fault["input"], pattern=fault["ctx"]["pattern"])
        case _:
            message = f"{key} is {fault['input']!r}; {fault['msg'].replace('Input should', 'it must')}"

    return "".join(f", {table}" for table in tables) + f": {message}"


def _find_keys(table: Any, places: Iterable[str]) -> Iterable[str]:
    """The keys that a table of the file may have."""
    for place in places:
        parameter = signature(table).parameters.get(place)
        if parameter is None:
            continue  # A name that the file chose.
        table = parameter.annotation
        while arguments := get_args(table):
            table = arguments[-1] if get_origin(table) is dict else arguments[0]
    return signature(table).parameters


def _find_problems(system: System) -> Iterator[str]:
    """Contradictions between parts of the file."""
    if system.slug == OTHER_SYSTEM:
        yield RESERVED_SLUG.format(slug=OTHER_SYSTEM)
    yield from _find_binding_problems(system.binding, "binding")
    for slug, mode in system.modes.items():
        place = f"modes, {slug}"
        if slug == UNKNOWN_MODE:
            yield RESERVED_MODE.format(place=place, slug=slug)
        if slug.endswith(STATED_SUFFIX):
            yield RESERVED_SUFFIX.format(place=place, suffix=STATED_SUFFIX)
        yield from _check_values(system.settings, mode.server_settings, f"{place}: server")
        yield from _check_values(system.settings, mode.readback, f"{place}: readback")
        yield from _check_values(system.binding.properties, mode.client_properties, f"{place}: client")

    for name, client in (("stock", system.stock), ("go", system.go)):
        if client is not None:
            yield from _find_client_problems(system, client, name)

    if system.process is not None:
        yield from _find_process_problems(system, system.process)
    if system.image is not None:
        yield from _find_image_problems(system, system.image)


def _find_binding_problems(binding: Binding, place: str) -> Iterator[str]:
    endpoint = binding.endpoint
    yield from _check_placeholders([binding.target], {"database", "table"}, f"{place}, target")
    template_words = {"nodes", "database", "credentials", "options"}
    yield from _check_placeholders([endpoint.template], template_words, f"{place}, endpoint")
    for name in (*(getattr(endpoint, key) for key in ADDRESS_PROPERTIES), *endpoint.options, *endpoint.more):
        if name and name not in binding.properties:
            yield NO_PROPERTY_OF_BINDING.format(place=place, name=name)
    yield from _check_values(binding.properties, binding.when_scanning, f"{place}: when_scanning")
    yield from _check_values(binding.properties, binding.fixed, f"{place}: fixed")


def _find_client_problems(system: System, client: StockClient, place: str) -> Iterator[str]:
    yield from _find_binding_problems(client.binding, f"{place}, binding")
    for slug in (*client.modes, *client.no_modes):
        if slug not in system.modes:
            yield NO_MODE_OF_SYSTEM.format(place=place, slug=slug)
    for slug, properties in client.modes.items():
        yield from _check_values(client.binding.properties, properties, f"{place}, modes: {slug}")


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
    for place, node in nodes.items():
        if node is None:
            continue

        if process.config_name in node.files:
            yield CONFIGURATION_FILE.format(place=place, name=process.config_name)
        for name in node.fixed:
            if name in system.settings:
                yield FIXED_AND_DECLARED.format(place=place, name=name)

        try:
            render_config(process.config_format, node.fixed)
        except PropertyError as error:
            yield f"{place}: fixed: {error}"

        texts = (*node.argv, *node.init_argv, *node.fixed.values(), node.config_head)
        yield from _check_placeholders(texts, words, place)


def _check_placeholders(texts: Iterable[str], words: Iterable[str], place: str) -> Iterator[str]:
    for word in re.findall(r"\{([^{}]*)\}", "\n".join(texts)):
        if word not in words:
            yield NO_PLACEHOLDER.format(place=place, word=word, words=", ".join(sorted(words)))


def _check_values(declared: Mapping[str, Property], values: Mapping[str, str], place: str) -> Iterator[str]:
    """Values must be in the form in which servers and clients get them."""
    try:
        canonical = check_properties(declared, values)
    except PropertyError as error:
        yield f"{place}: {error}"
        return
    if canonical != values:
        yield f"{place}: write it as {canonical}"

"""A plan file as TOML: the same plan has the same text, and what is read is checked to the last key. Pure."""

import tomllib
from collections.abc import Mapping
from typing import Any, Final

import tomli_w

from runs.catalog.toml_table import CatalogError
from runs.kits.plan import COLUMNS, FORMAT, VERSION, ClusterRole, GeneratorRole, PlanDatabase, PlanFile, PlanRefused
from runs.kits.plan_reader import PlanTable, Reader

LONGEST: Final = 1_000_000  # characters of a plan file
HEAD: Final = """\
# A plan of Benchsite: what was measured, and how. It names no host: clusters and load generators are roles.
# Import it into another Benchsite, or follow the README of its kit.

"""


def as_text(file: PlanFile) -> str:
    """The plan as TOML, in one order and one spelling."""
    return HEAD + tomli_w.dumps(_document(file))


def read_plan(text: str) -> PlanFile:
    """The plan that a file describes. Raises PlanRefused, which names the line and, of a misspelt key, the nearest."""
    if len(text) > LONGEST:
        raise PlanRefused(f"A plan file has at most {LONGEST:,} characters, this one has {len(text):,}.")
    try:
        content = tomllib.loads(text)
    except ValueError as error:  # Of a number with thousands of digits Python says no more than this.
        raise PlanRefused(f"This is no TOML: {error}.") from None
    except RecursionError:
        raise PlanRefused("This is no plan file: its tables are nested too deeply.") from None
    try:
        return Reader(PlanTable(content, text)).plan()
    except CatalogError as error:
        raise PlanRefused(str(error)) from None


def _document(file: PlanFile) -> dict[str, Any]:
    matrix = {name: getattr(file, name) for name in COLUMNS if getattr(file, name) is not None}
    if file.looks:
        matrix["looks"] = list(file.looks)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "catalog": file.catalog,
        "matrix": {**matrix, "tags": list(file.tags), "rungs": list(file.rungs), "resets": _sorted(file.resets)},
        "clusters": {role: _cluster(one) for role, one in file.clusters.items()},
        "generators": {role: _generator(one) for role, one in file.generators.items()},
        "databases": {role: _database(one) for role, one in file.databases.items()},
        "workloads": {
            role: {"name": one.name, "short_name": one.short_name, "properties": _sorted(one.properties)}
            for role, one in file.workloads.items()
        },
        "entries": [{"database": role, "mode": mode} for role, mode in file.entries],
    }
    more = {
        "exclusions": [dict(one) for one in file.exclusions],
        "overrides": [dict(one) for one in file.overrides],
        "thresholds": _sorted(file.thresholds),
        "search": _without_none(file.search or {}),
        "study": dict(file.study),
    }
    return document | {name: value for name, value in more.items() if value}


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _cluster(one: ClusterRole) -> dict[str, Any]:
    return {"provisioner": one.provisioner, "nodes": [_sorted(facts) for facts in one.nodes]}


def _generator(one: GeneratorRole) -> dict[str, Any]:
    return {"slots": one.slots, "shares": list(one.shares), "facts": _sorted(one.facts)}


def _database(one: PlanDatabase) -> dict[str, Any]:
    return {
        "name": one.name,
        "system": one.system,
        "version": one.version,
        "replication_factor": one.replication_factor,
        "flavour": one.flavour,
        **({"client": one.client} if one.client else {}),
        "cluster": one.cluster,
        "secrets": list(one.secrets),
        "settings": _sorted(one.settings),
        "binding_properties": _sorted(one.binding_properties),
    }


def _sorted(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in sorted(values)}

"""Reading a plan file strictly: every key of one type and within what a row can hold, unknown ones refused. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchsite.formatting import exact
from runs.catalog import STOCK_FLAVOUR, UnknownMode, UnknownSystem, load_catalog, secret_properties
from runs.catalog.toml_table import CatalogError, Table
from runs.kits.plan import (
    AXES,
    FACTS,
    FORMAT,
    VERSION,
    ClusterRole,
    GeneratorRole,
    PlanDatabase,
    PlanFile,
    PlanWorkload,
)
from runs.models.plan import Database, Matrix, Provisioner, Purpose
from runs.models.result import LatencyKind
from runs.planning.plan import looks_problem
from runs.property_schema import PropertyError, nearest, unknown_name
from runs.spec import MAX_CURVE_PERCENT, MAX_TRIALS_LIMIT, SLO_OPERATIONS, SLO_STATISTICS
from runs.validity import THRESHOLDS
from runs.ycsb.properties import check_workload

LARGEST: Final = 2_147_483_647
MAX_FACT: Final = 2**60
MAX_ROLES: Final = 200
MAX_RULES: Final = 500
MAX_REASON_LENGTH: Final = 500
MAX_RUNGS: Final = 60
MAX_TAGS: Final = 20
_ROLE: Final = re.compile(r"[a-z]{1,20}-[1-9][0-9]{0,3}")
_HEADER: Final = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?")
LEVELS: Final = ("rung", "repeat", "workload", "mode")


class PlanTable(Table):
    """One table of the file, which knows where in the text it stands."""

    def __init__(self, content: object, text: str, path: tuple[str, ...] = ()) -> None:
        self.text_of_file, self.path = text, path
        super().__init__(content, ".".join(path) or "the plan")

    def __enter__(self) -> "PlanTable":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            for key in self._content:
                if key not in self._asked:
                    raise self.error(unknown_name(key, self._asked), key)

    def error(self, message: str, key: str = "") -> CatalogError:
        line = line_of(self.text_of_file, self.path, key or message.split(" ", 1)[0])
        return CatalogError(f"line {line}, {self.where}: {message}" if line else f"{self.where}: {message}")

    def value(self, key: str, *, required: bool = True) -> object:
        """A key that is missing may stand there misspelt."""
        if required and key not in self._content:
            if near := nearest(key, [name for name in self._content if name not in self._asked]):
                raise self.error(f"{near!r} is not known here. Did you mean {key!r}?", near)
            raise self.error(f"{key} is missing", key)
        return super().value(key, required=required)

    def table(self, key: str) -> "PlanTable":
        found = self.value(key)
        if not isinstance(found, dict):
            raise self.error(f"{key} must be a table")
        return PlanTable(found, self.text_of_file, (*self.path, key))

    def tables(self, key: str, most: int = MAX_RULES) -> "list[PlanTable]":
        """A list of tables, empty where it is not there."""
        found = self.value(key, required=False)
        if found is None:
            return []
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found) or len(found) > most:
            raise self.error(f"{key} must be a list of at most {most} tables")
        return [PlanTable(one, self.text_of_file, (*self.path, key)) for one in found]

    def label(self, key: str, longest: int, *, empty: bool = False) -> str:
        """A text of one line, no longer than its column."""
        found = self.text(key)
        if not found.isprintable() or len(found) > longest or not (found.strip() or empty):
            raise self.error(f"{key} must be one line of at most {longest} characters{'' if empty else ', not empty'}")
        return found

    def word(self, key: str, allowed: Sequence[str]) -> str:
        found = self.text(key)
        if found not in allowed:
            raise self.error(f"{key} is {found[:60]!r}; it must be one of {', '.join(allowed)}")
        return found

    def whole(self, key: str, least: int = 0, most: int = LARGEST) -> int:
        found = self.value(key)
        if type(found) is not int or not least <= found <= most:
            raise self.error(f"{key} must be a whole number from {least} to {most:,}")
        return found

    def texts_of(self, key: str) -> dict[str, str]:
        found = self.mapping(key)
        if len(found) > MAX_RULES or not all(
            name.isprintable() and value.isprintable() for name, value in found.items()
        ):
            raise self.error(f"{key} must be at most {MAX_RULES} texts without line breaks")
        return found


def line_of(text: str, path: Sequence[str], key: str) -> int | None:
    """The line on which a key stands, as far as a look can tell; else that of its table."""
    table, header = "", None
    wanted, inline = ".".join(path), re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADER.fullmatch(line):
            table = found[1].replace('"', "")
            if table == f"{wanted}.{key}".lstrip("."):
                return number
            header = number if table == wanted else header
        elif table == wanted and inline.match(line):
            return number
    return header


class Reader:
    """One plan file, from its top."""

    def __init__(self, top: PlanTable) -> None:
        self.top = top

    def plan(self) -> PlanFile:
        with self.top as top:
            if top.text("format") != FORMAT:
                raise top.error(f"format must be {FORMAT!r}: this is another kind of file")
            if (version := top.whole("version", 1)) != VERSION:
                raise top.error(f"version {version} is not known here; this release reads version {VERSION}")
            catalog = top.label("catalog", 64, empty=True)
            clusters = self._roles("clusters", _cluster)
            generators = self._roles("generators", lambda table: _generator(table, clusters))
            databases = self._roles("databases", lambda table: _database(table, clusters))
            workloads = self._roles("workloads", _workload)
            known = {"database": tuple(databases), "workload": tuple(workloads)}
            return PlanFile(
                catalog=catalog,
                **_matrix(top.table("matrix"), searches="search" in top),
                clusters=clusters,
                generators=generators,
                databases=databases,
                workloads=workloads,
                entries=_entries(top, databases),
                exclusions=tuple(_exclusion(one, known) for one in top.tables("exclusions")),
                overrides=tuple(_override(one, known, tuple(generators)) for one in top.tables("overrides")),
                thresholds=_thresholds(top.table("thresholds")) if "thresholds" in top else {},
                search=_search(top.table("search")) if "search" in top else None,
                study=_study(top.table("study")) if "study" in top else {},
            )

    def _roles(self, key: str, read: Any) -> dict[str, Any]:
        table = self.top.table(key)
        names = table.names()
        if not names or len(names) > MAX_ROLES:
            raise self.top.error(f"{key} must be 1 to {MAX_ROLES} tables", key)
        for name in names:
            if not _ROLE.fullmatch(name):
                raise table.error(f"{name[:60]!r} is no role; write it as in {key.removesuffix('s')}-1", name)
        return {name: read(table.table(name)) for name in names}


def _matrix(table: PlanTable, *, searches: bool) -> dict[str, Any]:
    with table:
        ladder, rungs = table.word("ladder", Matrix.Ladder.values), _rungs(table, "rungs", is_empty_valid=searches)
        threads = table.whole("threads", 1, 100_000) if "threads" in table else None
        found: dict[str, Any] = {
            "name": table.label("name", 120),
            "purpose": table.word("purpose", Purpose.values),
            "tags": _tags(table),
            "ladder": ladder,
            "rungs": rungs,
            "threads": threads,
            "repeats": table.whole("repeats", 1, 50),
            "order": table.word("order", Matrix.Order.values),
            "seed": table.whole("seed"),
            "bracket": table.flag("bracket", False),
            "looks": _rungs(table, "looks") if "looks" in table else (),
            "stops_early": table.flag("stops_early", False),
            "processes_per_generator": table.whole("processes_per_generator", 1, 64),
            "load_policy": table.word("load_policy", Matrix.LoadPolicy.values),
            "load_threads": table.whole("load_threads", 1, 100_000),
            "warmup_s": table.whole("warmup_s", 0, 86_400),
            "min_measure_s": table.whole("min_measure_s", 1, 604_800),
            "max_measure_s": table.whole("max_measure_s", 1, 604_800),
            "min_operations": table.whole("min_operations", 0, 2**62),
        }
        if found["max_measure_s"] < found["min_measure_s"]:
            raise table.error("max_measure_s must not be less than min_measure_s")
        if problem := looks_problem(found["looks"], found["repeats"]):
            raise table.error(f"looks: {problem}", "looks")
        with table.table("resets") as resets:
            levels = [level for level in LEVELS if level in resets]
            found["resets"] = {level: resets.word(level, Matrix.Reset.values) for level in levels}
        return found


def _rungs(table: PlanTable, key: str, *, most: int = LARGEST, is_empty_valid: bool = False) -> tuple[int, ...]:
    found = table.value(key)
    if found == [] and is_empty_valid:
        return ()
    rungs = found if isinstance(found, list) else []
    if not 0 < len(rungs) <= MAX_RUNGS or not all(type(one) is int and 0 < one <= most for one in rungs):
        raise table.error(f"{key} must be 1 to {MAX_RUNGS} whole numbers from 1 to {most:,}")
    return tuple(rungs)


def _tags(table: PlanTable) -> tuple[str, ...]:
    tags = table.texts("tags")
    if len(tags) > MAX_TAGS or not all(tag.isprintable() and 0 < len(tag) <= 40 for tag in tags):
        raise table.error(f"tags must be at most {MAX_TAGS} texts of 1 to 40 characters")
    return tags


def _facts(table: PlanTable) -> dict[str, int]:
    with table:
        return {name: table.whole(name, 0, MAX_FACT) for name in FACTS if name in table}


def _cluster(table: PlanTable) -> ClusterRole:
    with table:
        nodes = tuple(_facts(one) for one in table.tables("nodes"))
        return ClusterRole(table.word("provisioner", Provisioner.values), nodes)


def _generator(table: PlanTable, clusters: Mapping[str, ClusterRole]) -> GeneratorRole:
    with table:
        shares = table.texts("shares")
        for one in shares:
            if one not in clusters:
                raise table.error(f"shares: {unknown_name(one, clusters)}", "shares")
        return GeneratorRole(table.whole("slots", 1, 10_000), _facts(table.table("facts")), shares)


def _database(table: PlanTable, clusters: Mapping[str, ClusterRole]) -> PlanDatabase:
    with table:
        cluster = table.text("cluster")
        if cluster not in clusters:
            raise table.error(f"cluster: {unknown_name(cluster, clusters)}", "cluster")
        found = PlanDatabase(
            name=table.label("name", 80),
            system=table.slug("system"),
            version=table.label("version", 40, empty=True),
            replication_factor=table.whole("replication_factor", 1, 1000),
            flavour=table.word("flavour", Database.Flavour.values),
            client=table.label("client", 120) if "client" in table else "",
            cluster=cluster,
            settings=table.texts_of("settings"),
            binding_properties=table.texts_of("binding_properties"),
            secrets=table.texts("secrets"),
        )
        _check_settings(table, found)
        return found


def _check_settings(table: PlanTable, found: PlanDatabase) -> None:
    """Names and values as the catalog declares them; of an unknown system nothing can be said."""
    try:
        system = load_catalog().system(found.system, found.flavour)
    except UnknownSystem:
        return
    if bool(found.client) != (found.flavour == STOCK_FLAVOUR):
        raise table.error(f"client: the flavour {STOCK_FLAVOUR} needs one, and no other has one", "client")
    if found.client and (problem := system.client_problem(found.flavour, found.client, external=True)):
        raise table.error(problem, "client")
    try:
        system.check_settings(found.settings)
        system.check_binding_properties(found.binding_properties)
    except PropertyError as error:
        raise table.error(str(error), "settings") from None
    hidden = secret_properties(system)
    for name in found.secrets:
        if name not in hidden:
            raise table.error(f"secrets: {unknown_name(name, hidden)}", "secrets")
    if written := [name for name in hidden if name in found.binding_properties]:
        raise table.error(f"{written[0]} is a secret: name it in secrets, and do not write it here", "secrets")


def _workload(table: PlanTable) -> PlanWorkload:
    with table:
        try:
            properties = check_workload(table.mapping("properties"))
        except PropertyError as error:
            raise table.error(str(error), "properties") from None
        return PlanWorkload(table.label("name", 80), table.label("short_name", 12), properties)


def _entries(top: PlanTable, databases: Mapping[str, PlanDatabase]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for table in top.tables("entries"):
        with table:
            role, mode = table.text("database"), table.slug("mode")
            if role not in databases:
                raise table.error(f"database: {unknown_name(role, databases)}", "database")
            try:
                load_catalog().system(databases[role].system).mode(mode)
            except UnknownSystem:
                pass
            except UnknownMode as error:
                raise table.error(str(error), "mode") from None
            if (role, mode) in found:
                raise table.error(f"{role} in mode {mode} stands here twice", "mode")
            found.append((role, mode))
    if not found:
        raise top.error("entries must name at least one database and durability mode", "entries")
    return tuple(found)


def _match(table: PlanTable, known: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    with table.table("match") as match:
        found: dict[str, Any] = {}
        for axis in (axis for axis in AXES if axis in match):
            if axis in ("rung", "repeat"):
                found[axis] = match.whole(axis, 1)
            elif axis == "mode":
                found[axis] = match.slug(axis)
            else:
                found[axis] = match.text(axis)
                if found[axis] not in known[axis]:
                    raise match.error(f"{axis}: {unknown_name(found[axis], known[axis])}", axis)
        return found


def _exclusion(table: PlanTable, known: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    with table:
        return {"reason": table.label("reason", MAX_REASON_LENGTH, empty=True), "match": _match(table, known)}


def _override(table: PlanTable, known: Mapping[str, tuple[str, ...]], generators: tuple[str, ...]) -> dict[str, Any]:
    with table:
        rule = {"rule": table.label("rule", 40)} if "rule" in table else {}
        return {**rule, "match": _match(table, known), "set": _set(table.table("set"), generators)}


def _set(table: PlanTable, generators: tuple[str, ...]) -> dict[str, Any]:
    with table:
        found: dict[str, Any] = {}
        for name in sorted(table.names()):
            if name == "rungs":
                found[name] = list(_rungs(table, name))
            elif name == "threads":
                found[name] = table.whole(name, 1, 100_000)
            elif name == "generators":
                found[name] = list(table.texts(name))
                for one in found[name]:
                    if one not in generators:
                        raise table.error(f"generators: {unknown_name(one, generators)}", name)
            else:
                value = table.value(name)
                if type(value) not in (int, float, str, bool) or not str(value).isprintable():
                    raise table.error(f"{name} must be a number or a text", name)
                found[name] = value
        return found


def _thresholds(table: PlanTable) -> dict[str, float]:
    with table:
        for name in table.names():
            if name not in THRESHOLDS:
                raise table.error(unknown_name(name, THRESHOLDS), name)
        return {name: table.number(name) or 0.0 for name in table.names()}


def _search(table: PlanTable) -> dict[str, Any]:
    with table:
        curve = _rungs(table, "curve_percent", most=MAX_CURVE_PERCENT) if "curve_percent" in table else ()
        return {
            "width": _between(table, "width", 0.001, 1),
            "max_trials": table.whole("max_trials", 2, MAX_TRIALS_LIMIT),
            "max_error_rate": _between(table, "max_error_rate", 0, 1),
            "slo": _slo(table.table("slo")) if "slo" in table else None,
            **({"curve_percent": list(curve)} if curve else {}),
        }


def _slo(table: PlanTable) -> dict[str, Any]:
    with table:
        return {
            "operation": table.word("operation", SLO_OPERATIONS),
            "statistic": table.word("statistic", SLO_STATISTICS),
            "kind": table.word("kind", LatencyKind.values),
            "limit_us": _between(table, "limit_us", 1, 1e9),
        }


def _between(table: PlanTable, name: str, least: float, most: float) -> float:
    number = table.number(name)
    if number is None or not least <= number <= most:
        raise table.error(f"{name} must be a number from {exact(least)} to {exact(most)}", name)
    return number


def _study(table: PlanTable) -> dict[str, Any]:
    with table:
        names = [name for name in ("study", "scenario", "scale") if name in table]
        lists = {name: list(table.texts(name)) for name in ("deviations", "not_run") if name in table}
        return {**{name: table.label(name, 80, empty=True) for name in names}, **lists}

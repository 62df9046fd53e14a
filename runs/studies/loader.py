"""Reading the pack: one TOML file per study and one table of facts beside this module, checked as a whole.

StudyError          a file is wrong: which one, where in it, and what would be right
"""

import csv
import functools
import io
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from runs.catalog.toml_table import CatalogError, R, Table
from runs.studies.records import Dispute, Fact, Item, Overlay, Qualifier, StudiedSystem, Study, StudyError

FOLDER = Path(__file__).parent
FACTS = "published_results.csv"
COLUMNS = (
    "id",
    "study",
    "database",
    "version",
    "mode",
    "dataset",
    "workload",
    "nodes",
    "metric",
    "value",
    "unit",
    "note",
    "qualifier",
)
UNITS = frozenset({"ops/s", "disk ops/s", "ms", "us", "s", "%", "x", "ops", "1/s", "GB"})
# Ids of facts and ranges of them: "tt14-001..tt14-018" are the eighteen from the first to the last.
_RANGE = re.compile(r"([a-z0-9]+)-(\d+)(?:\.\.\1-(\d+))?")


@functools.cache
def studies() -> tuple[Study, ...]:
    """The studies that ship with Benchsite, oldest first, read once."""
    files = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.toml"))}
    return read_pack(files, (FOLDER / FACTS).read_text("utf-8"))


def study_of(slug: str) -> Study | None:
    """The study of this slug; None where there is none."""
    return next((study for study in studies() if study.slug == slug), None)


def read_pack(files: Mapping[str, str], facts: str) -> tuple[Study, ...]:
    """The studies of these files (name to text) with their facts. Raises StudyError."""
    rows = read_facts(facts)
    packs: dict[str, Study] = {}
    for name, text in sorted(files.items()):
        study = read_study(text, name, [fact for fact in rows if fact.study == Path(name).stem])
        packs[study.slug] = study
    for fact in rows:
        if fact.study not in packs:
            raise StudyError(f"{FACTS}, {fact.id}: no file describes the study {fact.study!r}")
    return tuple(sorted(packs.values(), key=lambda pack: (pack.year, pack.slug)))


def read_facts(text: str) -> list[Fact]:
    """The facts of a table. Raises StudyError for another heading, an id given twice, or a number that is none."""
    reader = csv.reader(io.StringIO(text))
    heading = tuple(next(reader, ()))
    if heading != COLUMNS:
        raise StudyError(f"{FACTS}: the columns are {', '.join(heading)}; they must be {', '.join(COLUMNS)}")
    facts: dict[str, Fact] = {}
    for number, row in enumerate(reader, 2):
        if len(row) != len(COLUMNS):
            raise StudyError(f"{FACTS}, line {number}: {len(row)} cells where there must be {len(COLUMNS)}")
        fact = _fact(dict(zip(COLUMNS, row, strict=True)))
        if fact.id in facts:
            raise StudyError(f"{FACTS}, line {number}: the id {fact.id} is given twice")
        facts[fact.id] = fact
    return list(facts.values())


def _fact(row: dict[str, str]) -> Fact:
    where = f"{FACTS}, {row['id']}"
    try:
        (identity,) = expanded([row["id"]])
    except ValueError as error:
        raise StudyError(f"{where}: {error}") from None
    try:
        value = float(row["value"])
    except ValueError:
        raise StudyError(f"{where}: the value {row['value']!r} is no number") from None
    if not math.isfinite(value):
        raise StudyError(f"{where}: the value {row['value']!r} is not finite")
    if row["unit"] not in UNITS:
        raise StudyError(f"{where}: the unit {row['unit']!r} is none of {', '.join(sorted(UNITS))}")
    qualifier = {known.value: known for known in Qualifier}.get(row["qualifier"])
    if qualifier is None:
        raise StudyError(f"{where}: the qualifier {row['qualifier']!r} is none of {', '.join(Qualifier)}")
    if not row["metric"] or not row["database"]:
        raise StudyError(f"{where}: a fact needs a database and a metric")
    texts = {name: row[name] for name in ("study", "database", "version", "mode", "dataset", "workload", "nodes")}
    more = {name: row[name] for name in ("metric", "unit", "note")}
    return Fact(id=identity, value=value, printed=row["value"], qualifier=qualifier, **texts, **more)


def read_study(text: str, file: str, facts: Sequence[Fact]) -> Study:
    """The study that one file describes, with its facts. Raises StudyError."""
    try:
        with Table(tomllib.loads(text), file) as table:
            return _study(table, facts)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{file}: {error}") from None
    except CatalogError as error:
        raise StudyError(str(error)) from None


def _study(table: Table, facts: Sequence[Fact]) -> Study:
    slug, key = table.slug("slug"), table.slug("key")
    if f"{slug}.toml" != table.where:
        raise table.error(f"the slug is {slug!r}; name the file {slug}.toml")
    if strange := [fact.id for fact in facts if not fact.id.startswith(f"{key}-")]:
        raise table.error(f"its facts' ids begin with {key}-, and {strange[0]} does not")
    known = {fact.id: fact for fact in facts}
    disputes = tuple(_dispute(part, known) for part in _tables(table, "disputes"))
    for fact in facts:  # with what speaks against them
        against = " ".join(dispute.why for dispute in disputes if fact.id in dispute.facts)
        known[fact.id] = replace(fact, disputed=against)
    return table.record(
        Study,
        slug=slug,
        key=key,
        machines=_records(table, "machines", Item),
        systems=_records(table, "systems", StudiedSystem),
        workloads=_records(table, "workloads", Item),
        method=_records(table, "method", Item),
        settings=_records(table, "settings", Item),
        headline=_ids(table, "headline", known),
        disputes=disputes,
        overlays=tuple(overlay for part in _tables(table, "overlays") for overlay in _overlays(part, known)),
        facts=tuple(known.values()),
    )


def _tables(table: Table, key: str) -> list[Table]:
    tables = table.value(key) if key in table else None
    if tables is None:
        return []
    if not isinstance(tables, list):
        raise table.error(f"write each of the {key} as [[{key}]]")
    return [Table(content, f"{table.where}, {key} {number}") for number, content in enumerate(tables, 1)]


def _records(table: Table, key: str, kind: type[R]) -> tuple[R, ...]:
    records = []
    for part in _tables(table, key):
        with part:
            records.append(part.record(kind))
    return tuple(records)


def _ids(table: Table, key: str, known: Mapping[str, Fact]) -> tuple[str, ...]:
    try:
        ids = expanded(table.texts(key))
    except ValueError as error:
        raise table.error(f"{key}: {error}") from None
    for fact_id in ids:
        if fact_id not in known:
            raise table.error(f"{key} names {fact_id}, which is no fact of this study")
    return ids


def _dispute(table: Table, known: Mapping[str, Fact]) -> Dispute:
    with table:
        ids = _ids(table, "facts", known)
        if not ids:
            raise table.error("facts must name what is disputed")
        computed = table.table("computed") if "computed" in table else Table({}, table.where)
        numbers = {name: computed.number(name) for name in computed.names()}
        return table.record(Dispute, slug=table.slug("slug"), facts=ids, computed=numbers)


def _overlays(table: Table, known: Mapping[str, Fact]) -> list[Overlay]:
    """One overlay of the `sum` of some facts, or one of each of them."""
    with table:
        added, each = _ids(table, "sum", known), _ids(table, "each", known)
        if bool(added) == bool(each):
            raise table.error('give either "sum" or "each"')
        groups: Iterable[tuple[str, ...]] = [added] if added else [(fact_id,) for fact_id in each]
        latency = _ids(table, "latency", known)
        operation, statistic = table.text("operation", ""), table.text("statistic", "")
        phase, label = table.text("phase", ""), table.text("label", "")
        if latency and (known[latency[0]].microseconds is None or not operation or not statistic):
            raise table.error("a latency needs a unit of time, its operation and its statistic")
        if phase not in ("", "load"):
            raise table.error('phase is "load" or left out')
        return [
            table.record(
                Overlay,
                label=_label(known[ids[0]], label),
                throughputs=_rates(table, [known[fact_id] for fact_id in ids]),
                latency=known[latency[0]] if latency else None,
            )
            for ids in groups
        ]


def _rates(table: Table, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    for fact in facts:
        if fact.unit != "ops/s" or fact.value <= 0:
            raise table.error(f"{fact.id} is no throughput in ops/s")
    return tuple(facts)


def _label(fact: Fact, pattern: str) -> str:
    """The label of an overlay; "{database}" and "{nodes}" in it stand for those of the fact."""
    nodes = f"{fact.nodes} node{'' if fact.nodes == '1' else 's'}"
    pattern = pattern or f"{{database}}, {fact.workload}, {{nodes}}"
    return pattern.replace("{database}", fact.database).replace("{nodes}", nodes)


def expanded(texts: Iterable[str]) -> tuple[str, ...]:
    """The ids that these ids and ranges name, in their order. Raises ValueError for what is neither."""
    ids: list[str] = []
    for text in texts:
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no id and no range of ids; write tt14-001 or tt14-001..tt14-018")
        first, last = int(match[2]), int(match[3] or match[2])
        if last < first:
            raise ValueError(f"{text!r} ends before it begins")
        ids += [f"{match[1]}-{number:03d}" for number in range(first, last + 1)]
    return tuple(ids)

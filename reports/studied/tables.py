"""The studies' facts and their own tables, put together again from the pack; every one has its numbers as CSV."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from reports.figures.table import Cell, Table
from reports.studied.checks import buckets_of, checks_of
from runs.studies import SYSTEMS, Fact, Kind, Study

MAX_SEARCH_LENGTH = 100  # of a search text
COLUMNS = (
    "id",
    "study",
    "database",
    "version",
    "mode",
    "data set",
    "workload",
    "nodes",
    "metric",
    "qualifier",
    "value as printed",
    "unit",
    "note",
    "disputed because",
)


def facts_table(facts: Iterable[Fact]) -> Table:
    """A row per fact, with everything it was printed under."""
    return Table(COLUMNS, tuple(_row(fact) for fact in facts))


def _row(fact: Fact) -> tuple[Cell, ...]:
    where = (fact.database, fact.version, fact.mode, fact.dataset, fact.workload, fact.nodes)
    value = (fact.metric, fact.qualifier.words, fact.printed, fact.unit, fact.note, fact.disputed)
    return (fact.id, fact.study, *where, *value)


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts are asked for; empty means any."""

    q: str = ""
    database: str = ""
    kind: str = ""
    disputed: bool = False

    @classmethod
    def from_query(cls, parameters: Mapping[str, str]) -> "FactFilter":
        """What an address asks for; a value that is no choice asks for nothing in particular."""
        text = "".join(c for c in parameters.get("q", "") if c.isprintable()).strip()[:MAX_SEARCH_LENGTH]
        database, kind = parameters.get("database", ""), parameters.get("metric", "")
        return cls(
            q=text,
            database=database if database in SYSTEMS else "",
            kind=kind if kind in set(Kind) else "",
            disputed=parameters.get("disputed") == "1",
        )

    @property
    def active(self) -> bool:
        return bool(self.q or self.database or self.kind or self.disputed)

    def query(self, study: str = "") -> str:
        """The filter as an address says it, without what asks for nothing."""
        parameters = (("q", self.q), ("database", self.database), ("metric", self.kind), ("study", study))
        pairs = [(name, value) for name, value in parameters if value] + ([("disputed", "1")] if self.disputed else [])
        return f"?{urlencode(pairs)}" if pairs else ""

    def apply(self, facts: Iterable[Fact]) -> list[Fact]:
        words = [word.replace("_", " ") for word in self.q.casefold().split()]
        return [
            fact
            for fact in facts
            if (not self.database or self.database in fact.systems)
            and self.kind in ("", fact.kind)
            and (fact.disputed or not self.disputed)
            and (not words or _holds(fact, words))
        ]


def _holds(fact: Fact, words: Sequence[str]) -> bool:
    """Whether every word stands somewhere in the fact."""
    text = " ".join(str(cell) for cell in _row(fact)).casefold().replace("_", " ")
    return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class StudyTable:
    """One table of a study's page; `name` is its address and its file."""

    name: str
    title: str
    table: Table
    note: str = ""


def tables_of(study: Study) -> tuple[StudyTable, ...]:
    """The tables of one study, its own first and the recomputed numbers last."""
    makers = {
        "thumbtack-2013": _disk_layouts,
        "thumbtack-2014": _by_nodes,
        "aerospike-2017": _both_tests,
        "vari-2013": _histogram,
        "columbia-2016": _loads,
    }
    own = makers[study.slug](study) if study.slug in makers else ()
    return (*own, *_recomputed(study))


def _recomputed(study: Study) -> tuple[StudyTable, ...]:
    checks = checks_of(study)
    if not checks:
        return ()
    rows = tuple(
        (
            _what(check.fact),
            f"{check.fact.printed} {check.fact.unit}",
            check.recomputed,
            check.remark,
            check.formula,
            check.fact.id,
        )
        for check in checks
    )
    columns = ("number", "printed", "recomputed", "outcome", "computed from", "fact")
    same = sum(check.reproduces for check in checks)
    note = f"{same} of {len(checks)} reproduce from the study's own printed numbers; the others are shown as printed."
    return (StudyTable("recomputed", "Printed and recomputed", Table(columns, rows), note),)


def _what(fact: Fact) -> str:
    workload = f", {fact.workload}" if fact.metric.startswith(("scaling", "average")) else ""
    return f"{fact.database}{workload}: {fact.metric.replace('_', ' ')}"


def pivot(facts: Sequence[Fact], rows: Sequence[str], column: str, columns: Mapping[str, str]) -> Table:
    """The printed digits of facts, a line per different `rows` fields and a column per value of the `column` field."""
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for fact in facts:
        key = tuple(str(getattr(fact, name)) for name in rows)
        lines.setdefault(key, {})[str(getattr(fact, column))] = _marked(fact)
    names = tuple(name.replace("dataset", "data set") for name in rows)
    return Table(
        (*names, *columns.values()),
        tuple((*key, *(cells.get(value) for value in columns)) for key, cells in lines.items()),
    )


def _marked(fact: Fact) -> str:
    """The digits as printed, with what stands before them; a star where they are disputed."""
    mark = f"{fact.qualifier.mark} " if fact.qualifier.mark else ""
    return f"{mark}{fact.printed}{' *' if fact.disputed else ''}"


STAR = "A star marks what is disputed; the facts below say why."


def _disk_layouts(study: Study) -> tuple[StudyTable, ...]:
    facts = [study.fact(f"tt13-{number:03d}") for number in range(23, 32)]
    rows: dict[str, list[Cell]] = {}
    for fact in facts:
        rows.setdefault(fact.note.split(". ", 1)[0].split(": ", 1)[-1], []).append(_marked(fact))
    columns = ("Cassandra's disks", "load (ops/s)", "A balanced (ops/s)", "B read-heavy (ops/s)")
    table = Table(columns, tuple((name, *cells) for name, cells in rows.items()))
    return (StudyTable("disk-layouts", "Cassandra on three disk layouts", table, f"Printed in thousands. {STAR}"),)


def _by_nodes(study: Study) -> tuple[StudyTable, ...]:
    nodes = {str(size): f"{size} nodes" for size in (4, 6, 8)}

    def of(metric: str, unit: str) -> Table:
        facts = [fact for fact in study.facts if fact.metric == metric and fact.nodes in nodes]
        titles = {size: f"{title} ({unit})" for size, title in nodes.items()}
        return pivot(facts, ("workload", "database"), "nodes", titles)

    scores = pivot([fact for fact in study.facts if fact.metric in SCORES], ("workload", "database"), "metric", SCORES)
    inferred = "Unit, statistic and operation are not printed, nor is the workload; inferred from the order."
    return (
        StudyTable("throughput", "Greatest throughput by nodes", of("max_throughput", "ops/s"), STAR),
        StudyTable("scores", "Growth over four nodes", scores, STAR),
        StudyTable("latency", "Latency before it rose rapidly", of("latency_before_rapid_rise", "ms"), inferred),
    )


SCORES = {
    "scaling_4_to_6": "4 to 6 nodes (%)",
    "scaling_4_to_8": "4 to 8 nodes (%)",
    "average_efficiency": "average of the ideal (%)",
}
TESTS = {
    "read_throughput": "reads (ops/s)",
    "update_throughput": "updates (ops/s)",
    "p95_read_latency": "read p95 (ms)",
    "p95_update_latency": "update p95 (ms)",
}


def _both_tests(study: Study) -> tuple[StudyTable, ...]:
    first = [study.fact(f"as17-{number:03d}") for number in (*range(1, 9), *range(17, 21))]
    table = pivot(first, ("database", "dataset"), "metric", TESTS)
    note = "Tables 1, 3 and 4. Aerospike was measured once: Tables 1 and 4 repeat its line."
    return (StudyTable("both-tests", "Primary and modified test", table, note),)


def _histogram(study: Study) -> tuple[StudyTable, ...]:
    buckets, rows, counted = buckets_of(study), [], 0
    total = study.fact("iv13-011").value
    for bucket in buckets:
        counted += bucket.count
        outcome = "disputed" if bucket.fact.disputed else ""
        rows.append((bucket.low_us, bucket.high_us, bucket.count, round(100 * counted / total, 4), outcome))
    columns = ("above (µs)", "up to (µs)", "operations", "counted so far (%)", "remark")
    return (StudyTable("buckets", "The printed histogram", Table(columns, tuple(rows))),)


def _loads(study: Study) -> tuple[StudyTable, ...]:
    metrics = list(dict.fromkeys((fact.metric, fact.unit) for fact in study.facts))
    by = {(fact.database, fact.metric): _marked(fact) for fact in study.facts}
    databases = list(dict.fromkeys(fact.database for fact in study.facts))
    rows = tuple((f"{metric} ({unit})", *(by.get((name, metric)) for name in databases)) for metric, unit in metrics)
    note = f"Loads of 1,000 records (Cassandra, HBase) and of 1,000,000 (MongoDB): not comparable. {STAR}"
    return (StudyTable("loads", "Printed outputs of loads", Table(("metric", *databases), rows), note),)

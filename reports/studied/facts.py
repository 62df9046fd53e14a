"""The facts of the studies as one searchable table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from reports.figures.table import Cell, Table
from runs.studies import SYSTEMS, Fact, Kind

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
        return [fact for fact in facts if self._wants(fact)]

    def _wants(self, fact: Fact) -> bool:
        if self.database and self.database not in fact.systems:
            return False
        if self.kind and fact.kind != self.kind:
            return False
        return (not self.disputed or bool(fact.disputed)) and _holds(fact, self.q.casefold().split())


def _holds(fact: Fact, words: Sequence[str]) -> bool:
    """Whether every word stands somewhere in the fact."""
    if not words:
        return True
    text = " ".join(str(cell) for cell in _row(fact)).casefold().replace("_", " ")
    return all(word.replace("_", " ") in text for word in words)

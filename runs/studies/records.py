"""What the pack says about a published study: facts with their source; what we make of them stands apart."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class StudyError(ValueError):
    """A file of the pack is wrong. The message names the file, the place in it and what would be right."""


class Qualifier(StrEnum):
    """How firmly a number was printed: what stands before it, empty where it is printed plainly, and that in words."""

    AS_PRINTED = "as_printed", "", "as printed"
    ROUNDED = "as_printed_rounded", "", "as printed, rounded there"
    ROUNDED_TO_K = "as_printed_rounded_to_k", "", "as printed, rounded to thousands there"
    SUSPECT = "as_printed_suspect", "", "as printed, suspect"
    LABEL_CONFLICT = "as_printed_label_conflict", "", "as printed; text and table call it by different names"
    INFERRED_LABEL = "as_printed_inferred_label", "", "as printed; what it measures is inferred"
    NOT_REPRODUCIBLE = "as_printed_not_reproducible", "", "as printed; does not follow from the study's own numbers"
    APPROX = "approx", "≈", "about"
    GREATER = "greater_than", ">", "more than"
    LESS = "less_than", "<", "less than"
    MAX_AT = "less_or_equal", "≤", "at most"
    RANGE_MIN = "range_min", "from", "low end of a range"
    RANGE_MAX = "range_max", "to", "high end of a range"
    ORDER = "order_of_magnitude", "~", "order of magnitude"
    ORDER_MIN = "order_of_magnitude_range_min", "~ from", "order of magnitude, low end of a range"
    ORDER_MAX = "order_of_magnitude_range_max", "~ to", "order of magnitude, high end of a range"
    AS_HIGH_AS = "as_high_as", "up to", "as high as"
    MAX_OBSERVED = "max_observed", "≤", "the greatest that was observed"
    CLAIM = "claim", "", "a claim, not a measurement"

    mark: str
    words: str

    def __new__(cls, value: str, mark: str, words: str) -> "Qualifier":
        member = str.__new__(cls, value)
        member._value_, member.mark, member.words = value, mark, words
        return member


class Kind(StrEnum):
    """What sort of quantity a fact is: what the pages filter by."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    RATIO = "ratio"
    SCALING = "scaling"
    HISTOGRAM = "histogram"
    STABILITY = "stability"
    CACHE = "cache"
    COUNT = "count"
    OTHER = "other"


# The first name that a metric contains decides; the order matters: "throughput_ratio" is a ratio.
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("latency_bucket", Kind.HISTOGRAM),
    ("variance", Kind.STABILITY),
    ("swing", Kind.STABILITY),
    ("difference_between_repeats", Kind.STABILITY),
    ("scaling_", Kind.SCALING),
    ("average_efficiency", Kind.SCALING),
    ("ratio_range", Kind.RATIO),
    ("hit_ratio", Kind.CACHE),
    ("ratio", Kind.RATIO),
    ("advantage", Kind.RATIO),
    ("_vs_", Kind.RATIO),
    ("claim", Kind.RATIO),
    ("factor", Kind.RATIO),
    ("increase", Kind.RATIO),
    ("latency", Kind.LATENCY),
    ("throughput", Kind.THROUGHPUT),
    ("sweet_spot", Kind.THROUGHPUT),
    ("max_load", Kind.THROUGHPUT),
    ("operations", Kind.COUNT),
    ("return_", Kind.COUNT),
)
SYSTEMS = ("Aerospike", "Cassandra", "Couchbase", "HBase", "MongoDB")
_MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that a study printed, with everything it was printed under."""

    id: str
    study: str  # the slug
    database: str  # one system, or "A vs B"
    version: str
    mode: str
    dataset: str
    workload: str
    nodes: str  # "4", or "4->8" for what compares sizes
    metric: str
    value: float
    printed: str  # the digits as the pack has them: "25.10" says more than 25.1
    unit: str
    note: str
    qualifier: Qualifier
    disputed: str = ""  # why it cannot be right as printed, or not right under its name; empty where nothing speaks

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems it speaks of; none where it speaks of the whole study."""
        return tuple(name for name in SYSTEMS if name in self.database)

    @property
    def kind(self) -> Kind:
        return next((kind for part, kind in _KINDS if part in self.metric), Kind.OTHER)

    @property
    def microseconds(self) -> float | None:
        """A latency in microseconds; None for what is none."""
        return self.value * _MICROSECONDS[self.unit] if self.unit in _MICROSECONDS else None

    @property
    def under(self) -> str:
        """What it was measured under, in one line; what the study does not say is left out."""
        nodes = f"{self.nodes} node{'' if self.nodes == '1' else 's'}" if self.nodes else ""
        return "; ".join(part for part in (self.workload, nodes, self.dataset, self.mode) if part)


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a study's method."""

    what: str
    value: str


@dataclass(frozen=True, slots=True)
class StudiedSystem:
    """A system as a study ran it."""

    name: str
    version: str
    settings: str = ""
    modes: str = ""


@dataclass(frozen=True, slots=True)
class Dispute:
    """Why some facts cannot be right, or not under their name: shown beside them, and nothing is corrected."""

    slug: str
    facts: tuple[str, ...]
    printed: str
    recomputed: str
    why: str
    computed: Mapping[str, float]  # the numbers in `recomputed`, which tests compute again from the facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Facts that may stand, grey, beside measured ones: a throughput, where printed with the latency of that load."""

    label: str
    throughputs: tuple[Fact, ...]  # several are one system's operations at the same time, and are added
    latency: Fact | None
    operation: str = ""  # that of the latency
    statistic: str = ""
    phase: str = ""  # "" or "load", as in an address of the compare page
    note: str = ""

    @property
    def throughput_ops_s(self) -> float:
        return math.fsum(fact.value for fact in self.throughputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One published study: what it asked, how, what it printed and what it concluded."""

    slug: str
    key: str  # what its facts' ids begin with
    title: str
    year: int = 0
    organisation: str
    authors: tuple[str, ...] = ()
    citation: str
    sponsor: str
    question: str
    machines: tuple[Item, ...]
    systems: tuple[StudiedSystem, ...]
    workloads: tuple[Item, ...]
    method: tuple[Item, ...]
    settings: tuple[Item, ...]
    conclusions: tuple[str, ...]
    conflicts: tuple[str, ...] = ()  # between the study's own sentences, or between it and arithmetic
    wished: tuple[str, ...] = ()
    not_transcribed: tuple[str, ...] = ()  # figures of which no number is printed
    headline: tuple[str, ...]  # ids of facts
    disputes: tuple[Dispute, ...]
    overlays: tuple[Overlay, ...]
    facts: tuple[Fact, ...]

    def fact(self, identity: str) -> Fact:
        """The fact of this id. Raises KeyError."""
        for known in self.facts:
            if known.id == identity:
                return known
        raise KeyError(identity)

    @property
    def name(self) -> str:
        """Short, for labels: "Thumbtack 2014"."""
        return f"{self.organisation} {self.year}"

    @property
    def disputed(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.disputed)

"""May two runs be compared? V17 data set against memory, V18 hit ratio, V20 durability, V24 environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from benchsite.core.formatting import percent, significant
from runs.catalog.durability import Durability, same_class
from runs.checks.check import PAIR_CHECKS, ROUNDING, Outcome, check, not_assessed, sentence
from runs.checks.default_thresholds import Profile
from runs.checks.environment import KEY_BYTES, complaints_about
from runs.checks.facts import ClusterFacts
from runs.checks.results import CheckResult, warn_if

Fit = Literal["fits in memory", "borders on memory", "lives on disk"]


@dataclass(frozen=True)
class SideFacts:
    """One side of a comparison. None, an empty text and an empty mapping are what is not known.

    It keeps what follows from it, for it is compared with every other side.
    """

    label: str
    system: str = ""
    version: str = ""
    client_version: str = ""
    durability: Mapping[str, object] = field(default_factory=dict)  # the mode's record
    cluster: ClusterFacts = field(default_factory=ClusterFacts)
    records: int | None = None
    record_bytes: float | None = None
    overhead_bytes: float = 0.0  # what the database keeps with each record beside key and values
    client_on_database_host: bool | None = None
    hit_ratio: float | None = None  # of the reads, answered from memory
    hit_ratio_trend: float | None = None  # by how much it changed within the run

    @cached_property
    def memory_ratio(self) -> float | None:
        return memory_ratio(self)

    @cached_property
    def mode(self) -> Durability | None:
        """None where its record says nothing that can be read."""
        try:
            return Durability.from_dict(self.durability)
        except ValueError:
            return None

    @cached_property
    def complaints(self) -> list[str]:
        """What of its machines makes its numbers hard to repeat."""
        return complaints_about(self.cluster)


def judge_pair(a: SideFacts, b: SideFacts, profile: Profile) -> list[CheckResult]:
    """Every check of two sides, in the order of their ids. A difference warns: what it means is for the reader."""
    results = [check.result(a, b, profile=profile) for check in PAIR_CHECKS]
    return [result for result in results if result is not None]


def memory_ratio(side: SideFacts) -> float | None:
    """The stored data set over the memory of all nodes: records x (values + key + overhead) x copies / memory.

    The memory is what the database may cache in (`cache_bytes` of each node), else all of the node's.
    """
    cluster = side.cluster
    cache = cluster.cache_bytes
    if side.records is None or side.record_bytes is None or not cluster.nodes or not cache:
        return None
    stored = side.records * (side.record_bytes + KEY_BYTES + side.overhead_bytes) * cluster.stored_copies
    return stored / (cluster.nodes * cache)


def classify_fit(ratio: float, profile: Profile) -> Fit:
    if ratio < profile.fits_memory:
        return "fits in memory"
    if ratio > profile.exceeds_memory:
        return "lives on disk"
    return "borders on memory"


@check(
    "V17", "Data set and memory",
    "both under {fits_memory}, both between, or both over {exceeds_memory} of the memory",
    among=PAIR_CHECKS,
)  # fmt: skip
def memory(a: SideFacts, b: SideFacts, profile: Profile) -> Outcome:
    """A data set in memory is not compared with one on disk.

    Formula: r = records x (values + 23 B key + overhead) x copies / (nodes x memory); memory is each node's
        `cache_bytes` where stated, else `memory_bytes`. r < {fits_memory} fits in memory, r > {exceeds_memory}
        lives on disk, between it borders
    Warns: the two are of different kinds
    Not assessed without: record count and size, every node's memory
    """
    ratio_a, ratio_b = a.memory_ratio, b.memory_ratio
    if ratio_a is None or ratio_b is None:
        unknown = [side for side in (a, b) if side.memory_ratio is None]
        missing = "records and their size, or the memory of each node (memory_bytes of its machine, or cache_bytes),"
        return not_assessed(f"Of {_labels(unknown)} the {missing} are not known.")
    fit_a, fit_b = classify_fit(ratio_a, profile), classify_fit(ratio_b, profile)
    differences = []
    if fit_a != fit_b:
        message = f"the data set {fit_a} of {a.label} and {fit_b} of {b.label}: the difference may be memory's"
        if "lives on disk" in (fit_a, fit_b):
            message = f"for {a.label} the data set {fit_a}, for {b.label} it {fit_b}: the difference may be the disk's"
        differences = [("memory_fit", message)]
    return _judged(
        f"{significant(ratio_a, 2)} x the memory and {significant(ratio_b, 2)} x the memory", differences, [],
        f"On both sides the data set {fit_a}.",
        "Compare sides whose data sets have the same size against their memory.",
    )  # fmt: skip


@check("V18", "Hit ratio", "{hit_ratio_points} apart, or changing by that", among=PAIR_CHECKS)
def hit_ratio(a: SideFacts, b: SideFacts, profile: Profile) -> Outcome:
    """How many reads memory answers, which says more than any setting.

    Formula: share of reads answered from memory
    Warns: > {hit_ratio_points:points} percentage points apart, or changing by that within a run
    Not assessed without: the ratios, by the counters cache_hits and cache_misses of both sides' servers
    """
    unknown = [side for side in (a, b) if side.hit_ratio is None]
    if a.hit_ratio is None or b.hit_ratio is None:
        return not_assessed(f"No hit ratio of {_labels(unknown)} was recorded.")
    measured = f"{percent(a.hit_ratio)} and {percent(b.hit_ratio)}"
    changing = [side for side in (a, b) if abs(side.hit_ratio_trend or 0.0) > profile.hit_ratio_points + ROUNDING]
    complaints = []
    if changing:
        complaints.append(f"within the run of {_labels(changing)} the hit ratio still changed")
    differences = []
    if abs(a.hit_ratio - b.hit_ratio) > profile.hit_ratio_points + ROUNDING:
        answered = f"{percent(a.hit_ratio)} of {a.label}'s reads and {percent(b.hit_ratio)} of {b.label}'s"
        differences.append(("hit_ratio", f"memory answered {answered}"))
    return _judged(
        measured, differences, complaints,
        "Memory answered about as many reads on both sides.",
        "Warm both sides up until their hit ratios stand still, and give them data sets of one size.",
    )  # fmt: skip


@check("V20", "Durability", "the same acknowledgement, copies and loss", among=PAIR_CHECKS)
def durability(a: SideFacts, b: SideFacts, profile: Profile) -> Outcome:
    """What a write waits for. An unknown promise equals nothing, not even another unknown one.

    Formula: what a write waits for: acknowledgement, copies and what they had done, whether loss is none, bounded
        or unbounded
    Warns: different, or nothing is acknowledged
    Not assessed without: either mode's record (unknown modes of uploads)
    """
    if a.mode is None or b.mode is None:
        unknown = [side for side in (a, b) if side.mode is None]
        return not_assessed(f"What a write of {_labels(unknown)} waits for is not known.")
    write_a, write_b = waits_for(a.mode), waits_for(b.mode)
    differences = []
    if not same_class(a.mode, b.mode):
        differences.append(("durability", f"a write waits for {write_a} in {a.label} and for {write_b} in {b.label}"))
    unacknowledged = [side for side in (a, b) if side.durability.get("ack") == "none"]
    complaints = []
    if unacknowledged:
        complaints.append(f"writes of {_labels(unacknowledged)} are not acknowledged at all")
    return _judged(
        " and ".join(dict.fromkeys([write_a, write_b])), differences, complaints,
        f"On both sides a write waits for {write_a}.",
        "Compare modes that promise the same, or say with the numbers what the faster one may lose.",
    )  # fmt: skip


_WAITS_FOR: Final = {
    "none": "nothing", "memory": "the server's memory", "os_buffer": "the operating system", "disk": "the disk",
}  # fmt: skip


def waits_for(mode: Durability) -> str:
    """What a write of the mode waits for, in words that differ wherever `Durability.write_class` does."""
    text = _WAITS_FOR[mode.ack]
    if mode.replicas_acked:
        copies = f"{mode.replicas_acked} other"
        if isinstance(mode.replicas_acked, str):
            copies = f"{mode.replicas_acked} of the"
        text += f", {copies} copies ({_WAITS_FOR[mode.replica_ack]})"
    if mode.ack == "disk" and mode.loss_window_s == 0:
        return text
    lost = "any"
    if mode.loss_window_s is not None:
        lost = "the last seconds" if mode.loss_window_s else "none"
    return f"{text} (may lose {lost})"


NAMES: Final = {
    "version": "version",
    "ycsb_client": "YCSB client",
    "number_of_nodes": "number of nodes",
    "hardware": "hardware",
}


@check(
    "V24", "Environment",
    "same versions of one system and of YCSB, same hardware, clients apart on both",
    among=PAIR_CHECKS,
)  # fmt: skip
def environments(a: SideFacts, b: SideFacts, profile: Profile) -> Outcome:
    """Versions, machines and their neighbours.

    Formula: version of the same system, YCSB client, number and hardware of the nodes, clients on the database's
        machine, and what V24 asks of one run
    Warns: any difference
    Not assessed without: versions, hardware, places
    """
    values = {
        "ycsb_client": (a.client_version, b.client_version),
        "number_of_nodes": (a.cluster.nodes, b.cluster.nodes),
        "hardware": _hardware(a.cluster, b.cluster),
    }
    if a.system and a.system == b.system:
        values = {"version": (a.version, b.version), **values}
    unknown: list[str] = []
    differences: list[tuple[str, str]] = []
    for subject, (value_a, value_b) in values.items():
        if not value_a or not value_b:
            unknown.append(NAMES[subject])
        elif value_a != value_b:
            message = f"the {NAMES[subject]} differs"
            # What the machines are made of is too long for a sentence.
            if subject != "hardware":
                message += f" ({value_a} and {value_b})"
            differences.append((subject, message))
    if a.client_on_database_host is None or b.client_on_database_host is None:
        unknown.append("where the clients ran")
    elif a.client_on_database_host != b.client_on_database_host:
        sharing = a if a.client_on_database_host else b
        differences.append(("placement", f"only {sharing.label} shared its machine with its clients"))
    complaints: list[str] = []
    for side in (a, b):
        complaints += [f"{complaint} ({side.label})" for complaint in side.complaints]
    if not differences and not complaints and unknown:
        return not_assessed(f"Not known of both sides: {', '.join(unknown)}.")
    measured = "; ".join([*(message for _, message in differences), *complaints])
    return _judged(
        measured or "alike", differences, complaints, "Versions and machines are alike.",
        "Measure both sides on the same machines with the same versions, and nothing else on them.",
    )  # fmt: skip


def _hardware(a: ClusterFacts, b: ClusterFacts) -> tuple[Sequence[object], Sequence[object]]:
    """Of clusters of different sizes, the kinds of their nodes: six nodes are no other hardware than four of them."""
    if a.nodes == b.nodes:
        return a.hardware, b.hardware
    return list(dict.fromkeys(map(repr, a.hardware))), list(dict.fromkeys(map(repr, b.hardware)))


def _judged(
    measured: str, differences: Sequence[tuple[str, str]], complaints: Sequence[str], good: str, remedy: str
) -> Outcome:
    """A warning where there is a difference, each with its subject, or a complaint about one of the sides."""
    messages = [*(message for _, message in differences), *complaints]
    differing = tuple((subject, f"{sentence([message])}.") for subject, message in differences)
    return Outcome(warn_if(messages), measured, f"{sentence(messages)}.", remedy, differing, good=good)


def _labels(sides: Sequence[SideFacts]) -> str:
    return " and ".join(dict.fromkeys(side.label for side in sides))

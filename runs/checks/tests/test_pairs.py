"""Two sides of a comparison: what makes them differ beside what is compared, and what nobody knows of them."""

from dataclasses import replace
from typing import Any

import pytest

from runs.catalog.durability import Durability
from runs.checks import CheckResult, ClusterFacts, SideFacts, judge_pair, profile
from runs.checks.pairs import classify_fit, memory_ratio, waits_for

MEASURED = profile("measured")
DISK = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 0.0}
MEMORY = {**DISK, "ack": "memory", "loss_window_s": None}
GB = 1_000_000_000
NODE: dict[str, object] = {
    "memory_bytes": {"value": 64 * GB, "how": "observed"},
    "cores": {"value": 8, "how": "stated"},
}


def cluster(nodes: int = 1, **changes: Any) -> ClusterFacts:
    return replace(ClusterFacts(nodes=nodes, replication_factor=1, machines=(NODE,) * nodes), **changes)


SIDE = SideFacts(
    label="A",
    system="redis",
    version="7.0",
    client_version="ycsb 0.17.0",
    durability=DISK,
    cluster=cluster(),
    records=1_000_000,
    record_bytes=1000.0,
    client_on_database_host=False,
    hit_ratio=0.99,
    hit_ratio_trend=0.0,
)


def severities(a: SideFacts, b: SideFacts, purpose: str = "measured") -> dict[str, str]:
    return {finding.check_id: finding.severity for finding in judge_pair(a, b, profile(purpose))}


def test_equal_sides_pass():
    results = judge_pair(SIDE, replace(SIDE, label="B"), MEASURED)
    assert [(result.check_id, result.severity) for result in results] == [
        ("V17", "pass"), ("V18", "pass"), ("V20", "pass"), ("V24", "pass"),
    ]  # fmt: skip


CASES: list[tuple[str, dict[str, Any], str]] = [
    ("V17", {"records": 60_000_000}, "warn"),
    ("V17", {"records": 200_000_000}, "warn"),
    ("V17", {"records": 40_000_000}, "pass"),
    ("V17", {"records": None}, "not_assessed"),
    ("V17", {"cluster": ClusterFacts(nodes=1, machines=({"cores": 8},))}, "not_assessed"),
    ("V17", {"cluster": ClusterFacts(nodes=1, machines=({**NODE, "cache_bytes": GB // 2},))}, "warn"),
    ("V18", {"hit_ratio": 0.94}, "pass"),
    ("V18", {"hit_ratio": 0.93}, "warn"),
    ("V18", {"hit_ratio_trend": -0.06}, "warn"),
    ("V18", {"hit_ratio": None}, "not_assessed"),
    ("V20", {"durability": MEMORY}, "warn"),
    ("V20", {"durability": {**DISK, "replicas_acked": 1, "replica_ack": "memory"}}, "warn"),
    ("V20", {"durability": {**DISK, "reads": "any_copy"}}, "pass"),
    ("V20", {"durability": {}}, "not_assessed"),
    ("V20", {"durability": {"ack": "much"}}, "not_assessed"),
    ("V24", {"version": "7.2"}, "warn"),
    ("V24", {"system": "postgresql", "version": "15"}, "pass"),
    ("V24", {"version": ""}, "not_assessed"),
    ("V24", {"client_version": "ycsb 0.12.0"}, "warn"),
    ("V24", {"client_on_database_host": True}, "warn"),
    ("V24", {"client_on_database_host": None}, "not_assessed"),
    ("V24", {"cluster": cluster(2)}, "warn"),
    ("V24", {"cluster": ClusterFacts(nodes=1, machines=({**NODE, "cores": 4},))}, "warn"),
    ("V24", {"cluster": ClusterFacts(nodes=1, machines=({},))}, "not_assessed"),
    ("V24", {"cluster": cluster(replication_factor=3)}, "warn"),
]


@pytest.mark.parametrize(("check_id", "changes", "expected"), CASES)
def test_it_judges_two_sides(check_id, changes, expected):
    other = replace(SIDE, **{"label": "B", **changes})
    for a, b in ((SIDE, other), (other, SIDE)):
        finding = next(finding for finding in judge_pair(a, b, MEASURED) if finding.check_id == check_id)
        assert finding.severity == expected, finding
        assert finding.message.endswith(".") and finding.threshold and len(finding.measured) <= 120
        assert bool(finding.remedy) == (expected == "warn")


def test_unknown_never_equals_unknown():
    unknown = SideFacts("B")
    assert set(severities(unknown, replace(unknown, label="C")).values()) == {"not_assessed"}


def test_unacknowledged_writes_warn_even_beside_each_other():
    silent = replace(SIDE, durability={**MEMORY, "ack": "none"})
    assert severities(silent, silent)["V20"] == "warn"


def test_a_demonstration_only_hears_of_its_machine():
    shared = replace(SIDE, label="B", client_on_database_host=True)
    assert severities(SIDE, shared, "demo")["V24"] == "info"


# 500 million records of 120 bytes, two copies, on four machines of 31 GB: on the border, and with keys still.
@pytest.mark.parametrize(("record_bytes", "ratio"), [(120 - 23, 0.97), (120, 1.15)])
def test_it_agrees_with_a_published_cluster(record_bytes, ratio):
    four = ClusterFacts(nodes=4, replication_factor=2, machines=({"memory_bytes": 31 * GB},) * 4)
    side = SideFacts("study", cluster=four, records=500_000_000, record_bytes=record_bytes)
    found = memory_ratio(side)
    assert found == pytest.approx(ratio, abs=0.005)
    assert found is not None and classify_fit(found, MEASURED) == "borders on memory"


def told(record):
    return waits_for(Durability.from_dict(record))


def test_a_mode_is_told_in_words():
    assert told(DISK) == "the disk"
    assert told(MEMORY) == "the server's memory (may lose any)"
    assert told({**MEMORY, "loss_window_s": 1.0}) == "the server's memory (may lose the last seconds)"
    copies = {**DISK, "replicas_acked": "quorum", "replica_ack": "disk"}
    assert told(copies) == "the disk, quorum of the copies (the disk)"


# --- Whole findings at their limits ---

SAME_SIZE = "Compare sides whose data sets have the same size against their memory."
WARM_UP = "Warm both sides up until their hit ratios stand still, and give them data sets of one size."
PROMISES = "Compare modes that promise the same, or say with the numbers what the faster one may lose."
SAME_MACHINES = "Measure both sides on the same machines with the same versions, and nothing else on them."
THRESHOLDS_OF = {
    "V17": ("Data set and memory", "both under 0.7, both between, or both over 1.3 of the memory"),
    "V18": ("Hit ratio", "5 % apart, or changing by that"),
    "V20": ("Durability", "the same acknowledgement, copies and loss"),
    "V24": ("Environment", "same versions of one system and of YCSB, same hardware, clients apart on both"),
}


def filling(share: float, **changes: Any) -> dict[str, Any]:
    """A side whose records of 1,000 B, 23 B of key and 477 B of overhead fill this share of a node of 1.5 GB."""
    node = ClusterFacts(nodes=1, replication_factor=1, machines=({"memory_bytes": 1_500_000_000},))
    records = round(share * 1_000_000)
    return {"records": records, "record_bytes": 1000.0, "overhead_bytes": 477.0, "cluster": node, **changes}


def build_warning(*differences: tuple[str, str], shown: str = "") -> tuple[Any, ...]:
    message = "; ".join([differences[0][1], *(text[0].lower() + text[1:] for _, text in differences[1:])])
    shown = shown or message[0].lower() + message[1:]
    entries = tuple((subject, f"{text}.") for subject, text in differences)
    return "warn", shown, f"{message}.", SAME_MACHINES, entries


DISKS = "For A the data set fits in memory, for B it lives on disk: the difference may be the disk's."
BORDER = "The data set fits in memory of A and borders on memory of B: the difference may be memory's."
HITS = "Memory answered 99 % of A's reads and 93 % of B's"
WRITES = "A write waits for the disk in A and for the server's memory (may lose any) in B"
SILENT = {**MEMORY, "ack": "none"}

WHOLE: list[tuple[str, dict[str, Any], dict[str, Any], tuple[Any, ...]]] = [
    (
        "V17", filling(0.69), filling(0.7),
        ("warn", "0.69 x the memory and 0.70 x the memory", BORDER, SAME_SIZE, (("memory_fit", BORDER),)),
    ),
    (
        "V17", filling(0.7), filling(1.3),
        ("pass", "0.70 x the memory and 1.3 x the memory", "On both sides the data set borders on memory.", "", ()),
    ),
    (
        "V17", filling(0.5), filling(1.31),
        ("warn", "0.50 x the memory and 1.3 x the memory", DISKS, SAME_SIZE, (("memory_fit", DISKS),)),
    ),
    (
        "V17", filling(1.5), filling(1.5, record_bytes=None),
        (
            "not_assessed", "",
            "Of B the records and their size, or the memory of each node (memory_bytes of its machine, or "
            "cache_bytes), are not known.", "", (),
        ),
    ),
    (
        "V18", {}, {"hit_ratio": 0.94},
        ("pass", "99 % and 94 %", "Memory answered about as many reads on both sides.", "", ()),
    ),
    (
        "V18", {}, {"hit_ratio": 0.93},
        ("warn", "99 % and 93 %", f"{HITS}.", WARM_UP, (("hit_ratio", f"{HITS}."),)),
    ),
    # What changes within a run is no difference between the two.
    (
        "V18", {}, {"hit_ratio_trend": -0.06},
        ("warn", "99 % and 99 %", "Within the run of B the hit ratio still changed.", WARM_UP, ()),
    ),
    (
        "V18", {"hit_ratio": None}, {"hit_ratio": None},
        ("not_assessed", "", "No hit ratio of A and B was recorded.", "", ()),
    ),
    ("V20", {}, {}, ("pass", "the disk", "On both sides a write waits for the disk.", "", ())),
    (
        "V20", {}, {"durability": MEMORY},
        (
            "warn", "the disk and the server's memory (may lose any)", f"{WRITES}.", PROMISES,
            (("durability", f"{WRITES}."),),
        ),
    ),
    (
        "V20", {"durability": SILENT}, {"durability": SILENT},
        ("warn", "nothing (may lose any)", "Writes of A and B are not acknowledged at all.", PROMISES, ()),
    ),
    ("V20", {}, {"durability": {}}, ("not_assessed", "", "What a write of B waits for is not known.", "", ())),
    ("V24", {}, {}, ("pass", "alike", "Versions and machines are alike.", "", ())),
    ("V24", {}, {"version": "7.2"}, build_warning(("version", "The version differs (7.0 and 7.2)"))),
    (
        "V24", {"client_version": "ycsb 0.12.0"}, {"client_on_database_host": True},
        build_warning(
            ("ycsb_client", "The YCSB client differs (ycsb 0.12.0 and ycsb 0.17.0)"),
            ("placement", "Only B shared its machine with its clients"),
        ),
    ),
    # More nodes of the same kind are no other hardware; other nodes are, whatever they are.
    ("V24", {}, {"cluster": cluster(2)}, build_warning(("number_of_nodes", "The number of nodes differs (1 and 2)"))),
    (
        "V24", {"cluster": cluster(machines=({**NODE, "cores": 4},))}, {},
        build_warning(("hardware", "The hardware differs")),
    ),
    (
        "V24", {"cluster": cluster(2)}, {"cluster": cluster(2, machines=(NODE, {**NODE, "cores": 4}))},
        build_warning(("hardware", "The hardware differs")),
    ),
    (
        # Of the same size the numbers of each kind count.
        "V24",
        {"cluster": cluster(3, machines=(NODE, NODE, {**NODE, "cores": 4}))},
        {"cluster": cluster(3, machines=(NODE, {**NODE, "cores": 4}, {**NODE, "cores": 4}))},
        build_warning(("hardware", "The hardware differs")),
    ),
    (
        "V24", {"version": ""}, {"client_on_database_host": None},
        ("not_assessed", "", "Not known of both sides: version, where the clients ran.", "", ()),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("check_id", "first", "second", "expected"), WHOLE)
def test_findings_name_what_differs(check_id, first, second, expected):
    a, b = replace(SIDE, **first), replace(SIDE, **{"label": "B", **second})
    finding = next(finding for finding in judge_pair(a, b, MEASURED) if finding.check_id == check_id)
    severity, measured, message, remedy, differing = expected
    title, limits = THRESHOLDS_OF[check_id]
    plain = {
        name: getattr(finding, name).replace("\N{NARROW NO-BREAK SPACE}", " ")
        for name in ("measured", "threshold", "message")
    }
    differences = tuple(
        (subject, text.replace("\N{NARROW NO-BREAK SPACE}", " ")) for subject, text in finding.differing
    )
    assert replace(finding, **plain, differing=differences) == CheckResult(
        check_id, severity, title, measured, limits, message, remedy, differing
    )


@pytest.mark.parametrize(
    ("ratio", "fit"),
    [
        (0.69, "fits in memory"),
        (0.7, "borders on memory"),
        (1.3, "borders on memory"),
        (1.31, "lives on disk"),
    ],
)
def test_a_ratio_at_a_limit_borders_on_memory(ratio, fit):
    assert classify_fit(ratio, MEASURED) == fit


@pytest.mark.parametrize("unknown", [{"records": None}, {"record_bytes": None}, {"cluster": ClusterFacts(nodes=1)}])
def test_memory_ratio_needs_all_it_is_made_of(unknown):
    assert memory_ratio(SideFacts("A", **filling(0.5))) == 0.5
    # Copies count, and one is the least there is; one that no node has takes no room.
    for copies, ratio in ((2, 0.5), (None, 0.25), (3, 0.5)):
        nodes = ClusterFacts(nodes=2, replication_factor=copies, machines=({"memory_bytes": 1_500_000_000},) * 2)
        assert memory_ratio(SideFacts("A", **filling(0.5, cluster=nodes))) == ratio
    assert memory_ratio(SideFacts("A", **{**filling(0.5), **unknown})) is None


def test_waiting_for_copies_and_losses_is_told():
    two = {**DISK, "replicas_acked": 2, "replica_ack": "memory"}
    assert waits_for(Durability.from_dict(two)) == "the disk, 2 other copies (the server's memory)"
    late = {**DISK, "loss_window_s": 1.0}
    assert waits_for(Durability.from_dict(late)) == "the disk (may lose the last seconds)"
    safe = {**two, "ack": "memory"}
    assert waits_for(Durability.from_dict(safe)) == (
        "the server's memory, 2 other copies (the server's memory) (may lose none)"
    )

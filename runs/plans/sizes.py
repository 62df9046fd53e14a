"""A scaling set: databases of one system on clusters of several sizes, with records by a stated rule."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from benchsite.core.formatting import short

if TYPE_CHECKING:
    from runs.plans.expansion import PlannedRun

FIXED: Final = ""
PER_NODE: Final = "per_node"
RULES: Final = {
    FIXED: "the same total on every cluster",
    PER_NODE: "the same per node: the workload's records are those of the fewest nodes",
}


def overrides(rule: str, nodes: Mapping[str, int], records: Mapping[str, int]) -> list[dict[str, Any]]:
    """The overrides of a matrix that give each database its records: base * n / n0.

    `nodes` are those of the databases' clusters, `records` what the workloads say for the fewest of them (n0).
    """
    sizes = {count for count in nodes.values() if count}
    if rule != PER_NODE or len(sizes) < 2:
        return []

    fewest = min(sizes)
    return [
        {
            "match": {"database": database, "workload": workload},
            "set": {"recordcount": round(base * count / fewest)},
            "rule": PER_NODE,
        }
        for workload, base in records.items()
        for database, count in nodes.items()
        if count > fewest
    ]


def is_by_rule(override: Mapping[str, Any]) -> bool:
    """Whether an override was made by a rule, and not by a person."""
    return bool(override.get("rule"))


def get_rule(overrides: Sequence[Mapping[str, Any]]) -> str:
    return next((rule["rule"] for rule in overrides if rule.get("rule") in RULES), FIXED)


def sentences(runs: "Iterable[PlannedRun]") -> tuple[str, ...]:
    """The loads by size, for each system and workload that meet several: "20M / 30M / 40M records for 4 / 6 / 8
    nodes (cassandra, read-heavy)"."""
    sets: defaultdict[tuple[str, str], defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for run in runs:
        database, workload = run.sweep.entry.database, run.sweep.workload
        sets[database.system, workload.name][database.servers].add(run.dataset.records)
    lines = []
    for (system, name), by_size in sets.items():
        if len(by_size) > 1:
            sizes = " / ".join(map(str, sorted(by_size)))
            lines.append(f"{_list_records(by_size)} records for {sizes} nodes ({system}, {name})")
    return tuple(lines)


def _list_records(by_size: Mapping[int, set[int]]) -> str:
    """One number where every size has the same; several of one size stand as a range."""
    ranges = [_format_range(by_size[size]) for size in sorted(by_size)]
    return ranges[0] if len(set(ranges)) == 1 else " / ".join(ranges)


def _format_range(records: set[int]) -> str:
    lowest, highest = plain(min(records)), plain(max(records))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def plain(records: int) -> str:
    """20M rather than 20.0M: records are chosen, not measured."""
    text = short(records)
    number, letter = text[:-1], text[-1]
    if letter.isdigit() or "." not in number:
        return text
    return number.rstrip("0").rstrip(".") + letter

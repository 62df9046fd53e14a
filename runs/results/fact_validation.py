"""Facts of machines and clients: which types and ranges they have. What does not fit is no fact.

`Machine.facts` maps a name to {"value": ..., "how": "observed" | "stated"}; a client's facts are bare values.
"""

from collections.abc import Mapping
from typing import Any, Final

from benchsite.core.formatting import is_number
from runs.results.messages import (
    FACT_TOO_LONG,
    NEITHER_TEXT_NOR_NUMBER,
    NUMBER_BETWEEN,
    NUMBER_TOO_LARGE,
    TOO_MANY_CODES,
    TOO_MANY_PAIRS,
)
from runs.ycsb.server_codes import MAX_CODE_LENGTH, MAX_CODES

MAX_TEXT_LENGTH: Final = 500
MAX_NUMBER: Final = 2**63 - 1
MAX_CORES: Final = 4096
MAX_BYTES: Final = 2**60
MAX_CLOCK_STEPS: Final = 100

# Facts that are numbers, with what they may lie between.
NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(("cores", "cores_physical", "cores_usable", "numa_nodes"), (1, MAX_CORES)),
    **dict.fromkeys(("memory_bytes", "cache_bytes"), (1, MAX_BYTES)),
    **dict.fromkeys(("swap_bytes", "disk_total_bytes", "disk_free_bytes"), (0, MAX_BYTES)),
    **dict.fromkeys(("data_disk_total_bytes", "data_disk_free_bytes"), (0, MAX_BYTES)),
    **dict.fromkeys(("swappiness", "nic_bits_per_s", "clock_error_us", "disk_read_ahead_kib"), (0, MAX_NUMBER)),
    **dict.fromkeys(("fsync_us", "inserts", "started_epoch_s"), (0, MAX_NUMBER)),
}
# What a load generator may observe of its machine. Conductors observe others, and operators state what they like.
OBSERVED: Final = frozenset({
    "host", "cores", "cores_physical", "cores_usable", "cpu_model", "cpu_governor", "memory_bytes", "swap_bytes",
    "swappiness", "transparent_huge_pages", "numa_nodes", "kernel", "os", "architecture", "virtualised",
    "clock_source", "nic_bits_per_s", "nic", "open_files_limit", "processes_limit", "ntp_synchronised",
    "clock_error_us", "disk_device", "disk_file_system", "disk_mount_options", "disk_total_bytes", "disk_free_bytes",
    "disk_model", "disk_kind", "disk_scheduler", "disk_read_ahead_kib",
})  # fmt: skip


def fact_problem(name: str, value: object) -> str:
    """Why this is no value of the fact; empty where it is one."""
    if name in NUMBERS:
        least, most = NUMBERS[name]
        if is_number(value) and least <= value <= most:
            return ""
        return NUMBER_BETWEEN.format(name=name, least=least, most=most)
    if name == "clock_steps":
        if _are_pairs(value):
            return ""
        return TOO_MANY_PAIRS.format(name=name, limit=MAX_CLOCK_STEPS)
    if name == "server_codes":
        if _are_server_codes(value):
            return ""
        return TOO_MANY_CODES.format(name=name, limit=MAX_CODES)
    if isinstance(value, str):
        if len(value) <= MAX_TEXT_LENGTH:
            return ""
        return FACT_TOO_LONG.format(name=name, limit=MAX_TEXT_LENGTH)
    if not is_number(value):
        return NEITHER_TEXT_NOR_NUMBER.format(name=name)
    if not _is_in_range(value):
        return NUMBER_TOO_LARGE.format(name=name)
    return ""


def _are_pairs(value: object) -> bool:
    """When a clock was stepped and by how much, several times."""
    if not isinstance(value, list | tuple) or len(value) > MAX_CLOCK_STEPS:
        return False
    return all(isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_in_range, pair)) for pair in value)


def _is_in_range(value: object) -> bool:
    return is_number(value) and abs(value) <= MAX_NUMBER


def _are_server_codes(value: object) -> bool:
    if not isinstance(value, list) or len(value) > MAX_CODES:
        return False
    return all(isinstance(entry, list | tuple) and len(entry) == 4 and _is_server_code(*entry) for entry in value)


def _is_server_code(*entry: object) -> bool:
    *texts, count = entry
    is_count = isinstance(count, int) and not isinstance(count, bool) and 0 < count <= MAX_NUMBER
    return is_count and all(isinstance(text, str) and len(text) <= MAX_CODE_LENGTH for text in texts)


def checked_machine_facts(facts: Mapping[str, Any]) -> dict[str, dict[str, object]]:
    """The facts that a load generator may observe; others are left out. Raises ValueError for a wrong type or range."""
    observed = {name: entry for name, entry in facts.items() if name in OBSERVED}
    for name, entry in observed.items():
        if not isinstance(entry, Mapping) or "value" not in entry:
            raise ValueError(f'{name} is no {{"value": ...}}')
        problem = fact_problem(name, entry["value"])
        if problem:
            raise ValueError(problem)
    return {name: {"value": entry["value"], "how": "observed"} for name, entry in observed.items()}


def checked_client_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Raises ValueError for a wrong type or range."""
    for name, value in facts.items():
        if value is None:
            continue
        problem = fact_problem(name, value)
        if problem:
            raise ValueError(problem)
    return facts


def readable_facts(stored: object) -> dict[str, dict[str, object]]:
    """The facts of a stored machine without what earlier releases accepted and no page can show."""
    entries = stored.items() if isinstance(stored, Mapping) else ()
    return {
        name: dict(entry)
        for name, entry in entries
        if isinstance(entry, Mapping) and not fact_problem(name, entry.get("value"))
    }

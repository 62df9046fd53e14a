"""What exporters of metrics stated during a run: the file of the samples, rates, and what is picked of them. Pure."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

KIND: Final = "exporter"  # of the artifact with the samples of one exporter
COUNTER, GAUGE = "counter", "gauge"
AT: Final = "at_s"
MAX_SERIES: Final = 5_000  # of one exporter
MAX_NAME_LENGTH: Final = 300
_LABEL: Final = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
MEBIBYTE: Final = float(2**20)

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SampledSeries:
    """One series of an exporter; `values` are rates of a counter, NaN at its first sample and after it was reset."""

    text: str  # node_cpu_seconds_total{cpu="0",mode="idle"}
    kind: str
    at_s: Array  # since 1970
    values: Array

    @property
    def family(self) -> str:
        return self.text.partition("{")[0]

    @property
    def labels(self) -> dict[str, str]:
        return dict(_LABEL.findall(self.text.partition("{")[2]))


@dataclass(frozen=True, slots=True)
class Preset:
    """Series that are shown without being asked for, added up by one label. Together in a panel by its title."""

    family: str
    title: str  # with its unit
    divisor: float = 1.0
    by: str = ""  # this label tells lines apart; empty: one line
    line: str = ""  # the name of that one line
    without: tuple[str, str] = ("", "")  # a label and its value


PRESETS: Final = (
    Preset("node_cpu_seconds_total", "CPU (cores)", by="mode", without=("mode", "idle")),
    Preset("node_memory_MemAvailable_bytes", "memory available (MiB)", MEBIBYTE),
    Preset("node_disk_written_bytes_total", "disk (MiB/s)", MEBIBYTE, line="written"),
    Preset("node_disk_read_bytes_total", "disk (MiB/s)", MEBIBYTE, line="read"),
    Preset("node_network_transmit_bytes_total", "network (MiB/s)", MEBIBYTE, line="sent", without=("device", "lo")),
    Preset("node_network_receive_bytes_total", "network (MiB/s)", MEBIBYTE, line="received", without=("device", "lo")),
    Preset("redis_commands_processed_total", "commands (1/s)"),
    Preset("redis_keyspace_hits_total", "reads (1/s)", line="hits"),
    Preset("redis_keyspace_misses_total", "reads (1/s)", line="misses"),
    Preset("redis_memory_used_bytes", "memory used (MiB)", MEBIBYTE),
    Preset("pg_stat_database_xact_commit_total", "transactions (1/s)", line="committed"),
    Preset("pg_stat_database_xact_rollback_total", "transactions (1/s)", line="rolled back"),
    Preset("pg_stat_database_blks_hit_total", "blocks (1/s)", line="in memory"),
    Preset("pg_stat_database_blks_read_total", "blocks (1/s)", line="read"),
    Preset("mongodb_op_counters_total", "operations (1/s)", by="type"),
    Preset("mongodb_memory", "memory (MiB)", by="type"),
    Preset("mysql_global_status_commands_total", "commands (1/s)", by="command"),
    Preset("memcached_commands_total", "commands (1/s)", by="command"),
    Preset("jvm_memory_bytes_used", "JVM's memory (MiB)", MEBIBYTE, by="area"),
    Preset("jvm_memory_used_bytes", "JVM's memory (MiB)", MEBIBYTE, by="area"),
    Preset("jvm_gc_collection_seconds_sum", "garbage collection (s/s)", by="gc"),
)


def write_samples(kinds: Mapping[str, str], at_s: Sequence[float], columns: Mapping[str, Sequence[float]]) -> str:
    """CSV with a line of names, a line of their kinds, and a line for each sample; empty without a sample."""
    if not at_s:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([AT, *kinds])
    writer.writerow(["", *kinds.values()])
    writer.writerows(zip((round(instant, 3) for instant in at_s), *(columns[name] for name in kinds), strict=True))
    return text.getvalue()


def read_samples(text: str) -> list[SampledSeries]:
    """The series of such a file; counters as rates. None of what is no such file."""
    rows = list(csv.reader(io.StringIO(text)))
    if len(rows) < 3 or len({len(row) for row in rows}) > 1:
        return []

    names, kinds, *samples = rows
    if names[:1] != [AT]:
        return []
    try:
        numbers = np.array([list(map(float, sample)) for sample in samples], dtype=np.float64)
    except ValueError:
        return []

    at_s, *columns = numbers.T
    series = []
    for name, kind, values in zip(names[1:], kinds[1:], columns, strict=True):
        if kind == COUNTER:
            values = compute_rate(at_s, values)
        series.append(SampledSeries(name, kind, at_s, values))
    return series


def compute_rate(at_s: Array, counts: Array) -> Array:
    """Per second since the sample before."""
    changes = np.diff(counts, prepend=np.nan)
    changes[changes < 0] = np.nan  # What was started again counts from 0.
    lengths = np.diff(at_s, prepend=np.nan)
    rates: Array = np.divide(changes, lengths, out=np.full(changes.size, np.nan), where=lengths > 0)
    return rates


@dataclass(frozen=True, slots=True, eq=False)
class PickedLine:
    """What one line of a panel shows."""

    title: str
    name: str
    at_s: Array
    values: Array


def pick_preset(series: Sequence[SampledSeries]) -> list[PickedLine]:
    """CPU, memory, disk and network of a machine, and the main counters of a database."""
    by_family: dict[str, list[SampledSeries]] = defaultdict(list)
    for entry in series:
        by_family[entry.family].append(entry)
    lines: list[PickedLine] = []
    for preset in PRESETS:
        lines += _add_up(preset, by_family.get(preset.family, ()))
    return lines


def _add_up(preset: Preset, series: Iterable[SampledSeries]) -> Iterator[PickedLine]:
    excluded_label, excluded_value = preset.without
    quantity, _, _ = preset.title.partition(" (")
    parts: dict[str, list[SampledSeries]] = defaultdict(list)
    for entry in series:
        labels = entry.labels
        if excluded_label and labels.get(excluded_label) == excluded_value:
            continue
        name = labels.get(preset.by) or preset.line or quantity
        parts[name].append(entry)
    for name, entries in parts.items():
        values = np.array([entry.values for entry in entries])
        # A device that comes or goes leaves the others their sum.
        total = np.where(np.isfinite(values).any(axis=0), np.nansum(values, axis=0), np.nan)
        yield PickedLine(preset.title, name, entries[0].at_s, total / preset.divisor)


def search_series(series: Sequence[SampledSeries], words: str) -> list[PickedLine]:
    """Every series in whose text all of these words occur, a panel for each family."""
    sought = words.lower().split()
    lines = []
    for entry in series:
        if not all(word in entry.text.lower() for word in sought):
            continue
        title = entry.family
        if entry.kind == COUNTER:
            title += " (1/s)"
        name = ", ".join(entry.labels.values()) or entry.family
        lines.append(PickedLine(title, name, entry.at_s, entry.values))
    return lines

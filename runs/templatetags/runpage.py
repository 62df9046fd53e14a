"""What pages of runs and imports need beside the units: latencies in one unit per table, clients by number, percentiles
that may be bounds."""

from collections.abc import Iterable, Mapping
from typing import cast
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchsite.core import formatting
from runs.catalog.generators import find_elsewhere
from runs.checks.default_thresholds import PROFILES
from runs.checks.facts import fact
from runs.checks.spec_facts import get_key_shares
from runs.models import Matrix, Measurement, Run, RunEvent, Stage
from runs.queue.spec import RunSpec, describe_window
from runs.queue.spec_corrections import REPLACED, list_lasting_changes
from runs.ycsb.key_shares import KeyShares
from runs.ycsb.merged import Phase

register = template.Library()
register.simple_tag(describe_window)

PHASES: Mapping[Phase | None, str] = {"load": "load", "measure": "measured", None: "phase unknown"}
FORMATS = {
    "ycsb-text": "YCSB text",
    "ycsb-json": "YCSB JSON",
    "ycsb-raw": "raw points",
    "hdr-log": "HDR log",
    "thumbtack": "Thumbtack's YCSB",
    "load-generator": "LoadGenerator",
    "go-ycsb": "go-ycsb",
    "go-ycsb-table": "go-ycsb table",
    "go-ycsb-json": "go-ycsb JSON",
    "go-ycsb-csv": "go-ycsb CSV",
    "ycsb-cpp": "YCSB-cpp",
    "ycsb-c": "YCSB-C",
    "properties": "client properties",
}


@register.filter
def most_severe(check_id: str, purpose: str) -> str:
    """What the check says at most under the purpose; empty where its limits alone decide."""
    return PROFILES[purpose].at_most.get(check_id, "")


@register.filter
def lasting_changes(run: Run) -> list[str]:
    """Names of settings that a new run of its matrix would not take."""
    return list_lasting_changes(run)


@register.filter
def replacement(run: Run) -> str:
    """The key of the matrix that measures its point anew; empty where there is none."""
    return run.events.filter(kind=REPLACED).values_list("new", flat=True).last() or ""


@register.filter
def has_clients_elsewhere(matrix_id: UUID | str) -> bool:
    """Whether its clients can run on a machine that has no part in its plan yet."""
    return find_elsewhere(Matrix.objects.get(pk=matrix_id)).exists()


@register.filter
def key_shares(run: Run) -> KeyShares | None:
    """How much of its requests the hottest keys get; None where nobody knows."""
    return get_key_shares(cast(RunSpec, run.spec))


@register.filter
def format_name(slug: str | None) -> str:
    """The recognised format of a file, in words."""
    return FORMATS.get(slug or "", slug or "not recognised")


@register.filter
def phase_name(phase: Phase | None) -> str:
    return PHASES[phase]


@register.filter
def returned(returns: Mapping[str, int]) -> str:
    """Return codes beside success, which goes without saying: ERROR 4, NOT_FOUND 12."""
    others = {code: count for code, count in returns.items() if code not in ("OK", "0")}
    return ", ".join(f"{code} {formatting.grouped(count, 0)}" for code, count in others.items())


UNITS = {"µs": 1.0, "ms": 1e3, "s": 1e6}


def common_unit(latencies_us: Iterable[float | None]) -> str:
    """The unit in which the middle one of these latencies has the fewest superfluous digits."""
    latencies = sorted(value for value in latencies_us if value is not None)
    middle = 0.0
    if latencies:
        middle = latencies[len(latencies) // 2]
    if middle >= 1e6:
        return "s"
    if middle >= 1e3:
        return "ms"
    return "µs"


@register.filter
def latency_unit(lines: Iterable[Measurement]) -> str:
    """The unit for a table of measurements: that of their 99th percentiles."""
    return common_unit(line.p99_us or (line.bounds.get("p99") or [None])[0] for line in lines)


def latency_in(value_us: float | None, unit: str) -> SafeString:
    """Microseconds as a bare number of `unit`, with three significant digits; the full value is in the title."""
    if value_us is None or formatting.is_missing(value_us):
        return format_html('<span class="muted">{}</span>', formatting.NOTHING)
    full = formatting.grouped(value_us, 0 if float(value_us).is_integer() else 1)
    return format_html('<span title="{} µs">{}</span>', full, formatting.significant(value_us / UNITS[unit]))


# A statistic's name, and its key in `Measurement.bounds` -> its column.
COLUMNS = {
    "mean": "mean_us", "min": "min_us", "p50": "p50_us", "p90": "p90_us", "p95": "p95_us", "p99": "p99_us",
    "p99.9": "p999_us", "p99.99": "p9999_us", "max": "max_us",
}  # fmt: skip


@register.simple_tag
def statistic_in(line: Measurement, name: str, unit: str) -> SafeString:
    """A statistic as a bare number of `unit`, or the range in which it is known to lie."""
    bounds = line.bounds.get(name)
    if bounds is None:
        value = latency_in(getattr(line, COLUMNS[name]), unit)
        if (bound := line.upper_bounds.get(name)) is None:
            return value
        return format_html(
            '{}<br><span class="small muted nowrap" title="upper bound with 99{}% confidence, within this run">'
            "≤{}{}</span>",
            value, formatting.THIN, formatting.THIN, formatting.significant(bound / UNITS[unit]),
        )  # fmt: skip

    low, high = (None if value is None else formatting.significant(value / UNITS[unit]) for value in bounds)
    text = f"≥{formatting.THIN}{low}" if high is None else f"{low}\N{EN DASH}{high}"
    return format_html('<span title="bounds: histograms missing">{}</span>', text)


@register.filter
def get_bounds(line: Measurement, name: str) -> list[float | None] | None:
    """The bounds between which a statistic lies; None where its value is known."""
    found: list[float | None] | None = line.bounds.get(name)
    return found


CLIENT_TONES = {
    "waiting": "queued",
    "starting": "running",
    "ready": "running",
    "running": "running",
    "storing": "running",
    "finished": "succeeded",
    "failed": "failed",
}


@register.filter
def client_tone(state: str) -> str:
    """The badge of a client run's state: the shapes of runs serve for their clients too."""
    return CLIENT_TONES.get(state, "none")


@register.filter
def at_number(clients: object, number: int) -> object:
    """The client of that number among the live ones, if it has said anything."""
    return next((client for client in clients or () if client.number == number), None)  # type: ignore[attr-defined]


@register.filter
def event_in_words(event: RunEvent) -> str:
    """One line of a run's timeline: "queued → dispatched", "measuring", "tags: a, b"."""
    if event.kind == "status":
        if event.old:
            return f"{event.old} → {event.new}"
        return event.new
    if event.kind == "stage":
        return str(dict(Stage.choices).get(event.new, event.new))
    return event.kind.replace("_", " ")


# Facts worth a line, in this order. The rest is on the machine's own page, or shown where none of these is known.
FACTS = ("cpu_model", "cpu", "cores", "memory_bytes", "kernel", "disk_file_system", "fsync_us")


@register.filter
def facts_in_words(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    """The known facts of a machine as (name, text); values are bare or {"value": ..., "how": ...}."""
    found = []
    for name in [name for name in FACTS if name in (facts or {})] or sorted(facts or {}):
        value = fact(facts, name)
        if value is None or value == "":
            continue
        if name.endswith("_bytes") and isinstance(value, int | float):
            found.append((name.removesuffix("_bytes").replace("_", " "), formatting.size(value)))
        elif name.endswith("_us") and isinstance(value, int | float):
            found.append((name.removesuffix("_us").replace("_", " "), formatting.latency(value)))
        else:
            found.append((name.replace("_", " "), str(value)))

    return found


@register.filter
def whole(seconds: float | str | None) -> int | None:
    """Whole seconds, for a clock that is looked at every two of them."""
    # A name that a template does not find is an empty text.
    if seconds is None or isinstance(seconds, str):
        return None
    return round(seconds)


@register.filter
def or_empty(value: object) -> str:
    """A setting's value; an empty one is written as quotes, and one that nobody knows as a dash."""
    if value is None:
        return formatting.NOTHING
    return str(value) or '""'

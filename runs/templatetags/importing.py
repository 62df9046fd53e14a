"""What the import pages need beside the units: percentiles that may be bounds, and what there is in many files."""

from collections.abc import Mapping, Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchsite import formatting
from runs.ycsb.merged import Phase

register = template.Library()

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
}


@register.filter
def format_name(slug: str | None) -> str:
    """What a file was recognised as, in words."""
    return FORMATS.get(slug or "", slug or "not recognised")


@register.filter
def phase_name(phase: Phase | None) -> str:
    return PHASES[phase]


@register.filter
def between(bounds: Sequence[float | None] | None) -> SafeString:
    """A latency in µs that is known, or known to lie between two values: 1.20 ms; 1.20 to 3.40 ms; over 1.20 ms."""
    if not bounds or bounds[0] is None:
        return format_html('<span class="muted">{}</span>', formatting.NOTHING)
    low, high = bounds
    if low == high:
        return format_html('<span class="nowrap" title="{} µs">{}</span>', low, formatting.latency(low))
    text = f"{formatting.latency(low)} to {formatting.latency(high)}" if high else f"over {formatting.latency(low)}"
    full = f"between {low} and {high} µs" if high else f"at least {low} µs"
    return format_html('<span class="nowrap" title="{}">{}</span>', full, text)


@register.filter
def returned(returns: Mapping[str, int]) -> str:
    """Return codes beside success, which goes without saying: ERROR 4, NOT_FOUND 12."""
    others = {code: count for code, count in returns.items() if code not in ("OK", "0")}
    return ", ".join(f"{code} {formatting.grouped(count, 0)}" for code, count in others.items())

"""What the import pages need beside the units: percentiles that may be bounds, and what there is in many files."""

from collections.abc import Mapping

from django import template

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
def returned(returns: Mapping[str, int]) -> str:
    """Return codes beside success, which goes without saying: ERROR 4, NOT_FOUND 12."""
    others = {code: count for code, count in returns.items() if code not in ("OK", "0")}
    return ", ".join(f"{code} {formatting.grouped(count, 0)}" for code, count in others.items())

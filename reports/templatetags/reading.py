"""Filters of the templates of reports: curves, histories, verdicts against baselines, parts of frozen reports."""

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchsite.core import formatting
from benchsite.templatetags.units import latency, latency_between
from reports.compare.curves import Curve, Operation
from reports.compare.figures.layout import cut
from reports.compare.ladder_text import below_highest, ladder_says, threads_text
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.comparison_table import LatencyScale
from reports.compare.pages.equal_load import number_text, within_text
from reports.trends.figures.history import change_text, change_words
from reports.trends.histories import HistoryChange, Metric
from reports.trends.verdicts.serialization import MetricAnswer

register = template.Library()
register.filter(change_words)
register.filter("ladder_words", ladder_says)
register.filter(below_highest)
register.filter("within_words", within_text)
register.filter(number_text)
register.filter(threads_text)
register.filter("plain", formatting.written)
MAX_MENU_NAME: Final = 40  # characters
# The badges of the site whose shape says as much: a tick, a warning, a cross, a dash.
TONES = {"pass": "pass", "improvement": "pass", "mixed": "warn", "regression": "reject", "error": "warn"}


@register.filter
def cut_name(name: str, rows: Collection[tuple[Any, str]]) -> str:
    """The name for a menu, with the part in which it differs from the others of the rows (id, name)."""
    return cut(name, MAX_MENU_NAME, [other for _, other in rows])


@register.filter
def named(curve: Curve, labels: Mapping[UUID, str]) -> str:
    """The label of a curve among its neighbours, as in the pictures."""
    return labels.get(curve.sweep_id, curve.label)


@register.filter
def scaled(latency_us: float | None, scale: LatencyScale) -> str:
    """A latency in the unit that the heading of its column names."""
    return formatting.grouped(None if latency_us is None else latency_us / scale.divisor, scale.places)


@register.filter
def format_latency(operation: Operation, name: str) -> SafeString:
    """One statistic with its unit: the geometric mean of the repeats, or the bounds between which it lies."""
    bounds = operation.bounds_us.get(name)
    if bounds:
        return latency_between(bounds)
    return latency(operation.geomean_us(name))


@register.filter
def of_metric(value: float | None, metric: Metric) -> SafeString:
    """A value with the unit of its metric, the whole number on hover."""
    if value is None or formatting.is_missing(value):
        return format_html('<span class="muted">{}</span>', formatting.NOTHING)
    return format_html('<span class="nowrap" title="{} {}">{}</span>', value, metric.unit, metric.text(value))


@register.filter
def signed_change(change: HistoryChange) -> SafeString:
    """Arrow, sign and per cent, blue for better and orange for worse; grey where it does not count."""
    tone = "muted"
    if change.counts:
        tone = "worse"
        if change.better:
            tone = "better"

    return format_html(
        '<span class="{} nowrap" title="p = {}">{}</span>',
        tone,
        f"{formatting.significant(change.p, 2)}",
        change_text(change),
    )


@register.filter
def against_badge(verdict: object) -> SafeString:
    """A verdict against a baseline as shape, word and colour."""
    words = {"error": "no verdict"}.get(str(verdict), str(verdict))
    return format_html('<span class="badge badge--{}">{}</span>', TONES.get(str(verdict), "none"), words)


@register.filter
def named_run(names: Mapping[UUID | str, str], pk: UUID | str) -> str:
    """The name of a run or a test; the beginning of its id where it was deleted meanwhile."""
    return names.get(pk, f"{str(pk)[:13]}…")


@register.filter
def ratio_interval(metric: MetricAnswer) -> str:
    """ "0.880 times [0.876, 0.884]"; the ratio alone where there is no interval."""
    if metric.ratio is None:
        return formatting.NOTHING
    if metric.low is None or metric.high is None:
        return formatting.significant(metric.ratio, 3) + formatting.TIMES
    ratio, low, high = (formatting.significant(value, 3) for value in (metric.ratio, metric.low, metric.high))
    return f"{ratio}{formatting.TIMES} [{low}, {high}]"


@register.simple_tag(takes_context=True)
def prose(context: template.Context, name: str) -> str:
    """A text template below `reports/`, escaped."""
    return plain_text(name, **{str(key): value for key, value in context.flatten().items()})


@register.filter
def at(known: Mapping[str, Any], name: str) -> Any:
    """What is known under a name that only the page knows."""
    return known.get(name, "")

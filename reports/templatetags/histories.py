"""What templates read off histories."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchsite import formatting
from reports.figures.history import change_text, change_words
from reports.histories import Metric, Said

register = template.Library()
register.filter(change_words)


@register.filter
def of_metric(value: float | None, metric: Metric) -> SafeString:
    """A value with the unit of its metric, the whole number on hover."""
    if value is None or formatting.is_missing(value):
        return format_html('<span class="muted">{}</span>', formatting.NOTHING)
    return format_html('<span class="nowrap" title="{} {}">{}</span>', value, metric.unit, metric.text(value))


@register.filter
def signed_change(said: Said) -> SafeString:
    """Arrow, sign and per cent, blue for better and orange for worse; grey where it does not count."""
    change = said.change
    tone = ("better" if change.better else "worse") if change.counts else "muted"
    return format_html(
        '<span class="{} nowrap" title="p = {}">{}</span>',
        tone,
        f"{formatting.significant(change.p, 2)}",
        change_text(change),
    )

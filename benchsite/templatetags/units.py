"""Template filters for numbers with units, times and states. The full value is in the title, for a look on hover."""

import datetime
from collections.abc import Callable, Sequence

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from benchsite.core import formatting

register = template.Library()
MISSING = format_html('<span class="muted">{}</span>', formatting.NOTHING)

LIVE = frozenset({"running", "dispatched", "cancelling"})
STATES = frozenset({"queued", "succeeded", "failed", "cancelled", "pass", "warn", "reject", "none", *LIVE})


def as_number(value: object) -> float | int | None:
    """The number in `value`; None for what is none, so that a template never fails on missing data."""
    if isinstance(value, bool) or value is None or value == "":
        return None
    if isinstance(value, int | float):
        return value
    try:
        return float(str(value))
    except ValueError:
        return None


def with_full_value(value: object, text: Callable[[float | int | None], str], unit: str) -> SafeString:
    number = as_number(value)
    if number is None or formatting.is_missing(number):
        return MISSING
    full = formatting.grouped(number, 0 if float(number).is_integer() else 3)
    return format_html('<span class="nowrap" title="{} {}">{}</span>', full, unit, text(number))


@register.filter
def ops(value: object) -> SafeString:
    """Operations per second: 41.2k ops/s."""
    return with_full_value(value, formatting.throughput, "ops/s")


@register.filter
def short(value: object) -> SafeString:
    """A count without a unit, for a column whose header names it: 41.2k."""
    return with_full_value(value, formatting.short, "")


@register.filter
def count(value: object) -> str:
    """A whole number with its thousands apart: 41,234."""
    return formatting.grouped(as_number(value))


@register.filter
def decimals(value: object, places: int) -> str:
    """A number of a column whose header names its unit, with so many decimals: 12.50."""
    return formatting.grouped(as_number(value), places)


@register.filter
def exact(value: object) -> str:
    """A configured number as it was entered: 2.5."""
    return formatting.exact(as_number(value))


@register.filter
def times(value: object) -> str:
    """A ratio with its sign: 3.6 times; near 1 with three digits."""
    return formatting.times(as_number(value))


@register.filter
def latency(value: object) -> SafeString:
    """Microseconds: 1.20 ms."""
    return with_full_value(value, formatting.latency, "µs")


@register.filter
def latency_between(bounds: Sequence[float | None] | None) -> SafeString:
    """Bounds in microseconds, the upper one None where there is none: "10.0-100 ms"; a latency where both are equal."""
    low, high = bounds or (None, None)
    if low is None or low == high:
        return latency(low)
    if high is None:
        full = f"at least {formatting.exact(low)} µs"
    else:
        full = f"{formatting.exact(low)} to {formatting.exact(high)} µs"
    return format_html('<span class="nowrap" title="{}">{}</span>', full, formatting.latency_between(low, high))


@register.filter(name="bytes")
def size(value: object) -> SafeString:
    """Bytes: 1.50 GiB."""
    return with_full_value(value, formatting.size, "bytes")


@register.filter
def duration(value: object) -> SafeString:
    """Seconds or a timedelta: 4 min 12 s."""
    seconds = value
    if isinstance(value, datetime.timedelta):
        seconds = value.total_seconds()
    return with_full_value(seconds, formatting.duration, "s")


@register.filter
def percent(value: object) -> SafeString:
    """A fraction as a share: 50.0 %."""
    return with_full_value(value, formatting.percent, "as a fraction")


@register.filter
def signed_percent(value: object, better: str = "") -> SafeString:
    """A fraction as signed per cent with an arrow; `better` is "higher" or "lower" and chooses the colour.

    {{ change|signed_percent:"lower" }} for a latency. Without `better` there is no colour, only arrow and sign.
    """
    number = as_number(value)
    if number is None or formatting.is_missing(number):
        return MISSING

    arrow = ""
    if number:
        arrow = "▲ " if number > 0 else "▼ "
    tone = ""
    if better and number:
        tone = "worse"
        if (number > 0) == (better == "higher"):
            tone = "better"

    return format_html(
        '<span class="nowrap {}" title="{}">{}{}</span>', tone, number, arrow, formatting.signed_percent(number)
    )


@register.filter
def verdict_badge(value: object) -> SafeString:
    """A verdict as shape, word and colour; takes the text or anything with `.verdict`, of a run with its coverage."""
    verdict = str(getattr(value, "verdict", value) or "")
    if verdict not in ("pass", "warn", "reject"):
        return format_html('<span class="badge badge--none">{}</span>', "not judged")
    badge = format_html('<span class="badge badge--{}">{}</span>', verdict, verdict)
    checks, assessed = getattr(value, "checks", None), getattr(value, "checks_assessed", None)
    if checks is None or assessed is None:
        return badge
    return format_html('{} <span class="small muted nowrap">{} of {} checks assessed</span>', badge, assessed, checks)


@register.filter
def status_badge(value: object) -> SafeString:
    """A status as shape, word and colour; takes the text, a run, or anything with `.status` and `.status_word`."""
    status = str(getattr(value, "display_status", getattr(value, "status", value)) or "none")
    tone = "none"
    if status in STATES:
        tone = status
    word = getattr(value, "status_word", status.replace("_", " "))
    live = ""
    if tone in LIVE:
        live = " badge--live"
    return format_html('<span class="badge badge--{}{}">{}</span>', tone, live, word)


@register.filter
def backticks(text: object) -> SafeString:
    """Text of the catalog, with what stands between backticks as code."""
    # Every second part stands between two backticks; an unpaired last one is plain text again.
    parts: list[str] = str(text).split("`")
    for i in range(1, len(parts) - 1, 2):
        parts[i] = format_html("<code>{}</code>", parts[i])
    return format_html_join("", "{}", [(part,) for part in parts])


@register.filter
def moment(value: object) -> SafeString:
    """An instant: written in UTC by the server, turned into the reader's own zone by site.js."""
    if not isinstance(value, datetime.datetime):
        return MISSING
    instant = value.astimezone(datetime.UTC) if timezone.is_aware(value) else value.replace(tzinfo=datetime.UTC)
    return format_html(
        '<time class="nowrap" datetime="{}" data-local>{} UTC</time>',
        instant.isoformat(timespec="seconds"),
        instant.strftime("%-d %b %Y %H:%M"),
    )


register.filter("client_threads", formatting.client_threads)

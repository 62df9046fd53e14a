"""What templates read off curves: words about ceilings, single statistics."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django import template
from django.utils.safestring import SafeString

from benchsite.templatetags.units import latency, latency_between
from reports.analysis.ceiling import NON_MONOTONE, Ceiling
from reports.curves import Curve, Operation
from reports.ladder_text import bracket_says, ceiling_sentence, ladder_says
from reports.pages.equal_load import said_within

register = template.Library()
register.filter(ceiling_sentence)
register.filter("ladder_words", ladder_says)
register.filter("within_words", said_within)


@register.filter
def bracket_words(found: Ceiling) -> str:
    """The last sustained target and the next, "target 75.0k, 100k failed", and whether the rungs contradict it."""
    return bracket_says(found) + (", non-monotone" if NON_MONOTONE in found.notes else "")


@register.filter
def load_heading(rows: Iterable[Any]) -> str:
    """What the column of loads holds, of the rows of a table that have a curve each."""
    targets = {bool(found.bracket) for row in rows if (found := row["curve"].ceiling)}
    return "at threads or target" if len(targets) > 1 else "at target" if True in targets else "at threads"


@register.filter
def named(curve: Curve, labels: Mapping[UUID, str]) -> str:
    """What a curve is called among those that it stands beside, as in the pictures."""
    return labels.get(curve.sweep_id, curve.label)


@register.filter
def latency_of(operation: Operation, name: str) -> SafeString:
    """One statistic with its unit: the median over the repeats, or the bounds between which it lies."""
    bounds = operation.bounds_us.get(name)
    return latency_between(bounds) if bounds else latency(operation.median_us(name))

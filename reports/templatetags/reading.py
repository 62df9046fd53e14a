"""What templates read off curves: words about ceilings, single statistics."""

from django import template
from django.utils.safestring import SafeString

from benchsite.templatetags.units import latency, latency_between
from reports.analysis.ceiling import Ceiling
from reports.analysis.ratios import ratio_text
from reports.curves import Operation
from reports.figures.ceilings import LADDER_SAYS
from reports.words import ceiling_sentence

register = template.Library()
register.filter(ceiling_sentence)


@register.filter
def ladder_words(found: Ceiling) -> str:
    """What the end of a ladder shows, in a few words."""
    return LADDER_SAYS[found.ladder]


@register.filter
def ratio_words(ratio: float) -> str:
    """How many times, "3.6" and the sign; near 1, where two digits would say nothing, three."""
    return ratio_text(ratio, 3 if 0.8 < ratio < 1.25 else 2)


@register.filter
def latency_of(operation: Operation, name: str) -> SafeString:
    """One statistic with its unit: the median over the repeats, or the bounds between which it lies."""
    bounds = operation.bounds_us.get(name)
    return latency_between(bounds) if bounds else latency(operation.median_us(name))

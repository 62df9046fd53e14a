"""What templates read off curves: words about ceilings, single statistics."""

from django import template

from reports.analysis.ceiling import Ceiling
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
def statistic(operation: Operation, name: str) -> float | None:
    """The median over the repeats of one statistic, in µs."""
    return operation.median_us(name)

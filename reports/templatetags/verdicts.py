"""What templates say of verdicts against a baseline."""

from collections.abc import Mapping
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchsite.formatting import NOTHING, TIMES, significant
from reports.verdicts.serialization import MetricAnswer

register = template.Library()
# The badges of the site whose shape says as much: a tick, a warning, a cross, a dash.
TONES = {"pass": "pass", "improvement": "pass", "mixed": "warn", "regression": "reject", "error": "failed"}


@register.filter
def against_badge(verdict: object) -> SafeString:
    """A verdict against a baseline as shape, word and colour."""
    return format_html('<span class="badge badge--{}">{}</span>', TONES.get(str(verdict), "none"), str(verdict))


@register.filter
def named_run(names: Mapping[UUID, str], pk: UUID) -> str:
    """What a run is called; the beginning of its id where it was deleted meanwhile."""
    return names.get(pk, f"{str(pk)[:13]}…")


@register.filter
def ratio_interval(one: MetricAnswer) -> str:
    """ "0.880 times [0.876, 0.884]"; the ratio alone where there is no interval."""
    if one.ratio is None:
        return NOTHING
    if one.low is None or one.high is None:
        return significant(one.ratio, 3) + TIMES
    return f"{significant(one.ratio, 3)}{TIMES} [{significant(one.low, 3)}, {significant(one.high, 3)}]"

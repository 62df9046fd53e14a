"""Secret addresses of badges: made and revoked by admins, and what is shown at them.

A badge says how the newest commit of one test stands, in one word, and a line says how it went, without numbers.
Nothing else of the team is to be seen: the label is what the admin wrote for it.
"""

import math
import secrets
from collections.abc import Sequence
from typing import Final

from django.core.cache import cache
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone

from benchsite.accounts import audit
from benchsite.accounts.models import Team, User
from benchsite.accounts.tenancy import all_teams
from benchsite.core.formatting import printable
from reports.models import BadgeLink
from reports.trends.queries.baselines import newest_run, points_to_draw
from reports.trends.verdicts.baseline_selection import BaselineUnknown, verdict_of_run
from runs.models import Run

EDGE: Final = 6  # pixels beside each text
MAX_TEXT_LENGTH: Final = 60  # characters of one text
# Advance widths at 11 pixels, of sans-serif letters; `textLength` makes any other font fit.
NARROW, USUAL, WIDE, FULL = 4.0, 6.6, 9.2, 11.0
_WIDTHS: Final = dict.fromkeys(" .,:;!'|()[]{}ijlft/\\-", NARROW) | dict.fromkeys("mwMWOQGD@%&", WIDE)
LABEL: Final = "#4b5563"
# Word and colour, with a sign so that colour is never alone; white on each has a contrast of 4.5 : 1 or more.
COLOURS: Final = {
    "pass": "#0b6e4f",
    "improvement": "#0067a3",
    "regression": "#a84300",
    "mixed": "#7a5200",
    "inconclusive": "#5b6472",
    "error": "#a84300",
}
SIGNS: Final = {"pass": "✓", "improvement": "▲", "regression": "▼", "mixed": "◆", "inconclusive": "?", "error": "!"}
SPARK_WIDTH: Final = 120
SPARK_HEIGHT: Final = 24
SPARK_EDGE: Final = 4
MAX_POINTS: Final = 60
TOKEN_BYTES: Final = 16  # 128 bits, 22 characters
MAX_LABEL_LENGTH: Final = 40
MAX_LINKS: Final = 200  # of one team that work
# A badge is asked for by every reader of a page: it is worked out once a minute.
KEPT_S: Final = 60


def measure_width(text: str) -> float:
    """Pixels of a text at 11 pixels; letters beyond Latin are taken for full ones."""
    latin = [character for character in text if character < "\u0250"]
    return sum(_WIDTHS.get(character, USUAL) for character in latin) + FULL * (len(text) - len(latin))


def badge(label: str, value: str, colour: str) -> str:
    """Two fields beside each other, as wide as their texts."""
    label, value = _fit(label), _fit(value)
    label_length = round(measure_width(label), 1)
    value_length = round(measure_width(value), 1)
    label_width = round(label_length + 2 * EDGE, 1)
    value_width = round(value_length + 2 * EDGE, 1)
    context = {
        "label": label,
        "value": value,
        "label_length": label_length,
        "value_length": value_length,
        "label_width": label_width,
        "value_width": value_width,
        "width": round(label_width + value_width, 1),
        "value_at": round(label_width + EDGE, 1),
        "colour": colour,
    }
    return render_to_string("reports/badge.svg", context)


def verdict_badge(label: str, verdict: str) -> str:
    """A verdict in one word, with a sign and a colour."""
    return badge(label, f"{SIGNS.get(verdict, '')} {verdict}".strip(), COLOURS.get(verdict, LABEL))


def sparkline(label: str, values: Sequence[float]) -> str:
    """The course of a number from its lowest to its highest value, without saying either."""
    recent = [value for value in values if not math.isnan(value)][-MAX_POINTS:]
    low, high = min(recent, default=0.0), max(recent, default=0.0)
    step = (SPARK_WIDTH - 2 * SPARK_EDGE) / max(len(recent) - 1, 1)
    tall = SPARK_HEIGHT - 2 * SPARK_EDGE
    places = []
    for i, value in enumerate(recent):
        share = 0.5  # A line that does not move is in the middle.
        if high > low:
            share = (value - low) / (high - low)
        places.append((f"{SPARK_EDGE + i * step:.1f}", f"{SPARK_EDGE + tall * (1 - share):.1f}"))
    context = {"label": _fit(label), "width": SPARK_WIDTH, "height": SPARK_HEIGHT, "places": places}
    return render_to_string("reports/sparkline.svg", context)


def _fit(text: str) -> str:
    """One short line without what no SVG may hold: control characters, lone surrogates."""
    plain = printable(text, " ")
    line = " ".join(plain.encode("utf-8", "replace").decode().split())
    if len(line) <= MAX_TEXT_LENGTH:
        return line
    return f"{line[: MAX_TEXT_LENGTH - 1]}…"


class BadgeRefused(Exception):
    """The badge cannot be made like this. The message says what to do."""


@transaction.atomic
def make_badge(team: Team, by: User, run: Run, *, label: str, branch: str = "", baseline: str = "") -> BadgeLink:
    """An address for the test that a run is a measurement of. Raises BadgeRefused."""
    label = " ".join(label.split())
    if not label or len(label) > MAX_LABEL_LENGTH or not label.isprintable():
        raise BadgeRefused(f"A label has 1 to {MAX_LABEL_LENGTH} printable characters: everybody will read it.")
    if not run.config_key:
        raise BadgeRefused("This run belongs to no test that could be followed.")
    if BadgeLink.objects.filter(team=team, revoked_at__isnull=True).count() >= MAX_LINKS:
        raise BadgeRefused(f"A team has at most {MAX_LINKS} badges: revoke some.")

    link = BadgeLink.objects.create(
        token=secrets.token_urlsafe(TOKEN_BYTES),
        team=team,
        config_key=run.config_key,
        branch=branch[:120],
        baseline=baseline[:80],
        label=label,
        created_by=by,
    )
    audit.note("badge_made", team=team, actor=by, subject=label, text=str(run.name))
    return link


@transaction.atomic
def revoke_badge(link: BadgeLink, by: User) -> None:
    """It shows nothing from now on."""
    if BadgeLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
        audit.note("badge_revoked", team=link.team, actor=by, subject=link.label)


def find_link(token: str) -> BadgeLink | None:
    """The link, whether or not it was revoked; None for what never was one."""
    if not (0 < len(token) <= 32 and token.isascii() and token.isprintable()):
        return None
    with all_teams():
        return BadgeLink.objects.select_related("team").filter(token=token).first()


def verdict_at(link: BadgeLink) -> str:
    """How the newest commit stands; "inconclusive" while there is none."""

    def verdict() -> str:
        newest = newest_run(link.team_id, link.config_key, link.branch)
        if newest is None:
            return "inconclusive"
        try:
            return verdict_of_run(newest, baseline=link.baseline).verdict
        except BaselineUnknown:
            return "inconclusive"

    return str(cache.get_or_set(f"badge:verdict:{link.token}", verdict, KEPT_S))


def line_at(link: BadgeLink) -> list[float]:
    """The throughput of the newest runs that count, oldest first."""
    line = cache.get_or_set(
        f"badge:line:{link.token}", lambda: points_to_draw(link.team_id, link.config_key, link.branch), KEPT_S
    )
    return list(line or ())

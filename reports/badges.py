"""Secret addresses of badges: made and revoked by admins, and what is shown at them.

A badge says how the newest commit of one test stands, in one word, and a line says how it went, without numbers.
Nothing else of the team is to be seen: the label is what the admin wrote for it.
"""

import secrets
from typing import Final

from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from benchsite.teams import audit
from benchsite.teams.models import Team, User
from reports.models import BadgeLink
from reports.queries.baselines import newest_run, points_to_draw
from reports.verdicts.baseline_selection import BaselineUnknown, verdict_of_run
from runs.models import Run

TOKEN_BYTES: Final = 16  # 128 bits, 22 characters
MAX_LABEL_LENGTH: Final = 40
MAX_LINKS: Final = 200  # of one team that work
# A badge is asked for by every reader of a page: it is worked out once a minute.
KEPT_S: Final = 60


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


def link_of(token: str) -> BadgeLink | None:
    """The link, whether or not it was revoked; None for what never was one."""
    possible = 0 < len(token) <= 32 and token.isascii() and token.isprintable()
    return BadgeLink.objects.select_related("team").filter(token=token).first() if possible else None


def verdict_at(link: BadgeLink) -> str:
    """How the newest commit stands; "inconclusive" while there is none."""

    def verdict() -> str:
        newest = newest_run(link.team_id, link.config_key, link.branch)
        try:
            return str(verdict_of_run(newest, baseline=link.baseline).verdict) if newest else "inconclusive"
        except BaselineUnknown:
            return "inconclusive"

    return str(cache.get_or_set(f"badge:verdict:{link.token}", verdict, KEPT_S))


def line_at(link: BadgeLink) -> list[float]:
    """The throughput of the newest runs that count, oldest first."""
    line = cache.get_or_set(
        f"badge:line:{link.token}", lambda: points_to_draw(link.team_id, link.config_key, link.branch), KEPT_S
    )
    return list(line or ())

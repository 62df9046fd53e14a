"""Watch links: for a day, anybody who has one sees one matrix or one comparison grow, and nothing else of the team."""

import secrets
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import QueryDict
from django.utils import timezone

from benchsite.teams import audit
from benchsite.teams.models import Team, User
from benchsite.teams.sign_in_link import TOKEN_BYTES, digest
from reports.models import WatchLink
from reports.queries import is_lost, pinned
from reports.selection import ALL, Selection, read
from runs.models import Matrix

LIFE: Final = timedelta(hours=24)
MAX_OPEN: Final = 50
MAX_TITLE_LENGTH: Final = 200


class WatchRefused(Exception):
    """No link can be made. The message says why and what to do."""


@transaction.atomic
def make(team: Team, by: User, *, title: str, selection: Selection, matrix: Matrix | None = None) -> str:
    """The token of a new link, which is nowhere but in the answer. Raises WatchRefused."""
    if open_links(team).count() >= MAX_OPEN:
        raise WatchRefused(f"{MAX_OPEN} watch links are open already: end some of them first.")
    shown = pinned(team, selection)
    if not names_what_is_seen(shown):
        raise WatchRefused("Nothing is in this comparison yet: make the link when there is something to watch.")
    title = "".join(c if c.isprintable() else " " for c in title).strip()[:MAX_TITLE_LENGTH] or "Comparison"
    token = secrets.token_urlsafe(TOKEN_BYTES)
    WatchLink.objects.create(
        team=team,
        token_sha256=digest(token),
        title=title,
        matrix=matrix,
        query=shown.query().removeprefix("?"),
        created_by=by,
        expires_at=timezone.now() + LIFE,
    )
    audit.note("watch_link_made", team=team, actor=by, subject=title)
    return token


def names_what_is_seen(selection: Selection) -> bool:
    """Whether it says by name what is seen: otherwise it would be the newest matrix, whichever that is by then."""
    return bool(selection.sweeps or selection.matrix_id or selection.matrix == ALL)


def open_links(team: Team) -> QuerySet[WatchLink]:
    """Those that still show something."""
    return team.watch_links.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


def watched(token: str) -> WatchLink | None:
    """The open link with this token; None for one that is unknown, too old, was ended, or whose matrix is gone."""
    rows = WatchLink.objects.filter(token_sha256=digest(token), revoked_at__isnull=True, expires_at__gt=Now())
    link = rows.select_related("team", "matrix").first()
    if link is None or link.matrix is not None:
        return link
    selection = selection_of(link)
    return link if names_what_is_seen(selection) and not is_lost(link.team, selection) else None


def end(link: WatchLink, by: User) -> None:
    """It shows nothing from now on."""
    with transaction.atomic():
        if WatchLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=Now()):
            audit.note("watch_link_ended", team=link.team, actor=by, subject=link.title)


def selection_of(link: WatchLink) -> Selection:
    """What may be seen: the sweeps are the link's, whatever an address says."""
    return read(QueryDict(link.query))

"""The outbox: what happened that somebody may want to be told of, written in the transaction in which it happened.

Quiet by default: a notice goes to the webhooks that take its kind and to the members who asked for e-mail of it, and
where nobody did it stays a row. Whoever sends (`workers.delivery_loop`) reads the deliveries, never what happened.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F

from benchsite.teams.models import Delivery, Notice, NoticeKind, Preference, Team, Webhook

log = logging.getLogger(__name__)

# What can be told, and how a page says it.
KINDS: Final[dict[str, str]] = dict(NoticeKind.choices)
# A test of one webhook or of one's own e-mail; nobody subscribes to it.
TEST: Final = "test"
MAX_SUBJECT: Final = 200
MAX_TEXT_LENGTH: Final = 5000
# Looks for something to tell and notes it; answers how often. For what no single act brings about.
Finder = Callable[[], int]
_finders: list[Finder] = []


def note(
    kind: str,
    team: Team,
    *,
    subject: str,
    text: str = "",
    path: str = "",
    data: Mapping[str, Any] | None = None,
    key: str | None = None,
) -> Notice | None:
    """Tell whoever asked for this kind, once the caller's transaction commits.

    `path` is the site's own page it is about, `data` what programs may want (JSON). With a `key` it is told once,
    however often and from wherever it is noted; None where it was before. Raises KeyError for a kind not in KINDS.
    """
    KINDS[kind]
    with transaction.atomic():
        notice = _insert(kind, team, subject=subject, text=text, path=path, data=data, key=key)
        if notice is not None:
            _address(notice)
    return notice


def find_with(finder: Finder) -> Finder:
    """Have the deliverer call `finder` now and then."""
    if finder not in _finders:
        _finders.append(finder)
    return finder


def find() -> int:
    """Let every finder look; one that fails keeps neither the others nor deliveries from going on."""
    told = 0
    for finder in _finders:
        try:
            told += finder()
        except (DatabaseError, InterfaceError):
            raise  # PostgreSQL is away: the caller tries again.
        except Exception:
            log.exception("Nothing was found to tell of: %s failed.", finder.__module__)
    return told


def asked_for(kind: str) -> set[UUID]:
    """The teams in which a member or a webhook asked for notices of this kind."""
    members = Preference.objects.filter(kind=kind).values_list("membership__team", flat=True)
    webhooks = Webhook.objects.filter(is_active=True, kinds__contains=[kind]).values_list("team", flat=True)
    return {*members, *webhooks}


def _insert(
    kind: str, team: Team, *, subject: str, text: str, path: str, data: Mapping[str, Any] | None, key: str | None
) -> Notice | None:
    """The row; None where one of this key is there. Of two at the same time the second waits, and finds the first."""
    if key is not None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        if Notice.objects.filter(key=key).exists():
            return None
    return Notice.objects.create(
        team=team,
        kind=kind,
        key=key,
        subject=one_line(subject)[:MAX_SUBJECT],
        text=text.replace("\0", "")[:MAX_TEXT_LENGTH],
        path=path,
        data=dict(data or {}),
    )


def _address(notice: Notice) -> None:
    """A delivery for each webhook and each member who asked, at an address that is known to be theirs."""
    webhooks = notice.team.webhooks.filter(is_active=True, kinds__contains=[notice.kind])
    members = Preference.objects.filter(
        membership__team=notice.team,
        kind=notice.kind,
        membership__user__is_active=True,
        membership__user__confirmed_email=F("membership__user__email"),
    ).exclude(membership__user__email="")
    Delivery.objects.bulk_create(
        [
            *(Delivery(notice=notice, webhook_id=pk) for pk in webhooks.values_list("pk", flat=True)),
            *(Delivery(notice=notice, member_id=pk) for pk in members.values_list("membership_id", flat=True)),
        ]
    )


def one_line(text: str) -> str:
    """Text without line breaks and other control characters: a subject never becomes a header of its own."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())

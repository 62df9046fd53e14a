"""The outbox: what happened that somebody may want to be told of, written in the transaction in which it happened.

Quiet by default: a notice goes to the webhooks that take its kind and to the members who asked for e-mail of it, and
where nobody did it stays a row. The sender (`workers.conductor.delivery_loop`) reads the deliveries only.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.module_loading import import_string

from benchsite.accounts.models import Delivery, Notice, NoticeKind, Preference, Team, Webhook
from benchsite.accounts.tenancy import all_teams
from benchsite.core.formatting import printable

PREFERENCES: Final = "notifications"
log = logging.getLogger(__name__)
# What can be told, and how a page says it.
KINDS: Final[dict[str, str]] = dict(NoticeKind.choices)
MAX_SUBJECT: Final = 200
MAX_TEXT_LENGTH: Final = 5000


def mail_works() -> bool:
    """Whether this site has a mail server."""
    return bool(settings.MAIL_SERVER.is_there)


def absolute(path: str) -> str:
    """The whole address of one of the site's pages."""
    return f"{settings.SITE_URL}{path}"


def build_message(notice: Notice, address: str) -> EmailMultiAlternatives:
    """The message to one address. What people named cannot become a header, nor HTML."""
    preferences = absolute(f"{reverse(PREFERENCES)}?team={notice.team_id}")
    url = ""
    if notice.path:
        url = absolute(notice.path)
    footer = f"-- \nYou asked for e-mail of this kind in {notice.team.name}. To end it: {preferences}"
    message = EmailMultiAlternatives(
        subject=one_line(f"[{notice.team.name}] {notice.subject}"),
        body="\n\n".join(filter(None, (notice.text, url, footer))),
        from_email=settings.DEFAULT_FROM_EMAIL,
        to=[one_line(address)],
        headers={
            "List-Unsubscribe": f"<{preferences}>",
            "Auto-Submitted": "auto-generated",
            # The same notice sent twice, because a worker died in between, is one message to those who compare.
            "Message-ID": f"<{notice.pk}@benchsite>",
        },
    )
    html = render_to_string("teams/notice_mail.html", {"notice": notice, "url": url, "preferences": preferences})
    message.attach_alternative(html, "text/html")
    return message


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
        if key is not None:
            # Of two at the same time the second waits, and finds the first.
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
            with all_teams():  # A key is unique on the site.
                if Notice.objects.filter(key=key).exists():
                    return None

        notice = Notice.objects.create(
            team=team,
            kind=kind,
            key=key,
            subject=one_line(subject)[:MAX_SUBJECT],
            text=text.replace("\0", "")[:MAX_TEXT_LENGTH],
            path=path,
            data=dict(data or {}),
        )
        webhooks = notice.team.webhooks.filter(is_active=True, kinds__contains=[notice.kind])
        members = Preference.objects.filter(
            membership__team=notice.team,
            kind=notice.kind,
            membership__user__is_active=True,
            membership__user__confirmed_email=F("membership__user__email"),
        ).exclude(membership__user__email="")
        deliveries = [Delivery(notice=notice, webhook_id=pk) for pk in webhooks.values_list("pk", flat=True)]
        for membership_id in members.values_list("membership_id", flat=True):
            deliveries.append(Delivery(notice=notice, member_id=membership_id))
        Delivery.objects.bulk_create(deliveries)

    return notice


def find() -> int:
    """Call NOTICE_FINDERS, for what no single act brings about; answers how many notices they wrote.

    One that fails keeps neither the others nor deliveries from going on.
    """
    notices = 0
    for finder in settings.NOTICE_FINDERS:
        try:
            notices += import_string(finder)()
        except (DatabaseError, InterfaceError):
            raise  # PostgreSQL is away: the caller tries again.
        except Exception:
            log.exception("Nothing was found to tell of: %s failed.", finder)
    return notices


def asked_for(kind: str) -> set[UUID]:
    """The teams in which a member or a webhook asked for notices of this kind."""
    members = Preference.objects.filter(kind=kind).values_list("membership__team", flat=True)
    webhooks = Webhook.objects.filter(is_active=True, kinds__contains=[kind]).values_list("team", flat=True)
    return {*members, *webhooks}


def one_line(text: str) -> str:
    """Text without line breaks and other control characters: a subject never becomes a header of its own."""
    return " ".join(printable(text, " ").split())

"""The e-mail of a notice: plain text and a little HTML, with a link to the page and one to the preferences."""

from typing import Final

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse

from benchsite.teams.models import Notice
from benchsite.teams.notices import one_line

PREFERENCES: Final = "notifications"


def mail_works() -> bool:
    """Whether this site has a mail server."""
    return bool(settings.MAIL_SERVER.is_there)


def absolute(path: str) -> str:
    """The whole address of one of the site's pages."""
    return f"{settings.SITE_URL}{path}"


def message_of(notice: Notice, address: str) -> EmailMultiAlternatives:
    """The message to one address. What people named cannot become a header, nor HTML."""
    preferences = absolute(f"{reverse(PREFERENCES)}?team={notice.team_id}")
    url = absolute(notice.path) if notice.path else ""
    lines = [
        notice.text,
        url,
        f"-- \nYou asked for e-mail of this kind in {notice.team.name}. To end it: {preferences}",
    ]
    message = EmailMultiAlternatives(
        subject=one_line(f"[{notice.team.name}] {notice.subject}"),
        body="\n\n".join(line for line in lines if line),
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

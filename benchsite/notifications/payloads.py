"""A notice as the body of a POST, in the shape that its receiver reads. Texts of people are never markup there."""

import json
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final
from urllib.parse import quote

from benchsite.accounts.models import Notice, Webhook
from benchsite.notifications.notices import absolute

# The most that Slack takes of a block, and of a header.
MAX_SLACK_TEXT: Final = 3000
MAX_SLACK_HEADER: Final = 150
LINK: Final = "Open in Benchsite"


def build_body(notice: Notice, shape: str = Webhook.Shape.PLAIN) -> bytes:
    """JSON in one of `Webhook.Shape`."""
    return json.dumps(SHAPES[shape](notice), ensure_ascii=False).encode()


def _build_plain(notice: Notice) -> dict[str, Any]:
    return {
        "id": str(notice.pk),
        "kind": notice.kind,
        "team": notice.team.slug,
        "subject": notice.subject,
        "text": notice.text,
        "url": _find_address(notice),
        "data": notice.data,
        "at": notice.at.isoformat().replace("+00:00", "Z"),
    }


def _build_slack(notice: Notice) -> dict[str, Any]:
    """The message in blocks of Slack's Block Kit; a notification of the desktop shows `text`."""
    blocks = [{"type": "header", "text": _plain_text(notice.subject, MAX_SLACK_HEADER)}]
    if notice.text:
        blocks.append({"type": "section", "text": _plain_text(notice.text, MAX_SLACK_TEXT)})
    address = _find_address(notice)
    if address:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": f"<{address}|{LINK}>"}})
    return {"text": escape(notice.subject, quote=False), "blocks": blocks}


def _build_teams(notice: Notice) -> dict[str, Any]:
    """An Adaptive Card. A run of text has no Markdown, as a block of text would have."""
    lines = [line for line in notice.text.splitlines() if line.strip()]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [_rich_text(notice.subject, size="Medium", weight="Bolder"), *map(_rich_text, lines)],
    }
    address = _find_address(notice)
    if address:
        card["actions"] = [{"type": "Action.OpenUrl", "title": LINK, "url": address}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


SHAPES: Final[Mapping[str, Callable[[Notice], dict[str, Any]]]] = {
    Webhook.Shape.PLAIN: _build_plain,
    Webhook.Shape.SLACK: _build_slack,
    Webhook.Shape.TEAMS: _build_teams,
}


def _find_address(notice: Notice) -> str | None:
    if not notice.path:
        return None
    return absolute(quote(notice.path, safe="/?&=#%+:,;@"))


def _plain_text(text: str, max_length: int) -> dict[str, Any]:
    if len(text) > max_length:
        text = f"{text[: max_length - 1]}…"
    return {"type": "plain_text", "text": text, "emoji": False}


def _rich_text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}

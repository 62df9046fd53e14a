"""Notices for Slack and Microsoft Teams: their shape, and that no text of people is markup there."""

import json

import pytest

from benchsite.notifications import deliveries, webhooks
from benchsite.notifications.notices import note
from benchsite.notifications.payloads import MAX_SLACK_HEADER, MAX_SLACK_TEXT
from benchsite.notifications.tests.receivers import receiving

pytestmark = pytest.mark.django_db
KIND = "matrix_finished"
HOSTILE = "<!channel> *bold* [x](https://evil.example) & <https://evil.example|click>"


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.SITE_URL = "https://bench.example.org"


def deliver(team, user, shape, **notice):
    """What arrives of a notice, and whether its signature is that of the body."""
    with receiving() as receiver:
        hook, _ = webhooks.make(team, user, name="chat", url=receiver.url, kinds=[KIND], shape=shape)
        note(KIND, team, **{"subject": "Done", "text": "All\n\nof it", "path": "/matrices/1/", **notice})
        (done,) = [deliveries.attempt(delivery) for delivery in deliveries.due()]
    assert done.state == "delivered"
    (message,) = receiver.got
    signed = webhooks.signed_headers(hook, message.headers["webhook-id"], message.body)
    assert signed.keys() <= message.headers.keys()
    return json.loads(message.body)


def test_slack_gets_blocks(team, user):
    assert deliver(team, user, "slack") == {
        "text": "Done",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Done", "emoji": False}},
            {"type": "section", "text": {"type": "plain_text", "text": "All\n\nof it", "emoji": False}},
            {
                "type": "section",
                "text": {"type": "mrkdwn", "text": "<https://bench.example.org/matrices/1/|Open in Benchsite>"},
            },
        ],
    }


def test_teams_get_a_card(team, user):
    message = deliver(team, user, "teams")

    (attachment,) = message["attachments"]
    card = attachment["content"]
    assert message["type"] == "message" and card["type"] == "AdaptiveCard"
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    lines = [block["inlines"][0]["text"] for block in card["body"]]
    assert lines == ["Done", "All", "of it"]
    (action,) = card["actions"]
    assert (action["type"], action["url"]) == ("Action.OpenUrl", "https://bench.example.org/matrices/1/")


@pytest.mark.parametrize("shape", ["slack", "teams"])
def test_texts_of_people_are_no_markup(team, user, shape):
    message = deliver(team, user, shape, subject=HOSTILE, text=HOSTILE, path="/x/|y>/")

    def list_markup(part):
        """Every text that the receiver reads as markup."""
        if isinstance(part, list):
            return [text for child in part for text in list_markup(child)]
        if not isinstance(part, dict):
            return []
        if part.get("type") in ("plain_text", "TextRun"):
            return []
        own = [part["text"]] if isinstance(part.get("text"), str) else []
        return own + [text for child in part.values() for text in list_markup(child)]

    markup = " ".join(list_markup(message))
    assert "<!channel>" not in markup and "evil.example|" not in markup.replace("&lt;https://evil.example|", "")
    assert "|y>" not in markup


def test_slack_texts_are_cut_at_its_limits(team, user):
    message = deliver(team, user, "slack", subject="s" * 200, text="t" * 9000, path="")

    header, text = (block["text"]["text"] for block in message["blocks"])
    assert (len(header), len(text)) == (MAX_SLACK_HEADER, MAX_SLACK_TEXT) and header.endswith("…")

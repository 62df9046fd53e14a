"""E-mail of notices: to those who asked, by a real server; no name can become a header or a page."""

import email
import email.policy

import pytest

from benchsite.accounts.models import Delivery, Membership, Preference
from benchsite.notifications import deliveries
from benchsite.notifications.mail import mail_server
from benchsite.notifications.notices import note
from benchsite.notifications.tests.receivers import mail_sink

pytestmark = pytest.mark.django_db
FINISHED = "matrix_finished"


@pytest.fixture
def messages(settings):
    with mail_sink() as (port, got):
        server = mail_server(f"smtp://127.0.0.1:{port}")
        settings.MAIL_SERVER, settings.EMAIL_BACKEND = server, server.backend
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.host, server.port
        settings.DEFAULT_FROM_EMAIL = "Benchsite <bench@example.org>"
        settings.SITE_URL = "https://bench.example.org"
        yield got


@pytest.fixture
def reader(user):
    user.email = user.confirmed_email = "runa@example.org"
    user.save()
    Preference.objects.create(membership=Membership.objects.get(user=user), kind=FINISHED)
    return user


def deliver():
    return [deliveries.attempt(delivery) for delivery in deliveries.due()]


def read(raw):
    return email.message_from_bytes(raw, policy=email.policy.default)


def test_it_arrives_as_text_and_html(team, reader, messages):
    made = note(FINISHED, team, subject="Nightly: 3 runs succeeded", text="redis: 41.2k ops/s", path="/matrices/1/")
    [done] = deliver()
    assert (done.state, done.error) == ("delivered", "")
    message = read(messages[0])
    assert message["Subject"] == "[Storage] Nightly: 3 runs succeeded"
    assert message["To"] == "runa@example.org"
    assert message["From"] == "Benchsite <bench@example.org>"
    assert message["List-Unsubscribe"].strip() == f"<https://bench.example.org/team/notifications/?team={team.pk}>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert str(made.pk) in message["Message-ID"]
    text = message.get_body(("plain",)).get_content()
    assert "redis: 41.2k ops/s" in text
    assert "https://bench.example.org/matrices/1/" in text
    assert f"To end it: https://bench.example.org/team/notifications/?team={team.pk}" in text
    html = message.get_body(("html",)).get_content()
    assert '<a href="https://bench.example.org/matrices/1/">' in html


def test_names_become_neither_headers_nor_html(team, reader, messages):
    evil = "x\r\nBcc: all@example.org\r\n\r\n<script>alert(1)</script>"
    team.name = evil[:80]
    team.save()
    note(FINISHED, team, subject=evil, text=f"{evil}\r\n.\r\nMAIL FROM:<x@example.org>", path="/matrices/1/")
    [done] = deliver()
    assert done.state == "delivered"
    assert len(messages) == 1
    message = read(messages[0])
    assert message["Bcc"] is None
    assert message["To"] == "runa@example.org"
    assert "\n" not in message["Subject"]
    html = message.get_body(("html",)).get_content()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_an_address_with_a_line_break_adds_no_receiver(team, reader, messages):
    evil = "runa@example.org\r\nBcc: all@example.org"
    type(reader).objects.filter(pk=reader.pk).update(email=evil, confirmed_email=evil)
    note(FINISHED, team, subject="Done")
    deliver()
    assert all(read(raw)["Bcc"] is None for raw in messages)


def test_a_server_that_is_away_is_tried_again(team, reader, messages, settings):
    settings.EMAIL_PORT = 1
    note(FINISHED, team, subject="Done")
    [tried] = deliver()
    assert (tried.state, tried.attempts) == ("waiting", 1)
    assert tried.error == "The mail server did not take it; the site's log says why."


def test_without_a_server_it_is_given_up_and_says_so(team, reader):
    note(FINISHED, team, subject="Done")
    [tried] = deliver()
    assert (tried.state, tried.error) == ("given_up", "This site has no mail server.")


def test_who_has_left_or_lost_the_account_gets_nothing(team, reader, messages):
    note(FINISHED, team, subject="Done")
    reader.is_active = False
    reader.save()
    [tried] = deliver()
    assert tried.state == "given_up"
    note(FINISHED, team, subject="Done")
    assert Delivery.objects.count() == 1
    assert messages == []


@pytest.mark.parametrize(
    ("url", "port", "starttls", "tls"),
    [
        ("smtp://mail.example.org", 25, False, False),
        ("smtp+starttls://u:p%40ss@mail.example.org", 587, True, False),
        ("smtps://u:p%40ss@mail.example.org:4650", 4650, False, True),
    ],
)
def test_one_url_names_the_server(url, port, starttls, tls):
    server = mail_server(url)
    assert (server.host, server.port, server.starttls, server.tls) == ("mail.example.org", port, starttls, tls)
    assert server.password == ("p@ss" if "@ss" in server.password else "")


@pytest.mark.parametrize("url", ["mail.example.org", "http://mail.example.org", "smtp://", "smtp://:secret@"])
def test_nonsense_is_refused_without_repeating_it(url):
    with pytest.raises(ValueError, match="EMAIL_URL: write") as refused:
        mail_server(url)
    assert "secret" not in str(refused.value)

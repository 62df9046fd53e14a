"""Notices are mailed only to an address at which somebody opened a link: no member has the site write to strangers."""

import email
import email.policy
import re
from random import randrange

import pytest
from django.test import Client

from benchsite.accounts.models import AuditEntry, Delivery, Membership, Preference, User
from benchsite.core.logs import mask
from benchsite.notifications import deliveries, email_verification
from benchsite.notifications.mail import mail_server
from benchsite.notifications.notices import note
from benchsite.notifications.tests.receivers import mail_sink
from conftest import signed_in
from runs.tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/team/notifications/"
FINISHED = "matrix_finished"


@pytest.fixture
def messages(settings):
    with mail_sink() as (port, got):
        server = mail_server(f"smtp://127.0.0.1:{port}")
        settings.MAIL_SERVER, settings.EMAIL_BACKEND = server, server.backend
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.host, server.port
        settings.SITE_URL = "https://bench.example.org"
        yield got


@pytest.fixture
def address():
    """One to which no other test has written."""
    return f"runa-{randrange(10**12)}@example.org"


def choose(client, address, kinds=(FINISHED,)):
    page = client.post(PAGE, {"address": address, "kinds": list(kinds)}, follow=True)
    return re.sub(r"<[^>]+>", "", page.content.decode())


def link_in(raw):
    text = email.message_from_bytes(raw, policy=email.policy.default).get_content()
    return re.search(r"https://bench\.example\.org(/team/notifications/confirm/\S+)", text)[1]


def deliver(team):
    note(FINISHED, team, subject="Done")
    return [deliveries.attempt(delivery) for delivery in deliveries.due()]


def test_nothing_but_the_link_is_mailed_before_it_is_opened(client_in, user, team, messages, address):
    assert f"Open the link that was sent to {address}" in choose(client_in, address)
    assert f"{address} is not confirmed" in client_in.get(PAGE).content.decode()
    assert deliver(team) == []
    [link] = messages
    nobody = Client()
    page = nobody.get(link_in(link))
    assert f"Confirm {address}" in page.content.decode()
    assert not User.objects.get(pk=user.pk).has_confirmed_email  # Opening it alone, as a preview does, is nothing.
    assert "Confirmed" in nobody.post(link_in(link)).content.decode()
    [done] = deliver(team)
    assert done.state == "delivered"
    assert len(messages) == 2
    assert "is not confirmed" not in client_in.get(PAGE).content.decode()
    assert AuditEntry.objects.get(kind="address_confirmed").actor == user
    nobody.post(link_in(link))
    assert AuditEntry.objects.filter(kind="address_confirmed").count() == 1


def test_another_address_has_to_be_confirmed_anew(client_in, user, team, messages, address):
    choose(client_in, address)
    old = link_in(messages[0])
    Client().post(old)
    choose(client_in, f"x{address}")
    assert deliver(team) == []
    assert Client().post(old).status_code == 410
    assert Client().get(old).status_code == 410
    assert not User.objects.get(pk=user.pk).has_confirmed_email


def test_what_waits_for_an_address_that_was_changed_is_given_up(team, user, messages, address):
    User.objects.filter(pk=user.pk).update(email=address, confirmed_email=address)
    Preference.objects.create(membership=Membership.objects.get(user=user, team=team), kind=FINISHED)
    note(FINISHED, team, subject="Done")
    User.objects.filter(pk=user.pk).update(email=f"x{address}")
    [tried] = [deliveries.attempt(delivery) for delivery in deliveries.due()]
    assert (tried.state, messages) == ("given_up", [])
    assert "confirmed" in tried.error


def test_the_link_is_sent_again_but_not_without_end(client_in, user, messages, address):
    choose(client_in, address)
    for _ in range(email_verification.MAX_OF_AN_ACCOUNT_TO_AN_ADDRESS + 2):
        page = client_in.post(f"{PAGE}confirm/", follow=True).content.decode()
    assert "sent several times today" in page
    assert len(messages) == email_verification.MAX_OF_AN_ACCOUNT_TO_AN_ADDRESS


def test_a_stranger_does_not_use_up_the_links_of_an_address(client_in, team, messages, address):
    stranger = signed_in(make_user(team=team))
    choose(stranger, address)
    for _ in range(email_verification.MAX_TO_AN_ADDRESS + 2):
        stranger.post(f"{PAGE}confirm/")
    assert len(messages) == email_verification.MAX_OF_AN_ACCOUNT_TO_AN_ADDRESS
    assert f"Open the link that was sent to {address}" in choose(client_in, address)


def test_many_accounts_together_do_not_flood_an_address(team, messages, address, monkeypatch):
    monkeypatch.setattr(email_verification, "MAX_TO_AN_ADDRESS", 2)
    for _ in range(3):
        choice = choose(signed_in(make_user(team=team)), address)
    assert "sent several times today" in choice
    assert len(messages) == 2


def test_an_account_does_not_write_to_many(client_in, messages, address):
    for n in range(email_verification.MAX_OF_AN_ACCOUNT + 2):
        choice = choose(client_in, f"{n}-{address}")
    assert "sent several times today" in choice
    assert len(messages) == email_verification.MAX_OF_AN_ACCOUNT


@pytest.mark.parametrize("how", ["cut", "of another", "too old", "ended"])
def test_a_link_that_does_not_count_is_gone(client_in, user, messages, address, how, monkeypatch):
    choose(client_in, address)
    link = link_in(messages[0])
    if how == "cut":
        link = link[:-3] + "/"
    elif how == "of another":
        link = "/team/notifications/confirm/WyJhIiwiYiJd:1abcde:" + "x" * 43 + "/"
    elif how == "too old":
        monkeypatch.setattr(email_verification, "LIFE", email_verification.LIFE * 0)
    else:
        User.objects.filter(pk=user.pk).update(is_active=False)
    assert Client().get(link).status_code == 410
    assert Client().post(link).status_code == 410
    assert not User.objects.get(pk=user.pk).has_confirmed_email


def test_without_a_mail_server_nobody_is_asked_for_anything(client_in, address):
    assert "Saved: you get e-mail of what you chose." in choose(client_in, address)
    assert not Delivery.objects.exists()


def test_message_strips_line_breaks_and_log_masks_the_link(user, messages, address):
    user.username, user.email = "x\r\nBcc: all@example.org", address
    email_verification.send(user)
    message = email.message_from_bytes(messages[0], policy=email.policy.default)
    assert (message["To"], message["Bcc"]) == (address, None)
    assert "“x Bcc: all@example.org”" in message.get_content()
    assert mask(f"GET {link_in(messages[0])} 200") == "GET /team/notifications/confirm/[masked]/ 200"


def test_others_cannot_ask_for_it(client, stranger, user, messages, address):
    User.objects.filter(pk=user.pk).update(email=address)
    assert client.post(f"{PAGE}confirm/").status_code == 302
    assert signed_in(user).get(f"{PAGE}confirm/").status_code == 405
    stranger.post(f"{PAGE}confirm/")
    assert messages == []

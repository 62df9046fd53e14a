"""Secrets of webhooks are sealed in the database, with a key that is not in it."""

from datetime import timedelta

import pytest
from cryptography.fernet import Fernet, InvalidToken
from django.db import connection
from django.utils import timezone

from benchsite.accounts.models import Webhook
from benchsite.core import encryption
from benchsite.notifications import deliveries, webhooks
from benchsite.notifications.notices import note
from benchsite.notifications.tests.receivers import documented, receiving

pytestmark = pytest.mark.django_db
FINISHED = "matrix_finished"


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def made(team, admin):
    return webhooks.make(team, admin, name="chat", url="http://127.0.0.1:9/hook", kinds=[FINISHED])


def everything_in_the_row():
    with connection.cursor() as cursor:
        cursor.execute("SELECT teams_webhook::text FROM teams_webhook")
        return "".join(row[0] for row in cursor.fetchall())


def is_signed(secret, got):
    names = {}
    exec(documented("python"), names)
    return names["is_from_benchsite"](secret, got.headers, got.body)


def test_the_row_does_not_tell_it(made, admin):
    hook, secret = made
    assert webhooks.get_secrets(hook) == [secret]
    assert secret not in everything_in_the_row()
    another = webhooks.rotate(hook, admin)
    assert another not in everything_in_the_row()
    assert secret not in everything_in_the_row()
    assert webhooks.get_secrets(Webhook.objects.get()) == [another, secret]


def test_the_same_secret_is_never_sealed_alike():
    assert encryption.seal("whsec_eA==") != encryption.seal("whsec_eA==")
    assert encryption.unseal(encryption.seal("whsec_eA==")) == "whsec_eA=="
    assert (encryption.seal(""), encryption.unseal("")) == ("", "")


def test_the_key_is_not_the_secret_key_itself(settings, made):
    settings.SECRET_KEY = Fernet.generate_key().decode()
    sealed = encryption.seal("whsec_eA==")
    with pytest.raises(InvalidToken):
        Fernet(settings.SECRET_KEY.encode()).decrypt(sealed.encode())


def test_opens_secret_with_fallback_key_and_seals_it_again(made, settings):
    hook, secret = made
    before, settings.SECRET_KEY = settings.SECRET_KEY, "another key of this site, long enough to be one"
    with pytest.raises(webhooks.CannotOpen):
        webhooks.get_secrets(hook)
    assert webhooks.seal_again() == 0
    settings.SECRET_KEY_FALLBACKS = [before]
    assert webhooks.get_secrets(hook) == [secret]
    assert webhooks.seal_again() == 1
    settings.SECRET_KEY_FALLBACKS = []
    assert webhooks.get_secrets(Webhook.objects.get()) == [secret]
    assert webhooks.seal_again() == 0


def test_where_the_key_is_lost_the_delivery_says_what_to_do(made, admin, team, settings):
    settings.SECRET_KEY = "another key of this site, long enough to be one"
    note(FINISHED, team, subject="Done")
    [tried] = [deliveries.attempt(delivery) for delivery in deliveries.due()]
    assert tried.state == "waiting"
    assert "BENCHSITE_SECRET_KEY_FALLBACKS" in tried.error
    secret = webhooks.rotate(Webhook.objects.get(), admin)
    assert webhooks.get_secrets(Webhook.objects.get()) == [secret]


def test_what_the_previous_release_wrote_signs_on_and_is_sealed(team, admin):
    with receiving() as receiver:
        Webhook.objects.create(team=team, name="old", url=receiver.url, kinds=[FINISHED], secret="whsec_cGxhaW4=")
        note(FINISHED, team, subject="Done")
        deliveries.attempt(deliveries.due()[0])
        assert webhooks.seal_again() == 1
        note(FINISHED, team, subject="Done again")
        deliveries.attempt(deliveries.due()[0])
    assert all(is_signed("whsec_cGxhaW4=", got) for got in receiver.got)
    assert "whsec_cGxhaW4=" not in everything_in_the_row()
    assert Webhook.objects.get().secret is None


def test_secret_rotated_by_previous_release_counts_as_newer(made):
    _, secret = made
    # It sets the new one plainly, and moves what it finds in `secret`: nothing.
    until = timezone.now() + timedelta(days=1)
    Webhook.objects.update(secret="whsec_bmV3ZXI=", old_secret=None, old_until=until)
    assert webhooks.get_secrets(Webhook.objects.get()) == ["whsec_bmV3ZXI=", secret]
    webhooks.seal_again()
    sealed = Webhook.objects.get()
    assert webhooks.get_secrets(sealed) == ["whsec_bmV3ZXI=", secret]
    assert (sealed.secret, sealed.old_until) == (None, until)


def test_the_secret_before_ends_with_its_day(made, admin):
    hook, _ = made
    secret = webhooks.rotate(hook, admin)
    Webhook.objects.update(old_until=timezone.now() - timedelta(seconds=1))
    assert webhooks.get_secrets(Webhook.objects.get()) == [secret]

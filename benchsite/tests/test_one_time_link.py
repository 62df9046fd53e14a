"""The one-time sign-in link: once, for a quarter of an hour, and only on a one-machine site."""

import hashlib
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchsite.accounts.models import SignInLink
from benchsite.accounts.sign_in_link import LinksNotAllowed, make_link, use_link

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def one_machine(settings):
    settings.EMBEDDED = True


def get_token(link: str) -> str:
    return link.rstrip("/").rpartition("/")[2]


def test_it_signs_its_user_in_once(user):
    token = get_token(make_link(user))
    assert use_link(token) == user
    assert use_link(token) is None


def test_it_keeps_only_the_digest_of_a_token_of_128_bits(user):
    token = get_token(make_link(user))
    kept = SignInLink.objects.get()
    assert len(token) == 22  # 16 bytes in base64
    assert kept.token_sha256 == hashlib.sha256(token.encode()).hexdigest()
    assert token not in repr(vars(kept))


def test_it_is_of_no_use_after_a_quarter_of_an_hour(user):
    token = get_token(make_link(user))
    link = SignInLink.objects.get()
    assert abs(link.expires_at - link.created_at - timedelta(minutes=15)) < timedelta(seconds=5)

    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert use_link(token) is None
    assert SignInLink.objects.get().used_at is None


@pytest.mark.parametrize("token", ["", "x", "A" * 22, "\x00", "a" * 10_000])
def test_it_refuses_a_wrong_token(user, token):
    make_link(user)
    assert use_link(token) is None


def test_it_refuses_the_digest_itself(user):
    make_link(user)
    assert use_link(SignInLink.objects.get().token_sha256) is None


def test_it_refuses_somebody_who_may_no_longer_sign_in(user):
    token = get_token(make_link(user))
    user.is_active = False
    user.save()
    assert use_link(token) is None


@pytest.mark.slow
def test_two_browsers_at_once_get_one_sign_in(transactional_db, user, race):
    for _ in range(10):
        token = get_token(make_link(user))
        answers = race(lambda token=token: use_link(token), times=4)
        assert [answer for answer in answers if answer is not None] == [user]


def test_it_exists_only_beside_embedded_servers(user, settings):
    token = get_token(make_link(user))
    settings.EMBEDDED = False
    with pytest.raises(LinksNotAllowed, match="password"):
        make_link(user)
    assert use_link(token) is None


def test_expired_links_are_cleared_away(user):
    make_link(user)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    make_link(user)
    assert SignInLink.objects.count() == 1


def test_command_makes_none_for_sites_with_accounts(settings):
    settings.EMBEDDED = False
    with pytest.raises(CommandError, match="accounts of its own"):
        call_command("sign_in_link")

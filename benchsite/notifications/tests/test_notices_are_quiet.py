"""Nobody is told of anything unless they asked, and what is told is told once."""

import pytest
from django.db import transaction

from benchsite.accounts.models import Delivery, Membership, Notice, Preference, Webhook
from benchsite.notifications.notices import KINDS, note
from runs.tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db
FINISHED = "matrix_finished"


def ask(member, kind=FINISHED):
    return Preference.objects.create(membership=Membership.objects.get(user=member), kind=kind)


def webhook(team, *kinds, **fields):
    return Webhook.objects.create(
        team=team, name="chat", url="https://hooks.example.org/x", secret="s", kinds=kinds or list(KINDS), **fields
    )


def test_it_sends_nothing_when_nobody_asked(team, user):
    user.email = user.confirmed_email = "runa@example.org"
    user.save()
    for kind in KINDS:
        note(kind, team, subject="Something happened")
    assert Notice.objects.count() == len(KINDS)
    assert not Delivery.objects.exists()


def test_it_goes_to_those_who_asked_for_its_kind(team, user):
    user.email = user.confirmed_email = "runa@example.org"
    user.save()
    ask(user)
    taking, other = webhook(team, FINISHED), webhook(team, "regression")
    made = note(FINISHED, team, subject="Done", path="/matrices/1/", data={"succeeded": 3})
    assert {(delivery.webhook_id, delivery.member_id) for delivery in made.deliveries.all()} == {
        (taking.pk, None),
        (None, Membership.objects.get().pk),
    }
    assert not other.deliveries.exists()


def test_it_never_leaves_its_team(team):
    elsewhere = make_team()
    stranger = make_user(team=elsewhere)
    stranger.email = stranger.confirmed_email = "s@example.org"
    stranger.save()
    ask(stranger)
    webhook(elsewhere)
    note(FINISHED, team, subject="Done")
    assert not Delivery.objects.exists()


def test_paused_webhooks_and_unreachable_members_get_nothing(team, user):
    """Unreachable: without an address, or with an inactive account."""
    ask(user)
    gone = make_user(team=team, username="gone")
    gone.email = gone.confirmed_email = "gone@example.org"
    gone.is_active = False
    gone.save()
    ask(gone)
    webhook(team, is_active=False)
    note(FINISHED, team, subject="Done")
    assert not Delivery.objects.exists()


def test_who_leaves_the_team_is_told_no_more(team, user):
    user.email = user.confirmed_email = "runa@example.org"
    user.save()
    ask(user)
    note(FINISHED, team, subject="Done")
    Membership.objects.get(user=user).delete()
    assert not Delivery.objects.exists()
    assert not Preference.objects.exists()


def test_it_is_written_with_what_happened_or_not_at_all(team):
    webhook(team)
    with pytest.raises(RuntimeError), transaction.atomic():
        note(FINISHED, team, subject="Done")
        raise RuntimeError
    assert not Notice.objects.exists()
    assert not Delivery.objects.exists()


def test_one_key_is_told_once(team):
    webhook(team)
    assert note(FINISHED, team, subject="Done", key="matrix:1") is not None
    assert note(FINISHED, team, subject="Done again", key="matrix:1") is None
    assert Delivery.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_ten_at_the_same_time_tell_it_once(team, race):
    webhook(team)
    made = race(lambda: note(FINISHED, team, subject="Done", key="matrix:1"), times=10)
    assert len([notice for notice in made if notice is not None]) == 1
    assert Delivery.objects.count() == 1


def test_an_unknown_kind_is_a_mistake(team):
    with pytest.raises(KeyError):
        note("weather", team, subject="Rain")


def test_a_subject_is_one_line(team):
    made = note(FINISHED, team, subject="Done\r\nBcc: all@example.org\u2028\x85\0" + "x" * 300)
    assert made.subject.startswith("Done Bcc: all@example.org xxx")
    assert len(made.subject) == 200

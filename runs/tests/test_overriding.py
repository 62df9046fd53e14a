"""Counting a rejected run with a written reason: whoever may, what it leaves behind, and taking it back."""

import pytest

from runs.results import annotations
from runs.results.annotations import AnnotationRefused
from runs.tests.factories import make_run, make_sweep

pytestmark = pytest.mark.django_db


@pytest.fixture
def rejected(team):
    return make_run(make_sweep(team=team), verdict="reject")


def test_the_reason_is_kept_with_who_wrote_it(rejected, user):
    annotations.override(rejected, user, " the client  was known\nto be small ")
    rejected.refresh_from_db()
    assert rejected.verdict_override == "the client was known to be small"
    event = rejected.events.get()
    assert (event.kind, event.actor, event.text) == ("override", "runa", "the client was known to be small")


def test_the_verdict_and_the_numbers_stay(rejected, user):
    before = rejected.throughput_ops_s
    annotations.override(rejected, user, "why")
    rejected.refresh_from_db()
    assert (rejected.verdict, rejected.throughput_ops_s) == ("reject", before)


def test_it_needs_a_reason(rejected, user):
    with pytest.raises(AnnotationRefused, match="Write down why"):
        annotations.override(rejected, user, " \n\x00 ")


def test_a_reason_has_a_length(rejected, user):
    with pytest.raises(AnnotationRefused, match="at most 2000 characters"):
        annotations.override(rejected, user, "x" * 2001)


@pytest.mark.parametrize("verdict", ["pass", "warn"])
def test_a_run_that_no_check_rejects_needs_none(team, user, verdict):
    run = make_run(make_sweep(team=team), verdict=verdict)
    with pytest.raises(AnnotationRefused, match="counts without a reason"):
        annotations.override(run, user, "why")


def test_the_same_reason_twice_is_one_event(rejected, user):
    annotations.override(rejected, user, "why")
    annotations.override(rejected, user, "why")
    assert rejected.events.count() == 1


def test_it_can_be_withdrawn(rejected, user):
    annotations.override(rejected, user, "why")
    annotations.withdraw_override(rejected, user)
    annotations.withdraw_override(rejected, user)
    rejected.refresh_from_db()
    assert rejected.verdict_override == ""
    assert list(rejected.events.values_list("kind", flat=True)) == ["override", "override_withdrawn"]


def test_audit_log_names_who_overrode_and_who_withdrew(rejected, user):
    annotations.override(rejected, user, "why")
    annotations.withdraw_override(rejected, user)
    entries = list(rejected.team.audit.order_by("id").values_list("kind", "actor_name", "subject", "text"))
    assert entries == [
        ("verdict_overridden", "runa", rejected.name, "why"),
        ("override_withdrawn", "runa", rejected.name, ""),
    ]

"""Tags, notes and exclusions: written by people, kept with who wrote them, numbers untouched."""

import pytest

from runs.models import Run, RunEvent
from runs.results import annotations
from runs.results.annotations import AnnotationRefused
from runs.tests.factories import make_matrix, make_run, make_sweep

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(team):
    return make_run(make_sweep(team=team))


def test_tags_are_trimmed_lower_case_and_each_once():
    assert annotations.parse_tags(" Baseline,  quiet   host ,baseline,, ") == ["baseline", "quiet host"]


def test_a_tag_that_is_too_long_is_refused():
    with pytest.raises(AnnotationRefused, match="at most 40 characters"):
        annotations.parse_tags("x" * 41)


def test_too_many_tags_are_refused():
    with pytest.raises(AnnotationRefused, match="at most 20 tags"):
        annotations.parse_tags(",".join(str(n) for n in range(21)))


def test_tags_are_replaced_and_noted(run, user):
    annotations.set_tags(run, user, ["a", "b"])
    annotations.set_tags(run, user, ["b"])
    run.refresh_from_db()
    assert run.tags == ["b"]
    assert [(e.kind, e.new, e.actor) for e in run.events.all()] == [("tags", "a, b", "runa"), ("tags", "b", "runa")]


def test_of_a_run_that_is_gone_nothing_is_said(run, user):
    gone = Run.objects.get(pk=run.pk)
    run.delete()
    annotations.set_tags(gone, user, ["a"])
    annotations.set_notes(gone, user, "a")
    annotations.exclude([gone], user, "why")
    annotations.override(gone, user, "why")
    annotations.withdraw_override(gone, user)
    assert not RunEvent.objects.exists()


def test_the_same_tags_again_leave_no_event(run, user):
    annotations.set_tags(run, user, ["a"])
    annotations.set_tags(run, user, ["a"])
    assert run.events.count() == 1


def test_tags_are_added_to_several_runs(team, user):
    sweep = make_sweep(team=team)
    runs = [make_run(sweep, threads=2, tags=["a"]), make_run(sweep, threads=4, tags=["a", "b"])]
    assert annotations.add_tags(runs, user, ["b"]) == 1
    runs[0].refresh_from_db()
    assert runs[0].tags == ["a", "b"]


def test_notes_lose_control_characters_and_keep_their_lines(run, user):
    annotations.set_notes(run, user, " one\r\ntwo\x00\x1b[31m ")
    run.refresh_from_db()
    assert run.notes == "one\ntwo[31m"


def test_an_exclusion_needs_a_reason(run, user):
    with pytest.raises(AnnotationRefused, match="Write down why"):
        annotations.exclude([run], user, "  \n ")
    run.refresh_from_db()
    assert run.excluded_reason == ""


def test_exclusion_keeps_reason_user_time_and_throughput(run, user):
    before = run.throughput_ops_s
    assert annotations.exclude([run], user, "a backup ran") == 1
    run.refresh_from_db()
    assert (run.excluded_reason, run.excluded_by, run.throughput_ops_s) == ("a backup ran", user, before)
    assert run.excluded_at is not None
    assert run.events.get().text == "a backup ran"


def test_excluding_twice_for_one_reason_is_one_event(run, user):
    annotations.exclude([run], user, "why")
    assert annotations.exclude([run], user, "why") == 0
    assert run.events.count() == 1


def test_unfinished_run_blocks_exclusion_of_all_selected(team, user):
    sweep = make_sweep(team=team)
    ended, going = make_run(sweep, threads=2), make_run(sweep, threads=4, status="running")
    with pytest.raises(AnnotationRefused, match="has not ended"):
        annotations.exclude([ended, going], user, "why")
    ended.refresh_from_db()
    assert ended.excluded_reason == ""


def test_an_excluded_run_can_count_again(run, user):
    annotations.exclude([run], user, "why")
    assert annotations.include([run], user) == 1
    run.refresh_from_db()
    assert (run.excluded_reason, run.excluded_by, run.excluded_at) == ("", None, None)


def test_matrix_notes_have_a_length(team):
    with pytest.raises(AnnotationRefused, match="at most 20000 characters"):
        annotations.set_matrix_notes(make_matrix(team=team), "x" * 20_001)

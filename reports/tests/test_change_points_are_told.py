"""A change of level in a history is told once to whoever asked for it, some runs after it, outside any request."""

import datetime as dt
import random

import pytest

from benchsite.accounts.models import Delivery, Membership, Notice, Preference
from benchsite.core.formatting import MINUS
from benchsite.notifications import deliveries, notices
from reports.models import ChangePoint, History, HistoryLook
from reports.trends import change_point_alerts
from reports.trends.queries.history import collect_metrics
from runs.models import Run
from runs.results.denormalised_columns import config_key
from runs.tests.factories import make_run, make_spec, make_sweep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
START = dt.datetime(2026, 1, 5, 3, 0, tzinfo=dt.UTC)
KIND = "change_point"


@pytest.fixture
def sweep(team):
    return make_sweep(team=team, name="redis always A", mode="always")


@pytest.fixture
def asked(user, team):
    user.email = user.confirmed_email = "runa@example.org"
    user.save()
    return Preference.objects.create(membership=Membership.objects.get(user=user, team=team), kind=KIND)


def nights(sweep, *levels):
    """A run for each night at these levels (ops/s), after those that are there."""
    done = Run.objects.filter(sweep=sweep).count()
    for night, level in enumerate(levels, done):
        noise = random.Random(night).gauss(1, 0.01)
        spec = make_spec(sweep, threads=8)
        make_run(
            sweep, spec=spec, threads=8, repeat=night + 1, throughput=level * noise, commit=f"{night:04x}beef",
            started_at=START + dt.timedelta(days=night),
        )  # fmt: skip
    return config_key(spec)


def test_it_is_told_once_however_much_is_measured_afterwards(sweep, asked):
    key = nights(sweep, *[1000] * 14)
    assert change_point_alerts.look() == 0
    nights(sweep, *[900] * 8)
    assert change_point_alerts.look() == 1
    for _ in range(3):
        nights(sweep, 900, 900)
        assert change_point_alerts.look() == 0
    notice = Notice.objects.get()
    assert notice.kind == KIND
    assert notice.path == f"/history/{key}/"
    change, *latencies = notice.data["changes"]
    assert {latency["metric"].split()[-1] for latency in latencies} == {"p99"}
    assert {(latency["unit"], latency["commit"]) for latency in latencies} == {("us", "000ebeef")}
    assert (change["metric"], change["better"], change["commit"]) == ("throughput", False, "000ebeef")
    assert change["relative"] == pytest.approx(-0.1, abs=0.02)
    assert f"throughput {MINUS}" in notice.subject and "worse" in notice.subject
    assert Delivery.objects.get().member == asked.membership
    assert deliveries.build_body(notice)


def test_the_next_change_is_told_too(sweep, asked):
    nights(sweep, *[1000] * 14)
    change_point_alerts.look()
    nights(sweep, *[900] * 10)
    assert change_point_alerts.look() == 1
    nights(sweep, *[1200] * 10)
    assert change_point_alerts.look() == 1
    assert Notice.objects.latest("at").data["changes"][0]["better"]


def test_nobody_asked_nobody_is_told_and_nothing_is_worked_out(sweep, django_assert_num_queries):
    nights(sweep, *[1000] * 14, *[900] * 8)
    with django_assert_num_queries(3):
        assert change_point_alerts.look() == 0
    assert not HistoryLook.objects.exists()


def test_what_was_there_before_somebody_asked_is_not_told(sweep, asked):
    nights(sweep, *[1000] * 14, *[900] * 8)
    assert change_point_alerts.look() == 0
    nights(sweep, 900)
    assert change_point_alerts.look() == 0
    asked.delete()
    change_point_alerts.look()
    assert not HistoryLook.objects.exists()


def test_nothing_has_grown_nothing_is_looked_at(sweep, asked, monkeypatch):
    nights(sweep, *[1000] * 5)
    change_point_alerts.look()
    monkeypatch.setattr(change_point_alerts, "_look_at", lambda row: 1 / 0)
    assert change_point_alerts.look() == 0


def test_what_a_person_has_decided_on_is_not_told(sweep, asked, user):
    key = nights(sweep, *[1000] * 14)
    change_point_alerts.look()
    nights(sweep, *[900] * 8)
    first = Run.objects.get(commit="000ebeef")
    for metric in collect_metrics(History.objects.get()):
        said = {"team": sweep.team, "config_key": key, "metric": str(metric), "run": first}
        ChangePoint.objects.create(**said, state="confirmed", changed_by=user)
    assert change_point_alerts.look() == 0


def test_another_teams_history_is_not_told(sweep, stranger, asked):
    asked.delete()
    other = Membership.objects.exclude(team=sweep.team).get()
    Preference.objects.create(membership=other, kind=KIND)
    nights(sweep, *[1000] * 14)
    change_point_alerts.look()
    nights(sweep, *[900] * 8)
    assert change_point_alerts.look() == 0


def test_a_history_whose_runs_are_deleted_goes_with_its_look(sweep, asked):
    nights(sweep, 1000, 1000)
    change_point_alerts.look()
    for run in Run.objects.all():
        run.delete()
    assert not History.objects.exists()
    change_point_alerts.look()
    assert not HistoryLook.objects.exists()


def test_delivery_looks_for_notices_despite_a_failing_finder(sweep, asked, settings):
    nights(sweep, *[1000] * 14)
    change_point_alerts.look()
    nights(sweep, *[900] * 8)
    settings.NOTICE_FINDERS = ["reports.nowhere.look", "reports.trends.change_point_alerts.look"]
    assert notices.find() == 1
    assert Notice.objects.filter(kind=KIND).count() == 1

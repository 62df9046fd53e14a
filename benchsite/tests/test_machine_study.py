"""`make study`: its plan, what it leaves out, and whether a second call goes on with the first."""

import io

import pytest
from django.db.models.functions import Now

from benchsite.local.demo.machine_study import (
    ENTRIES,
    find_report,
    missing_parts,
    missing_runs,
    plan_machine_study,
    publish_study,
    unfinished_study,
)
from benchsite.local.demo.study import Progress, name_products
from reports.models import Report
from reports.published.publication import PublishRefused
from runs.models import LoadGenerator, Matrix, Run
from runs.models.run import Status
from runs.plans import PlanError, preview, stored_plan, submit
from runs.queue.lifecycle import request_cancel_matrix
from runs.queue.reasons import Reason
from runs.tests.factories import make_load_generator, make_machine

pytestmark = pytest.mark.django_db
SYSTEMS = ["redis", "postgresql", "mariadb", "memcached", "cassandra", "hbase"]
FAILED = {"status": Status.FAILED, "finished_at": Now(), "reason": Reason.INTERNAL_ERROR}


@pytest.fixture
def generators():
    digests = dict.fromkeys(SYSTEMS, "a" * 64)
    make_load_generator(name="generator-1", machine=make_machine(), bindings=digests, last_seen_at=Now())
    return list(LoadGenerator.objects.select_related("machine"))


@pytest.fixture
def study(team, user, generators):
    """A submitted study of memcached."""
    matrix = plan_machine_study(team, user, generators, ["memcached"], minutes=3, repeats=1)
    submit(matrix, user)
    return matrix


def test_plan_searches_every_system_within_its_minutes(team, user, generators):
    matrix = plan_machine_study(team, user, generators, SYSTEMS, minutes=110, repeats=2)
    plan = preview(stored_plan(matrix))
    assert (plan.problems, len(plan.cells), plan.runs, plan.is_bound) == ((), 20, 320, True)
    assert (matrix.min_measure_s, matrix.settle_s, matrix.priority) == (20, 20, -1)
    assert plan.runs * matrix.min_measure_s <= 110 * 60
    ring = matrix.entries.filter(database__name="Cassandra, 3 nodes").select_related("database")
    assert {entry.mode for entry in ring} >= {"one-batch", "quorum-batch", "all-one-periodic"}
    assert (ring[0].database.settings, ring[0].database.replication_factor) == ({"nodes": "3"}, 3)
    submit(matrix, user)
    threads = Run.objects.filter(matrix=matrix, phase="measure").values_list("sweep__database__name", "threads")
    planned = name_products([entry for entry in ENTRIES if entry.system in SYSTEMS])
    assert set(threads) == {(entry.name, entry.threads) for entry in planned}


def test_plan_of_few_systems_has_no_longer_windows(team, user, generators):
    matrix = plan_machine_study(team, user, generators, ["redis"], minutes=110, repeats=2)
    assert set(matrix.entries.values_list("database__system", flat=True)) == {"redis"}
    assert matrix.min_measure_s == 20


def test_refuses_minutes_that_are_too_few(team, user, generators):
    with pytest.raises(PlanError, match="5 minutes are too few: 240 runs of 2 s measure 8\N{NARROW NO-BREAK SPACE}min"):
        plan_machine_study(team, user, generators, SYSTEMS, minutes=5, repeats=1)
    assert not Matrix.objects.exists()


def test_names_missing_parts_and_what_installs_them(settings, tmp_path, monkeypatch):
    settings.YCSB_DIR = settings.SERVERS_DIR = tmp_path
    assert "run `make bindings redis`" in missing_parts("redis")
    assert "run `make servers hbase`" in missing_parts("hbase")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install memcached" in missing_parts("memcached")
    assert {entry.system for entry in ENTRIES} >= set(SYSTEMS)


def test_study_is_unfinished_until_it_has_its_report(team, user, study):
    assert unfinished_study(team) == study
    Run.objects.filter(matrix=study).update(**FAILED)
    assert missing_runs([study]) == Run.objects.count() == 2
    assert unfinished_study(team) == study
    with pytest.raises(PublishRefused):
        publish_study(study, user)
    assert find_report(study) is None
    Report.objects.create(team=team, title=study.name, draft={"query": f"v=1&matrix={study.pk}"})
    assert unfinished_study(team) is None


def test_another_study_takes_the_place_of_a_cancelled_one(team, user, generators, study):
    assert unfinished_study(team) == study
    request_cancel_matrix(study, user)
    assert set(Run.objects.values_list("status", flat=True)) == {Status.CANCELLED}
    second = plan_machine_study(team, user, generators, ["redis"], minutes=30, repeats=1)
    assert unfinished_study(team) == study
    submit(second, user)
    assert unfinished_study(team) == second


def test_resumed_progress_reports_only_new_ends(study):
    first, *others = Run.objects.order_by("position")
    Run.objects.filter(pk=first.pk).update(**FAILED, reason_detail="ended before")
    out = io.StringIO()
    progress = Progress([study], out, is_resumed=True)
    Run.objects.exclude(pk=first.pk).update(**FAILED, reason_detail="ended later")
    progress.follow(lambda: None)
    assert "ended before" not in out.getvalue()
    assert out.getvalue().count("ended later") == len(others)

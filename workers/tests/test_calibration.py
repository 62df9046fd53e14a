"""A load generator measures what it can generate, while it holds its machine's lease."""

import datetime as dt
import threading

import pytest
from django.conf import settings as django_settings
from django.db.models.functions import Now
from django.utils import timezone

from benchsite.accounts.models import User
from runs.catalog import generators
from runs.models import LoadGenerator, Run
from runs.models.run import Status
from runs.plans import submit
from runs.tests.factories import (
    make_cluster,
    make_conductors,
    make_database,
    make_load_generator,
    make_matrix,
    make_team,
    make_workload,
)
from runs.tests.pages import get_text
from workers.conductor import scheduling
from workers.generator import enrolment, presence
from workers.generator.site_client import SiteClient, site_client
from workers.models import Lease
from workers.probe import calibration
from workers.systems.build import build
from workers.systems.manifests import installed_bindings

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
DIGEST = {"redis": "d" * 64}
MEASURED = {"redis": {"digest": DIGEST["redis"], "client_ops_s": 1e5, "ops_s": 2e5, "clients": 2, "cores": 2}}


@pytest.fixture
def generator():
    return make_load_generator(name="lab-1", bindings=DIGEST, slots=2)


@pytest.fixture
def load(generator):
    """A queued load whose only machine is the generator's."""
    team = make_team()
    redis = make_database(team=team, cluster=make_cluster(team=team, machines=[generator.machine]))
    matrix = make_matrix(
        team=team, entries=[(redis, "always")], workloads=[make_workload(team=team)], load_generators=[generator],
        submitted_at=None, rungs=[2],
    )  # fmt: skip
    submit(matrix, None)
    return Run.objects.filter(matrix=matrix).order_by("position").first()


def tick():
    LoadGenerator.objects.update(last_seen_at=Now())
    make_conductors()
    return scheduling.tick()


@pytest.mark.django_db(transaction=True)
def test_measures_with_real_clients(settings, live_server, tmp_path, monkeypatch):
    """From the request to the stored figures, with two processes of YCSB on the generator's side of the site's API."""
    build(django_settings.YCSB_DIR)
    settings.VAR_DIR, settings.WORK_DIR, settings.GUARDED_DIR = tmp_path, tmp_path / "work", tmp_path / "guarded"
    settings.GENERATOR_SITE_URL, settings.GENERATOR_TOKEN = live_server.url, enrolment.make("lab-1")
    monkeypatch.setattr(calibration, "DURATION_S", 2)
    digests = {binding: manifest.digest for binding, manifest in installed_bindings(settings.YCSB_DIR).items()}
    make_load_generator(name="lab-1", bindings=digests, slots=2)
    site_client.cache_clear()
    try:
        site: SiteClient = site_client()
        generators.request_calibration("lab-1")
        assert site.note_presence(probed=False)["calibrate"] is False
        tick()
        assert site.note_presence(probed=False)["calibrate"] is True
        presence.calibrate(slots=2, stop=threading.Event())
        assert site.note_presence(probed=False)["calibrate"] is False
        site.close()
    finally:
        site_client.cache_clear()
    generator = LoadGenerator.objects.get()
    assert generator.calibration_error == ""
    assert generator.calibration_requested_at is None
    assert set(generator.capacity) == set(digests)
    capacity = generator.capacity["redis"]
    assert (capacity["digest"], capacity["clients"]) == (digests["redis"], 2)
    # The slowest machines generate this much without a database, no machine 100 times as much per core.
    for rate in (capacity["client_ops_s"], capacity["ops_s"]):
        assert 1_000 < rate < 20_000_000 * capacity["cores"]
    assert not list((tmp_path / "work").iterdir())


def test_names_the_error_of_the_clients(settings, tmp_path, monkeypatch):
    build(django_settings.YCSB_DIR)
    settings.VAR_DIR, settings.WORK_DIR, settings.GUARDED_DIR = tmp_path, tmp_path / "work", tmp_path / "guarded"
    monkeypatch.setattr(calibration, "NO_DATABASE", "org.benchsite.Nothing")
    with pytest.raises(calibration.CalibrationFailed, match=r"the binding org\.benchsite\.Nothing cannot be loaded"):
        calibration.measure_capacities(slots=1)


def test_calibration_waits_for_the_run_that_holds_the_machine(load, generator):
    assert tick() == [load.pk]
    generators.request_calibration("lab-1")
    tick()
    assert [lease.run_id for lease in Lease.objects.all()] == [load.pk]
    scheduling.release([load.pk])
    tick()
    assert Lease.objects.get().load_generator == generator


def test_runs_wait_for_a_calibration(load, generator):
    generators.request_calibration("lab-1")
    assert tick() == []
    scheduling.end_calibration(generator, MEASURED)
    assert LoadGenerator.objects.get().capacity["redis"]["ops_s"] == 2e5
    assert tick() == [load.pk]


def test_one_generator_of_a_machine_at_a_time(generator):
    second = make_load_generator(name="lab-2", machine=generator.machine)
    for name in ("lab-1", "lab-2"):
        generators.request_calibration(name)
    tick()
    assert Lease.objects.get().load_generator == generator
    scheduling.end_calibration(generator, {})
    tick()
    assert Lease.objects.get().load_generator == second


@pytest.mark.parametrize("lost", ["silent", "late"])
def test_lost_calibration_gives_the_machine_back(load, generator, lost):
    generators.request_calibration("lab-1")
    tick()
    scheduling.reap()
    assert Lease.objects.exists()
    past = timezone.now() - dt.timedelta(hours=1)
    if lost == "silent":
        LoadGenerator.objects.update(last_seen_at=past)
    else:
        Lease.objects.update(taken_at=past)
    scheduling.reap()
    assert not Lease.objects.exists()
    generator.refresh_from_db()
    assert generator.calibration_requested_at is None
    assert "did not finish its calibration" in generator.calibration_error
    assert tick() == [load.pk]
    assert Run.objects.filter(status=Status.DISPATCHED).exists()


def test_silent_generators_are_refused(generator):
    LoadGenerator.objects.update(last_seen_at=None)
    with pytest.raises(generators.CalibrationRefused, match="lab-1 gives no sign of life"):
        generators.request_calibration("lab-1")


def test_operators_calibrate_from_the_page(client_in, user, generator):
    address = "/load-generators/calibrate/"
    assert client_in.post(address, {"name": "lab-1"}).status_code == 403
    assert "Calibrate lab-1" not in get_text(client_in.get("/load-generators/"))
    User.objects.filter(pk=user.pk).update(is_staff=True)
    assert client_in.post(address, {"name": "unknown"}).status_code == 404
    assert "Calibrate lab-1" in get_text(client_in.get("/load-generators/"))
    client_in.post(address, {"name": "lab-1"})
    assert "is calibrated when its machine is free" in get_text(client_in.get("/load-generators/"))
    tick()
    assert "is calibrated<" in get_text(client_in.get("/load-generators/"))
    scheduling.end_calibration(generator, MEASURED)
    assert "200k\N{NARROW NO-BREAK SPACE}ops/s" in get_text(client_in.get("/load-generators/"))


def test_figures_of_another_build_are_not_shown(client_in, generator):
    generators.end_calibration(generator.pk, MEASURED)
    LoadGenerator.objects.update(bindings={"redis": "e" * 64})
    assert "200k\N{NARROW NO-BREAK SPACE}ops/s" not in get_text(client_in.get("/load-generators/"))

"""The site's API for load generators: each reaches its own client runs alone, and every request can be repeated."""

import hashlib
import json
import time
import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import DatabaseError, DataError, IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.test import Client

from runs.catalog import generators
from runs.models import Artifact, ClientRun, LoadGenerator, Run
from runs.queue import client_lifecycle
from runs.queue.database_retries import retry
from runs.results import artifacts
from runs.tests.factories import make_client_run, make_load_generator, make_run, make_sweep
from workers.generator import enrolment, presence, registration
from workers.generator.site_client import SiteClient, SiteUnreachable
from workers.probe import check_orders

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
BASE = "/generator-api/v1"


@pytest.fixture
def client_run():
    run = make_run(make_sweep(), threads=2, status="running")
    return make_client_run(run, generator=make_load_generator(name="lab-1"), order={"threads": 2})


def generator(name="lab-1", credential=None):
    return Client(headers={"authorization": f"Bearer {credential or enrolment.make(name)}"})


@pytest.fixture
def lab():
    return generator()


def post(client, path, **body):
    return client.post(f"{BASE}/{path}", json.dumps(body), content_type="application/json")


@pytest.fixture
def claim(lab, client_run):
    claim = str(uuid.uuid4())
    assert post(lab, f"clients/{client_run.pk}/claim", claim=claim).json()["claimed"]
    return claim


def put(client, client_run, claim, kind, name, content, digest=None):
    query = f"claim={claim}&size={len(content)}&sha256={digest or hashlib.sha256(content).hexdigest()}"
    address = f"{BASE}/clients/{client_run.pk}/files/{kind}/{name}?{query}"
    return client.put(address, content, content_type="application/octet-stream")


@pytest.mark.parametrize("credential", ["", "x", "bsg_lab-1_" + "0" * 64, "bsg__", "bs_lab-1_" + "0" * 64, "bsg_\0_0"])
def test_unknown_credential_is_refused(client_run, lab, credential):
    answer = post(generator(credential=credential or "-"), "presence", probed=False)
    assert answer.status_code == 401
    assert "unknown or was revoked" in answer.json()["detail"]


def test_a_new_credential_replaces_the_earlier_one(client_run):
    first = enrolment.make("lab-1")
    assert post(generator(credential=first), "presence", probed=False).status_code == 200
    second = enrolment.make("lab-1")
    assert post(generator(credential=first), "presence", probed=False).status_code == 401
    call_command("enrolment_code", "lab-1", "--revoke")
    assert post(generator(credential=second), "presence", probed=False).status_code == 401


@pytest.mark.parametrize("action", ["claim", "report", "stopped", "complete", "fail"])
def test_client_runs_of_others_are_not_there(client_run, claim, action):
    other = generator("lab-2")
    body = {"claim": claim, "reason": "", "reason_detail": "", "exit_code": 0, "cpu_percent": None, "facts": {}}
    assert post(other, f"clients/{client_run.pk}/{action}", **body).status_code == 404
    assert put(other, client_run, claim, "hdr", "READ.hdr", b"x").status_code == 404
    client_run.refresh_from_db()
    assert client_run.state == ClientRun.State.STARTING


def test_claim_is_won_once_and_can_be_repeated(lab, client_run, claim):
    again = post(lab, f"clients/{client_run.pk}/claim", claim=claim).json()
    assert (again["claimed"], again["order"]) == (True, {"threads": 2})
    assert post(lab, f"clients/{client_run.pk}/claim", claim=str(uuid.uuid4())).json() == {"claimed": False}


def test_report_tells_whether_the_run_goes_on(lab, client_run, claim):
    report, run = f"clients/{client_run.pk}/report", Run.objects.filter(pk=client_run.run_id)
    run.update(starts_at=None)
    answer = post(lab, report, claim=claim, state="ready", clock_offset_s=0.5, facts={"java": "21"})
    assert answer.json() == {"goes_on": True, "starts_at": None, "ends_at": None}
    instant = client_run.created_at
    run.update(starts_at=instant, ends_at=instant)
    answer = post(lab, report, claim=claim, operations=7)
    assert answer.json() == {"goes_on": True, "starts_at": instant.timestamp(), "ends_at": instant.timestamp()}
    client_run.refresh_from_db()
    assert (client_run.state, client_run.clock_offset_s, client_run.operations) == (ClientRun.State.READY, 0.5, 7)
    assert not post(lab, report, claim=str(uuid.uuid4())).json()["goes_on"]
    run.update(cancel_requested_at=client_run.created_at)
    assert not post(lab, report, claim=claim).json()["goes_on"]


LINE = {
    "elapsed_s": 1.0, "at_epoch_s": time.time(), "operations_total": 10, "rate_ops_s": 10.0,
    "by_operation": {"READ": {"count": 10, "mean_us": 5.0, "p99_us": 9.0}},
}  # fmt: skip
HOSTILE_LINES = {
    "elapsed": {"elapsed_s": float("nan")},
    "endless": {"elapsed_s": 1e308},
    "epoch": {"at_epoch_s": float("-inf")},
    "early": {"at_epoch_s": 0.0},
    "a billion seconds": {"elapsed_s": 1e9},
    "total": {"operations_total": 10**300},
    "rate": {"rate_ops_s": float("inf")},
    "operations": {"by_operation": {f"OP{number}": {"count": 1} for number in range(2000)}},
    "huge": {"by_operation": {"READ": {"count": 1e308, "mean_us": 1e308}, "UPDATE": {"count": 1e308}}},
    "none": {"by_operation": {"READ": {"count": 0, "mean_us": float("nan")}}},
    "nul": {"line": "\0"},
    "fields": {"rate_ops_s": None},
}


@pytest.mark.parametrize("hostile", HOSTILE_LINES)
def test_lines_that_cannot_be_shown_break_no_page(client_run, lab, claim, hostile, client_in, team):
    """The heartbeat counts, a good line is shown, and the pages of the run answer with numbers that JSON knows."""
    run = client_run.run
    Run.objects.filter(pk=run.pk).update(team=team)
    lines = [LINE, LINE | HOSTILE_LINES[hostile], LINE | {"elapsed_s": 2.0}]
    answer = post(lab, f"clients/{client_run.pk}/report", claim=claim, state="running", lines=lines)
    assert answer.status_code == 200, answer.content
    for page in (f"/runs/{run.pk}/", f"/runs/{run.pk}/live/", f"/figures/runs/{run.pk}/live/"):
        shown = client_in.get(page, headers={"hx-request": "true"} if page.endswith("live/") else {})
        assert shown.status_code == 200, page
        assert b"NaN" not in shown.content
        assert b"Infinity" not in shown.content


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"claim": 7}', b'{"claim": "x"}', b"[" * 100_000])
def test_malformed_request_is_refused(lab, client_run, body):
    answer = lab.post(f"{BASE}/clients/{client_run.pk}/report", body, content_type="application/json")
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "field",
    [
        {"facts": None},
        {"facts": {"java": "\0"}},
        {"facts": {"java": [{"\0": 1}]}},
        {"facts": {"java": "\ud800"}},
        {"facts": {"java": float("nan")}},
        {"facts": {"java": [float("inf")]}},
        {"command": 7},
        {"command": ["\0"]},
        {"clock_offset_s": 10**400},
        {"clock_offset_s": float("nan")},
        {"lines": 7},
        {"state": "finished"},
    ],
    ids=str,
)
def test_values_that_cannot_be_stored_are_refused(lab, client_run, claim, field):
    body = {"state": "ready", **field}
    answer = post(lab, f"clients/{client_run.pk}/report", claim=claim, **body)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("The request is malformed: ")


ENDED = {"reason": "", "reason_detail": "", "exit_code": 0, "cpu_percent": None, "facts": {}}
UNFIT = [
    {"exit_code": 2**31},
    {"reason": "unknown"},
    {"reason_detail": "\0"},
    {"facts": {"a": "\0"}},
    {"missing": ["\0"]},
]


@pytest.mark.parametrize("field", UNFIT, ids=str)
def test_results_that_cannot_be_stored_are_refused(lab, client_run, claim, field):
    answer = post(lab, f"clients/{client_run.pk}/complete", claim=claim, **{**ENDED, **field})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


@pytest.mark.parametrize("field", [{"host_key": "x" * 81}, {"host_name": "x" * 77}, {"slots": 2**15}, {"bindings": []}])
def test_registrations_that_cannot_be_stored_are_refused(lab, field):
    answer = post(lab, "register", **{**presence.description(2), **field})
    assert answer.status_code == 400 and next(iter(field)) in answer.json()["detail"]


def test_longest_names_can_be_registered(lab):
    names = {"host_key": "x" * 80, "host_name": "y" * 76}
    assert post(lab, "register", **{**presence.description(2), **names}).json() == {"machine": "y" * 76}


FAULTS = [AttributeError, KeyError, TypeError, ValueError, OverflowError, DatabaseError, DataError, IntegrityError]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_site_is_no_fault_of_the_request(lab, client_run, claim, monkeypatch, caplog, fault):
    """A load generator repeats what is answered with 500, and nothing that is answered with 400."""

    def fail(*arguments, **fields):
        raise fault("secret detail")

    monkeypatch.setattr(client_lifecycle, "beat", fail)
    answer = post(lab, f"clients/{client_run.pk}/report", claim=claim)
    assert (answer.status_code, answer["Content-Type"]) == (500, "application/problem+json")
    assert answer.json()["status"] == 500 and "secret" not in answer.json()["detail"]
    assert "secret detail" in caplog.text


def test_a_damaged_table_is_a_fault_of_the_site(lab, client_run, claim):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE runs_clientrun RENAME COLUMN heartbeat_at TO lost")
    with transaction.atomic():
        answer = post(lab, f"clients/{client_run.pk}/report", claim=claim)
        transaction.set_rollback(True)
    assert answer.status_code == 500 and "ProgrammingError" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["enrol", "presence", "register"])
def test_faults_outside_client_runs_are_problems_too(lab, monkeypatch, path):
    def fail(*arguments, **fields):
        raise AttributeError

    for module, name in ((enrolment, "enrol"), (registration, "note_presence"), (registration, "register_generator")):
        monkeypatch.setattr(module, name, fail)
    body = {"code": "bse_x", "probed": False, **presence.description(2)}
    assert post(lab, path, **body).status_code == 500


@pytest.mark.django_db(transaction=True)
def test_load_generator_repeats_what_met_a_fault(live_server, monkeypatch):
    """By the load generator's own client, over HTTP."""
    real, failures = registration.note_presence, [AttributeError, DataError]

    def fail_twice(name):
        if failures:
            raise failures.pop()
        return real(name)

    monkeypatch.setattr(registration, "note_presence", fail_twice)
    site = SiteClient(live_server.url, enrolment.make("lab-1"))
    answer = retry(lambda: site.note_presence(probed=False), errors=(SiteUnreachable,))
    site.close()
    assert (answer["quarantined"], failures) == (False, [])
    enrolment.revoke("lab-1", None)


def test_calibration_without_registration_is_refused(lab):
    assert post(lab, "calibration", capacities={}, error="").status_code == 409


def test_file_is_stored_once_and_redacted(lab, client_run, claim):
    """Whatever the load generator did: the site redacts what it stores."""
    for _ in range(2):
        assert put(lab, client_run, claim, "hdr", "READ.hdr", b"\0" * 300_000).status_code == 200
        assert put(lab, client_run, claim, "properties", "p", b"redis.password=geheim\n").status_code == 200
    stored = {artifact.kind: artifacts.open_artifact(artifact) for artifact in Artifact.objects.all()}
    assert stored == {"hdr": b"\0" * 300_000, "properties": b"redis.password=[redacted]\n"}


def test_damaged_or_foreign_file_is_refused(lab, client_run, claim):
    assert put(lab, client_run, claim, "hdr", "READ.hdr", b"abc", digest="0" * 64).status_code == 422
    assert put(lab, client_run, claim, "stdout", "stdout.txt", b"abc", digest="0" * 64).status_code == 422
    assert put(lab, client_run, claim, "server_log_x", "a", b"abc").status_code == 400
    assert put(lab, client_run, str(uuid.uuid4()), "hdr", "READ.hdr", b"abc").status_code == 409
    assert not Artifact.objects.exists()


@pytest.mark.parametrize("action", ["claim", "report", "stopped", "complete", "fail"])
def test_deleted_client_run_has_a_code_of_its_own(lab, client_run, claim, action):
    body = {"claim": claim, "reason": "", "reason_detail": "", "exit_code": 0, "cpu_percent": None, "facts": {}}
    refused = post(generator("lab-2"), f"clients/{client_run.pk}/{action}", **body)
    assert (refused.status_code, "code" in refused.json()) == (404, False)
    ClientRun.objects.filter(pk=client_run.pk).delete()
    answer = post(lab, f"clients/{client_run.pk}/{action}", **body)
    assert (answer.status_code, answer.json()["code"]) == (410, "run_deleted")


def test_name_must_be_that_of_the_credential(lab):
    answer = post(lab, "register?name=lab-2", **presence.description(2))
    assert answer.status_code == 409
    assert "called lab-2 (BENCHSITE_GENERATOR)" in answer.json()["detail"]
    assert not LoadGenerator.objects.exists()
    assert post(lab, "register?name=lab-1", **presence.description(2)).status_code == 200


@pytest.mark.parametrize(("kind", "name"), [("hdr", "READ.hdr"), ("stdout", "stdout.txt")])
def test_reads_no_more_than_the_declared_size(lab, client_run, claim, kind, name):
    content = bytes(8 * artifacts.CHUNK)
    query = f"claim={claim}&size=5&sha256={hashlib.sha256(content).hexdigest()}"
    answer = lab.put(f"{BASE}/clients/{client_run.pk}/files/{kind}/{name}?{query}", content)
    assert answer.status_code == 422
    assert len(answer.wsgi_request.read()) >= 7 * artifacts.CHUNK - 6


def test_nothing_is_stored_again_after_the_last_file(lab, client_run, claim):
    body = {"claim": claim, "reason": "", "reason_detail": "", "exit_code": 0, "cpu_percent": None, "facts": {}}
    assert post(lab, f"clients/{client_run.pk}/complete", **body).status_code == 200
    assert put(lab, client_run, claim, "hdr", "READ.hdr", b"abc").status_code == 200
    assert not Artifact.objects.exists()


def test_large_fleet_gives_fewer_signs_of_life(lab):
    """60 load generators: 15 s apart, and silent after 40 s of silence; 20 and fewer keep to 5 s and 20 s."""
    make_load_generator(name="lab-1")
    assert post(lab, "presence", probed=False).json()["beat_s"] == 5
    for number in range(59):
        make_load_generator(name=f"rack-{number}")
    LoadGenerator.objects.update(last_seen_at=Now())
    assert post(lab, "presence", probed=False).json()["beat_s"] == 15
    lab_1 = LoadGenerator.objects.filter(name="lab-1")
    for silence_s, is_unusable in ((38, False), (42, True)):
        lab_1.update(last_seen_at=Now() - timedelta(seconds=silence_s))
        assert generators.unusable().filter(name="lab-1").exists() is is_unusable
    assert not lab_1.filter(extra_silence=timedelta()).exists()


def test_order_of_a_check_is_given_once_and_to_its_generator(client_run, lab):
    lab_1, order = client_run.load_generator, {"properties": {"redis.password": "secret"}}
    check = check_orders.send(lab_1, order, 30)
    answer = {"outcome": "failed", "detail": "refused"}

    other = post(generator("lab-2"), f"checks/{check}/claim", claim=str(uuid.uuid4())).json()
    lies = post(generator("lab-2"), f"checks/{check}/complete", claim=str(uuid.uuid4()), **answer)
    first, second = (post(lab, f"checks/{check}/claim", claim=str(uuid.uuid4())).json() for _ in range(2))
    before = check_orders.read_result(check)
    post(lab, f"checks/{check}/complete", claim=str(uuid.uuid4()), **answer)

    assert (other, first, second) == ({"order": None}, {"order": order}, {"order": None})
    assert lies.status_code == 200 and before is None
    assert check_orders.read_result(check) == ["failed", "refused"]

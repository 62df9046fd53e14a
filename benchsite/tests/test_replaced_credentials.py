"""A load generator whose credential was revoked is unhealthy, and a later enrolment takes effect by itself."""

import os
import subprocess
import sys
import time

import pytest
from django.conf import settings as site

from benchsite.core.generator_access import own_redis_url, replaced_credential, write_access
from runs.models import LoadGenerator
from workers.generator import enrolment
from workers.generator.site_client import SiteClient, SiteRefused

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


def until(condition, patience_s, event):
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, f"waited {patience_s} s for {event}"
        time.sleep(0.1)


@pytest.fixture
def enrol(live_server, tmp_path):
    """Writes a credential of lab-1, the earlier one ends."""

    def enrol(name="lab-1"):
        credential = enrolment.make(name)
        access = {"site_url": live_server.url, "credential": credential, "redis_url": site.GENERATOR_REDIS_URL}
        write_access(tmp_path / "generator.json", access)
        return credential

    yield enrol
    enrolment.revoke("lab-1", None)


@pytest.fixture
def generator(enrol, tmp_path):
    """The process of a load generator, and what it wrote; stopped at the end."""
    enrol()
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")} | {
        "BENCHSITE_VAR": str(tmp_path),
        "BENCHSITE_GENERATOR_SLOTS": "1",
    }
    log = tmp_path / "log.txt"
    argv = [sys.executable, "manage.py", "component", "generator"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv, cwd=site.BASE_DIR, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        until(lambda: "lab-1 is ready on" in log.read_text(), 60, f"the load generator: {log.read_text()}")
        yield process, log
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.mark.long
def test_replaced_credential_takes_effect_by_itself(generator, enrol, tmp_path):
    process, log = generator
    alive, probes = tmp_path / "alive", tmp_path / "probes" / "lab-1"
    until(alive.exists, 30, "a sign of life")

    enrolment.revoke("lab-1", None)
    until(lambda: "no sign of life" in log.read_text(), 30, "the refusal")
    touched = alive.stat().st_mtime
    until(lambda: log.read_text().count("no sign of life") >= 3, 30, "further refusals")
    assert alive.stat().st_mtime == touched

    enrol()
    enrolled_at = time.time()
    until(lambda: log.read_text().count("lab-1 is ready on") == 2, 60, "the load generator to start again")
    until(lambda: alive.stat().st_mtime > enrolled_at, 30, "a sign of life")
    until(lambda: any(path.stat().st_mtime > enrolled_at for path in probes.iterdir()), 40, "a message by Redis")
    assert process.poll() is None
    assert LoadGenerator.objects.get().last_seen_at.timestamp() > enrolled_at


def test_requests_go_on_with_the_new_credential(enrol, live_server, tmp_path):
    """In a process that runs a client: it is not started again."""
    first = enrol()
    client = SiteClient(live_server.url, first, tmp_path / "generator.json")
    assert "beat_s" in client.note_presence(probed=False)

    enrol()
    assert "beat_s" in client.note_presence(probed=False)

    enrolment.revoke("lab-1", None)
    with pytest.raises(SiteRefused, match="revoked"):
        client.note_presence(probed=False)
    client.close()


def test_credential_of_another_name_is_none(enrol, tmp_path):
    first = enrol()
    assert replaced_credential(tmp_path / "generator.json", first) == ""
    enrol("lab-2")
    assert replaced_credential(tmp_path / "generator.json", first) == ""
    assert replaced_credential(tmp_path / "none.json", first) == ""
    assert own_redis_url("redis://h/0", first).startswith("redis://generator-lab-1-")
    enrolment.revoke("lab-2", None)

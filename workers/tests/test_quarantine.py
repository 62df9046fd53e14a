"""A load generator that does not start a client gets no run until it answers a probe or an operator releases it."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from django.urls import reverse

from benchsite.accounts.models import User
from runs.catalog import generators
from runs.models import LoadGenerator, Run
from runs.tests.factories import make_client_run, make_load_generator, make_machine, make_run, make_sweep
from runs.tests.pages import get_text
from workers.generator import fitness, presence, registration
from workers.tests.test_dispatching import matrix, tick

__all__ = ["matrix"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def operator(client_in, user):
    User.objects.filter(pk=user.pk).update(is_staff=True)
    return client_in


def quarantine(generator, **fields):
    run = make_run(make_sweep(), threads=2, status="running")
    generators.quarantine(make_client_run(run, generator=generator, **fields))
    generator.refresh_from_db()


def test_quarantined_generator_gets_no_run(matrix):
    generator = LoadGenerator.objects.first()
    quarantine(generator)
    assert tick() == []
    waiting = list(Run.objects.filter(matrix=matrix).values_list("pk", flat=True))
    assert generators.waited_for_in_vain(waiting) == {pk: [generator.name] for pk in waiting}

    assert generators.release(generator.name)
    assert len(tick()) == 1
    assert not generators.release(generator.name)


def test_quarantine_keeps_its_beginning():
    generator = make_load_generator()
    quarantine(generator)
    began = generator.quarantined_at
    quarantine(generator, state="starting")
    assert generator.quarantined_at == began
    assert "gave no sign of life" in generator.quarantine_reason


def test_operator_reads_the_reason_and_releases(operator):
    quarantine(make_load_generator(name="lab-1"))
    page = get_text(operator.get("/load-generators/"))
    assert "was not started within 15 s" in page
    assert "Release" in page
    answer = operator.post(reverse("load-generator-release"), {"name": "lab-1"}, follow=True)
    assert "lab-1 is released from quarantine" in get_text(answer)
    assert LoadGenerator.objects.get().quarantined_at is None


@pytest.mark.parametrize("address", ["load-generator-release", "load-generator-allow-move"])
def test_members_cannot_release(client_in, address):
    generator = make_load_generator(name="lab-1")
    quarantine(generator)
    assert client_in.post(reverse(address), {"name": "lab-1"}).status_code == 403
    generator.refresh_from_db()
    assert generator.quarantined_at is not None
    assert not generator.may_move


def register():
    registration.register_generator("lab-1", **presence.description(2))


def test_second_host_is_refused(operator, monkeypatch):
    """The same host may restart; another one gets the name once an operator allows it."""
    monkeypatch.setenv("BENCHSITE_MACHINE", "first")
    register()
    register()
    monkeypatch.setenv("BENCHSITE_MACHINE", "second")
    with pytest.raises(registration.NameTaken, match="belongs to the machine first, and this is second"):
        register()
    assert LoadGenerator.objects.get().machine.name == "first"

    operator.post(reverse("load-generator-allow-move"), {"name": "lab-1"})
    register()
    assert LoadGenerator.objects.get().machine.name == "second"
    monkeypatch.setenv("BENCHSITE_MACHINE", "first")
    with pytest.raises(registration.NameTaken):
        register()


def test_machine_without_host_is_taken_over():
    make_load_generator(name="lab-1", machine=make_machine(host_key=None))
    register()


def test_generator_without_java_is_quarantined_until_it_has_one(settings, tmp_path, monkeypatch):
    """A client that cannot be started quarantines its generator; the generator itself tells when one can be."""
    generator = make_load_generator(name="lab-1")
    quarantine(generator, state="failed", reason="client_not_started", reason_detail="There is no java on the PATH.")
    assert "could not be started: There is no java" in generator.quarantine_reason
    settings.WORK_DIR = tmp_path / "work"
    bindings = ["redis", "postgresql"]
    assert fitness.start_problem(bindings) == ""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "no bin/java in it" in fitness.start_problem(bindings)
    monkeypatch.delenv("JAVA_HOME")
    assert "There is no binding" in fitness.start_problem(["redis", "gone"])
    settings.WORK_DIR = tmp_path / "file"
    settings.WORK_DIR.touch()
    assert "exists" in fitness.start_problem(bindings)


def test_java_that_does_not_start_is_named(settings, tmp_path, monkeypatch):
    """By a JVM whose address space is too small, as where memory is short."""
    settings.WORK_DIR = tmp_path / "work"
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f'#!/bin/sh\nulimit -v 600000\nexec {shutil.which("java")} "$@"\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert re.search("java does not start: .*Could not reserve enough space", fitness.start_problem(["redis"]))
    assert fitness.start_problem(["go-ycsb/redis"]) == ""


def test_host_without_memory_runs_no_client(settings, tmp_path, monkeypatch):
    settings.WORK_DIR = tmp_path / "work"
    monkeypatch.setattr(fitness, "MIN_MEMORY_BYTES", 1 << 60)
    assert "of memory are available" in fitness.start_problem(["redis"])


PORTS_OF_ONE_NAMESPACE = """
import socket
from pathlib import Path
import django
django.setup()
from workers.generator.fitness import start_problem
Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40001")
taken = [socket.socket() for _ in range(2)]
for each in taken:
    each.bind(("", 0))
print(start_problem(["go-ycsb/redis"]))
"""


@pytest.mark.needs("root")
def test_host_without_a_free_port_runs_no_client(tmp_path, settings):
    environment = {**os.environ, "BENCHSITE_WORK": str(tmp_path)}
    command = ["unshare", "--net", sys.executable, "-c", PORTS_OF_ONE_NAMESPACE]
    process = subprocess.run(
        command, env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    assert "Address already in use" in process.stdout

"""docs/deployment.md without containers: a site on one host, a load generator on another, in network namespaces.

Commands, configuration and units are read from the document and from deploy/systemd; only addresses and folders are
others. The proxy in front of the site and systemd itself are left out.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.faults.network import LAB, SITE, in_namespace, namespaces
from benchsite.tests.settings_under import KEY
from benchsite.tests.test_half_open_connections import as_root, connect_patiently, postgresql
from benchsite.tests.test_nginx_example import DOCUMENT
from benchsite.tests.test_systemd_units import COMMON, INSTALLED, ROOT, UNITS, read_unit
from workers.executables import choose_redis
from workers.systems.build import build

pytestmark = [pytest.mark.long, as_root]
ADDRESS, TARGET, URL = "10.77.0.1", "10.77.1.2", "http://10.77.0.1:8000"
RUN = """
import time
from benchsite.demo.study import StudyEntry, plan_study
from benchsite.teams import membership, tokens
from benchsite.teams.models import User
from runs.models import Cluster, Database, LoadGenerator, Machine, Matrix, Node, Run
from runs.models.run import Status
from runs.planning import submit
user = User.objects.get(is_superuser=True)
team = membership.make_team("Lab", user)
cluster = Cluster.objects.create(team=team, name="Lab", provisioner="external")
machine = Machine.objects.create(host_key="lab server", name="lab server")
Node.objects.create(cluster=cluster, machine=machine, address="TARGET:6379")
Database.objects.create(team=team, name="Redis", cluster=cluster, system="redis")
until = time.monotonic() + 60
while not (generators := list(LoadGenerator.objects.filter(name="lab-1", last_seen_at__isnull=False))):
    assert time.monotonic() < until, "lab-1 does not register"
    time.sleep(0.2)
matrix = plan_study(team, user, generators, entries=[StudyEntry("redis", "Redis", ["everysec"])])
Matrix.objects.filter(pk=matrix.pk).update(rungs=[2], warmup_s=1, min_measure_s=2, max_measure_s=2)
matrix.refresh_from_db()
submit(matrix, user)
runs, until = Run.objects.filter(matrix=matrix), time.monotonic() + 180
while runs.exclude(status__in=Status.terminal()).exists():
    assert time.monotonic() < until, list(runs.values_list("status", "stage", "reason_detail"))
    time.sleep(0.5)
failed = runs.exclude(status=Status.SUCCEEDED).values_list("phase", "reason", "reason_detail")
assert not failed, list(failed)
print(tokens.make(team, user, name="lab", scopes=["runs:read"]), runs.get(phase="measure").pk)
"""


@contextmanager
def process(argv, log, **options):
    with log.open("wb") as output, subprocess.Popen(argv, stdout=output, stderr=output, **options) as started:
        try:
            yield
        finally:
            started.terminate()
            try:
                started.wait(timeout=45)
            except subprocess.TimeoutExpired:
                started.kill()


@contextmanager
def hosts():
    """The namespaces; no process outlives them."""
    with namespaces():
        try:
            yield
        finally:
            for name in (SITE, LAB):
                pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout
                for pid in pids.split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)


class Host:
    """What the document puts on a host, with the folders of its files below `folder`."""

    def __init__(self, namespace: str, folder: Path, settings: dict[str, str]) -> None:
        self.namespace, self.folder, self.settings = namespace, folder, settings

    def moved(self, text: str) -> str:
        return text.replace(INSTALLED + "/.venv/bin/python", sys.executable).replace(INSTALLED, str(ROOT)).replace(
            "/var/lib/benchsite", str(self.folder)
        )  # fmt: skip

    def environment(self, *units: Path, **more: str) -> dict[str, str]:
        texts = [read_unit(path)["Service"]["Environment"].replace("%i", "lab-1") for path in (COMMON, *units)]
        variables = dict(word.split("=", 1) for text in texts for word in self.moved(text).split())
        return {"PATH": os.environ["PATH"], **variables, **self.settings, **more}

    def commands(self, unit: Path) -> list[list[str]]:
        service = unit.read_text()
        return [
            [*in_namespace(self.namespace), *shlex.split(self.moved(line))]
            for line in re.findall(r"^ExecStart=(.*)", service, re.M)
        ]

    def run(self, *argv: str, unit: Path, **more: str) -> str:
        words = [*in_namespace(self.namespace), *argv]
        done = subprocess.run(
            words, cwd=ROOT, env=self.environment(unit, **more), capture_output=True, text=True, timeout=400
        )
        assert done.returncode == 0, f"{argv}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout.strip()

    def start(self, name: str):
        unit = UNITS / f"benchsite-{name}.service"
        (argv,) = self.commands(unit)
        return process(argv, self.folder / f"{name}.log", cwd=ROOT, env=self.environment(unit))


def documented(pattern: str) -> str:
    match = re.search(pattern, DOCUMENT.read_text(), re.M)
    assert match, f"Deployment has no lines like {pattern}"
    return textwrap.dedent(match[0])


@pytest.mark.timeout(900)
def test_generator_of_another_host_measures(work_folder):
    build(ROOT / "var" / "ycsb")
    folders = {name: work_folder / name for name in ("postgresql", "redis", "target", "site", "lab")}
    for folder in folders.values():
        folder.mkdir()
    tls = {name: str(folders["redis"] / name.rpartition("/")[2]) for name in ("redis/redis.pem", "redis/redis.key")}
    places = {f"/etc/{name}": path for name, path in tls.items()} | {"/etc/benchsite/ca.pem": tls["redis/redis.pem"]}
    request = f"openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=redis -addext subjectAltName=IP:{ADDRESS}"
    key = ["-keyout", tls["redis/redis.key"], "-out", tls["redis/redis.pem"]]
    subprocess.run([*request.split(), *key], check=True, capture_output=True)
    redis_lines = documented(r"^    bind 10\.8\.0\.1\n(?:    .+\n)+") + "requirepass PASSWORD\n"
    redis_url = documented(r"^    REDIS_URL=rediss://:.+").partition("=")[2]
    for old, new in {**places, "10.8.0.1": ADDRESS, "redis.bench.example.org": ADDRESS}.items():
        redis_lines, redis_url = redis_lines.replace(old, new), redis_url.replace(old, new)
    (folders["redis"] / "redis.conf").write_text(redis_lines)
    example = (UNITS / "benchsite.env.example").read_text()
    settings = dict(line.split("=", 1) for line in re.findall(r"^\w+=.*", example, re.M))
    settings |= {
        "BENCHSITE_URL": URL, "BENCHSITE_PROXY": "False", "BENCHSITE_BIND": ADDRESS, "REDIS_URL": redis_url,
        "BENCHSITE_SECRET_KEY": KEY + KEY[::-1], "BENCHSITE_EXTERNAL_NETWORKS": f"{TARGET}/32",
    }  # fmt: skip
    site = Host(SITE, folders["site"], settings)
    lab = Host(LAB, folders["lab"], {"BENCHSITE_MACHINE": "lab"})
    prepare, generator = UNITS / "benchsite-prepare.service", UNITS / "benchsite-generator@.service"
    redis = str(choose_redis(None, shelf=work_folder).path)
    with ExitStack() as stack:
        stack.enter_context(hosts())
        stack.enter_context(postgresql(folders["postgresql"], "127.0.0.1", 5432, in_namespace(SITE)))
        argv = [*in_namespace(SITE), redis, str(folders["redis"] / "redis.conf")]
        stack.enter_context(process(argv, work_folder / "redis.log", cwd=folders["redis"]))
        argv = [*in_namespace(LAB), redis, *f"--bind {TARGET} --protected-mode no --appendonly yes --save".split(), ""]
        stack.enter_context(process(argv, work_folder / "target.log", cwd=folders["target"]))
        with connect_patiently(host=str(folders["postgresql"]), user="benchsite", dbname="postgres") as connection:
            connection.execute("CREATE DATABASE benchsite")
        for command in site.commands(prepare):
            site.run(*command[len(in_namespace(SITE)) :], unit=prepare)
        for name in ("web", "scheduler", "conductor"):
            stack.enter_context(site.start(name))
        answers = {}
        operator = {
            "DJANGO_SUPERUSER_USERNAME": "op",
            "DJANGO_SUPERUSER_EMAIL": "op@bench.example",
            "DJANGO_SUPERUSER_PASSWORD": KEY,
        }
        for words in re.findall(r"^    manage (\w.*)$", DOCUMENT.read_text(), re.M):
            more = ["--noinput"] if words == "createsuperuser" else []
            answers[words] = site.run(sys.executable, "manage.py", *words.split(), *more, unit=prepare, **operator)
        enrol = documented(r"manage\.py enrol https://bench\.example\.org bse_\.\.\.$")
        code = answers["enrolment_code lab-1"]
        enrol = enrol.replace("https://bench.example.org", URL).replace("bse_...", code)
        lab.run(sys.executable, *enrol.split(), unit=generator)
        stack.enter_context(lab.start("generator@"))
        token, run = site.run(
            sys.executable, "manage.py", "shell", "-v0", "-c", RUN.replace("TARGET", TARGET), unit=prepare
        ).split()
        page = ["curl", "--fail", "--silent", "--header", f"Authorization: Bearer {token}", f"{URL}/api/v1/runs/{run}"]
        answer = lab.run(*page, unit=generator)
        assert json.loads(answer)["status"] == "succeeded", answer

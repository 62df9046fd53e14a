"""docs/deployment.md without containers: a site on one host, a load generator on another, in network namespaces.

Commands, configuration and units are read from the document and from deploy/systemd; only addresses and folders are
others. The site is behind nginx with TLS. Its conductor runs on the other host and reaches PostgreSQL, of Debian's
package, with password and TLS. systemd itself is left out.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.faults.network import CONTROL, LAB, SITE, in_namespace, namespaces
from benchsite.tests.settings_under import KEY
from benchsite.tests.test_nginx_example import DOCUMENT, NGINX, write_configuration
from benchsite.tests.test_systemd_units import COMMON, INSTALLED, ROOT, UNITS, read_unit
from workers.generator.executables import choose_redis
from workers.systems.build import build

POSTGRESQL = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
pytestmark = [
    pytest.mark.long,
    pytest.mark.needs("network", "nginx", "debian-postgresql", "openssl", "curl"),
]
ADDRESS, TARGET, URL = "10.77.0.1", "10.77.1.2", "https://10.77.0.1"
OTHER_CA = "/etc/ssl/certs/ssl-cert-snakeoil.pem"  # of Debian's package ssl-cert
RUN = """
import time
from benchsite.local.demo.study import StudyEntry, plan_study
from benchsite.accounts import membership, tokens
from benchsite.accounts.models import User
from runs.models import Artifact, Cluster, Database, LoadGenerator, Machine, Matrix, Node, Run
from runs.models.run import Status
from runs.plans import submit
from runs.results.artifacts import open_artifact
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
samples = Artifact.objects.filter(run__in=runs.filter(phase="measure"), kind="host")
assert any(b"node1_cores" in open_artifact(row) for row in samples), "the server on the generator's host is no server"
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
    """What the pattern, or its group, finds in the document."""
    match = re.search(pattern, DOCUMENT.read_text(), re.M)
    assert match, f"Deployment has no lines like {pattern}"
    return textwrap.dedent(match[match.lastindex or 0])


@contextmanager
def debian_postgresql(folder: Path, placed):
    """A cluster of Debian's package in the site's namespace, with the account, password and TLS of the document."""
    version = POSTGRESQL[-1].parts[-3]
    cluster = folder / version / "main"
    shutil.chown(folder, "postgres")
    make = ["pg_createcluster", version, "main", "--port=5432", "--start-conf=manual", "--locale=C.UTF-8"]
    make += [f"--datadir={folder}/data", f"--socketdir={folder}", f"--logfile={folder}/log"]
    subprocess.run(make, check=True, capture_output=True)
    tls = documented(r"^    listen_addresses = .+\n(?:    .+\n)+").replace("10.8.0.1", ADDRESS)
    (cluster / "conf.d" / "benchsite.conf").write_text(placed(tls))
    access = documented("`(hostssl .+?)`").replace("10.8.0.0/24", str(CONTROL))
    with (cluster / "pg_hba.conf").open("a") as file:
        file.write(f"{access}\n")
    control = [*in_namespace(SITE), "pg_ctlcluster", version, "main"]
    subprocess.run([*control, "start"], check=True, timeout=60)
    try:
        administer = documented('su - postgres -c "(.+)"')
        made = subprocess.run(
            ["su", "postgres", "-s", "/bin/sh", "-c", f"export PGHOST={folder}; {administer}"],
            input="PASSWORD\n" * 2, text=True, capture_output=True, start_new_session=True, cwd=folder,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        yield
    finally:
        subprocess.run([*control, "stop", "--force"], check=False, timeout=60)


def refusal(**options: str) -> str:
    """What PostgreSQL says to a client on the other host."""
    words = [f"{name}={value}" for name, value in {"host": ADDRESS, "user": "benchsite", **options}.items()]
    psql = [*in_namespace(LAB), "env", "PGPASSWORD=PASSWORD", "psql", " ".join(words), "--command=SELECT 1"]
    answer = subprocess.run(psql, capture_output=True, text=True, timeout=60)
    assert answer.returncode != 0
    return answer.stderr


@pytest.mark.timeout(900)
def test_generator_of_another_host_measures(work_folder, monkeypatch):
    build(ROOT / "var" / "ycsb")
    folders = {name: work_folder / name for name in ("postgresql", "redis", "target", "site", "lab", "nginx")}
    for folder in folders.values():
        folder.mkdir()
    monkeypatch.setenv("PG_CLUSTER_CONF_ROOT", str(folders["postgresql"]))  # Debian's tools read it.
    keys = ("/etc/redis/redis.key", "/etc/postgresql/server.key", "/etc/ssl/bench.key")
    certificates = ("/etc/redis/redis.pem", "/etc/postgresql/server.pem", "/etc/ssl/bench.pem", "/etc/benchsite/ca.pem")
    certificate = str(work_folder / "site.pem")
    request = f"openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=site -addext subjectAltName=IP:{ADDRESS}"
    key = ["-keyout", str(work_folder / "site.key"), "-out", certificate]
    subprocess.run([*request.split(), *key], check=True, capture_output=True)
    places = dict.fromkeys(certificates, certificate)
    for name in keys:
        places[name] = str(work_folder / name.rpartition("/")[2])
        shutil.copy(work_folder / "site.key", places[name])
        Path(places[name]).chmod(0o600)
    shutil.chown(places["/etc/postgresql/server.key"], "postgres")

    def placed(text: str) -> str:
        """The text with the files and addresses of this test."""
        hosts_of_document = dict.fromkeys(
            ("redis.bench.example.org", "db.bench.example.org", "bench.example.org"), ADDRESS
        )
        for old, new in {**places, "10.8.0.1": ADDRESS, **hosts_of_document}.items():
            text = text.replace(old, new)
        return text

    redis_lines = documented(r"^    bind 10\.8\.0\.1\n(?:    .+\n)+") + "requirepass PASSWORD\n"
    (folders["redis"] / "redis.conf").write_text(placed(redis_lines))
    servers = documented(r"^    server \{\n        listen 443 ssl;\n(?:    .*\n|\n)+?(?=\S)")
    nginx = write_configuration(folders["nginx"], placed(servers))
    example = (UNITS / "benchsite.env.example").read_text()
    settings = dict(line.split("=", 1) for line in re.findall(r"^\w+=.*", example, re.M))
    settings |= {
        "BENCHSITE_URL": URL, "BENCHSITE_SECRET_KEY": KEY + KEY[::-1], "BENCHSITE_EXTERNAL_NETWORKS": f"{TARGET}/32",
        "REDIS_URL": placed(documented(r"^    REDIS_URL=rediss://:.+").partition("=")[2]),
    }  # fmt: skip
    site = Host(SITE, folders["site"], settings)
    remote = placed(documented(r"^    DATABASE_URL=postgresql://.+").partition("=")[2])
    # Its files are in the site's folder, as if that were shared.
    conductor = Host(LAB, folders["site"], {**settings, "DATABASE_URL": remote, "BENCHSITE_MACHINE": "lab"})
    # Instead of update-ca-certificates.
    lab = Host(LAB, folders["lab"], {"BENCHSITE_MACHINE": "lab", "SSL_CERT_FILE": certificate})
    prepare, generator = UNITS / "benchsite-prepare.service", UNITS / "benchsite-generator@.service"
    redis = str(choose_redis(None, shelf=work_folder).path)
    with ExitStack() as stack:
        stack.enter_context(hosts())
        stack.enter_context(debian_postgresql(folders["postgresql"], placed))
        assert "no encryption" in refusal(sslmode="disable")
        assert "certificate verify failed" in refusal(sslmode="verify-full", sslrootcert=OTHER_CA)
        argv = [*in_namespace(SITE), redis, str(folders["redis"] / "redis.conf")]
        stack.enter_context(process(argv, work_folder / "redis.log", cwd=folders["redis"]))
        argv = [*in_namespace(SITE), NGINX, "-p", str(folders["nginx"]), "-c", str(nginx)]
        stack.enter_context(process(argv, work_folder / "nginx.log"))
        argv = [*in_namespace(LAB), redis, *f"--bind {TARGET} --protected-mode no --appendonly yes --save".split(), ""]
        stack.enter_context(process(argv, work_folder / "target.log", cwd=folders["target"]))
        for command in site.commands(prepare):
            site.run(*command[len(in_namespace(SITE)) :], unit=prepare)
        for host, name in ((site, "web"), (site, "scheduler"), (conductor, "conductor")):
            stack.enter_context(host.start(name))
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
        curl = ["curl", "--silent", "--cacert", certificate]
        answer = lab.run(
            *curl, "--header", f"Authorization: Bearer {token}", f"{URL}/api/v1/runs/{run}", unit=generator
        )
        assert json.loads(answer)["status"] == "succeeded", answer
        status = [*curl, "--output", "/dev/null", "--write-out", "%{http_code} %{redirect_url}"]
        assert lab.run(*status, f"{URL}/metrics", unit=generator) == "404"
        assert lab.run(*status, f"http://{ADDRESS}/healthz", unit=generator) == f"301 {URL}/healthz"

"""docs/deployment.md with compose: its commands, read from the document.

The site is built and run on the engine that DOCKER_HOST names, which needs the base images (deploy/debian_images) and
must have no project benchsite; dockerd in a network namespace of its own leaves this machine's packet filter alone.
"""

import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchsite.core.prerequisites import find_program
from benchsite.tests.needs import need
from benchsite.tests.test_systemd_units import ROOT
from benchsite.tests.test_two_hosts import documented
from runs.tests.importing import summary

PARTS = ("generator-1", "conductor-1", "redis-1", "web-1", "scheduler-1", "postgres-1")
OPERATOR = {"username": "op", "password": "a-pass-word-of-the-test"}
URL, CA = "http://localhost:8000", "/etc/benchsite/ca.pem"
MAKE_TOKEN = (
    "from benchsite.accounts import tokens; from benchsite.accounts.models import Team, User; "
    "print(tokens.make(Team.objects.get(), User.objects.get(), name='lab', scopes=['runs:write', 'reports:write']))"
)
COUNT_OF_OTHER_HOST = (
    "from runs.models import ClientRun; "
    "print(ClientRun.objects.filter(load_generator__name='lab-7', run__status={!r}).count())"
)
BUILD_BY_ENGINE = "migrate: {build: {network: host}}\n"  # which reaches the registries
TITLE = "Two curves of Redis"
COUNT_RUNS = "from runs.models import Run; print(Run.objects.filter(status={!r}).count())"
COUNT_UNFINISHED = (
    "from runs.models import Run; print(Run.objects.filter(status__in=['queued', 'dispatched', 'running']).count())"
)
LAST_MEASURED = (
    "from runs.models import Run; "
    "print(Run.objects.filter(phase='measure', status='succeeded').latest('created_at').pk)"
)
COUNT_IN_PROGRESS = (
    "from runs.models import Run; "
    "print(Run.objects.filter(started_at__lte='{0}').exclude(finished_at__lte='{0}').count())"
)
REPEATS = 3  # one ends before the part is killed, one is broken, one succeeds
MIGRATION = """from django.db import migrations
class Migration(migrations.Migration):
    dependencies = [("runs", "{last}")]
    operations = [migrations.RunSQL("CREATE TABLE upgraded ()")]
"""


def write_settings(checkout: Path, **values: str) -> None:
    """The document's .env; secrets are made."""
    text = (checkout / ".env.example").read_text()
    secrets = ("BENCHSITE_SECRET_KEY", "BENCHSITE_SIGNING_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD")
    made = {name: os.urandom(32).hex() for name in secrets}
    for name, value in {**made, "BENCHSITE_MACHINE": "lab", **values}.items():
        text = re.sub(rf"^{name}=.*", f"{name}={value}", text, flags=re.MULTILINE)
    (checkout / ".env").write_text(text)


@pytest.fixture(scope="module")
def docker_config(tmp_path_factory):
    """The environment of `docker compose`, whose plugin comes from a newer Debian where it is missing."""
    if find_program("docker") is None:
        need("docker")
    present = subprocess.run(["docker", "compose", "version"], capture_output=True, text=True, check=False)
    if " v2" in present.stdout or "version 2" in present.stdout:
        return dict(os.environ)
    folder = tmp_path_factory.mktemp("docker")
    fetched = subprocess.run([ROOT / "deploy" / "debian_compose", folder], capture_output=True, text=True, check=False)
    if fetched.returncode:
        pytest.skip(f"needs the plugin compose 2 of Docker: {fetched.stderr.strip()[-300:]}")
    return {**os.environ, "DOCKER_CONFIG": str(folder)}


class Checkout:
    """A clone of the project with the site's settings; commands run there as the document has them."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        folder.mkdir()
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
        )
        for name in listed.stdout.splitlines():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)

    def run(self, command: str, *, fails: bool = False) -> str:
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == fails, f"{command}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
        return f"{done.stdout}{done.stderr}"

    def shell(self, code: str) -> str:
        lines = self.run(f'docker compose exec --no-TTY web python manage.py shell -v0 -c "{code}"').splitlines()
        return lines[-1]

    def wait_until(self, condition, timeout_s: float, name: str) -> None:
        end = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end, f"{name}: {self.run('docker compose ps --all')}"
            time.sleep(2)

    def address(self, service: str) -> str:
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return self.run(f"docker inspect --format '{form}' benchsite-{service}-1").strip()

    def containers(self) -> dict[str, str]:
        lines = self.run("docker ps --no-trunc --format '{{.Names}} {{.ID}}'").splitlines()
        return dict(line.split() for line in lines)


class Browser:
    def __init__(self, url: str) -> None:
        self.url = url
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies)

    def get(self, path: str, fields: dict[str, str] | None = None) -> tuple[str, str]:
        """The address after redirects, and the page."""
        data = urllib.parse.urlencode(fields).encode() if fields else None
        try:
            answer = self.opener.open(urllib.request.Request(urllib.parse.urljoin(self.url, path), data), timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        return answer.url, answer.read().decode()

    def post(self, path: str, page: str = "", **fields: str) -> tuple[str, str]:
        """`page` has the form; without it, the address itself."""
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(page or path)[1])
        assert token, path
        return self.get(path, {"csrfmiddlewaretoken": token[1], **fields})


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_compose_reads_the_file(docker_config, tmp_path):
    site = Checkout(tmp_path / "site", docker_config)
    command = "docker compose --profile target --profile docker config --quiet"
    write_settings(site.folder)
    site.run(command)
    for name in ("BENCHSITE_RELEASE", "POSTGRES_PASSWORD"):
        write_settings(site.folder, **{name: ""})
        assert f"required variable {name} is missing" in site.run(command, fails=True)


@pytest.fixture
def site(docker_config, tmp_path):
    if "DOCKER_HOST" not in os.environ:
        pytest.skip("needs an engine of its own with the images of deploy/debian_images: DOCKER_HOST")
    site = Checkout(tmp_path / "site", docker_config)
    write_settings(site.folder, TARGET_PASSWORD="0a1b2c")
    (site.folder / "docker-compose.override.yml").write_text(f"services:\n  {BUILD_BY_ENGINE}")
    yield site
    site.run("docker rm --force generator && docker volume rm --force generator")
    site.run("docker compose --profile target down --volumes --timeout 20")


def measure_target(browser: Browser, address: str = "target:6379") -> None:
    """`target` by the forms of Benchmark my server, up to the submitted matrix."""
    _, page = browser.post(
        "/own-server/", system="redis", address=address, password="0a1b2c", name="", machine="", properties=""
    )
    check = re.search(r"/own-server/checks/[0-9a-f-]+/", page)
    assert check, page
    address, end = check[0], time.monotonic() + 120
    while "checks" in address:
        assert time.monotonic() < end, page
        time.sleep(1)
        address, page = browser.get(address)
    while not (mode := re.search(r'name="mode" value="([^"]+)"', page)):
        assert time.monotonic() < end, page
        time.sleep(1)
        _, page = browser.get(address)
    address, page = browser.post(address, mode=mode[1], workload="A", records="1000")
    assert "/matrices/" in address, page


def kill(site: Checkout, browser: Browser, name: str) -> None:
    """A part of the site, in a run. Returns once another run succeeded: what is broken twice is not repeated again."""

    def count(status: str) -> int:
        return int(site.shell(COUNT_RUNS.format(status)))

    if int(site.shell(COUNT_UNFINISHED)) < 2:
        run = f"/runs/{site.shell(LAST_MEASURED)}/"
        for _ in range(REPEATS):
            browser.post(f"{run}again/", run)
    site.wait_until(lambda: count("running") > 0, 120, "a run")
    succeeded, killed_at = count("succeeded"), datetime.now(UTC).isoformat()
    site.run(f"kill -9 $(docker inspect --format '{{{{.State.Pid}}}}' benchsite-{name})")
    time.sleep(10)
    site.wait_until(lambda: "starting" not in site.run("docker compose ps"), 180, f"health without {name}")
    assert site.shell(COUNT_IN_PROGRESS.format(killed_at)) != "0", f"{name} was not killed in a run"
    site.wait_until(lambda: count("succeeded") > succeeded, 300, f"a run without {name}")


def enrol_other_host(site: Checkout) -> None:
    """A load generator without compose, as one of another host: it reaches the site and, by TLS, Redis."""
    tls = site.folder / "tls"
    tls.mkdir()
    request = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=redis -addext subjectAltName=IP:127.0.0.1"
    site.run(f"{request} -keyout tls/redis.key -out tls/redis.pem && cp tls/redis.pem tls/ca.pem")
    site.run("chown 999 tls/redis.key && chmod 755 tls")
    redis = documented(r"^    services:\n      redis:\n(?:    .+\n)+").replace("10.8.0.1", "127.0.0.1")
    (site.folder / "docker-compose.override.yml").write_text(f"{redis}  {BUILD_BY_ENGINE}")
    settings = documented(r"^    BENCHSITE_GENERATOR_REDIS_URL=.+\n").replace("redis.bench.example.org", "127.0.0.1")
    with (site.folder / "site.env").open("a") as file:
        file.write(settings)
    site.run("docker compose --profile target up --detach --wait")

    make_code = documented(r"^    docker compose exec web (?:.+?)(?= {2,}#)")
    code = site.run(make_code.replace("exec", "exec --no-TTY")).split()[-1]
    commands = documented(r"^    docker run --rm --volume generator:(?:.+\n)+").replace(
        "docker run", f"docker run --volume {tls}/ca.pem:{CA}:ro --env SSL_CERT_FILE={CA}"
    )
    site.run(commands.replace("https://bench.example.org", URL).replace("bse_...", code))
    health = "docker inspect --format '{{.State.Health.Status}}' generator"
    site.wait_until(lambda: "healthy" in site.run(health).split(), 120, "the load generator of the other host")


def publish(site: Checkout) -> str:
    """The address of a published report of an uploaded output: on a busy machine no run counts."""
    headers = f"--header 'Authorization: Bearer {site.shell(MAKE_TOKEN)}' --header 'Idempotency-Key: lab'"
    curl = f"curl --silent --show-error --fail-with-body {headers} {URL}/api/v1"
    (site.folder / "client-1.txt").write_bytes(summary())
    manifest = json.dumps({"mode": "always", "purpose": "smoke"})
    form = f"--form 'manifest={manifest};type=application/json' --form files=@client-1.txt"
    sweep = json.loads(site.run(f"{curl}/runs {form}"))["sweep"]
    report = json.dumps({"title": TITLE, "query": f"sweep={sweep}"})
    answer = site.run(f"{curl}/reports --header 'Content-Type: application/json' --data '{report}'")
    return str(json.loads(answer)["permalink"])


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_site_of_compose_comes_up_and_goes_down(site):
    site.run(documented(r"^    docker compose up --build --detach$"))
    site.wait_until(lambda: "starting" not in site.run("docker compose ps"), 180, "health")
    assert "unhealthy" not in site.run("docker compose ps")
    with urllib.request.urlopen(f"{URL}/readyz", timeout=60) as answer:
        assert answer.status == 200
    assert set(site.containers()) >= {f"benchsite-{part}" for part in PARTS}

    site.run("docker compose down --volumes --timeout 20")

    assert site.containers() == {}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_site_of_compose_outlives_faults_restore_and_upgrade(site, tmp_path):
    create = documented(r"^    docker compose run --rm web python manage\.py createsuperuser$").strip()
    site.run(documented(r"^    docker compose up --build --detach$"))
    operator = "".join(f" --env DJANGO_SUPERUSER_{name.upper()}={value}" for name, value in OPERATOR.items())
    options = f"--rm --env DJANGO_SUPERUSER_EMAIL=op@lab.example{operator}"
    site.run(f"{create.replace('--rm', options)} --noinput")
    site.wait_until(lambda: "starting" not in site.run("docker compose ps"), 180, "health")
    assert "unhealthy" not in site.run("docker compose ps")
    before = site.containers()
    site.run(documented(r"`(docker compose --profile target up --detach)`"))
    assert before.items() <= site.containers().items(), "no container was made anew"

    connect = f"import socket; socket.create_connection(('{site.address('postgres')}', 5432), 5)"
    site.run(f'docker compose exec --no-TTY conductor python -c "{connect}"')
    assert "Error" in site.run(f'docker compose exec --no-TTY generator python -c "{connect}"', fails=True)

    browser = Browser(URL)
    browser.post("/sign-in/", **OPERATOR)
    browser.post("/team/new/", name="Lab")
    measure_target(browser)
    for name in PARTS:
        kill(site, browser, name)
    site.wait_until(lambda: site.shell(COUNT_UNFINISHED) == "0", 600, "the runs end")
    assert int(site.shell(COUNT_RUNS.format("succeeded"))) >= 3

    enrol_other_host(site)
    site.run("docker compose exec --no-TTY target redis-cli -a 0a1b2c FLUSHALL")  # of another cluster's data set
    measure_target(browser, f"{site.address('target')}:6379")
    site.wait_until(lambda: site.shell(COUNT_UNFINISHED) == "0", 600, "the runs of both hosts end")
    assert site.shell(COUNT_OF_OTHER_HOST.format("succeeded")) != "0"
    assert site.shell(COUNT_OF_OTHER_HOST.format("failed")) == "0"
    site.run("docker rm --force generator")
    report = publish(site)
    assert TITLE in Browser(URL).get(report)[1]
    runs = site.shell(COUNT_RUNS.format("succeeded"))

    backup = tmp_path / "backup"
    site.run(documented(r"^    deploy/backup /backup$").replace(" /backup", f" {backup}"))
    restore = documented(r"^    deploy/restore /backup$").replace(" /backup", f" {backup}")
    assert "being accessed by other users" in site.run(restore, fails=True)
    site.run("docker compose --profile target down --volumes --timeout 20")
    assert "Every table is as it was" in site.run(restore)
    assert site.shell(COUNT_RUNS.format("succeeded")) == runs
    assert TITLE in Browser(URL).get(report)[1]

    last = max(path.stem for path in (site.folder / "runs" / "migrations").glob("0*.py"))
    (site.folder / "runs" / "migrations" / "9999_upgraded.py").write_text(MIGRATION.format(last=last))
    settings = site.folder / ".env"
    settings.write_text(settings.read_text().replace("BENCHSITE_RELEASE=0.1.0", "BENCHSITE_RELEASE=0.2.0"))
    for command in documented(r"^    git pull .+\n((?:    docker compose .+\n)+)").splitlines():
        site.run(command)
    images = site.run("docker ps --format '{{.Names}} {{.Image}}'")
    assert "benchsite:0.1.0" not in images and "benchsite-web-1 benchsite:0.2.0" in images
    site.wait_until(lambda: "starting" not in site.run("docker compose ps"), 180, "health after the upgrade")
    assert site.shell(COUNT_RUNS.format("succeeded")) == runs
    tables = "docker compose exec --no-TTY postgres psql --username=benchsite --command='\\dt upgraded'"
    assert "upgraded" in site.run(tables)

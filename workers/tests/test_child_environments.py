"""No client, server under test or helper process inherits a secret of the process that starts it."""

import ast
import contextlib
import socket
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from django.conf import settings as site_settings

from benchsite.core.child_environment import ALLOWED_VARIABLES
from benchsite.tests.needs import need
from runs.catalog import GO_FLAVOUR, client_properties, load_catalog, secret_properties
from workers.generator.client import Client
from workers.processes.process import start_guarded
from workers.systems.build import GO_YCSB, GO_YCSB_VERSION, ROOT
from workers.systems.manifests import find_binding

pytestmark = pytest.mark.slow
SECRETS = ("BENCHSITE_GENERATOR_TOKEN", "DATABASE_URL", "REDIS_URL", "BENCHSITE_SECRET_KEY", "AWS_SECRET_ACCESS_KEY")
MARKER = "bsg_lab-1_0123456789abcdef"
EXPANDED = "${BENCHSITE_GENERATOR_TOKEN}"
GO_BINARY = ROOT / "var" / f"{GO_YCSB}-{GO_YCSB_VERSION}"
CATALOG = load_catalog()
STARTED_SYSTEMS = [slug for slug, system in CATALOG.systems.items() if system.process is not None]
OWN_CLIENTS = [slug for slug, system in CATALOG.systems.items() if system.own_client]


def mark_long(slug: str, short: tuple[str, ...]):
    """The parameter, for `make test-long` where the system is not among the short ones."""
    return slug if slug in short else pytest.param(slug, marks=pytest.mark.long)


@pytest.fixture(autouse=True)
def planted_secrets(monkeypatch):
    for name in SECRETS:
        monkeypatch.setenv(name, MARKER)


class Observer:
    """The environments of all processes below this one, by process, from its start to its end."""

    def __init__(self):
        self.environments = {}
        self.ended = threading.Event()
        self.earlier = {child.pid for child in psutil.Process().children(recursive=True)}
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            for child in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error, OSError):
                    if child.pid not in self.earlier:
                        self.environments[child.pid, child.name()] = child.environ()
            time.sleep(0.01)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def check(self):
        """At least the guardian and the program; none with a planted secret, nor with a variable nobody allowed."""
        assert len(self.environments) >= 2
        leaks = {process for process, environment in self.environments.items() if MARKER in str(environment)}
        assert leaks == set()


class RecordingServer:
    """Accepts connections, keeps what clients send, and closes each connection when it has heard something."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.received = b""
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with contextlib.suppress(OSError):  # It was closed.
            while True:
                connection, _ = self.listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(1)
                    self.received += connection.recv(65536)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def carry_out(tmp_path, settings, monkeypatch, binding, java_class, properties):
    """What a load generator does with a client's order; its output."""
    settings.GUARDED_DIR = tmp_path / "registry"
    monkeypatch.setattr(Client, "_report", lambda client, **fields: None)
    manifest = find_binding(settings.YCSB_DIR, settings.YCSB_HOMES, binding)
    order = {
        "binding": binding,
        "digest": manifest.digest,
        "java_class": java_class,
        "phase": "measure",
        "threads": 1,
        "target_ops_s": None,
        "duration_s": 2,
        "deadline_s": 6,
        "properties": properties,
    }
    folder = SimpleNamespace(
        path=tmp_path, properties=tmp_path / "client.properties", client_run_id="test", claim="test"
    )
    reporter = SimpleNamespace(run_ended=False, starts_at=time.time(), ends_at=None, lines=[], await_start=lambda: None)
    site = SimpleNamespace(clock_offset_s=lambda *_: 0.0)
    Client(site, {"order": order, "label": "test"}, folder, reporter).carry_out()
    return "".join((tmp_path / name).read_text(errors="replace") for name in ("stdout.txt", "stderr.txt"))


WORKLOAD = {"recordcount": "10", "operationcount": "10", "threadcount": "1", "dotransactions": "true"}


@pytest.mark.parametrize("slug", [mark_long(slug, ("redis", "postgresql")) for slug in OWN_CLIENTS])
def test_java_client_has_no_secret(tmp_path, settings, monkeypatch, slug):
    """Java replaces no variables: a value that looks like one is sent as it is."""
    system = CATALOG.system(slug)
    if not (settings.YCSB_DIR / system.binding.name).exists():
        pytest.skip(f"needs `make bindings {system.binding.name}`")
    secret = dict.fromkeys(secret_properties(system), EXPANDED)
    secret = {name: text for name, text in secret.items() if system.binding.properties[name].type == "str"}

    with RecordingServer() as server, Observer() as observer:
        properties = client_properties(
            system, next(iter(system.modes.values())), secret, host="127.0.0.1", port=server.port, folder=str(tmp_path)
        )
        workload = {**WORKLOAD, "workload": "site.ycsb.workloads.CoreWorkload"}
        output = carry_out(
            tmp_path, settings, monkeypatch, system.binding.name, system.binding.java_class, {**workload, **properties}
        )

    observer.check()
    assert output and MARKER not in output
    assert MARKER.encode() not in server.received
    if slug == "redis":
        assert EXPANDED.encode() in server.received


@pytest.mark.skipif(not GO_BINARY.exists(), reason="needs `make bindings go-ycsb`")
@pytest.mark.parametrize("slug", [slug for slug, system in CATALOG.systems.items() if system.go is not None])
def test_go_ycsb_has_no_secret(tmp_path, settings, monkeypatch, slug):
    """Its order is one that no plan allows, as an earlier release stored it."""
    settings.YCSB_HOMES = [GO_BINARY]
    binding = CATALOG.system(slug, GO_FLAVOUR).binding
    endpoint = binding.endpoint

    with RecordingServer() as server, Observer() as observer:
        address = (
            {endpoint.url: f"127.0.0.1:{server.port}"}
            if endpoint.url
            else {endpoint.host: "127.0.0.1", endpoint.port: str(server.port), endpoint.user: EXPANDED}
        )
        properties = {**WORKLOAD, **address, **binding.fixed, endpoint.password: EXPANDED, "workload": "core"}
        output = carry_out(tmp_path, settings, monkeypatch, f"{GO_BINARY.name}/{binding.name}", "", properties)

    observer.check()
    assert server.received or slug == "mariadb"  # whose server speaks first
    assert MARKER not in output
    assert MARKER.encode() not in server.received


@pytest.mark.parametrize("slug", [mark_long(slug, ("redis", "postgresql", "mariadb")) for slug in STARTED_SYSTEMS])
def test_server_and_its_administration_have_no_secret(servers, slug):
    system = CATALOG.system(slug)
    if slug in ("memcached", "mariadb"):
        need(slug)
    if system.process.program == "java" and not (site_settings.SERVERS_DIR / slug).exists():
        pytest.skip(f"needs `make servers {slug}`")
    if slug == "ferretdb" and not (site_settings.SERVERS_DIR / slug).exists():
        pytest.skip("needs `make servers ferretdb`")

    with Observer() as observer:
        server = servers(slug, next(iter(system.modes)), fresh=True).start()
        server.administration.server_version()

    observer.check()
    names = " ".join(name for _, name in observer.environments)
    assert "java" in names or not system.admin_class


def test_variables_that_nobody_allowed_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", MARKER)
    output = tmp_path / "output"
    program = [sys.executable, "-c", "import os; print(' '.join(os.environ))"]

    with start_guarded(program, registry=tmp_path, label="test", stdout=output) as guarded:
        guarded.wait_for_exit(20)

    own = {"BENCHSITE_TOKEN", "LC_CTYPE"}  # Python itself sets the second.
    assert set(output.read_text().split()) - own <= set(ALLOWED_VARIABLES)


# Commands of an operator's own, with settings of pip, Maven and Go; and the supervisor, which is the site.
WHOLE_ENVIRONMENT = {
    "benchsite/core/progress.py",
    "workers/systems/build.py",
    "benchsite/management/commands/up.py",
}
STARTING = {"Popen", "run", "call", "check_call", "check_output"}


def find_starts(path):
    """Line numbers of calls of subprocess that state no environment."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="subprocess"), attr=name)) if name in STARTING:
                if not any(keyword.arg == "env" for keyword in node.keywords):
                    yield node.lineno


def test_every_program_is_started_with_a_stated_environment():
    parts = [path for part in ("workers", "benchsite", "runs", "reports") for path in (ROOT / part).rglob("*.py")]
    names = {path: path.relative_to(ROOT).as_posix() for path in parts if "tests" not in path.parts}
    checked = {path: name for path, name in names.items() if name not in WHOLE_ENVIRONMENT}
    assert [f"{name}:{line}" for path, name in checked.items() for line in find_starts(Path(path))] == []

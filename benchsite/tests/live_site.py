"""The working part of a site, for tests: scheduler, conductor and two load generators as real processes."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker

from benchsite.accounts.models import Role
from benchsite.core.logs import log_tail
from benchsite.local import components
from benchsite.local.components import Component
from benchsite.local.demo.study import plan_study
from benchsite.local.preparation import generator_environment
from benchsite.tests.databases import database_url
from benchsite.tests.ports import free_port
from runs.models import ClientRun, Deployment, LoadGenerator, Matrix, MatrixEntry, Run
from runs.models.run import Stage, Status, Verdict
from runs.plans import submit
from runs.results.artifacts import mark_storage
from runs.tests.factories import make_team, make_user
from runs.ycsb.properties import WARM_UP
from workers.models import Lease
from workers.systems.build import build

GENERATORS = ("generator-1", "generator-2")
# Load generators reach neither PostgreSQL nor the artifact store.
NO_DATABASE = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "BENCHSITE_ARTIFACTS": "/proc/none"}
# These checks reject a run for what other programs do on its machine, such as the tests beside it.
BUSY_MACHINE_CHECKS = ("V03", "V06", "V14", "V15", "V25")


class LiveSite:
    """A context: started against the test database; stopped, with everything it started, at the end of the test."""

    def __init__(self, folder: Path) -> None:
        self.registry = folder / "supervised"
        self.parts: dict[str, Component] = {}
        mark_storage()
        (settings.VAR_DIR / "log").mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.environments: dict[str, dict[str, str]] = {}  # of load generators: where their site is, and credentials
        self.variables: dict[str, dict[str, str]] = {}  # of load generators: what a test adds
        self.parts = {
            part.name: part for part in (components.web(self.port), components.scheduler(), components.conductor())
        }

    def __enter__(self) -> "LiveSite":
        try:
            self.start("web", "scheduler", "conductor", *GENERATORS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *names: str) -> None:
        """Start these parts and wait until they are ready."""
        for name in names:
            if name in GENERATORS:
                environment = generator_environment(name, f"http://127.0.0.1:{self.port}")
                self.environments[name] = environment
                self.parts[name] = components.load_generator(
                    name, {**environment, **NO_DATABASE, **self.variables.get(name, {})}
                )
            part = self.parts[name]
            part.env = {"DATABASE_URL": database_url(), "PGAPPNAME": name, **part.env}
            part.start(self.registry)
        for part in [self.parts[name] for name in names]:
            try:
                self.until(partial(self._ready, part), 120, f"{part.name} to be ready")
            except AssertionError as error:
                raise AssertionError(f"{error}. The end of its log:\n{log_tail(part.log)}") from error

    def _ready(self, part: Component) -> bool:
        assert not part.died, part.obituary()
        return part.ready(part)

    def pid(self, name: str) -> int:
        guarded = self.parts[name].guarded
        assert guarded is not None
        return guarded.pid

    def stop(self) -> None:
        components.stop_all(self.parts.values())

    def submit(
        self,
        *entries: tuple[str, str],
        rungs: list[int],
        measure_s: int = 2,
        before: Callable[[Matrix], object] = lambda matrix: None,
        **fields: object,
    ) -> Matrix:
        """A small matrix of the quick study's kind: entries are (system, mode); `before` has the last word."""
        team = make_team()
        user = make_user(team=team, role=Role.ADMIN)
        generators = list(LoadGenerator.objects.filter(name__in=GENERATORS).select_related("machine").order_by("name"))
        matrix = plan_study(team, user, generators)
        workload = matrix.workloads.get()
        workload.properties.pop(WARM_UP)
        workload.save()
        for entry in matrix.entries.select_related("database"):
            if (entry.database.system, entry.mode) not in entries:
                MatrixEntry.objects.filter(pk=entry.pk).delete()
        settled = {"rungs": rungs, "warmup_s": 1, "min_measure_s": measure_s, "max_measure_s": measure_s, **fields}
        Matrix.objects.filter(pk=matrix.pk).update(**settled)
        before(matrix)
        matrix.refresh_from_db()
        submit(matrix, user)
        return matrix

    def until(self, condition: Callable[[], bool], patience_s: float, what: str) -> None:
        end = time.monotonic() + patience_s
        while not condition():
            assert time.monotonic() < end, f"waited {patience_s:.0f} s for {what}"
            time.sleep(0.1)

    def until_ended(self, matrix: Matrix, patience_s: float = 150) -> list[Run]:
        """All runs of the matrix, once none is left to run and no machine is held."""
        unfinished = Run.objects.filter(matrix=matrix).exclude(status__in=Status.terminal())
        self.until(lambda: not unfinished.exists(), patience_s, "the matrix to end")
        self.until(lambda: not Lease.objects.exists(), 10, "the leases to be free")
        return list(Run.objects.filter(matrix=matrix).order_by("position", "id"))

    def until_stage(self, run: Run, stage: str) -> None:
        self.until(lambda: Run.objects.filter(pk=run.pk, stage=stage).exists(), 60, f"{run} to be {stage}")

    def until_measured(self, run: Run, operation: str = "READ") -> None:
        """Until a client has written what it measured in its first second."""
        self.until_stage(run, Stage.MEASURING)
        logs = [settings.WORK_DIR / str(client.pk) / "hdr" / f"{operation}.hdr" for client in run.client_runs.all()]

        def is_measured() -> bool:
            return any(log.exists() and "HISTFA" in log.read_text() for log in logs)

        self.until(is_measured, 20, "the first second to be measured")


def rejections(run: Run) -> list[tuple[str, str]]:
    """The checks that reject the run, with their messages, but for those that a busy machine fails."""
    findings = run.measurement_sets.get().findings.filter(severity=Verdict.REJECT)
    return list(findings.exclude(check_id__in=BUSY_MACHINE_CHECKS).values_list("check_id", "message"))


def find_processes(*texts: str) -> list[psutil.Process]:
    """Processes with one of `texts` in their command line."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(text in part for part in process.info["cmdline"] or () for text in texts)
    ]


def servers_and_clients() -> list[psutil.Process]:
    """Those of all matrices."""
    return find_processes(str(settings.TARGETS_DIR), str(settings.WORK_DIR))


def get_servers(matrix: Matrix) -> list[psutil.Process]:
    """The processes of its servers under test."""
    deployments = Deployment.objects.filter(matrix=matrix).values_list("pk", flat=True)
    return find_processes(*(str(settings.TARGETS_DIR / str(deployment)) for deployment in deployments))


def get_clients(matrix: Matrix) -> list[psutil.Process]:
    """The processes of its YCSB clients."""
    clients = ClientRun.objects.filter(run__matrix=matrix).values_list("pk", flat=True)
    return find_processes(*(str(settings.WORK_DIR / str(client)) for client in clients))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LiveSite]:
    """A live site on current bindings, stopped after the test: the test may kill parts of it."""
    build(settings.YCSB_DIR)
    with LiveSite(tmp_path) as live:
        yield live


@pytest.fixture(scope="module")
def shared_site(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveSite]:
    """A live site on current bindings for all tests of a file, which leave its parts running.

    The rows of each test stay until the last one has ended.
    """
    build(settings.YCSB_DIR, everything=True)
    empty_database = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: None)
        try:
            with LiveSite(tmp_path_factory.mktemp("site")) as live:
                yield live
        finally:
            empty_database(TransactionTestCase("__init__"))
            connection.close()

"""The site that the faults are caused on: `make up` in a folder of its own, beside a PostgreSQL and a Redis of its own.

PostgreSQL and Redis are not embedded in the site, as in an installation for a team: they can be stopped and started
while the site runs.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeVar

import psutil
from django.conf import settings
from django.db import Error as DatabaseFailure, InterfaceError, connection

from benchsite.accounts.membership import ensure_demo_team
from benchsite.core.logs import log_tail
from benchsite.core.paths import places
from benchsite.local.demo.study import StudyEntry, plan_study
from benchsite.local.embedded import EmbeddedServers
from benchsite.local.supervisor import GENERATORS, running_site, stop_running_site
from runs.models import Deployment, LoadGenerator, Matrix, Run
from runs.models.run import Status
from runs.plans import submit
from runs.queue.lifecycle import request_cancel_matrix
from workers.generator import class_archive
from workers.processes.guarded_process import Guarded, start_guarded
from workers.processes.guardian import start_time
from workers.processes.process_registry import Record, read_records

PARTS = ("web", "scheduler", "conductor", *GENERATORS)
ENTRIES = [StudyEntry("redis", "Redis", ["everysec"])]
TARGETS_OPS_S = [500, 1_000]  # light: faults are about the parts of the site, and tries run beside one another
MEASURE_S = 4
START_TIMEOUT_S = 150
END_TIMEOUT_S = 60
POLL_S = 0.2
Answer = TypeVar("Answer")


class SiteTimeout(Exception):
    """The site did not reach a state in time; the message names the state."""


class FaultSite:
    """One site, used by one try after the other. A context that starts its servers, and stops everything at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.var = Path(settings.VAR_DIR)
        self.reset()
        self.helpers: dict[str, Guarded] = {}  # processes beside the site: an artifact store, say
        self._helper_commands: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {}
        self.tries = 0  # since the site was started
        self.matrix: Matrix | None = None  # the one that was submitted last
        self.postgresql = EmbeddedServers(places(folder / "postgresql"), logs=folder / "log", redis=False)
        self.redis = EmbeddedServers(places(folder / "redis"), logs=folder / "log", postgresql=False)

    def __enter__(self) -> "FaultSite":
        try:
            self.postgresql.start()
            self.redis.start()
            return self
        except BaseException:
            self.stop_servers()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self.down()
        finally:
            self.stop_servers()

    def stop_servers(self) -> None:
        connection.close()
        self.stop_helpers()
        self.redis.stop()
        self.postgresql.stop()

    def reset(self) -> None:
        """The site as most faults want it."""
        self.environment: dict[str, str] = {}  # of the site's processes, beside this process's own
        self.prefix: tuple[str, ...] = ()  # words before the command that starts the site
        self.entries = ENTRIES  # of the matrices
        self.generators: Sequence[str] = GENERATORS  # of the matrices

    # --- the site as an operator sees it

    def up(self) -> None:
        """`make up`. Raises SiteTimeout with its output where the site does not start."""
        done = subprocess.run(
            [*self.prefix, sys.executable, str(settings.BASE_DIR / "manage.py"), "up"],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise SiteTimeout(done.stdout)
        self.tries = 0

    def down(self) -> list[str]:
        """What `make down` does; answers the processes that outlive it."""
        stop_running_site()
        return [f"after make down: {describe(process)}" for process in self.processes()]

    def renew(self) -> None:
        """The site started anew, with nothing in its queue."""
        self.down()
        self.up()
        _, user = ensure_demo_team()
        unfinished = Run.objects.exclude(status__in=Status.terminal())
        for matrix in Matrix.objects.filter(pk__in=unfinished.values("matrix_id")):
            request_cancel_matrix(matrix, user)
        self.until(lambda: not unfinished.exists(), END_TIMEOUT_S, "the runs of an earlier try to end")

    def runs(self) -> bool:
        """Whether the site's supervisor lives."""
        return running_site() is not None

    def log(self, part: str) -> str:
        return log_tail(self.var / "log" / f"{part}.log")

    # --- processes beside it

    def start_helper(self, name: str, *command: str, **variables: str) -> None:
        """A process under a guardian, with these variables in its environment."""
        self._helper_commands[name] = (command, variables)
        self.restart_helper(name)

    def restart_helper(self, name: str) -> None:
        command, variables = self._helper_commands[name]
        log = self.folder / "log" / f"{name}.log"
        self.helpers[name] = start_guarded(
            command,
            registry=self.folder / "helpers",
            label=name,
            env={**os.environ, **variables},
            cwd=settings.BASE_DIR,
            stdout=log,
            stderr=log,
        )

    def stop_helpers(self) -> None:
        for helper in self.helpers.values():
            helper.stop()
        self.helpers = {}

    # --- its processes

    def record(self, label: str) -> Record:
        """The guardian's record of a part, or of another long-lived process by the beginning of its label."""
        records = [*read_records(self.var / "supervised"), *read_records(settings.GUARDED_DIR)]
        return next(record for record in records if record.label.startswith(label) and record.guardian_lives)

    def pool(self, generator: str) -> list[psutil.Process]:
        """The processes of a load generator's pool."""
        return psutil.Process(self.record(generator).pid).children()

    def clients(self) -> list[psutil.Process]:
        """The JVMs that run YCSB."""
        return [process for process in processes_in(settings.WORK_DIR) if process.name() == "java"]

    def server_pid(self) -> int:
        """The server under test of the matrix that was submitted last."""
        return int(Deployment.objects.get(matrix=self.matrix).process["pid"])

    def missing_parts(self) -> list[str]:
        """Parts of the site that do not run now."""
        alive = {
            record.label
            for record in read_records(self.var / "supervised")
            if record.guardian_lives and start_time(record.pid) == record.started
        }
        return [part for part in PARTS if part not in alive]

    def orphans(self) -> list[str]:
        """Clients, servers under test, and processes of the site that no guardian's record accounts for."""
        records = [*read_records(self.var / "supervised"), *read_records(settings.GUARDED_DIR)]
        tokens = {record.token for record in records if record.guardian_lives}
        orphans = {process.pid: process for process in processes_in(settings.WORK_DIR, settings.TARGETS_DIR)}
        for process in self.processes():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get("BENCHSITE_TOKEN", "") not in {"", *tokens}:
                    orphans[process.pid] = process
        return [describe(process) for process in orphans.values()]

    def processes(self) -> list[psutil.Process]:
        """Every process whose environment names this site, but this one and what it has started beside the site."""
        beside = {os.getpid()}
        for guarded in (self.postgresql.postgresql, self.redis.redis, *self.helpers.values()):
            if guarded is not None:
                with contextlib.suppress(psutil.Error):
                    guardian = psutil.Process(guarded.guardian_pid)
                    beside |= {guardian.pid, *(child.pid for child in guardian.children(recursive=True))}
        processes = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.pid not in beside and process.environ().get("BENCHSITE_VAR") == str(self.var):
                    processes.append(process)
        return processes

    def left_folders(self) -> list[Path]:
        """Work folders of clients and data folders of servers under test."""
        folders = filter(Path.exists, (settings.WORK_DIR, settings.TARGETS_DIR))
        paths = chain.from_iterable(map(Path.iterdir, folders))
        return [path for path in paths if path.is_dir() and path.name != class_archive.FOLDER]

    def kill_everything(self) -> None:
        """SIGKILL to every process of the site, its PostgreSQL and its Redis, all at once."""
        processes = [
            *self.processes(),
            *processes_in(settings.WORK_DIR, settings.TARGETS_DIR, self.folder / "postgresql", self.folder / "redis"),
        ]
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.kill()

    def start_servers_again(self) -> None:
        """PostgreSQL and Redis, after they were killed."""
        for server in (self.postgresql, self.redis):
            server.stop()
            server.start()

    # --- its work

    def submit(self) -> Matrix:
        """One load and two short runs on two load generators, in the queue."""
        team, user = ensure_demo_team()
        generators = LoadGenerator.objects.filter(name__in=self.generators).select_related("machine").order_by("name")
        matrix = plan_study(
            team, user, list(generators), entries=self.entries, name="Fault injection", ladder=Matrix.Ladder.TARGET,
            rungs=TARGETS_OPS_S, threads=4, warmup_s=1, min_measure_s=MEASURE_S, max_measure_s=MEASURE_S,
        )  # fmt: skip
        submit(matrix, user)
        self.matrix = matrix
        return matrix

    def until(self, condition: Callable[[], bool], timeout_s: float, state: str) -> None:
        """Wait for a condition on rows. Raises SiteTimeout."""
        end = time.monotonic() + timeout_s
        while not self.read(condition, False):
            if time.monotonic() > end:
                raise SiteTimeout(f"Waited {timeout_s:.0f} s for {state}.")
            time.sleep(POLL_S)

    def read(self, query: Callable[[], Answer], otherwise: Answer) -> Answer:
        """The answer of a query on rows, or `otherwise` while PostgreSQL does not answer."""
        try:
            return query()
        except (DatabaseFailure, InterfaceError):
            connection.close()
            return otherwise


def processes_in(*folders: Path) -> list[psutil.Process]:
    """Processes that name one of the folders in their command line or work in it."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            words = [*process.cmdline(), process.cwd()]
            if any(str(folder) in word for folder in folders for word in words) and process.pid != os.getpid():
                processes.append(process)
    return processes


def describe(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return f"{process.pid} {' '.join(process.cmdline())[:120]}"
    return f"{process.pid} (ended)"

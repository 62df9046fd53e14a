"""Starts a whole one-machine site, notices when a part of it dies, and stops every process it started."""

import contextlib
import fcntl
import json
import multiprocessing
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import django
from django.conf import settings
from django.core.management.base import CommandError
from django.db import Error as DatabaseFailure, connections

from benchsite.core import formatting
from benchsite.core.generator_access import AccessRefused
from benchsite.core.logs import log_tail
from benchsite.core.paths import make_folders, make_log_folder
from benchsite.core.progress import Step
from benchsite.local import components
from benchsite.local.components import HOST, Component
from benchsite.local.embedded import EmbeddedError, EmbeddedServers
from workers.processes.guarded_process import StartError
from workers.processes.guardian import PR_SET_PDEATHSIG, prctl, start_time
from workers.processes.process_registry import end_earlier_lives

GENERATORS = ("generator-1", "generator-2")
READY_PATIENCE_S = 90.0
READY_CHECK_S = 0.1
WATCH_S = 0.5
DEATH_PATIENCE_S = 1.0  # how late a death may be known
MAX_DEATHS = 3  # of one part, in ten minutes
DOWN_PATIENCE_S = 60.0
# SIGALRM repeats each of the others, see `interrupt`.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
REPEAT_S = 1.0


class SiteError(Exception):
    """The site cannot be started, or a part of it has died; the message says which, why, and what to do."""


# Errors that a child passes on as they are; the supervisor can load their classes.
PASSED_ON = (SiteError, CommandError, AccessRefused, DatabaseFailure, KeyboardInterrupt)


@dataclass(frozen=True, slots=True)
class RunningSite:
    """What a supervisor writes about itself in `var/supervisor.json`."""

    pid: int
    started: str | None
    url: str

    @property
    def lives(self) -> bool:
        return self.started is not None and start_time(self.pid) == self.started


def state_file() -> Path:
    return Path(settings.VAR_DIR) / "supervisor.json"


def running_site() -> RunningSite | None:
    """The site of this `var/` that runs now, if one does."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        site = RunningSite(**json.loads(state_file().read_text()))
        if site.lives:
            return site
        return None
    return None


def stop_running_site() -> RunningSite | None:
    """Stops the site of this `var/` and returns when it is gone; None when none runs."""
    site = running_site()
    if site is None:
        return None

    with contextlib.suppress(ProcessLookupError):
        os.kill(site.pid, signal.SIGTERM)

    end = time.monotonic() + DOWN_PATIENCE_S
    while site.lives and time.monotonic() < end:
        time.sleep(READY_CHECK_S)

    if site.lives:
        os.kill(site.pid, signal.SIGKILL)  # Its guardians then end everything that it had started.
        end_earlier_lives(Path(settings.VAR_DIR) / "supervised")

    return site


class Site:
    """The site of this `var/` in the foreground: a context that starts everything and stops everything.

        with Site(port=8000) as site:
            site.stay()

    SIGTERM and SIGHUP end the context as Ctrl-C does, by KeyboardInterrupt. Raises SiteError.
    """

    def __init__(
        self,
        *,
        port: int,
        command: str = "make demo",
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.port = port
        self.url = f"http://{HOST}:{port}"
        self.generators = GENERATORS
        self.components: list[Component] = []
        self.command = command
        self.say = say or partial(print, flush=True)
        self._step = partial(Step, say=say)
        self.var = Path(settings.VAR_DIR)
        self.registry = self.var / "supervised"
        self.embedded: EmbeddedServers | None = None
        self._up = False
        self._lock: int | None = None
        self._handlers: dict[int, object] = {}

    def __enter__(self) -> "Site":
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        death = self._death_behind(error)
        self.stop()
        if death is not None:
            raise death from error

    # --- up

    def start(self) -> None:
        """Starts every part in order and returns when all are ready; whatever goes wrong, nothing is left running."""
        try:
            for stop_signal in STOP_SIGNALS:
                self._handlers[stop_signal] = signal.signal(stop_signal, interrupt)
            make_folders(self.var)
            self._take_lock()
            check_port(self.port, self.command)
            self._write_state()
            make_log_folder(self.var / "log")
            end_earlier_lives(self.registry)
            end_earlier_lives(settings.GUARDED_DIR)
            self._start_embedded()
            self._start_components(self._prepare())
        except (EmbeddedError, StartError, AccessRefused) as problem:
            self.stop()
            raise SiteError(str(problem)) from problem
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

    def _take_lock(self) -> None:
        """One supervisor per `var/`; the lock goes with the process."""
        lock = os.open(self.var / "supervisor.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            other = running_site()
            where = ""
            if other:
                where = f" at {other.url} (process {other.pid})"
            raise SiteError(f"The site in {self.var} already runs{where}. `make down` stops it.") from None
        self._lock = lock

    def _write_state(self) -> None:
        content = asdict(RunningSite(os.getpid(), start_time(os.getpid()), self.url))
        draft = state_file().with_suffix(".draft")
        draft.write_text(json.dumps(content))
        draft.replace(state_file())

    def _start_embedded(self) -> None:
        if not (settings.EMBEDDED_POSTGRESQL or settings.EMBEDDED_REDIS):
            return
        with self._step("PostgreSQL and Redis of the site") as step, step.keep_ticking():
            self.embedded = EmbeddedServers(
                settings.PLACES,
                logs=self.var / "log",
                postgresql=settings.EMBEDDED_POSTGRESQL,
                redis=settings.EMBEDDED_REDIS,
            )
            self.embedded.start()

    def _prepare(self) -> dict[str, dict[str, str]]:
        """The environments of the load generators by name."""
        with self._step("Database and static files") as step:
            environments: dict[str, dict[str, str]] = in_child("prepare", self.generators, self.url, tick=step.tick)
            return environments

    def _start_components(self, generators: dict[str, dict[str, str]]) -> None:
        self.components = [
            components.web(self.port),
            components.scheduler(),
            components.conductor(),
            *(components.load_generator(name, environment) for name, environment in generators.items()),
        ]
        with self._step("Web server, scheduler, conductor and two load generators") as step:
            for component in self.components:
                component.start(self.registry)
            for component in self.components:
                self._wait_until_ready(component, step)

        self._up = True

    def _wait_until_ready(self, component: Component, step: Step) -> None:
        end = time.monotonic() + READY_PATIENCE_S
        while not component.ready(component):
            self.check()
            step.tick(component.name)
            if time.monotonic() > end:
                raise SiteError(
                    f"{component.name} was not ready in {formatting.duration(READY_PATIENCE_S)}. "
                    f"The end of {component.log}:\n{log_tail(component.log)}"
                )
            time.sleep(READY_CHECK_S)

    # --- while it is up

    def check(self) -> None:
        """Starts a part again that has died, and says so with the last lines of its log.

        Raises SiteError when one of the site's own servers has died, when a part died before the site was up, or when
        a part keeps dying: then there is something that a person must look at.
        """
        self._check_embedded()
        for component in self.components:
            if component.died:
                # Whoever loses PostgreSQL or Redis dies of it, perhaps before that death itself is known.
                time.sleep(DEATH_PATIENCE_S if self.embedded is not None else 0)
                self._check_embedded()
                if not self._up or len(component.recent_deaths) >= MAX_DEATHS:
                    raise SiteError(component.obituary())
                self.say(f"{component.obituary()}\n{component.name} is started again.")
                component.start_again(self.registry)

    def _check_embedded(self) -> None:
        try:
            if self.embedded is not None:
                self.embedded.check()
        except EmbeddedError as problem:
            raise SiteError(str(problem)) from problem

    def _death_behind(self, error: BaseException | None) -> SiteError | None:
        """The death of PostgreSQL behind an error of the database; None where it lives."""
        if isinstance(error, DatabaseFailure):
            time.sleep(DEATH_PATIENCE_S)
            try:
                self._check_embedded()
            except SiteError as death:
                return death
        return None

    def stay(self) -> None:
        """Returns never: ends by KeyboardInterrupt (Ctrl-C, SIGTERM) or by SiteError when a part has died."""
        while True:
            self.check()
            time.sleep(WATCH_S)

    # --- down

    def stop(self) -> None:
        """Stops every process that was started, the private servers last. May be called twice."""
        self._up = False
        # A second Ctrl-C must not leave half of it running; every wait below is bounded.
        for stop_signal in STOP_SIGNALS if self._handlers else ():
            signal.signal(stop_signal, signal.SIG_IGN)

        signal.setitimer(signal.ITIMER_REAL, 0)
        components.stop_all(self.components)
        self.components = []
        connections.close_all()
        if self.embedded is not None:
            self.embedded.stop()
        self.embedded = None
        if self._lock is not None:
            state_file().unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

        self._handlers = {}


def in_child(task: str, *arguments: Any, tick: Callable[[str], None] = lambda detail: None) -> Any:
    """The result of a function of `benchsite.local.preparation`, called in a forked process, which takes what it
    imports and allocates with it. `tick` is called while it works, with what it is at as the task notes it.

    Raises what it raises of PASSED_ON, and SiteError for other errors and where it is killed.
    """
    connections.close_all()  # A connection is of one process.
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(task, arguments, sender, os.getpid()))
    child.start()
    sender.close()
    try:
        detail = ""
        while True:
            if receiver.poll(READY_CHECK_S):
                received = receiver.recv()
                if not isinstance(received, str):
                    break
                detail = received
            tick(detail)
        value, error = received
    except EOFError:
        raise SiteError("The process that prepares the site was killed.") from None
    finally:
        child.kill()
        child.join()
        receiver.close()

    if error is not None:
        raise error

    return value


def _answer(task: str, arguments: tuple[Any, ...], sender: Connection, parent: int) -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # Or it would keep the lock of a killed supervisor.
    if os.getppid() != parent:
        return

    try:
        django.setup()
        import_module("benchsite.accounts.tenancy").serve_all_teams()
        function = getattr(import_module("benchsite.local.preparation"), task)
        answer: tuple[Any, BaseException | None] = (function(sender.send, *arguments), None)
    except PASSED_ON as error:
        answer = (None, error)
    except BaseException as error:
        # Its class may be of a module with models, which the supervisor cannot import.
        traceback.print_exc()
        answer = (None, SiteError(f"{type(error).__name__}: {error}"))

    sender.send(answer)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt, again every second until the site stops: Python drops it in callbacks of a fork."""
    signal.setitimer(signal.ITIMER_REAL, REPEAT_S)
    raise KeyboardInterrupt


def check_port(port: int, command: str) -> None:
    """Raises SiteError when something listens on the port, naming one that is free and how to ask for it."""
    if _is_free(port):
        return
    other = next((number for number in range(port + 1, min(port + 100, 65536)) if _is_free(number)), port + 1)
    raise SiteError(
        f"Port {port} on {HOST} is taken by another program. Stop that, or choose another port: PORT={other} {command}"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True

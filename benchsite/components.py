"""The processes that a one-machine site consists of: how each is started, and how one knows that it is ready."""

import http.client
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.conf import settings

from benchsite.counting import FOLDER_VARIABLE
from benchsite.embedded import log_tail
from workers.guarded import Guarded, start_guarded
from workers.presence import GENERATOR_VARIABLE
from workers.signals import ROLE_VARIABLE

HOST = "127.0.0.1"
# One process computes on one core at a time, and judging an upload is computing: two of them keep two cores busy.
WEB_WORKERS = 2
WEB_THREADS = 8
CONDUCTOR_THREADS = 4
STOP_GRACE_S = 6.0
READY_BYTES = 64 * 1024
# The level because readiness is read from the logs: with warnings alone nobody would say that he is ready.
EVERYWHERE = {"DJANGO_SETTINGS_MODULE": "benchsite.settings", "PYTHONUNBUFFERED": "1", "BENCHSITE_LOG_LEVEL": "INFO"}


@dataclass
class Component:
    """One process of the site, under its guardian once it is started."""

    name: str
    argv: list[str]
    log: Path
    ready: Callable[["Component"], bool]
    env: Mapping[str, str] = field(default_factory=dict)
    stop_group: bool = False
    guarded: Guarded | None = None
    deaths: int = 0

    def start(self, registry: Path) -> None:
        """Starts it with a fresh log; the log of the life before is kept beside it. Raises StartError."""
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        self.guarded = start_guarded(
            self.argv,
            registry=registry,
            label=self.name,
            env={**os.environ, **EVERYWHERE, **self.env},
            cwd=settings.BASE_DIR,
            stdout=self.log,
            stderr=self.log,
            grace_s=STOP_GRACE_S,
            stop_signal=signal.SIGTERM,
            stop_group=self.stop_group,
        )

    def start_again(self, registry: Path) -> None:
        """Once more, after it has died by itself."""
        self.deaths += 1
        if self.guarded is not None:
            self.guarded.stop()
        self.start(registry)

    @property
    def died(self) -> bool:
        return self.guarded is not None and not self.guarded.alive()

    def obituary(self) -> str:
        """What one is told when it has ended by itself, with the end of its log."""
        code = self.guarded.exit_code if self.guarded else None
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return f"{self.name} {how}. The end of {self.log}:\n{log_tail(self.log)}"


def web(port: int, host: str = HOST) -> Component:
    """gunicorn, two processes of threads; only they have pools of database connections."""
    argv = [
        *(sys.executable, "-m", "gunicorn", "benchsite.wsgi:application"),
        *("--bind", f"{host}:{port}", "--workers", str(WEB_WORKERS)),
        *("--worker-class", "gthread", "--threads", str(WEB_THREADS)),
        *("--graceful-timeout", "3", "--no-control-socket", "--config", "python:benchsite.serving"),
    ]

    def answers(component: Component) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    # Each of its threads computes by itself: numpy's own threads would only wait for one another.
    environment = {
        "BENCHSITE_DATABASE_POOL": "True",
        "OPENBLAS_NUM_THREADS": "1",
        FOLDER_VARIABLE: str(Path(settings.VAR_DIR) / "counts" / str(port)),
    }
    return Component("web", argv, _log("web"), answers, environment)


def scheduler() -> Component:
    argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "scheduler"]
    return Component("scheduler", argv, _log("scheduler"), _says("Scheduling."))


def conductor() -> Component:
    """Threads, for a conductor only waits: for servers, for rows, for clients."""
    argv = _worker("conductor", "conductor", "threads", CONDUCTOR_THREADS)
    return Component("conductor", argv, _log("conductor"), _says(" ready."), {ROLE_VARIABLE: "conductor"})


def load_generator(name: str, since: datetime) -> Component:
    """One worker on its own queue; ready once its row says so after `since` (PostgreSQL's clock)."""

    def present(component: Component) -> bool:
        from runs.models import LoadGenerator

        return LoadGenerator.objects.filter(name=name, last_seen_at__gte=since).exists()

    argv = _worker(name, f"load.{name}", "prefork", 1)
    # The pool's process ends with its worker: nobody waits for a client run that is being given up.
    return Component(name, argv, _log(name), present, {GENERATOR_VARIABLE: name}, stop_group=True)


def _worker(name: str, queue: str, pool: str, concurrency: int) -> list[str]:
    return [
        *(sys.executable, "-m", "celery", "--app", "benchsite", "worker", "--queues", queue, "--pool", pool),
        *("--concurrency", str(concurrency), "--disable-prefetch", "--hostname", f"{name}@%h", "--loglevel", "INFO"),
        *("--without-gossip", "--without-mingle"),
    ]


def _log(name: str) -> Path:
    return Path(settings.VAR_DIR) / "log" / f"{name}.log"


def _says(word: str) -> Callable[[Component], bool]:
    """Whether the component's log has the word in its first part."""

    def said(component: Component) -> bool:
        try:
            with component.log.open("rb") as log:
                return word.encode() in log.read(READY_BYTES)
        except FileNotFoundError:
            return False

    return said

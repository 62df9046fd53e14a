"""The processes that a one-machine site consists of: how each is started, and how one knows that it is ready."""

import http.client
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from benchsite.core.env import METRICS_FOLDER_VARIABLE, env_int
from benchsite.core.generator_access import SECRET_VARIABLES
from benchsite.core.logs import log_tail
from workers.generator.host_identity import GENERATOR_VARIABLE, SLOTS_VARIABLE
from workers.processes.guarded_process import Guarded, start_guarded

HOST = "127.0.0.1"
# One process computes on one core at a time, and judging an upload is computing: two of them keep two cores busy.
WEB_WORKERS = 2
WEB_THREADS = 8
# Each is a process of the pool, forked when the worker starts; a YCSB client needs up to 0.7 GB while it runs.
DEFAULT_GENERATOR_SLOTS, MAX_GENERATOR_SLOTS = 2, 64
STOP_GRACE_S = 6.0
# A conductor first ends its runs: it stops their clients and servers, and queues the runs again.
CONDUCTOR_STOP_GRACE_S = 30.0
READY_BYTES = 64 * 1024
DEATH_WINDOW_S = 600.0
# The level because readiness is read from the logs: with warnings alone nobody would say that he is ready.
EVERYWHERE = {"DJANGO_SETTINGS_MODULE": "benchsite.settings", "PYTHONUNBUFFERED": "1", "BENCHSITE_LOG_LEVEL": "INFO"}

# Variables that no load generator gets, although the process that starts it has them: it reads its own from a file.
SITE_SECRETS = (
    "DATABASE_URL",
    *SECRET_VARIABLES,
    "BENCHSITE_SECRET_KEY",
    "BENCHSITE_SECRET_KEY_FALLBACKS",
    "BENCHSITE_SIGNING_KEY",
    "BENCHSITE_SIGNING_KEY_FALLBACKS",
    "BENCHSITE_OIDC_SECRET",
    "BENCHSITE_METRICS_TOKEN",
    "BENCHSITE_S3_ACCESS_KEY",
    "BENCHSITE_S3_SECRET_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "EMAIL_URL",
)


@dataclass
class Component:
    """One process of the site, under its guardian once it is started."""

    name: str
    argv: list[str]
    log: Path
    ready: Callable[["Component"], bool]
    env: Mapping[str, str] = field(default_factory=dict)
    withheld: Collection[str] = ()  # variables of this process that it does not get
    stop_group: bool = False
    stop_grace_s: float = STOP_GRACE_S
    guarded: Guarded | None = None
    deaths: list[float] = field(default_factory=list)  # when it ended by itself, by time.monotonic()

    def start(self, registry: Path) -> None:
        """Starts it with a fresh log; the log of the life before is kept beside it. Raises StartError."""
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        self.guarded = start_guarded(
            self.argv,
            registry=registry,
            label=self.name,
            env=self.environment,
            cwd=settings.BASE_DIR,
            stdout=self.log,
            stderr=self.log,
            grace_s=self.stop_grace_s,
            stop_signal=signal.SIGTERM,
            stop_group=self.stop_group,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables that it is started with."""
        own = {name: value for name, value in os.environ.items() if name not in self.withheld}
        return {**own, **EVERYWHERE, **self.env}

    def start_again(self, registry: Path) -> None:
        """Once more, after it has died by itself."""
        self.deaths = [*self.recent_deaths, time.monotonic()]
        if self.guarded is not None:
            self.guarded.stop()
        self.start(registry)

    @property
    def recent_deaths(self) -> list[float]:
        """Its deaths of the last ten minutes: older ones say nothing about what goes on now."""
        return [at for at in self.deaths if time.monotonic() - at < DEATH_WINDOW_S]

    @property
    def died(self) -> bool:
        return self.guarded is not None and not self.guarded.alive()

    def obituary(self) -> str:
        """The message about a component that ended by itself, with the end of its log."""
        code = None
        if self.guarded:
            code = self.guarded.exit_code
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return f"{self.name} {how}. The end of {self.log}:\n{log_tail(self.log)}"


def stop_all(components: Iterable[Component]) -> None:
    """Stop all of them: the conductors first, since they end their runs with the help of the others."""
    started = [component for component in components if component.guarded is not None]
    for is_conductor in (True, False):
        parts = [part.guarded for part in reversed(started) if part.name.startswith("conductor") == is_conductor]
        for guarded in filter(None, parts):
            guarded.request_stop()
        for guarded in filter(None, parts):
            guarded.stop()


def web(port: int, host: str = HOST) -> Component:
    """gunicorn, two processes of threads; only they have pools of database connections."""
    argv = [
        *(sys.executable, "-m", "gunicorn", "benchsite.wsgi:application"),
        *("--bind", f"{host}:{port}", "--workers", str(WEB_WORKERS)),
        *("--worker-class", "benchsite.core.buffering_worker.BufferingWorker", "--threads", str(WEB_THREADS)),
        *("--graceful-timeout", "3", "--no-control-socket", "--config", "python:benchsite.core.serving"),
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
        METRICS_FOLDER_VARIABLE: str(Path(settings.VAR_DIR) / "counts" / str(port)),
    }
    return Component("web", argv, _log("web"), answers, environment)


def scheduler() -> Component:
    argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "scheduler"]
    return Component("scheduler", argv, _log("scheduler"), _says("Scheduling."))


def conductor(name: str = "conductor") -> Component:
    argv = [sys.executable, str(settings.BASE_DIR / "manage.py"), "conductor"]
    return Component(name, argv, _log(name), _says("Conducting as"), stop_grace_s=CONDUCTOR_STOP_GRACE_S)


def load_generator(name: str, environment: Mapping[str, str]) -> Component:
    """One worker on its own queue; ready once it has registered with its site.

    It runs as many clients at once as BENCHSITE_GENERATOR_SLOTS says. Raises ImproperlyConfigured.
    """

    slots = env_int(SLOTS_VARIABLE, DEFAULT_GENERATOR_SLOTS, least=1, most=MAX_GENERATOR_SLOTS)
    argv = [
        *(sys.executable, "-m", "celery", "--app", "benchsite", "worker", "--queues", f"load.{name}"),
        *("--pool", "prefork", "--concurrency", str(slots), "--disable-prefetch", "--hostname", f"{name}@%h"),
        *("--loglevel", "INFO", "--without-gossip", "--without-mingle", "--without-heartbeat"),
    ]
    # The pool's process ends with its worker: nobody waits for a client run that is being given up.
    environment = {**environment, GENERATOR_VARIABLE: name}
    return Component(name, argv, _log(name), _says("is ready on"), environment, SITE_SECRETS, stop_group=True)


def _log(name: str) -> Path:
    return Path(settings.VAR_DIR) / "log" / f"{name}.log"


def _says(word: str) -> Callable[[Component], bool]:
    """Whether the component's log has the word in its first part."""

    def is_answering(component: Component) -> bool:
        try:
            with component.log.open("rb") as log:
                return word.encode() in log.read(READY_BYTES)
        except FileNotFoundError:
            return False

    return is_answering

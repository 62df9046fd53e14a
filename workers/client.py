"""One client run from end to end, on a load generator: claim, prepare, start together, follow, store."""

import logging
import platform
import shutil
import time
import uuid
from pathlib import Path
from typing import cast

import psutil
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models.functions import Now

from runs import artifacts, client_lifecycle, live
from runs.models import ClientRun
from runs.models.run import Reason
from runs.spec import ClientOrder
from runs.ycsb.command import java_command
from runs.ycsb.names import parse_name
from runs.ycsb.properties import render_properties
from runs.ycsb.redact import redact
from runs.ycsb.status import StatusLine, parse_status
from runs.ycsb.symptoms import describe, find_symptoms
from workers.clock import clock_offset_s
from workers.manifests import ManifestError, java_executable, verify
from workers.process import ProcessResult, Running, StartError, StopReason, run_process

log = logging.getLogger(__name__)
BEAT_S = 5.0
TICK_S = 0.1
MOST_SYMPTOMS = 3
JVM_OPTIONS = ("-Xms256m", "-Xmx512m")
# Words of `benchsite.Start` on standard error.
READY, STARTED = "BENCHSITE READY", "BENCHSITE STARTED"
KEPT_FILES = (
    ("summary", "summary.txt"),
    ("stdout", "stdout.txt"),
    ("stderr", "stderr.txt"),
    ("properties", "ycsb.properties"),
)


def run_client(client_run_id: uuid.UUID) -> None:
    """Carry out one client run; a second delivery of its message finds it claimed, and returns."""
    claim = client_lifecycle.claim(client_run_id)
    if claim is None:
        return
    client_run = ClientRun.objects.select_related("run").get(pk=client_run_id)
    client = Client(client_run, claim)
    try:
        client.carry_out()
    except BindingMismatch as error:
        client.fail(Reason.BINDING_MISMATCH, str(error))
    except (ManifestError, StartError, OSError) as error:
        client.fail(Reason.CLIENT_FAILED, str(error))
    except Exception as error:
        log.exception("Client run %s failed inside Benchsite.", client_run_id)
        client.fail(Reason.INTERNAL_ERROR, f"{type(error).__name__}: {error}. See the load generator's log.")
    finally:
        client.tidy()
        # Unfenced on purpose: the conductor waits for this whoever owns the run by now.
        ClientRun.objects.filter(pk=client_run_id).update(stopped_at=Now())


def keep_leftovers(generator: str) -> None:
    """What clients of an earlier life of this load generator had written: stored with their runs, then removed.

    The folders hold property files with passwords, so none is left lying about.
    """
    for client_run in ClientRun.objects.filter(load_generator__name=generator, stopped_at__isnull=True).exclude(
        claim__isnull=True
    ):
        left = Client(client_run, cast(uuid.UUID, client_run.claim))
        if left.folder.exists():
            left._store()
            left.tidy()
        ClientRun.objects.filter(pk=client_run.pk).update(stopped_at=Now())


class BindingMismatch(ManifestError):
    """This load generator's jars are not those that the run was submitted with."""


class Client:
    """The YCSB process of one client run."""

    def __init__(self, client_run: ClientRun, claim: uuid.UUID) -> None:
        self.row, self.claim = client_run, claim
        self.order = cast(ClientOrder, client_run.order)
        self.folder: Path = settings.WORK_DIR / str(client_run.pk)
        self.offset_s = 0.0
        self.ready = self.begun = False
        self.started_epoch_s: float | None = None
        self.fenced = False
        self.beat_at = 0.0
        self.running: Running | None = None
        self.cpu: list[tuple[float, float]] = []  # (seconds, CPU seconds so far)

    def carry_out(self) -> None:
        """Prepare, run, store; the process's exit code is kept but proves nothing."""
        command = self._prepare()
        self.offset_s = clock_offset_s()
        client_lifecycle.beat(self.row.pk, self.claim, command=[redact(part) for part in command])
        try:
            result = self._run(command)
        finally:
            # Whatever ended it, what the process wrote is kept.
            self._store()
        self._conclude(result)

    def _run(self, command: list[str]) -> ProcessResult:
        return run_process(
            command,
            registry=settings.GUARDED_DIR,
            label=f"ycsb {self.row}",
            cwd=self.folder,
            stdin=True,
            stdout_path=self.folder / "stdout.txt",
            stderr_path=self.folder / "stderr.txt",
            on_started=self._started,
            on_stderr_line=self._line,
            on_tick=self._tick,
            tick_s=TICK_S,
            should_stop=self._should_stop,
            deadline_s=self.order["deadline_s"],
        )

    def fail(self, reason: Reason, detail: str) -> None:
        """FAILED, unless the conductor has ended it already."""
        if not client_lifecycle.fail(self.row.pk, self.claim, reason, detail):
            log.info("Client run %s was ended by its conductor.", self.row.pk)

    def tidy(self) -> None:
        """What is worth keeping is stored; the folder holds the property file with its secrets."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self) -> list[str]:
        """The folder, the 0600 property file and the command line. Raises ManifestError."""
        manifest = verify(settings.YCSB_DIR / self.order["binding"])
        if manifest.digest != self.order["digest"]:
            held, wanted = manifest.digest[:12], self.order["digest"][:12]
            raise BindingMismatch(
                f"This load generator holds build {held} of the {self.order['binding']} binding, the run was submitted "
                f"with {wanted}: run `make bindings` on every load generator and restart them."
            )
        (self.folder / "hdr").mkdir(parents=True, mode=0o700)
        properties = self.folder / "ycsb.properties"
        properties.touch(mode=0o600)
        places = {"hdrhistogram.output.path": f"{self.folder}/hdr/", "exportfile": f"{self.folder}/summary.txt"}
        properties.write_text(render_properties({**self.order["properties"], **places}), encoding="latin-1")
        arguments = ["--ready", "-load" if self.order["phase"] == "load" else "-t", "-s", "-P", str(properties)]
        arguments += ["-threads", str(self.order["threads"]), "-db", self.order["java_class"]]
        if self.order["target_ops_s"]:
            arguments += ["-target", str(self.order["target_ops_s"])]
        return java_command(
            java_executable(),
            [str(jar) for jar in manifest.jars],
            jvm_options=JVM_OPTIONS,
            main_class="benchsite.Start",
            arguments=arguments,
        )

    def _started(self, running: Running) -> None:
        self.running = running

    def _line(self, line: str) -> None:
        """One line of standard error: the words of `benchsite.Start`, or YCSB's status once a second."""
        if line.startswith(READY):
            self.ready = client_lifecycle.advance(
                self.row.pk, self.claim, ClientRun.State.READY, clock_offset_s=self.offset_s,
                facts={"host": platform.node(), "java": line.removeprefix(READY).strip()},
            )  # fmt: skip
            self.fenced = not self.ready
        elif line.startswith(STARTED):
            self.started_epoch_s = int(line.removeprefix(STARTED).strip()) / 1000
            self._measure_cpu()
        else:
            status = parse_status(line)
            if status is not None:
                self._measure_cpu()
                self._publish(status, line)

    def _publish(self, status: StatusLine, line: str) -> None:
        """One status to the live stream; a Redis that is away costs only the live view."""
        now = time.time() + self.offset_s
        rate = status.rate_ops_s or 0.0
        operations = _by_operation(status)
        live.publish(
            self.row.run_id, self.row.number, status.elapsed_s, now, status.operations_done, rate, operations, line
        )

    def _tick(self) -> None:
        """Between lines: wait for the agreed instant, then beat."""
        if self.ready and not self.begun:
            go_on, instant = client_lifecycle.start_instant(self.row.pk, self.claim)
            self.fenced = self.fenced or not go_on
            if instant is not None and self.running is not None:
                at_ms = round((instant.timestamp() - self.offset_s) * 1000)
                self.running.write_line(f"START {at_ms}")
                self.begun = client_lifecycle.advance(self.row.pk, self.claim, ClientRun.State.RUNNING)
        now = time.monotonic()
        if now - self.beat_at >= BEAT_S:
            self.beat_at = now
            try:
                self.fenced = self.fenced or not client_lifecycle.beat(self.row.pk, self.claim)
            except DatabaseError as error:
                # The database may be back before this client counts as silent.
                log.warning("Client run %s: no heartbeat (%s).", self.row.pk, str(error).splitlines()[0])
                connection.close()

    def _should_stop(self) -> StopReason | bool:
        return self.fenced

    def _measure_cpu(self) -> None:
        """The process's CPU seconds so far, beside the moment; the difference over time is its load."""
        if self.running is not None:
            try:
                times = psutil.Process(self.running.pid).cpu_times()
            except psutil.Error:
                return
            self.cpu.append((time.monotonic(), times.user + times.system))

    def _cpu_percent(self) -> float | None:
        """Of one core, mean over all but the first seconds, in which the JVM compiles."""
        steady = self.cpu[min(2, len(self.cpu) // 4) :]
        if len(steady) < 2 or steady[-1][0] <= steady[0][0]:
            return None
        return 100 * (steady[-1][1] - steady[0][1]) / (steady[-1][0] - steady[0][0])

    def _store(self) -> None:
        """Whatever the process wrote, complete or not, before anybody judges it."""
        for kind, name in KEPT_FILES:
            path = self.folder / name
            if path.exists():
                artifacts.store(self.row.run, kind, name, path.read_bytes(), self.row)
        for path in sorted((self.folder / "hdr").glob("*.hdr")):
            artifacts.store_log(self.row.run, "hdr", path, self.row)

    def _conclude(self, result: ProcessResult) -> None:
        """FINISHED where the process ran to its own end and left a summary; else FAILED, with what it said."""
        known = {
            "exit_code": result.exit_code,
            "cpu_percent": self._cpu_percent(),
            "facts": {**self.row.facts, "host": platform.node(), "started_epoch_s": self.started_epoch_s},
        }
        said = self._symptoms()
        if result.stopped_because == "deadline":
            detail = f"YCSB did not end within {self.order['deadline_s']} s and was stopped. {said}".strip()
            client_lifecycle.fail(self.row.pk, self.claim, Reason.TIMEOUT, detail, **known)
        elif result.stopped_because is not None or not self.begun or not (self.folder / "summary.txt").exists():
            when = "and left no summary" if self.begun else "before it was told to start"
            detail = said or f"YCSB ended with exit code {result.exit_code} {when}."
            client_lifecycle.fail(self.row.pk, self.claim, Reason.CLIENT_FAILED, detail, **known)
        else:
            client_lifecycle.finish(self.row.pk, self.claim, **known)

    def _symptoms(self) -> str:
        """What the output says about the trouble, in a few lines; nothing where it names none."""
        lines: list[str] = []
        for name in ("stderr.txt", "stdout.txt"):
            path = self.folder / name
            if path.exists():
                lines += path.read_text(errors="replace").splitlines()
        return redact(describe(find_symptoms(lines)[:MOST_SYMPTOMS]))


def _by_operation(status: StatusLine) -> dict[str, live.OperationStatus]:
    """Service times of the successful ones, and how many failed, by operation."""
    found: dict[str, live.OperationStatus] = {}
    for name, numbers in status.operations.items():
        parsed = parse_name(name)
        if parsed.kind != "service" or not parsed.is_operation:
            continue
        entry = found.setdefault(parsed.operation, live.OperationStatus())
        if parsed.status:
            entry["failed"] = entry.get("failed", 0) + (numbers.count or 0)
        elif numbers.count:
            entry["count"] = numbers.count
            for key, value in (("mean_us", numbers.avg), ("max_us", numbers.max), ("p99_us", numbers.p99)):
                if value is not None:
                    entry[key] = value  # type: ignore[literal-required]
    return found

"""One client run from end to end, on a load generator: claim, prepare, start together, follow, store."""

import errno
import logging
import os
import platform
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings

from benchsite.core.backoff import retry_with_backoff
from benchsite.core.formatting import grouped
from runs.queue import live
from runs.queue.bindings import how_to_align
from runs.queue.reasons import Reason
from runs.queue.spec import ClientOrder
from runs.results.fact_validation import MAX_CLOCK_STEPS
from runs.timeouts import CLIENT_CLAIM_TIMEOUT_S
from runs.ycsb.arrivals import FILE_NAME as ARRIVALS_FILE
from runs.ycsb.command import OPEN_RATE, choose_jvm_options
from runs.ycsb.errors import YcsbError
from runs.ycsb.failure_symptoms import describe, find_symptoms
from runs.ycsb.operation import COMPOSITE, parse_name
from runs.ycsb.properties import DELETES
from runs.ycsb.readers.file_reader import read_file
from runs.ycsb.readers.go_report_lines import plain_line
from runs.ycsb.readers.go_run_builder import LiveReports
from runs.ycsb.readers.results import ReadRun
from runs.ycsb.redact import find_secrets, redact
from runs.ycsb.server_codes import read_server_codes
from runs.ycsb.status import StatusLine, parse_status
from runs.ycsb.summary import parse_summary
from workers.generator.class_archive import archive_options, store_archive
from workers.generator.client_reporter import ClientReporter
from workers.generator.clock import Clock
from workers.generator.cpu_sets import confine
from workers.generator.fitness import host_problem, start_problem
from workers.generator.guards import ProgressGuard, disk_problem
from workers.generator.host_identity import generator_name
from workers.generator.messages import (
    DEADLINE_PASSED,
    ENDED_BEFORE_START,
    ENDED_BY_SIGNAL,
    ENDED_WITHOUT_SUMMARY,
    GO_DID_NOT_BEGIN,
    GUARDIAN_KILLED,
    OTHER_BUILD,
    WORK_FOLDER_FULL,
)
from workers.generator.outbox import store_output
from workers.generator.site_client import SiteClient, SiteUnreachable, site_client
from workers.generator.work_folder import ClientResult, WorkFolder, created_work_folder
from workers.probe.host_sampler import FILE_NAME, HostSampler
from workers.processes.process import (
    Guarded,
    ProcessResult,
    StartError,
    StopReason,
    java_argv,
    run_process,
    write_properties,
)
from workers.provision.listeners import find_servers
from workers.systems.manifests import GO_YCSB, Manifest, ManifestError, find_binding

log = logging.getLogger(__name__)
TICK_S = 0.1
MAX_SYMPTOMS = 3
# Words of `benchsite.Start` on standard error.
READY, STARTED = "BENCHSITE READY", "BENCHSITE STARTED"
# go-ycsb prints it when it is connected.
GO_BEGINS = "* properties *"
# The word of YCSB's Java client and of go-ycsb for each phase.
PHASES = {"load": ("-load", "load"), "measure": ("-t", "run")}


def run_client(client_run_id: uuid.UUID) -> None:
    """Carry out one client run; a second delivery of its message finds it claimed, and returns."""
    claim = uuid.uuid4()
    site, unreachable = site_client(), (SiteUnreachable,)
    claimed = retry_with_backoff(
        lambda: site.claim(client_run_id, claim), errors=unreachable, timeout_s=CLIENT_CLAIM_TIMEOUT_S
    )
    if claimed is None:
        return

    try:
        with (
            created_work_folder(settings.WORK_DIR, client_run_id, claim, generator_name()) as folder,
            ClientReporter(site, client_run_id, claim) as reporter,
        ):
            folder.record_result(Client(site, claimed, folder, reporter).carry_out())
            store_output(site, folder, reporter.check)
    except OSError as error:
        log.exception("Client run %s has no work folder.", client_run_id)
        result = asdict(ClientResult(Reason.CLIENT_NOT_STARTED, _explain(error)))
        retry_with_backoff(lambda: site.note_stopped(client_run_id, claim), errors=unreachable)
        retry_with_backoff(lambda: site.complete(client_run_id, claim, result), errors=unreachable)


class BindingMismatch(ManifestError):
    """This load generator's jars are not those that the run was submitted with."""


def prepare_command(order: ClientOrder, folder: WorkFolder, *, is_check: bool = False) -> tuple[list[str], Manifest]:
    """The command line, with the 0600 property file in the folder, and its binding. A load writes an archive of its
    classes where there is none; a client of a check is ready before it connects. Raises ManifestError and StartError.
    """
    manifest = find_binding(settings.YCSB_DIR, settings.YCSB_HOMES, order["binding"])
    if manifest.digest != order["digest"]:
        raise BindingMismatch(
            OTHER_BUILD.format(
                digest=manifest.digest[:12],
                binding=order["binding"],
                submitted=order["digest"][:12],
                remedy=how_to_align(order["binding"]),
            )
        )
    problem = host_problem()
    if problem:
        raise StartError(problem)

    base, file = folder.path, folder.properties
    properties = order["properties"]
    outputs = {"hdrhistogram.output.path": f"{base}/hdr/", "exportfile": f"{base}/summary.txt"}
    if OPEN_RATE in properties:
        outputs["open.output"] = f"{base}/{ARRIVALS_FILE}"
    write_properties(file, {**properties, **outputs})
    java_phase, go_phase = PHASES[order["phase"]]
    if order["binding"].startswith(GO_YCSB):
        program = str(manifest.jars[0])
        _, _, database = manifest.binding.rpartition("/")
        return [program, go_phase, database, "-P", str(file)], manifest

    arguments = ["--check" if is_check else "--ready", java_phase, "-s", "-P", str(file)]
    java_class = manifest.java_class or order["java_class"]
    arguments += ["-threads", str(order["threads"]), "-db", java_class]
    if order["target_ops_s"]:
        arguments += ["-target", str(order["target_ops_s"])]
    inserts = int(properties.get("insertcount", 0))
    options = [*choose_jvm_options(duration_s=order["duration_s"], inserts=inserts)]
    cpus = order.get("cpus")
    if cpus:
        options.append(f"-XX:ActiveProcessorCount={len(cpus)}")
    site_files = _write_site_files(order, base)
    if not site_files:
        options += archive_options(manifest, base, is_load=order["phase"] == "load")
    return java_argv(manifest, "benchsite.Start", arguments, jvm_options=options, folders=site_files), manifest


def _write_site_files(order: ClientOrder, base: Path) -> list[str]:
    """The folder of the configuration files that are found on the class path; nothing where there are none."""
    files = order.get("site_files")
    if not files:
        return []
    folder = base / "site"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder)]


class Client:
    """The YCSB process of one client run."""

    def __init__(self, site: SiteClient, claimed: dict[str, Any], folder: WorkFolder, reporter: ClientReporter) -> None:
        self.site, self.folder, self.reporter = site, folder, reporter
        self.order: ClientOrder = claimed["order"]
        self.label: str = claimed["label"]
        self.clock = Clock()
        self.told_at_s = 0.0  # the common start
        self.begun = False
        self.ending = False  # at an instant before its time is up
        self.operations_before = 0  # the window
        self.started_epoch_s: float | None = None
        self.running: Guarded | None = None
        self.cpu: list[tuple[float, float]] = []  # (seconds, CPU seconds so far)
        self.servers: list[int] = []  # the main processes of those under test on this host
        self.sampler: HostSampler | None = None
        self.guard: ProgressGuard | None = None
        self.failure: tuple[Reason, str] | None = None  # why a guard stops the process
        self.is_go = self.order["binding"].startswith(GO_YCSB)
        self.cpus: list[int] = self.order.get("cpus", [])  # empty: all
        self.reports = LiveReports()
        self.ends_at: float | None = None  # of go-ycsb, which knows no time limit; on the monotonic clock

    def carry_out(self) -> ClientResult:
        """Prepare and run; the process's exit code is kept but proves nothing."""
        try:
            command, manifest = prepare_command(self.order, self.folder)
            self.clock.offset_s = retry_with_backoff(
                lambda: self.site.clock_offset_s(self.clock), errors=(SiteUnreachable,)
            )
            self._report(command=[redact(part) for part in command])
            # The first client of a load creates the table before any client begins.
            if self.is_go and self.order["properties"].get("insertstart") == "0":
                created = self._create_table(command)
                if created.exit_code or created.stopped_because:
                    return self._conclude(created)

            # Before the start: it asks name servers and reads every process.
            if self.order.get("samples_host"):
                self.servers = self._find_servers()
            if self.is_go and not self._await_start():
                return ClientResult(Reason.CLIENT_FAILED, "The run ended before go-ycsb was started.")

            result = self._measure(command)
            if result.exit_code == 0:
                store_archive(manifest, self.folder.path)
            return self._conclude(result)
        except BindingMismatch as error:
            return ClientResult(Reason.BINDING_MISMATCH, str(error))
        except OSError as error:
            reason = Reason.CLIENT_NOT_STARTED
            if self.running:
                reason = Reason.GENERATOR_UNFIT
            return ClientResult(reason, _explain(error))
        except (ManifestError, StartError) as error:
            return ClientResult(Reason.CLIENT_NOT_STARTED, str(error))
        except Exception as error:
            log.exception("Client run %s failed inside Benchsite.", self.folder.client_run_id)
            detail = f"{type(error).__name__}: {error}. See the load generator's log."
            return ClientResult(Reason.INTERNAL_ERROR, detail)

    def _run(self, command: list[str], label: str, **options: Any) -> ProcessResult:
        return run_process(
            command,
            registry=settings.GUARDED_DIR,
            label=label,
            cwd=self.folder.path,
            stdout_path=self.folder.path / "stdout.txt",
            stderr_path=self.folder.path / "stderr.txt",
            tick_s=TICK_S,
            should_stop=self._should_stop,
            deadline_s=self.order["deadline_s"],
            **options,
        )

    def _measure(self, command: list[str]) -> ProcessResult:
        options: dict[str, Any] = {}
        if self.is_go:
            options = {"cpus": self.cpus, "on_stdout_line": self._read_go_line}

        return self._run(
            command,
            f"ycsb {self.label}",
            stdin=True,
            on_started=self._note_start,
            on_stderr_line=self._read_line,
            on_tick=self._tick,
            **options,
        )

    def _create_table(self, command: list[str]) -> ProcessResult:
        """Runs go-ycsb without threads: it creates the table as it connects, and ends.

        PostgreSQL fails all but one of the sessions that create the same table at the same moment. The output is kept
        where this failed.
        """
        result = self._run([*command, "-p", "threadcount=0"], f"go-ycsb, table of {self.label}")
        if result.exit_code == 0:
            for name in ("stdout.txt", "stderr.txt"):
                (self.folder.path / name).unlink()
        return result

    def _await_start(self) -> bool:
        """Waits for the agreed instant, for go-ycsb connects and begins at once; False where the run ended before."""
        self._report(state="ready", clock_offset_s=self.clock.offset_s, facts={"host": platform.node()})
        self.reporter.await_start()
        deadline = time.monotonic() + self.order["deadline_s"]
        while not self._should_stop() and time.monotonic() < deadline:
            if self.reporter.starts_at is not None and self.clock.now_s() >= self.reporter.starts_at:
                return True
            time.sleep(TICK_S / 10)
        return False

    def _note_start(self, running: Guarded) -> None:
        self.running = running
        if self.order.get("samples_host"):
            # The parent is the Celery worker, which all clients of the generator share.
            self.sampler = HostSampler(
                service=os.getppid(),
                registry=settings.GUARDED_DIR,
                servers=self.servers,
                duration_s=self.order["duration_s"],
                clock=self.clock,
            )

    def _find_servers(self) -> list[int]:
        """The main processes of servers under test that somebody else runs on this host."""
        with suppress(OSError, psutil.Error):
            return find_servers((host, port, "") for host, port in self.order.get("servers", ()))
        return []

    def _read_line(self, line: str) -> None:
        """One line of standard error: the words of `benchsite.Start`, or YCSB's status once a second."""
        if line.startswith(READY):
            # It started on all CPUs, as the servers had nothing to do yet. From now on it keeps to its own.
            if self.cpus and self.running is not None:
                with suppress(FileNotFoundError):  # It has ended.
                    confine(self.running.pid, self.cpus)
            facts = {"host": platform.node(), "java": line.removeprefix(READY).strip()}
            self._report(state="ready", clock_offset_s=self.clock.offset_s, facts=facts)
            self.reporter.await_start()
        elif line.startswith(STARTED):
            self._check_start()
            self.started_epoch_s = self.clock.local_s()
            self._measure_cpu()
        elif (status := parse_status(line)) is not None:
            self._add_status(status, line)

    def _read_go_line(self, line: str) -> None:
        """One line of go-ycsb's standard output: it prints its properties as it begins, then a report each second."""
        if GO_BEGINS in line:
            self.started_epoch_s = self.clock.local_s()
            if self.order["duration_s"]:
                self.ends_at = time.monotonic() + self.order["duration_s"]
        report_line = plain_line(line)
        if report_line is not None and (status := self.reports.add(report_line)) is not None:
            self._add_status(status, line)

    def _report(self, **fields: Any) -> None:
        """The client's progress. Where the run has ended, the process is stopped."""
        pk, claim = self.folder.client_run_id, self.folder.claim
        goes_on, *_ = retry_with_backoff(lambda: self.site.report(pk, claim, **fields), errors=(SiteUnreachable,))
        if not goes_on:
            self.reporter.run_ended = True

    def _add_status(self, status: StatusLine, line: str) -> None:
        """One status for the live view; it goes with the next heartbeat."""
        self._measure_cpu()
        by_operation = _group_by_operation(status)
        if self.guard is not None:
            # YCSB counts every composite operation as a success.
            counts = [count for name, count in by_operation.items() if name != COMPOSITE]
            succeeded = sum(count.get("count", 0) for count in counts)
            self.guard.add(time.monotonic(), succeeded, sum(count.get("failed", 0) for count in counts))

        problem = disk_problem(self.folder.path, f"work folder on {platform.node()}")
        if problem:
            self.failure = (Reason.GENERATOR_UNFIT, problem)
        if "window_s" in self.order:
            self._count(status.operations_done, self.order["window_s"])
        self.reporter.lines.append(
            {
                "elapsed_s": status.elapsed_s,
                "at_epoch_s": self.clock.now_s(),
                "operations_total": status.operations_done,
                "rate_ops_s": status.rate_ops_s or 0.0,
                "by_operation": by_operation,
                "line": line,
            }
        )

    def _count(self, operations_done: int, window_s: float) -> None:
        """The operations of the window so far, but for those of its first second, which may be of before."""
        assert self.reporter.starts_at is not None  # It has begun.
        if self.clock.now_s() < self.reporter.starts_at + window_s + 1:
            self.operations_before = operations_done
        self.reporter.operations = operations_done - self.operations_before

    def _tick(self) -> None:
        """Between lines: sample the host, and hand on the agreed instants."""
        if self.sampler is not None and self.begun:
            self.sampler.tick()
        instant = self.reporter.starts_at
        if instant is not None and not self.begun and self.running is not None:
            # The JVM waits by the host's clock as it is now.
            self.told_at_s = self.clock.local_s()
            start_s = self.order.get("start_s", 0.0)
            local_start_s = instant + start_s - self.clock.offset_s + self.clock.stepped_s()
            self.running.write_line(f"START {round(local_start_s * 1000)}")
            self.begun = True
            if not self.order.get("has_faults"):  # Planned faults stall the run and fail its operations.
                # go-ycsb reports nothing while it warms up.
                silent_s = int(self.order["properties"].get("warmuptime", 0)) + start_s
                self.guard = ProgressGuard(time.monotonic() + silent_s)
            self._report(state="running")

        if self.reporter.ends_at is not None and self.begun and not self.ending:
            self._end_at(self.reporter.ends_at)
        if self.guard is not None and self.failure is None:
            self._check_progress(self.guard, time.monotonic())
        self._check_start()

    def _end_at(self, instant: float) -> None:
        """Lets YCSB end then as it ends when its time is up."""
        assert self.running is not None  # It has begun.
        local_end_s = instant - self.clock.offset_s + self.clock.stepped_s()
        self.running.write_line(f"END {round(local_end_s * 1000)}")
        if self.is_go:
            self.ends_at = time.monotonic() + local_end_s - self.clock.local_s()
        self.ending = True

    def _check_start(self) -> None:
        """Where the host's clock is stepped while the JVM waits by it, the clients do not start together."""
        stepped_s = self.clock.stepped_s()
        is_waiting = self.begun and self.started_epoch_s is None and not self.is_go
        if is_waiting and self.clock.steps and self.clock.steps[-1][0] > self.told_at_s:
            host = platform.node()
            detail = f"The clock of {host} was stepped by {grouped(stepped_s, 1)} s while the client waited to start."
            self.failure = (Reason.CLOCK_STEPPED, detail)

    def _check_progress(self, guard: ProgressGuard, now_s: float) -> None:
        if self.order["duration_s"] and now_s - guard.started_s > self.order["duration_s"]:
            return  # YCSB ends its threads and writes its summary.
        errors, stall = guard.errors(), guard.stall(now_s)
        if errors:
            self.failure = (Reason.TOO_MANY_ERRORS, errors)
        elif stall:
            self.failure = (Reason.NO_PROGRESS, stall)

    def _should_stop(self) -> StopReason | bool:
        if self.reporter.run_ended or self.failure is not None:
            return True
        if self.ends_at is not None and time.monotonic() >= self.ends_at:
            return "finished"
        return False

    def _measure_cpu(self) -> None:
        if self.running is not None:
            with suppress(psutil.Error):
                times = psutil.Process(self.running.pid).cpu_times()
                self.cpu.append((time.monotonic(), times.user + times.system))

    def _compute_cpu_percent(self) -> float | None:
        """Percent of one core, mean over all but the first seconds, in which the JVM compiles."""
        if not self.cpu:
            return None
        begin_s, before_s = self.cpu[min(2, len(self.cpu) // 4)]
        end_s, used_s = self.cpu[-1]
        if end_s <= begin_s:
            return None
        return 100 * (used_s - before_s) / (end_s - begin_s)

    def _conclude(self, result: ProcessResult) -> ClientResult:
        if self.sampler is not None and self.sampler.text:
            (self.folder.path / FILE_NAME).write_text(self.sampler.text)
        reason, detail = self._explain_end(result)
        facts: dict[str, Any] = {"host": platform.node(), "started_epoch_s": self.started_epoch_s}
        facts |= self._count_inserts()
        self.clock.stepped_s()
        if self.clock.steps:
            facts["clock_steps"] = self.clock.steps[:MAX_CLOCK_STEPS]
        server_codes = read_server_codes(self._read_lines("stderr.txt"))
        if server_codes:
            facts["server_codes"] = server_codes
        return ClientResult(reason, detail, result.exit_code, self._compute_cpu_percent(), facts)

    def _explain_end(self, result: ProcessResult) -> tuple[Reason, str]:
        """Success where the process ran to its own end and left a summary; else a reason, with what its output says."""
        symptoms = self._symptoms()
        if self.failure is not None:
            reason, problem = self.failure
            return reason, f"{problem} {symptoms}".strip()
        if result.stopped_because == "deadline":
            problem = DEADLINE_PASSED.format(deadline_s=self.order["deadline_s"])
            return Reason.TIMEOUT, f"{problem} {symptoms}".strip()
        if result.stopped_because == "lost":
            return Reason.WORKER_LOST, GUARDIAN_KILLED
        if result.stopped_because is None and result.exit_code < 0:
            return Reason.WORKER_LOST, ENDED_BY_SIGNAL.format(signal=-result.exit_code)
        if result.stopped_because in (None, "finished") and self.begun and self._has_summary():
            return Reason.NONE, ""

        message = ENDED_WITHOUT_SUMMARY if self.begun else ENDED_BEFORE_START
        detail = symptoms or message.format(exit_code=result.exit_code)
        unfit = start_problem([self.order["binding"]])
        if unfit:
            return Reason.GENERATOR_UNFIT, f"{unfit} {detail}"
        return Reason.CLIENT_FAILED, detail

    def _has_summary(self) -> bool:
        if self.is_go:
            return self._read_go_run() is not None
        return (self.folder.path / "summary.txt").exists()

    def _read_go_run(self) -> ReadRun | None:
        """The run of go-ycsb's output, where its final report is complete."""
        with (self.folder.path / "stdout.txt").open("rb") as stream:
            output, *_ = read_file("stdout.txt", stream)
        if output.runs and output.runs[-1].complete:
            return output.runs[-1]
        return None

    def _count_inserts(self) -> dict[str, int]:
        """How many records the client inserted and deleted, and how many it may have; nothing where it left no summary.

        Operations that it never ended are not in the summary: one for each thread at most.
        """
        try:
            counts = self._read_counts()
        except (OSError, YcsbError):
            return {}

        inserted = counts.get("INSERT", 0)
        failed = counts.get("INSERT-FAILED", 0) + counts.get("INSERT_ERROR", 0)
        facts = {"inserted": inserted, "inserts": inserted + failed + self.order["threads"]}
        if float(self.order["properties"].get(DELETES, "0")) > 0:
            deleted = counts.get("DELETE", 0)
            facts |= {
                "deleted": deleted,
                "deletes": deleted + counts.get("DELETE-FAILED", 0) + self.order["threads"],
            }

        return facts

    def _read_counts(self) -> Mapping[str, int]:
        """How often each operation was done, as the client says."""
        if not self.is_go:
            summary = (self.folder.path / "summary.txt").read_text(errors="replace")
            return parse_summary(summary).counts
        run = self._read_go_run()
        if run is None:
            return {}
        return {name: operation.count or 0 for name, operation in run.operations.items()}

    def _read_lines(self, name: str) -> list[str]:
        path = self.folder.path / name
        if not path.exists():
            return []
        return path.read_text(errors="replace").splitlines()

    def _symptoms(self) -> str:
        """The errors in the output, in a few lines; empty where it names none."""
        lines = self._read_lines("stderr.txt") + self._read_lines("stdout.txt")
        symptoms = describe(find_symptoms(lines)[:MAX_SYMPTOMS])
        if self.is_go and not symptoms and self.started_epoch_s is None:
            printed = [line for line in lines if line.strip()] or ["no word"]
            symptoms = GO_DID_NOT_BEGIN.format(printed=printed[0])
        return redact(symptoms, find_secrets(self.order["properties"]))


def _group_by_operation(status: StatusLine) -> dict[str, live.OperationStatus]:
    """Service times of the successful ones, and how many failed, by operation."""
    statuses: dict[str, live.OperationStatus] = {}
    for name, numbers in status.operations.items():
        parsed = parse_name(name)
        if parsed.kind != "service" or not parsed.is_operation:
            continue
        entry = statuses.setdefault(parsed.operation, live.OperationStatus())
        if parsed.status:
            entry["failed"] = entry.get("failed", 0) + (numbers.count or 0)
        elif numbers.count:
            entry["count"] = numbers.count
            for key, value in (("mean_us", numbers.avg), ("max_us", numbers.max), ("p99_us", numbers.p99)):
                if value is not None:
                    entry[key] = value  # type: ignore[literal-required]

    return statuses


def _explain(error: OSError) -> str:
    """An error of the work folder, with what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        folder, host = settings.WORK_DIR, platform.node()
        return WORK_FOLDER_FULL.format(folder=folder, host=host, error=error.strerror)
    return str(error)

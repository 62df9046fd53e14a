"""A short run of YCSB against a server before anything is measured there, by the process that measures later."""

import logging
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Final, Literal

from django.conf import settings

from benchsite.core.formatting import duration
from runs.queue.spec import ClientOrder
from runs.timeouts import CHECK_PROGRAM_TIMEOUT_S
from runs.ycsb.errors import YcsbError
from runs.ycsb.failure_symptoms import find_symptoms
from runs.ycsb.redact import find_secrets, redact
from runs.ycsb.summary import parse_summary
from workers.generator.client import READY, prepare_command
from workers.generator.host_identity import generator_name
from workers.generator.messages import NO_SUMMARY
from workers.generator.site_client import SiteRefused, SiteUnreachable, site_client
from workers.generator.work_folder import ClientResult, WorkFolder, busy_folders, created_work_folder
from workers.processes.process import Guarded, ProcessResult, StartError, StopReason, run_process
from workers.processes.processor_time import processor_time_s
from workers.systems.manifests import ManifestError

log = logging.getLogger(__name__)
TICK_S: Final = 0.05
MISSING: Final = "NOT_FOUND"  # status of a read whose record is not there, which every check allows
WORDS: Final = ("BENCHSITE FAILED ", "BENCHSITE ERROR ")
Outcome = Literal["passed", "failed", "unfit", "busy"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`detail` is what the driver, or this host, says."""

    outcome: Outcome
    detail: str = ""


def answer_check(check: uuid.UUID) -> None:
    """Run the client of a check and send the site how it ended; a second delivery of its message does nothing."""
    claim, site = uuid.uuid4(), site_client()
    try:
        order = site.claim_check(check, claim)
        if order:
            site.complete_check(check, claim, **asdict(run_check(check, claim, order)))
    except (SiteUnreachable, SiteRefused) as error:
        log.warning("Check %s has no result (%s).", check, error)


def run_check(check: uuid.UUID, claim: uuid.UUID, order: ClientOrder) -> CheckResult:
    """How the client ended, of which nothing is kept. `deadline_s` of the order is the time that the server has."""
    name = generator_name()
    if busy_folders(settings.WORK_DIR, name):
        return CheckResult("busy")  # A check would disturb what is measured.

    try:
        with created_work_folder(settings.WORK_DIR, check, claim, name) as folder:
            try:
                return _run_client(order, folder)
            finally:
                folder.record_result(ClientResult())
                folder.remove()
    except (ManifestError, StartError, OSError) as error:
        return CheckResult("unfit", str(error))


class _ServerTime:
    """Of a client: the server has `timeout_s` from the moment on at which the client connects, without the client's own
    work and its wait for a processor.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._process: Guarded | None = None
        self._until = self._worked_s = 0.0
        self.has_begun = False

    def set_process(self, process: Guarded) -> None:
        self._process = process

    def read_line(self, line: str) -> None:
        if self._process is not None and line.startswith(READY):
            self._until = time.monotonic() + self._timeout_s
            self._worked_s = processor_time_s(self._process.pid)
            self._process.write_line(f"START {round(time.time() * 1000)}")
            self.has_begun = True

    def find_end(self) -> StopReason | bool:
        if self._process is None or not self.has_begun:
            return False
        worked_s = processor_time_s(self._process.pid) - self._worked_s
        return "deadline" if time.monotonic() > self._until + worked_s else False


def _run_client(order: ClientOrder, folder: WorkFolder) -> CheckResult:
    command, _ = prepare_command(order, folder, is_check=True)
    server_time = _ServerTime(order["deadline_s"])
    stdout, stderr = folder.path / "stdout.txt", folder.path / "stderr.txt"
    result = run_process(
        command,
        registry=settings.GUARDED_DIR,
        label=f"check {folder.client_run_id}",
        cwd=folder.path,
        stdin=True,
        stdout_path=stdout,
        stderr_path=stderr,
        tick_s=TICK_S,
        on_started=server_time.set_process,
        on_stderr_line=server_time.read_line,
        should_stop=server_time.find_end,
        deadline_s=CHECK_PROGRAM_TIMEOUT_S + order["deadline_s"],
    )
    if result.stopped_because == "deadline" and not server_time.has_begun:
        return CheckResult("unfit", f"YCSB's client did not start within {duration(round(result.duration_s))}")

    problem = _find_problem(result, [stdout, stderr], folder.path / "summary.txt", order["deadline_s"])
    if not problem:
        return CheckResult("passed")

    return CheckResult("failed", redact(problem, find_secrets(order["properties"])))


def _find_problem(result: ProcessResult, printed: Sequence[Path], summary: Path, timeout_s: float) -> str:
    """The client's message about its failure, on one line; empty where every operation was done."""
    lines = chain.from_iterable(path.read_text(errors="replace").splitlines() for path in printed)
    for symptom in find_symptoms([line for line in lines if MISSING not in line]):
        line = symptom.line
        for word in WORDS:
            line = line.removeprefix(word)
        return line

    if result.stopped_because == "deadline":
        return f"no answer within {duration(timeout_s)}"

    try:
        operations = parse_summary(summary.read_text(errors="replace")).operations
    except (OSError, YcsbError):
        return NO_SUMMARY.format(exit_code=result.exit_code)

    codes = set().union(*(operation.returns for operation in operations.values()))
    return ", ".join(sorted(codes - {"OK", MISSING}))

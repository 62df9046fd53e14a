"""Short runs of YCSB against a server before anything is measured there, by the process that measures later."""

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
from runs.ycsb.errors import YcsbError
from runs.ycsb.redact import find_secrets, redact
from runs.ycsb.summary import parse_summary
from runs.ycsb.symptoms import find_symptoms
from workers.generator.client import READY, prepare_command
from workers.generator.host_identity import generator_name
from workers.generator.site_client import SiteRefused, SiteUnreachable, site_client
from workers.generator.work_folder import ClientResult, WorkFolder, busy_folders, created_work_folder
from workers.processes.process import Guarded, ProcessResult, StartError, run_process
from workers.systems.manifests import ManifestError

log = logging.getLogger(__name__)
TICK_S: Final = 0.05
MISSING: Final = "NOT_FOUND"  # status of a read whose record is not there, which every check allows
WORDS: Final = ("BENCHSITE FAILED ", "BENCHSITE ERROR ")
Outcome = Literal["passed", "failed", "unfit", "busy"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Of the clients that a check runs one after the other. `detail` is what the driver, or this host, says."""

    outcome: Outcome
    detail: str = ""


def answer_check(check: uuid.UUID) -> None:
    """Run the clients of a check and send the site how they ended; a second delivery of its message does nothing."""
    claim, site = uuid.uuid4(), site_client()
    try:
        orders = site.claim_check(check, claim)
        if orders:
            site.complete_check(check, claim, **asdict(run_check(check, claim, orders)))
    except (SiteUnreachable, SiteRefused) as error:
        log.warning("Check %s has no result (%s).", check, error)


def run_check(check: uuid.UUID, claim: uuid.UUID, orders: Sequence[ClientOrder]) -> CheckResult:
    """How the first client that failed ended, or that all passed. Nothing of them is kept."""
    name = generator_name()
    if busy_folders(settings.WORK_DIR, name):
        return CheckResult("busy")  # A check would disturb what is measured.
    try:
        with created_work_folder(settings.WORK_DIR, check, claim, name) as folder:
            try:
                results = (_run_client(order, folder) for order in orders)
                return next((result for result in results if result.outcome != "passed"), CheckResult("passed"))
            finally:
                folder.record_result(ClientResult())
                folder.remove()
    except (ManifestError, StartError, OSError) as error:
        return CheckResult("unfit", str(error))


def _run_client(order: ClientOrder, folder: WorkFolder) -> CheckResult:
    command, _ = prepare_command(order, folder, writes_archive=False)
    started: list[Guarded] = []

    def begin(line: str) -> None:
        if line.startswith(READY):
            started[0].write_line(f"START {round(time.time() * 1000)}")

    printed = [folder.path / name for name in ("stdout.txt", "stderr.txt")]
    for path in (*printed, folder.path / "summary.txt"):
        path.unlink(missing_ok=True)
    result = run_process(
        command,
        registry=settings.GUARDED_DIR,
        label=f"check {folder.client_run_id}",
        cwd=folder.path,
        stdin=True,
        stdout_path=printed[0],
        stderr_path=printed[1],
        tick_s=TICK_S,
        on_started=started.append,
        on_stderr_line=begin,
        deadline_s=order["deadline_s"],
    )
    problem = _find_problem(result, printed, folder.path / "summary.txt")
    if not problem:
        return CheckResult("passed")
    return CheckResult("failed", redact(problem, find_secrets(order["properties"])))


def _find_problem(result: ProcessResult, printed: Sequence[Path], summary: Path) -> str:
    """What the client says of its failure, on one line; empty where every operation was done."""
    lines = chain.from_iterable(path.read_text(errors="replace").splitlines() for path in printed)
    for symptom in find_symptoms([line for line in lines if MISSING not in line]):
        line = symptom.line
        for word in WORDS:
            line = line.removeprefix(word)
        return line
    if result.stopped_because == "deadline":
        return f"no answer within {duration(round(result.duration_s))}"
    try:
        operations = parse_summary(summary.read_text(errors="replace")).operations
    except (OSError, YcsbError):
        return f"YCSB ended with exit code {result.exit_code} and left no summary"
    codes = set().union(*(operation.returns for operation in operations.values()))
    return ", ".join(sorted(codes - {"OK", MISSING}))

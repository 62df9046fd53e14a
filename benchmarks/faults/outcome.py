"""What one try cost, counted in the rows, processes and folders that are left once everything has ended."""

import statistics
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from django.db.models import Count

from benchmarks.faults.fault import Fault
from runs.models import ClientRun, Matrix, MeasurementSet, Run, RunEvent
from runs.models.run import Status

# A client that ends earlier may have written no interval.
MIN_LOGGED = timedelta(seconds=3)
MAX_MESSAGE_LENGTH = 240


@dataclass(slots=True)
class Outcome:
    """Each list names what is counted, for the terminal; the table has their lengths."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)
    free_after_s: float = 0.0  # from the fault until the struck run holds no machine
    duration_s: float = 0.0
    message: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.lost or self.doubled or self.stuck)

    def summary(self) -> str:
        """Counts, seconds and message in one line, and one line for everything that is counted."""
        counts = {name: getattr(self, name) for name in ("lost", "doubled", "stuck", "left_over")}
        line = ", ".join(f"{name.replace('_', ' ')} {len(items)}" for name, items in counts.items())
        line += f", machines free after {self.free_after_s:.1f} s, {self.duration_s:.0f} s in all. {self.message}"
        return "\n".join([line, *(f"  {name}: {item}" for name, items in counts.items() for item in items)])


def chains(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs of a matrix by cell: a run as it was submitted, followed by those that repeat it."""
    chain_of: dict[object, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.pk):  # In the order in which they were made.
        chain = chain_of.get(run.rerun_of_id, [])
        chain.append(run)
        chain_of[run.pk] = chain
    return list({id(chain): chain for chain in chain_of.values()}.values())


def lost_results(fault: Fault, matrix: Matrix) -> list[str]:
    """Cells without a result, and clients that ran and whose output is not stored."""
    lost = []
    for chain in chains(Run.objects.filter(matrix=matrix)):
        succeeded = [run for run in chain if run.status == Status.SUCCEEDED]
        lost += [f"{run.name}: no measurements" for run in succeeded if not _is_measured(run)]
        excused = any(run.reason in fault.excuses for run in chain)
        if not succeeded and not excused and chain[-1].status in Status.terminal():
            lost.append(f"{chain[-1].name}: {chain[-1].status}, {chain[-1].reason}: {chain[-1].reason_detail}")
    for client in ClientRun.objects.filter(run__matrix=matrix, started_at__isnull=False).select_related("run"):
        missing = _expected_artifacts(client) - set(client.artifacts.values_list("kind", flat=True))
        if missing:
            lost.append(f"{client}: output not stored ({', '.join(sorted(missing))})")
    return lost


def _expected_artifacts(client: ClientRun) -> set[str]:
    """The kinds of files that the client has written."""
    if client.state == ClientRun.State.FINISHED:
        return {"hdr", "stderr", "summary"}
    assert client.started_at is not None
    logged = client.stopped_at is None or client.stopped_at - client.started_at > MIN_LOGGED
    return {"hdr", "stderr"} if logged else {"stderr"}


def _is_measured(run: Run) -> bool:
    current = MeasurementSet.objects.filter(run=run, is_current=True).first()
    return (
        current is not None
        and current.clients_merged == current.clients_expected == run.client_runs.count()
        and current.measurements.exists()
        and run.series.exists()
    )


def doubled_work(matrix: Matrix) -> list[str]:
    """Second measurement sets, repeated events, runs carried out twice, and more than one retry."""
    doubled = []
    for chain in chains(Run.objects.filter(matrix=matrix)):
        if (retries := sum(run.is_retry for run in chain)) > 1:
            doubled.append(f"{chain[0].name}: {retries} retries")
    counted = Run.objects.filter(matrix=matrix).annotate(sets=Count("measurement_sets", distinct=True))
    doubled += [f"{run.name}: {run.sets} measurement sets" for run in counted if run.sets > 1]
    for run in Run.objects.filter(matrix=matrix):
        doubled += [f"{run.name}: {text}" for text in repeated_events(list(run.events.order_by("id")))]
    return doubled


def repeated_events(events: list[RunEvent]) -> list[str]:
    """Changes of status that do not follow from the one before, starts after the first, stages that came twice."""
    repeated: list[str] = []
    status, starts = "", 0
    stages: set[str] = set()
    for event in events:
        if event.kind == "status":
            if event.old != status or event.new == status:
                repeated.append(f"event {event.old} to {event.new} after {status or 'nothing'}")
            status, stages = event.new, set()
            starts += event.new == Status.RUNNING
        elif event.kind == "stage":
            if event.new in stages:
                repeated.append(f"stage {event.new} twice")
            stages.add(event.new)
    if starts > 1:
        repeated.append(f"carried out {starts} times")
    return repeated


def unfinished_work(matrix: Matrix) -> list[str]:
    """Runs, client runs and leases that have not ended, and runs whose late output nobody has looked at yet."""
    runs = Run.objects.filter(matrix=matrix)
    stuck = [f"{run.name}: {run.status} {run.stage}" for run in runs.exclude(status__in=Status.terminal())]
    stuck += [f"{run.name}: late output" for run in runs.filter(late_output_at__isnull=False)]
    states = [ClientRun.State.FINISHED, ClientRun.State.FAILED]
    clients = ClientRun.objects.filter(run__matrix=matrix).exclude(state__in=states).select_related("run")
    stuck += [f"{client}: {client.state}" for client in clients]
    stuck += [
        f"{run.name}: holds {run.held} machines" for run in runs.annotate(held=Count("leases")).filter(held__gt=0)
    ]
    return stuck


def user_message(matrix: Matrix) -> str:
    """What the matrix's runs say on their pages: the first failure, else the first note, else nothing."""
    failed = Run.objects.filter(matrix=matrix).exclude(reason="").order_by("finished_at").first()
    if failed is not None:
        first_line = failed.reason_detail.partition("\n")[0]  # The end of a server's log may follow.
        return f"{failed.get_reason_display()}: {first_line}"
    note = RunEvent.objects.filter(run__matrix=matrix, kind="note").exclude(text="").first()
    return note.text if note else "every run succeeded"


def row(fault: Fault, commit: str, outcomes: Sequence[Outcome]) -> str:
    """One line of the table: sums over the tries, seconds as median and maximum, the most frequent message."""
    free = [outcome.free_after_s for outcome in outcomes]
    message = Counter(outcome.message for outcome in outcomes).most_common(1)[0][0]
    text = " ".join(message.replace("|", "/").split())
    cells = [
        fault.name,
        commit,
        len(outcomes),
        sum(len(outcome.lost) for outcome in outcomes),
        sum(len(outcome.doubled) for outcome in outcomes),
        sum(len(outcome.stuck) for outcome in outcomes),
        sum(len(outcome.left_over) for outcome in outcomes),
        f"{statistics.median(free):.1f}, {max(free):.1f}",
        text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[: MAX_MESSAGE_LENGTH - 1]}…",
    ]
    return f"| {' | '.join(str(cell) for cell in cells)} |\n"


def append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


def current_commit(folder: Path) -> str:
    """The commit of the checkout, with "+" where files differ from it; "unknown" outside a checkout."""
    git = ["git", "-C", str(folder)]
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode:
        return "unknown"
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs"],
        capture_output=True,
        text=True,
        check=False,
    )
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")

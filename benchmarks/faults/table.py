"""The rows of docs/faults.md: one for each fault and commit, appended at the end of the file."""

import statistics
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.faults.fault import Fault
from benchmarks.faults.outcome import Outcome

MAX_MESSAGE_LENGTH = 240


def row(fault: Fault, commit: str, outcomes: Sequence[Outcome]) -> str:
    """One line of the table: sums over the tries, seconds as median and maximum, the most frequent message."""
    free = [outcome.free_after_s for outcome in outcomes]
    message = Counter(outcome.message for outcome in outcomes).most_common(1)[0][0]
    cells = [
        fault.name,
        commit,
        len(outcomes),
        sum(len(outcome.lost) for outcome in outcomes),
        sum(len(outcome.doubled) for outcome in outcomes),
        sum(len(outcome.stuck) for outcome in outcomes),
        sum(len(outcome.left_over) for outcome in outcomes),
        f"{statistics.median(free):.1f}, {max(free):.1f}",
        _one_line(message),
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


def _one_line(message: str) -> str:
    text = " ".join(message.replace("|", "/").split())
    return text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[: MAX_MESSAGE_LENGTH - 1]}…"

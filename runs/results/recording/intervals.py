"""The interval histograms of a run on their way into its artifacts, and out of them again."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from runs.models import Artifact, Run
from runs.results import artifacts
from runs.results.artifacts import Compressing
from runs.ycsb.stored import StoredIntervals, Write

# The kind of their artifacts.
INTERVALS: Final = "intervals"


@dataclass(frozen=True, slots=True)
class FreshIntervals:
    """One measurement's intervals in the form in which they are stored, not yet stored."""

    name: str  # of the artifact
    content: Compressing

    def read(self) -> StoredIntervals:
        return StoredIntervals.from_bytes(self.content.content())


@dataclass(frozen=True, slots=True)
class Gathering:
    """Takes what `runs.ycsb.ingest` keeps; it lies in temporary files until it is stored."""

    fresh: list[FreshIntervals] = field(default_factory=list)

    @contextmanager
    def __call__(self, measurement: str) -> Iterator[Write]:
        content = Compressing()
        yield content.write
        content.close()
        self.fresh.append(FreshIntervals(f"{measurement}.intervals", content))


def store_intervals(run: Run, fresh: Iterable[FreshIntervals]) -> None:
    """Replace the stored interval histograms of every measurement, from which the run can be cut again."""
    kept = []
    for intervals in fresh:
        artifacts.keep_compressed(intervals.content.digest, intervals.content.compressed())
        kept.append(
            artifacts.attach(run, INTERVALS, intervals.name, intervals.content.digest, intervals.content.size).pk
        )
    run.artifacts.filter(kind=INTERVALS).exclude(pk__in=kept).delete()


def stored_intervals(run: Run) -> tuple[StoredIntervals, ...]:
    """Of the whole run. Raises OSError or PackedDataError where they are not there any more."""
    return tuple(map(read_artifact, run.artifacts.filter(kind=INTERVALS).order_by("name")))


def read_artifact(artifact: Artifact) -> StoredIntervals:
    return StoredIntervals.from_bytes(artifacts.open_artifact(artifact))

"""The interval histograms of a run on their way into its artifacts, and out of them again."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from runs.models import Artifact, Run
from runs.results import artifacts
from runs.results.artifacts import Compressing
from runs.ycsb.stored import StoredIntervals, Write

# The kind of their artifacts.
INTERVALS: Final = "intervals"


# Intervals in the form in which they are stored, not yet stored, by the name of their artifact.
FreshIntervals = Mapping[str, Compressing]


@contextmanager
def gather(fresh: dict[str, Compressing], measurement: str) -> Iterator[Write]:
    """Adds what `runs.ycsb.ingest` keeps to `fresh`; it lies in temporary files until it is stored."""
    content = Compressing()
    yield content.write
    content.close()
    fresh[f"{measurement}.intervals"] = content


def store_intervals(run: Run, fresh: FreshIntervals) -> None:
    """Replace the stored interval histograms of every measurement, from which the run can be cut again."""
    stored = []
    for name, content in fresh.items():
        artifacts.keep_compressed(content.digest, content.compressed())
        stored.append(artifacts.attach(run, INTERVALS, name, content.digest, content.size).pk)
    run.artifacts.filter(kind=INTERVALS).exclude(pk__in=stored).delete()


def stored_intervals(run: Run) -> tuple[StoredIntervals, ...]:
    """The intervals of the whole run. Raises OSError or PackedDataError where they are gone."""
    return tuple(map(read_artifact, run.artifacts.filter(kind=INTERVALS).order_by("name")))


def read_fresh(content: Compressing) -> StoredIntervals:
    return StoredIntervals.from_bytes(content.content())


def read_artifact(artifact: Artifact) -> StoredIntervals:
    return StoredIntervals.from_bytes(artifacts.open_artifact(artifact))

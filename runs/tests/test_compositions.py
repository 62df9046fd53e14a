"""Composed files are read right, warned of, or refused: a statement that is false and accepted does not occur."""

from collections.abc import Iterable

import pytest

from runs.tests.compositions import Composition, Truth, compose
from runs.tests.judged_files import JudgedRun, judge_files
from runs.ycsb import file_grouping
from runs.ycsb.readers.segments import Segments
from runs.ycsb.readers.text import TextReader

pytestmark = pytest.mark.slow
CUT_IN_FRONT = (346, 628, 692)  # their last line names no writer, or is an open string
OUT_OF_ORDER = (1634,)  # two status lines changed places
MAX_REFUSED = 0.02  # of the healthy ones
# They say that a run is short, and nothing about its numbers.
_OF_LENGTH = {"V05"}


def stated(run: JudgedRun) -> Truth:
    operations = run.operations
    return Truth(
        operations.get("READ") or 0,
        operations.get("UPDATE") or 0,
        len(run.files.clients),
        run.merged.throughput_ops_s or 0.0,
    )


def is_right(run: JudgedRun, truth: Truth) -> bool:
    statement = stated(run)
    counts = (statement.reads, statement.updates, statement.clients) == (truth.reads, truth.updates, truth.clients)
    return counts and abs(statement.throughput_ops_s / truth.throughput_ops_s - 1) < 0.05


def check(composition: Composition) -> tuple[str, bool]:
    """What is false, if anything is; and whether a healthy composition was refused or rejected."""
    upload = judge_files(composition.files, purpose="measured")
    accepted = [run for run in upload.runs if not run.checks("reject") - _OF_LENGTH]
    left = list(composition.runs)
    false = ""
    for run in accepted:
        match = next((truth for truth in left if is_right(run, truth)), None)
        if match is None:
            false = f"{composition.name}: {stated(run)} is accepted, and {left} is true"
        else:
            left.remove(match)
    if composition.is_undecidable and accepted and left:
        false = f"{composition.name}: nobody can tell whose lines these are, and {len(accepted)} runs are accepted"
    if composition.has_parts and not upload.refusal and len(accepted) == len(upload.runs):
        is_told = any(words in upload.sentences for words in ("not stored", "There is no summary", "cut", "breaks off"))
        false = false or ("" if is_told else f"{composition.name}: nothing tells of the part of a client")
    is_silent = len(upload.runs) < len(composition.runs) and "not stored" not in upload.sentences
    if is_silent and not upload.refusal:
        false = false or f"{composition.name}: {len(upload.runs)} of {len(composition.runs)} runs are told of"
    return false, composition.is_whole and bool(left)


def check_all(seeds: Iterable[int]) -> tuple[list[str], list[str], int]:
    """The false statements, the healthy compositions that were refused, and how many healthy ones there were."""
    false: list[str] = []
    refused: list[str] = []
    healthy = 0
    for seed in seeds:
        composition = compose(seed)
        statement, is_refused = check(composition)
        healthy += composition.is_whole
        false += [statement] if statement else []
        refused += [composition.name] if is_refused else []
    return false, refused, healthy


def test_reads_compositions():
    false, refused, healthy = check_all([*range(60), *CUT_IN_FRONT, *OUT_OF_ORDER])
    assert not false
    assert len(refused) <= MAX_REFUSED * healthy, refused


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_reads_many_compositions():
    false, refused, healthy = check_all(range(1_000, 3_000))
    assert not false
    assert len(refused) <= MAX_REFUSED * healthy, refused


def _break_reader(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """Replace one step of reading or grouping by one that is wrong."""
    read_runs, read_sources = Segments.done, TextReader.done
    if fault == "ignores times":
        monkeypatch.setattr(file_grouping, "_overlap", lambda span, other: False)
    elif fault == "counts one more":
        monkeypatch.setattr("runs.ycsb.metric.MetricDraft._count", lambda self, digits: int(float(digits)) + 1)
    elif fault == "drops runs":
        monkeypatch.setattr(Segments, "done", lambda self, run_format: read_runs(self, run_format)[-1:])
    elif fault == "drops writers":
        monkeypatch.setattr(
            TextReader, "done", lambda self: [run for run in read_sources(self) if run.source in ("", _first(self))]
        )
    elif fault == "merges all runs":
        monkeypatch.setattr(file_grouping, "_is_one_run", lambda run, members, together: True)


def _first(reader: TextReader) -> str:
    return next(source for source in (*reader._sources, "") if source or len(reader._sources) < 2)


@pytest.mark.parametrize(
    "fault", ["ignores times", "counts one more", "drops runs", "drops writers", "merges all runs"]
)
def test_notices_false_statements_of_broken_readers(monkeypatch: pytest.MonkeyPatch, fault: str):
    """The truth does not come from the readers."""
    _break_reader(monkeypatch, fault)

    false, _, _ = check_all(range(40))

    assert false


def test_checks_reject_mixed_writers(monkeypatch: pytest.MonkeyPatch):
    """Lines of several clients that are read as those of one contradict each other: a check rejects their run."""
    monkeypatch.setattr("runs.ycsb.readers.mixed_clients.Writers.name", lambda self, line: "")

    false, refused, _ = check_all(range(40))

    assert refused
    assert not false

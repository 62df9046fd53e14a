"""Files that are cut, damaged or not outputs at all: an error, or what is certain of them, never a cut number."""

import gzip
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.readers.tests.damage import (
    PACKINGS,
    SAMPLES,
    flipped,
    get_runs,
    get_sequences,
    read,
    read_values,
    zipped,
)
from runs.ycsb.status import StatusLine

FLIPS = 10_000  # damaged files of the long suite; the normal one reads a twentieth of them
# Formats whose operations are computed from all that was read, so that a part of a file tells of a part of them.
COMPUTED = ("hdr-log", "ycsb-raw", "go-ycsb-csv")
Files = tuple[ReadFile, ...]
each_sample = pytest.mark.parametrize("name", SAMPLES)
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def check(files: tuple[ReadFile, ...]) -> None:
    """What is true of every reading, whatever was read."""
    assert files
    for file in files:
        assert bool(file.error) != bool(file.runs), "either an error or a run"
        for text in list_texts(file):
            assert "\0" not in text, f"no database keeps {text!r}"
            text.encode()  # Raises where half a character was left.
        for run in file.runs:
            assert all(log.total >= 0 for log in run.logs)
            assert all(value >= 0 for operation in run.operations.values() for value in operation.returns.values())


def list_texts(file: ReadFile) -> Iterator[str]:
    """Everything that is shown and stored of a file as text."""
    yield from (file.name, file.error or "", file.version or "", *(note.text for note in file.warnings))
    for run in file.runs:
        yield from (run.command, run.version or "", *(note.text for note in run.warnings))
        yield from (symptom.line for symptom in run.symptoms)
        yield from (text for pair in run.properties.items() for text in pair)
        yield from (log.operation for log in run.logs)
        for name, operation in run.operations.items():
            yield from (name, *operation.percentiles_us, *operation.returns)
            yield from (text for pair in operation.extra.items() for text in pair)
        for status in run.status:
            yield from status.operations


def states(run: ReadRun, whole: ReadRun) -> bool:
    """Whether the run holds all that the whole file's does."""
    return read_values(run) == read_values(whole) and get_sequences(run) == get_sequences(whole)


def is_part_of(status: object, whole: object) -> bool:
    """Whether a status line, cut perhaps, says nothing that the whole line does not."""
    if not isinstance(status, StatusLine) or not isinstance(whole, StatusLine):
        return False
    plain = (status.elapsed_s, status.operations_done) == (whole.elapsed_s, whole.operations_done)
    return (
        plain
        and status.rate_ops_s in (None, whole.rate_ops_s)
        and status.operations.items() <= whole.operations.items()
    )


def by_second(interval: Any) -> tuple[Any, ...]:
    """An interval of points without its exact borders: the first and the last depend on the whole file's points."""
    return math.floor(interval[0]), *interval[2:]


def is_part_of_second(interval: Any, whole: Any) -> bool:
    """Whether the interval holds some of the points of the whole one, and no others."""
    second, index, count = interval
    second_of_whole, index_of_whole, count_of_whole = whole
    of_whole = dict(zip(index_of_whole, count_of_whole, strict=True))
    return second == second_of_whole and all(
        number <= of_whole.get(at, 0) for at, number in zip(index, count, strict=True)
    )


def begins(run: ReadRun, whole: ReadRun) -> Iterator[tuple[str, bool]]:
    """For everything that is in the order of time, whether the run has a beginning of the whole file's."""
    of_whole = get_sequences(whole)
    for name, found in get_sequences(run).items():
        expected = of_whole.get(name, [])
        are_points = name.startswith("log ") and whole.format != "hdr-log"
        if are_points:
            found, expected = [by_second(one) for one in found], [by_second(one) for one in expected]
        is_open = bool(found) and len(found) <= len(expected)
        if is_open and name == "status":
            is_open = is_part_of(found[-1], expected[len(found) - 1])
        elif is_open and are_points:
            is_open = is_part_of_second(found[-1], expected[len(found) - 1])
        else:
            is_open = is_open and found[-1] == expected[len(found) - 1]
        yield name, not found or (is_open and found[:-1] == expected[: len(found) - 1])


def check_part(
    part: tuple[ReadFile, ...], whole: tuple[ReadFile, ...], at_line_ends: list[tuple[ReadFile, ...]]
) -> None:
    """What was read of the beginning of a file, against the whole file and against the file cut at ends of lines.

    Formats that report again and again say other things in the middle of a file than at its end.
    """
    check(part)
    runs, of_whole = get_runs(part), get_runs(whole)
    assert len(runs) <= len(of_whole)
    for at, run in enumerate(runs):
        if run.complete:
            is_told = any("missing" in note.text for note in run.warnings)
            assert is_told or read_values(run) == read_values(of_whole[at]), "a part of a run counts as the whole of it"
        if run.format not in COMPUTED:
            values = read_values(run)
            others = [of_whole, *(get_runs(other) for other in at_line_ends)]
            known = [read_values(other[at]) for other in others if at < len(other)]
            wrong = {name: value for name, value in values.items() if all(one.get(name) != value for one in known)}
            assert not wrong, "numbers that the file does not state"
        for name, is_beginning in begins(run, of_whole[at]):
            assert is_beginning, name
        for log in run.logs:
            operation = run.operations.get(log.operation)
            assert operation is None or operation.count == log.total


def cuts(content: bytes) -> Iterator[int]:
    """Every byte of a short file; of a longer one every sixth, and those around the ends of its lines."""
    step = 1 if len(content) < 600 else 6
    for at in range(len(content)):
        if at % step == 0 or b"\n" in content[max(at - 2, 0) : at + 2]:
            yield at


def check_cuts(name: str, places: Iterator[int]) -> None:
    content = SAMPLES[name]
    whole = read(content, name)
    assert get_runs(whole), whole
    line_ends: dict[int, tuple[ReadFile, ...]] = {}
    for at in places:
        around = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at) + 1 or len(content)
        line_ends = {end: line_ends.get(end) or read(content[:end], name) for end in around}
        try:
            check_part(read(content[:at], name), whole, list(line_ends.values()))
        except AssertionError as error:
            error.add_note(f"{name} cut after {at} bytes: ...{content[max(at - 60, 0) : at]!r}")
            raise


@pytest.mark.slow
@each_sample
def test_it_takes_no_cut_number_for_a_whole_one(name):
    check_cuts(name, cuts(SAMPLES[name]))


@pytest.mark.long
@each_sample
def test_reads_no_truncated_number_as_whole_at_any_cut(name):
    check_cuts(name, iter(range(len(SAMPLES[name]))))


@pytest.mark.parametrize("name", ["summary.txt", "READ.hdr", "go.txt"])
def test_it_reads_what_a_cut_gzip_still_holds(name):
    content = SAMPLES[name]
    packed = gzip.compress(content, mtime=0)
    whole = read(content, name)
    for at in range(0, len(packed), 5):
        files = read(packed[:at], name)
        check(files)
        for run, of_whole in zip(get_runs(files), get_runs(whole), strict=False):
            assert not run.complete or states(run, of_whole), at
        assert all(file.error or file.warnings for file in files), at


def test_it_refuses_a_cut_zip():
    packed = zipped({"output.txt": SAMPLES["summary.txt"]})
    for at in range(0, len(packed), 3):
        files = read(packed[:at])
        check(files)
        assert not get_runs(files), at


@quick
@given(st.binary(max_size=3000))
def test_it_never_raises_on_any_bytes(content):
    check(read(content))


@quick
@given(st.text(st.sampled_from('[]{}(),:;.-=+"#|* \t\n\0019nNaE\x1bREADops'), max_size=1500))
def test_it_never_raises_on_what_looks_like_an_output(text):
    check(read(text.encode()))


@pytest.mark.slow
@quick
@given(st.data())
def test_it_never_raises_on_outputs_with_parts_moved(data):
    """A slice taken out, written somewhere else, of the same or another format."""
    taken = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    into = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    start, length = data.draw(st.integers(0, len(taken) - 1)), data.draw(st.integers(0, 400))
    at, gone = data.draw(st.integers(0, len(into))), data.draw(st.integers(0, 200))
    check(read(into[:at] + taken[start : start + length] + into[at + gone :]))


def check_flips(seeds: Iterator[int]) -> None:
    samples = [pack(content) for content in SAMPLES.values() for pack in (PACKINGS["plain"],) * 4 + (PACKINGS["gzip"],)]
    for seed in seeds:
        content = flipped(samples[seed % len(samples)], seed)
        try:
            check(read(content))
        except Exception as error:
            error.add_note(f"seed {seed}: {content!r}")
            raise


@pytest.mark.slow
def test_it_survives_flipped_bytes():
    check_flips(iter(range(0, FLIPS, 20)))


@pytest.mark.long
def test_it_survives_ten_thousand_times_flipped_bytes():
    check_flips(iter(range(FLIPS)))


@pytest.mark.parametrize("packing", PACKINGS)
@each_sample
def test_it_reads_the_same_however_it_is_packed(name, packing):
    plain, packed = get_runs(read(SAMPLES[name], name)), get_runs(read(PACKINGS[packing](SAMPLES[name]), name))
    assert len(plain) == len(packed) >= 1
    assert all(states(a, b) and a.complete == b.complete for a, b in zip(plain, packed, strict=True))


@each_sample
def test_it_reads_on_behind_nul_bytes(name):
    """Zeros in front, as of a file that was preallocated or recovered: the same or an error, nothing in between."""
    whole = get_runs(read(SAMPLES[name], name))
    for files in (read(bytes(5000) + b"\n" + SAMPLES[name], name), read(SAMPLES[name] + bytes(5000), name)):
        check(files)
        for run, of_whole in zip(get_runs(files), whole, strict=False):
            assert not run.complete or read_values(run) == read_values(of_whole)

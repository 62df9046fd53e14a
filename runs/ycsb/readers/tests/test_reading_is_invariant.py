"""What does not change what a file says: how it arrives, how its lines end, how it is encoded, what stands between."""

import io
import random

import pytest
from hypothesis import given, settings, strategies as st

from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile
from runs.ycsb.readers.tests.damage import PACKINGS, SAMPLES, get_runs, get_sequences, read, read_values

each_sample = pytest.mark.parametrize("name", SAMPLES)
# What drivers, log frameworks and wrappers print between the lines of a client.
NOISE = (
    b"2023-06-05 16:13:47,477 WARN  [main] driver.Session - [connectionId{localValue:2, serverValue:15}]",
    b"[WARN]  Running against external dependencies, which may be out of date",
    b'SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".',
    b"\tat com.mongodb.connection.BaseCluster.selectServer(BaseCluster.java:104)",
    b'Exception in thread "main" java.lang.IllegalStateException: state should be: open [5, 6], [7]',
    b"DBWrapper: report latency for each error is false and specific error codes to track for latency are: []",
    b"",
    b"   ",
    b"Nov 21, 2026 4:04:39 AM com.mongodb.diagnostics.logging.JULLogger log",
    b"caf\xe9: not UTF-8 \x80",
)
# JSON is no lines, a histogram log with other lines between is no log, and YCSB-C writes heading and row at once.
NOISY = [name for name in SAMPLES if not name.endswith((".json", ".hdr")) and name != "ycsb-c.txt"]
ENCODINGS = {
    "utf-8 with a mark": "utf-8-sig",
    "utf-16": "utf-16",
    "utf-16 little-endian": "utf-16-le",
    "utf-16 big-endian": "utf-16-be",
}


class Chunked(io.RawIOBase):
    """A file that comes in pieces of any size, as a socket gives them."""

    def __init__(self, content: bytes, seed: int, most: int) -> None:
        self._content, self._at = content, 0
        self._chance, self._most = random.Random(seed), most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        wanted = self._chance.randint(1, self._most)
        piece = self._content[self._at : self._at + (wanted if size < 0 else min(size, wanted))]
        self._at += len(piece)
        return piece


def said(files: tuple[ReadFile, ...]) -> list[object]:
    """All that a reading says, but for where in the file it says it."""
    assert get_runs(files), files
    return [
        (run.format, run.phase, run.complete, run.version, read_values(run), get_sequences(run), dict(run.properties))
        for run in get_runs(files)
    ]


@pytest.mark.slow
@each_sample
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    most=st.sampled_from([1, 7, 100, 5000]),
    packing=st.sampled_from(["plain", "gzip", "zstd"]),
)
def test_it_does_not_matter_in_what_pieces_a_file_arrives(name, packing, seed, most):
    stream = Chunked(PACKINGS[packing](SAMPLES[name]), seed, most)
    assert said(read_file(name, stream)) == said(read(SAMPLES[name], name))


@pytest.mark.parametrize("end", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
@each_sample
def test_it_does_not_matter_how_lines_end(name, end):
    assert said(read(SAMPLES[name].replace(b"\n", end), name)) == said(read(SAMPLES[name], name))


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
@each_sample
def test_it_does_not_matter_how_text_is_encoded(name, encoding):
    text = SAMPLES[name].decode()
    assert said(read(text.encode(encoding), name)) == said(read(SAMPLES[name], name))


@pytest.mark.parametrize("name", NOISY)
def test_it_does_not_matter_that_lines_are_coloured(name):
    lines = SAMPLES[name].splitlines(keepends=True)
    coloured = b"".join(b"\x1b[32m" + line.rstrip(b"\n") + b"\x1b[0m\n" for line in lines)
    assert said(read(coloured, name)) == said(read(SAMPLES[name], name))


@pytest.mark.slow
@pytest.mark.parametrize("name", NOISY)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_it_does_not_matter_what_stands_between_the_lines(name, seed):
    chance = random.Random(seed)
    lines: list[bytes] = []
    for line in SAMPLES[name].splitlines():
        lines += chance.sample(NOISE, chance.choice([0, 0, 1, 2]))
        lines.append(line)
    assert said(read(b"\n".join(lines) + b"\n", name)) == said(read(SAMPLES[name], name))


@each_sample
def test_it_does_not_matter_what_a_file_is_called(name):
    for other in ("x", "summary.json", "READ.txt", "a/b/c.csv"):
        mine, theirs = said(read(SAMPLES[name], other)), said(read(SAMPLES[name], name))
        if not name.endswith(".hdr"):  # without its heading a log is named by its file
            assert mine == theirs


@each_sample
def test_it_reads_a_file_twice_the_same(name):
    assert read(SAMPLES[name], name)[0].size == read(SAMPLES[name], name)[0].size == len(SAMPLES[name])
    assert said(read(SAMPLES[name], name)) == said(read(SAMPLES[name], name))

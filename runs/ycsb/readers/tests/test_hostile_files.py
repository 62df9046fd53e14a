"""Files made to cost more than they are: bombs, endless lines, endless names, numbers without end, slow patterns."""

import gzip
import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard

from runs.ycsb.files import limits
from runs.ycsb.readers import read_file, text as text_reader
from runs.ycsb.readers.tests.damage import SAMPLES, get_runs, overlapping_zip, packed_zeros, read, tarred, zipped

MIB = 1 << 20
MAX_NAMES = 1_000  # of operations, keys or codes in one run, whatever its file says


class Repeated(io.RawIOBase):
    """A file of `size` bytes that repeats one piece, and is nowhere whole."""

    def __init__(self, piece: bytes, size: int) -> None:
        self._piece, self._left = piece * max(1, (1 << 18) // len(piece)), size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        taken = self._piece[: min(len(self._piece), self._left, size if size >= 0 else self._left)]
        self._left -= len(taken)
        return taken


def get_errors(content: bytes) -> list[str]:
    files = read(content)
    assert not get_runs(files)
    return [file.error or "" for file in files]


# --- Bombs ---


@pytest.mark.slow
def test_it_stops_a_gzip_that_becomes_a_gigabyte():
    bomb = packed_zeros(32 * MIB) * 32
    assert len(bomb) < 1.1 * MIB
    (error,) = get_errors(bomb)
    assert "packed too tightly" in error


@pytest.mark.slow
def test_it_stops_bombs_in_bombs():
    inner = packed_zeros(64 * MIB)
    for bomb in (gzip.compress(gzip.compress(inner)), zipped({"a.gz": inner}), tarred({"a.gz": inner})):
        assert any("packed too tightly" in error for error in get_errors(bomb))


def test_it_stops_a_zstd_bomb():
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(64)) + packer.flush()
    assert len(bomb) < 64 * 1024
    assert any("packed too tightly" in error for error in get_errors(bomb))


def test_it_stops_a_zip_whose_members_overlap():
    bomb = overlapping_zip(entries=250, size=MIB)
    assert len(bomb) < 32 * 1024
    assert all(get_errors(bomb))


def test_it_stops_zips_in_zips_in_zips():
    bomb = zipped({f"{at}.txt": bytes(100_000) for at in range(16)})
    for _ in range(3):
        bomb = zipped({f"{at}.zip": bomb for at in range(16)})
    assert all(get_errors(bomb))


def test_it_unpacks_only_so_many_layers():
    content = SAMPLES["summary.txt"]
    for _ in range(20):
        content = gzip.compress(content)
    assert "packed more than" in get_errors(content)[0]


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_it_opens_only_so_many_members(pack, monkeypatch):
    monkeypatch.setattr(limits, "MAX_MEMBERS", 100)
    packed = pack({f"{at}.txt": b"x" for at in range(300)})
    files = read_file("many", io.BytesIO(packed))
    assert len(files) <= 101
    assert "more than 100 members" in (files[-1].error or "")


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "C:\\windows\\a.txt", "a\0b", "\x1b[31mred", "x" * 9000]
)
def test_it_opens_nothing_by_a_members_path(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in [*read(tarred({path: SAMPLES["summary.txt"]})), *read(zipped({path: SAMPLES["summary.txt"]}))]:
        assert ".." not in file.name.split("/") and file.name.isprintable() and len(file.name) < 400
    assert not list(tmp_path.iterdir())


# --- Lines, names and numbers without end ---


@pytest.mark.slow
@pytest.mark.parametrize(("piece", "size"), [(b"x", 100), (b"[READ], 1, ", 1), (b"[", 1), (b"9", 1)])
def test_it_reads_megabytes_without_a_line_end(piece, size):
    (file,) = read_file("long.txt", Repeated(piece, size * MIB))
    assert file.error or not any(run.complete for run in file.runs)


def test_it_reads_on_behind_a_line_that_is_too_long(monkeypatch):
    monkeypatch.setattr(limits, "MAX_LINE_LENGTH", 65_536)
    content = SAMPLES["summary.txt"]
    first, rest = content.split(b"\n", 1)
    (file,) = read_file("a.txt", io.BytesIO(first + b"\n" + b"y" * 200_000 + b"\n" + rest))
    assert get_runs([file])[0].operations.keys() == get_runs(read(content))[0].operations.keys()
    assert any("200,000 bytes" in note.text for note in file.warnings)


HUGE = b"9" * 6000  # beyond what int() reads of a text
NUMBERS = [HUGE, b"-" + HUGE, b"1e999", b"-1e999", b"1e-999", b"0x10", b"1_000", b"NaN", b"Infinity", b"", b"-", b".",
           b"9223372036854775808", b"1.2.3", b"+5", b"0" * 25 + b"1",
           "\u0663\u0664".encode(), "\uff11\uff12".encode()]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_it_reads_numbers_nobody_would_write(name):
    """Each number of the first lines replaced by every kind of odd one."""
    content = SAMPLES[name]
    places = [match.span() for match in re.finditer(rb"(?<![\w.])\d+(?:\.\d+)?", content)]
    for start, end in places[:: max(1, len(places) // 4)]:
        for number in NUMBERS:
            for file in read(content[:start] + number + content[end:], name):
                assert file.error or file.runs


DEEP = [b"[" * 500_000, b"{" * 500_000, b'{"metric":' * 100_000, b'[{"metric" : "A", "measurement" : ' + b"[" * 500_000,
        b'{"metric" : "READ", "measurement" : "x", "value" : ' + b"[" * 200_000 + b"]" * 200_000 + b"}"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("content", DEEP, ids=range(len(DEEP)))
def test_it_reads_json_of_any_depth(content):
    exporter = SAMPLES["exporter.json"]
    for text in (content, exporter + content, content + b"\n" + exporter):
        for file in read(text, "deep.json"):
            assert file.error or file.runs


NAMED = {
    "text": b"[%b], Operations, 1\n",
    "status": b"2026-11-21 04:04:39:348 4 sec: 194 operations; 61.5 current ops/sec; [%b: Count=1, Max=1, Avg=1]\n",
    "load-generator": b"[%b] Operations, 1\n",
    "go": b"%b - Takes(s): 1.0, Count: 1, OPS: 1.0, Avg(us): 1, Min(us): 1, Max(us): 1, 99th(us): 1\n",
    "raw": b"%b,1795244306400,12\n",
    "go-csv": b"%b,1795244306400000,12\n",
    "keys": b"[READ], Key%b, 1\n",
    "returns": b"[READ], Return=%b, 1\n",
    "series": b"[READ], %b, 12.5\n",
    "percentiles": b"[READ], 12.5%bthPercentileLatency(us), 1\n",
    "command": b"Command line: -p %b=1\n",
    "json": b'{ "metric" : "%b", "measurement" : "Operations", "value" : 1 }\n',
}
BEGINNINGS = {
    "raw": b"READ latency raw data: op, timestamp(ms), latency(us)\n",
    "go-csv": b"operation,timestamp_us,latency_us\n",
}


def get_name(number: int) -> bytes:
    """A name of letters only, as some formats want them."""
    return bytes(65 + (number // 26**at) % 26 for at in range(6))


def check_names(kind: str, count: int) -> None:
    each = (str(at).encode() if kind in ("series", "percentiles") else get_name(at) for at in range(count))
    content = BEGINNINGS.get(kind, b"[OVERALL], RunTime(ms), 1000\n" if kind not in ("json", "go") else b"")
    content += b"".join(NAMED[kind] % name for name in each)
    for run in get_runs(read(content)):
        assert max(len(run.operations), len(run.logs), len(run.properties)) <= MAX_NAMES
        for operation in run.operations.values():
            assert len(operation.returns) + len(operation.extra) + len(operation.percentiles_us) <= MAX_NAMES


@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMED)
def test_it_keeps_only_so_many_names(kind):
    check_names(kind, 4_000)


@pytest.mark.long
@pytest.mark.parametrize("kind", NAMED)
def test_it_keeps_only_so_many_of_a_hundred_thousand_names(kind):
    check_names(kind, 100_000)


# --- Memory ---

MEASURE = """
import resource, sys
from runs.ycsb.readers import read_file
from runs.ycsb.readers.tests.test_hostile_files import STREAMS, Counted
piece = STREAMS[sys.argv[1]]
read_file("warm.txt", Counted(piece, 100_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
read_file("big.txt", Counted(piece, int(sys.argv[2])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
ROOT = Path(__file__).parents[4]
MAX_KIB = 256 * 1024  # of memory, for a file of any size
# One line each; where it has a place for it, every line holds another number.
STREAMS = {
    "summary": b"[READ], Operations, %d\n",
    "noise": b"2023-06-05 16:13:47,477 WARN [main] driver.Session - [connectionId{localValue:%d}] slow\n",
    "series": b"[READ], %d, 12.5\n",
    "returns": b"[READ], Return=E%d, 1\n",
    "status": b"2026-11-21 04:04:39:348 %d sec: 194 operations; 61.5 current ops/sec; [READ: Count=1, Max=1, Avg=1]\n",
    "raw": b"READ,1795%09d,12435\n",
    "go": b"READ   - Takes(s): 10.0, Count: %d, OPS: 21650.8, Avg(us): 246, Min(us): 2, Max(us): 21183\n",
    "go points": b"READ,1795%012d,12435\n",
    "json": b'{ "metric" : "READ", "measurement" : "Return=E%d", "value" : 1 }\n',
    "exporter's series": b'{ "metric" : "READ", "measurement" : "%d", "value" : 12.5 }\n',
    "log": b"%d.0,1.0,0.1,HISTFAAAACF42pNpmSzMwMDAxAABzFCaEUoz2X+AMIKAA===\n",
    "buckets": b"[GET] %dus - 256us, 732757\n",
}


class Counted(io.RawIOBase):
    """A file of about `size` bytes whose lines are numbered, and that is nowhere whole."""

    def __init__(self, line: bytes, size: int) -> None:
        self._line, self._left, self._number, self._made = line, size, 0, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while len(self._made) < size and self._left > 0:
            made = b"".join(self._line % (self._number + at) for at in range(1000))
            self._number += 1000
            self._left -= len(made)
            self._made += made
        taken, self._made = self._made[:size], self._made[size:]
        return taken


def measure_memory(kind: str, size: int) -> int:
    """KiB that reading a file of one kind took at most, beyond a short one's, in a process of its own."""
    argv = [sys.executable, "-c", MEASURE, kind, str(size)]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT).stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["status", "raw"])
def test_it_needs_little_memory(kind):
    assert measure_memory(kind, 4 * MIB) < MAX_KIB // 2


@pytest.mark.long
@pytest.mark.parametrize("kind", STREAMS)
def test_it_needs_no_more_memory_for_a_longer_file(kind):
    assert measure_memory(kind, 96 * MIB) < MAX_KIB


# --- Time ---

# Lines on which a pattern that goes back and forth takes for ever.
SLOW = {
    "brackets": b"[",
    "closing": b"],",
    "commas": b",",
    "digits": b"9",
    "blanks": b" ",
    "tabs and bars": b"\t|",
    "letters": b"A",
    "quotes": b'"',
    "equals": b"=",
    "operations": b"[READ: Count=1, ",
    "pairs": b"Count=1, Max=1, ",
    "metrics": b"[READ], ",
    "seconds": b" sec: 1 operations; ",
    "colons": b"1:",
    "escapes": b"\x1b[",
    "dashes": b"- Takes(s): ",
    "json": b'"metric" : "A", ',
    "histograms": b"HISTFAAAA",
    "slashes": b"\\",
    "command": b" -p a=",
    "urls": b"mongodb://a:b@",
    "words": b"password=",
}
# What lines of the formats begin with; nothing is the way to whatever tells formats apart.
PREFIXES = {
    "nothing": b"",
    "status": b"2026-11-21 04:04:39:348 4 sec: 19467 operations; ",
    "summary": b"[READ], Operations, 1\n[READ], ",
    "command": b"Command line: ",
    "go": b"READ   - Takes(s): 10.0, Count: 1, ",
    "raw": b"operation,timestamp_us,latency_us\nREAD,",
    "load-generator": b"[GET] Operations, 1\n[GET] ",
    "log": b"#[Histogram log format version 1.3]\n",
    "json": b'{ "metric" : "READ", "measurement" : "Operations", "value" : 1 } ',
    "table": b"|  OPERATION  | TAKES(S) |\n|",
}


def seconds(content: bytes) -> float:
    """Processor time of one reading."""
    start = time.process_time()
    read(content)
    return time.process_time() - start


def check_time(kind: str, prefix: bytes) -> None:
    """A line of 32 KiB against one of 256: eight times the work, where a square of it would be 64 times."""
    short, long = (prefix + SLOW[kind] * (size // len(SLOW[kind])) for size in (MIB // 32, MIB // 4))
    once, spent = (min(seconds(lines) for _ in range(2)) for lines in (short, long))
    assert spent < 0.3 or spent < 25 * once, (kind, prefix, once, spent)


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["nothing", "status", "summary"])
def test_it_takes_time_in_proportion(prefix):
    for kind in SLOW:
        check_time(kind, PREFIXES[prefix])


@pytest.mark.long
@pytest.mark.parametrize("prefix", PREFIXES)
def test_it_takes_time_in_proportion_whatever_a_line_begins_with(prefix):
    for kind in SLOW:
        check_time(kind, PREFIXES[prefix])


def test_what_is_read_can_be_written_as_json():
    for name, content in SAMPLES.items():
        for run in get_runs(read(content, name)):
            json.dumps(
                {key: dict(operation.percentiles_us) for key, operation in run.operations.items()}, allow_nan=False
            )


def test_totals_behind_endless_rows_are_read(monkeypatch):
    monkeypatch.setattr(text_reader, "_MAX_ROWS", 50)
    rows = "".join(f"[READ], {second * 100}, 7.5\n" for second in range(80))
    head = "[OVERALL], RunTime(ms), 8000\n[OVERALL], Throughput(ops/sec), 10.0\n[READ], Operations, 80\n"
    (run,) = get_runs(read((head + rows + "[UPDATE], Operations, 5\n[UPDATE], Return=OK, 5\n").encode()))
    assert (run.operations["READ"].count, len(run.operations["READ"].series)) == (80, 49)
    assert run.operations["UPDATE"].returns == {"OK": 5}
    assert any("not kept" in note.text for note in run.warnings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["", "[OVERALL], RunTime(ms), 1000\n", "[OVERALL], RunTime(ms), 1000\nException in thread "]
)
def test_no_cut_uncovers_a_password(kind):
    for length in range(150, 1_050, 4):
        content = f"{kind}{'x' * length} mongodb://bench:hunter2secret@db:27017/ycsb\n"
        assert "hunter2" not in repr(read(content.encode()))

"""A file is given to the reader of its format, however late that shows; what is no output is refused with a reason."""

import io
import zipfile

import pytest

from runs.ycsb.block import Block
from runs.ycsb.files import limits
from runs.ycsb.readers import file_reader, read_file
from runs.ycsb.readers.detect import detect
from runs.ycsb.readers.refusal import closest_lines
from runs.ycsb.readers.results import ReadFile

SUMMARY = b"[OVERALL], RunTime(ms), 1000\n[OVERALL], Throughput(ops/sec), 5.0\n[READ], Operations, 5\n"


def parse_file(data: bytes) -> ReadFile:
    (file,) = read_file("a.txt", io.BytesIO(data))
    return file


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"[READ], Operations, 5", "ycsb-text"),
        (b"    [READ], Operations, 5", "ycsb-text"),
        (b"client-1  | [READ], Operations, 5", "ycsb-text"),
        (b"2026-11-21 03:49:02:245 10 sec: 5 operations; 0.5 current ops/sec; ", "ycsb-text"),
        (b" 10 sec: 5 operations; 0,5 current ops/sec; ", "ycsb-text"),
        (b"YCSB Client 0.17.0", "ycsb-text"),
        (b"java -cp x com.yahoo.ycsb.Client -t", "ycsb-text"),
        (b"READ latency raw data: op, timestamp(ms), latency(us)", "ycsb-raw"),
        (b"READ,1458262912345,834\nREAD,1458262912346,835", "ycsb-raw"),
        (b'  "metric" : "OVERALL",', "ycsb-json"),
        (b'[{"metric":"OVERALL","measurement":"RunTime(ms)","value":1}]', "ycsb-json"),
        (b"#[Logging for: READ]", "hdr-log"),
        (b"0.127,9.999,0.265,HISTgg", "hdr-log"),
        (b"Tag=READ,0.127,9.999,0.265,HISTFA", "hdr-log"),
        (b"READ   - Takes(s): 10.0, Count: 5, OPS: 1.0", "go-ycsb"),
        (b"READ - Count: 5, Avg(us): 1", "go-ycsb"),
        (b"***************** properties *****************", "go-ycsb"),
        (b'[{"Avg(us)":"293","Count":"25030","Operation":"READ","Takes(s)":"14.7"}]', "go-ycsb-json"),
        (b"|     OPERATION     | TAKES(S) | COUNT |", "go-ycsb-table"),
        (b"operation,timestamp_us,latency_us", "go-ycsb-csv"),
        (b"[OVERALL] RunTime(ms), 30008.0", "load-generator"),
        (b"Load runtime(sec): 1.25", "ycsb-cpp"),
        (b"2024-01-28 19:34:32 0 sec: 0 operations;", "ycsb-cpp"),
        (b"# Loading records:\t5", "ycsb-c"),
        (b"[WARN] Running against external dependencies", None),
        (b"[2023-06-05] INFO, something, 5", None),
        (b"Processed 5 operations in 10 sec", None),
    ],
)
def test_a_line_tells_the_format(line, expected):
    assert detect(line + b"\n", is_beginning=True) == expected
    assert detect(b"chatter\n" * 20_000 + line + b"\nmore\n") == (None if line.startswith(b"READ,") else expected)


def test_the_first_line_that_tells_decides():
    go = b"READ   - Takes(s): 10.0, Count: 5, OPS: 1.0\n"
    assert detect(SUMMARY + go) == "ycsb-text"
    assert detect(go + SUMMARY) == "go-ycsb"


@pytest.mark.slow
def test_a_format_may_show_late():
    chatter = b"2023-06-05 16:13:47,477 INFO  something\n" * 250_000
    file = parse_file(b"password=hunter2\n" + chatter + SUMMARY)
    assert file.error is None
    assert file.runs[0].operations["READ"].count == 5
    assert file.runs[0].last_line == 250_004
    assert file.size == 17 + len(chatter) + len(SUMMARY)


def test_of_endless_chatter_little_is_held(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_reader, "_MAX_UNRECOGNISED", 1000)
    waiting = file_reader._Front("a.txt")
    for number in range(50):
        waiting.feed(Block(b"chatter\n" * 100, 100 * number + 1))
    assert sum(len(block.data) for block in waiting._blocks) <= 2 * 800
    assert waiting.lines == 5000


# --- Refusals ---


def test_an_empty_file_is_called_empty():
    for data in (b"", b"\n\n  \n", b"\xef\xbb\xbf"):
        assert "empty" in (parse_file(data).error or "")


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (b"BZh91AY&SY", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "image"),
        (b"\x7fELF\2\1\1", "program"),
        (b"\1\2\3\4\5\6\7" * 50, "binary"),
    ],
)
def test_a_binary_file_is_named(head, word):
    error = parse_file(head + bytes(range(256))).error or ""
    assert word in error
    assert "unpack" in error or "text" in error


def test_a_table_made_of_outputs_is_told_from_an_output():
    error = parse_file(
        b",[OVERALL] Throughput(ops/sec),[READ] Operations,[READ] AverageLatency(us)\n0,399.6,4955.0,1903.5\n"
    ).error
    assert error and error.startswith("This is a table made of outputs")


def test_properties_are_told_from_an_output():
    error = parse_file(b"# written by hand\ndb=site.ycsb.BasicDB\nredis.password=hunter2\nthreadcount=4\n").error or ""
    assert error.startswith("These are properties")
    assert "hunter2" not in error


def test_the_lines_that_come_closest_are_quoted_without_secrets():
    text = b"hello\nworld\nmongodb://me:hunter2@host took 12 ms\nread throughput was 5 ops/sec\n[READ] something\n"
    error = parse_file(text).error or ""
    assert "line 3: mongodb://me:[redacted]@host" in error
    assert "line 4: read throughput" in error
    assert "line 5: [READ] something" in error
    assert "5 lines" in error
    assert [line.line for line in closest_lines(Block(text, 1))] == [3, 4, 5]


def test_a_client_without_a_result_is_told_from_a_foreign_file():
    error = parse_file(b"YCSB Client 0.17.0\nLoading workload...\nStarting test.\n").error or ""
    assert error.startswith("The client printed no result")
    assert "What it printed instead: line 2: Loading" in error and "closest" not in error


@pytest.mark.parametrize("name", ["java com.yahoo.ycsb.Client [options]", "bin/ycsb command database [options]"])
def test_the_help_of_a_client_is_no_killed_client(name: str):
    text = f"Usage: {name}\nOptions:\n  -threads n: execute using n threads (default: 1)\n  -target n: operations\n"
    error = parse_file(text.encode()).error or ""
    assert "nothing was run" in error and "killed" not in error


def zipped(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def test_each_member_has_its_own_answer():
    files = read_file("run.zip", io.BytesIO(zipped({"a.txt": SUMMARY, "b.txt": b"nothing\n", "c.txt": SUMMARY})))
    assert [(file.name, file.error is None) for file in files] == [
        ("run.zip/a.txt", True), ("run.zip/b.txt", False), ("run.zip/c.txt", True),
    ]  # fmt: skip
    (empty,) = read_file("run.zip", io.BytesIO(zipped({})))
    assert empty.error == "The archive has no files in it."


def test_nothing_is_used_of_a_bomb(monkeypatch):
    monkeypatch.setattr(limits, "MAX_EXPANDED_BYTES", len(SUMMARY))
    packed = zipped({"a.txt": SUMMARY, "b.txt": b"x" * 9})
    (file,) = read_file("run.zip", io.BytesIO(packed))
    assert (file.name, file.runs) == ("run.zip", ())
    assert "packed too tightly" in (file.error or "")

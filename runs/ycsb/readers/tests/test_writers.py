"""Whose line it is, in files into which several clients wrote: log shippers, shells on many hosts, headlines."""

import io
import re
from datetime import datetime, timedelta

import pytest

from runs.ycsb.clients import merge_run
from runs.ycsb.file_grouping import group
from runs.ycsb.readers import read_file
from runs.ycsb.readers.results import ReadFile
from runs.ycsb.readers.tests.samples import metric

DAY = "2026-03-01"


def client(number: int, *, runtime_s: int = 60, begins_s: int = 0, dated: bool = True) -> list[str]:
    """The lines of a client whose counts tell it from the others."""
    rate = 1000 + 100 * number
    lines = ["Command line: -t -db site.ycsb.db.RedisClient -threads 4", "YCSB Client 0.17.0", "Starting test."]
    for second in range(10, runtime_s + 1, 10):
        at = begins_s + second
        date = f"{DAY} 00:{at // 60:02}:{at % 60:02}:000 " if dated else " "
        lines.append(
            f"{date}{second} sec: {rate * second} operations; {rate:.1f} current ops/sec; "
            f"[READ: Count={rate * 10}, Max=9000, Min=100, Avg=500.5, 90=900, 99=2000, 99.9=3000, 99.99=4000] "
        )
    lines += [f"[OVERALL], RunTime(ms), {runtime_s * 1000}", f"[OVERALL], Throughput(ops/sec), {rate:.1f}"]
    return lines + metric("READ", rate * runtime_s).splitlines()


def interleaved(*clients: list[str]) -> list[tuple[int, str]]:
    longest = max(map(len, clients))
    return [(number, lines[at]) for at in range(longest) for number, lines in enumerate(clients) if at < len(lines)]


def read(text: str | bytes, name: str = "all.log") -> ReadFile:
    (file,) = read_file(name, io.BytesIO(text.encode() if isinstance(text, str) else text))
    return file


FRONTS = {
    "docker compose": "ycsb-{} | ",
    "docker swarm": "bench_ycsb.{0}.x7k2p9@node{0}    | ",
    "kubectl": "[pod/ycsb-{}/main] ",
    "kubectl with times": "[pod/ycsb-{}/main] 2026-03-01T00:00:{:02}.123456789Z ",
    "pdsh": "node0{}: ",
    "clush": "node{}.example.org: ",
    "stern": "ycsb-{} client ",
    "stern with times": "ycsb-{} client 2026-03-01T00:00:{:02}.1Z ",
    "journald": "Mar 01 00:00:{1:02} loader{0} ycsb[4{0}0]: ",
    "journald of one host": "Mar 01 00:00:{1:02} host ycsb[4{0}0]: ",
    "syslog ISO": "2026-03-01T00:00:{1:02}.123456+01:00 loader{0} ycsb[77]: ",
    "fabric": "[loader{}] out: ",
    "Ansible": "loader{} | ",
    "capistrano": " [loader{} :: out] ",
    "log4j": "2026-03-01 00:00:{1:02},123 INFO  [main] client-{0} - ",
    "numbered": "{1:6}\tloader{0}: ",
    "grep": "results/run-{}.txt:",
    "spdlog": "[2026-03-01 00:00:{1:02}.062] [info] Task ycsb[{0}], stdout: ",
    "GNU parallel": "loader{}\t",
    "logfmt": "host=loader{} msg=",
    "columns": "loader{},2026-03-01T00:00:{:02}Z,",
    "mpirun": "[1,{}]<stdout>:",
    "RFC 5424": "<14>1 2026-03-01T00:00:{1:02}.1Z loader{0} ycsb 77 - - ",
    "foreman": "09:00:{1:02} ycsb.{0} | ",
}


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS.keys())
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_tells_clients_apart(front: str, ending: str):
    lines = interleaved(client(1), client(2), client(3))
    text = "".join(front.format(number + 1, at % 60) + line + ending for at, (number, line) in enumerate(lines))
    (run,) = group([read(text)])

    summaries = [client.summary for client in run.clients if client.summary is not None]
    throughputs = [summary.throughput_ops_s for summary in summaries]
    assert sorted(filter(None, throughputs)) == [1100, 1200, 1300]
    assert all(len(summary.status) == 6 for summary in summaries)


HEADLINES = {
    "tail": "==> client-{}.txt <==\n",
    "dshbak": "----------------\nloader{}\n----------------\n",
    "more": "::::::::::::::\nclient-{}.txt\n::::::::::::::\n",
    "pssh": "[{}] 00:01:10 [SUCCESS] loader{}\n",
    "Ansible": "loader{} | CHANGED | rc=0 >>\n",
}


@pytest.mark.parametrize("headline", HEADLINES.values(), ids=HEADLINES.keys())
@pytest.mark.parametrize("dated", [True, False])
def test_takes_sections_for_clients(headline: str, dated: bool):
    text = "".join(headline.format(number, number) + "\n".join(client(number, dated=dated)) + "\n" for number in (1, 2))

    (run,) = group([read(text)])

    assert len(run.clients) == 2


def test_takes_clients_of_one_time_for_one_run():
    """As `cat client*.txt` leaves them."""
    text = "\n".join([*client(1), *client(2), *client(3, begins_s=5)]) + "\n"
    assert [len(run.clients) for run in group([read(text)])] == [3]


def test_takes_clients_one_after_the_other_for_runs():
    text = "\n".join([*client(1), *client(2, begins_s=90)]) + "\n"
    files = [read(text)]
    assert [len(run.clients) for run in group(files)] == [1, 1]
    apart = group(files, together=True)
    assert [len(run.clients) for run in apart] == [1, 1]
    assert apart[0].notes[0].code == "runs_in_sequence"


def test_believes_that_undated_clients_were_of_one_run():
    files = [read("\n".join([*client(1, dated=False), *client(2, dated=False)]) + "\n")]
    assert [len(run.clients) for run in group(files)] == [1, 1]
    assert [len(run.clients) for run in group(files, together=True)] == [2]


@pytest.mark.parametrize("dated", [True, False])
def test_refuses_mixed_status_lines(dated: bool):
    """Without anything in front nobody can say whose they are."""
    file = read("\n".join(line for _, line in interleaved(client(1, dated=dated), client(5, dated=dated))) + "\n")

    assert not file.runs
    assert file.error is not None
    assert re.match(r"Several clients wrote into this file at once: line \d+ goes on from none", file.error)


@pytest.mark.parametrize("front", ["+", "> ", "null_resource.ycsb (remote-exec): "])
def test_reads_behind_any_front(front: str):
    """A difference, a quotation, a provisioner."""
    (run,) = read("".join(f"{front}{line}\n" for line in client(1))).runs
    assert (len(run.status), run.throughput_ops_s, run.operations["READ"].count) == (6, 1100, 66_000)


def test_labels_are_no_writers():
    """`-l` stands in front of status lines alone."""
    lines = [f"first try {line}" if " sec: " in line else line for line in client(1)]
    (run,) = read("\n".join(lines) + "\n").runs
    assert (len(run.status), run.throughput_ops_s, run.source) == (6, 1100, "")


def test_one_writer_is_one_client_whatever_stands_in_front():
    """Levels, threads and times differ from line to line."""
    levels = ("INFO ", "WARN ", "ERROR")
    lines = [f"00:00:{at:02}.5 [Thread-{at}] {levels[at % 3]} app - {line}" for at, line in enumerate(client(1))]
    (run,) = group([read("\n".join(lines) + "\n")])
    (alone,) = run.clients
    assert alone.summary is not None
    assert (len(alone.summary.status), alone.summary.throughput_ops_s) == (6, 1100)


def move_dates(lines: list[str], hours: float, after_s: int = 0) -> list[str]:
    """Of the status lines after so many seconds."""
    shift = timedelta(hours=hours)
    moved = []
    for line in lines:
        status = re.match(r"(2026-03-01 \d\d:\d\d:\d\d)(\S* (\d+) sec: .*)", line)
        is_moved = status is not None and int(status[3]) > after_s
        moved.append(f"{datetime.fromisoformat(status[1]) + shift}{status[2]}" if status and is_moved else line)
    return moved


@pytest.mark.parametrize("hours", [2, -5, 5.75, 13])
def test_moves_dates_of_other_time_zones(hours: float):
    """Of clients that are stated to be of one run; the others may have run hours later."""
    first, moved = client(1), move_dates(client(2), hours)
    files = [read("\n".join(first) + "\n", "a/out.txt"), read("\n".join(moved) + "\n", "b/out.txt")]

    (run,) = group(files, together=True)
    merged = merge_run(run)

    assert len(group(files)) == 2
    assert [client.clock_offset_s for client in run.clients] == [0, -hours * 3600]
    assert merged.throughput_ops_s == pytest.approx(2300, rel=0.01)
    assert merged.overlap == pytest.approx(1, abs=0.01)
    assert run.notes[0].code in ("behind_other", "ahead_of_other")


def test_names_possible_time_zones():
    """A schedule starts runs at whole hours too, so that they are of one run must be stated."""
    files = [
        read("\n".join(client(1)) + "\n", "a/out.txt"),
        read("\n".join(move_dates(client(2), 2)) + "\n", "b/out.txt"),
    ]

    runs = group(files)

    assert [[note.code for note in run.notes] for run in runs] == [["may_be_other_zone"]] * 2
    assert "2 h apart" in str(runs[0].notes[0])


@pytest.mark.parametrize("hours", [2, -5, 5.75])
@pytest.mark.parametrize("name", ["b", "b/out.txt"])
def test_takes_stated_offset_for_one_run(hours: float, name: str):
    first, moved = client(1), move_dates(client(2), hours)
    files = [read("\n".join(first) + "\n", "a/out.txt"), read("\n".join(moved) + "\n", "b/out.txt")]

    (run,) = group(files, utc_offsets_s={name: hours * 3600})
    merged = merge_run(run)

    assert [client.clock_offset_s for client in run.clients] == [0, -hours * 3600]
    assert merged.throughput_ops_s == pytest.approx(2300, rel=0.01)
    assert merged.overlap == pytest.approx(1, abs=0.01)
    assert run.notes == ()


def test_takes_offset_stated_for_a_writer():
    """Of two clients in one file, and the other's is detected from it."""
    lines = [*(f"east: {line}" for line in move_dates(client(1), 8)), *(f"west: {line}" for line in client(2))]
    files = [read("\n".join(lines) + "\n")]

    (run,) = group(files, together=True, utc_offsets_s={"west": -3600})

    assert [client.clock_offset_s for client in run.clients] == [-7 * 3600, 3600]
    assert [note.code for note in run.notes] == ["ahead_of_other"]


@pytest.mark.parametrize("together", [False, True])
def test_keeps_stated_offsets_that_part_clients(together: bool):
    """What is stated counts, and what speaks against it is told."""
    files = [read("\n".join(client(number)) + "\n", f"{number}.txt") for number in (1, 2)]

    runs = group(files, together=together, utc_offsets_s={"1.txt": 0, "2.txt": 7200})

    assert [client.clock_offset_s for run in runs for client in run.clients] == [0, -7200]
    assert len(runs) == 1 if together else 2
    assert {note.code for run in runs for note in run.notes} == {"stated_offsets_apart"}
    assert "2 h apart" in str(runs[0].notes[0])


@pytest.mark.parametrize("stated_h", [2, 5])
def test_holds_stated_offset_against_logs(stated_h: int):
    """Raw points and histogram logs count from the epoch."""
    began_ms = int(datetime.fromisoformat(f"{DAY} 00:00:00+02:00").timestamp() * 1000)
    points = "".join(f"READ,{began_ms + at},500\n" for at in range(0, 60_000, 100))
    raw = f"READ latency raw data: op, timestamp(ms), latency(us)\n{points}"
    files = [read("\n".join(client(1)) + "\n", "a/out.txt"), read(raw, "a/raw.txt")]

    (run,) = group(files, utc_offsets_s={"a": stated_h * 3600})

    assert [note.code for note in run.notes if note.code == "offset_contradicts_logs"] == (
        ["offset_contradicts_logs"] if stated_h == 5 else []
    )


def test_says_that_undated_lines_have_no_offset():
    (run,) = group([read("\n".join(client(1, dated=False)) + "\n", "a.txt")], utc_offsets_s={"a.txt": 3600})

    assert [note.code for note in run.notes] == ["offset_without_dates"]


@pytest.mark.parametrize("hours", [1, -1, 0.5])
def test_takes_daylight_saving_back(hours: float):
    """The seconds of a client's lines go on where its dates jump."""
    files = [
        read("\n".join(client(1)) + "\n", "a/out.txt"),
        read("\n".join(move_dates(client(2), hours, after_s=20)) + "\n", "b/out.txt"),
    ]

    (run,) = group(files)
    merged = merge_run(run)

    assert merged.throughput_ops_s == pytest.approx(2300, rel=0.01)
    assert merged.overlap == pytest.approx(1, abs=0.01)
    assert [note.code for note in run.notes] == ["zone_changed"]


def test_moves_dates_of_long_runs():
    """Runs of hours overlap in spite of an hour between their zones."""
    long = [
        [re.sub(r"(\d+) sec:", lambda seconds: f"{int(seconds[1]) * 360} sec:", line) for line in client(number)]
        for number in (1, 2)
    ]
    long[0] = [re.sub(r"09:00:(\d\d)", lambda at: spread(int(at[1])), line) for line in long[0]]
    long[1] = move_dates([re.sub(r"09:00:(\d\d)", lambda at: spread(int(at[1])), line) for line in long[1]], 1)
    files = [read("\n".join(lines) + "\n", f"{name}/out.txt") for name, lines in zip("ab", long, strict=True)]

    (run,) = group(files, together=True)

    assert [client.clock_offset_s for client in run.clients] == [0, -3600]


def spread(second: int) -> str:
    return f"{9 + second // 10}:00:00"


def test_refuses_mixed_status_lines_at_the_end_of_a_file():
    """They are read when the file ends."""
    lines = [line for _, line in interleaved(client(1), client(5)) if " sec: " in line]
    file = read("\n".join(lines) + "\n")
    assert not file.runs
    assert "Several clients" in (file.error or "")


def test_groups_a_run_time_without_anything_else():
    """What is left of a damaged file: neither status lines nor operations."""
    lines = [*client(1), "[OVERALL], RunTime(ms), 5000"]
    runs = group([read("\n".join(lines) + "\n")])
    assert [run.clients[0].summary.throughput_ops_s for run in runs if run.clients[0].summary] == [1100]

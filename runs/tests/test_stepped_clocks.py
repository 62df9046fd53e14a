"""Logs of clients whose clock was set while they ran: what is measured stays, and the step is stated."""

import math
import re
from datetime import UTC, datetime
from functools import partial
from io import BytesIO

import numpy as np
import pytest

from runs.checks.clients import signed_seconds
from runs.tests.test_fabricated_uploads import COMMAND, judged, real
from runs.uploads.inline import read_at_once
from runs.uploads.reads import runs_in
from runs.ycsb.clients import merge_run
from runs.ycsb.clock_steps import ClockStep, find_steps
from runs.ycsb.errors import YcsbError
from runs.ycsb.file_grouping import group
from runs.ycsb.ingest import ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import ClientLogs, MergedClient
from runs.ycsb.readers import read_file
from runs.ycsb.summary import parse_summary
from runs.ycsb.tests.samples import merge_files
from runs.ycsb.window import Cut

START_S = 1795233875.394  # of the logs of client 0
AT_S = 2.5
ROW = re.compile(r"(?m)^([\d.]+),([\d.]+),")


def stepped(text: str, by_s: float) -> str:
    """The log as it is where the clock is stepped AT_S seconds after its start."""

    def step(row: re.Match[str]) -> str:
        begin, end = float(row[1]), float(row[1]) + float(row[2])
        begin, end = (second + (by_s if second >= AT_S else 0.0) for second in (begin, end))
        return f"{begin:.3f},{end - begin:.3f},"

    return ROW.sub(step, text)


def stepped_files(by_s: float, clients: tuple[int, ...] = (0,)) -> dict[str, str]:
    """The files of two clients, of which these have stepped clocks: their logs, and the run time that YCSB prints."""
    files = real("READ.hdr", "UPDATE.hdr", "summary.txt")
    for name, text in files.items():
        if not any(name.startswith(f"client{client}") for client in clients):
            continue
        if name.endswith(".hdr"):
            files[name] = stepped(text, by_s)
            continue
        runtime_ms, operations = 5028 + round(by_s * 1000), 5028 * 5.9476929196499605
        text = re.sub(r"RunTime\(ms\), \d+", f"RunTime(ms), {runtime_ms}", text)
        files[name] = re.sub(
            r"Throughput\(ops/sec\), [\d.]+", f"Throughput(ops/sec), {operations * 1000 / runtime_ms}", text
        )
    return files


def merged(files: dict[str, str], steps: dict[int, list[ClockStep]], cut: Cut):
    def client(number: int) -> ClientLogs:
        logs = [
            LogSource(partial(iter, [text.encode()]), name.split("/")[1].removesuffix(".hdr"))
            for name, text in files.items()
            if name.startswith(f"client{number}") and name.endswith(".hdr")
        ]
        summary = parse_summary(files[f"client{number}/summary.txt"])
        return ClientLogs(number, logs, summary, clock_steps=steps.get(number))

    return ingest([client(0), client(1)], cut)[0]


@pytest.mark.parametrize("clients", [(0,), (0, 1)], ids=["one client", "both"])
@pytest.mark.parametrize("by_s", [-2.0, 2.0, -0.2, 0.2, -60.0, 60.0, -4000.0, 4000.0])
def test_measured_steps_change_nothing(by_s: float, clients: tuple[int, ...]):
    """The window, the throughput and the run times are those without the step."""
    steps = {client: [ClockStep(START_S + AT_S, by_s)] for client in clients}
    cut = Cut(warmup_s=1.0)

    before = merged(real("READ.hdr", "UPDATE.hdr", "summary.txt"), {}, cut)
    after = merged(stepped_files(by_s, clients), steps, cut)

    tolerance_s = 0.25 if abs(by_s) < 1 else 0.002
    assert after.window.length_s == pytest.approx(before.window.length_s, abs=tolerance_s)
    assert after.throughput_ops_s == pytest.approx(before.throughput_ops_s, rel=tolerance_s)
    assert after.overlap == pytest.approx(before.overlap, abs=tolerance_s)
    for old, new in zip(before.clients, after.clients, strict=True):
        is_stepped = new.number in clients
        assert new.runtime_ms == pytest.approx(old.runtime_ms, abs=60)
        assert [round(step.by_s, 3) for step in new.clock_steps] == ([by_s] if is_stepped else [])
        assert old.clock_steps == ()


@pytest.mark.parametrize("by_s", [-2.0, -60.0, -4000.0])
def test_uploads_with_times_that_go_back_are_read(by_s: float):
    findings = judged(stepped_files(by_s), grouping="together")

    assert findings["V35"].severity == "warn"
    guess = re.search(r"client 0 by (\S+) s after 2\.\d+\ss\.", findings["V35"].message)
    assert guess is not None
    number = guess[1].replace("\N{MINUS SIGN}", "-").replace(",", "")
    assert float(number) == pytest.approx(by_s, abs=0.3)
    assert {name for name, finding in findings.items() if finding.severity == "reject"} <= {"V05"}


STEPS_S = [-2.0, 2.0, -0.2, 0.2, -60.0, 60.0, -3600.0, 4000.0]
PACE = [0.0, 0.01, 0.0, 0.3, 0.02, 0.0, 0.01, 0.0, 0.0, 0.04, 0.0, 0.01, 0.0]  # seconds that lines come late
STATUS = "{date}:{ms:03} {elapsed} sec: {done} operations; 400 current ops/sec; [READ: Count=400, Max=9, Min=1, Avg=2]"


def printed(by_s: float) -> dict[str, str]:
    """What a stock client with 400 ops/s prints whose clock is stepped after 6.5 s of 12 s."""
    lines = []
    for second, late_s in enumerate(PACE):
        elapsed_s = second + late_s + (by_s if second > 6 else 0.0)
        at = datetime.fromtimestamp(START_S + elapsed_s, UTC)
        date, ms = at.strftime("%Y-%m-%d %H:%M:%S"), at.microsecond // 1000
        lines.append(STATUS.format(date=date, ms=ms, elapsed=math.floor(elapsed_s), done=400 * second))
    runtime_ms = 12_000 + round(by_s * 1000)
    return {
        "stderr.txt": "\n".join([COMMAND, *lines, ""]),
        "summary.txt": f"[OVERALL], RunTime(ms), {runtime_ms}\n"
        f"[OVERALL], Throughput(ops/sec), {4800 * 1000 / runtime_ms}\n"
        "[READ], Operations, 4800\n[READ], AverageLatency(us), 2.0\n[READ], Return=OK, 4800\n",
    }


@pytest.mark.parametrize("clients", [(0,), (0, 1)], ids=["one client", "both"])
@pytest.mark.parametrize("by_s", STEPS_S)
def test_status_lines_of_stepped_clocks_are_read(by_s: float, clients: tuple[int, ...]):
    files = {
        f"client{number}/{name}": text.encode()
        for number in (0, 1)
        for name, text in printed(by_s if number in clients else 0.0).items()
    }

    (run,) = runs_in(read_at_once(list(files.items())), "together")
    merged = merge_run(run)
    findings = judged({name: text.decode() for name, text in files.items()}, grouping="together")

    assert merged.throughput_ops_s == pytest.approx(800, rel=0.01)
    assert [client.runtime_ms for client in merged.clients] == pytest.approx([12_000] * 2, abs=60)
    assert findings["V35"].severity == "warn"
    assert findings["V35"].message.count(f"by {signed_seconds(by_s)} after") == len(clients)
    assert findings["V14"].severity == "pass"


@pytest.mark.parametrize("order", [(8, 7), (9, 8, 7), (7, 9, 8), (8, 7, 10, 9)])
def test_lines_out_of_order_are_no_steps(order: tuple[int, ...]):
    files = printed(0.0)
    command, *lines = files["stderr.txt"].splitlines(keepends=True)
    first = min(order)
    lines[first : first + len(order)] = [lines[place] for place in order]

    (run,) = runs_in(read_at_once([("stderr.txt", (command + "".join(lines)).encode())]), "together")

    assert merge_run(run).throughput_ops_s == pytest.approx(400, rel=0.01)
    assert "V35" not in judged({**files, "stderr.txt": command + "".join(lines)})


def test_clients_that_stand_still_have_steady_clocks():
    """Their next lines come at once, until they are back in their pace."""
    late_s = np.array([0.0] * 8 + [4.2, 3.3, 2.2, 1.1] + [0.0] * 8)

    assert find_steps(START_S + np.arange(20) + late_s) == []


def test_logs_that_begin_after_a_step_are_counted():
    """YCSB opens the log of failures with the first failure: its clock is then another one."""
    files = stepped_files(-60.0)
    log = files["client0/UPDATE.hdr"].splitlines(keepends=True)
    begin_s = next(row for row in log if row.startswith("-")).partition(",")[0]
    rows = [row for row in log if row.startswith("-")]
    files["client0/UPDATE-FAILED.hdr"] = "".join(
        [
            "#[Logging for: UPDATE-FAILED]\n",
            f"#[StartTime: {START_S + float(begin_s):.3f} (seconds since epoch)]\n",
            *log[3:4],
            *(f"{float(row.partition(',')[0]) - float(begin_s):.3f},{row.partition(',')[2]}" for row in rows),
        ]
    )

    run = merged(files, {}, Cut(warmup_s=1.0))

    (update,) = [operation for operation in run.operations if operation.operation == "UPDATE"]
    assert update.failed > 0


@pytest.mark.parametrize("by_s", [-2.0, -60.0])
def test_logs_alone_are_read(by_s: float):
    """Of one client, from memory."""
    log = stepped(real("READ.hdr")["client0/READ.hdr"], by_s)
    read = read_file("READ.hdr", BytesIO(log.encode()))

    (run,) = merge_files(read)

    assert run.total_operations == sum(log.total for client in group(read)[0].clients for log in client.logs)
    (client,) = run.clients
    assert isinstance(client, MergedClient)
    assert [round(step.by_s) for step in client.clock_steps] == [round(by_s)]


def test_clock_that_is_always_set_back_is_refused():
    """Each interval would move the next by centuries."""
    log = ROW.sub("1.0,-60000000000.0,", real("READ.hdr")["client0/READ.hdr"])
    read = read_file("READ.hdr", BytesIO(log.encode()))

    with pytest.raises(YcsbError):
        merge_files(read)


def test_steady_clocks_pass():
    assert judged(real("READ.hdr", "UPDATE.hdr"))["V35"].severity == "pass"

"""Logs of clients whose clock was set while they ran: what is measured stays, and the step is stated."""

import re
from functools import partial
from io import BytesIO

import pytest

from runs.tests.test_fabricated_uploads import judged, real
from runs.ycsb.clock_steps import ClockStep
from runs.ycsb.errors import YcsbError
from runs.ycsb.grouping import group
from runs.ycsb.ingest import ClientLogs, ingest
from runs.ycsb.logscan import LogSource
from runs.ycsb.merged import MergedClient
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
        return ClientLogs(number, logs, summary, clock_steps=steps.get(number, []))

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

"""go-ycsb's clients of one load: the first creates the table before it is ready, so no two create it at once."""

import sys
from types import SimpleNamespace

import pytest

from runs.queue.reasons import Reason
from workers.generator import client as client_module
from workers.generator.client import Client

# Notes its arguments, and fails where the test says so.
GO_YCSB = """
import pathlib, sys
with pathlib.Path("calls.txt").open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if pathlib.Path("refused").exists():
    sys.exit("pq: permission denied for schema ycsb")
"""


@pytest.fixture
def calls(tmp_path, settings, monkeypatch):
    """Carries out a client's order with that program; returns its result and one line for each call or report."""
    settings.GUARDED_DIR = tmp_path / "registry"
    program = tmp_path / "go_ycsb.py"
    program.write_text(GO_YCSB)
    prepared = [sys.executable, "-I", "-S", str(program)], None
    monkeypatch.setattr(client_module, "prepare_command", lambda order, folder: prepared)
    monkeypatch.setattr(client_module, "store_archive", lambda manifest, folder: None)

    def note(text):
        with (tmp_path / "calls.txt").open("a") as lines:
            lines.write(f"{text}\n")

    def await_start(client):
        note("ready")
        return True

    monkeypatch.setattr(Client, "_await_start", await_start)
    monkeypatch.setattr(Client, "_report", lambda client, **fields: None)

    def find_servers(nodes):
        note("finds servers")
        return []

    monkeypatch.setattr(client_module, "find_servers", find_servers)

    def carry_out(phase, *, samples_host=False, **properties):
        order = {"binding": "go-ycsb-1.0.3/pg", "phase": phase, "threads": 1, "duration_s": None, "deadline_s": 30}
        order |= {"properties": properties, "samples_host": samples_host}
        claimed = {"order": order, "label": "test"}
        site = SimpleNamespace(clock_offset_s=lambda *_: 0.0)
        reporter = SimpleNamespace(run_ended=False, starts_at=None, ends_at=None)
        result = Client(site, claimed, SimpleNamespace(path=tmp_path), reporter).carry_out()
        return result, (tmp_path / "calls.txt").read_text().splitlines()

    return carry_out


def test_first_client_creates_the_table_before_it_is_ready(calls):
    assert calls("load", insertstart="0")[1] == ["-p threadcount=0", "ready", ""]


@pytest.mark.parametrize("order", [("load", {"insertstart": "500"}), ("measure", {})], ids=["second", "measurement"])
def test_other_clients_create_nothing(calls, order):
    phase, properties = order
    assert calls(phase, **properties)[1] == ["ready", ""]


def test_servers_are_found_before_the_start(calls):
    """It takes a while, in which the clients of other generators measure already."""
    assert calls("measure", samples_host=True)[1] == ["finds servers", "ready", ""]


def test_refused_table_ends_the_client(calls, tmp_path):
    (tmp_path / "refused").touch()
    result, lines = calls("load", insertstart="0")
    assert lines == ["-p threadcount=0"]
    assert result.reason == Reason.CLIENT_FAILED
    assert "go-ycsb did not begin; it printed: pq: permission denied for schema ycsb" in result.reason_detail

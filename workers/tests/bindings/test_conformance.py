"""`manage.py verify`: a server that conforms passes every check, and one that does not fails the right ones."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command

from runs.catalog import load_catalog
from runs.results.verifications import load_verifications
from workers.tests.bindings.conftest import standing

pytestmark = pytest.mark.slow


def verify(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the file that was written, and the output."""
    path, output = tmp_path / "verified.json", io.StringIO()
    try:
        call_command("verify", *arguments, "--output", str(path), stdout=output)
    except SystemExit as end:
        return int(str(end.code)), json.loads(path.read_text()), output.getvalue()
    return 0, json.loads(path.read_text()), output.getvalue()


def statuses(entry: dict[str, Any], mode: str) -> dict[str, str]:
    return {result["check"]: result["status"] for result in entry["modes"][mode]}


def test_own_server_passes_and_survives_a_kill(bindings, tmp_path):
    code, entry, output = verify(tmp_path, "redis", "--mode", "always")
    assert code == 0, output
    by_check = statuses(entry, "always")
    assert {check for check, status in by_check.items() if status == "skipped"} == {"missing table"}
    assert by_check["killed server"] == by_check["cut connection"] == "passed"
    assert (entry["how"], entry["nodes"], entry["started_by_benchsite"]) == ("real server", 1, True)


@pytest.mark.long
def test_running_server_is_not_killed_and_left_empty(bindings, tmp_path):
    with standing("postgresql") as server:
        code, entry, output = verify(
            tmp_path, "postgresql", f"127.0.0.1:{server.port}", "--property", "postgresql.user=ycsb"
        )
    assert code == 0, output
    assert list(entry["modes"]) == ["fsync-off"]  # as servers of tests are started
    assert statuses(entry, "fsync-off")["killed server"] == "skipped"


def test_wrong_mode_fails(bindings, tmp_path):
    with standing("redis") as server:
        code, entry, _ = verify(tmp_path, "redis", f"127.0.0.1:{server.port}", "--mode", "always")
    assert code == 1
    assert statuses(entry, "always")["mode in force"] == "failed"


def test_data_of_others_is_not_touched(bindings, tmp_path):
    with standing("redis") as server, redis.Redis(port=server.port) as connection:
        connection.set("theirs", "1")
        code, entry, _ = verify(tmp_path, "redis", f"127.0.0.1:{server.port}", "--mode", "off")
        assert connection.keys() == [b"theirs"]
    assert code == 1
    assert statuses(entry, "off")["data set"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nosuch",), "There is no system 'nosuch'"),
        (("redis", "--mode", "nosuch"), "There is no durability mode"),
        (("redis", "--property", "redis.nosuch=1"), "redis.nosuch"),
        (("redis", "--password-env", "BENCHSITE_ABSENT"), "BENCHSITE_ABSENT is not set"),
    ],
)
def test_refuses_unknown_arguments(bindings, tmp_path, arguments, message):
    with pytest.raises(CommandError, match=message):
        verify(tmp_path, *arguments)


def test_shipped_verifications_have_no_failures():
    """Every own client was verified once, on the best server that could be had."""
    for system in load_catalog().systems.values():
        verifications = load_verifications(system.slug)
        assert bool(verifications) == system.own_client, system.slug
        for verification in verifications:
            assert verification["failures"] == []
            assert not set(verification["modes"]) & set(verification["not_tested"])
            assert set(verification["modes"]) <= set(system.modes)
    labels = {verification["label"] for verification in load_verifications("redis")}
    assert labels >= {"7.0.15 (real server)", "7.0.15 (real server, 2 nodes)"}

"""Which PostgreSQL and Redis are found on this machine, and which of them an account gets."""

import os
from pathlib import Path

import pytest

from benchsite.core.paths import Account
from workers.generator import executables
from workers.generator.executables import (
    ExecutableNotFound,
    PostgreSQLBinaries,
    RedisServer,
    choose_postgresql,
    choose_redis,
    detect_version,
    find_postgresql,
    find_redis,
)


def program(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
        ("postgres (PostgreSQL) 18.4", "18.4"),
        ("postgres (PostgreSQL) 19beta1", "19"),
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0", "7.0.15"),
        ("Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150", "9.1.2"),
        ("something else", None),
        ("", None),
    ],
)
def test_it_reads_what_programs_say_of_themselves(tmp_path, says, version):
    assert detect_version(program(tmp_path / "program", says)) == version


def test_a_program_that_does_not_run_has_no_version(tmp_path):
    assert detect_version(tmp_path / "nothing") is None
    broken = program(tmp_path / "broken", "")
    broken.write_bytes(b"\x7fELF of another machine")
    assert detect_version(broken) is None


def test_located_programs_exist_in_supported_versions():
    for program in find_postgresql():
        assert 15 <= program.major <= 18
        assert os.access(program.postgres, os.X_OK) and os.access(program.initdb, os.X_OK)
    for server in find_redis():
        assert os.access(server.path, os.X_OK)
    assert find_postgresql() and find_redis(), "the tests need both"


def test_the_first_that_fits_is_chosen(tmp_path, monkeypatch):
    newer = PostgreSQLBinaries(tmp_path / "18" / "bin", "18.4", "wheel")
    older = PostgreSQLBinaries(tmp_path / "15" / "bin", "15.18", "path")
    monkeypatch.setattr(executables, "find_postgresql", lambda: (newer, older))
    assert choose_postgresql(None, shelf=tmp_path) == newer
    assert choose_postgresql(None, major=15, shelf=tmp_path) == older
    with pytest.raises(ExecutableNotFound, match=r"PostgreSQL 17 is needed; on this machine: 15\.18, 18\.4"):
        choose_postgresql(None, major=17, shelf=tmp_path)


def test_what_an_account_cannot_reach_is_copied_once(tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    there = program(closed / "bin" / "redis-server", "Redis server v=7.2.0 sha=1")
    closed.chmod(0o700)
    monkeypatch.setattr(executables, "find_redis", lambda: (RedisServer(there, "7.2.0", "wheel", "Redis"),))
    other = Account("other", 12_345, 12_345)

    copy = choose_redis(other, shelf=tmp_path / "shelf")
    assert copy.path == tmp_path / "shelf" / "redis-7.2.0" / "redis-server"
    assert detect_version(copy.path) == "7.2.0"
    before = copy.path.stat().st_ino
    assert choose_redis(other, shelf=tmp_path / "shelf").path.stat().st_ino == before
    assert choose_redis(None, shelf=tmp_path / "shelf").path == there

"""Real servers for the bindings to talk to: plain, on a free port, killed without warning where a test asks for it."""

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import redis

from benchsite.core.paths import Account, unprivileged_account
from workers.generator.executables import choose_postgresql, choose_redis
from workers.provision.administration.base import Address, AdministrationError
from workers.provision.administration.postgresql import PostgresqlAdministration
from workers.provision.ports import free_port

PATIENCE_S = 30


class TargetServer:
    """One server process; `kill` is a crash, `start` may be called again after it."""

    def __init__(self, argv: Sequence[str], *, port: int, folder: Path, ping: Callable[[], object]) -> None:
        self.argv, self.port, self.folder, self.ping = list(argv), port, folder, ping
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        account = unprivileged_account()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.argv, cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **run_as(account)
            )
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.ping()
                return
            except (redis.RedisError, AdministrationError):
                if self.process.poll() is not None or time.monotonic() > until:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.05)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def run_as(account: Account | None) -> dict[str, Any]:
    return {} if account is None else {"user": account.uid, "group": account.gid, "extra_groups": []}


def own_folder(parent: Path, name: str) -> Path:
    """A folder below `parent` that the servers' account may write to."""
    folder = parent / name
    folder.mkdir(mode=0o700)
    if account := unprivileged_account():
        os.chown(folder, account.uid, account.gid)
    return folder


def redis_server(parent: Path, *options: str) -> TargetServer:
    """Redis that keeps nothing on disk."""
    port, folder = free_port(), own_folder(parent, "redis")
    program = choose_redis(unprivileged_account(), shelf=parent / "shelf").path
    argv = [str(program), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
    return TargetServer(argv, port=port, folder=folder, ping=lambda: redis.Redis(port=port).ping())


def postgresql_server(parent: Path, *options: str) -> TargetServer:
    """PostgreSQL with a superuser `ycsb` and, once started, a database `ycsb`."""
    account = unprivileged_account()
    port, folder = free_port(), own_folder(parent, "postgresql")
    programs = choose_postgresql(account, shelf=parent / "shelf")
    subprocess.run(
        [programs.initdb, "-D", folder / "data", "-U", "ycsb", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
        cwd=folder, check=True, capture_output=True, **run_as(account),
    )  # fmt: skip
    settings = ["listen_addresses=127.0.0.1", f"port={port}", "unix_socket_directories=", "fsync=off", *options]
    argv = [str(programs.postgres), "-D", str(folder / "data"), *(f"--{setting}" for setting in settings)]
    return TargetServer(argv, port=port, folder=folder, ping=lambda: administration(port).prepare({}))


def administration(port: int) -> PostgresqlAdministration:
    return PostgresqlAdministration(Address(host="127.0.0.1", port=port, user="ycsb", password="", database="ycsb"))

"""A host that vanishes while it holds the scheduler's lock: PostgreSQL gives the lock to another within a minute."""

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import psycopg
import pytest

from benchsite.core.paths import django_database, unprivileged_account
from workers.generator.executables import choose_postgresql

FREED_WITHIN_S = 60
LOCK = 7_305_061
HOLDER = """
import json, sys, time, psycopg
options = json.loads(sys.argv[1])
connection = psycopg.connect(**options, autocommit=True)
connection.execute("SELECT pg_advisory_lock(%s)", [int(sys.argv[2])])
print("locked", flush=True)
time.sleep(600)
"""


def test_tcp_connections_are_watched_by_both_ends():
    options = django_database("postgresql://u:p@db.example:5432/benchsite")["OPTIONS"]
    assert (options["keepalives_idle"], options["tcp_user_timeout"]) == (10, 30_000)
    assert "-c tcp_keepalives_idle=10" in options["options"]


def test_url_replaces_parameters_of_tcp():
    url = "postgresql://u@db.example/benchsite?keepalives_idle=99&options=-c%20lock_timeout%3D5s"
    options = django_database(url)["OPTIONS"]
    assert options["keepalives_idle"] == "99"
    assert options["options"].endswith("-c lock_timeout=5s")


def test_sockets_of_files_need_no_watch():
    assert django_database("postgresql://u@/benchsite?host=/run/sockets")["OPTIONS"] == {}


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def namespace(name, network):
    """A network namespace whose host is `network`.2, connected to this one, which is `network`.1."""
    outer, inner = f"{name}o", f"{name}i"
    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
        run("ip", "address", "add", f"{network}.1/24", "dev", outer)
        run("ip", "link", "set", outer, "up")
        run("ip", "-n", name, "address", "add", f"{network}.2/24", "dev", inner)
        run("ip", "-n", name, "link", "set", inner, "up")
        yield inner
    finally:
        run("ip", "netns", "delete", name)


@contextmanager
def postgresql(folder, address, port):
    """A server of this test's own that trusts whoever comes over TCP."""
    account = unprivileged_account()
    os.chown(folder, account.uid, account.gid)
    binaries, data = choose_postgresql(account, shelf=folder), folder / "data"
    owner = {"user": account.uid, "group": account.gid, "cwd": folder, "stdout": subprocess.DEVNULL}
    options = {
        "listen_addresses": address, "port": port, "unix_socket_directories": folder, "fsync": "off",
    }  # fmt: skip
    argv = [binaries.initdb, "-D", data, "--username=benchsite", "--auth=trust", "--no-sync", "--locale=C"]
    subprocess.run(argv, check=True, **owner)
    (data / "pg_hba.conf").write_text("local all all trust\nhost all all all trust\n")
    settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    process = subprocess.Popen([binaries.postgres, "-D", data, *settings], stderr=subprocess.DEVNULL, **owner)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def connect_patiently(timeout_s=30, **options):
    end = time.monotonic() + timeout_s
    while True:
        try:
            return psycopg.connect(**options, autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@pytest.mark.needs("network")
@pytest.mark.long
def test_frees_lock_of_host_that_vanished(work_folder):
    network, name, port = f"10.{os.getpid() % 200 + 20}.77", f"bs{os.getpid()}", 55_432
    with namespace(name, network) as link, postgresql(work_folder, f"{network}.1", port):
        other = connect_patiently(host=str(work_folder), port=port, user="benchsite", dbname="postgres")
        options = django_database(f"postgresql://benchsite@{network}.1:{port}/postgres")
        arguments = {"host": options["HOST"], "port": port, "user": "benchsite", "dbname": "postgres"}
        argv = ["ip", "netns", "exec", name, sys.executable, "-c", HOLDER]
        argv += [json.dumps({**arguments, **options["OPTIONS"]}), str(LOCK)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
            try:
                assert holder.stdout.readline() == "locked\n"
                try_lock = "SELECT pg_try_advisory_lock(%s)"
                assert other.execute(try_lock, [LOCK]).fetchone() == (False,)
                run("ip", "-n", name, "link", "set", link, "down")
                vanished = time.monotonic()
                while other.execute(try_lock, [LOCK]).fetchone() == (False,):
                    assert time.monotonic() - vanished < FREED_WITHIN_S
                    time.sleep(0.5)
            finally:
                holder.kill()
        other.close()

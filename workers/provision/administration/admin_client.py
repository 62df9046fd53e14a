"""Servers that a process of its own asks, by JSON lines: the JVM of the system's binding, or the Python of
`admin_program.py` for servers that somebody else runs.

Such a server may be slow, endless or hostile. Here are the limits of what it costs this process: seconds, bytes and
memory of each answer. One program runs for each cluster that is in use. It ends with its standard input, so also with
this process.
"""

import contextlib
import ipaddress
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings

from benchsite.core.addresses import split_address
from benchsite.core.child_environment import child_environment
from benchsite.core.formatting import duration, size
from runs.catalog import System, load_catalog
from runs.timeouts import ADMIN_DATA_SET_TIMEOUT_S, ADMIN_JVM_TIMEOUT_S, ADMIN_TIMEOUT_S, CHECK_PROGRAM_TIMEOUT_S
from runs.ycsb.redact import find_secrets, redact
from workers.processes.processor_time import processor_time_s
from workers.provision.administration import admin_program
from workers.provision.administration.base import (
    COUNTERS_TIMEOUT_S,
    MAX_SURVEYED,
    Address,
    Administration,
    AdministrationError,
    Connections,
    Counters,
    DriverError,
    MarkerNameTaken,
    Survey,
    plain_text,
    printable,
)
from workers.provision.administration.confinement import Confinement, received_bytes
from workers.provision.deadline import Deadline
from workers.provision.messages import LARGER_THAN_READ, OTHER_SERVER_NAMED
from workers.systems.manifests import ManifestError, java_executable, verify

CheckAddress = Callable[[str, int], object]
# Drivers with their classes take 40 to 75 MB in all, of which 20 to 55 MB are of this program alone.
JVM_LIMITS = (
    "-Xms4m",
    "-Xmx48m",
    "-Xss256k",
    "-XX:MaxDirectMemorySize=16m",
    "-XX:MaxMetaspaceSize=64m",
    "-XX:ReservedCodeCacheSize=16m",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=20",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:TieredStopAtLevel=1",
    "-XX:CICompilerCount=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
)
END_TIMEOUT_S = 5.0
# Counting and deleting a whole data set takes minutes; a program that takes longer hangs.
DATA_SET_CALLS = frozenset(
    {"prepare", "size", "write_marker", "create_table", "drop_empty_table", "count_keys", "delete_keys"}
)
DRIVER_TIMEOUT_SHARE = 0.7  # of the time to a deadline: the driver says why it gave up before its program is ended
OUT_OF_MEMORY = b"Terminating due to java.lang.OutOfMemoryError"  # a JVM's last line
MAX_ANSWER_BYTES = 1024**2
# Of the server, for one call. Some drivers read the schema of the whole cluster as they connect.
MAX_RECEIVED_BYTES = 1024**2
MAX_JVM_RECEIVED_BYTES = 16 * 1024**2
RECEIVED_INTERVAL_S = 0.05
MAX_ERROR_LENGTH = 1000
MAX_VERSION_LENGTH = 40
MAX_NAME_LENGTH = 60
MAX_NODES = 16  # of a cluster: others are not looked at
MAX_COUNT = 2**63 - 1
KEY_BATCHES = {"postgresql": 500_000}  # It reads its table for each batch.


class TooMuchReceived(OSError):
    """A server sent, or announced, more than the answer to a call may have."""


class AdminProgram:
    """One process. Calls are answered one after the other. With `check_address` it connects to no address for which
    that raises ValueError.
    """

    def __init__(
        self, argv: Sequence[str], order: Mapping[str, object], check_address: CheckAddress | None = None
    ) -> None:
        self._lock = threading.Lock()
        self._unread = bytearray()
        self._confinement: Confinement | None = None
        self._watch: threading.Thread | None = None
        descriptors: tuple[int, ...] = ()
        if check_address:
            self._confinement = Confinement(check_address)
            argv = self._confinement.command(argv)
            descriptors = (self._confinement.theirs.fileno(),)

        self._popen = subprocess.Popen(
            argv,
            cwd=settings.BASE_DIR,
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=descriptors,
        )
        if self._confinement:
            self._watch = self._confinement.watch(self._popen.pid)
        self._write(order)

    def describe_refusal(self) -> str:
        """The end of a message: which other address the cluster had the program connect to, if one was refused."""
        if self._confinement is None or not self._confinement.refusal:
            return ""
        return OTHER_SERVER_NAMED.format(refusal=self._confinement.refusal)

    def answer(
        self,
        call: Mapping[str, object],
        timeout_s: float,
        max_received_bytes: int | None,
        deadline: Deadline | None = None,
    ) -> dict[str, Any]:
        """The answer's JSON object. With a `deadline`, the time that the program takes to start, to work, and to wait
        for a processor is added to that and does not count. Raises OSError where the program ended, hangs, receives or
        says too much, ValueError and RecursionError where its answer is no JSON.
        """
        with self._lock:
            try:
                before = received_bytes(self._popen.pid)
                limit_s = timeout_s
                if deadline is not None:
                    limit_s += deadline.program_left_s
                self._write({**call, "timeout_s": limit_s})
                begin = self._await_connection(deadline)
                worked_s = 0.0
                worked_before_s = processor_time_s(self._popen.pid)
                while not self._read_line(time.monotonic() + RECEIVED_INTERVAL_S):
                    if deadline is not None:
                        worked_s = min(processor_time_s(self._popen.pid) - worked_before_s, deadline.program_left_s)
                    if time.monotonic() >= begin + timeout_s + worked_s:
                        raise TimeoutError(f"no answer within {duration(timeout_s)}")
                    if max_received_bytes:
                        self._refuse_more(max_received_bytes, before)

                if deadline is not None:
                    deadline.postpone_for_program(worked_s)
                line, _, self._unread = self._unread.partition(b"\n")
                if line.startswith(OUT_OF_MEMORY):
                    raise TooMuchReceived(LARGER_THAN_READ)

                return dict(json.loads(line))
            except BaseException:
                self._popen.kill()
                raise

    def _await_connection(self, deadline: Deadline | None) -> float:
        """The time.monotonic() at which the program has connected, or answered without; without a deadline, now.

        Raises OSError.
        """
        begin = time.monotonic()
        if deadline is None:
            return begin
        while not (self._has_connected or self._read_line(time.monotonic() + RECEIVED_INTERVAL_S)):
            if time.monotonic() - begin > deadline.program_left_s:
                raise TimeoutError(f"the program that asks it did not start within {duration(CHECK_PROGRAM_TIMEOUT_S)}")
        deadline.postpone_for_program(time.monotonic() - begin)
        return time.monotonic()

    @property
    def _has_connected(self) -> bool:
        return self._confinement is None or self._confinement.has_connected.is_set()

    def _write(self, line: Mapping[str, object]) -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.write(json.dumps(line).encode() + b"\n")
        self._popen.stdin.flush()

    def _refuse_more(self, max_received_bytes: int, before: Mapping[str, int]) -> None:
        received = received_bytes(self._popen.pid)
        if sum(received.values()) - sum(before.get(name, 0) for name in received) > max_received_bytes:
            raise TooMuchReceived(f"the server answers with more than {size(max_received_bytes)}")

    def _read_line(self, until: float) -> bool:
        """Whether there is a whole line now, or none until then. What drivers write beside answers is dropped: that of
        MariaDB logs to stdout.
        """
        assert self._popen.stdout is not None
        poll = select.poll()
        poll.register(self._popen.stdout, select.POLLIN)
        while b"\n" not in self._unread or not self._unread.startswith((b"{", OUT_OF_MEMORY)):
            if b"\n" in self._unread:
                del self._unread[: self._unread.index(b"\n") + 1]
                continue
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                return False
            piece = os.read(self._popen.stdout.fileno(), 1 << 16)
            if not piece:
                raise OSError("it gave no answer")
            self._unread += piece
            if len(self._unread) > MAX_ANSWER_BYTES:
                raise OSError(f"its answer is larger than {size(MAX_ANSWER_BYTES)}")

        return True

    def end(self) -> None:
        """Returns when the process is gone."""
        assert self._popen.stdin is not None and self._popen.stdout is not None
        with contextlib.suppress(OSError):  # It ended by itself, with a line unread.
            self._popen.stdin.close()
        try:
            self._popen.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen.stdout.close()
        if self._watch is not None:
            self._watch.join()


Key = tuple[str, Address, tuple[tuple[str, str], ...], Deadline | None]
_programs: dict[Key, AdminProgram] = {}
_lock = threading.Lock()


def end_programs() -> None:
    """Ends those of all clusters; the next call of one starts its program again."""
    with _lock:
        programs = list(_programs.values())
        _programs.clear()
    for program in programs:
        program.end()


class ProgramAdministration(Administration):
    """One cluster, asked by a program. `address.host` may be several hosts.

    `properties` are those of the clients, for what the address does not hold, such as certificates. All calls end at
    the `deadline`, which the program's start postpones; a program with one is its caller's own. It connects to no
    address for which `check_address` raises ValueError, whatever the cluster announces.
    """

    def __init__(
        self,
        system: System,
        address: Address,
        properties: Mapping[str, str],
        deadline: Deadline | None = None,
        check_address: CheckAddress | None = None,
    ) -> None:
        self.system, self.address, self.properties, self.deadline = system, address, properties, deadline
        self.check_address = check_address
        self.has_tables = "{table}" in system.binding.target
        self.key_batch = KEY_BATCHES.get(system.slug, 20_000)  # about half a megabyte of JSON

    def ping(self) -> None:
        self._call("ping")

    def prepare(self, settings: Mapping[str, str]) -> None:
        self._call("prepare", settings=dict(settings))

    def server_version(self) -> str:
        return str(self._call("server_version"))[:MAX_VERSION_LENGTH]

    def data_folder(self) -> str:
        return str(self._call("data_folder"))

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        return dict(self._call("read_settings", names=list(names)))

    def replicas(self) -> int:
        return self._count("replicas")

    def topology(self) -> dict[str, str]:
        return dict(self._call("topology"))

    def list_nodes(self) -> list[tuple[str, int]]:
        try:
            nodes = [split_address(text) for text in self._call("list_nodes")[:MAX_NODES]]
            return [(str(ipaddress.ip_address(host)), port) for host, port in nodes]
        except (TypeError, ValueError) as error:
            raise AdministrationError(f"{self._where} names a node that has no address.") from error

    @contextlib.contextmanager
    def open_counters(self) -> Iterator[Callable[[], Counters]]:
        """The program of the cluster in use reads them, over the connection that it has."""
        yield self._read_counters

    def _read_counters(self) -> Counters:
        numbers = self._call("counters")
        try:
            counts = {name: float(number) for name, number in numbers["counts"].items()}
            values = {name: float(number) for name, number in numbers["values"].items()}
        except (TypeError, ValueError) as error:
            raise AdministrationError(f"{self._where} states a counter that is no number.") from error
        return Counters(counts, values)

    def survey(self, table: str) -> Survey:
        answer = self._call("survey", table=table)
        try:
            data = {plain_text(name, MAX_NAME_LENGTH): int(number) for name, number in answer["data"].items()}
            connections = None
            if stated := answer.get("connections"):
                connections = Connections(int(stated["used"]), int(stated["limit"]))
            largest = Counter(data).most_common(MAX_SURVEYED)
            return Survey(dict(largest), tuple(map(str, answer["obstacles"])), connections)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise AdministrationError(f"{self._where} states data that cannot be understood.") from error

    def content(self, table: str) -> str:
        return plain_text(self._call("content", table=table))

    def size(self, table: str) -> int:
        return self._count("size", table=table)

    def read_marker(self, table: str) -> str:
        # Compared with what a write replaces, and shown nowhere.
        return str(self._answer("read_marker", table=table))

    def write_marker(self, table: str, marker: str, *, replaces: str, fields: Sequence[str] = ()) -> bool:
        return bool(self._call("write_marker", table=table, marker=marker, replaces=replaces, fields=list(fields)))

    def create_table(self, table: str, fields: Sequence[str], marker: str) -> bool:
        return bool(self._call("create_table", table=table, fields=list(fields), marker=marker))

    def drop_empty_table(self, table: str) -> bool:
        return bool(self._call("drop_empty_table", table=table))

    def count_keys(self, table: str, keys: Sequence[str]) -> int:
        return self._count("count_keys", table=table, keys=list(keys))

    def delete_keys(self, table: str, keys: Sequence[str]) -> int:
        return self._count("delete_keys", table=table, keys=list(keys))

    def close(self) -> None:
        with _lock:
            program = _programs.pop(self._key, None)
        if program is not None:
            program.end()

    @property
    def _key(self) -> Key:
        return self.system.slug, self.address, tuple(sorted(self.properties.items())), self.deadline

    def _count(self, name: str, **arguments: object) -> int:
        number = int(self._call(name, **arguments))
        if not 0 <= number <= MAX_COUNT:
            raise AdministrationError(f"{self._where}: {plain_text(number)} is no number of records or nodes.")
        return number

    @property
    def _where(self) -> str:
        return f"{self.system.name} at {self.address.host}:{self.address.port}"

    def _call(self, name: str, **arguments: object) -> Any:
        """The result, whose texts have no control characters."""
        return _plain(self._answer(name, **arguments))

    def _answer(self, name: str, **arguments: object) -> Any:
        timeout_s = self._timeout_s(name)
        with _lock:
            program = _programs.get(self._key) or _programs.setdefault(self._key, self._start())

        try:
            answer = program.answer(
                {"call": name, **arguments}, timeout_s, self._max_received_bytes(name), self.deadline
            )
        except (TimeoutError, TooMuchReceived) as error:
            self.close()
            raise AdministrationError(f"{self._where}: {error}.{program.describe_refusal()}") from error
        except (OSError, ValueError, RecursionError) as error:
            self.close()
            raise AdministrationError(
                f"{self._where}: the program that asks it ended unexpectedly ({error})."
            ) from error

        if "name_taken" in answer:
            raise MarkerNameTaken(plain_text(answer["name_taken"]))
        if "error" in answer:
            secrets = find_secrets({**self.properties, "password": self.address.password})
            text = plain_text(redact(str(answer["error"]), secrets), MAX_ERROR_LENGTH)
            refusal = program.describe_refusal()
            if self._is_java:
                raise DriverError(f"{self._where}: the driver says: {plain_text(text)}{refusal}")
            raise AdministrationError(f"{text}{refusal}")

        return answer["result"]

    @property
    def _is_java(self) -> bool:
        return bool(self.system.admin_class)

    def _max_received_bytes(self, name: str) -> int | None:
        """None of a call that may read a whole data set, by a driver whose memory is limited."""
        if not self._is_java:
            return MAX_RECEIVED_BYTES
        if name in DATA_SET_CALLS:
            return None
        return MAX_JVM_RECEIVED_BYTES

    def _timeout_s(self, name: str) -> float:
        """Raises AdministrationError after the deadline."""
        timeout_s = ADMIN_TIMEOUT_S
        if self._is_java:
            timeout_s = ADMIN_JVM_TIMEOUT_S
        if name in DATA_SET_CALLS:
            timeout_s = ADMIN_DATA_SET_TIMEOUT_S
        if name == "counters":
            timeout_s = COUNTERS_TIMEOUT_S
        if self.deadline is None:
            return timeout_s

        left_s = self.deadline.left_s
        if left_s <= 0:
            raise AdministrationError(f"{self._where} answers too slowly.")

        return min(timeout_s, left_s)

    def _start(self) -> AdminProgram:
        """Raises AdministrationError where the binding is not installed."""
        address = self.address
        properties = dict(self.properties)
        if self.deadline is not None:
            properties = limit_driver(self.system, properties, self.deadline.left_s)
        order: dict[str, object] = {
            "hosts": address.host, "port": address.port, "user": address.user, "password": address.password,
            "database": address.database, "properties": properties,
        }  # fmt: skip
        try:
            if not self._is_java:
                nodes = cluster_nodes(self.system, self.properties, address.port)
                order |= {
                    "system": self.system.slug, "ssl": address.ssl, "pems": address.pems, "nodes": nodes,
                    # A server that restarts in a run is asked anew; on a slow network each connection takes time.
                    "keeps_connection": self.deadline is not None,
                }  # fmt: skip
                argv = [sys.executable, "-m", admin_program.__name__]
                if self.deadline is not None:
                    argv = ["nice", "-n", "10", *argv]  # A check for a page gives way to the pages.
                return AdminProgram(argv, order, self.check_address)

            # A program's jars are those of the system's own binding, whichever client drives it.
            folder = settings.YCSB_DIR / load_catalog().system(self.system.slug).binding.name
            jars = ":".join(map(str, verify(folder).jars))
            java = [java_executable(), *JVM_LIMITS, "-cp", jars]
            return AdminProgram([*java, self.system.admin_class], order, self.check_address)
        except (ManifestError, OSError) as error:
            raise AdministrationError(f"{self.system.name} cannot be asked: {error}") from error


def limit_driver(system: System, properties: Mapping[str, str], timeout_s: float) -> dict[str, str]:
    """The clients' properties, with a timeout of the driver that ends before this one."""
    limited = dict(properties)
    timeout_ms = round(1000 * DRIVER_TIMEOUT_SHARE * timeout_s)
    for name, record in load_catalog().system(system.slug).binding.properties.items():
        if name.partition(".")[2] == "timeout_ms":
            stated_ms = int(limited.get(name) or record.default or timeout_ms)
            limited[name] = str(min(stated_ms, timeout_ms))
    return limited


def cluster_nodes(system: System, properties: Mapping[str, str], port: int) -> list[tuple[str, int]]:
    """Host and port of each master of a Redis Cluster that the clients' properties name; none of other systems."""
    if system.slug != "redis-cluster":
        return []
    return [split_address(node, port) for node in properties[system.binding.endpoint.host].split(",")]


def _plain(result: Any) -> Any:
    if isinstance(result, str):
        return printable(result)
    if isinstance(result, dict):
        return {printable(name): _plain(value) for name, value in result.items()}
    return result

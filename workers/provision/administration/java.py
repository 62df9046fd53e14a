"""Systems that are administered by a program of their own binding, a JVM that answers JSON lines.

One program runs for each cluster that is in use. It ends with its standard input, so also with this process.
"""

import contextlib
import json
import select
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.conf import settings

from benchsite.core.child_environment import child_environment
from benchsite.core.formatting import duration
from runs.catalog import System, load_catalog
from workers.manifests import ManifestError, java_executable, verify
from workers.provision.administration.base import (
    COUNTERS_TIMEOUT_S,
    Address,
    Administration,
    AdministrationError,
    Counters,
    MarkerNameTaken,
)

HEAP = "-Xmx128m"
END_TIMEOUT_S = 5.0
# Counting and deleting a whole data set takes minutes; a program that takes longer hangs.
ANSWER_TIMEOUT_S = 1800.0
TIMEOUTS_S = {"ping": 60.0, "counters": COUNTERS_TIMEOUT_S}


class AdminProgram:
    """One JVM. Calls are answered one after the other."""

    def __init__(self, argv: Sequence[str], address: Address, properties: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._popen = subprocess.Popen(
            argv,
            env=child_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._write(
            {
                "hosts": address.host,
                "port": address.port,
                "user": address.user,
                "password": address.password,
                "database": address.database,
                "properties": dict(properties),
            }
        )

    def answer(self, call: Mapping[str, object]) -> Any:
        """The answer's JSON object. Raises OSError where the program ended or hangs, ValueError where it is no JSON."""
        timeout_s = TIMEOUTS_S.get(str(call["call"]), ANSWER_TIMEOUT_S)
        with self._lock:
            self._write(call)
            assert self._popen.stdout is not None
            if not select.select([self._popen.stdout], [], [], timeout_s)[0]:
                self._popen.kill()
                raise TimeoutError(f"no answer within {duration(timeout_s)}")
            line = self._popen.stdout.readline()
        if not line:
            raise OSError("The program gave no answer.")
        return json.loads(line)

    def _write(self, line: Mapping[str, object]) -> None:
        assert self._popen.stdin is not None
        self._popen.stdin.write(json.dumps(line) + "\n")
        self._popen.stdin.flush()

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


Key = tuple[str, Address, tuple[tuple[str, str], ...]]
_programs: dict[Key, AdminProgram] = {}
_lock = threading.Lock()


class JavaAdministration(Administration):
    """One cluster, asked by the program that the catalog names `admin_class`. `address.host` may be several hosts.

    `properties` are those of the clients, for what the address does not hold, such as certificates.
    """

    key_batch = 20_000  # about half a megabyte of JSON

    def __init__(self, system: System, address: Address, properties: Mapping[str, str]) -> None:
        self.system, self.address, self.properties = system, address, properties
        self.has_tables = "{table}" in system.binding.target

    def ping(self) -> None:
        self._call("ping")

    def prepare(self, settings: Mapping[str, str]) -> None:
        self._call("prepare", settings=dict(settings))

    def server_version(self) -> str:
        return str(self._call("server_version"))

    def data_folder(self) -> str:
        return str(self._call("data_folder"))

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        return dict(self._call("read_settings", names=list(names)))

    def replicas(self) -> int:
        return int(self._call("replicas"))

    def topology(self) -> dict[str, str]:
        return dict(self._call("topology"))

    @contextlib.contextmanager
    def open_counters(self) -> Iterator[Callable[[], Counters]]:
        """The program of the cluster in use reads them, over the connection that it has."""
        yield lambda: Counters(**self._call("counters"))

    def content(self, table: str) -> str:
        return str(self._call("content", table=table))

    def size(self, table: str) -> int:
        return int(self._call("size", table=table))

    def read_marker(self, table: str) -> str:
        return str(self._call("read_marker", table=table))

    def write_marker(self, table: str, marker: str, *, replaces: str, fields: Sequence[str] = ()) -> bool:
        return bool(self._call("write_marker", table=table, marker=marker, replaces=replaces, fields=list(fields)))

    def create_table(self, table: str, fields: Sequence[str], marker: str) -> bool:
        return bool(self._call("create_table", table=table, fields=list(fields), marker=marker))

    def drop_empty_table(self, table: str) -> bool:
        return bool(self._call("drop_empty_table", table=table))

    def count_keys(self, table: str, keys: Sequence[str]) -> int:
        return int(self._call("count_keys", table=table, keys=list(keys)))

    def delete_keys(self, table: str, keys: Sequence[str]) -> int:
        return int(self._call("delete_keys", table=table, keys=list(keys)))

    def close(self) -> None:
        with _lock:
            program = _programs.pop(self._key, None)
        if program is not None:
            program.end()

    @property
    def _key(self) -> Key:
        return self.system.slug, self.address, tuple(sorted(self.properties.items()))

    def _call(self, name: str, **arguments: object) -> Any:
        with _lock:
            program = _programs.get(self._key) or _programs.setdefault(self._key, self._start())
        where = f"{self.system.name} at {self.address.host}:{self.address.port}"
        try:
            answer = program.answer({"call": name, **arguments})
        except (OSError, ValueError) as error:
            self.close()
            raise AdministrationError(f"{where}: the program that asks it ended unexpectedly ({error}).") from error
        if "name_taken" in answer:
            raise MarkerNameTaken(answer["name_taken"])
        if "error" in answer:
            raise AdministrationError(f"{where}: {answer['error']}.")
        return answer["result"]

    def _start(self) -> AdminProgram:
        """Raises AdministrationError where the binding is not installed."""
        try:
            jars = ":".join(
                map(str, verify(settings.YCSB_DIR / load_catalog().system(self.system.slug).binding.name).jars)
            )
            argv = [java_executable(), HEAP, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars]
            return AdminProgram([*argv, self.system.admin_class], self.address, self.properties)
        except (ManifestError, OSError) as error:
            raise AdministrationError(f"{self.system.name} cannot be asked: {error}") from error

"""Whether a client, its administration and a server work together as Benchsite relies on: one check after another.

`manage.py verify` runs it against servers that Benchsite starts and against servers of others. No Django.
"""

import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from benchsite.core.formatting import grouped
from runs.catalog import Mode, System, scans
from runs.ycsb.errors import YcsbError
from runs.ycsb.keys import loaded_keys
from runs.ycsb.properties import CORE_WORKLOADS
from runs.ycsb.summary import Summary, parse_summary
from workers.probe.messages import (
    CLIENT_WITHOUT_SERVER,
    FOREIGN_KEY,
    INSERTS_LOST,
    INSERTS_PRESENT,
    MODE_MAY_LOSE,
    MODE_OF_CLIENT,
    NO_CONNECTION,
    NO_FACTS,
    NO_OTHER_SETTING,
    NO_SCANS,
    NO_VERSION,
    NOT_RECOVERED,
    NOTHING_LEFT,
    OTHER_DATA_OVERWRITTEN,
    OTHER_MODES_ACCEPTED,
    OWN_SERVERS_ONLY,
    PAST_PROXY,
    RECORDS_MISSING,
    RECOVERED,
    TARGET_MARKED,
    TRAFFIC,
    WRONG_CODES,
    WRONG_CODES_OF_RECORDS,
    WRONG_CODES_OF_TABLE,
    WRONG_COUNT,
    WRONG_VALUES,
)
from workers.processes.process import Guarded, StartError, java_argv, run_process, write_properties
from workers.provision.administration import AdministrationError
from workers.provision.ownership import DataNotOwned, DataTarget
from workers.provision.readback import read_back
from workers.provision.servers import Provisioner, ProvisionError, Server
from workers.systems.manifests import Manifest

RECORDS: Final = 1_000
OPERATIONS: Final = 300  # of each workload
KILL_RECORDS: Final = 100_000  # more than a load writes before its server is killed
KILL_AFTER_S: Final = 2.0
CUT_AFTER_S: Final = 3.0
CUT_RUN_S: Final = 10
CLIENT_TIMEOUT_S: Final = 120.0
THREADS: Final = 4
FIELDS: Final = tuple(f"field{number}" for number in range(10))
READY: Final = "BENCHSITE READY"

Status = Literal["passed", "failed", "skipped"]


class CheckFailed(Exception):
    """A check's condition does not hold. The message states what was expected and what happened."""


class CheckSkipped(Exception):
    """A check does not apply. The message states why."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    check: str
    status: Status
    detail: str
    seconds: float


@dataclass(slots=True)
class ClientOutput:
    """What one YCSB client left: its exit code, its summary if it wrote one, and its standard error."""

    exit_code: int
    stdout: str
    stderr: str

    def returns(self) -> dict[str, dict[str, int]]:
        """Operation -> return code -> count; empty without a summary."""
        try:
            summary: Summary = parse_summary(self.stdout)
        except YcsbError:
            return {}
        return {name: dict(operation.returns) for name, operation in summary.operations.items() if operation.returns}

    def last_lines(self) -> str:
        """The end of standard error, for a message."""
        lines = [line for line in self.stderr.splitlines() if line.startswith(("BENCHSITE ERROR", "BENCHSITE FAILED"))]
        return " | ".join(line[:200] for line in lines[-3:]) or self.stderr.strip()[-300:]


@dataclass(kw_only=True)
class Conformance:
    """The checks of one server in one mode. `table` must hold no data but Benchsite's: they write and delete there."""

    system: System
    mode: Mode
    server: Server
    manifest: Manifest
    folder: Path  # of property files and outputs
    registry: Path  # of guarded processes
    table: str
    provisioner: Provisioner | None = None  # of a server that may be killed
    clients: int = field(default=0, init=False)
    inserted: int = field(default=0, init=False)  # behind the loaded records

    def results(self) -> Iterator[CheckResult]:
        """One result for each check, in order. Nothing is written to a server in another mode or beside data of others;
        after a failed load the checks that need its records are skipped.
        """
        writable = True
        for name, check, writes in self._checks():
            started = time.monotonic()
            try:
                if writes and not writable:
                    raise CheckSkipped("An earlier check failed.")
                status, detail = "passed", check()
            except CheckSkipped as reason:
                status = "skipped"
                detail = str(reason)
            except (CheckFailed, AdministrationError, DataNotOwned, ProvisionError, StartError, OSError) as error:
                status = "failed"
                detail = str(error)
                writable = writable and name not in ("connect", "mode in force", "data set", "load")

            yield CheckResult(name, status, detail, round(time.monotonic() - started, 2))  # type: ignore[arg-type]

    def _checks(self) -> Iterator[tuple[str, Callable[[], str], bool]]:
        yield "connect", self.connect, False
        yield "version", self.version, False
        yield "topology", self.topology, False
        yield "mode in force", self.mode_in_force, False
        yield "other modes refused", self.other_modes_refused, False
        yield "unreachable server", self.unreachable_server, False
        yield "data set", self.data_set, True
        yield "load", self.load, True
        yield "count", self.count, True
        yield "data of others", self.data_of_others, True
        yield "values", self.values, True
        for letter in CORE_WORKLOADS:
            yield f"workload {letter}", lambda letter=letter: self.workload(letter), True  # type: ignore[misc]

        yield "missing record", self.missing_record, True
        yield "missing table", self.missing_table, True
        yield "cut connection", self.cut_connection, True
        yield "topology unchanged", self.topology, False
        yield "killed server", self.killed_server, True
        yield "delete", self.delete, True

    # --- administration

    def connect(self) -> str:
        self.server.administration.ping()
        return f"{self.server.host}:{self.server.port} answers."

    def version(self) -> str:
        version = self.server.administration.server_version()
        if not version:
            raise CheckFailed(NO_VERSION)
        return f"Version {version}."

    def topology(self) -> str:
        facts = self.server.administration.topology()
        return ", ".join(f"{name} {value}" for name, value in sorted(facts.items())) or NO_FACTS

    def mode_in_force(self) -> str:
        state = read_back(self.system, self.mode, self.server.administration)
        if not state.in_force:
            raise CheckFailed(" ".join(state.differences))
        return ", ".join(f"{name}={value}" for name, value in state.found.items()) or MODE_OF_CLIENT

    def other_modes_refused(self) -> str:
        """Every mode that reads another server setting must be seen not to be in force."""
        own = self.mode.expected_settings

        def differs(mode: Mode) -> bool:
            return any(own.get(name, value) != value for name, value in mode.expected_settings.items())

        others = list(filter(differs, self.system.modes.values()))
        if not others:
            raise CheckSkipped(NO_OTHER_SETTING)

        accepted = [mode.slug for mode in others if read_back(self.system, mode, self.server.administration).in_force]
        if accepted:
            raise CheckFailed(OTHER_MODES_ACCEPTED.format(mode=self.mode.slug, accepted=", ".join(accepted)))

        return f"{', '.join(mode.slug for mode in others)}: not in force."

    # --- data

    def target(self, cluster: str = "verify") -> DataTarget:
        return DataTarget(
            administration=self.server.administration,
            name=f"{self.system.name}, table {self.table}",
            remedy="Choose another --table or --database.",
            sites=["benchsite-verify"],
            cluster=cluster,
            table=self.table,
            fields=FIELDS,
            fingerprint="verify",
            keys=loaded_keys({"recordcount": str(RECORDS)}),
            confirmed=False,
        )

    def data_set(self) -> str:
        self.target().prepare_load()
        return TARGET_MARKED

    def load(self) -> str:
        output = self.run_client({}, phase="-load")
        _expect(output, {"INSERT": RECORDS})
        return f"{RECORDS} inserts."

    def count(self) -> str:
        count = self.target().count()
        if count != RECORDS:
            raise CheckFailed(RECORDS_MISSING.format(count=count, records=RECORDS))
        return f"{count} records."

    def data_of_others(self) -> str:
        try:
            self.target("another cluster").prepare_load()
        except DataNotOwned as refusal:
            return str(refusal)
        raise CheckFailed(OTHER_DATA_OVERWRITTEN)

    def values(self) -> str:
        """Every value read is compared with the one that belongs to its key."""
        output = self.run_client({**CORE_WORKLOADS["C"], "dataintegrity": "true"})
        counts = _expect(output, {"READ": OPERATIONS})
        if counts.get("VERIFY", {}) != {"OK": OPERATIONS}:
            raise CheckFailed(WRONG_VALUES.format(operations=OPERATIONS, right=counts.get("VERIFY")))
        return f"{OPERATIONS} values are right."

    def workload(self, letter: str) -> str:
        workload = CORE_WORKLOADS[letter]
        if scans(workload) and not self.system.binding.scans:
            raise CheckSkipped(NO_SCANS)

        target = self.target()
        inserts = float(workload["insertproportion"]) > 0
        target.prepare_writes(inserts=inserts)
        # New records are numbered from `recordcount` on.
        properties = {**workload, "recordcount": str(RECORDS + self.inserted * inserts), "dataintegrity": "false"}
        accepted = {"OK"}
        if inserts and self.mode.durability.ack == "none":
            accepted.add("NOT_FOUND")  # Reads overtake inserts that nobody waited for.
        returns = _expect(self.run_client(properties), {}, accepted)
        counts = {name: sum(codes.values()) for name, codes in returns.items()}
        if inserts:
            self.inserted += counts.get("INSERT", 0) + THREADS
            target.note_inserts(self.inserted)

        summary = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        # A read-modify-write counts as its read and its update, too.
        if sum(counts.values()) - counts.get("READ-MODIFY-WRITE", 0) < OPERATIONS:
            raise CheckFailed(f"Only {summary} of {OPERATIONS} operations.")

        return f"{summary}."

    def missing_record(self) -> str:
        properties = {**CORE_WORKLOADS["C"], "recordcount": str(RECORDS * 1_000), "requestdistribution": "uniform"}
        codes = self.run_client({**properties, "dataintegrity": "false"}).returns().get("READ", {})
        if codes.get("NOT_FOUND", 0) < OPERATIONS // 2:
            raise CheckFailed(WRONG_CODES_OF_RECORDS.format(codes=codes))
        return f"{codes['NOT_FOUND']} times NOT_FOUND."

    def missing_table(self) -> str:
        if not self.server.administration.has_tables:
            raise CheckSkipped(f"{self.system.name} has no tables.")
        output = self.run_client({**CORE_WORKLOADS["C"], "dataintegrity": "false", "table": f"{self.table}_absent"})
        codes = output.returns().get("READ", {})
        if "OK" in codes or (not codes and output.exit_code == 0):
            raise CheckFailed(WRONG_CODES_OF_TABLE.format(codes=codes))
        return f"{', '.join(codes) or output.last_lines()}."

    # --- faults

    def _skip_without_server(self) -> None:
        if self.system.is_embedded:
            raise CheckSkipped(f"{self.system.name} is a library inside the client and has no server.")

    def unreachable_server(self) -> str:
        self._skip_without_server()
        with closing(socket.create_server(("127.0.0.1", 0))) as listener:
            port = listener.getsockname()[1]
        absent = dataclasses.replace(self.server, host="127.0.0.1", port=port, nodes=())
        output = self.run_client({**CORE_WORKLOADS["C"]}, server=absent)
        if output.exit_code == 0 or "BENCHSITE FAILED" not in output.stderr:
            raise CheckFailed(CLIENT_WITHOUT_SERVER.format(exit_code=output.exit_code, output=output.last_lines()))
        return output.last_lines()

    def cut_connection(self) -> str:
        """All connections are closed in the middle of a run: operations succeed again afterwards."""
        self._skip_without_server()
        with _proxies(self.server.nodes or [(self.server.host, self.server.port)]) as (nodes, cut, carried):
            host, port = nodes[0]
            proxied = dataclasses.replace(self.server, host=host, port=port, nodes=nodes)
            at_cut: list[int] = []  # bytes carried before it, and connections that it closed
            timer = threading.Timer(CUT_AFTER_S, lambda: at_cut.extend((sum(carried), cut())))
            properties = {**CORE_WORKLOADS["A"], "operationcount": "2147483647", "maxexecutiontime": str(CUT_RUN_S)}
            properties |= {"target": "200", "dataintegrity": "false"}
            try:
                output = self.run_client(properties, server=proxied, on_start=timer.start, options=("-target", "200"))
            finally:
                timer.cancel()

        codes = output.returns().get("READ", {})
        # A record has 1,000 bytes or more. Of several nodes a driver may reach some through the proxy, others past it.
        if codes.get("OK", 0) and sum(carried) < 1_000 * codes["OK"]:
            raise CheckSkipped(PAST_PROXY)

        before, closed = at_cut or (0, 0)
        if not closed:
            raise CheckFailed(NO_CONNECTION)

        # The seven seconds behind the cut outweigh the three before it, however slow the machine is.
        after = sum(carried) - before
        traffic = TRAFFIC.format(before=grouped(before), after=grouped(after))
        if after < before or not codes.get("OK"):
            raise CheckFailed(NOT_RECOVERED.format(traffic=traffic, codes=codes, output=output.last_lines()))

        failed = sum(codes.values()) - codes["OK"]
        return RECOVERED.format(sockets=closed, traffic=traffic, succeeded=codes["OK"], failed=failed)

    def killed_server(self) -> str:
        """SIGKILL of all nodes in the middle of a load: a mode that writes before it acknowledges must have every
        acknowledged insert when they are started again. No replica takes over.
        """
        self._skip_without_server()
        if self.provisioner is None:
            raise CheckSkipped(OWN_SERVERS_ONLY)
        if self.mode.durability.ack not in ("os_buffer", "disk"):
            raise CheckSkipped(MODE_MAY_LOSE.format(mode=self.mode.slug))

        timer = threading.Timer(KILL_AFTER_S, self.provisioner.stop, kwargs={"planned": False})
        target = dataclasses.replace(self.target(), keys=loaded_keys({"recordcount": str(KILL_RECORDS)}))
        target.prepare_load()
        output = self.run_client({"recordcount": str(KILL_RECORDS)}, phase="-load", on_start=timer.start)
        timer.join()
        acknowledged = output.returns().get("INSERT", {}).get("OK", 0)
        self.server.administration.close()
        self.server = self.provisioner.start()
        present = target_count(dataclasses.replace(target, administration=self.server.administration), acknowledged)
        if not acknowledged or present < acknowledged:
            raise CheckFailed(INSERTS_LOST.format(acknowledged=acknowledged, present=present))

        return INSERTS_PRESENT.format(acknowledged=acknowledged, present=present)

    def delete(self) -> str:
        """The data set and its marker go; nothing else does."""
        administration = self.server.administration
        target = self.target()
        if administration.count_keys(self.table, ["benchsite-verify-absent"]):
            raise CheckFailed(FOREIGN_KEY)
        target.prepare_load()
        left = administration.size(self.table)
        administration.drop_empty_table(self.table)
        if left:
            raise CheckFailed(f"{left} records are left.")
        return NOTHING_LEFT

    # --- clients

    def run_client(
        self,
        properties: Mapping[str, str],
        *,
        phase: str = "-t",
        server: Server | None = None,
        on_start: Callable[[], object] = lambda: None,
        options: Sequence[str] = (),
    ) -> ClientOutput:
        """One YCSB client from its start to its end, started as a load generator starts it."""
        self.clients += 1
        folder = self.folder / f"client-{self.clients}"
        folder.mkdir(mode=0o700, parents=True)
        workload = {
            "workload": "site.ycsb.workloads.CoreWorkload",
            "recordcount": str(RECORDS),
            "operationcount": str(OPERATIONS),
            "table": self.table,
            "fieldcount": str(len(FIELDS)),
            "dataintegrity": "true",
            **properties,
        }
        # A load for scans may need more than one for reads, such as an index.
        workload |= {**(server or self.server).client_properties(workload), **self.system.binding.when_scanning}
        path = folder / "ycsb.properties"
        write_properties(path, workload)
        arguments = ["--ready", phase, "-s", "-P", str(path), "-threads", str(THREADS)]
        arguments += ["-db", self.manifest.java_class, *options]
        running: list[Guarded] = []

        def start(line: str) -> None:
            if line.startswith(READY):
                running[0].write_line(f"START {round(time.time() * 1000)}")
                on_start()

        result = run_process(
            java_argv(self.manifest, "benchsite.Start", arguments),
            registry=self.registry,
            label=f"verify {self.system.slug}",
            cwd=folder,
            stdin=True,
            stdout_path=folder / "stdout.txt",
            stderr_path=folder / "stderr.txt",
            on_started=running.append,
            on_stderr_line=start,
            deadline_s=CLIENT_TIMEOUT_S,
        )
        texts = [(folder / name).read_text(errors="replace") for name in ("stdout.txt", "stderr.txt")]
        path.unlink()
        return ClientOutput(result.exit_code, *texts)


def target_count(target: DataTarget, acknowledged: int) -> int:
    """How many of the first records there are. Loads of several threads write in about the order of their numbers, so
    no more than twice the acknowledged ones are looked up.
    """
    keys = dataclasses.replace(target.keys, end=min(target.keys.end, 2 * acknowledged + 1_000))
    return dataclasses.replace(target, keys=keys).count() or 0


def _expect(
    output: ClientOutput, counts: Mapping[str, int], accepted: Collection[str] = ("OK",)
) -> dict[str, dict[str, int]]:
    """The return codes, all of them accepted, and OK of each operation as often as `counts` states."""
    returns = output.returns()
    wrong = {name: codes for name, codes in returns.items() if not set(codes) <= set(accepted)}
    if wrong or not returns or output.exit_code:
        raise CheckFailed(
            WRONG_CODES.format(exit_code=output.exit_code, codes=wrong or returns, output=output.last_lines())
        )
    for name, count in counts.items():
        if returns.get(name, {}).get("OK") != count:
            raise CheckFailed(WRONG_COUNT.format(count=count, operation=name, codes=returns))
    return returns


@contextmanager
def _proxies(
    nodes: Sequence[tuple[str, int]],
) -> Iterator[tuple[tuple[tuple[str, int], ...], Callable[[], int], list[int]]]:
    """TCP proxies of the nodes on one port of 127.0.0.1, 127.0.0.2 and so on: their addresses, a function that closes
    their connections and returns the number of those, and the sizes in bytes of what they carried.
    """
    listeners: list[socket.socket] = []
    connections: list[socket.socket] = []
    carried: list[int] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
                carried.append(len(data))
        _shut(source, sink)

    def accept(listener: socket.socket, node: tuple[str, int]) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(node, timeout=5)
                except OSError:
                    client.close()
                    continue
                server.settimeout(None)
                connections.extend((client, server))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    port = 0
    try:
        for number, node in enumerate(nodes, 1):
            listeners.append(socket.create_server((f"127.0.0.{number}", port)))
            port = listeners[0].getsockname()[1]
            threading.Thread(target=accept, args=(listeners[-1], node), daemon=True).start()
        yield tuple(each.getsockname() for each in listeners), lambda: _shut(*connections), carried
    finally:
        _shut(*listeners, *connections)
        for connection in (*listeners, *connections):
            connection.close()


def _shut(*connections: socket.socket) -> int:
    """Answers how many of the connections were open."""
    closed = 0
    for connection in connections:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
            closed += 1
    return closed

"""The Java process that writes with a ledger and reads back, for the lives of one server. No Django."""

import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, Queue
from typing import Final

from benchsite.core.formatting import grouped
from runs.ycsb.command import WORKLOAD_CLASS
from runs.ycsb.properties import render_properties
from workers.durability.ledger import Write, parse_ledger
from workers.processes.guarded_process import start_guarded
from workers.processes.process import java_argv
from workers.systems.manifests import Manifest

ANSWER_TIMEOUT_S: Final = 60.0
MAX_READ_S: Final = 0.05  # a key, at consistency ALL on a busy machine
JVM_OPTIONS: Final = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class LedgerClientError(Exception):
    """The client could not write or read; the message is its own."""


class LedgerClient:
    """One `benchsite.LedgerClient`. `folder` holds its properties, ledgers and log, outside the failing storage.
    `mounts_of`: as `start_guarded`.

    Every method raises LedgerClientError.
    """

    def __init__(
        self,
        manifest: Manifest,
        properties: Mapping[str, str],
        folder: Path,
        *,
        registry: Path,
        threads: int,
        mounts_of: int | None = None,
    ) -> None:
        self.folder = folder
        self._number = 0
        settings = folder / "client.properties"
        settings.touch(mode=0o600)
        settings.write_text(
            render_properties({**properties, "workload": WORKLOAD_CLASS, "operationcount": "1"}), encoding="latin-1"
        )
        self._process = start_guarded(
            java_argv(
                manifest,
                "benchsite.LedgerClient",
                ["-P", str(settings), "-threads", str(threads), "-db", manifest.java_class],
                jvm_options=JVM_OPTIONS,
            ),
            registry=registry,
            label="ledger client",
            cwd=folder,
            mounts_of=mounts_of,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=folder / "client.log",
        )
        self._answers: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read_answers, name="ledger client", daemon=True)
        self._reader.start()

    def start_writing(self, rate_ops_s: float) -> None:
        """Returns when every thread has had an acknowledgement. They write until an error or `stop_writing`."""
        self._number += 1
        self._send(f"WRITE {self._ledger} {self._number}- {rate_ops_s}")
        self._expect("WRITING")

    def finish_writing(self) -> list[Write]:
        """All acknowledged writes, once the server is gone and every thread has stopped."""
        self._expect("STOPPED")
        return self._writes()

    def stop_writing(self) -> list[Write]:
        """`finish_writing` although nodes of a cluster answer."""
        self._send("STOP")
        return self.finish_writing()

    def end_without_closing(self) -> list[Write]:
        """Ends the process in the middle of writing. All writes that were acknowledged before."""
        self._process.stop()
        return self._writes()

    def read_back(self, keys: Sequence[str]) -> dict[str, int]:
        """Key -> version, or `ledger.ABSENT`, DAMAGED or UNREADABLE."""
        names, versions = self.folder / "keys", self.folder / "versions"
        names.write_text("\n".join(keys), encoding="latin-1")
        self._send(f"READ {names} {versions}")
        self._expect("READ", timeout_s=ANSWER_TIMEOUT_S + MAX_READ_S * len(keys))
        pairs = (line.split() for line in versions.read_text(encoding="latin-1").splitlines())
        return {key: int(version) for key, version in pairs}

    def _writes(self) -> list[Write]:
        with self._ledger.open(encoding="latin-1") as lines:
            return parse_ledger(lines)

    @property
    def _ledger(self) -> Path:
        return self.folder / f"ledger-{self._number}"

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode("latin-1"))
        except OSError as error:
            raise LedgerClientError(f"The ledger client has ended; see {self.folder / 'client.log'}.") from error

    def _expect(self, answer: str, *, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        try:
            line = self._answers.get(timeout=timeout_s)
        except Empty:
            line = f"no answer within {grouped(timeout_s)} s"
        if line != answer:
            raise LedgerClientError(
                f"The ledger client answered {line!r} instead of {answer}; see {self.folder / 'client.log'}."
            )

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line.decode("latin-1").strip())
        self._answers.put("nothing")

    def __enter__(self) -> "LedgerClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

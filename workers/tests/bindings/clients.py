"""YCSB clients started as a load generator starts them, and what they wrote."""

import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runs.ycsb.hdr import IntervalLog
from runs.ycsb.properties import render_properties
from runs.ycsb.summary import Summary, parse_summary
from runs.ycsb.tests.hdrlogs import read_log
from workers.systems.manifests import Manifest, java_executable

PATIENCE_S = 60
# Values depend on their keys, so that every read is also checked (VERIFY).
WORKLOAD = {
    "workload": "site.ycsb.workloads.CoreWorkload",
    "recordcount": "1000",
    "operationcount": "2147483647",
    "fieldcount": "10",
    "fieldlength": "100",
    "dataintegrity": "true",
    "readproportion": "0.5",
    "updateproportion": "0.5",
    "requestdistribution": "zipfian",
    "status.interval": "1",
    "measurementtype": "hdrhistogram",
    "hdrhistogram.fileoutput": "true",
}


@dataclass
class Ended:
    """What a client left behind."""

    exit_code: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def summary(self) -> Summary:
        return parse_summary(self.stdout)

    @property
    def returns(self) -> dict[str, dict[str, int]]:
        """Operation -> return code -> count."""
        found: dict[str, dict[str, int]] = {}
        for line in self.stdout.splitlines():
            if ", Return=" in line:
                operation, code, count = line.split(", ")
                found.setdefault(operation.strip("[]"), {})[code.removeprefix("Return=")] = int(count)
        return found

    def lines(self, beginning: str) -> list[str]:
        """What Benchsite's own lines on stderr that begin so go on with."""
        return [line.removeprefix(beginning) for line in self.stderr.splitlines() if line.startswith(beginning)]

    def log(self, operation: str) -> IntervalLog:
        with (self.folder / f"{operation}.hdr").open() as lines:
            return read_log(lines)


class StartedClient:
    """One JVM, up to its end."""

    def __init__(
        self, manifest: Manifest, folder: Path, properties: Mapping[str, str], *, phase: str = "-t", threads: int = 2
    ) -> None:
        self.folder = folder
        folder.mkdir()
        path = folder / "ycsb.properties"
        path.write_text(render_properties({"hdrhistogram.output.path": f"{folder}/", **WORKLOAD, **properties}))
        self.argv = [java_executable(), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"]
        self.argv += ["-Duser.language=en", "-Duser.country=US"]
        self.argv += ["-cp", ":".join(map(str, manifest.jars)), "benchsite.Start", "--ready", phase, "-s"]
        self.argv += ["-P", str(path), "-threads", str(threads), "-db", manifest.java_class]
        self.process = subprocess.Popen(
            self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.output: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self.readers = [threading.Thread(target=self._read, args=[name], daemon=True) for name in self.output]
        for reader in self.readers:
            reader.start()

    def _read(self, name: str) -> None:
        with getattr(self.process, name) as stream:
            for line in stream:
                self.output[name].append(line)

    def wait_for(self, beginning: str) -> str:
        """The rest of the first line on stderr that begins so."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for line in list(self.output["stderr"]):
                if line.startswith(beginning):
                    return line.removeprefix(beginning).strip()
            if self.process.poll() is not None and not any(reader.is_alive() for reader in self.readers):
                break
            time.sleep(0.02)
        raise AssertionError(f"no {beginning!r} in {''.join(self.output['stderr'])}")

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """Whatever a test left behind."""
        assert self.process.stdin is not None
        self.process.kill()
        self.process.stdin.close()
        self.process.wait()
        for reader in self.readers:
            reader.join()

    def go(self, in_s: float = 0.0) -> None:
        """Waits until the client is ready and names the instant."""
        self.wait_for("BENCHSITE READY")
        self.say(f"START {round((time.time() + in_s) * 1000)}")

    def end(self, patience_s: float = PATIENCE_S) -> Ended:
        """Waits for the end; stdin is closed first, as the load generator's own end would close it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        exit_code = self.process.wait(timeout=patience_s)
        for reader in self.readers:
            reader.join()
        return Ended(exit_code, "".join(self.output["stdout"]), "".join(self.output["stderr"]), self.folder)

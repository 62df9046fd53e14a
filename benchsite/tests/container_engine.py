"""A Docker engine of the tests' own: on a private socket, with images made of this machine's servers.

It touches no engine that runs here already, needs no registry, and makes no rules in the packet filter. The images are
tagged like the official ones, and have what Benchsite relies on of those: the server on PATH, its account, a shell.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from docker.errors import DockerException

from benchsite.tests.needs import need
from runs.catalog import load_catalog
from workers.generator.executables import find_postgresql, find_redis
from workers.processes.guarded_process import start_guarded
from workers.provision.docker_engine import EngineError, connected

START_S = 30.0
ACCOUNTS = "root:x:0:0:root:/root:/bin/sh\nredis:x:999:1000::/data:/bin/sh\npostgres:x:998:70::/data:/bin/sh\n"
# What initdb and a new PostgreSQL load beside their programs' own libraries.
LOADED = ("dict_snowball.so", "plpgsql.so", "libpqwalreceiver.so")


class TestEngine:
    """One dockerd. `address` is what DOCKER_HOST says."""

    __test__ = False

    def __init__(self, folder: Path, driver: str) -> None:
        self.folder, self.address = folder, f"unix://{folder}/docker.sock"
        folder.mkdir(parents=True)
        self.log = folder / "dockerd.log"
        argv = [
            *("dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", f"--storage-driver={driver}"),
            *(f"--data-root={folder}/root", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid"),
            *("--host", self.address, "--log-level=warn"),
        ]
        environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        environment.pop("DOCKER_HOST", None)
        self.guarded = start_guarded(
            argv, registry=folder / "guarded", label="dockerd", env=environment, stdout=self.log, stderr=self.log,
            grace_s=15, stop_signal=signal.SIGTERM, stop_group=False,
        )  # fmt: skip

    def wait(self) -> bool:
        """Whether it answers before it ends or time is up."""
        end = time.monotonic() + START_S
        while self.guarded.alive() and time.monotonic() < end:
            with contextlib.suppress(EngineError), self.client():
                return True
            time.sleep(0.1)
        return False

    def client(self) -> contextlib.AbstractContextManager[Any]:
        return connected(self.address)

    def clear(self) -> None:
        """Removes all containers and volumes. Raises EngineError."""
        with self.client() as client:
            for container in client.containers.list(all=True):
                container.remove(force=True, v=True)
            for volume in client.volumes.list():
                volume.remove(force=True)

    def stop(self) -> None:
        """Ends it with all its containers; what it had mounted is given back."""
        with contextlib.suppress(EngineError):
            self.clear()
        self.guarded.stop()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if (place := line.split(" ")[1]).startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", place], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.folder.parent.rmdir()

    def add_image(self, system: str, tag: str = "") -> str:
        """An image of this machine's `system`, by the official name; `tag`: another than the catalog's own."""
        recipe = load_catalog().system(system).image
        assert recipe is not None
        reference = recipe.reference(tag)
        self.add_build(reference, redis_files() if system == "redis" else postgresql_files())
        return reference

    def add_build(self, reference: str, files: list[Path], accounts: str = ACCOUNTS) -> None:
        content, programs = build_image(files, accounts)
        repository, _, tag = reference.rpartition(":")
        with self.client() as client:
            client.api.import_image_from_data(
                content,
                repository=repository,
                tag=tag,
                changes=[f"ENV {_path(programs)}", "VOLUME /data"],
            )


@pytest.fixture(scope="module")
def engine() -> Iterator[TestEngine]:
    """A Docker engine for the tests of one file; they are skipped where none can run."""
    need("docker")
    engine = start_engine()
    if isinstance(engine, str):
        pytest.skip(engine)
    yield engine
    engine.stop()


def start_engine() -> TestEngine | str:
    """The engine, seen to run containers; or why there is none."""
    base = Path(tempfile.mkdtemp(prefix="bs-docker-", dir="/var/tmp"))
    said = ""
    for driver in ("overlay2", "vfs"):
        engine = TestEngine(base / driver, driver)
        if engine.wait() and not (said := _trouble(engine)):
            return engine
        said = said or engine.log.read_text().strip()[-500:]
        engine.stop()
    return f"No Docker engine runs containers here: {said}"


def _trouble(engine: TestEngine) -> str:
    """Why it cannot run a container; empty where it can."""
    content, _ = build_image([Path("/bin/true")])
    with engine.client() as client:
        client.api.import_image_from_data(content, repository="trial", tag="1")
        try:
            client.containers.run("trial:1", entrypoint=["/bin/true"], network_mode="host", remove=True)
        except DockerException as error:
            return str(error)
    return ""


def redis_files() -> list[Path]:
    return [find_redis()[0].path]


def postgresql_files() -> list[Path]:
    """The server with what it reads: its libraries and shared files, time zones, and a shell for initdb."""
    every = find_postgresql()
    chosen = next((one for one in every if one.origin != "wheel"), every[0])
    shared = Path("/usr/share/postgresql") / str(chosen.major)
    libraries = [path for name in LOADED for path in (chosen.folder.parent / "lib").rglob(name)]
    places = [chosen.folder.parent / "share", shared]
    texts = [path for place in places for path in place.rglob("*") if path.is_file() and "man" not in path.parts]
    copier = chosen.folder / "pg_basebackup"
    return [
        chosen.postgres,
        chosen.initdb,
        copier,
        Path("/bin/sh"),
        Path("/usr/share/zoneinfo/UTC"),
        *libraries,
        *texts,
    ]


class Registry:
    """One on loopback, which engines take without TLS; its tags can be moved."""

    def __init__(self) -> None:
        self._content: dict[str, tuple[str, bytes]] = {}  # path -> media type and bytes
        content = self._content

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                kind, body = content.get(self.path, ("", b""))
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Docker-Content-Digest", _digest(body))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._content["/v2/"] = ("application/json", b"{}")
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.repository = f"127.0.0.1:{self._server.server_port}/team/redis"

    def __enter__(self) -> "Registry":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def push(self, tag: str, files: list[Path], **labels: str) -> str:
        """The digest by which the registry knows the image."""
        layer, programs = build_image(files)
        config = json.dumps({
            "architecture": "arm64" if platform.machine() == "aarch64" else "amd64", "os": "linux",
            "config": {"Env": [_path(programs)], "Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }).encode()  # fmt: skip
        kind = "application/vnd.docker.distribution.manifest.v2+json"
        manifest = json.dumps({
            "schemaVersion": 2, "mediaType": kind,
            "config": self._add_blob("container.image.v1+json", config),
            "layers": [self._add_blob("image.rootfs.diff.tar.gzip", gzip.compress(layer, 1))],
        }).encode()  # fmt: skip
        for name in (tag, _digest(manifest)):
            self._content[f"/v2/team/redis/manifests/{name}"] = (kind, manifest)
        return f"{self.repository}@{_digest(manifest)}"

    def _add_blob(self, kind: str, content: bytes) -> dict[str, object]:
        self._content[f"/v2/team/redis/blobs/{_digest(content)}"] = ("application/octet-stream", content)
        return {"mediaType": f"application/vnd.docker.{kind}", "size": len(content), "digest": _digest(content)}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _path(programs: str) -> str:
    return f"PATH={programs}:/usr/local/bin:/usr/bin:/bin"


def build_image(files: list[Path], accounts: str = ACCOUNTS) -> tuple[bytes, str]:
    """A root file system with these files and the libraries of their programs at their own places, and where the first
    of them lies."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for folder in ("tmp", "data", "proc", "sys", "dev", "etc"):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(member)
        _add(archive, "etc/passwd", accounts.encode(), 0o644)
        # The linker names some files by roundabout ways, and an image has each but once.
        for place in dict.fromkeys(os.path.normpath(path) for path in [*files, *_libraries(files)]):
            _add(archive, place.lstrip("/"), Path(place).read_bytes(), 0o755)
    return content.getvalue(), str(files[0].parent)


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))


def _libraries(files: Iterable[Path]) -> list[Path]:
    """What the dynamic linker loads for these programs and libraries, by its own answer."""
    programs = [str(path) for path in files if path.suffix == ".so" or path.parent.name in ("bin", "sbin")]
    stdout = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    words = {word for line in stdout.splitlines() for word in line.split() if word.startswith("/")}
    return sorted(Path(word) for word in words if not word.endswith(":") and Path(word).is_file())

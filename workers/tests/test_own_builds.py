"""Servers that a team built: placed where their operator allows it, never as root, and started for real."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest
import redis

from benchsite.core.paths import Account
from runs.catalog import load_catalog
from workers.generator.executables import choose_redis
from workers.provision.artifact_repository import MavenError, fetch_artifact
from workers.provision.own_builds import BUILD, OwnBuilds, place_build
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.tests.conftest import site

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
NOTHING = dict.fromkeys(
    ("name", "folder", "image", "artifact", "version", "commit", "branch", "committed_at", "ci_url"), ""
)
COMMIT = "3f2a91c7d0e4"
NOBODY = Account("nobody", 65534, 65534)


@pytest.fixture
def redis_program(tmp_path):
    return choose_redis(None, shelf=tmp_path).path.resolve()


@pytest.fixture
def folder(tmp_path, redis_program):
    """A build with a program and what its pipeline states."""
    folder = tmp_path / "builds" / "nightly"
    (folder / "bin").mkdir(parents=True)
    shutil.copy2(redis_program, folder / "bin" / "redis-server")
    (folder / "benchsite-build.json").write_text(json.dumps({"commit": COMMIT, "branch": "main", "more": 1}))
    return folder


@pytest.fixture
def allowed(tmp_path):
    return OwnBuilds(folders=(tmp_path / "builds",))


def build(**stated):
    return {**NOTHING, "name": "this", **stated}


def place(stated, allowed, tmp_path, account=NOBODY, system="redis"):
    deployment = tmp_path / "deployment"
    deployment.mkdir(exist_ok=True)
    return place_build(stated, load_catalog().system(system), allowed, deployment, tmp_path, account)


def start(site, folder, allowed):
    object.__setattr__(site, "own_builds", allowed)
    system = load_catalog().system("redis")
    spec = ServerSpec(deployment="own", system=system, mode=system.mode("off"), build=build(folder=str(folder)))
    provisioner = ProcessProvisioner(spec, site)
    return provisioner, provisioner.start()


def test_starts_the_program_of_the_folder(site, folder, allowed):
    provisioner, server = start(site, folder, allowed)
    try:
        process = psutil.Process(server.process["pid"])
        assert process.exe() == str(provisioner.folder / BUILD / "bin" / "redis-server")
        assert process.uids().effective != 0
        assert server.build["commit"] == COMMIT and len(server.build["digest"]) == 64
        with redis.Redis(server.host, server.port, password=server.password) as client:
            assert client.info("server")["executable"] == process.exe()
        # What is put there meanwhile is not started: a plan measures one build.
        (folder / "bin" / "redis-server").write_text("#!/bin/sh\nexit 1\n")
        provisioner.stop()
        assert provisioner.start().build == server.build
    finally:
        provisioner.remove()
    assert not provisioner.folder.exists()


def test_changed_build_has_another_digest(folder, allowed, tmp_path):
    *_, first = place(build(folder=str(folder)), allowed, tmp_path)
    shutil.rmtree(tmp_path / "deployment")
    (folder / "note").write_text("changed")

    *_, changed = place(build(folder=str(folder)), allowed, tmp_path)
    assert changed["digest"] != first["digest"]


@pytest.mark.parametrize("account", [Account("root", 0, 0), None])
def test_never_runs_as_root(folder, allowed, tmp_path, account):
    if account is None and os.geteuid() != 0:
        pytest.skip("This process is not root.")
    with pytest.raises(ServerDidNotStart, match="never run as root"):
        place(build(folder=str(folder)), allowed, tmp_path, account)
    assert not (tmp_path / "deployment" / BUILD).exists()


def test_nothing_is_started_unless_the_operator_allows_it(folder, tmp_path):
    for allowed in (OwnBuilds(), OwnBuilds(folders=(tmp_path / "elsewhere",))):
        with pytest.raises(ServerDidNotStart, match="operator allows"):
            place(build(folder=str(folder)), allowed, tmp_path)
    with pytest.raises(ServerDidNotStart, match="names no Maven repository"):
        place(build(artifact="org.example:server:1"), OwnBuilds(), tmp_path)
    facts = OwnBuilds().list_facts()
    assert all("its operator sets BENCHSITE_OWN_BUILD_" in fact for fact in facts.values()) and len(facts) == 3


def test_images_begin_as_the_operator_allows():
    allowed = OwnBuilds(images=("registry.example/team/",))
    allowed.check_image("registry.example/team/redis:pr-7")
    for reference in ("registry.example/team", "registry.example/teams/redis", "redis:8"):
        with pytest.raises(ServerDidNotStart, match="BENCHSITE_OWN_BUILD_IMAGES"):
            allowed.check_image(reference)


@pytest.mark.parametrize("plant", ["parent", "link", "linked_folder", "pipe"])
def test_nothing_outside_the_build_is_read(folder, allowed, tmp_path, plant):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("hush")
    stated = str(folder)
    match plant:
        case "parent":
            stated = str(folder / ".." / ".." / "secret")
        case "link":
            (folder / "key").symlink_to(secret / "key")
        case "linked_folder":
            (folder / "keys").symlink_to(secret)
        case "pipe":
            os.mkfifo(folder / "pipe")
    with pytest.raises(ServerDidNotStart):
        place(build(folder=stated), allowed, tmp_path)
    assert not (tmp_path / "deployment" / BUILD).exists()


def test_copy_has_no_special_rights(folder, allowed, tmp_path):
    (folder / "bin" / "redis-server").chmod(0o6777)
    program, *_ = place(build(folder=str(folder)), allowed, tmp_path)

    assert program.stat().st_mode & 0o7777 == 0o755


def test_folder_without_a_program_is_refused(folder, allowed, tmp_path):
    (folder / "bin" / "redis-server").unlink()
    with pytest.raises(ServerDidNotStart, match="no program redis-server or valkey-server"):
        place(build(folder=str(folder)), allowed, tmp_path)
    shutil.rmtree(tmp_path / "deployment")
    with pytest.raises(ServerDidNotStart, match="no jars"):
        place(build(folder=str(folder)), allowed, tmp_path, system="cassandra")


class Repository:
    """A Maven repository below a folder, also by HTTP."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, place, name, content, checksum=True):
        path = self.folder / place
        path.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
        if checksum:
            (path / f"{name}.sha1").write_text(hashlib.sha1(content).hexdigest())

    @property
    def server(self):
        handler = partial(SimpleHTTPRequestHandler, directory=str(self.folder))
        handler.log_message = lambda *_: None
        return ThreadingHTTPServer(("127.0.0.1", 0), handler)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def pack(**files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_", "-"))
            member.size, member.mode = len(data), 0o755
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()


def test_archive_of_a_repository_is_started(repository, redis_program, tmp_path):
    content = pack(redis_9__bin__redis_server=redis_program.read_bytes())
    repository.add("org/example/server/9-SNAPSHOT", "server-9-20260301.120000-4-linux.tar.gz", content)
    metadata = b"<m><timestamp>20260301.120000</timestamp><buildNumber>4</buildNumber></m>"
    repository.add("org/example/server/9-SNAPSHOT", "maven-metadata.xml", metadata)
    server = repository.server
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        allowed = OwnBuilds(repository=f"http://127.0.0.1:{server.server_port}/")
        program, *_ = place(build(artifact="org.example:server:9-SNAPSHOT:tar.gz:linux"), allowed, tmp_path)
    finally:
        server.shutdown()
        server.server_close()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert "v=" in version and program.is_relative_to(tmp_path / "deployment" / BUILD)


def test_damaged_and_missing_artifacts_are_refused(repository, tmp_path):
    content = pack(server=b"x")
    repository.add("g/a/1", "a-1.tar.gz", content)
    (repository.folder / "g/a/1/a-1.tar.gz.sha1").write_text("0" * 40)
    draft = tmp_path / "draft"
    draft.mkdir()
    cases = {"g:a:1:tar.gz": "sha1", "g:a:2:tar.gz": "has no", "g:a:1:exe": "none of"}
    for coordinates, part in cases.items():
        with pytest.raises(MavenError, match=part):
            fetch_artifact(str(repository.folder), coordinates, draft, max_bytes=1 << 20)
    repository.add("g/b/1", "b-1.tar.gz", content)
    with pytest.raises(MavenError, match="more than"):
        fetch_artifact(str(repository.folder), "g:b:1:tar.gz", draft, max_bytes=10)


def test_archives_write_nothing_outside(repository, tmp_path):
    draft = tmp_path / "draft"
    draft.mkdir()
    repository.add("g/a/1", "a-1.tar.gz", pack(**{"..____evil": b"x"}))
    with pytest.raises(MavenError, match="cannot be unpacked"):
        fetch_artifact(str(repository.folder), "g:a:1:tar.gz", draft, max_bytes=1 << 20)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("../evil", "x")
    repository.add("g/z/1", "z-1.zip", content.getvalue())
    fetch_artifact(str(repository.folder), "g:z:1:zip", draft, max_bytes=1 << 20)
    assert not list(tmp_path.glob("evil"))


def test_jar_takes_the_place_of_its_own_artifact(repository, tmp_path, monkeypatch):
    lib = tmp_path / "lib"
    lib.mkdir()
    for name in ("server-4.1.jar", "server-tools-4.1.jar", "driver-3.jar"):
        (lib / name).write_bytes(b"old")
    monkeypatch.setattr("workers.provision.own_builds.choose_java_server", lambda *_, **__: (tmp_path, lib))
    monkeypatch.setattr("workers.provision.own_builds.find_server_java", lambda: tmp_path / "java")
    repository.add("g/server/5", "server-5.jar", b"new")
    allowed = OwnBuilds(repository=str(repository.folder))

    _, lib, _ = place(build(artifact="g:server:5"), allowed, tmp_path, system="cassandra")

    assert sorted(path.name for path in lib.glob("*.jar")) == [
        "driver-3.jar",
        "server-tools-4.1.jar",
        "server.jar",
    ]

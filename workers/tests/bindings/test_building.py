"""The build of the bindings: once per source, the same each time, and never half."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workers.systems.build import (
    MAVEN_OPTIONS,
    SOURCES,
    BuildError,
    build,
    copy_sources,
    read_description,
    read_project,
    source_digest,
)
from workers.systems.manifests import Manifest, verify


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    copy = tmp_path / "sources"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("target", "__pycache__"))
    return copy


@pytest.fixture
def into(tmp_path: Path, bindings: dict[str, Manifest]) -> Path:
    """A copy of what is built already."""
    for manifest in bindings.values():
        shutil.copytree(manifest.folder, tmp_path / "ycsb" / manifest.binding)
    return tmp_path / "ycsb"


def test_it_knows_its_bindings_and_their_pins():
    project = read_project(SOURCES)
    assert {"redis", "postgresql", "cassandra", "mariadb"} <= set(project.bindings)
    assert set(project.bindings) - set(project.on_demand) == {"postgresql", "redis"}
    assert (project.ycsb_version, project.release) == ("0.17.0", "11")
    assert project.versions["org.hdrhistogram:HdrHistogram"] == "2.2.2"
    for binding in project.bindings:
        assert project.versions[read_description(SOURCES, binding)["driver"]]


def test_every_version_is_pinned():
    own = {"${project.version}", "${ycsb.version}"}
    versions = read_project(SOURCES).versions.values()
    assert all(version in own or re.fullmatch(r"\d[\w.-]*", version) for version in versions)


def test_what_the_jars_are_made_of_decides_the_source_digest(sources: Path):
    before = source_digest(sources, "redis")
    assert before == source_digest(SOURCES, "redis")
    (sources / "redis/java/src/test/java/org/benchsite/redis/RedisErrorsTest.java").write_text("// other tests")
    (sources / "postgresql/java/pom.xml").write_text("another binding's business")
    assert source_digest(sources, "redis") == before
    shared = sources / "base/src/main/java/benchsite/Start.java"
    shared.write_text(shared.read_text() + "\n// changed")
    assert source_digest(sources, "redis") != before


@pytest.mark.slow
def test_it_refuses_a_binding_that_is_not_there(into: Path):
    with pytest.raises(BuildError, match=r"no binding rediss; there are .*cassandra.*, redis"):
        build(into, ["rediss"])


@pytest.mark.slow
def test_it_builds_nothing_twice(into: Path, capfd: pytest.CaptureFixture[str]):
    before = {path: path.stat().st_mtime_ns for path in into.rglob("*.jar")}
    build(into)
    assert {path: path.stat().st_mtime_ns for path in into.rglob("*.jar")} == before
    assert capfd.readouterr().out == ""


@pytest.mark.long
def test_one_source_gives_one_digest(bindings: dict[str, Manifest], into: Path, sources: Path):
    """Built again from another folder, at another time, because jars were tampered with."""
    for jar in into.glob("*/lib/core*.jar"):
        jar.write_bytes(b"not YCSB")
    rebuilt = build(into, sources=sources)
    assert {name: manifest.digest for name, manifest in rebuilt.items()} == {
        name: manifest.digest for name, manifest in bindings.items()
    }
    assert sorted(path.name for path in into.iterdir()) == [".lock", "build.log", "postgresql", "redis"]
    assert not list(sources.rglob("target"))


@pytest.mark.slow
def test_a_build_that_fails_says_why_and_leaves_the_earlier_one(into: Path, sources: Path):
    earlier = verify(into / "redis")
    broken = sources / "redis/java/src/main/java/org/benchsite/redis/RedisDB.java"
    broken.write_text(broken.read_text().replace("servers.close();", "servers.pong();"))
    with pytest.raises(BuildError) as failure:
        build(into, ["redis"], sources=sources)
    assert "RedisDB.java" in str(failure.value)
    assert "pong" in str(failure.value)
    assert "Then run `make bindings` again." in str(failure.value)
    assert "[Help 1]" not in str(failure.value).splitlines()[-1]
    assert verify(into / "redis") == earlier


@pytest.mark.slow
def test_a_build_that_cannot_fetch_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    options = f"-Dmaven.repo.local={tmp_path / 'empty'} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1"
    monkeypatch.setenv("MAVEN_OPTS", options)
    with pytest.raises(BuildError, match="check the network, or the proxy"):
        build(tmp_path / "ycsb")


def test_the_script_ends_with_an_error_code_and_a_reason(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, SOURCES / "build.py", "--into", tmp_path, "voldemort"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "There is no binding voldemort; there are " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_units_of_java_pass_without_warnings(tmp_path: Path):
    copy = tmp_path / "project"
    copy_sources(SOURCES, copy)
    done = subprocess.run(
        ["mvn", "-q", "-B", "-ntp", "-Dmaven.compiler.failOnWarning=true", "-DforkCount=0", "test"],
        cwd=copy,
        env={**os.environ, "MAVEN_OPTS": MAVEN_OPTIONS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert len(list(copy.rglob("target/surefire-reports/*.txt"))) >= 9

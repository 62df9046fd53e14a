"""Manifests: a binding is what its digest says, or it is not used."""

import logging
from pathlib import Path

import pytest

from workers.systems.manifests import (
    Manifest,
    ManifestError,
    compute_digest,
    hash_jars,
    installed_bindings,
    java_executable,
    read_manifest,
    verify,
)


def make_binding(ycsb_dir: Path, name: str = "redis") -> Path:
    folder = ycsb_dir / name
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "driver-1.jar").write_bytes(b"driver")
    (folder / "lib" / "core-1.jar").write_bytes(b"core")
    jars = hash_jars(folder)
    Manifest(
        folder=folder,
        binding=name,
        java_class="org.example.Binding",
        driver="org.example:driver:1",
        ycsb_version="0.17.0",
        release="11",
        jar_digests=jars,
        digest=compute_digest(jars),
        source_digest="0" * 64,
    ).write()
    return folder


def test_it_reads_back_what_was_written(tmp_path: Path):
    manifest = verify(make_binding(tmp_path))
    assert manifest == read_manifest(tmp_path / "redis")
    assert manifest.jars == (tmp_path / "redis/lib/core-1.jar", tmp_path / "redis/lib/driver-1.jar")
    assert all(jar.exists() for jar in manifest.jars)


def test_the_digest_depends_on_names_and_contents_alone(tmp_path: Path):
    one, other = (verify(make_binding(tmp_path / place)) for place in ("here", "there"))
    assert one.digest == other.digest
    assert compute_digest({"a.jar": "1"}) != compute_digest({"b.jar": "1"}) != compute_digest({"b.jar": "2"})
    assert compute_digest({"a": "1", "b": "2"}) == compute_digest({"b": "2", "a": "1"})


def test_a_changed_jar_is_named(tmp_path: Path):
    folder = make_binding(tmp_path)
    (folder / "lib" / "driver-1.jar").write_bytes(b"another driver")
    with pytest.raises(ManifestError, match=r"\(driver-1\.jar\): run `make bindings redis`"):
        verify(folder)


@pytest.mark.parametrize("change", ["missing", "added"])
def test_a_missing_or_added_jar_is_named(tmp_path: Path, change: str):
    folder = make_binding(tmp_path)
    if change == "missing":
        (folder / "lib" / "core-1.jar").unlink()
    else:
        (folder / "lib" / "stray.jar").touch()
    with pytest.raises(ManifestError, match="core-1" if change == "missing" else "stray"):
        verify(folder)


def test_a_digest_that_does_not_fit_is_refused(tmp_path: Path):
    folder = make_binding(tmp_path)
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace(verify(folder).digest, "f" * 64))
    with pytest.raises(ManifestError, match="does not fit"):
        verify(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"jars": {}, "binding": "redis"}', '{"jars": {}, "surprise": 1}'])
def test_an_unreadable_manifest_says_what_to_do(tmp_path: Path, text: str):
    folder = make_binding(tmp_path)
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ManifestError, match="run `make bindings redis`"):
        read_manifest(folder)


def test_no_binding_at_all_says_what_to_do(tmp_path: Path):
    with pytest.raises(ManifestError, match=r"There is no binding in .*/redis: run `make bindings redis`"):
        verify(tmp_path / "redis")
    assert installed_bindings(tmp_path / "nowhere") == {}


def test_unsound_bindings_are_left_out_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    make_binding(tmp_path)
    (make_binding(tmp_path, "postgresql") / "lib" / "core-1.jar").unlink()
    make_binding(tmp_path, ".old-redis")
    with caplog.at_level(logging.WARNING):
        assert set(installed_bindings(tmp_path)) == {"redis"}
    assert "core-1.jar" in caplog.text


def test_java_home_wins_and_an_empty_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ManifestError, match="no bin/java in it"):
        java_executable()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.touch(mode=0o755)
    assert java_executable() == str(java)
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ManifestError, match="no java on the PATH"):
        java_executable()

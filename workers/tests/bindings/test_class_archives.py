"""A load leaves an archive of classes, from which later clients of the same jars start."""

import os
import subprocess
from pathlib import Path

import pytest

from workers.generator.class_archive import FOLDER, archive_options, store_archive
from workers.processes.process import java_argv
from workers.systems.build import build
from workers.systems.manifests import Manifest


@pytest.fixture
def manifest(settings, tmp_path: Path) -> Manifest:
    settings.WORK_DIR = tmp_path / "work"
    (settings.WORK_DIR / "client").mkdir(parents=True)
    return build(settings.YCSB_DIR, ["redis"])["redis"]


def run_client(manifest: Manifest, folder: Path, *options: str, is_load: bool) -> str:
    options = (*archive_options(manifest, folder, is_load=is_load), *options)
    argv = java_argv(manifest, "benchsite.Start", ["--properties", manifest.java_class], jvm_options=options)
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    store_archive(manifest, folder)
    return ended.stdout


@pytest.mark.slow
def test_clients_start_from_the_archive_of_a_load(manifest: Manifest, settings):
    folder = settings.WORK_DIR / "client"
    plain = run_client(manifest, folder, is_load=False)
    assert not (settings.WORK_DIR / FOLDER).exists(), "a measured run writes none"

    assert run_client(manifest, folder, is_load=True) == plain
    [archive] = (settings.WORK_DIR / FOLDER).iterdir()
    assert archive.name.startswith(f"redis-{manifest.digest[:12]}-")

    traced = run_client(manifest, folder, "-Xlog:class+load", is_load=True)
    assert "org.benchsite.redis.RedisDB source: shared objects file (top)" in traced
    assert list(folder.iterdir()) == [], "it is not written again"


@pytest.mark.slow
def test_a_damaged_archive_is_passed_over(manifest: Manifest, settings):
    folder = settings.WORK_DIR / "client"
    plain = run_client(manifest, folder, is_load=True)
    [archive] = (settings.WORK_DIR / FOLDER).iterdir()
    archive.chmod(0o600)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 255
    archive.write_bytes(content)
    assert run_client(manifest, folder, is_load=False) == plain


@pytest.mark.slow
def test_jars_that_were_written_again_get_a_new_archive(manifest: Manifest, settings):
    folder = settings.WORK_DIR / "client"
    run_client(manifest, folder, is_load=True)
    jar = manifest.jars[0]
    stat = jar.stat()
    os.utime(jar, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**12))
    try:
        assert "-XX:SharedArchiveFile" not in " ".join(archive_options(manifest, folder, is_load=False))
        run_client(manifest, folder, is_load=True)
        assert len(list((settings.WORK_DIR / FOLDER).iterdir())) == 1
    finally:
        os.utime(jar, ns=(stat.st_atime_ns, stat.st_mtime_ns))

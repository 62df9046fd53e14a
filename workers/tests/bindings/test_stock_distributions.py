"""Bindings of YCSB distributions: what is offered, under which digests, and that their clients run like own ones."""

import logging
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runs.catalog import load_catalog
from workers.systems.manifests import Manifest, ManifestError, find_binding, stock_bindings
from workers.tests.bindings.clients import StartedClient
from workers.tests.bindings.conftest import Target
from workers.tests.distributions import make_distribution

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unpacked(bindings: dict[str, Manifest], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_distribution(tmp_path_factory.mktemp("homes") / "ycsb-0.17.0", bindings)


@pytest.fixture
def home(unpacked: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    return Path(shutil.copytree(unpacked, tmp_path / unpacked.name))


def ycsb_dir(bindings: dict[str, Manifest]) -> Path:
    return bindings["redis"].folder.parent


def test_registers_bindings_by_their_folders(bindings: dict[str, Manifest], home: Path):
    stock = stock_bindings(ycsb_dir(bindings), [home])
    assert sorted(stock) == ["ycsb-0.17.0/memcached", "ycsb-0.17.0/redis"]
    manifest = stock["ycsb-0.17.0/redis"]
    assert (manifest.ycsb_version, manifest.java_class) == ("0.17.0", "")
    names = [jar.name for jar in manifest.jars]
    assert names[0].startswith("HdrHistogram-2.2") and names[1].startswith("benchsite-base-")
    assert set(map(str, manifest.jars)) > set(map(str, (home / "lib").glob("*.jar")))


def test_stock_bindings_come_from_the_distributions_list(bindings: dict[str, Manifest], home: Path):
    (home / "bin").mkdir()
    listed = "# bindings\nredis-fork:org.example.RedisFork\ncassandra-cql:site.ycsb.db.CassandraCQLClient\n"
    (home / "bin" / "bindings.properties").write_text(listed)
    stock = stock_bindings(ycsb_dir(bindings), [home])
    assert {name: manifest.java_class for name, manifest in stock.items()} == {
        "ycsb-0.17.0/memcached": "",
        "ycsb-0.17.0/redis-fork": "org.example.RedisFork",
    }


def test_digest_covers_core_binding_and_configuration(bindings: dict[str, Manifest], home: Path):
    def digests() -> dict[str, str]:
        return {
            name: stock_binding.digest for name, stock_binding in stock_bindings(ycsb_dir(bindings), [home]).items()
        }

    before = digests()
    (home / "redis-binding" / "lib" / "patch.jar").write_bytes(b"")
    (home / "memcached-binding" / "conf").mkdir()
    (home / "memcached-binding" / "conf" / "client.properties").write_text("a=1")
    after = digests()
    assert not set(before.values()) & set(after.values())
    (home / "lib" / "patch.jar").write_bytes(b"PK\5\6" + bytes(18))
    assert not set(after.values()) & set(digests().values())


def test_leaves_out_unsound_folders_and_says_why(
    bindings: dict[str, Manifest], home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    shutil.rmtree(home / "redis-binding" / "lib")
    twin = Path(shutil.copytree(home, tmp_path / "other" / home.name))
    coreless = Path(shutil.copytree(home, tmp_path / "coreless"))
    for jar in (coreless / "lib").glob("core-*.jar"):
        jar.unlink()
    with caplog.at_level(logging.WARNING):
        stock = stock_bindings(ycsb_dir(bindings), [home, twin, coreless, tmp_path / "absent"])
    assert sorted(stock) == ["ycsb-0.17.0/memcached"]
    for text in ("holds no jar", "rename one folder", "coreless is no YCSB distribution", "absent is no YCSB"):
        assert text in caplog.text


def test_names_the_folder_of_a_missing_binding(bindings: dict[str, Manifest], home: Path):
    assert find_binding(ycsb_dir(bindings), [home], "ycsb-0.17.0/redis").binding == "ycsb-0.17.0/redis"
    assert find_binding(ycsb_dir(bindings), [home], "redis").digest == bindings["redis"].digest
    with pytest.raises(ManifestError, match="name the folder ycsb-9 of the YCSB distribution in BENCHSITE_YCSB_HOMES"):
        find_binding(ycsb_dir(bindings), [home], "ycsb-9/redis")


def test_registers_the_drivers_of_a_go_ycsb(
    bindings: dict[str, Manifest], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    binary, renamed, folder = tmp_path / "go-ycsb-1.0.3", tmp_path / "goycsb", tmp_path / "go-ycsb-sources"
    linked = b"\x7fELF\0dep\tgithub.com/pingcap/go-ycsb\tv1.0.3\th1:x\n"
    binary.write_bytes(linked + b"github.com/pingcap/go-ycsb/db/redis.init.0\0github.com/pingcap/go-ycsb/db/pg.init\0")
    folder.mkdir()
    assert stock_bindings(ycsb_dir(bindings), [binary]) == {} and "chmod +x" in caplog.text
    binary.chmod(0o755)
    shutil.copy(binary, renamed)
    stock = stock_bindings(ycsb_dir(bindings), [binary, renamed, folder])
    assert sorted(stock) == ["go-ycsb-1.0.3/pg", "go-ycsb-1.0.3/redis"]
    assert caplog.text.count("a go-ycsb is a file, and a YCSB distribution a folder: rename it") == 2
    manifest = stock["go-ycsb-1.0.3/redis"]
    assert (manifest.ycsb_version, manifest.jars) == ("1.0.3", (binary,))
    binary.write_bytes(binary.read_bytes() + b"another build")
    assert find_binding(ycsb_dir(bindings), [binary], "go-ycsb-1.0.3/redis").digest != manifest.digest
    with pytest.raises(ManifestError, match="name the file go-ycsb-2 of go-ycsb in BENCHSITE_YCSB_HOMES"):
        find_binding(ycsb_dir(bindings), [binary], "go-ycsb-2/redis")


def test_stock_client_begins_at_the_agreed_instant(bindings: dict[str, Manifest], home: Path, redis_target: Target):
    manifest = find_binding(ycsb_dir(bindings), [home], "ycsb-0.17.0/redis")
    java_class = load_catalog().system("redis", "ycsb").binding.java_class
    properties = {**redis_target.port, "redis.host": "127.0.0.1"}
    client = StartedClient(replace(manifest, java_class=java_class), home.parent / "client", properties, phase="-load")
    redis_target.clients.append(client)
    assert client.wait_for("BENCHSITE READY").split()[1] == "2.2.2"
    instant = round((time.time() + 0.5) * 1000)
    client.say(f"START {instant}")
    assert int(client.wait_for("BENCHSITE STARTED")) >= instant
    ended = client.end()
    assert ended.returns == {"INSERT": {"OK": 1000}}
    assert ended.log("INSERT").start_time_s * 1000 >= instant

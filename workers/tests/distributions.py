"""A folder laid out like a YCSB distribution, made of Benchsite's own jars and of small classes with stock names."""

import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from benchsite.core.prerequisites import java_tool
from workers.systems.manifests import Manifest

SOURCES = Path(__file__).parent / "stock"
CORE = ("core-", "htrace-")
FIRST = ("benchsite-base-", "HdrHistogram-")  # come from Benchsite, and not from the distribution


def make_distribution(folder: Path, own: Mapping[str, Manifest]) -> Path:
    """`folder` with the core, `redis-binding` and `memcached-binding`."""
    jars = own["redis"].jars
    classes = folder.parent / f"{folder.name}-classes"
    classes.mkdir(parents=True)
    sources = sorted(map(str, SOURCES.glob("*.java")))
    class_path = ":".join(map(str, jars))
    subprocess.run([java_tool("javac"), "--release", "11", "-cp", class_path, "-d", classes, *sources], check=True)
    for part in ("lib", "redis-binding/lib", "memcached-binding/lib"):
        (folder / part).mkdir(parents=True)
    for jar in jars:
        if jar.name.startswith(CORE):
            shutil.copy(jar, folder / "lib")
        elif not jar.name.startswith(FIRST):
            shutil.copy(jar, folder / "redis-binding" / "lib")
    for name, compiled in (("redis", "RedisClient"), ("memcached", "MemcachedClient")):
        with zipfile.ZipFile(folder / f"{name}-binding" / "lib" / f"{name}-binding-1.jar", "w") as archive:
            archive.write(classes / f"site/ycsb/db/{compiled}.class", f"site/ycsb/db/{compiled}.class")
    return folder

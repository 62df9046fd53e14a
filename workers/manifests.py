"""The bindings installed in a folder such as `var/ycsb`, and whether their jars are still the ones that were built.

Every binding has a folder of its own with `lib/*.jar` and `manifest.json`. Standard library only: the build script
writes manifests before there is a virtual environment.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
LIB = "lib"

logger = logging.getLogger(__name__)


class ManifestError(Exception):
    """A binding's folder is incomplete or was changed, or there is no Java; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one installed binding consists of. `digest` identifies it: one run uses one digest on all its clients."""

    folder: Path
    binding: str
    java_class: str
    driver: str  # name and version of the driver, such as "redis.clients:jedis:8.0.2"
    ycsb_version: str
    release: str  # the oldest Java it runs on
    jar_digests: Mapping[str, str]  # file name -> SHA-256
    digest: str
    source_digest: str  # of the sources it was built from; not part of `digest`

    @property
    def jars(self) -> tuple[Path, ...]:
        """The class path, always in the same order."""
        return tuple(self.folder / LIB / name for name in sorted(self.jar_digests))

    def write(self) -> None:
        """Puts the manifest into its folder."""
        facts = {
            "binding": self.binding,
            "java_class": self.java_class,
            "driver": self.driver,
            "ycsb_version": self.ycsb_version,
            "release": self.release,
            "jars": dict(sorted(self.jar_digests.items())),
            "digest": self.digest,
            "source_digest": self.source_digest,
        }
        (self.folder / MANIFEST).write_text(json.dumps(facts, indent=2) + "\n")


def digest_of(jar_digests: Mapping[str, str]) -> str:
    """SHA-256 over the (name, SHA-256) pairs of all jars, sorted by name."""
    total = hashlib.sha256()
    for name, digest in sorted(jar_digests.items()):
        total.update(f"{name} {digest}\n".encode())
    return total.hexdigest()


def hash_jars(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of every jar of the binding in `folder`."""
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in sorted((folder / LIB).glob("*.jar"))}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the binding in `folder`; ManifestError where there is none or it cannot be read."""
    path = folder / MANIFEST
    try:
        facts = json.loads(path.read_text())
        jar_digests = facts.pop("jars")
        return Manifest(folder=folder, jar_digests=jar_digests, **facts)
    except (FileNotFoundError, NotADirectoryError):
        raise ManifestError(f"There is no binding in {folder}: run `make bindings`.") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ManifestError(f"{path} cannot be read ({error}): run `make bindings`.") from None


def verify(folder: Path) -> Manifest:
    """The manifest of the binding in `folder`, after every jar has been found to be what the manifest says.

    Raises ManifestError that names the jars that differ.
    """
    manifest = read_manifest(folder)
    found = hash_jars(folder)
    differing = sorted({name for name, _ in dict(manifest.jar_digests).items() ^ found.items()})
    if differing:
        names = ", ".join(differing)
        raise ManifestError(f"Jars of {folder} are not the ones that were built ({names}): run `make bindings`.")
    if digest_of(found) != manifest.digest:
        raise ManifestError(f"The digest in {folder / MANIFEST} does not fit its jars: run `make bindings`.")
    return manifest


def installed_bindings(ycsb_dir: Path) -> dict[str, Manifest]:
    """Binding name -> manifest of every sound binding in `ycsb_dir`; an unsound one is logged and left out."""
    sound: dict[str, Manifest] = {}
    for path in sorted(ycsb_dir.glob(f"[!.]*/{MANIFEST}")):
        try:
            manifest = verify(path.parent)
        except ManifestError as error:
            logger.warning("%s", error)
        else:
            sound[manifest.binding] = manifest
    return sound


def java_executable() -> str:
    """The `java` that clients are started with: JAVA_HOME's, else the PATH's. Raises ManifestError."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = Path(home) / "bin" / "java"
        if not os.access(path, os.X_OK):
            raise ManifestError(f"JAVA_HOME is {home}, and there is no bin/java in it: set it to a JDK 11 to 21.")
        return str(path)
    if found := shutil.which("java"):
        return found
    raise ManifestError("There is no java on the PATH: install a JDK 11 to 21, or set JAVA_HOME.")

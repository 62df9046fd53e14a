"""The bindings of a load generator: Benchsite's own in a folder such as `var/ycsb`, and those of YCSB distributions.

Every own binding has a folder with `lib/*.jar` and `manifest.json`, which says whether its jars are still the ones that
were built. A stock binding is named "FOLDER/NAME" by the folder of its distribution, a driver of go-ycsb "FILE/NAME" by
the file of the binary. Standard library only: the build script writes manifests before there is a virtual environment.
"""

import hashlib
import json
import logging
import os
import re
import shutil
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.systems.messages import (
    DISTRIBUTION_NAMED_TWICE,
    GO_YCSB_CANNOT_START,
    GO_YCSB_NAMED_TWICE,
    JAR_DAMAGED,
    NO_BASE,
    NO_DISTRIBUTION,
    NO_JAR,
    NO_JAVA,
    NO_JAVA_IN_HOME,
)

MANIFEST = "manifest.json"
LIB = "lib"
# Lies in the core of every YCSB from 0.16 on; before, its packages had another name, and `benchsite.Start` needs it.
CLIENT_CLASS = "site/ycsb/Client.class"

# So the file of a go-ycsb begins, and no folder of a distribution.
GO_YCSB = "go-ycsb"
# What the Go linker leaves in a binary: its build list, and the functions of each driver's package.
_GO_VERSION = re.compile(rb"(?:mod|dep)\t[\w./-]+/go-ycsb\t(v[\w.+-]+)")
_GO_DRIVER = re.compile(rb"/go-ycsb/db/([a-z][a-z0-9_]*)\.init")

logger = logging.getLogger(__name__)


class ManifestError(Exception):
    """A binding's folder is incomplete or was changed, or there is no Java; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What one installed binding consists of. `digest` identifies it: one run uses one digest on all its clients."""

    folder: Path
    binding: str
    java_class: str = ""
    driver: str = ""  # name and version of the driver, such as "redis.clients:jedis:8.0.2"
    ycsb_version: str = ""
    release: str = ""  # the oldest Java it runs on
    jar_digests: Mapping[str, str]  # file name -> SHA-256
    digest: str
    source_digest: str = ""  # of the sources it was built from; not part of `digest`
    class_path: tuple[Path, ...] = ()  # of a stock binding, which is spread over several folders; go-ycsb's binary

    @property
    def jars(self) -> tuple[Path, ...]:
        """The class path, always in the same order."""
        return self.class_path or tuple(self.folder / LIB / name for name in sorted(self.jar_digests))

    def write(self) -> None:
        """Puts the manifest into its folder."""
        content = {
            "binding": self.binding,
            "java_class": self.java_class,
            "driver": self.driver,
            "ycsb_version": self.ycsb_version,
            "release": self.release,
            "jars": dict(sorted(self.jar_digests.items())),
            "digest": self.digest,
            "source_digest": self.source_digest,
        }
        (self.folder / MANIFEST).write_text(json.dumps(content, indent=2) + "\n")


def compute_digest(jar_digests: Mapping[str, str]) -> str:
    """SHA-256 over the (name, SHA-256) pairs of all jars, sorted by name."""
    total = hashlib.sha256()
    for name, digest in sorted(jar_digests.items()):
        total.update(f"{name} {digest}\n".encode())
    return total.hexdigest()


def hash_jars(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of every jar of the binding in `folder`."""
    return {jar.name: _hash_file(jar) for jar in sorted((folder / LIB).glob("*.jar"))}


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the binding in `folder`; ManifestError where there is none or it cannot be read."""
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text())
        jar_digests = content.pop("jars")
        return Manifest(folder=folder, jar_digests=jar_digests, **content)
    except (FileNotFoundError, NotADirectoryError):
        raise ManifestError(f"There is no binding in {folder}: run `make bindings {folder.name}`.") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ManifestError(f"{path} cannot be read ({error}): run `make bindings {folder.name}`.") from None


def verify(folder: Path) -> Manifest:
    """The manifest of the binding in `folder`, after every jar has been found to be what the manifest says.

    Raises ManifestError that names the jars that differ.
    """
    manifest = read_manifest(folder)
    jar_digests = hash_jars(folder)
    differing = dict(manifest.jar_digests).items() ^ jar_digests.items()
    if differing:
        names = ", ".join(sorted({name for name, _ in differing}))
        raise ManifestError(
            f"Jars of {folder} are not the ones that were built ({names}): run `make bindings {folder.name}`."
        )
    if compute_digest(jar_digests) != manifest.digest:
        raise ManifestError(
            f"The digest in {folder / MANIFEST} does not fit its jars: run `make bindings {folder.name}`."
        )

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


def stock_bindings(ycsb_dir: Path, homes: Sequence[Path], only: Collection[str] = ()) -> dict[str, Manifest]:
    """ "FOLDER/NAME" -> manifest of every binding of the YCSB distributions in `homes`; an unsound one is logged and
    left out. `only`: the names that are wanted; empty: all.

    A distribution has `lib` with the core and `NAME-binding/lib`; `bin/bindings.properties`, where it is there, names
    bindings and their classes. One folder may hold several (`cassandra-cql` lies in `cassandra-binding`).
    """
    sound: dict[str, Manifest] = {}
    folders: set[str] = set()
    for home in homes:
        try:
            if home.name in folders:
                raise ManifestError(DISTRIBUTION_NAMED_TWICE.format(home=home, name=home.name))
            folders.add(home.name)
            if home.is_file() != home.name.startswith(GO_YCSB):
                raise ManifestError(GO_YCSB_NAMED_TWICE.format(home=home))
            if home.is_file():
                sound |= _read_go_ycsb(home)
            else:
                sound |= _read_distribution(ycsb_dir, home, only)
        except (ManifestError, OSError) as error:
            logger.warning("%s", error)

    return sound


def _hash_file(path: Path) -> str:
    """Read in pieces: a jar has up to 50 MB, and the process would keep the memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_go_ycsb(binary: Path) -> dict[str, Manifest]:
    """The drivers in a go-ycsb, by what its linker wrote. Raises ManifestError."""
    content = binary.read_bytes()
    drivers = sorted({name.decode() for name in _GO_DRIVER.findall(content)})
    if not drivers or not os.access(binary, os.X_OK):
        raise ManifestError(GO_YCSB_CANNOT_START.format(binary=binary))

    version = next(iter(_GO_VERSION.findall(content)), b"unknown").decode().removeprefix("v")
    digest = hashlib.sha256(content).hexdigest()
    bindings = {}
    for driver in drivers:
        name = f"{binary.name}/{driver}"
        bindings[name] = Manifest(
            folder=binary.parent,
            binding=name,
            ycsb_version=version,
            jar_digests={binary.name: digest},
            digest=digest,
            class_path=(binary,),
        )
    return bindings


def _read_distribution(ycsb_dir: Path, home: Path, only: Collection[str]) -> dict[str, Manifest]:
    own = next(iter(installed_bindings(ycsb_dir).values()), None)
    if own is None:
        raise ManifestError(NO_BASE.format(folder=ycsb_dir))

    core = sorted((home / LIB).glob("*.jar"))
    version = _read_core_version(home, core)
    classes = _read_binding_classes(home)
    bindings = {}
    for folder in sorted(home.glob("*-binding")):
        stem = folder.name.removesuffix("-binding")
        names = [name for name in classes if name.partition("-")[0] == stem] or [stem]
        names = [name for name in names if not only or f"{home.name}/{name}" in only]
        if not names:
            continue

        try:
            class_path, digests = _build_class_path(own, home, core, folder)
        except (ManifestError, OSError) as error:
            logger.warning("%s", error)
            continue

        for name in names:
            bindings[f"{home.name}/{name}"] = Manifest(
                folder=folder,
                binding=f"{home.name}/{name}",
                java_class=classes.get(name, ""),
                ycsb_version=version,
                jar_digests=digests,
                digest=compute_digest(digests),
                class_path=class_path,
            )

    return bindings


def _build_class_path(
    own: Manifest, home: Path, core: Sequence[Path], folder: Path
) -> tuple[tuple[Path, ...], dict[str, str]]:
    """The class path of one stock binding, and the SHA-256 of everything on it by its path below `home`.

    Benchsite's base and HdrHistogram come first: their logs are those that are merged.
    """
    jars = sorted((folder / LIB).glob("*.jar"))
    if not jars:
        raise ManifestError(NO_JAR.format(lib=folder / LIB, name=folder.name))

    first = [jar for jar in own.jars if jar.name.startswith(("benchsite-base-", "HdrHistogram-"))]
    digests = {f"benchsite/{jar.name}": own.jar_digests[jar.name] for jar in first}
    conf = folder / "conf"
    folders = []
    if conf.is_dir():
        folders.append(conf)
    files = [path for path in sorted(conf.rglob("*")) if path.is_file()]
    for path in (*core, *jars, *files):
        digests[path.relative_to(home).as_posix()] = _hash_file(path)

    return (*first, *folders, *core, *jars), digests


def _read_core_version(home: Path, core: Sequence[Path]) -> str:
    """The version of the core by its file's name ("core-0.17.0.jar"); "unknown" where it names none."""
    for jar in core:
        try:
            with zipfile.ZipFile(jar) as archive:
                if CLIENT_CLASS not in archive.namelist():
                    continue
        except zipfile.BadZipFile:
            raise ManifestError(JAR_DAMAGED.format(jar=jar)) from None
        return next(iter(re.findall(r"^core-(\d[\w.-]*)\.jar$", jar.name)), "unknown")
    raise ManifestError(NO_DISTRIBUTION.format(home=home, lib=home / LIB, name=CLIENT_CLASS))


def _read_binding_classes(home: Path) -> dict[str, str]:
    """Binding -> class, as `bin/bindings.properties` lists them ("redis:site.ycsb.db.RedisClient")."""
    try:
        lines = (home / "bin" / "bindings.properties").read_text(encoding="latin-1").splitlines()
    except FileNotFoundError:
        return {}
    return dict(re.findall(r"^([A-Za-z0-9][\w.-]*):([\w.$]+)\s*$", "\n".join(lines), re.MULTILINE))


def find_binding(ycsb_dir: Path, homes: Sequence[Path], name: str) -> Manifest:
    """The binding of this name as it is on the disk now. Raises ManifestError."""
    folder, _, stock = name.partition("/")
    if not stock:
        return verify(ycsb_dir / name)

    bindings = stock_bindings(ycsb_dir, [home for home in homes if home.name == folder], [name])
    if name not in bindings:
        source = f"folder {folder} of the YCSB distribution"
        if folder.startswith(GO_YCSB):
            source = f"file {folder} of go-ycsb"
        raise ManifestError(
            f"This load generator has no binding {name}: name the {source} in BENCHSITE_YCSB_HOMES and restart it."
        )

    return bindings[name]


def java_executable() -> str:
    """The `java` that clients are started with: JAVA_HOME's, else the PATH's. Raises ManifestError."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = Path(home) / "bin" / "java"
        if not os.access(path, os.X_OK):
            raise ManifestError(NO_JAVA_IN_HOME.format(home=home))
        return str(path)
    java = shutil.which("java")
    if java is None:
        raise ManifestError(NO_JAVA)
    return java

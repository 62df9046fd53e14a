"""Builds the bindings: `python workers/systems/build.py [--into var/ycsb] [--all] [binding ...]`.
Fetches the jars of servers that are Java programs: `... build.py --servers [--into var/servers] [system ...]`; named
ones may be Go programs, which are built. The name go-ycsb builds that client beside the bindings.

Standard library only. Maven works in a copy of the sources, so that builds leave nothing in the tree and the paths of
this checkout never reach a jar; what it made is laid out beside the earlier build and renamed into its place.
"""

import argparse
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

SOURCES = Path(__file__).resolve().parent
ROOT = SOURCES.parent.parent
sys.path.insert(0, str(ROOT))

from workers.systems.manifests import LIB, Manifest, ManifestError, compute_digest, hash_jars, verify  # noqa: E402


def load_core(name: str) -> ModuleType:
    """A module of `benchsite.core` without `benchsite`, which imports Celery: there may be no virtual environment."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchsite" / "core" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


prerequisites = load_core("prerequisites")
progress = load_core("progress")

POM = "{http://maven.apache.org/POM/4.0.0}"
BASE = "base"
JAVA = "java"  # the folder of a system's binding
DESCRIPTION = "binding.properties"
SERVER_POM = "server.xml"
GO_SERVER = "server"  # the folder of a server's Go module
GO_YCSB = "go-ycsb"
GO_YCSB_VERSION = "1.0.3"
GO_YCSB_MODULE = "github.com/pingcap/go-ycsb"
GO_YCSB_REPLACED = "github.com/apache/thrift=github.com/apache/thrift@v0.0.0-20171203172758-327ebb6c2b6d"
ERROR_LINES = 12
# Maven runs for seconds: a JVM that compiles less and collects simply is done sooner.
MAVEN_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Lines that Maven adds to every failure and that help nobody here.
BOILERPLATE = re.compile(r"^\[ERROR\]\s*(\[Help|To see the full|Re-run Maven|For more info|After correcting|mvn <|$)")
NETWORK = re.compile(r"Could not (transfer|resolve|find artifact)|Unknown host|Connection (refused|timed|reset)|PKIX")


class BuildError(Exception):
    """The build failed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Project:
    """What the poms say."""

    bindings: tuple[str, ...]
    on_demand: tuple[str, ...]  # of the bindings, those that are built only where they are named
    ycsb_version: str
    release: str
    versions: dict[str, str]  # "group:artifact" -> version


def read_project(sources: Path) -> Project:
    """The bindings (systems with a folder `java`) and the versions that they and the parent pom pin."""
    bindings = tuple(sorted(path.parent.parent.name for path in sources.glob(f"*/{JAVA}/{DESCRIPTION}")))
    pom = ElementTree.parse(sources / "pom.xml").getroot()
    poms = [pom, *(ElementTree.parse(sources / name / JAVA / "pom.xml").getroot() for name in bindings)]
    # A binding whose protocol client is its own.
    versions = {f"org.benchsite:benchsite-{name}": pom.findtext(f"{POM}version") or "" for name in bindings}
    for parsed in poms:
        for pin in parsed.iterfind(f"{POM}dependencyManagement/{POM}dependencies/{POM}dependency"):
            group, artifact, version = read_coordinates(pin)
            versions[f"{group}:{artifact}"] = version

    return Project(
        bindings=bindings,
        on_demand=tuple(binding for binding in bindings if "on_demand" in read_description(sources, binding)),
        ycsb_version=pom.findtext(f"{POM}properties/{POM}ycsb.version") or "",
        release=pom.findtext(f"{POM}properties/{POM}maven.compiler.release") or "",
        versions=versions,
    )


def read_coordinates(dependency: ElementTree.Element) -> list[str]:
    """Group, artifact and version of a dependency in a pom."""
    return [dependency.findtext(f"{POM}{part}") or "" for part in ("groupId", "artifactId", "version")]


def copy_sources(sources: Path, into: Path, *ignored: str) -> None:
    """Copies the Maven project and lists every system's binding as a module of it, so that no list is kept by hand."""
    shutil.copytree(sources, into, ignore=shutil.ignore_patterns("target", "__pycache__", *ignored))
    modules = "".join(f"<module>{name}/{JAVA}</module>" for name in read_project(into).bindings)
    pom = into / "pom.xml"
    project = pom.read_text("utf-8")
    pom.write_text(project.replace("</modules>", f"{modules}</modules>"), "utf-8")


def read_description(sources: Path, binding: str) -> dict[str, str]:
    lines = (sources / binding / JAVA / DESCRIPTION).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def source_digest(sources: Path, binding: str) -> str:
    """SHA-256 over everything that the binding's jars are made from; tests and earlier builds are not part of it."""
    files = [sources / "pom.xml"]
    for module in (sources / BASE, sources / binding / JAVA):
        files += [path for path in sorted(module.glob("*")) if path.is_file()]
        files += [path for path in sorted((module / "src" / "main").rglob("*")) if path.is_file()]
    total = hashlib.sha256()
    for path in files:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(sources).as_posix()} {content}\n".encode())
    return total.hexdigest()


def is_current(sources: Path, into: Path, binding: str) -> bool:
    """Whether the installed binding was built from these very sources and is whole."""
    try:
        return verify(into / binding).source_digest == source_digest(sources, binding)
    except ManifestError:
        return False


def repository_option() -> list[str]:
    """Maven's option for artifacts below `var/`, where the home folder cannot be written."""
    folder = Path.home() / ".m2" / "repository"
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK):
        return []
    return [f"-Dmaven.repo.local={ROOT / 'var' / 'maven'}"]


def run_maven(step: str, folder: Path, goals: Sequence[str], log: Path, *, again: str) -> None:
    """Raises BuildError with the last of Maven's own error lines."""
    environment = {"MAVEN_OPTS": MAVEN_OPTIONS, **os.environ}
    if home := prerequisites.java_home():
        environment["JAVA_HOME"] = home
    argv = ["mvn", "-B", "-Dstyle.color=never", *repository_option(), *goals]
    try:
        with progress.Step(step) as running:
            progress.run_logged(running, argv, log, cwd=folder, env=environment)
            return
    except subprocess.CalledProcessError:
        output = log.read_text(errors="replace")

    lines = [line for line in output.splitlines() if line.startswith("[ERROR]") and not BOILERPLATE.match(line)]
    advice = "The sources or this JDK are at fault: mend what is named above."
    if NETWORK.search(output):
        advice = "Maven could not fetch what it needs: check the network, or the proxy in Maven's settings.xml."
    last_lines = (lines or output.splitlines())[:ERROR_LINES]
    raise BuildError("\n".join([*last_lines, f"{advice} Then run `{again}` again.", f"All that Maven said: {log}"]))


def lay_out(sources: Path, into: Path, binding: str, project: Project, source: str) -> Manifest:
    """Moves what Maven made into `into`/`binding`, replacing the earlier build by renaming."""
    fresh = into / f".new-{binding}"
    shutil.rmtree(fresh, ignore_errors=True)
    lib = fresh / LIB
    lib.mkdir(parents=True)
    target = sources / binding / JAVA / "target"
    for jar in (*(target / "lib").glob("*.jar"), *target.glob("*.jar")):
        shutil.copyfile(jar, lib / jar.name)

    description = read_description(sources, binding)
    driver = description["driver"]
    jars = hash_jars(fresh)
    manifest = Manifest(
        folder=fresh,
        binding=binding,
        java_class=description["java_class"],
        driver=f"{driver}:{project.versions[driver]}",
        ycsb_version=project.ycsb_version,
        release=project.release,
        jar_digests=jars,
        digest=compute_digest(jars),
        source_digest=source,
    )
    install(into / binding, manifest)
    return manifest


def install(target: Path, manifest: Manifest) -> None:
    """Writes the manifest into its folder, which replaces the earlier build in `target` by renaming."""
    fresh = manifest.folder
    manifest.write()
    old = target.with_name(f".old-{target.name}")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def alone(into: Path) -> Iterator[None]:
    """Builds into one folder happen one after the other; the lock goes with the process."""
    with (into / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(
    into: Path, names: Sequence[str] = (), *, sources: Path = SOURCES, everything: bool = False
) -> dict[str, Manifest]:
    """Builds the named bindings that are not current and returns the manifests of all of them. Raises BuildError.

    Without names: all bindings but those that are built on demand; with `everything` these, too.
    """
    project = read_project(sources)
    for name in sorted(names):
        if name not in project.bindings:
            raise BuildError(f"There is no binding {name}; there are {', '.join(project.bindings)}.")
    names = names or [name for name in project.bindings if everything or name not in project.on_demand]
    into.mkdir(parents=True, exist_ok=True)
    with alone(into):
        stale = [name for name in names if not is_current(sources, into, name)]
        if stale:
            compile_and_lay_out(sources, into, stale, project)
        return {name: verify(into / name) for name in names}


def compile_and_lay_out(sources: Path, into: Path, stale: Sequence[str], project: Project) -> None:
    prerequisites.demand(prerequisites.java_problems() + prerequisites.maven_problems())
    copy = into / ".build"
    shutil.rmtree(copy, ignore_errors=True)
    try:
        copy_sources(sources, copy, "test", "*.py")
        modules = ",".join(f"{name}/{JAVA}" for name in stale)
        goals = ["-Dmaven.test.skip=true", "-pl", modules, "-am", "package"]
        step = f"YCSB and its bindings of {', '.join(stale)}"
        run_maven(step, copy, goals, into / "build.log", again="make bindings")
        for name in stale:
            manifest = lay_out(copy, into, name, project, source_digest(sources, name))
            print(f"  {name}: {manifest.driver}, YCSB {manifest.ycsb_version}, digest {manifest.digest[:12]}")
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def fetch_servers(into: Path, names: Sequence[str], poms: Mapping[str, Path] | None = None) -> dict[str, Manifest]:
    """Fetches the jars of these systems' servers where they are not current; `poms`: others than the systems' own.

    Raises BuildError.
    """
    poms = poms or {pom.parent.name: pom for pom in sorted(SOURCES.glob(f"*/{SERVER_POM}"))}
    for name in sorted(names):
        if name not in poms:
            raise BuildError(f"There are no jars of a server of {name}; there are those of {', '.join(poms)}.")

    into.mkdir(parents=True, exist_ok=True)
    manifests = {}
    with alone(into):
        for name in names or poms:
            source = hashlib.sha256(poms[name].read_bytes()).hexdigest()
            with suppress(ManifestError):
                manifests[name] = verify(into / name)
            if name not in manifests or manifests[name].source_digest != source:
                manifests[name] = fetch_server(into, name, poms[name], source)

    return manifests


def fetch_server(into: Path, name: str, pom: Path, source: str) -> Manifest:
    prerequisites.demand(prerequisites.java_problems() + prerequisites.maven_problems())
    fresh = into / f".new-{name}"
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / LIB).mkdir(parents=True)
    goals = ["-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={fresh / LIB}"]
    run_maven(f"Server of {name}", into, goals, into / "build.log", again=f"make servers {name}")
    (artifact,) = ElementTree.parse(pom).getroot().iterfind(f"{POM}dependencies/{POM}dependency")
    driver = ":".join(read_coordinates(artifact))
    jars = hash_jars(fresh)
    manifest = Manifest(
        folder=fresh,
        binding=name,
        driver=driver,
        jar_digests=jars,
        digest=compute_digest(jars),
        source_digest=source,
    )
    install(into / name, manifest)
    print(f"  {name}: {driver}, {len(manifest.jar_digests)} jars, digest {manifest.digest[:12]}")
    return verify(into / name)


def build_go_server(into: Path, name: str) -> None:
    """The server as `into`/NAME/NAME."""
    print(f"Building the server of {name} ...", flush=True)
    (into / name).mkdir(parents=True, exist_ok=True)
    run_go(SOURCES / name / GO_SERVER, "build", "-trimpath", "-o", str(into / name / name), ".")


def build_go_ycsb(into: Path) -> Path:
    """go-ycsb as `into`/go-ycsb-VERSION. Its `go.mod` replaces a module, so `go install` refuses it."""
    binary = into / f"{GO_YCSB}-{GO_YCSB_VERSION}"
    if binary.exists():
        return binary

    print(f"Building {binary.name} with all its drivers, which takes minutes ...", flush=True)
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="go-ycsb-") as folder:
        module = Path(folder)
        (module / "tools.go").write_text(
            f'//go:build tools\n\npackage tools\n\nimport _ "{GO_YCSB_MODULE}/cmd/go-ycsb"\n'
        )
        run_go(module, "mod", "init", "build")
        run_go(module, "mod", "edit", f"-require={GO_YCSB_MODULE}@v{GO_YCSB_VERSION}", f"-replace={GO_YCSB_REPLACED}")
        run_go(module, "build", "-mod=mod", "-trimpath", "-o", str(module / GO_YCSB), f"{GO_YCSB_MODULE}/cmd/go-ycsb")
        shutil.move(module / GO_YCSB, binary)

    print(f"  {binary}")
    return binary


def run_go(folder: Path, *arguments: str) -> None:
    """Go's own cache makes a second build short. Raises BuildError with its last lines."""
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    if go is None:
        raise BuildError("This is a Go program, and there is no go on the PATH: install Go 1.22 or newer.")
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run([go, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError("\n".join(done.stderr.splitlines()[-ERROR_LINES:]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds YCSB's bindings and fetches servers with Maven.")
    parser.add_argument("--servers", action="store_true", help="fetch the jars of servers instead")
    parser.add_argument("--into", type=Path, help="folder for them (default: var/ycsb or var/servers)")
    parser.add_argument("--all", action="store_true", help="those that are built on demand, too")
    parser.add_argument("name", nargs="*", help="only these")
    arguments = parser.parse_args()
    kind, folder = "bindings could not be built", ROOT / "var" / "ycsb"
    if arguments.servers:
        kind, folder = "servers could not be fetched", ROOT / "var" / "servers"
    into = (arguments.into or folder).resolve()
    try:
        if arguments.servers:
            go_servers = [name for name in arguments.name if (SOURCES / name / GO_SERVER).is_dir()]
            for name in go_servers:
                build_go_server(into, name)
            if len(go_servers) < len(arguments.name) or not arguments.name:
                fetch_servers(into, [name for name in arguments.name if name not in go_servers])
        else:
            bindings = [name for name in arguments.name if name != GO_YCSB]
            if GO_YCSB in arguments.name:
                build_go_ycsb(into.parent)
            if bindings or not arguments.name:
                build(into, bindings, everything=arguments.all)
    except BuildError as error:
        print(f"The {kind}; an earlier build stays in place.\n{error}", file=sys.stderr)
        return 1

    return 0


if __name__ == "__main__":
    sys.exit(main())

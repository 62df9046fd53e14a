"""What a machine must have before anything is downloaded: Python, a JDK and Maven.

Run as a script by `make`, with whatever Python 3 there is, so that even an old one can say that it is too old: standard
library only, no syntax younger than Python 3.6, and annotations as text, which is never evaluated. Everything that is
missing is named at once.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MIN_PYTHON = (3, 11)
MIN_JAVA, MAX_JAVA = 11, 21
MIN_MAVEN = (3, 6, 3)
# The embedded Redis comes as a wheel up to this Python; later ones need the server itself.
LAST_PYTHON_WITH_REDIS = (3, 12)
DEBIAN_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Problem(NamedTuple):
    """One thing that is missing or wrong, and the packages that mend it."""

    sentence: str
    debian: str
    brew: str
    exports_java: bool = False


def python_problems(needs_venv: bool = True) -> "list[Problem]":
    """Whether this very Python will do, and can make a virtual environment."""
    version = "{}.{}".format(*sys.version_info[:2])
    if sys.version_info[:2] < MIN_PYTHON:
        least = "{}.{}".format(*MIN_PYTHON)
        sentence = f"Python {least} or newer is needed; {sys.executable} is {version}."
        return [Problem(sentence, f"python{least} python{least}-venv", "python@3.12")]
    if needs_venv:
        try:
            import ensurepip
            import venv

            assert ensurepip.version() and venv.__name__
        except ImportError:
            sentence = f"{sys.executable} cannot make virtual environments: its module ensurepip is missing."
            return [Problem(sentence, f"python{version}-venv", f"python@{version}")]
    return []


def redis_problems() -> "list[Problem]":
    """Whether there is a Redis server, on the PATH or as a wheel."""
    if sys.version_info[:2] <= LAST_PYTHON_WITH_REDIS or shutil.which("redis-server"):
        return []
    sentence = "redis-server is not on the PATH, and for Python {}.{} there is no embedded one.".format(
        *sys.version_info[:2]
    )
    return [Problem(sentence, "redis-server", "redis")]


def java_tool(name: str) -> str:
    """The path of `java` or `javac`: JAVA_HOME's, else the PATH's; empty where there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        path = str(Path(home) / "bin" / name)
        return path if os.access(path, os.X_OK) else ""
    return shutil.which(name) or ""


def java_home() -> str:
    """The folder of the JDK whose compiler is used; empty where there is no compiler."""
    javac = java_tool("javac")
    return str(Path(javac).resolve().parent.parent) if javac else ""


def output_of(argv: "list[str]", env: "dict[str, str] | None" = None) -> str:
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
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def java_version(path: str, env: "dict[str, str] | None" = None) -> int:
    """The feature release of a `java` or `javac`; 0 where it cannot be run. "1.8.0" is 8."""
    match = re.search(r'(?:version "|javac )(?:1\.)?(\d+)', output_of([path, "-version"], env)) if path else None
    return int(match.group(1)) if match else 0


def java_problems() -> "list[Problem]":
    """Whether `java` and `javac` are there and of a release that YCSB and the bindings run on."""
    home = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME ({home})" if home else "the PATH"
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
        package = "default-jdk-headless" if fresh else f"openjdk-{debian_java()}-jdk-headless"
        return [Problem(sentence, package, "openjdk@21", exports_java=not fresh)]
    return []


def debian_java() -> int:
    """The newest JDK that suits and that this distribution has; 21 where that cannot be told."""
    for release in (21, 17, 11):
        if "Package:" in output_of(["apt-cache", "show", f"openjdk-{release}-jdk-headless"]):
            return release
    return 21


def maven_problems() -> "list[Problem]":
    """Whether `mvn` is there and young enough for the plugins of the build."""
    if not shutil.which("mvn"):
        return [Problem("Maven is needed; there is no mvn on the PATH.", "maven", "maven")]
    match = re.search(r"Apache Maven (\d+)\.(\d+)\.(\d+)", output_of(["mvn", "-version"]))
    # Without a working Java mvn says nothing of itself; that problem is named already.
    if match and tuple(int(part) for part in match.groups()) < MIN_MAVEN:
        least = ".".join(str(part) for part in MIN_MAVEN)
        version = ".".join(match.groups())
        return [Problem(f"Maven {least} or newer is needed; mvn is {version}.", "maven", "maven")]
    return []


def explain(problems: "list[Problem]") -> str:
    """What is missing and the one line that mends it, for the two systems that Benchsite is tried on."""
    apt_line = "sudo apt-get update && sudo apt-get install -y " + " ".join(problem.debian for problem in problems)
    brew_line = "brew install " + " ".join(problem.brew for problem in problems)
    if any(problem.exports_java for problem in problems):
        architecture = DEBIAN_ARCHITECTURES.get(platform.machine(), "amd64")
        apt_line += f" && export JAVA_HOME=/usr/lib/jvm/java-{debian_java()}-openjdk-{architecture}"
    if "openjdk@21" in brew_line:
        # Homebrew does not put its JDKs on the PATH.
        brew_line += ' && export JAVA_HOME="$(brew --prefix openjdk@21)/libexec/openjdk.jdk/Contents/Home"'
    wrong = "\n".join(f"  - {problem.sentence}" for problem in problems)
    return (
        f"Benchsite cannot start yet:\n{wrong}\n"
        f"Debian or Ubuntu:\n  {apt_line}\nmacOS:\n  {brew_line}\nThen run the same command again."
    )


def demand(problems: "list[Problem]") -> None:
    """Ends the process with exit code 1 and the whole list, where there is a problem."""
    if problems:
        print(explain(problems), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    environment_is_there = os.access(Path(".venv") / "bin" / "pip", os.X_OK)
    demand(python_problems(not environment_is_there) + redis_problems() + java_problems() + maven_problems())

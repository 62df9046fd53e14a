"""What is missing on this machine is named at once, with the line that installs it, before anything is downloaded."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from benchsite.core import prerequisites

pytestmark = pytest.mark.slow

SCRIPT = Path(prerequisites.__file__)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH on which there is nothing yet."""
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, says: str, exit_code: int = 0) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit {exit_code}\n")
    program.chmod(0o755)


def put_jdk(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    put(folder, "java", f'openjdk version "{version}" 2025-01-01')
    put(folder, "javac", f"javac {version}")


def put_all(folder: Path) -> None:
    put_jdk(folder, "17.0.15")
    put(folder, "mvn", "Apache Maven 3.8.7")
    put(folder, "redis-server", "Redis server v=7.0.15")


def run(programs: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # `cat` is for the programs made here; the rest of the system stays out of sight.
    (programs / "cat").unlink(missing_ok=True)
    (programs / "cat").symlink_to("/bin/cat")
    return subprocess.run(
        [sys.executable, SCRIPT],
        env={"PATH": str(programs), **environment},
        cwd=programs,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_machine_that_has_everything_passes_in_silence(programs: Path):
    put_all(programs)
    done = run(programs)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_everything_missing_is_named_at_once(programs: Path):
    done = run(programs)
    assert done.returncode == 1
    assert "the PATH has no working java." in done.stderr
    assert "there is no mvn on the PATH." in done.stderr
    [apt_line] = [line.strip() for line in done.stderr.splitlines() if "apt-get" in line]
    assert apt_line.startswith("sudo apt-get update && sudo apt-get install -y ")
    assert {"default-jdk-headless", "maven"} <= set(apt_line.split())
    [brew_line] = [line.strip() for line in done.stderr.splitlines() if "brew install" in line]
    assert {"openjdk@21", "maven"} <= set(brew_line.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("version", "word"), [("25.0.1", "new"), ("22", "new"), ("1.8.0_402", "old"), ("10.0.2", "old")]
)
def test_a_jdk_of_another_age_is_named(programs: Path, version: str, word: str):
    put_all(programs)
    put_jdk(programs, version)
    done = run(programs)
    assert done.returncode == 1
    assert f"A JDK 11 to 21 is needed; {programs}/java is Java" in done.stderr
    assert f"which is too {word}." in done.stderr
    assert "export JAVA_HOME=" in done.stderr


@pytest.mark.parametrize("version", ["11.0.22", "17.0.15", "21.0.2", "21"])
def test_every_jdk_between_will_do(programs: Path, version: str):
    put_all(programs)
    put_jdk(programs, version)
    assert run(programs).returncode == 0


def test_java_home_comes_before_the_path(programs: Path, tmp_path: Path):
    put_all(programs)
    put_jdk(tmp_path / "jdk-25" / "bin", "25")
    done = run(programs, JAVA_HOME=str(tmp_path / "jdk-25"))
    assert done.returncode == 1
    assert f"{tmp_path}/jdk-25/bin/java is Java 25, which is too new." in done.stderr
    put_jdk(programs, "25")
    put_jdk(tmp_path / "jdk-21" / "bin", "21")
    assert run(programs, JAVA_HOME=str(tmp_path / "jdk-21")).returncode == 0


def test_a_java_home_without_java_is_named(programs: Path, tmp_path: Path):
    put_all(programs)
    done = run(programs, JAVA_HOME=str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert f"JAVA_HOME ({tmp_path}/nowhere) has no working java." in done.stderr


def test_a_runtime_without_compiler_is_named(programs: Path):
    put_all(programs)
    (programs / "javac").unlink()
    assert "the PATH has no working javac." in run(programs).stderr


def test_a_java_that_only_asks_to_be_installed_is_no_java(programs: Path):
    put_all(programs)
    put(programs, "java", "Unable to locate a Java Runtime.", exit_code=1)
    assert "the PATH has no working java." in run(programs).stderr


def test_an_old_maven_is_named(programs: Path):
    put_all(programs)
    put(programs, "mvn", "Apache Maven 3.5.4")
    assert "Maven 3.6.3 or newer is needed; mvn is 3.5.4." in run(programs).stderr


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    [problem] = prerequisites.python_problems()
    assert problem.sentence == f"Python 3.11 or newer is needed; {sys.executable} is 3.9."
    assert problem.debian == "python3.11 python3.11-venv"


def test_a_python_that_cannot_make_environments_is_named(monkeypatch: pytest.MonkeyPatch):
    """Debian splits the module off into a package of its own."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    [problem] = prerequisites.python_problems()
    assert "cannot make virtual environments" in problem.sentence
    assert problem.debian == "python{}.{}-venv".format(*sys.version_info[:2])
    assert prerequisites.python_problems(needs_venv=False) == []


def test_a_python_without_embedded_redis_needs_a_server(monkeypatch: pytest.MonkeyPatch, programs: Path):
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    monkeypatch.setenv("PATH", str(programs))
    [problem] = prerequisites.redis_problems()
    assert problem.debian == "redis-server"
    put(programs, "redis-server", "")
    assert prerequisites.redis_problems() == []


def test_even_an_old_python_can_read_it():
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
    # An annotation that is not text would be evaluated, and fail, where `list[str]` is not known yet.
    annotations = [
        annotation
        for node in ast.walk(ast.parse(SCRIPT.read_text()))
        for annotation in ([node.returns] if isinstance(node, ast.FunctionDef) else [getattr(node, "annotation", None)])
    ]
    assert all(annotation is None or isinstance(annotation, ast.Constant | ast.Name) for annotation in annotations)


def test_it_leaves_no_trace(programs: Path):
    put_all(programs)
    before = set(programs.iterdir())
    run(programs)
    assert set(programs.iterdir()) == {*before, programs / "cat"}

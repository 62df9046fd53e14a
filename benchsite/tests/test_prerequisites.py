"""What is missing on this machine is named at once, with the line that installs it, before anything is downloaded."""

import ast
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchsite.core import prerequisites
from benchsite.tests.needs import need

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
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit {exit_code}\n")
    program.chmod(0o755)


def put_jdk(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    put(folder, "java", f'openjdk version "{version}" 2025-01-01')
    put(folder, "javac", f"javac {version}")


def put_all(folder: Path) -> None:
    put_jdk(folder, "17.0.15")
    put(folder, "mvn", "Apache Maven 3.8.7")


def run(programs: Path, command: str = "demo", **environment: str) -> subprocess.CompletedProcess[str]:
    # `cat` is for the programs made here; the rest of the system stays out of sight.
    (programs / "cat").unlink(missing_ok=True)
    (programs / "cat").symlink_to("/bin/cat")
    return subprocess.run(
        [sys.executable, SCRIPT, command],
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
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("version", "word"), [("26.0.1", "new"), ("27", "new"), ("1.8.0_402", "old"), ("10.0.2", "old")]
)
def test_a_jdk_of_another_age_is_named(programs: Path, version: str, word: str):
    put_all(programs)
    put_jdk(programs, version)
    done = run(programs)
    assert done.returncode == 1
    assert f"A JDK 11 to 25 is needed; {programs}/java is Java" in done.stderr
    assert f"which is too {word}." in done.stderr
    assert "export JAVA_HOME=" in done.stderr


@pytest.mark.parametrize("version", ["11.0.22", "17.0.15", "21.0.2", "21", "25.0.5"])
def test_every_jdk_between_will_do(programs: Path, version: str):
    put_all(programs)
    put_jdk(programs, version)
    assert run(programs).returncode == 0


def test_java_home_comes_before_the_path(programs: Path, tmp_path: Path):
    put_all(programs)
    put_jdk(tmp_path / "jdk-26" / "bin", "26")
    done = run(programs, JAVA_HOME=str(tmp_path / "jdk-26"))
    assert done.returncode == 1
    assert f"{tmp_path}/jdk-26/bin/java is Java 26, which is too new." in done.stderr
    put_jdk(programs, "26")
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


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 10, 14), (3, 15, 0), (4, 0, 0)])
def test_python_of_another_age_is_named(monkeypatch: pytest.MonkeyPatch, version: tuple[int, ...]):
    monkeypatch.setattr(sys, "version_info", version)
    [problem] = prerequisites.python_problems()
    stated = f"{version[0]}.{version[1]}"
    assert problem.sentence == f"Python 3.11 to 3.14 is needed; {sys.executable} is {stated}."
    assert problem.packages == "python3.11 python3.11-venv"


@pytest.fixture
def fresh_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A clone in which nothing was set up."""
    monkeypatch.setattr(prerequisites, "ROOT", tmp_path)
    return tmp_path


def test_python_that_cannot_make_environments_is_named(monkeypatch: pytest.MonkeyPatch, fresh_clone: Path):
    """Debian splits the module off into a package of its own."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    [problem] = prerequisites.python_problems()
    assert "cannot make virtual environments" in problem.sentence
    assert problem.packages == "python{}.{}-venv".format(*sys.version_info[:2])
    put(fresh_clone, ".venv/bin/pip", "")
    assert prerequisites.python_problems() == []


def test_too_small_disk_is_named(monkeypatch: pytest.MonkeyPatch, fresh_clone: Path):
    monkeypatch.setattr(prerequisites, "MIN_FREE_MB", 10**9)
    [problem] = prerequisites.disk_problems()
    assert f"1,000,000,000 MB of free disk space are needed below {fresh_clone}; " in problem.sentence
    put(fresh_clone, ".venv/.installed", "")
    assert prerequisites.disk_problems() == []


def test_taken_port_is_named_before_the_set_up(monkeypatch: pytest.MonkeyPatch, fresh_clone: Path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("PORT", str(server.getsockname()[1]))
        [problem] = prerequisites.port_problems()
        assert "is taken or not allowed: choose another" in problem.sentence
        put(fresh_clone, ".venv/.installed", "")
        assert prerequisites.port_problems() == [], "the site itself may listen"


def test_fast_tests_need_no_java(programs: Path):
    assert run(programs, command="test-fast").returncode == 0
    assert run(programs, command="test").returncode == 1


def test_power_cuts_need_root_before_anything_is_installed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    sentences = [problem.sentence for problem in prerequisites.check_command("durability")]
    assert any("need root" in sentence for sentence in sentences)
    assert not any("need root" in problem.sentence for problem in prerequisites.check_command("demo"))


def test_readme_has_the_table():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert prerequisites.table() in readme, "python -m benchsite.core.prerequisites --table"


def test_a_missing_need_skips_with_the_way_to_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(prerequisites, "find_program", lambda name: None)
    with pytest.raises(pytest.skip.Exception, match="needs memcached: apt-get install memcached"):
        need("memcached")
    with pytest.raises(KeyError):
        need("memcachd")


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

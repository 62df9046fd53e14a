"""`benchsite judge` as it is installed: without Django, without a site, with one sentence for what is wrong."""

import json
import os
import re
import resource
import shutil
import subprocess
import tarfile
import zipfile

import pytest
from hatchling.builders.sdist import SdistBuilder

from benchsite_client.tests.installed import ROOT, build_wheel, installed, packages
from runs.tests.importing import DATA, summary

__all__ = ["installed", "packages"]
pytestmark = pytest.mark.slow
MAX_CPU_S = 2.0
COMPILE = """
import pathlib, sys
for folder in sys.argv[1:]:
    for path in pathlib.Path(folder).rglob("*.py"):
        compile(path.read_bytes(), path, "exec")
"""
STATED = ("--mode", "always", "--hardware", "EPYC 7443P, NVMe")


@pytest.fixture
def output(installed):
    """A summary in a file."""
    path = installed.home / "client-1.txt"
    path.write_bytes(summary())
    return path


def test_prints_numbers_findings_and_what_is_missing(installed, output):
    code, printed, complaints = installed.run("judge", output.name)

    assert (code, complaints) == (5, "")
    assert "10,000 ops/s" in printed and re.search(r"READ +50,000", printed)
    assert "V05 reject: Duration" in printed and "V11 not assessed" in printed
    assert "mode: No file says" in printed and "always" in printed
    assert printed.rstrip().endswith("Rejected: do not use these numbers.")


def test_needs_no_django(installed, packages):
    code, printed, _ = installed.run("--version")

    assert (code, printed) == (0, "benchsite 0.1.0\n")
    assert not list(packages.glob("django*")) and not list(packages.rglob("tests/test_judge*"))


def test_merges_the_histograms_of_clients(installed):
    """With bounds of percentiles, for which scipy is needed."""
    logs = sorted(path for path in (DATA / "two_clients").rglob("*") if path.is_file() and path.stat().st_size)

    code, printed, complaints = installed.run("judge", "--json", "--purpose", "demo", *map(str, logs))

    (run,) = json.loads(printed)["runs"]
    assert (code, complaints) == (0, "")
    assert (run["clients_merged"], run["percentiles"]) == (2, "exact, histograms added")


def test_json_is_the_report(installed, output):
    code, printed, _ = installed.run("judge", "--json", "--purpose", "demo", *STATED, output.name)

    report = json.loads(printed)
    assert code == report["exit_code"] == 0
    assert report["missing"] == [] and report["runs"][0]["mode"] == "always"
    assert report["verdict"] == "warn" or report["verdict"] == "pass"


def test_strict_ends_with_its_code_for_a_warning(installed, output):
    arguments = ("judge", "--purpose", "tuning", *STATED, output.name)

    assert installed.run(*arguments)[0] == 0
    assert installed.run(*arguments, "--strict")[0] == 4


def test_html_is_one_page_without_secrets(installed, output):
    output.write_bytes(summary() + b"-p redis.password=hush <script>alert(1)</script>\n")

    code, _, _ = installed.run("judge", "--html", "report.html", output.name)

    page = (installed.home / "report.html").read_text()
    assert code == 5 and "10.0k" in page and "V05 Duration: reject" in page
    assert "hush" not in page and "<script" not in page
    assert not re.search(r"""(src|href)=|url\(|https?:""", page)


def test_reader_that_has_ended_is_no_fault(installed, output):
    """As in `benchsite judge ... | head`."""
    reader, writer = os.pipe()
    os.close(reader)

    process = installed.start("judge", output.name, stdout=writer)

    assert process.communicate() == (None, "") and process.returncode == 1
    os.close(writer)


def test_reads_standard_input(installed):
    code, printed, _ = installed.run("judge", "-", stdin=summary().decode())

    assert code == 5 and "standard input: ycsb-text 0.17.0" in printed


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (("nothing.txt",), 5, "benchsite: nothing.txt cannot be read: No such file or directory."),
    ((".",), 2, "benchsite: . is a folder: name the files in it."),
    (("--manifest", "no.json", "client-1.txt"), 2, "benchsite: the manifest no.json cannot be read"),
    (("--purpose", "fun", "client-1.txt"), 2, "“fun” is no purpose"),
    (("--system", "redis", "--mode", "alwys", "client-1.txt"), 2, "Did you mean “always”?"),
    (("--html", "no/report.html", "client-1.txt"), 2, "benchsite: no/report.html cannot be written"),
], ids=("no file", "folder", "no manifest", "wrong purpose", "wrong mode", "unwritable page"))  # fmt: skip
def test_wrong_input_is_one_sentence(installed, output, arguments, code, message):
    ended, printed, complaints = installed.run("judge", *arguments)

    assert ended == code and printed == ""
    assert message in complaints and complaints.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"no benchmark at all\n", b"\0" * 5000], ids=("empty", "prose", "zeros"))
def test_a_file_without_a_result_fails(installed, output, content):
    output.write_bytes(content)

    code, printed, complaints = installed.run("judge", output.name)

    assert code == 5 and complaints == ""
    assert "Files that cannot be read\n  client-1.txt" in printed
    assert printed.rstrip().endswith("There is no result in these files.")


def test_a_megabyte_takes_less_than_two_seconds(installed, output):
    """Of processor time, with the start of Python."""
    statuses = "".join(
        f"2026-03-01 10:{second // 60 % 60:02}:{second % 60:02}:000 {second} sec: {second * 1000} operations; "
        "1000 current ops/sec; [READ AverageLatency(us)=412.5] [UPDATE AverageLatency(us)=530.25]\n"
        for second in range(1, 8000)
    )
    output.write_bytes(statuses.encode() + summary())
    assert output.stat().st_size > 1_000_000
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    code, printed, _ = installed.run("judge", "--html", "report.html", output.name)

    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert code in (0, 5) and "50,000" in printed
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < MAX_CPU_S


def test_a_source_distribution_gives_the_same_wheel(packages, tmp_path):
    source = next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))
    with tarfile.open(source) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none.
        archive.extractall(tmp_path / "source")
    (root,) = (tmp_path / "source").iterdir()

    with zipfile.ZipFile(build_wheel(root, tmp_path / "wheel")) as archive:
        names = {name for name in archive.namelist() if not name.endswith("RECORD")}

    assert names and all((packages / name).exists() for name in names)
    assert {"runs/ycsb/hdr.py", "benchsite_client/upload.py"} <= names


def test_completes_commands_and_options(installed):
    def complete(*line: str) -> set[str]:
        return set(installed.run("completion", "words", "--", *line)[1].split())

    assert {"judge", "login"} <= complete("") and complete("ju") == {"judge"}
    assert complete("judge", "--ht") == {"--html"}
    assert complete("completion", "") >= {"bash", "fish", "zsh"}
    assert complete("upload", "--mixed", "") == {"fail", "pass"}
    assert "complete -o default -F _benchsite benchsite" in installed.run("completion", "bash")[1]


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_every_module_is_of_each_python(packages, version):
    """Syntax of all, and the start of the command: what is compiled for a Python is not installed here."""
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "--version"], capture_output=True, check=False).returncode:
        pytest.skip(f"no Python {version} here")
    sources = [str(packages / name) for name in ("benchsite_client", "benchsite", "runs")]
    compiled = subprocess.run([python, "-W", "error", "-c", COMPILE, *sources], capture_output=True, text=True)
    command = [python, "-S", "-W", "error", "-m", "benchsite_client", "completion", "words", "--", "export", "--fo"]
    started = subprocess.run(command, env={"PYTHONPATH": str(packages)}, capture_output=True, text=True)

    assert (compiled.returncode, compiled.stderr) == (0, "")
    assert (started.returncode, started.stdout) == (0, "--format\n"), started.stderr

"""The recipes of docs/ci.md, step by step as a CI runs them, against a real server."""

import json
import socket
import xml.etree.ElementTree as ET

import pytest
from django.conf import settings

from benchsite.accounts.models import Notice, Scope
from benchsite.accounts.tokens import make
from benchsite.tests.pipelines import (
    Checkout,
    blocks,
    github,
    github_steps,
    gitlab,
    gitlab_steps,
    jenkins,
    jenkins_steps,
    workflow_run,
    ycsb_output,
)
from reports.models import Baseline
from runs.models import Run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.needs("curl")]
CORPUS = settings.BASE_DIR.parent / "shared" / "data" / "corpus"
OLD, NEW = "a" * 40, "b" * 40


def outputs(level: float, first: int = 0, repeats: int = 5, **more) -> list[str]:
    return [ycsb_output(level, first + i, **more) for i in range(repeats)]


@pytest.fixture
def checkout(live_server, team, user, tmp_path):
    """A checkout with a token as its CI's secret."""
    token = make(team, user, name="ci", scopes=[Scope.RUNS_WRITE, Scope.RUNS_READ])
    return Checkout(tmp_path, live_server.url, token)


def environment(ci: str, checkout: Checkout, commit: str, build: int, *, confirm: bool = False) -> dict[str, str]:
    if ci == "github":
        return github(checkout.folder, commit, build=build, job="confirm" if confirm else "benchmark")
    if ci == "gitlab":
        return gitlab(commit, build=build, job="confirm" if confirm else "judge")
    return jenkins(commit, build=build + confirm)


def spread_over_sessions() -> None:
    """The runs so far are those of a job each: what the history says of jobs."""
    for number, run in enumerate(Run.objects.order_by("pk")):
        Run.objects.filter(pk=run.pk).update(session=f"job {number}")


STEPS = {
    "github": github_steps("Benchmark", "benchmark"),
    "gitlab": gitlab_steps("benchmark", "judge"),
    "jenkins": jenkins_steps(),
}
CONFIRM = {
    "github": github_steps("Benchmark", "confirm"),
    "gitlab": gitlab_steps("benchmark-again", "confirm"),
    "jenkins": jenkins_steps(),
}


@pytest.mark.parametrize("ci", list(STEPS))
def test_a_recipe_passes_fails_and_stores_nothing_twice(ci, checkout):
    first = checkout.measuring(*outputs(50_000)).build(STEPS[ci], **environment(ci, checkout, OLD, 1))
    assert first == (4 if ci == "gitlab" else 0), checkout.said  # GitLab's recipe is strict, and lets 4 pass.
    assert "nothing to judge against" in checkout.said
    assert Run.objects.count() == 5 and set(Run.objects.values_list("commit", "branch")) == {(OLD, "main")}
    spread_over_sessions()
    same = checkout.measuring(*outputs(50_000, 10)).build(STEPS[ci], **environment(ci, checkout, NEW, 2))
    assert same == 0 and checkout.said.rstrip().endswith("Pass."), checkout.said
    again = checkout.build(STEPS[ci][1:] if ci != "gitlab" else STEPS[ci][2:], **environment(ci, checkout, NEW, 2))
    assert again == 0 and Run.objects.count() == 10, "the same build and content are stored once"
    screened = checkout.measuring(*outputs(40_000, 20)).build(STEPS[ci], **environment(ci, checkout, "c" * 40, 3))
    assert screened == (4 if ci == "gitlab" else 0) and "Flagged: measure this test again" in checkout.said
    assert (checkout.folder / "flagged.txt").read_text() == "bench/manifest.json\n"
    again = environment(ci, checkout, "c" * 40, 3, confirm=True)
    worse = checkout.measuring(*outputs(40_000, 30)).build(CONFIRM[ci], **again)
    assert worse == 1 and "Regression: throughput " in checkout.said, checkout.said
    assert "by the rule: The newest commit on the default branch" in checkout.said
    assert Notice.objects.filter(kind="regression").count() == 1
    if ci == "github":
        assert "**Regression: throughput " in (checkout.folder / "summary.md").read_text()
    else:
        suite = ET.parse(checkout.folder / "verdict.xml").getroot()
        assert int(suite.attrib["failures"]) >= 1 and suite.attrib["errors"] == "0"


def test_one_run_is_inconclusive_and_fails_a_strict_build_alone(checkout):
    one = [STEPS["github"][0].replace("1 2 3 4 5", "1"), STEPS["github"][1]]
    assert checkout.measuring(*outputs(50_000)).build(one, **github(checkout.folder, OLD, build=1)) == 0
    worse = checkout.measuring(*outputs(30_000, 20))
    assert worse.build(one, **github(checkout.folder, NEW, build=2)) == 0, checkout.said
    assert "1 session against 1 session" in checkout.said
    strict = one[1].replace("--each", "--each --strict")
    assert checkout.build([strict], **github(checkout.folder, NEW, build=2)) == 4


def test_a_benchmark_that_leaves_no_result_ends_with_5(checkout):
    env = github(checkout.folder, OLD, build=1)
    assert checkout.measuring("").build(STEPS["github"], **env) == 5 and "left no result" in checkout.said
    assert checkout.measuring("Exception in thread main\n").build(STEPS["github"], **env) == 5, checkout.said
    assert not Run.objects.exists()


def test_a_benchmark_that_the_checks_reject_ends_with_5(checkout):
    env = github(checkout.folder, OLD, build=1)
    assert checkout.measuring(*outputs(50_000, seconds=5)).build(STEPS["github"], **env) == 5, checkout.said
    assert "checks: reject" in checkout.said and "::error" not in checkout.said.splitlines()[0]


def test_unreachable_site_fails_upload_unless_set_to_warn(checkout):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    assert checkout.measuring(*outputs(50_000)).build(STEPS["github"], **github(checkout.folder, OLD, build=1)) == 0
    upload = next(line for line in STEPS["github"][1].splitlines() if "--each" in line)
    env = github(checkout.folder, NEW, build=2) | {"BENCHSITE_URL": away, "BENCHSITE_PATIENCE": "1"}
    assert checkout.build([upload], **env) == 3 and "cannot be reached" in checkout.said
    assert checkout.build([upload.replace("--each", "--each --on-upload-error=warn")], **env) == 0


def test_a_fork_has_no_secret_and_is_judged_afterwards(checkout):
    assert checkout.measuring(*outputs(50_000)).build(STEPS["github"], **github(checkout.folder, OLD, build=1)) == 0
    secret, checkout.token = checkout.token, ""
    fork = github(checkout.folder, NEW, build=2, fork=True)
    assert checkout.measuring(*outputs(40_000, 20)).build(STEPS["github"], **fork) == 0
    assert "no token here, as in builds of forks" in checkout.said and Run.objects.count() == 5
    checkout.token = secret
    spread_over_sessions()
    judge_forks = github_steps("Judge forks", "judge-forks")
    env = workflow_run(checkout.folder, NEW, build=2, branch="main")
    assert checkout.build(judge_forks, **env) == 0 and "Flagged" in checkout.said, checkout.said
    checkout.measuring(*outputs(40_000, 40)).build(STEPS["github"][:1])
    env = workflow_run(checkout.folder, NEW, build=2, branch="main", attempt=2)
    assert checkout.build(judge_forks, **env) == 1, checkout.said
    theirs = Run.objects.filter(commit=NEW)
    assert set(theirs.values_list("branch", flat=True)) == {"someone/db:main"}, "a fork's main is not ours"
    after = checkout.measuring(*outputs(50_000, 30)).build(
        STEPS["github"], **github(checkout.folder, "c" * 40, build=3)
    )  # fmt: skip
    assert after == 0 and checkout.said.rstrip().endswith("Pass."), checkout.said


def test_a_missing_or_wrong_token_is_a_mistake_of_usage(checkout):
    strict = STEPS["github"][1].replace(" --without-token=skip", "")
    checkout.measuring(*outputs(50_000)).build(STEPS["github"][:1])
    secret, checkout.token = checkout.token, ""
    assert checkout.build([strict]) == 2 and "no token" in checkout.said
    checkout.token = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    assert checkout.build([strict]) == 2 and "unauthenticated" in checkout.said and secret not in checkout.said


def test_the_one_line_and_the_baseline_of_a_release(checkout):
    line, baseline = blocks("sh")
    checkout.measuring(*outputs(50_000)).build(STEPS["github"], **github(checkout.folder, OLD, build=1))
    spread_over_sessions()
    assert checkout.build([baseline], COMMIT=OLD) == 0, checkout.said
    assert Baseline.objects.get().name == "release-1.2" and Baseline.objects.get().pins.count() == 5
    assert checkout.build([line], BUILD_NUMBER="77") == 0, checkout.said
    data = json.loads(checkout.said)
    assert data["runs"][0]["permalink"].startswith(checkout.site) and data["against"]["verdict"] == "pass"
    judge = STEPS["github"][1].replace("--each", "--each --baseline release-1.2 --json out.json")
    checkout.measuring(*outputs(70_000, 20)).build([STEPS["github"][0]])
    assert checkout.build([judge], **github(checkout.folder, NEW, build=3)) == 0, checkout.said
    checkout.measuring(*outputs(70_000, 30)).build([STEPS["github"][0]])
    assert checkout.build([judge], **github(checkout.folder, NEW, build=2)) == 0, checkout.said
    written = json.loads((checkout.folder / "out.json").read_text())
    assert written["verdicts"][0]["verdict"] == "improvement" and written["exit_code"] == 0
    assert written["verdicts"][0]["base"]["name"] == "release-1.2"


@pytest.mark.skipif(not CORPUS.exists(), reason="the collected outputs are not beside the project")
def test_a_real_output_of_somebody_else_is_uploaded(checkout):
    real = next(iter(CORPUS.glob("018_*.txt"))).read_text(errors="replace")
    env = github(checkout.folder, OLD, build=1)
    code = checkout.measuring(real).build([STEPS["github"][0].replace("1 2 3 4 5", "1"), STEPS["github"][1]], **env)
    # Its author logged three loads and three runs of two seconds, which no check lets pass.
    assert Run.objects.count() == 6 and code == 5, checkout.said
    for run in Run.objects.all():
        assert f"{run.throughput_ops_s:,.0f} ops/s" in checkout.said


def test_manage_py_upload_is_the_same_program(checkout):
    checkout.measuring(*outputs(50_000)).build(STEPS["github"][:1])
    manage = settings.BASE_DIR / "manage.py"
    said = "--dry-run --each --manifest bench/manifest.json results/run-*.txt"
    env = {"BENCHSITE_SECRET_KEY": "for this test", "BENCHSITE_VAR": str(checkout.folder / "var")}
    assert checkout.build([f'python "{manage}" upload {said}'], **env) == 0, checkout.said
    assert "Nothing was stored: a dry run." in checkout.said and not Run.objects.exists()

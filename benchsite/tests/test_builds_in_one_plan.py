"""Builds of Redis in one plan by the client, one of them slower: told apart and named by commit, for real."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings

from benchsite.accounts import tokens
from benchsite.accounts.models import Role, Scope
from benchsite.tests.live_site import LiveSite
from benchsite.tests.planted_builds import plant
from benchsite_client.tests.installed import Installed, installed, packages
from runs.models import Deployment, Machine, Matrix, Run
from runs.models.run import Phase, Status
from runs.tests.factories import make_cluster, make_database, make_team, make_user, make_workload
from workers.generator.host_identity import host_key
from workers.systems.build import build

__all__ = ["installed", "packages"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(400),
    pytest.mark.needs("cc"),  # The slower build is compiled.
]
PLAN: Final = """\
format = "benchsite-plan"
version = 3

[matrix]
name = "pull request"
purpose = "demo"
entries = [{{ database = "Redis", mode = "off" }}]
workloads = ["A"]
rungs = [8]
repeats = {repeats}
order = "randomised"
stops_early = false
warmup_s = 1
measure_s = {measure_s}
"""
COMMITS = {"this": "7" * 40, "base": "b" * 40, "main": "a" * 40}


@dataclass(frozen=True)
class Case:
    """How much later one build answers, and the plan that is to find it."""

    names: tuple[str, ...]
    spin_ns: int
    repeats: int
    measure_s: int
    longest_s: int


# With so slow a server, it and not the clients is the limit. What a waiting server does costs less than waking it up:
# without this, a build that spins for 8 us answered 5 to 9 % more.
BASE_SPIN_NS = 100_000
# Far slower, for a machine that does other work as well; and 10 % slower, for an idle one.
FAR_SLOWER = Case(("this", "base"), spin_ns=800_000, repeats=5, measure_s=2, longest_s=350)
TENTH_SLOWER = Case(("this", "base", "main"), spin_ns=113_000, repeats=5, measure_s=5, longest_s=500)


@pytest.fixture(
    params=[
        pytest.param(FAR_SLOWER, id="far slower"),
        pytest.param(TENTH_SLOWER, id="10 % slower", marks=[pytest.mark.long, pytest.mark.timeout(600)]),
    ]
)
def case(request: pytest.FixtureRequest) -> Case:
    slower: Case = request.param
    return slower


@pytest.fixture
def builds(tmp_path: Path, case: Case) -> Path:
    folder = tmp_path / "builds"
    plant(folder / "this", spin_ns=case.spin_ns, commit=COMMITS["this"], branch="feature")
    plant(
        folder / "base",
        spin_ns=BASE_SPIN_NS,
        commit=COMMITS["base"],
        branch="main",
        committed_at="2026-03-01T12:00:00Z",
    )
    plant(folder / "main", spin_ns=BASE_SPIN_NS, committed_at="2026-03-02T12:00:00Z")
    return folder


@pytest.fixture
def site(tmp_path: Path, builds: Path) -> Iterator[LiveSite]:
    build(settings.YCSB_DIR, ["redis"])
    live = LiveSite(tmp_path)
    conductor = live.parts["conductor"]
    conductor.env = {**conductor.env, "BENCHSITE_OWN_BUILD_FOLDERS": str(builds)}
    with live:
        yield live


def test_slower_build_is_named_by_its_commit(site: LiveSite, case: Case, builds: Path, installed: Installed) -> None:
    team = make_team()
    user = make_user(team=team, role=Role.BUILDER)
    machine = Machine.objects.get(host_key=host_key())
    make_database(team=team, cluster=make_cluster(team=team, machines=[machine]), name="Redis", system="redis")
    properties = {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0.5"}
    make_workload(team=team, name="A", properties=properties)
    token = tokens.make(team, user, name="CI", scopes=[Scope.MATRICES_RUN, Scope.BUILDS_RUN, Scope.RUNS_READ])
    installed.environment = {"BENCHSITE_URL": f"http://127.0.0.1:{site.port}", "BENCHSITE_TOKEN": token}
    (installed.home / "plan.toml").write_text(PLAN.format(repeats=case.repeats, measure_s=case.measure_s))
    stated = {"this": ["ci_url=https://ci.example/7"], "main": [f"commit={COMMITS['main']}", "branch=main"]}
    options: list[str] = []
    for name in case.names:
        options += ["--build", name, f"folder={builds / name}", *stated.get(name, [])]

    code, printed, complaints = installed.run("builds", "plan.toml", *options, "--json", timeout_s=case.longest_s)

    assert complaints == ""
    answer = json.loads(printed)
    matrix = Matrix.objects.get()
    failures = Run.objects.filter(matrix=matrix).exclude(status=Status.SUCCEEDED)
    assert list(failures.values_list("name", "reason_detail")) == []
    runs = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE)
    assert runs.count() == len(case.names) * case.repeats and runs.values("config_key").distinct().count() == 1
    assert {run.spec["build"]["name"]: run.commit for run in runs} == {name: COMMITS[name] for name in case.names}
    assert {run.committed_at.day for run in runs if run.committed_at} == set(range(1, len(case.names)))
    assert Deployment.objects.filter(matrix=matrix).count() == len(case.names)
    assert len({build["digest"] for build in answer["builds"]}) == len(case.names)

    assert (code, answer["verdict"], answer["pending"]) == (1, "regression", False), printed
    this, *others = answer["comparisons"]
    sides = [this["tests"][0][side]["commit"] for side in ("new", "base")]
    assert sides == [COMMITS["this"], COMMITS["base"]]
    throughput = this["tests"][0]["metrics"][0]
    assert throughput["state"] == "regressed" and throughput["high"] < 1 and throughput["new_sessions"] == case.repeats
    assert f"{case.repeats} blocks against {case.repeats}" in throughput["reason"]
    if "main" in case.names:  # twice the same program
        main = others[-1]
        assert (main["new"], main["base"]) == ("main", "base")
        assert throughput["ratio"] < main["tests"][0]["metrics"][0]["ratio"]

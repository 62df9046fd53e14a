"""From an empty site by one file and one request to the first curves of Redis and PostgreSQL, measured for real."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.conf import settings

from benchsite.accounts import tokens
from benchsite.accounts.models import Role, Scope
from benchsite.tests.live_site import GENERATORS, LiveSite, rejections
from runs.models import AppliedDefinition, Cluster, Database, Machine, Matrix, Run, Sweep
from runs.models.run import Phase, Status
from runs.tests.factories import make_team, make_user
from workers.generator.host_identity import MACHINE_VARIABLE, host_key
from workers.systems.build import build

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
FILE = f"""\
format = "benchsite-plan"
version = 3

[machines.servers]
host_key = "{host_key()}"

[clusters.lab]
provisioner = "process"
nodes = [{{ machine = "servers" }}]

[databases.Redis]
system = "redis"
cluster = "lab"

[databases.PostgreSQL]
system = "postgresql"
cluster = "lab"
settings = {{ shared_buffers = "64MB" }}

[workloads.A]
short_name = "A"
properties = {{ recordcount = 5000, readproportion = 0.5, updateproportion = 0.5 }}

[matrix]
name = "first curves"
purpose = "demo"
entries = [{{ database = "Redis", mode = "everysec" }}, {{ database = "PostgreSQL", mode = "on" }}]
workloads = ["A"]
rungs = [2]
repeats = 1
warmup_s = 1
measure_s = 3
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LiveSite]:
    """One whose clients call their host another machine, so that none of the servers' host is there yet."""
    build(settings.YCSB_DIR, ["redis", "postgresql"])
    live = LiveSite(tmp_path)
    live.variables = {name: {MACHINE_VARIABLE: "clients"} for name in GENERATORS}
    with live:
        yield live


def test_one_request_leads_to_the_first_curves(site: LiveSite) -> None:
    assert not Machine.objects.filter(host_key=host_key()).exists()
    assert not (Cluster.objects.exists() or Database.objects.exists() or Matrix.objects.exists())
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN, is_staff=True)
    scopes = [Scope.MACHINES_WRITE, Scope.DATABASES_WRITE, Scope.MATRICES_RUN]
    token = tokens.make(team, user, name="git", scopes=scopes)

    def apply(file: str) -> Any:
        body = json.dumps({"file": file, "run": "new"}).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = Request(f"http://127.0.0.1:{site.port}/api/v1/apply", body, headers)
        try:
            with urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except HTTPError as refusal:
            with refusal:
                return json.load(refusal)

    first = apply(FILE)
    assert [change["action"] for change in first["changes"]] == ["create"] * 6, first
    matrix = Matrix.objects.get(pk=first["matrix"]["id"])
    run = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE).earliest("position")
    site.until_measured(run)
    assert run.sweep is not None and run.sweep.database is not None
    changed = FILE.replace("recordcount = 5000", "recordcount = 6000")
    assert apply(changed)["detail"].count(f"The run “{run.name}” uses this workload now.") == 1

    runs = site.until_ended(matrix)

    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    # In truth the clients are on the servers' host, so what they read passes no network (V21).
    assert {check for run in runs for check, _ in rejections(run)} <= {"V21"}
    curves = Sweep.objects.filter(matrix=matrix, phase=Phase.MEASURE).order_by("database_name")
    assert list(curves.values_list("database_name", "mode")) == [("PostgreSQL", "on"), ("Redis", "everysec")]
    points = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE, throughput_ops_s__gt=0)
    assert sorted(points.values_list("system", "threads")) == [("postgresql", 2), ("redis", 2)]

    applied = list(AppliedDefinition.objects.values_list("pk", "applied_at"))
    again = apply(FILE)
    assert [change["action"] for change in again["changes"]] == ["none"] * 6 and again["matrix"] == first["matrix"]
    assert list(AppliedDefinition.objects.values_list("pk", "applied_at")) == applied
    assert Matrix.objects.count() == 1 and Run.objects.filter(matrix=matrix).count() == len(runs)

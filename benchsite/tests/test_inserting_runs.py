"""Runs of workloads that insert, by several clients of two load generators, from the plan to the verdict."""

import pytest
from django.conf import settings

from benchsite.tests.live_site import LiveSite, rejections
from runs.models import Run, Workload
from runs.models.run import Phase, Status
from runs.queue import lifecycle
from runs.tests.factories import make_user
from runs.ycsb.properties import CORE_WORKLOADS, check_workload
from workers.systems.build import build

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
RECORDS = 2_000


@pytest.fixture
def site(tmp_path):
    build(settings.YCSB_DIR)
    with LiveSite(tmp_path) as live:
        yield live


def check_inserts(run: Run, clients: int) -> None:
    """The records that the server holds are those that the clients were told of."""
    run.refresh_from_db()
    assert (run.status, run.reason_detail) == (Status.SUCCEEDED, "")
    assert rejections(run) == []
    rows = list(run.client_runs.order_by("number"))
    numbers = [(row.order["properties"]["client.number"], row.order["properties"]["client.count"]) for row in rows]
    assert numbers == [(str(number), str(clients)) for number in range(clients)]
    acknowledged = sum(row.facts["inserted"] for row in rows)
    assert all(row.facts["inserted"] > 0 for row in rows)
    assert acknowledged <= run.evidence["inserted_records"] <= sum(row.facts["inserts"] for row in rows)
    findings = {finding.check_id: finding for finding in run.measurement_sets.get().findings.all()}
    assert findings["V39"].severity == "pass", findings["V39"].message
    assert "0\N{NARROW NO-BREAK SPACE}% not found" in findings["V07"].measured


@pytest.mark.parametrize(("letter", "processes"), [("D", 2), pytest.param("E", 1, marks=pytest.mark.long)])
def test_inserts_of_all_clients_are_there(site, letter, processes):
    properties = check_workload({**CORE_WORKLOADS[letter], "recordcount": str(RECORDS)})

    def insert(matrix):
        matrix.workloads.update(properties=properties)

    entries = (("redis", "off"), ("postgresql", "off"))
    matrix = site.submit(*entries, rungs=[4], processes_per_generator=processes, before=insert)
    site.until_ended(matrix)

    measured = list(Run.objects.filter(matrix=matrix, phase=Phase.MEASURE))
    assert len(measured) == 2
    for run in measured:
        check_inserts(run, 2 * processes)
    again = lifecycle.run_again(measured[0], make_user(team=matrix.team, role="runner"))
    site.until_ended(matrix)
    check_inserts(again, 2 * processes)
    assert Workload.objects.get().properties == properties

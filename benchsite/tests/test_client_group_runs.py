"""Runs with client groups, from the queue to results, on real servers."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.tests.live_site import LiveSite, rejections, shared_site as site
from runs.models import ClientRun, Matrix, MeasurementSet, Phase, Run, Workload
from runs.models.run import Status
from runs.plans.plan_spec import PlanGroup
from runs.results.recording import recompute
from runs.results.recording.recut import recut
from runs.tests.factories import make_user, make_workload

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
READS = {"readproportion": "1.0", "updateproportion": "0.0"}
SCANS = {"readproportion": "0.0", "updateproportion": "0.0", "scanproportion": "1.0", "maxscanlength": "50"}


def measure_run(
    site: LiveSite, system: str, mode: str, mix: dict[str, str], groups: list[PlanGroup], **fields: Any
) -> tuple[Run, MeasurementSet]:
    """A run with these groups, whose workload "Beside" has that mix over the records of the ladder."""

    def add_groups(matrix: Matrix) -> None:
        own = matrix.workloads.get()
        make_workload(team=matrix.team, name="Beside", short_name="X", properties={**own.properties, **mix})
        Matrix.objects.filter(pk=matrix.pk).update(groups=[group.model_dump() for group in groups])

    matrix = site.submit((system, mode), rungs=[8], measure_s=6, before=add_groups, repeats=1, **fields)
    runs = site.until_ended(matrix)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    run = next(run for run in runs if run.phase == Phase.MEASURE)
    return run, run.measurement_sets.get(is_current=True)


def group(name: str, **fields: Any) -> PlanGroup:
    return PlanGroup(name=name, workload="Beside", **{"threads": 2, **fields})


def test_groups_stand_beside_the_ladder(site: LiveSite) -> None:
    """One shares the load generators of the ladder, the other has its own and works for a part of the window."""
    run, measured = measure_run(
        site, "redis", "off", READS,
        [
            group("tenant", target_ops_s=200, arrivals="poisson", patience_ms="never", threads=8, measured=True),
            group("burst", generators=1, start_s=2, length_s=3),
        ],
    )  # fmt: skip

    clients = set(run.client_runs.values_list("group", "load_generator__name"))
    assert clients == {("", "generator-1"), ("tenant", "generator-1"), ("burst", "generator-2")}
    assert [client["number"] for client in measured.clients] == [0]
    tenant, burst = measured.groups
    assert tenant["numbers"]["throughput_ops_s"] == pytest.approx(200, rel=0.2)
    assert tenant["numbers"]["arrivals"]["offered"] == tenant["numbers"]["arrivals"]["started"]
    assert {line["operation"] for line in tenant["measurements"]} == {"READ"}
    assert {finding["check_id"] for finding in tenant["findings"]} >= {"V36", "V37", "V38"}
    assert measured.window_from is not None
    began_s = burst["from_s"] - measured.window_from.timestamp()
    assert began_s == pytest.approx(2, abs=1)
    assert burst["numbers"]["window_s"] == pytest.approx(3, abs=0.5)
    assert min(burst["curve"]["second"]) == pytest.approx(1 + 2, abs=1)
    assert burst["numbers"]["throughput_ops_s"] > 200
    check = measured.findings.get(check_id="V40")
    assert check.severity != "not_assessed"
    whole = {row["name"]: row["numbers"]["operations"] for row in measured.groups}
    assert measured.operations not in whole.values()
    assert measured.measurements.filter(operation="UPDATE").exists()


def test_pages_and_rest_show_groups(site: LiveSite) -> None:
    run, measured = measure_run(site, "redis", "off", READS, [group("tenant")])
    client = Client()
    client.force_login(make_user(team=run.team))

    page = client.get(reverse("run", args=[run.pk])).content.decode()
    panel = page.partition('id="groups"')[2].partition("</section>")[0]
    assert "tenant" in panel and "background" in panel and "Beside, 2 threads" in panel
    table = client.get(reverse("figure-run-series-data", args=[run.pk, "json"])).content.decode()
    assert "tenant" in table

    before = measured.groups
    again = recut(run, warmup_s=2.0, tail_s=1.0, user=make_user(team=run.team))
    assert again.groups == before and again.findings.get(check_id="V40").severity in ("pass", "warn")
    rebuilt = recompute.rebuild(Run.objects.get(pk=run.pk))
    assert [difference.label for difference in rebuilt.differences if "group" in difference.label] == []


@pytest.mark.long
def test_scans_beside_reads_on_postgresql(site: LiveSite) -> None:
    run, measured = measure_run(site, "postgresql", "off", SCANS, [group("scans", target_ops_s=10)])

    assert rejections(run) == []
    (scans,) = measured.groups
    assert {line["operation"] for line in scans["measurements"]} == {"SCAN"}
    assert scans["numbers"]["throughput_ops_s"] == pytest.approx(10, rel=0.4)
    assert not measured.measurements.filter(operation="SCAN").exists()
    assert ClientRun.objects.filter(run=run, group="scans").count() == 2
    assert run.sweep is not None and run.sweep.name.endswith(" + scans")
    assert Workload.objects.filter(team=run.team, name="Beside").exists()

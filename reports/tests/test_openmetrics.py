"""What a team's own monitoring reads: its newest results and running measurements, and nothing of another team."""

import datetime as dt
import json
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from reports.models import History
from reports.tests.test_history_pages import nightly
from runs.models import Measurement, MeasurementSet, Run
from runs.queue import live
from runs.tests.factories import make_run, make_sweep, make_team, make_user
from runs.tests.programs import get_token
from runs.tests.test_live_stream import said

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NAMES = {
    "benchsite_throughput_ops", "benchsite_throughput_low_ops", "benchsite_throughput_high_ops", "benchsite_runs",
    "benchsite_code_timestamp_seconds", "benchsite_code", "benchsite_latency_p99_seconds", "benchsite_live_ops",
    "benchsite_live_elapsed_seconds",
}  # fmt: skip


def ask(team, user, *scopes):
    token = get_token(team, user, *scopes)
    return Client().get("/api/v1/openmetrics", headers={"Authorization": f"Bearer {token}"})


def read(team, user):
    """Name -> its samples, as (labels, value)."""
    response = ask(team, user, "runs:read")
    assert response.status_code == 200 and response["Content-Type"].startswith("application/openmetrics-text")
    families = text_string_to_metric_families(response.text)
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in families}


def test_newest_commit_of_each_test_with_its_runs(team, user):
    sweep = make_sweep(team=team, name="redis always A", mode="always")
    key = nightly(sweep, [1000, 1100, 900])
    newest = Run.objects.get(repeat=3)
    again = make_run(
        sweep, spec=newest.spec, threads=8, repeat=4, throughput=950.0, commit=newest.commit, branch="main",
        started_at=newest.started_at + dt.timedelta(hours=1),
    )  # fmt: skip
    for run, p99_us in ((newest, 2000.0), (again, 4000.0)):
        current = MeasurementSet.objects.filter(run=run, is_current=True).first()
        Measurement.objects.filter(measurement_set=current, operation="READ").update(p99_us=p99_us)

    families = read(team, user)

    assert families.keys() == NAMES
    ((labels, value),) = families["benchsite_throughput_ops"]
    assert (labels["test"], labels["mode"], labels["threads"], labels["target"]) == (key, "always", "8", "")
    assert value == pytest.approx((newest.throughput_ops_s * 950) ** 0.5)
    assert families["benchsite_runs"] == [(labels, 2)]
    (low,), (high,) = families["benchsite_throughput_low_ops"], families["benchsite_throughput_high_ops"]
    assert low[1] <= value <= high[1]
    latencies = families["benchsite_latency_p99_seconds"]
    (p99_s,) = [p99_s for labels, p99_s in latencies if labels["operation"] == "READ"]
    assert p99_s == pytest.approx((2000e-6 * 4000e-6) ** 0.5)
    ((code, _),) = families["benchsite_code"]
    assert code["commit"] == newest.commit


def test_running_measurement_is_what_its_clients_print(team, user):
    run = make_run(make_sweep(team=team), status="running", threads=8)
    try:
        for second in (1, 2, 3):
            live.publish(run.pk, said(0, second, 1000.0))
        ((labels, value),) = read(team, user)["benchsite_live_ops"]
    finally:
        live.connection().delete(live.build_key(run.pk))

    assert labels["run"] == str(run.pk) and value == 1000.0


def test_other_teams_and_scopes_read_nothing(team, user):
    nightly(make_sweep(team=team, mode="always"), [1000])
    other = make_team(name="Other")

    assert all(samples == [] for samples in read(other, make_user(team=other, username="olga")).values())
    assert ask(team, user, "runs:write").status_code == 403
    assert Client().get("/api/v1/openmetrics").status_code == 401


def test_hostile_names_stay_labels(team, user):
    sweep = make_sweep(team=team, mode="always")
    nightly(sweep, [1000])
    hostile = 'x"} 1\nbenchsite_evil 2 \\'
    History.objects.update(database_name=hostile)

    families = read(team, user)

    assert families.keys() == NAMES and families["benchsite_runs"][0][0]["database"] == hostile


def test_dashboard_asks_for_metrics_that_exist():
    dashboard = json.loads(Path(settings.BASE_DIR, "deploy/grafana/benchsite.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]

    names = set(re.findall(r"benchsite_[a-z0-9_]+", " ".join(queries)))
    assert names and {name.removesuffix("_info") for name in names} <= NAMES

"""The sizing page: its form, its answers, and what it says of nonsense."""

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchsite.core.formatting import TIMES
from reports.models import StoredCurve
from runs.models import Run, Series
from runs.plans.faults import EXCLUDED_REASON
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_machine,
    make_run,
    make_sweep,
    make_workload,
    measurement,
)
from runs.tests.world import UGLY
from runs.ycsb.series import POINT, Series as PackedSeries, pack

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def measured(team, purpose="measured", **fields):
    sweep = make_sweep(team=team, purpose=purpose, **fields)
    for threads, throughput in ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3400.0)):
        make_run(sweep, threads=threads, throughput=throughput)
    return sweep


def page(client, query=""):
    response = client.get(f"/sizing/{query}")
    assert response.status_code == 200
    return response.content.decode().replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_it_asks_what_is_needed(client_in):
    html = page(client_in)
    assert "Say what you need" in html and 'name="throughput"' in html and 'role="alert"' not in html


def test_it_answers_with_nodes_and_what_decides(client_in, team):
    sweep = measured(team)
    html = page(client_in, "?throughput=10k&within=20")
    assert "1 result qualifies" in html and f"/sweeps/{sweep.pk}/" in html
    assert "linear scaling assumed from 1 node" in html and "throughput 5" in html
    assert 'value="10k"' in html and "The price of a node is not stated" in html


def test_columns_name_what_they_count(client_in, team):
    measured(team)
    html = page(client_in, "?throughput=10k")
    assert "Ceiling, ops/s" in html and "Within the limit, ops/s" not in html
    assert 'title="An estimate over the highest rungs of the sweep; History and Versions show one rung"' in html
    assert f"before {TIMES} 0.7" in html
    assert "Within the limit, ops/s" in page(client_in, "?throughput=10k&within=20")


def test_a_price_fact_makes_prices(client_in, team):
    machine = make_machine(
        facts={"cores": {"value": 2, "how": "observed"}, "price_per_hour": {"value": 0.5, "how": "stated"}}
    )
    database = make_database(team=team, cluster=make_cluster(team=team, machines=[machine]))
    measured(team, database=database)
    html = page(client_in, "?throughput=10k")
    assert "2.50" in html and "The price of a node is not stated" not in html


def test_those_that_do_not_qualify_are_listed_with_the_reason(client_in, team):
    measured(team)
    html = page(client_in, "?throughput=10k&survives=node_loss")
    assert "No result qualifies" in html and "1 does not qualify" in html
    assert "may not survive the loss of a node with its disk" in html


def test_demonstrations_count_only_when_asked_for(client_in, team):
    measured(team, purpose="demo")
    html = page(client_in, "?throughput=10k")
    assert "1 sweep was left out, measured for" in html
    measured(team)
    html = page(client_in, "?throughput=10k")
    assert "1 result qualifies" in html and "1 sweep was left out, measured for" in html
    assert "measured for demo: too short to rely on" in page(client_in, "?throughput=10k&any=1")


def test_accepted_points_are_marked_with_their_reason(client_in, team):
    sweep = measured(team)
    assert "accepted" not in page(client_in, "?throughput=10k")
    sweep.runs.update(verdict="reject", verdict_override="the <laptop> was idle")
    html = page(client_in, "?throughput=10k")
    assert '<span class="chip">accepted</span>' in html
    assert html.count("with points that checks reject, accepted: the &lt;laptop&gt; was idle") == 1


def test_loads_are_no_answer(client_in, team):
    measured(team, phase="load")
    assert "Nothing has been measured for this yet" in page(client_in, "?throughput=10k")


def test_a_workload_narrows_it(client_in, team):
    measured(team, workload=make_workload(team=team, name="Workload B"))
    measured(team, workload=make_workload(team=team, name="Workload C"))
    assert "1 result qualifies" in page(client_in, "?throughput=10k&workload=Workload+B")
    assert "Nothing has been measured" in page(client_in, "?throughput=10k&workload=nonsense")


@pytest.mark.parametrize(
    "query",
    [
        "?throughput=x",
        "?throughput=%00",
        "?throughput=nan",
        "?throughput=1&within=-1",
        "?throughput=1&op=x%3Cb%3E",
        "?throughput=1&stat=x",
        "?throughput=1&survives=x",
        "?throughput=1&data=5",
    ],
)
def test_nonsense_is_answered_with_a_sentence(client_in, team, query):
    measured(team)
    html = page(client_in, query)
    assert "The question cannot be answered yet." in html or "Say what you need" in html
    assert "<b>" not in html.replace("<b>5</b>", "")


def test_ugly_names_are_escaped(client_in, team):
    measured(team, database=make_database(team=team, name=UGLY), workload=make_workload(team=team, name=UGLY))
    html = page(client_in, "?throughput=10k")
    assert "1 result qualifies" in html and "<script>alert" not in html


def test_another_teams_results_are_not_there(stranger, team):
    measured(team, workload=make_workload(team=team, name="Secret workload"))
    html = page(stranger, "?throughput=10k")
    assert "Nothing has been measured for this yet" in html and "Secret workload" not in html


def test_nobody_sees_it_without_signing_in(client):
    assert client.get("/sizing/?throughput=1k").status_code == 302


def test_more_sweeps_ask_no_more_queries(client_in, team):
    def queries():
        with CaptureQueriesContext(connection) as context:
            page(client_in, "?throughput=10k&within=20")
        return len(context)

    def cold():
        cache.clear()
        StoredCurve.objects.all().delete()
        return queries()

    measured(team)
    cold()
    few, remembered = cold(), queries()
    for _ in range(6):
        measured(team)
    assert cold() == few <= 16
    assert queries() == remembered < few


def test_safe_load_is_the_smallest(client_in, team):
    database = make_database(team=team, settings={"nodes": "3"})
    sweep = measured(team, database=database)
    html = page(client_in, "?throughput=10k")
    assert "not measured at this load with a node stopped" in html and "throughput 13" in html
    crash = {"kind": "crash", "at_s": 5.0, "duration_s": 4.0, "node": 2, "value": None}
    faulted = make_run(make_sweep(team=team, database=database, workload=sweep.workload, purpose="measured"), threads=8)
    begin = faulted.measurement_sets.get().window_from.timestamp()
    faulted.measurement_sets.update(warmup_s=0, window_s=15)
    points = np.zeros(15, dtype=POINT)
    points["second"] = np.arange(15)
    points["rate_ops_s"] = [3300.0] * 5 + [1500.0] * 4 + [1000.0] * 2 + [3300.0] * 4

    def packed():
        return pack(PackedSeries("READ", "service", begin, 1, 1, points))

    series = Series.objects.create(
        run=faulted, operation="READ", latency_kind="service", interval_s=1, points=15, data=packed()
    )
    record = {"fault": crash, "began_at": begin + 5, "ended_at": begin + 9, "error": ""}
    Run.objects.filter(pk=faulted.pk).update(excluded_reason=EXCLUDED_REASON, evidence={"faults": [record]})
    html = page(client_in, "?throughput=10k")
    assert "its safe load is 1.00k ops/s, while a node returned" in html and "throughput 43" in html
    # A fault that was not applied, and one at a smaller load, say nothing of it.
    Run.objects.filter(pk=faulted.pk).update(evidence={"faults": [{**record, "error": "refused"}]})
    assert "its safe load" not in page(client_in, "?throughput=10k")
    Run.objects.filter(pk=faulted.pk).update(evidence={"faults": [record]})
    points["rate_ops_s"] /= 2
    Series.objects.filter(pk=series.pk).update(data=packed())
    assert "its safe load" not in page(client_in, "?throughput=10k")


def test_limit_exceeded_with_more_data_is_stated(client_in, team):
    database = make_database(team=team)
    workload = measured(team, database=database).workload
    assert "not within the limit" not in page(client_in, "?throughput=10k&within=20")
    workload.properties = {**workload.properties, "recordcount": "20000"}
    workload.save()
    sweep = make_sweep(team=team, database=database, workload=workload, purpose="measured")
    slow = [measurement(operation, 30_000.0) for operation in ("READ", "UPDATE")]
    for threads, throughput in ((2, 900.0), (4, 1200.0)):
        make_run(sweep, threads=threads, throughput=throughput, measurements=slow)
    html = page(client_in, "?throughput=10k&within=20")
    assert "not within the limit with 2 times the data: p99 of" in html
    assert "1 result qualifies" in html and "1 does not qualify" in html

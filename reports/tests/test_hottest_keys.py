"""Pages and reports state how much of the requests the hottest keys get, and where two sides differ in it."""

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from reports.compare.analysis.differences import differences
from reports.compare.curves import Setup
from reports.published.builder import build
from reports.tests.curves import curve
from reports.tests.test_report_content import about
from runs.tests.factories import make_matrix, make_run, make_sweep, make_workload
from runs.tests.pages import get_text
from runs.ycsb.properties import CORE_WORKLOADS, check_workload


def workload(letter="A", records=10_000, **changes):
    return check_workload({**CORE_WORKLOADS[letter], "recordcount": str(records), **changes})


def side(properties, **changes):
    return curve(setup=Setup(workload_properties=properties, client_flavour="benchsite"), **changes)


def find_hottest(*sides):
    return [difference.values for difference in differences(sides) if difference.label == "hottest keys"]


def test_sides_with_other_hot_keys_differ():
    [(few, many)] = find_hottest(side(workload(records=10_000)), side(workload(records=1_000_000)))
    assert few == "1 % of the keys get 22.9\u202f% of the requests, the 10 hottest 12.2\u202f%"
    assert many.startswith("1 % of the keys get 40\u202f% of the requests")


def test_sides_within_two_points_do_not_differ():
    assert find_hottest(side(workload(records=100_000)), side(workload(records=110_000))) == []
    assert find_hottest(side(workload("D")), side(workload("D"), phase="load")) == []
    assert find_hottest(side({}), side({})) == []


def test_unknown_records_stand_beside_known_ones():
    [(few, many, unknown)] = find_hottest(side(workload()), side(workload(records=1_000_000)), side({}))
    assert unknown == "unknown" and few != many


@pytest.mark.django_db
def test_why_different_names_the_hottest_keys(client_in, team):
    runs = []
    for records in (10_000, 1_000_000):
        row = make_workload(team=team, properties=workload(records=records))
        runs.append(make_run(make_sweep(team=team, workload=row)))
    html = client_in.get(reverse("why"), {"a": runs[0].pk, "b": runs[1].pk}).content.decode()
    assert "Hottest keys." in html
    assert "Request share of the hottest 1 % of the keys is 22.9\u202f% in A and 40\u202f% in B" in html


@pytest.mark.django_db
def test_pages_of_workloads_runs_and_sweeps_state_it(client_in, team):
    row = make_workload(team=team, properties=workload("A", records=100_000))
    run = make_run(make_sweep(team=team, workload=row))
    text = "1 % of the keys get 30.4\u202f% of the requests, the 10 hottest 11.8\u202f%"
    for address in (reverse("run", args=[run.pk]), reverse("sweep", args=[run.sweep_id])):
        assert text in strip_tags(get_text(client_in.get(address)))
    for address in (reverse("workload", args=[row.pk]), reverse("workloads")):
        assert "30.4\u202f%" in client_in.get(address).content.decode()


@pytest.mark.django_db
def test_reports_state_it(client_in, team):
    row = make_workload(team=team, properties=workload("A", records=100_000))
    matrix = make_matrix(team=team, workloads=[row])
    make_run(make_sweep(team=team, matrix=matrix, workload=row))
    rows = dict(build(team, about(matrix), "T").content["method"]["environment"]["rows"])
    assert rows["requests to the hottest 1 % of the keys"] == "30.4\u202f%"
    assert rows["requests to the 10 hottest keys"] == "11.8\u202f%"

"""The content of reports: the same for the same rows, complete without any row, and quick to make of forty sweeps."""

import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reports.compare.queries import chosen
from reports.models import Report
from reports.published.builder import build
from reports.published.content import canonical, digest
from reports.published.drafts import Draft
from reports.published.exports import as_markdown, escape_line
from reports.published.links import find_link
from reports.published.method import validity_table
from reports.published.publication import load_content, publish
from reports.published.queries.sources import SourceRun, source_runs
from reports.tests.frozen import measured_matrix
from runs.models import Finding, Measurement, Run, Sweep
from runs.plans.files.plan_file import read_plan
from runs.tests.factories import make_database, make_run, make_sweep

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def about(matrix, **fields):
    return Draft(query=f"v=1&matrix={matrix.pk}", **fields)


def every_item(team, matrix):
    return tuple(item.name for item in build(team, about(matrix), "T").items)


def test_the_same_rows_make_the_same_content(team):
    matrix = measured_matrix(team)
    draft = about(matrix, items=every_item(team, matrix))
    assert digest(build(team, draft, "T").content) == digest(build(team, draft, "T").content)


def test_it_is_shown_when_every_run_of_the_team_is_deleted(team, user, client):
    matrix = measured_matrix(team)
    draft = about(matrix, items=every_item(team, matrix))
    report = Report.objects.create(team=team, title="Kept", draft=draft.as_json(), access="unlisted", created_by=user)
    revision = publish(report, user, {})
    before = canonical(load_content(revision))
    Run.objects.filter(team=team).delete()
    Sweep.objects.filter(team=team).delete()
    assert canonical(load_content(revision)) == before
    page = client.get(f"/r/{find_link(report).token}")
    assert page.status_code == 200 and b"Kept" in page.content and b"Everything ran on one machine" in page.content


@pytest.mark.parametrize(
    ("system", "warning"),
    [
        ("redis", None),
        ("couchbase", "Licence agreements of Couchbase Server restrict"),
        ("other", "The catalog does not describe Redis: check that its licence permits"),
    ],
)
def test_warns_where_a_licence_restricts_publishing(team, system, warning):
    matrix = measured_matrix(team, modes=["everysec"])
    Sweep.objects.filter(matrix=matrix).update(system=system)
    problems = build(team, about(matrix), "T").problems
    assert any(text.startswith(warning) for text in problems) if warning else "licence" not in str(problems).lower()


def test_it_has_every_figure_in_four_drawings_with_its_numbers(team):
    matrix = measured_matrix(team)
    content = build(team, about(matrix, items=every_item(team, matrix)), "T").content
    for figure in content["figures"]:
        assert figure["empty"] or set(figure["drawn"]) == {"light", "dark", "light-narrow", "dark-narrow"}
        assert figure["title"] and (figure["empty"] or figure["table"]["rows"]) and figure["caption"]
    assert [figure["name"] for figure in content["figures"]][:3] == ["ceilings", "latency-read", "latency-update"]
    assert {table["name"] for table in content["tables"]} == {
        "table-sustained", "table-against", "table-equal-load", "table-differences", "table-points",
    }  # fmt: skip


def test_verdicts_name_algorithm_and_method_names_versions(team):
    content = build(team, about(measured_matrix(team)), "T").content
    assert {verdict["algorithm"] for verdict in content["verdicts"]} == {"log-Welch or blocked 13"}
    assert {verdict["outcome"] for verdict in content["verdicts"] if verdict["metric"] == "throughput"} == {"faster"}
    assert content["method"]["algorithms"]["ratios and intervals"] == "log-Welch or blocked 13"
    environment = {row[0]: row[1:] for row in content["method"]["environment"]["rows"]}
    assert environment["version, as the server says"] == ["7.0.15"] * 3 and environment["records"] == [10_000] * 3
    assert "settings of the database" not in environment
    assert content["demonstration"].startswith("Everything ran on one machine")


def test_settings_that_a_database_lacks_are_none(team):
    matrix = measured_matrix(team)
    sweep = matrix.sweeps.first()
    other = make_database(team=team, cluster=sweep.database.cluster, settings={"maxmemory": "1gb"})
    make_run(make_sweep(matrix=matrix, database=other, workload=sweep.workload, mode="always"), threads=4)
    rows = build(team, about(matrix), "T").content["method"]["environment"]["rows"]
    values = {row[0]: row[1:] for row in rows}["settings of the database"]
    assert values == ["none"] * 3 + ["maxmemory=1gb"]


def test_report_states_every_finding_and_its_certainty(team):
    matrix = measured_matrix(team)
    content = build(team, about(matrix), "T").content
    own = build(team, about(matrix, headline="Ours is fine."), "T").content

    assert len(content["findings"]) > 1
    assert content["headline"] == " ".join([*content["findings"], content["certainty"]])
    text = as_markdown(content, digest(content), "https://bench.example.org/r/1").decode()
    assert all(escape_line(finding) in text for finding in content["findings"])
    assert own["headline"] == "Ours is fine." and "findings" not in own


def test_what_was_left_out_is_listed_with_its_reason(team):
    matrix = measured_matrix(team)
    one, other = matrix.runs.all()[:2]
    Run.objects.filter(pk=one.pk).update(excluded_reason="a backup ran")
    Run.objects.filter(pk=other.pk).update(verdict="reject")
    content = build(team, about(matrix), "T").content
    rows = {row[1]: row for row in content["method"]["excluded"]["rows"]}
    assert rows["left out by a person"][2] == "a backup ran" and rows["rejected by the checks"]
    sources = {source["run"] for source in content["sources"]}
    assert not sources & {str(one.pk), str(other.pk)} and len(sources) == matrix.runs.count() - 2


def test_the_digest_of_a_source_changes_with_its_numbers(team):
    matrix = measured_matrix(team)
    curves = chosen(team, about(matrix).selection).curves
    before = {run.row.pk: run.sha256 for run in source_runs(curves)}
    measurement = Measurement.objects.first()
    Measurement.objects.filter(pk=measurement.pk).update(p99_us=1.0)
    after = {run.row.pk: run.sha256 for run in source_runs(curves)}
    assert [key for key in before if before[key] != after[key]] == [measurement.measurement_set.run_id]


def test_the_plan_goes_along_and_can_be_read(team):
    from runs.tests.factories import make_load_generator

    matrix = measured_matrix(team)
    matrix.load_generators.add(make_load_generator(name="load-hera"))
    content = build(team, about(matrix), "T").content
    assert read_plan(content["plan"]).entries and "load-hera" not in content["plan"]


def test_plan_takes_the_servers_version_if_none_is_stated(team):
    from runs.tests.factories import make_load_generator

    matrix = measured_matrix(team)
    team.databases.update(version="")
    matrix.load_generators.add(make_load_generator())
    matrix.runs.update(evidence={"server_version": "7.0.15"})
    plan = read_plan(build(team, about(matrix), "T").content["plan"])
    assert [database.version for database in plan.databases.values()] == ["7.0.15"]
    matrix.runs.filter(pk=matrix.runs.first().pk).update(evidence={"server_version": "7.2.0"})
    plan = read_plan(build(team, about(matrix), "T").content["plan"])
    assert [database.version for database in plan.databases.values()] == [""]


def test_it_says_which_image_ran_but_not_where_it_came_from(team):
    matrix = measured_matrix(team)
    place = "registry.lab.internal:5000/secret-team/redis"
    ran = {"reference": f"{place}:7.4", "digest": f"{place}@sha256:{'12345abc' * 8}", "image_id": "sha256:" + "ab" * 32}
    without = build(team, about(matrix), "T").content["method"]["environment"]["rows"]
    matrix.runs.update(evidence={"container": {**ran, "container": "c0ffee", "network": "host"}})
    rows = build(team, about(matrix), "T").content["method"]["environment"]["rows"]
    assert {row[0]: row[1] for row in rows if row not in without and "image" in row[0]} == {
        "image of the container": "redis:7.4",
        "digest of the image in its registry (SHA-256)": "12345abc" * 8,
        "id of the image (SHA-256)": "ab" * 32,
    }
    assert "image of the container" not in [row[0] for row in without]
    assert not [row for row in rows if "lab" in str(row) or "secret" in str(row)]


def test_building_40_sweeps_takes_seconds_and_no_more_queries(team):
    few = measured_matrix(team, modes=("off", "always"), repeats=1)
    many = measured_matrix(team, modes=[f"mode-{number}" for number in range(40)], repeats=1)
    counts = []
    for matrix in (few, many):
        draft = about(matrix, items=every_item(team, matrix))
        with CaptureQueriesContext(connection) as captured:
            began = time.process_time()
            made = build(team, draft, "T")
            took = time.process_time() - began
        counts.append(len(captured))
    assert len(made.content["method"]["environment"]["columns"]) == 41
    assert took < 12 and len(canonical(made.content)) < 8 * 2**20, (took, len(canonical(made.content)))
    assert counts[0] == counts[1] <= 45


@pytest.mark.parametrize(("purpose", "limits"), [("demo", "30 s; info at most (demo)"), ("measured", "30 s")])
def test_findings_say_what_their_check_says_at_most(purpose, limits):
    short = Finding(check_id="V05", severity="info", threshold="30 s", message="It is short.")
    table = validity_table([SourceRun(Run(name="r", purpose=purpose), {}, "digest", [short])])
    assert [row[5] for row in table.rows] == [limits]

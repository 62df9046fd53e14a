"""The published studies made small: plans that a site takes, with what they have otherwise, and one of them run."""

import pytest
import tomli_w

from benchmarks.management.commands.studies_small import list_reports
from benchmarks.studies_small.small_plans import NOT_RUN, name_column, read_comments, render_notes, shrink
from benchmarks.studies_small.stand_ins import SMALL_STUDIES
from benchsite.accounts.models import User
from benchsite.tests.asking import make_program
from runs.catalog import load_catalog
from runs.models import Matrix, Workload
from runs.plans.files.plan_export import build_plan_file
from runs.plans.files.plan_file import read_plan
from runs.plans.plan_spec import PlanSpec
from runs.plans.studies import plan_text, studies
from runs.tests.factories import make_load_generator, make_machine, make_matrix, make_workload
from workers.generator.host_identity import host_key

SLUGS = [study.slug for study in studies()]
# An estimate: on two cores a study takes up to a quarter longer than planned, by cold loads, servers that stop and
# targets that are measured again. That makes 14 minutes at most.
MAX_PLANNED_S = 11 * 60


def make_small(slug, missing=()):
    return shrink(slug, read_plan(plan_text(slug)), SMALL_STUDIES[slug], machine="here", missing=missing)


def test_every_study_is_made_small():
    assert set(SMALL_STUDIES) == set(SLUGS)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("slug", SLUGS)
def test_a_site_takes_the_plan(team, settings, slug):
    settings.API_REQUESTS_PER_MINUTE = 0
    machine = make_machine(name="here", host_key=host_key(), cores=2)
    systems = {entry.system for entry in SMALL_STUDIES[slug].stand_ins.values() if entry}
    bindings = [load_catalog().system(system).binding.name for system in systems]
    make_load_generator(name="generator-1", machine=machine, bindings=dict.fromkeys(bindings, "d" * 64), slots=2)
    program = make_program(team)

    User.objects.update(is_staff=True)

    answer = program.ask("POST", "/apply", {"file": tomli_w.dumps(make_small(slug).file), "run": "new"})

    assert answer.status_code == 200, answer.content
    matrix = Matrix.objects.get(name=f"{slug}, small")
    assert matrix.submitted_at is not None
    assert sum(matrix.runs.values_list("expected_s", flat=True)) <= MAX_PLANNED_S
    studied = read_plan(plan_text(slug))
    assert Workload.objects.count() == len(studied.workloads)
    assert {run.phase for run in matrix.runs.all()} == {"load", "measure"}
    assert list_unlisted(studied, build_plan_file(matrix), make_small(slug)) == []


def list_unlisted(studied, here, small):
    """What the plan that runs has otherwise than the study's, without a deviation that says so."""
    listed = {row.subject: f"{row.study} | {row.here}" for row in small.deviations}
    columns = {
        name: (getattr(studied.matrix, name), getattr(here.matrix, name))
        for name in PlanSpec.model_fields
        if name != "name"
    }
    unlisted = [name for name, (a, b) in columns.items() if a != b and name_column(name) not in listed]
    resets = [{"rung": "keep", "workload": "keep", **plan.matrix.resets} for plan in (studied, here)]
    unlisted += [
        level for level in resets[0] if resets[0][level] != resets[1][level] and f"between {level}s" not in listed
    ]
    by_name = {workload.short_name: workload.properties for workload in here.workloads.values()}
    for workload in studied.workloads.values():
        names = find_differences(workload.properties, by_name[workload.short_name]) - {"recordcount"}
        rows = [text for subject, text in listed.items() if workload.short_name in subject]
        unlisted += [name for name in names if name not in " ".join(rows)]
    for entry, stand_in in list_entries(studied, here, small):
        for part, options in (("settings", "settings"), ("client", "binding_properties")):
            names = find_differences(getattr(entry, options), getattr(stand_in, options)) - {"nodes"}
            row = listed.get(f"{part}, {entry.system}", "")
            unlisted += [name for name in names if name.removeprefix("unchecked.") not in row]
    for table in ("faults", "groups", "thresholds", "search"):
        assert getattr(studied, table) == getattr(here, table), table
    return unlisted


def find_differences(a, b):
    return {name for name in {**a, **b} if a.get(name) != b.get(name)}


def list_entries(studied, here, small):
    """The database of each entry of the study with that which stands in; what is not run is left out."""
    by_server = {
        f"{here.databases[entry.database].name}, {entry.mode}": here.databases[entry.database] for entry in here.entries
    }
    servers = [row for row in small.deviations if row.subject == "server"]
    for entry, row in zip(studied.entries, servers, strict=True):
        if row.here != NOT_RUN:
            yield studied.databases[entry.database], by_server[row.here]


def test_settings_of_the_study_are_applied_where_they_fit():
    rings = make_small("thumbtack-2013").file["databases"]["cassandra x3, RF 2"]["settings"]
    assert (rings["concurrent_reads"], rings["row_cache_size"]) == ("64", "16MB")
    assert make_small("columbia-2016").file["databases"]["hbase"]["binding_properties"] == {"hbase.splits": "200"}
    settings = [row for row in make_small("thumbtack-2014").deviations if row.subject == "settings, cassandra"]
    assert settings == []


@pytest.mark.parametrize("slug", SLUGS)
def test_what_differs_is_listed(slug):
    plan, small = read_plan(plan_text(slug)), make_small(slug)

    listed = {row.subject: (row.study, row.here) for row in small.deviations}

    servers = [row for row in small.deviations if row.subject == "server"]
    assert len(servers) == len(plan.entries)
    assert all(row.study != row.here for row in servers)
    assert "workload " in " ".join(listed)
    assert {"rungs", "purpose", "order", "load threads"} <= set(listed)
    notes = render_notes(read_comments(plan_text(slug)), small.deviations)
    assert "compare shapes, not numbers" in notes
    assert all(f"| {row.study} | {row.here} |" in notes for row in small.deviations)


@pytest.mark.django_db
@pytest.mark.parametrize("slug", SLUGS)
def test_reports_show_what_the_study_printed_in_its_order(team, slug):
    plan = read_plan(plan_text(slug))
    workloads = [
        make_workload(team=team, name=f"{slug} {workload.short_name}", short_name=workload.short_name)
        for workload in plan.workloads.values()
    ]
    matrix = make_matrix(team=team, workloads=workloads)

    *loads, (part, query, items) = list_reports(slug, SMALL_STUDIES[slug], matrix)

    assert (part, query) == ("runs", "")
    assert items[-1] == f"table-published-{slug}"
    assert len(set(items)) == len(items)
    assert not set(items) & {workload.short_name for workload in workloads}
    assert all(items[-1] == f"table-published-{slug}" for _, _, items in loads)
    assert [query for _, query, _ in loads] == ["&phase=load"] * bool(SMALL_STUDIES[slug].load_items)


def test_what_cannot_be_started_is_left_out():
    whole, part = make_small("columbia-2016"), make_small("columbia-2016", missing={"hbase"})

    assert len(part.file["matrix"]["entries"]) == len(whole.file["matrix"]["entries"]) - 1
    assert "hbase" not in part.file["databases"]
    assert [row.here for row in part.deviations if "HBase" in row.study] == [NOT_RUN]

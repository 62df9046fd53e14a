"""The published studies made small: plans that a site takes, with what they have otherwise, and one of them run."""

import pytest
import tomli_w

from benchmarks.management.commands.studies_small import list_reports
from benchmarks.studies_small.small_plans import NOT_RUN, read_comments, render_notes, shrink
from benchmarks.studies_small.stand_ins import SMALL_STUDIES
from benchsite.accounts.models import User
from benchsite.tests.asking import make_program
from runs.catalog import load_catalog
from runs.models import Matrix, Workload
from runs.plans.files.plan_file import read_plan
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


@pytest.mark.parametrize("slug", SLUGS)
def test_what_differs_is_listed(slug):
    plan, small = read_plan(plan_text(slug)), make_small(slug)

    listed = {row.subject: (row.study, row.here) for row in small.deviations}

    servers = [row for row in small.deviations if row.subject == "server"]
    assert len(servers) == len(plan.entries)
    assert all(row.study != row.here for row in servers)
    assert "workload " in " ".join(listed)
    assert any(subject.startswith("ladder") for subject in listed)
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
    assert [query for _, query, _ in loads] == ["&phase=load"] * bool(SMALL_STUDIES[slug].load_items)


def test_what_cannot_be_started_is_left_out():
    whole, part = make_small("columbia-2016"), make_small("columbia-2016", missing={"hbase"})

    assert len(part.file["matrix"]["entries"]) == len(whole.file["matrix"]["entries"]) - 1
    assert "hbase" not in part.file["databases"]
    assert [row.here for row in part.deviations if "HBase" in row.study] == [NOT_RUN]

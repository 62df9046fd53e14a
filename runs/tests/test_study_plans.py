"""The plans of the published studies are ordinary plan files."""

import pytest
from django.urls import reverse

from runs.plans import expand
from runs.plans.files.plan import planned
from runs.plans.files.plan_file import as_text, read_plan
from runs.plans.studies import plan_text, studies

SLUGS = [study.slug for study in studies()]


@pytest.mark.parametrize("slug", SLUGS)
def test_every_study_has_an_ordinary_plan_file(slug):
    text = plan_text(slug)

    plan = read_plan(text)

    assert as_text(plan).endswith(text[text.index("format =") :])
    assert plan.matrix.tags == [slug]
    assert any(run.phase == "measure" for run in expand(planned(plan)).runs)


def test_plans_say_what_the_studies_ran():
    plans = {slug: read_plan(plan_text(slug)) for slug in SLUGS}
    measured = {slug: sum(run.phase == "measure" for run in expand(planned(plan)).runs) for slug, plan in plans.items()}

    # Two scenarios of 2013 with three and five databases, two mixes and 25 targets each.
    assert measured["thumbtack-2013"] == (3 * 2 + 5 * 2) * 25
    assert measured["thumbtack-2014"] == 3 * 3 * 2 * 7 * 2
    assert measured["columbia-2016"] == 3 * 5 * 6
    assert measured["aerospike-2017"] == 3
    assert [len(cluster.nodes) for cluster in plans["thumbtack-2014"].clusters.values()] == [4, 6, 8]
    records = {run.dataset.records for run in expand(planned(plans["thumbtack-2014"])).runs}
    assert records == {20_000_000, 30_000_000, 40_000_000}


def test_plans_invent_nothing_about_the_studies():
    texts = {slug: plan_text(slug) for slug in SLUGS}

    assert "60 s of measurement are Benchsite's" in texts["columbia-2016"]
    assert "HBase 1.0.3" in [database.name for database in read_plan(texts["columbia-2016"]).databases.values()]
    assert read_plan(texts["thumbtack-2013"]).matrix.stops_early and "all rungs" not in texts["thumbtack-2013"]
    assert "subsidized by Couchbase" in texts["thumbtack-2014"]


def test_plans_have_the_steps_and_settings_of_the_studies():
    plans = {slug: read_plan(plan_text(slug)) for slug in SLUGS}

    assert plans["thumbtack-2014"].matrix.resets == {"rung": "drop_caches", "workload": "reload"}
    assert plans["thumbtack-2013"].matrix.priming_s == 600
    assert plans["thumbtack-2013"].matrix.min_operations == 10_000_000
    assert plans["aerospike-2017"].databases["database-1"].binding_properties == {"aerospike.partial_updates": "false"}
    assert plans["columbia-2016"].databases["database-2"].binding_properties == {"hbase.splits": "200"}
    lowest = next(run for run in expand(planned(plans["thumbtack-2013"])).runs if run.target_ops_s == 1000)
    assert lowest.expected_s > 10_000


def test_unknown_study_has_no_plan():
    with pytest.raises(KeyError):
        plan_text("../published_results")


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("slug", SLUGS)
def test_plan_of_a_study_can_be_imported(client_in, slug):
    page = client_in.get(reverse("plan-import"), {"study": slug})

    assert page.status_code == 200
    html = page.content.decode()
    assert "Put it in the queue" not in html and 'name="cluster-1"' in html, "this team has no clusters"
    assert "another release of the catalog" not in html


@pytest.mark.slow
@pytest.mark.django_db
def test_unknown_study_is_not_found(client_in):
    assert client_in.get(reverse("plan-import"), {"study": "nobody-1999"}).status_code == 404

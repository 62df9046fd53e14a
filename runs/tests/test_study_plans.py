"""The plans of the published studies are ordinary plan files."""

import pytest
from django.urls import reverse

from runs.catalog import load_catalog
from runs.models import Matrix
from runs.plans import expand
from runs.plans.files.plan import planned
from runs.plans.files.plan_file import as_text, read_plan
from runs.plans.studies import plan_text, studies
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine

SLUGS = [study.slug for study in studies()]


def count_measured(plan):
    return sum(run.phase == "measure" for run in expand(planned(plan)).runs)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_study_has_an_ordinary_plan_file(slug):
    text = plan_text(slug)

    plan = read_plan(text)

    assert as_text(plan).endswith(text[text.index("format =") :])
    assert plan.matrix.tags == [slug]
    assert any(run.phase == "measure" for run in expand(planned(plan)).runs)


def test_plans_say_what_the_studies_ran():
    plans = {slug: read_plan(plan_text(slug)) for slug in SLUGS}
    measured = {slug: count_measured(plan) for slug, plan in plans.items()}

    # Two scenarios of 2013 with three and five databases, two mixes, 25 targets and three numbers of clients each.
    assert measured["thumbtack-2013"] == (3 * 2 + 5 * 2) * 25 * 3
    assert measured["thumbtack-2014"] == 3 * 3 * 2 * 7 * 2
    assert measured["columbia-2016"] == 3 * 5 * 6
    assert measured["aerospike-2017"] == 3
    assert [len(cluster.nodes) for cluster in plans["thumbtack-2014"].clusters.values()] == [4] * 3 + [6] * 3 + [8] * 3
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
    documents = plans["thumbtack-2013"].databases["database-3"].binding_properties
    assert documents["mongodb.read_preference"] == "primaryPreferred"
    assert plans["columbia-2016"].databases["database-2"].binding_properties == {"hbase.splits": "200"}
    lowest = next(run for run in expand(planned(plans["thumbtack-2013"])).runs if run.target_ops_s == 1000)
    assert lowest.expected_s > 10_000


def test_plans_state_what_the_studies_set():
    studied = {slug: read_plan(plan_text(slug)) for slug in SLUGS}

    plan = studied["thumbtack-2013"]
    assert plan.matrix.generator_counts == [4, 8, 10]
    assert {workload.properties["window.catch_up_ms"] for workload in plan.workloads.values()} == {"100"}
    in_memory = {entry.mode: plan.databases[entry.database].settings for entry in plan.entries}
    assert in_memory["master"]["unchecked.data-in-memory"] == "true"
    assert "unchecked.data-in-memory" not in in_memory["all"]
    assert in_memory["one-periodic"]["unchecked.heap_newsize"] == "800M"
    assert studied["thumbtack-2014"].databases["database-2"].settings["unchecked.numactl"] == "--interleave=all"
    assert studied["aerospike-2017"].databases["database-2"].settings["unchecked.client.epoll"] == "true"


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


def make_rack(team, plan, role):
    """An external cluster for a role of the plan, whose servers listen where those of the role's system do."""
    system = next(database.system for database in plan.databases.values() if database.cluster == role)
    port = load_catalog().system(system).binding.default_port
    rack = make_cluster(team=team, machines=[make_machine() for _ in plan.clusters[role].nodes], provisioner="external")
    for node in rack.nodes.all():
        node.address = f"10.0.0.{node.position + 1}:{port}"
        node.save()
    return rack


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("slug", SLUGS)
def test_plan_of_a_study_runs_on_external_clusters(client_in, team, slug):
    plan = read_plan(plan_text(slug))
    systems = {database.system for database in plan.databases.values()}
    bindings = {load_catalog().system(system).binding.name: "d" * 64 for system in systems}
    chosen = {role: make_rack(team, plan, role).pk for role in plan.clusters}
    chosen |= {
        role: make_load_generator(slots=row.slots, bindings=bindings).pk for role, row in plan.generators.items()
    }
    sent = {"plan": plan_text(slug), "chosen": "yes", **chosen}

    page = client_in.post(reverse("plan-import"), {**sent, "queue": "yes"})

    assert page.status_code == 302, page.content.decode()
    matrix = Matrix.objects.get()
    assert matrix.submitted_at is not None
    assert matrix.runs.filter(phase="measure").count() == count_measured(plan)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_role_is_proposed_the_cluster_of_its_system(client_in, team):
    plan = read_plan(plan_text("aerospike-2017"))
    racks = {role: make_rack(team, plan, role) for role in reversed(plan.clusters)}
    for database in plan.databases.values():
        make_database(team=team, cluster=racks[database.cluster], system=database.system)

    form = client_in.get(reverse("plan-import"), {"study": "aerospike-2017"}).context["form"]

    assert {role: form[role].value() for role in racks} == {role: str(rack.pk) for role, rack in racks.items()}
    assert form["cluster-2"].label == "cluster-2: 3 nodes, for Couchbase 4.5.1"


@pytest.mark.slow
@pytest.mark.django_db
def test_unknown_study_is_not_found(client_in):
    assert client_in.get(reverse("plan-import"), {"study": "nobody-1999"}).status_code == 404

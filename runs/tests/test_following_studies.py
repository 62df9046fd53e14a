"""The matrix builder with the plan of a published study, and with databases on clusters of several sizes."""

from dataclasses import asdict

import pytest
from django.urls import reverse

from runs.catalog import load_catalog
from runs.models import Database, Matrix, Run, Workload
from runs.planning import preview, sizes, stored_plan
from runs.studies.templates import templates
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_machine, make_team
from runs.tests.pages import UGLY, text_of
from runs.tests.test_matrix_builder import BINDINGS
from runs.tests.world import browser

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SMALL = {"template": "thumbtack-2013", "scenario": "durable", "scale": "small"}


@pytest.fixture
def parts(team):
    machine = make_machine(facts={"cores": {"value": 2}, "memory_bytes": {"value": 24 << 30}})
    cluster = make_cluster(team=team, machines=[machine])
    return {
        "redis": make_database(team=team, cluster=cluster, name="Redis", system="redis"),
        "postgresql": make_database(team=team, cluster=cluster, name="PostgreSQL", system="postgresql"),
        "generators": [make_load_generator(machine=machine, bindings=BINDINGS) for _ in range(2)],
    }


def opened(client, **query):
    """What the page of a template would send if nobody changed it, and the page."""
    page = client.get(reverse("matrix-add"), query)
    sent = page.context["form"].as_posted()
    return {**{name: sent.getlist(name) for name in sent}, **query}, page


def test_a_template_fills_the_builder(client_in, parts):
    sent, response = opened(client_in, **SMALL)
    page = text_of(response)
    assert sent["rungs"] == ["50, 300, 1000, 1750, 3750, 7500, 15000, 22500"]
    assert (sent["ladder"], sent["threads"], sent["purpose"], sent["order"]) == (
        ["target"], ["32"], ["demo"], ["interleaved"],
    )  # fmt: skip
    assert set(sent["entries"]) == {f"{parts['redis'].pk}:always", f"{parts['postgresql'].pk}:on"}
    assert len(sent["workloads"]) == 2
    assert "Follows Thumbtack 2013" in page
    assert "no database of Aerospike is described" in page
    assert "They stand in as themselves" in page
    assert page.count("made on submission") == 2
    assert "Otherwise than in the study" in page
    assert '<span class="stat__value">32</span>' in page
    assert not Workload.objects.exists()


def test_template_creates_workloads_and_keeps_its_deviations(client_in, team, parts):
    sent, _ = opened(client_in, **SMALL)
    out = {"exclude_entry": "", "exclude_workload": sent["workloads"][1], "exclude_rung": "50",
           "exclude_reason": "too slow"}  # fmt: skip
    response = client_in.post(reverse("matrix-add"), {**sent, **out, "submit": "1"})
    matrix = Matrix.objects.get()
    assert response["Location"] == reverse("matrix", args=[matrix.pk])
    assert {w.short_name for w in matrix.workloads.all()} == {"A", "B"}
    assert {w.team for w in Workload.objects.all()} == {team}
    assert (matrix.template["study"], matrix.template["scenario"], matrix.template["scale"]) == (
        "thumbtack-2013", "durable", "small",
    )  # fmt: skip
    assert any("Records: 500" in sentence for sentence in matrix.template["deviations"])
    assert any(sentence.startswith("MongoDB 2.2.2 (w2): ") for sentence in matrix.template["not_run"])
    assert Run.objects.filter(phase="measure", target_ops_s__isnull=False).count() == 2 * 2 * 8 - 2
    left_out = Workload.objects.get(pk=matrix.exclusions[0]["match"]["workload"])
    assert not Run.objects.filter(workload_name=left_out.name, target_ops_s=50).exists()
    page = text_of(client_in.get(response["Location"]))
    assert "Follows Thumbtack 2013, scenario durable, small scale" in page
    assert "took no part in the study" in page


def test_databases_in_own_modes_take_part(client_in, parts):
    own = {"base": "always", "name": "always, as stated", "server_settings": {}, "client_properties": {}}
    own["durability"] = asdict(load_catalog().system("redis").mode("always").durability)
    Database.objects.filter(pk=parts["redis"].pk).update(own_modes={"always-tuned-stated": own})
    sent, _ = opened(client_in, **SMALL)
    sent["entries"] = [f"{parts['redis'].pk}:always-tuned-stated"]
    client_in.post(reverse("matrix-add"), {**sent, "submit": "1"})
    assert Run.objects.filter(mode="always-tuned-stated").exists()
    assert "always-tuned-stated" in client_in.get(reverse("databases")).content.decode()


def test_equal_workloads_are_used_again_and_names_stay_apart(client_in, team, parts):
    sent, _ = opened(client_in, **SMALL)
    client_in.post(reverse("matrix-add"), {**sent, "submit": "1"})
    first = Workload.objects.get(short_name="A")
    again, page = opened(client_in, **SMALL)
    assert str(first.pk) in again["workloads"]
    assert "made on submission" not in text_of(page)
    # Somebody changes it: it is no longer the study's, and its name is taken.
    first.properties = {**first.properties, "recordcount": "7"}
    first.save()
    again, _ = opened(client_in, **SMALL)
    client_in.post(reverse("matrix-add"), {**again, "submit": "1"})
    assert Workload.objects.filter(short_name="A").count() == 2
    assert Workload.objects.filter(team=team, name=f"{first.name} 2").exists()


def test_a_clone_still_follows_its_study(client_in, parts):
    sent, _ = opened(client_in, **SMALL)
    client_in.post(reverse("matrix-add"), {**sent, "submit": "1"})
    first = Matrix.objects.get()
    again, _ = opened(client_in, **{"from": str(first.pk)})
    client_in.post(reverse("matrix-add"), {**again, "repeats": "3", "submit": "1"})
    clone = Matrix.objects.exclude(pk=first.pk).get()
    assert clone.template["study"] == "thumbtack-2013"
    assert "Repeats: 1 in the study; here 3." in clone.template["deviations"]
    assert clone.rungs == first.rungs


@pytest.mark.parametrize("scale", ["small", "full"])
def test_every_template_opens_without_any_database(client_in, scale):
    for template in templates():
        for scenario in template.scenarios:
            page = client_in.get(
                reverse("matrix-add"), {"template": template.slug, "scenario": scenario.slug, "scale": scale}
            )
            assert page.status_code == 200
            assert "No database of yours can run any part of it" in text_of(page)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"template": "thumbtack-2015"}, "There is no study template 'thumbtack-2015' here. Did you mean"),
        ({"template": "<script>"}, "There is no study template '&lt;script&gt;' here."),
        ({"template": "\0"}, "There is no study template"),
        ({"template": "thumbtack-2013", "scenario": "slow"}, "There is no scenario of this study 'slow' here."),
        ({"template": "thumbtack-2013", "scale": "huge"}, "The scale 'huge' is neither full nor small."),
        ({"template": "thumbtack-2013", "scale": "0.5"}, "neither full nor small"),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_what_is_asked_in_vain_is_said(client_in, parts, query, words, method):
    page = text_of(getattr(client_in, method)(reverse("matrix-add"), query)).replace("&#x27;", "'")
    assert words in page
    assert reverse("matrix-templates") in page


def test_the_templates_page_leads_to_both_scales(client_in, team, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        page = text_of(client_in.get(reverse("matrix-templates")))
    for template in templates():
        assert template.name in page
        for scenario in template.scenarios:
            assert f"template={template.slug}&amp;scenario={scenario.slug}&amp;scale=small" in page
    assert "scale=small" not in text_of(browser(team, "viewer").get(reverse("matrix-templates")))


def test_databases_of_other_teams_play_no_part(client_in, parts):
    other = make_team()
    make_database(team=other, name="theirs", system="redis")
    sent, page = opened(client_in, **SMALL)
    assert "theirs" not in text_of(page)
    assert len(sent["entries"]) == 2


@pytest.fixture
def sized(team, parts):
    """Redis on clusters of 1, 3 and 5 nodes that somebody else runs, beside the single process."""
    return [
        make_database(
            team=team, name=f"Redis on {nodes} {UGLY[:20]}", system="redis",
            cluster=make_cluster(team=team, machines=[make_machine() for _ in range(nodes)], provisioner="external"),
        )
        for nodes in (3, 5)
    ]  # fmt: skip


def test_offers_scaling_set_with_records_per_node(client_in, parts, sized):
    _, page = opened(client_in)
    assert f"{reverse('matrix-add')}?scaling=redis" in text_of(page)
    assert "Redis on 1 / 3 / 5 nodes" in text_of(page)
    sent, _ = opened(client_in, scaling="redis")
    assert {value.partition(":")[0] for value in sent["entries"]} == {str(d.pk) for d in (parts["redis"], *sized)}
    assert sent["records_rule"] == ["per_node"]


def submitted(client, parts, sized, rule):
    sent, _ = opened(client, **SMALL)
    entries = [f"{database.pk}:always" for database in (parts["redis"], *sized)]
    plan = {**sent, "entries": entries, "records_rule": rule}
    page = text_of(client.post(reverse("matrix-preview"), plan))
    client.post(reverse("matrix-add"), {**plan, "submit": "1"})
    return page, Matrix.objects.get()


def test_records_per_node_become_overrides(client_in, parts, sized):
    page, matrix = submitted(client_in, parts, sized, "per_node")
    assert "100k / 300k / 500k records for 1 / 3 / 5 nodes (A: Thumbtack 2013, 100k)" in page
    records = {(run.spec["database"]["name"], run.spec["dataset"]["records"]) for run in matrix.runs.all()}
    assert {count for _, count in records} == {100_000, 300_000, 500_000}
    workloads = {str(pk) for pk in matrix.workloads.values_list("pk", flat=True)}
    assert {rule["match"]["workload"] for rule in matrix.overrides} == workloads
    # The same plan again has the same records, once.
    again, _ = opened(client_in, **{"from": str(matrix.pk)})
    assert again["records_rule"] == ["per_node"]
    client_in.post(reverse("matrix-add"), {**again, "submit": "1"})
    clone = Matrix.objects.exclude(pk=matrix.pk).get()
    assert len(clone.overrides) == len(matrix.overrides) == 4
    assert preview(stored_plan(clone)).sizes == preview(stored_plan(matrix)).sizes


def test_a_fixed_total_is_the_same_everywhere(client_in, parts, sized):
    page, matrix = submitted(client_in, parts, sized, "")
    assert "100k records for 1 / 3 / 5 nodes" in page
    assert matrix.overrides == []


def test_deviations_follow_what_is_typed(client_in, parts):
    sent, _ = opened(client_in, **SMALL)
    page = text_of(client_in.post(reverse("matrix-preview"), {**sent, "repeats": "5"}))
    assert 'id="deviations" hx-swap-oob="true"' in page
    assert "Repeats: 1 in the study; here 5." in page
    assert 'id="deviations" hx-swap-oob' not in text_of(client_in.post(reverse("matrix-add"), sent))


def test_records_that_cannot_grow_say_so(client_in, parts):
    sent, _ = opened(client_in, **SMALL)
    page = text_of(client_in.post(reverse("matrix-preview"), {**sent, "records_rule": "per_node"}))
    assert "all chosen clusters have as many" in page


def test_the_rule_is_that_of_the_study_of_2014():
    nodes = {"a": 4, "b": 6, "c": 8, "none": 0}
    overrides = sizes.overrides(sizes.PER_NODE, nodes, {"w": 20_000_000})
    assert [(rule["match"]["database"], rule["set"]["recordcount"]) for rule in overrides] == [
        ("b", 30_000_000), ("c", 40_000_000),
    ]  # fmt: skip
    assert sizes.overrides(sizes.FIXED, nodes, {"w": 1}) == []
    assert sizes.overrides(sizes.PER_NODE, {"a": 4}, {"w": 1}) == []
    assert sizes.rule_of([{"match": {}, "set": {}}]) == sizes.FIXED


def test_the_builder_costs_as_many_queries_as_before(client_in, team, parts, django_assert_max_num_queries):
    for _ in range(10):
        make_database(team=team, cluster=parts["redis"].cluster, system="redis")
    sent, _ = opened(client_in, **SMALL)
    with django_assert_max_num_queries(25):
        client_in.post(reverse("matrix-preview"), sent)

"""The pages of running again: a plan saved, and imported onto other machines; nothing is half stored."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from benchsite.accounts.models import Role
from conftest import signed_in
from runs.catalog import load_catalog
from runs.models import Cluster, Database, Matrix, Run
from runs.plans import expand
from runs.plans.files.plan import planned
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_user,
    make_workload,
)
from runs.tests.planning_world import a_matrix

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def counts():
    return Matrix.objects.count(), Database.objects.count(), Run.objects.count()


def test_it_offers_the_plan_file(client_in, team):
    matrix = a_matrix(team)
    page = client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()
    assert reverse("matrix-plan", args=[matrix.pk]) in page
    saved = client_in.get(reverse("matrix-plan", args=[matrix.pk]))
    assert saved.content.decode() == export_plan(matrix)
    assert saved["Content-Disposition"].startswith("attachment; ")


def test_import_asks_for_roles_before_it_stores_anything(client_in, team):
    text = export_plan(a_matrix(team))
    before = counts()
    page = client_in.post(reverse("plan-import"), {"plan": text})
    assert page.status_code == 200 and counts() == before
    html = page.content.decode()
    for role in ("cluster-1", "generator-1", "generator-2"):
        assert f'name="{role}"' in html
    assert "What no longer fits" not in html and "Everything fits" in html
    assert (
        client_in.post(reverse("plan-import"), {"file": SimpleUploadedFile("a.plan.toml", text.encode())}).status_code
        == 200
    )


def test_it_says_what_no_longer_fits(client_in, team):
    text = export_plan(a_matrix(team)).replace('version = "7.0"', 'version = "6.2"')
    machine = make_machine(cores=16, facts={"cores": {"value": 16}, "memory_bytes": {"value": 1000}})
    small = make_cluster(team=team, machines=[machine, make_machine()], provisioner="external", name="Rack")
    bare = make_load_generator(machine=machine, bindings={}, name="bare")
    sent = {"plan": text, "chosen": "yes", "cluster-1": small.pk, "generator-1": bare.pk, "generator-2": bare.pk}
    before = counts()
    page = client_in.post(reverse("plan-import"), {**sent, "queue": "yes"})
    html = page.content.decode()
    assert page.status_code == 422 and counts() == before
    for text in (
        "bare is chosen for generator-1 and generator-2", "1 node and Rack has 2 nodes", "run by somebody else",
        "has 16 cores, the plan&#x27;s had 4", "runs on a machine of Rack",
    ):  # fmt: skip
        assert text in html, text


def test_it_says_what_ports_and_disks_refuse(client_in, team):
    """What submitting checks is said before anything is stored."""
    database = make_database(team=team, cluster=make_cluster(team=team), system="cassandra", version="5.0")
    bindings = {load_catalog().system("cassandra").binding.name: "d" * 64}
    generator = make_load_generator(bindings=bindings)
    text = export_plan(
        make_matrix(
            team=team, entries=[(database, "one-periodic")], workloads=[make_workload(team=team)],
            load_generators=[generator], submitted_at=None,
        )
    )  # fmt: skip
    rack = make_cluster(team=team, machines=[make_machine(), make_machine()], provisioner="external")
    for node, port in zip(rack.nodes.all(), (9042, 9043), strict=True):
        node.address = f"10.0.0.1:{port}"
        node.save()
    disk = {"disk_free_bytes": {"value": 1_000}, "disk_total_bytes": {"value": 2_000}}
    full = make_cluster(team=team, machines=[make_machine(name="full", facts=disk)])

    sent = {"plan": text, "chosen": "yes", "generator-1": generator.pk}
    pages = [
        client_in.post(reverse("plan-import"), {**sent, "cluster-1": cluster.pk}).content.decode()
        for cluster in (rack, full)
    ]

    assert "The client takes one port for all nodes" in pages[0]
    assert "full has" in pages[1]
    assert all("Put it in the queue" not in page for page in pages)


def test_it_says_that_cores_were_divided_otherwise(client_in, team):
    matrix = a_matrix(team)
    cluster = matrix.entries.first().database.cluster
    text = export_plan(matrix)
    chosen = {"chosen": "yes", "cluster-1": cluster.pk}
    chosen |= {f"generator-{n}": row.pk for n, row in enumerate(matrix.load_generators.order_by("name"), 1)}
    assert "were separated" not in client_in.post(reverse("plan-import"), {"plan": text, **chosen}).content.decode()
    Cluster.objects.update(separates_cpus=False)
    page = client_in.post(reverse("plan-import"), {"plan": text, **chosen}).content.decode()
    assert f"were separated in the plan; those of {cluster.name} are not: the numbers will differ" in page
    shared = export_plan(matrix)
    assert "separates_cpus = false" in shared and not read_plan(shared).clusters["cluster-1"].separates_cpus
    assert "separated" not in client_in.post(reverse("plan-import"), {"plan": shared, **chosen}).content.decode()


def test_it_keeps_a_plan_or_puts_it_in_the_queue(client_in, team):
    matrix = a_matrix(team)
    cluster = matrix.entries.first().database.cluster
    first, second = matrix.load_generators.order_by("name")
    sent = {
        "plan": export_plan(matrix),
        "chosen": "yes",
        "cluster-1": cluster.pk,
        "generator-1": first.pk,
        "generator-2": second.pk,
    }
    client_in.post(reverse("plan-import"), {**sent, "store": "yes"})
    kept = Matrix.objects.first()
    assert kept.pk != matrix.pk and kept.submitted_at is None and not kept.runs.exists()
    client_in.post(reverse("plan-import"), {**sent, "queue": "yes"})
    queued = Matrix.objects.first()
    assert queued.submitted_at and queued.runs.count() == len(expand(planned(read_plan(sent["plan"]))).runs)


@pytest.mark.parametrize("text", ["", "a = 1", "[[[", "\0", "format = 'benchsite-plan'\nversion = 1"])
def test_it_says_why_a_file_is_no_plan(client_in, text):
    page = client_in.post(reverse("plan-import"), {"plan": text})
    assert page.status_code == 422 and 'role="alert"' in page.content.decode()


def test_other_teams_see_nothing_and_viewers_only_read(stranger, client_in, team):
    matrix = a_matrix(team)
    plan = reverse("matrix-plan", args=[matrix.pk])
    assert stranger.get(plan).status_code == 404
    assert stranger.get(reverse("plan-import") + f"?from={matrix.pk}").status_code == 404
    viewer = signed_in(make_user(team=team, role=Role.VIEWER))
    assert viewer.get(plan).status_code == 200
    assert viewer.get(reverse("plan-import")).status_code == 403
    assert client_in.get(reverse("plan-import") + "?from=nonsense").status_code == 404


def test_it_asks_few_queries_however_large_the_plan(client_in, team, django_assert_max_num_queries):
    matrix = a_matrix(team)
    with django_assert_max_num_queries(30):
        client_in.get(reverse("plan-import") + f"?from={matrix.pk}")

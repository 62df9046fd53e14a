"""Databases with stock clients: chosen on their form, kept in plan files, and refused where they cannot work."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import Team
from runs.catalog import load_catalog
from runs.models import Cluster, Database, Matrix
from runs.plans import submit
from runs.plans.drafts import stored_plan
from runs.plans.files.plan import PlanRefused
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import read_plan
from runs.plans.preview import preview
from runs.tests.factories import make_cluster, make_database, make_load_generator, make_matrix, make_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
MONGODB = "ycsb-0.17.0/mongodb"
GO = "go-ycsb-1.0.3"


@pytest.fixture
def cluster(team: Team) -> Cluster:
    return make_cluster(team=team, provisioner="external")


def planned(team: Team, modes: list[str], *, digests: list[dict[str, str]] | None = None, **fields: Any) -> Matrix:
    cluster = make_cluster(team=team, provisioner="external")
    says = {"system": "mongodb", "flavour": "ycsb", "client": MONGODB, "name": "Documents", **fields}
    database = make_database(team=team, cluster=cluster, **says)
    return make_matrix(
        team=team,
        entries=[(database, mode) for mode in modes],
        workloads=[make_workload(team=team)],
        load_generators=[
            make_load_generator(bindings=bindings) for bindings in digests or [{MONGODB: "1"}, {MONGODB: "1"}]
        ],
        submitted_at=None,
    )


def problems(matrix: Matrix) -> str:
    return " ".join(problem.message for problem in preview(stored_plan(matrix)).problems)


def test_form_offers_what_generators_registered(client_in: Client, team: Team, cluster: Cluster):
    make_load_generator(bindings={"redis": "1", MONGODB: "2"})
    page = client_in.get(reverse("database-add")).content.decode()
    assert (
        f'<option value="{MONGODB}">' in page and '<option value="redis">' not in page.split('id="id_client"')[1][:500]
    )
    data = {"system": "mongodb", "cluster": str(cluster.pk), "name": "Documents", "replication_factor": "1"}
    assert client_in.post(reverse("database-add"), {**data, "client": MONGODB}).status_code == 302
    saved = Database.objects.get()
    assert (saved.flavour, saved.client) == ("ycsb", MONGODB)
    wrong = client_in.post(reverse("database-add"), {**data, "name": "Cache", "system": "redis", "client": MONGODB})
    assert wrong.status_code == 422
    assert "cannot drive Redis: choose a stock binding called redis." in wrong.content.decode()
    client_in.post(reverse("database-edit", args=[saved.pk]), {**data, "client": ""})
    assert Database.objects.get().flavour == "benchsite"


def test_preview_accepts_a_stated_mode_and_says_so(team: Team):
    plan = preview(stored_plan(planned(team, ["w1"])))
    assert not plan.problems
    assert any("Benchsite reads nothing back from Documents" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("modes", "fields", "words"),
    [
        (["w1", "w1-no-journal"], {}, "cannot see which is in force there: plan a matrix for each mode"),
        (["w1"], {"flavour": "go-ycsb", "client": f"{GO}/mongodb"}, "describes no driver of go-ycsb for MongoDB"),
        (["w1"], {"digests": [{MONGODB: "1"}, {}]}, f"has no {MONGODB} binding: unpack the same YCSB distribution"),
        (
            ["w1"],
            {"digests": [{MONGODB: "1"}, {MONGODB: "2"}]},
            f"hold different builds of the {MONGODB} binding",
        ),
        (["no-sync"], {"system": "rocksdb", "client": "ycsb-0.17.0/rocksdb"}, "has no server"),
    ],
    ids=["conflict", "go-ycsb", "missing", "different", "embedded"],
)
def test_preview_refuses_what_cannot_run(team: Team, modes: list[str], fields: dict[str, Any], words: str):
    assert words in problems(planned(team, modes, **fields))


def test_system_without_own_binding_needs_a_stock_one():
    system = load_catalog().system("mongodb").model_copy(update={"own_client": False})
    assert "no binding of its own for MongoDB. Choose a stock" in system.client_problem("benchsite", "", external=True)


def planned_go(team: Team, mode: str = "off", client: str = f"{GO}/redis", **fields: Any) -> Matrix:
    says = {"system": "redis", "flavour": "go-ycsb", "client": client, **fields}
    return planned(team, [mode], digests=[{f"{GO}/redis": "1"}] * 2, **says)


def test_go_ycsb_states_its_limits_before_submission(team: Team):
    plan = preview(stored_plan(planned_go(team)))
    assert not plan.problems
    [limits] = [warning for warning in plan.warnings if "go-ycsb" in warning]
    assert "no histograms" in limits and "no response times" in limits
    assert "Percentiles of several clients are ranges" in limits


def test_go_ycsb_refuses_what_it_cannot_request(team: Team):
    assert "go-ycsb sends no WAIT." in problems(planned_go(team, "off-wait-1"))
    assert "choose go-ycsb's driver redis" in problems(planned_go(team, client=f"{GO}/pg", name="Other driver"))
    assert f"has no {GO}-a/redis binding: put the same go-ycsb as a file {GO}-a" in problems(
        planned_go(team, client=f"{GO}-a/redis", name="Other file")
    )


@pytest.mark.parametrize(
    ("system", "mode", "property_name", "value", "words"),
    [
        ("redis", "off", "redis.password", "${BENCHSITE_GENERATOR_TOKEN}", "go-ycsb replaces ${NAME} by a variable"),
        ("mariadb", "flush-1", "mysql.user", "a${HOME}", "mysql.user must not contain ${"),
        ("postgresql", "on", "pg.password", "x@192.0.2.1:5432/db?a=", "in percent-encoding"),
        ("postgresql", "on", "pg.user", "x/?host=%2Fvar%2Frun", "in percent-encoding"),
    ],
)
def test_go_ycsb_refuses_values_that_it_would_replace(team: Team, system, mode, property_name, value, words):
    """Neither a variable of its environment nor another server: its drivers put their values into addresses."""
    properties = {property_name: value}
    driver = load_catalog().system(system, "go-ycsb").binding.name
    fields = {"system": system, "client": f"{GO}/{driver}", "binding_properties": properties}
    assert words in problems(planned_go(team, mode, **fields))


def test_go_ycsb_refuses_a_target_behind_a_warm_up(team: Team):
    matrix = planned_go(team)
    Matrix.objects.filter(pk=matrix.pk).update(ladder="target", threads=8, warmup_s=5)
    matrix.refresh_from_db()
    assert "makes up for the operations that its target missed" in problems(matrix)
    Matrix.objects.filter(pk=matrix.pk).update(warmup_s=0)
    matrix.refresh_from_db()
    assert "makes up for" not in problems(matrix)


def test_form_stores_the_flavour_of_go_ycsb(client_in: Client, team: Team, cluster: Cluster):
    make_load_generator(bindings={f"{GO}/redis": "1"})
    data = {"system": "redis", "cluster": str(cluster.pk), "name": "Go", "replication_factor": "1"}
    fixed = {**data, "client": f"{GO}/redis", "binding_properties": "redis.datatype=json"}
    assert "redis.datatype is always hash here" in client_in.post(reverse("database-add"), fixed).content.decode()
    assert client_in.post(reverse("database-add"), {**data, "client": f"{GO}/redis"}).status_code == 302
    assert Database.objects.get().flavour == "go-ycsb"


def test_modes_that_differ_in_client_properties_share_a_matrix(team: Team):
    assert problems(planned(team, ["w1", "w2"])) == ""


def test_plan_file_keeps_the_client(team: Team):
    text = export_plan(planned(team, ["w1"]))
    assert f'client = "{MONGODB}"' in text
    assert read_plan(text).databases["database-1"].client == MONGODB
    for wrong in (
        text.replace(MONGODB, "ycsb-0.17.0/redis"),
        text.replace('flavour = "ycsb"', 'flavour = "benchsite"'),
    ):
        with pytest.raises(PlanRefused, match=r"cannot drive MongoDB|is of the flavour ycsb, not benchsite"):
            read_plan(wrong)


def test_secrets_of_the_stock_client_are_in_no_spec(team: Team):
    client, secret = "ycsb-0.17.0/jdbc", {"db.user": "bench", "db.passwd": "hunter2"}
    matrix = planned(
        team, ["on"], digests=[{client: "1"}], system="postgresql", client=client, binding_properties=secret
    )
    submit(matrix, None)
    specs = [json.dumps(run.spec) for run in matrix.runs.all()]
    assert specs and not any("hunter2" in spec for spec in specs)
    assert "postgresql.synchronous_commit" not in specs[0]


def test_plan_that_loads_twice_what_cannot_be_deleted_warns(team: Team):
    assert any("more than once" in warning for warning in preview(stored_plan(planned(team, ["w1", "w2"]))).warnings)

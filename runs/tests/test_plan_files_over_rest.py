"""Running again over the REST API: a plan file to a token, and a plan imported."""

import json

import pytest
from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import Scope
from runs.models import Matrix
from runs.plans.files.plan_export import export_plan
from runs.tests.factories import make_team
from runs.tests.planning_world import a_matrix

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ROOT = "/api/v1/matrices"


def program(team, user) -> Client:
    token = tokens.make(team, user, name="CI", scopes=[Scope.MATRICES_RUN, Scope.RUNS_WRITE, Scope.RUNS_READ])
    return Client(headers={"Authorization": f"Bearer {token}"})


def sent(client, body, query=""):
    answer = client.post(f"{ROOT}/import{query}", json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


def test_it_answers_the_plan_and_imports_it_again(team, user):
    matrix, client = a_matrix(team), program(team, user)
    text = client.get(f"{ROOT}/{matrix.pk}/plan").content.decode()
    assert text == export_plan(matrix)
    cluster = str(matrix.entries.first().database.cluster_id)
    first, second = (str(load_generator.pk) for load_generator in matrix.load_generators.order_by("name"))
    body = {"plan": text, "clusters": {"cluster-1": cluster}, "generators": {"generator-1": first}}
    status, answer = sent(client, body, "?dry_run=1")
    assert (status, answer["fits"]) == (200, False) and answer["misfits"][0][
        "detail"
    ] == "Choose a load generator for generator-2."
    status, answer = sent(client, body)
    assert (status, answer["type"]) == (422, "/problems/plan-refused")
    body["generators"]["generator-2"] = second
    assert sent(client, body, "?dry_run=1") == (200, {"fits": True, "misfits": []})
    status, answer = sent(client, body | {"submit": True})
    assert status == 201 and answer["submitted"] and Matrix.objects.get(pk=answer["id"]).runs.exists()
    status, answer = sent(client, {"plan": "nonsense ="})
    assert status == 422 and "no TOML" in answer["detail"]


def test_it_knows_no_rows_of_another_team(team, user):
    theirs, client = a_matrix(make_team()), program(team, user)
    assert client.get(f"{ROOT}/{theirs.pk}/plan").status_code == 404
    body = {"plan": export_plan(theirs), "clusters": {"cluster-1": str(theirs.entries.first().database.cluster_id)}}
    status, answer = sent(client, body)
    assert status == 422 and answer["errors"][0]["pointer"] == "#/clusters/cluster-1"

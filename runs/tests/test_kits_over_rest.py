"""Running again over the REST API: plan and kit to a token, a plan imported, outputs that fit or do not."""

import io
import json
import uuid
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import Scope
from runs.kits.cells import cell_name
from runs.kits.plan_export import export_plan
from runs.models import Matrix
from runs.models.run import Status
from runs.tests.factories import make_team, make_user
from runs.tests.planning_world import a_matrix

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ROOT = "/api/v1/matrices"


def program(team, user) -> Client:
    token = tokens.make(team, user, name="CI", scopes=[Scope.MATRICES_RUN, Scope.RUNS_WRITE, Scope.RUNS_READ])
    return Client(headers={"Authorization": f"Bearer {token}"})


def sent(client, body, query=""):
    answer = client.post(f"{ROOT}/import{query}", json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


def test_it_answers_plan_and_kit_and_imports_the_plan_again(team, user):
    matrix, client = a_matrix(team), program(team, user)
    text = client.get(f"{ROOT}/{matrix.pk}/plan").content.decode()
    assert text == export_plan(matrix)
    with zipfile.ZipFile(io.BytesIO(client.get(f"{ROOT}/{matrix.pk}/kit").content)) as kit:
        assert any(name.endswith("README.md") for name in kit.namelist())
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
    for path in ("plan", "kit", f"outputs/{uuid.uuid4()}"):
        assert client.get(f"{ROOT}/{theirs.pk}/{path}").status_code == 404
    assert client.post(f"{ROOT}/{theirs.pk}/outputs").status_code == 404
    body = {"plan": export_plan(theirs), "clusters": {"cluster-1": str(theirs.entries.first().database.cluster_id)}}
    status, answer = sent(client, body)
    assert status == 422 and answer["errors"][0]["pointer"] == "#/clusters/cluster-1"


def test_it_refuses_outputs_that_do_not_fit_and_keeps_nothing(team, user):
    client = program(team, make_user(team=team))
    status, response = sent(client, {"plan": export_plan(a_matrix(team)), "by_hand": {"hardware": "a laptop"}})
    assert status == 201 and response["by_hand"]
    matrix = Matrix.objects.get(pk=response["id"])
    address = f"{ROOT}/{matrix.pk}/outputs"
    name = f"{cell_name(matrix.runs.first())}.client-1.summary.txt"
    answer = client.post(address, {"files": SimpleUploadedFile(name, b"x")})
    assert answer.status_code == 422
    assert any("client 2 of 2 is missing" in fault["detail"] for fault in answer.json()["errors"])
    assert client.post(address, {}).status_code == 400
    assert client.post(address, b"--x", content_type="multipart/form-data; boundary=y").status_code == 400
    assert client.post(address, b"{}", content_type="application/json").status_code == 400
    assert not matrix.uploads.exists()
    assert set(matrix.runs.values_list("status", flat=True)) == {Status.QUEUED}

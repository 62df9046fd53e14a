"""Secrets of the runs of a report are in none of its forms; a property that an admin lists as harmless is shown."""

import json
import re

import pytest
from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import Scope
from reports.models import Report
from reports.published.publication import load_content
from runs.models import Run
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_matrix,
    make_run,
    make_sweep,
    make_workload,
)
from runs.tests.importing import bring, import_folder, save, sent, summary

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKC\nPemBody9xyz\n-----END RSA PRIVATE KEY-----"
PROPERTIES = {
    "redis.password": "RedisPw9", "redis.tls_key": "TlsKey9", "azurecosmos.primaryKey": "CosmosKey9==",
    "es.setting.xpack.security.user": "elastic:ElasticPw9", "redis.url": "redis://app:UrlPw9@db.lab:6379/0",
    "redis.client_pem": PEM, "vendor.session_key": "SessionKey9",
}  # fmt: skip
SETTINGS = {"requirepass": "RequirePw9", "masterauth": "MasterPw9", "hashkey": "fast", "unlock.key": "UnlockKey9"}
SECRETS = (
    "RedisPw9", "TlsKey9", "CosmosKey9", "ElasticPw9", "UrlPw9", "PemBody9", "SessionKey9", "RequirePw9", "MasterPw9",
    "UnlockKey9", "FieldPw9", "NotePw9", "FindingPw9",
)  # fmt: skip
TEXTS = f"See redis://app:NotePw9@x/0, azure.key=UnlockKey9, --api-key SessionKey9, {PEM}"


@pytest.fixture
def query(team):
    """Scheduled runs whose database, workload, mode, findings and texts hold secrets."""
    database = make_database(
        team=team, cluster=make_cluster(team=team), name="Redis password=NotePw9", settings=SETTINGS,
        binding_properties=PROPERTIES, version="7.0 token=NotePw9",
    )  # fmt: skip
    workload = make_workload(team=team, name="A with redis://app:NotePw9@x/0")
    workload.properties = {**workload.properties, "table": "password=FieldPw9"}
    workload.save()
    matrix = make_matrix(team=team, entries=[(database, "always")], workloads=[workload], name="Night secret=NotePw9")
    sweep = make_sweep(matrix=matrix, database=database, workload=workload, mode="always", notes=TEXTS)
    message = "The client said: es.setting.xpack.security.user=elastic:FindingPw9 was refused. " + PEM
    finding = {
        "check_id": "V29", "severity": "warn", "title": "Messages", "message": message,
        "measured": "api_key=FindingPw9", "threshold": "",
    }  # fmt: skip
    for threads in (2, 4, 8):
        make_run(sweep, threads=threads, throughput=1000.0 * threads, findings=[finding], excluded_reason="")
    make_run(sweep, threads=8, repeat=2, throughput=8000.0, excluded_reason=TEXTS[:200])
    Run.objects.update(team=team)
    return f"v=1&matrix={matrix.pk}"


def matrix_query(team, **fields) -> str:
    """A measured ladder of a database with these fields."""
    database = make_database(team=team, cluster=make_cluster(team=team), **fields)
    workload = make_workload(team=team)
    matrix = make_matrix(
        team=team, entries=[(database, "always")], workloads=[workload], load_generators=[make_load_generator()]
    )
    sweep = make_sweep(matrix=matrix, database=database, workload=workload, mode="always")
    for threads in (2, 4, 8):
        make_run(sweep, threads=threads, throughput=1000.0 * threads)
    return f"v=1&matrix={matrix.pk}"


@pytest.fixture
def program(team, user):
    token = tokens.make(team, user, name="CI", scopes=(Scope.REPORTS_WRITE, Scope.RUNS_READ), life=tokens.DEFAULT_LIFE)
    return Client(headers={"Authorization": f"Bearer {token}"})


def publish(program, query, **fields):
    items = program.post(
        "/api/v1/reports?dry_run=1", json.dumps({"title": "T", "query": query}), content_type="application/json"
    ).json()["available"]
    body = {"title": f"T {TEXTS}"[:150], "query": query, "notes": TEXTS, "disclosures": {"paid_by": TEXTS},
            "items": [item["name"] for item in items], **fields}  # fmt: skip
    response = program.post("/api/v1/reports", json.dumps(body), content_type="application/json")
    assert response.status_code == 201, response.content.decode()
    return response


def read_forms(client_in, program, response) -> dict[str, str]:
    """Everything that can be asked of the report, with and without an account."""
    report = Report.objects.get()
    path = re.sub(r"https?://[^/]+", "", response.json()["permalink"])
    content = load_content(report.revisions.get())
    reader = Client()
    paths = [
        path,
        *(f"{path}.{form}" for form in ("json", "csv", "md", "html")),
        f"{path}/repeat.sh",
        f"{path}/plan.toml",
    ]
    for figure in content["figures"]:
        paths += [f"{path}/embed?figure={figure['name']}", f"{path}/figures/{figure['name']}/"]
        paths += [f"{path}/figures/{figure['name']}.{form}" for form in ("csv", "json", "md", "tex")]
    for table in content["tables"]:
        paths += [f"{path}/tables/{table['name']}.{form}" for form in ("csv", "json")]
    answers = {address: reader.get(address) for address in paths}
    answers["api"] = program.get(f"/api/v1/reports/{report.pk}")
    answers["publishing"] = client_in.get(f"/reports/{report.pk}/publish/")
    texts = {address: answer.content.decode() for address, answer in answers.items() if answer.status_code == 200}
    texts["published"] = response.content.decode()
    return texts


def find_leaks(texts: dict[str, str]) -> list[tuple[str, str]]:
    return [(address, secret) for address, text in texts.items() for secret in SECRETS if secret in text]


def test_no_form_of_a_report_has_a_secret(client_in, program, query):
    texts = read_forms(client_in, program, publish(program, query))

    assert find_leaks(texts) == []
    assert len(texts) > 20
    environment = json.dumps(json.loads(next(text for address, text in texts.items() if address.endswith(".json"))))
    assert "redis.password=[redacted]" in environment
    assert "vendor.session_key=[redacted]" in environment
    assert "hashkey=not shown" in environment


def test_script_and_plan_have_no_secret(client_in, program, team):
    """What can be run again: a database as the form takes it."""
    properties = {"redis.password": "RedisPw9", "redis.timeout_ms": "1000"}
    query = matrix_query(team, binding_properties=properties, settings={"maxmemory": "4gb"})

    texts = read_forms(client_in, program, publish(program, query))

    assert find_leaks(texts) == []
    assert {"repeat.sh", "plan.toml"} <= {address.rpartition("/")[2] for address in texts}
    assert "redis.timeout_ms" in next(text for address, text in texts.items() if address.endswith("plan.toml"))


def test_harmless_property_is_shown(client_in, program, team):
    properties = {"vendor.session_key": "blue", "vendor.api_key": "red"}
    team.harmless_properties = ["vendor.session_key"]
    team.save()

    texts = read_forms(client_in, program, publish(program, matrix_query(team, binding_properties=properties)))
    environments = [text for address, text in texts.items() if address.endswith((".json", ".html", ".md"))]

    assert any("vendor.session_key=blue" in text for text in environments)
    assert not any("vendor.api_key=red" in text for text in environments)


def test_uploaded_run_brings_no_secret_into_a_report(client_in, program, team):
    """What its command line, its messages and its status lines hold."""
    command = " ".join(f"-p {name}={value}" for name, value in PROPERTIES.items() if "\n" not in value)
    complaint = b"site.ycsb.DBException: redis://app:UrlPw9@x:1/0 azure.key=UnlockKey9 user=elastic:ElasticPw9\n"
    content = complaint + summary().replace(b"-p redis.host=10.0.0.1", command.encode()) + PEM.encode()
    upload = bring(client_in, sent("a.txt", content))
    run = save(client_in, upload, notes=TEXTS, hardware=TEXTS, version="7 pass=NotePw9").runs.get()
    Run.objects.update(verdict="warn")  # What is rejected is in no report.

    texts = read_forms(client_in, program, publish(program, f"v=1&sweep={run.sweep_id}"))

    assert find_leaks(texts) == []

"""What the cases of the field taught, through the ways of a program and of the import page."""

import json

import pytest

from runs import artifacts
from runs.models import Artifact, ClientRun, Run
from runs.tests.importing import bring, import_folder, save, sent, summary
from runs.tests.pages import text_of
from runs.tests.programs import Program
from runs.tests.test_failed_verification import verify
from runs.ycsb.readers.tests.test_writers import client, interleaved

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]

WRONG = verify(("OK", 49_000), ("UNEXPECTED_STATE", 1_000), count=50_000).encode()
SECRETS = ("CosmosKey9==", "TableKey9", "ElasticPw9", "TlsKey9")
COMMAND = (
    b"Command line: -db site.ycsb.db.RedisClient -P workloads/workloada -p azurecosmos.primaryKey=CosmosKey9== "
    b"-p azure.key=TableKey9 -p es.setting.xpack.security.user=elastic:ElasticPw9 -p redis.tls_key=TlsKey9 "
    b"-threads 8 -t"
)


@pytest.fixture
def program(team, user):
    return Program(team, user)


def read_json(response, status: int):
    assert response.status_code == status, response.content.decode()[:3000]
    return json.loads(response.content)


def cat(*numbers: int) -> bytes:
    return "".join(f"{line}\n" for number in numbers for line in client(number)).encode()


def test_wrong_data_is_rejected_on_both_ways(program, client_in):
    answer = read_json(program.post(("a.txt", summary() + WRONG)), 201)
    imported = save(client_in, bring(client_in, sent("b.txt", summary() + WRONG))).runs.get()

    assert answer["verdict"] == "reject"
    assert "V33" in {finding["check_id"] for finding in answer["runs"][0]["findings"]}
    assert imported.verdict == "reject"
    assert "1,000 of 50,000" in text_of(client_in.get(f"/runs/{imported.pk}/")).replace("\u202f", ",")


def test_clients_in_one_file_are_one_run_on_both_ways(program, client_in):
    fronts = "".join(f"node{number}: {line}\n" for number, line in interleaved(client(1), client(2)))

    answers = [read_json(program.post(("all.txt", content)), 201) for content in (cat(1, 2), fronts.encode())]
    imported = save(client_in, bring(client_in, sent("all.txt", cat(1, 2)))).runs.get()

    assert [[run["clients"] for run in answer["runs"]] for answer in answers] == [[2], [2]]
    assert imported.measurement_sets.get().clients_merged == 2
    assert {run.threads for run in Run.objects.all()} == {8}


def test_threads_of_all_clients_contradict_several_runs(program):
    """Undated runs in one file are of one client, unless they are stated to be of one run."""
    lines = [line for number in (1, 2) for line in client(number, dated=False)]
    file = ("all.txt", "".join(f"{line}\n" for line in lines).encode())

    problem = read_json(program.post(file, threads=8, key="one"), 400)
    answer = read_json(program.post(file, threads=8, grouping="together", key="two"), 201)

    assert problem["errors"][0]["pointer"] == "#/manifest/threads"
    assert "together" in problem["errors"][0]["detail"]
    assert [run["clients"] for run in answer["runs"]] == [2]


def test_what_is_not_stored_is_told(program, client_in):
    """A client that was killed, and its second attempt in the same file."""
    lines = [*client(1)[:5], *client(2, begins_s=120)]
    content = "".join(f"{line}\n" for line in lines).encode()

    run = save(client_in, bring(client_in, sent("all.txt", content))).runs.get()

    assert "It is not stored." in run.measurement_sets.get().note


def test_no_secret_is_kept_anywhere(program, client_in, caplog):
    content = summary().replace(summary().split(b"\n")[0], COMMAND)

    answer = program.post(("a.txt", content))
    run = Run.objects.get()
    kept = [
        answer.content.decode(),
        json.dumps(run.spec),
        *(json.dumps(row) for row in ClientRun.objects.values_list("order", flat=True)),
        *(artifacts.open_artifact(artifact).decode() for artifact in Artifact.objects.all()),
        text_of(client_in.get(f"/runs/{run.pk}/")),
        caplog.text,
    ]

    assert not [secret for secret in SECRETS for text in kept if secret in text]
    assert any("primaryKey=[redacted]" in text for text in kept)

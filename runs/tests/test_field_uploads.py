"""What the cases of the field taught, through the ways of a program, of the upload script and of the import page."""

import json
import os
import subprocess
import sys

import pytest
from django.conf import settings

from benchsite.accounts.models import AuditEntry, Role
from runs.models import Artifact, ClientRun, Run
from runs.results import artifacts
from runs.tests.factories import make_user
from runs.tests.importing import bring, import_folder, save, sent, summary
from runs.tests.pages import get_text
from runs.tests.programs import MANIFEST, get_token
from runs.tests.test_failed_verification import verify
from runs.ycsb.readers.tests.test_writers import client, interleaved

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]

TWO_RUNS = summary() + b"\n" + summary(reads=40_000, updates=41_000)
WRONG = verify(("OK", 49_000), ("UNEXPECTED_STATE", 1_000), count=50_000).encode()
SECRETS = ("CosmosKey9==", "TableKey9", "ElasticPw9", "TlsKey9")
COMMAND = (
    b"Command line: -db site.ycsb.db.RedisClient -P workloads/workloada -p azurecosmos.primaryKey=CosmosKey9== "
    b"-p azure.key=TableKey9 -p es.setting.xpack.security.user=elastic:ElasticPw9 -p redis.tls_key=TlsKey9 "
    b"-threads 8 -t"
)


def read_json(response, status: int):
    assert response.status_code == status, response.content.decode()[:3000]
    return json.loads(response.content)


def cat(*numbers: int) -> bytes:
    return "".join(f"{line}\n" for number in numbers for line in client(number)).encode()


def raw_points(count: int, *, begins_s: int = 0) -> bytes:
    """Points of ten seconds, as measurementtype=raw appends them."""
    first_ms = (1_772_355_600 + begins_s) * 1000
    rows = (f"READ,{first_ms + place * 10_000 // count},{400 + place % 100}\n" for place in range(count))
    return ("READ latency raw data: op, timestamp(ms), latency(us)\n" + "".join(rows)).encode()


def summary_of_reads(count: int) -> bytes:
    return (
        f"[OVERALL], RunTime(ms), 10000\n[OVERALL], Throughput(ops/sec), {count / 10}\n"
        f"[READ], Operations, {count}\n[READ], AverageLatency(us), 449.5\n[READ], MinLatency(us), 400\n"
        f"[READ], MaxLatency(us), 499\n[READ], Return=OK, {count}\n"
    ).encode()


def test_wrong_data_is_rejected_on_both_ways(program, client_in):
    answer = read_json(program.post(("a.txt", summary() + WRONG)), 201)
    imported = save(client_in, bring(client_in, sent("b.txt", summary() + WRONG))).runs.get()

    assert answer["verdict"] == "reject"
    assert "V33" in {finding["check_id"] for finding in answer["runs"][0]["findings"]}
    assert imported.verdict == "reject"
    assert "1,000 of 50,000" in get_text(client_in.get(f"/runs/{imported.pk}/")).replace("\u202f", ",")


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


def test_all_runs_of_one_file_are_stored_on_both_ways(program, client_in):
    """YCSB appends: a second run stands behind the first."""
    answer = read_json(program.post(("runs.txt", TWO_RUNS)), 201)
    imported = save(client_in, bring(client_in, sent("again.txt", TWO_RUNS)))

    assert [run["throughput_ops_s"] for run in answer["runs"]] == [10_000, 8_100]
    assert [run.throughput_ops_s for run in imported.runs.order_by("position")] == [10_000, 8_100]


def test_summary_picks_its_run_out_of_raw_points_on_both_ways(program, client_in):
    """The points of the run before are not stored, and that is told."""
    files = {"raw.csv": raw_points(3_000) + raw_points(2_000, begins_s=600), "out.txt": summary_of_reads(2_000)}

    answer = read_json(program.post(*files.items(), threads=8), 201)
    imported = save(client_in, bring(client_in, *(sent(*file) for file in files.items()))).runs.get()

    (by_program,) = answer["runs"]
    for run in (Run.objects.get(pk=by_program["id"]), imported):
        measured = run.measurement_sets.get()
        assert measured.measurements.get(operation="READ").ok == 2_000
        assert "3,000" in measured.note and "not stored" in measured.note


def test_what_is_not_stored_is_told(program, client_in):
    """A client that was killed, and its second attempt in the same file."""
    lines = [*client(1)[:5], *client(2, begins_s=120)]
    content = "".join(f"{line}\n" for line in lines).encode()

    run = save(client_in, bring(client_in, sent("all.txt", content))).runs.get()

    assert "It is not stored." in run.measurement_sets.get().note


@pytest.mark.parametrize("way", ["program", "page"])
def test_no_secret_is_kept_anywhere(program, client_in, caplog, way):
    content = summary().replace(summary().split(b"\n")[0], COMMAND)

    if way == "program":
        texts = [program.post(("a.txt", content)).content.decode()]
    else:
        upload = bring(client_in, sent("a.txt", content))
        texts = [client_in.get(f"/import/{upload.pk}/").content.decode(), json.dumps(upload.recognised)]
        save(client_in, upload)
    run = Run.objects.get()
    kept = [
        *texts,
        json.dumps(run.spec),
        *(json.dumps(row) for row in ClientRun.objects.values_list("order", flat=True)),
        *(artifacts.open_artifact(artifact).decode() for artifact in Artifact.objects.all()),
        get_text(client_in.get(f"/runs/{run.pk}/")),
        caplog.text,
    ]

    assert not [secret for secret in SECRETS for text in kept if secret in text]
    assert any("primaryKey=[redacted]" in text for text in kept)


HUGE = 3_000_000_000  # records: more than a YCSB of 32 bits counts
LONG_MIX = {"readproportion": "0.5", "updateproportion": "0.5", "recordcount": str(HUGE)}


def test_takes_more_records_than_32_bits_on_both_ways(program, client_in):
    content = summary().replace(b" -threads 8", b" -p recordcount=3000000000 -threads 8")

    usual = read_json(program.post(("a.txt", summary())), 201)
    answer = read_json(program.post(("b.txt", content), workload={"name": "Huge", "properties": LONG_MIX}), 201)
    imported = save(client_in, bring(client_in, sent("c.txt", content)), records=str(HUGE)).runs.get()

    by_program = Run.objects.get(pk=answer["runs"][0]["id"])
    assert [finding["check_id"] for finding in answer["runs"][0]["findings"]] == [
        finding["check_id"] for finding in usual["runs"][0]["findings"]
    ]
    assert [run.spec["workload"]["properties"]["recordcount"] for run in (by_program, imported)] == [str(HUGE)] * 2
    for run in (by_program, imported):
        assert "3,000,000,000" in get_text(client_in.get(f"/runs/{run.pk}/")).replace("\u202f", ",")


@pytest.mark.django_db(transaction=True)
def test_script_uploads_what_the_api_takes(live_server, team, user, tmp_path):
    """Failed verification, two clients in one file, two runs in one file, secrets."""
    contents = {
        "verification.txt": summary() + WRONG,
        "clients.txt": cat(1, 2),
        "runs.txt": TWO_RUNS,
        "secrets.txt": summary(reads=30_000).replace(summary().split(b"\n")[0], COMMAND),
    }
    (tmp_path / "benchsite.json").write_text(json.dumps(MANIFEST))
    environment = {
        "PATH": os.environ["PATH"],
        "BENCHSITE_URL": live_server.url,
        "BENCHSITE_TOKEN": get_token(team, user),
    }
    printed = {}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        ended = subprocess.run(
            [sys.executable, settings.BASE_DIR / "static" / "benchsite-upload.py",
             "--manifest", "benchsite.json", "--no-verdict", name],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        printed[name] = ended.stdout + ended.stderr

    by_file = {name: Run.objects.filter(upload__files__name=name).order_by("position") for name in contents}
    assert [run.verdict for run in by_file["verification.txt"]] == ["reject"], printed
    assert [run.measurement_sets.get().clients_merged for run in by_file["clients.txt"]] == [2], printed
    assert len(by_file["runs.txt"]) == 2, printed
    stored = [artifacts.open_artifact(artifact).decode() for artifact in Artifact.objects.all()]
    assert not [secret for secret in SECRETS for text in [*stored, *printed.values()] if secret in text]


def test_admin_lists_harmless_properties(program, client_in, team):
    """Their values are kept from then on, and the run's page says how many are hidden."""
    content = summary().replace(summary().split(b"\n")[0], COMMAND)
    program.post(("a.txt", content))
    first = Run.objects.get()

    page = get_text(client_in.get(f"/runs/{first.pk}/"))
    client_in.force_login(make_user(team=team, role=Role.ADMIN))
    response = client_in.post("/team/harmless-properties/", {"names": "azure.key\nazurecosmos.primaryKey"})
    program.post(("b.txt", content))

    second = Run.objects.exclude(pk=first.pk).get()
    assert "4 hidden values" in page
    assert response.status_code == 302
    assert "TableKey9" in get_text(client_in.get(f"/runs/{second.pk}/"))
    assert "2 hidden values" in get_text(client_in.get(f"/runs/{second.pk}/"))
    assert "TableKey9" not in get_text(client_in.get(f"/runs/{first.pk}/"))
    assert AuditEntry.objects.get(kind="harmless_properties_changed").subject == "azure.key, azurecosmos.primaryKey"


@pytest.mark.parametrize(
    "names", ["azure.key=TableKey9", "with space?", "x" * 121, "\n".join(f"k{n}" for n in range(101))]
)
def test_refuses_what_is_no_list_of_names(client_in, team, names):
    client_in.force_login(make_user(team=team, role=Role.ADMIN))

    response = client_in.post("/team/harmless-properties/", {"names": names})

    team.refresh_from_db()
    assert response.status_code == 422
    assert team.harmless_properties == []


def test_harmless_properties_are_for_admins(client_in, team):
    client_in.force_login(make_user(team=team, role=Role.RUNNER))

    assert client_in.post("/team/harmless-properties/", {"names": "azure.key"}).status_code == 403

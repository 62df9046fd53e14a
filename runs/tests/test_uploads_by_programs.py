"""POST /api/v1/runs: what a program uploads becomes runs, in one transaction with its key."""

from pathlib import Path

import pytest
from django.db.models.functions import Now

from benchsite.accounts.models import ApiToken, Role
from runs.models import Artifact, Run, Sweep, Upload, UploadKey
from runs.tests.factories import make_team, make_user, make_workload
from runs.tests.importing import DATA, bring, import_folder, save, sent, summary
from runs.tests.pages import get_text
from runs.tests.programs import Program, read_answer
from runs.uploads import keys
from runs.uploads.api import uploads
from runs.uploads.form_data import read_body

__all__ = ["import_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("import_folder"), pytest.mark.slow]


def list_files(folder: str) -> list[tuple[str, bytes]]:
    base = DATA / folder
    paths = [path for path in sorted(base.rglob("*")) if path.is_file() and path.suffix != ".properties"]
    return [(str(path.relative_to(base)), path.read_bytes()) for path in paths]


def nothing_stored() -> bool:
    return not any(model.objects.exists() for model in (Upload, Run, Sweep, Artifact, UploadKey))


def test_a_result_becomes_a_run_with_its_verdict(program, client_in):
    answer = read_answer(
        program.post(
            labels={"nightly": "yes"}, commit="3f2a91c7", branch="main", ci_url="https://ci.example/builds/7?x=1",
        ),
        201,
    )  # fmt: skip
    run = Run.objects.get()
    assert answer["state"] == "saved"
    assert answer["verdict"] == run.verdict
    (row,) = answer["runs"]
    assert row["id"] == str(run.pk)
    assert row["permalink"] == f"http://testserver/runs/{run.pk}/" == answer["permalink"]
    assert row["throughput_ops_s"] == run.throughput_ops_s
    assert {finding["severity"] for finding in row["findings"]} <= {"warn", "reject"}
    assert (run.system, run.mode, run.threads, run.commit, run.branch, run.tags) == (
        "redis", "always", 8, "3f2a91c7", "main", ["nightly=yes"],
    )  # fmt: skip
    page = get_text(client_in.get(f"/runs/{run.pk}/"))
    assert 'href="https://ci.example/builds/7?x=1" rel="nofollow noopener"' in page


def test_it_is_located_at_the_run(program):
    response = program.post()
    assert response["Location"] == f"/api/v1/runs/{Run.objects.get().pk}"


def test_it_gives_what_the_import_page_gives(program, client_in):
    by_page = save(client_in, bring(client_in, sent("a.txt", summary()))).runs.get()
    program.post(workload={"name": "YCSB A", "records": 100_000,
                           "properties": {"readproportion": "0.5", "updateproportion": "0.5",
                                          "requestdistribution": "zipfian"}})  # fmt: skip
    by_api = Run.objects.exclude(pk=by_page.pk).get()
    numbers = ("operations", "failed", "throughput_ops_s", "clients")
    first, second = (run.measurement_sets.values(*numbers).get() for run in (by_page, by_api))
    assert first == second
    assert [*by_api.artifacts.values_list("name", "sha256")] == [*by_page.artifacts.values_list("name", "sha256")]


def test_clients_of_one_run_are_one_run(program):
    answer = read_answer(program.post(*list_files("two_clients"), threads=8), 201)
    assert [run["clients"] for run in answer["runs"]] == [2]


def test_a_load_and_a_run_are_two_runs_stored_together(program):
    files = [(f"{part}/{name}", content) for part in ("load", "two_clients") for name, content in list_files(part)]
    answer = read_answer(program.post(*files, threads=4), 201)
    assert sorted(run["phase"] for run in answer["runs"]) == ["load", "measure"]
    assert Run.objects.count() == 2


def test_what_is_said_of_one_of_several_runs_counts_for_it(program):
    files = [("rung-1/a.txt", summary()), ("rung-2/a.txt", summary(reads=70_000))]
    answer = read_answer(
        program.post(*files, grouping="apart", runs=[{"threads": 3}, {"threads": 5, "repeat": 2}]), 201
    )
    assert [(run["threads"], run["repeat"]) for run in answer["runs"]] == [(3, 1), (5, 2)]
    assert len({*Run.objects.values_list("sweep", flat=True)}) == 1


def test_later_uploads_join_a_curve(program, user):
    sweep = read_answer(program.post(threads=1), 201)["sweep"]
    read_answer(program.post(threads=2, sweep=sweep), 201)
    assert Run.objects.filter(sweep=sweep).count() == 2
    elsewhere = make_team()
    other = Program(elsewhere, make_user(team=elsewhere))
    assert "no uploaded curve" in read_answer(other.post(sweep=sweep), 400)["detail"]


def test_a_dry_run_judges_and_stores_nothing(program):
    answer = read_answer(program.post(key=None, query="?dry_run=1"), 200)
    assert answer["state"] == "judged"
    assert answer["runs"][0]["throughput_ops_s"] == 10_000
    assert nothing_stored()
    assert not Path(Upload().pk.hex).exists()


def test_a_workload_of_the_team_is_taken_by_its_name(program, team):
    workload = make_workload(team=team, name="Carts")
    read_answer(program.post(workload="Carts"), 201)
    assert Run.objects.get().spec["workload"]["id"] == str(workload.pk)


def test_hints_need_not_be_stated(program):
    read_answer(program.post(system=..., workload=..., mode="always"), 201)
    run = Run.objects.get()
    assert (run.system, run.workload_name, run.threads) == ("redis", "YCSB A", 8)


def test_secrets_are_not_stored(program):
    from runs.results import artifacts

    read_answer(program.post(("a.txt", summary() + b"Command line: -p redis.password=hushhush\n")), 201)
    for artifact in Artifact.objects.all():
        assert b"hushhush" not in artifacts.open_artifact(artifact)


# --- keys ---


def test_a_key_is_required(program):
    problem = read_answer(program.post(key=None), 400)
    assert problem["errors"][0]["pointer"] == "header.Idempotency-Key"
    assert "Idempotency-Key" in problem["detail"]
    assert read_answer(program.post(key="x" * 256), 400)
    assert nothing_stored()


def test_repeating_a_request_stores_nothing_again(program):
    first, second = program.post(key="k"), program.post(key="k")
    assert read_answer(first, 201) == read_answer(second, 201)
    assert second["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert first["Location"] == second["Location"]
    assert Run.objects.count() == 1


def test_output_of_an_earlier_upload_is_no_baseline(program):
    """Another output of the same test is one, and stays it."""
    stated = {"query": "?judge=1", "purpose": "smoke"}
    program.post(**stated)
    answer = read_answer(program.post(**stated), 201)
    (verdict,) = answer["against"]["verdicts"]
    assert verdict["base"] is None and "is not compared with itself" in verdict["reasons"][-1]
    program.post(("b.txt", summary(reads=50_100)), **stated)
    (other,) = read_answer(program.post(**stated), 201)["against"]["verdicts"]
    assert other["base"]["runs"] == [str(Run.objects.get(throughput_ops_s=10_010).pk)]


def test_output_sent_twice_for_a_commit_confirms_nothing(program):
    stated = {"query": "?judge=1", "purpose": "smoke", "commit": "abcdef1"}
    program.post(**stated, session="one")
    program.post(("b.txt", summary(reads=50_100)), **stated, session="two")
    answer = read_answer(program.post(**stated, session="three"), 201)
    (verdict,) = answer["against"]["verdicts"]
    assert len(verdict["new"]["runs"]) == 2 and answer["runs"][0]["id"] in verdict["new"]["runs"]


def test_a_key_names_one_content(program):
    read_answer(program.post(key="k"), 201)
    assert read_answer(program.post(key="k", commit="abcdef1"), 422)["type"] == "/problems/key-reused"
    assert read_answer(program.post(("a.txt", summary(reads=1)), key="k"), 422)["type"] == "/problems/key-reused"
    assert Run.objects.count() == 1


def test_a_key_belongs_to_a_team(program):
    other = make_team()
    read_answer(program.post(key="k"), 201)
    read_answer(Program(other, make_user(team=other)).post(("a.txt", summary(reads=1)), key="k"), 201)
    assert Run.objects.count() == 2


def test_a_refused_request_leaves_its_key_free(program):
    read_answer(program.post(("a.txt", b"nothing of the kind\n"), key="k"), 415)
    assert nothing_stored()
    read_answer(program.post(key="k"), 201)


def test_keys_of_requests_are_forgotten_in_time(program):
    from datetime import timedelta

    from django.utils import timezone

    program.post(key="old")
    UploadKey.objects.update(created_at=timezone.now() - timedelta(days=8))
    program.post(("a.txt", summary(reads=3)), key="new")
    keys.expire()
    assert sorted(UploadKey.objects.values_list("key", flat=True)) == ["new"]
    assert Run.objects.count() == 2


# --- who ---


def test_it_needs_the_scope(team, user):
    reader = Program(team, user, "runs:read")
    assert read_answer(reader.post(), 403)["type"] == "/problems/insufficient-scope"
    reader.token = "bs_none"
    assert read_answer(reader.post(), 401)
    assert nothing_stored()


def test_it_needs_a_role_that_may(team):
    viewer = make_user(team=team, role=Role.RUNNER)
    program = Program(team, viewer)
    from benchsite.accounts.models import Membership

    Membership.objects.filter(user=viewer).update(role=Role.VIEWER)
    assert read_answer(program.post(), 403)


def test_token_revoked_during_the_upload_stores_nothing(program, monkeypatch):
    def slowly(request):
        ApiToken.objects.update(revoked_at=Now())
        return read_body(request)

    monkeypatch.setattr(uploads, "read_body", slowly)
    monkeypatch.setattr(uploads, "LONG_S", -1.0)
    assert read_answer(program.post(), 401)["type"] == "/problems/unauthenticated"
    assert nothing_stored()


def test_an_upload_of_another_team_is_not_there(program):
    upload = read_answer(program.post(), 201)["url"]
    other = make_team()
    assert read_answer(Program(other, make_user(team=other)).get(upload), 404)
    assert read_answer(program.get(upload), 200)["state"] == "saved"


def test_pages_know_uploads_by_programs(program, client_in):
    read_answer(program.post(), 201)
    upload = Upload.objects.get()
    assert client_in.get(f"/import/{upload.pk}/").status_code == 200
    assert client_in.get("/import/").status_code == 200

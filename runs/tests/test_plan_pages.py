"""The pages of running again: a plan saved, imported onto other machines, or run by hand; nothing is half stored."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from benchsite.accounts.models import Role
from conftest import signed_in
from runs.kits.by_hand import Place, plan_by_hand
from runs.kits.cells import cell_name
from runs.kits.plan import planned
from runs.kits.plan_export import export_plan
from runs.kits.plan_file import read_plan
from runs.models import Cluster, Database, Matrix, Run, Upload
from runs.models.run import Status
from runs.planning import expand
from runs.tests.factories import make_cluster, make_load_generator, make_machine, make_user
from runs.tests.planning_world import a_matrix

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def counts():
    return Matrix.objects.count(), Database.objects.count(), Run.objects.count()


def test_it_offers_the_plan_file_and_the_kit(client_in, team):
    matrix = a_matrix(team)
    page = client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()
    for name in ("matrix-plan", "matrix-kit"):
        assert reverse(name, args=[matrix.pk]) in page
    saved = client_in.get(reverse("matrix-plan", args=[matrix.pk]))
    assert saved.content.decode() == export_plan(matrix)
    assert saved["Content-Disposition"].startswith("attachment; ")
    with zipfile.ZipFile(io.BytesIO(client_in.get(reverse("matrix-kit", args=[matrix.pk])).content)) as kit:
        assert kit.testzip() is None


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


def test_it_plans_runs_by_hand_that_nobody_schedules(client_in, team):
    text = export_plan(a_matrix(team))
    answer = client_in.post(
        reverse("plan-import"), {"plan": text, "by_hand": "yes", "hardware": "a laptop", "same_host": "yes"}
    )
    matrix = Matrix.objects.get(by_hand=True)
    assert answer["Location"] == reverse("matrix", args=[matrix.pk])
    runs = list(matrix.runs.all())
    assert {run.status for run in runs} == {Status.QUEUED} and {run.source for run in runs} == {"by_hand"}
    assert export_plan(matrix) == text
    assert runs[0].spec["stated"]["hardware"] == "a laptop"
    page = client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()
    assert "run by hand" in page and "Redis 7" in page and reverse("matrix-outputs", args=[matrix.pk]) in page
    assert "to be run by hand" in client_in.get(reverse("run", args=[runs[0].pk])).content.decode()
    assert "waits for outputs" in client_in.get(reverse("matrices")).content.decode()


def test_excluded_cells_of_a_manual_plan_show_their_reason(client_in, team, user):
    exclusions = [{"match": {"rung": 8}, "reason": "too many connections"}]
    text = export_plan(a_matrix(team, exclusions=exclusions, rungs=[4, 8], repeats=1, bracket=False))
    matrix = plan_by_hand(team, read_plan(text), Place(), user)
    page = client_in.get(reverse("matrix", args=[matrix.pk])).content.decode()
    assert "not run" in page and "too many connections" in page
    assert page.count("too many connections") >= matrix.runs.filter(threads=4, phase="measure").count()


@pytest.mark.parametrize("text", ["", "a = 1", "[[[", "\0", "format = 'benchsite-plan'\nversion = 1"])
def test_it_says_why_a_file_is_no_plan(client_in, text):
    page = client_in.post(reverse("plan-import"), {"plan": text})
    assert page.status_code == 422 and 'role="alert"' in page.content.decode()


def by_hand(team, user) -> Matrix:
    text = export_plan(a_matrix(team, exclusions=[], overrides=[], rungs=[4], repeats=1, bracket=False))
    return plan_by_hand(team, read_plan(text), Place(), user)


def bring(client, matrix, files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    sent = {"files": SimpleUploadedFile("outputs.zip", out.getvalue())}
    answer = client.post(reverse("matrix-outputs", args=[matrix.pk]), sent)
    assert answer.status_code == 302, answer.content.decode()
    return answer["Location"], client.get(answer["Location"]).content.decode()


def test_names_outputs_that_do_not_fit_and_stores_nothing(client_in, team, user):
    matrix = by_hand(team, user)
    run = matrix.runs.first()
    cell = cell_name(run)
    cases = {
        "client 2 of 2 is missing": {f"outputs/{cell}.client-1.summary.txt": "x"},
        "belongs to no cell of this matrix": {"9999-another.client-1.summary.txt": "x"},
        "none of that number": {f"{cell}.client-3.summary.txt": "x"},
        "both fill the same place": {f"a/{cell}.client-1.summary.txt": "x", f"b/{cell}.client-1.summary.txt": "y"},
        "has no histogram logs": {f"{cell}.client-{n}.summary.txt": "x" for n in (1, 2)},
        "outputs of another plan": {"outputs/kit.json": '{"plan_sha256": "0"}', f"{cell}.client-1.summary.txt": "x"},
        "None of these files is an output": {"README.md": "x", "../../etc/passwd": "x"},
    }
    for says, files in cases.items():
        address, page = bring(client_in, matrix, files)
        assert says in page, (says, page)
        assert "and judge" not in page
        client_in.post(address)  # Whoever sends the form all the same stores nothing either.
    assert set(matrix.runs.values_list("status", flat=True)) == {Status.QUEUED}
    client_in.post(address, {"discard": "yes"})
    assert Upload.objects.count() == len(cases) - 1


def test_damaged_outputs_are_refused_and_fill_no_cell(client_in, team, user):
    matrix = by_hand(team, user)
    cell = cell_name(matrix.runs.first())
    files = {f"{cell}.client-{n}.{what}": "no output" for n in (1, 2) for what in ("summary.txt", "READ.hdr")}
    address, page = bring(client_in, matrix, files)
    assert "and judge" in page
    assert "Nothing was stored" in client_in.post(address, follow=True).content.decode()
    assert set(matrix.runs.values_list("status", flat=True)) == {Status.QUEUED}


def test_other_teams_see_nothing_and_viewers_only_read(stranger, client_in, team, user):
    matrix = by_hand(team, user)
    bring(client_in, matrix, {"README.md": "x"})
    brought = reverse("matrix-outputs-brought", args=[matrix.pk, Upload.objects.get().pk])
    for name in ("matrix-plan", "matrix-kit", "matrix-outputs"):
        assert stranger.get(reverse(name, args=[matrix.pk])).status_code == 404
    assert stranger.get(brought).status_code == 404 and stranger.post(brought).status_code == 404
    assert stranger.get(reverse("plan-import") + f"?from={matrix.pk}").status_code == 404
    viewer = signed_in(make_user(team=team, role=Role.VIEWER))
    assert viewer.get(reverse("matrix-kit", args=[matrix.pk])).status_code == 200
    for address in (reverse("plan-import"), reverse("matrix-outputs", args=[matrix.pk]), brought):
        assert viewer.get(address).status_code == 403
    ordinary = a_matrix(team, " again")
    assert client_in.get(reverse("matrix-outputs", args=[ordinary.pk])).status_code == 404
    assert client_in.get(reverse("plan-import") + "?from=nonsense").status_code == 404


def test_it_asks_few_queries_however_large_the_plan(client_in, team, user, django_assert_max_num_queries):
    matrix = by_hand(team, user)
    for address in (reverse("matrix-outputs", args=[matrix.pk]), reverse("matrix", args=[matrix.pk])):
        with django_assert_max_num_queries(25):
            client_in.get(address)
    ordinary = a_matrix(team, " again")
    with django_assert_max_num_queries(30):
        client_in.get(reverse("plan-import") + f"?from={ordinary.pk}")

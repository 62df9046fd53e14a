"""Deleting a matrix with all that hangs on it, restoring it to the byte, and forgetting it."""

from datetime import timedelta
from importlib import import_module
from itertools import product

import pytest
from django.apps import apps
from django.db import connection
from django.utils.timezone import now

from benchsite.accounts.models import AuditEntry, Role
from conftest import signed_in
from runs.models import (
    Cluster,
    Database,
    Deletion,
    Deployment,
    Finding,
    Matrix,
    Measurement,
    MeasurementSet,
    Run,
    RunEvent,
    Series,
    Workload,
)
from runs.models.deletion import RESTORABLE_FOR
from runs.results import artifacts
from runs.results.deletion import (
    DeletionRefused,
    RestoreRefused,
    delete,
    find_exclusive_parts,
    forget_old_deletions,
    restore,
    select_matrix,
)
from runs.tests.factories import make_client_run, make_matrix, make_run, make_sweep, make_user
from runs.tests.pages import count_queries, get_text
from runs.tests.world import make_world

pytestmark = pytest.mark.django_db
SINCE = ("runs_deletion", "teams_auditentry", "django_session", "teams_user")


@pytest.fixture(autouse=True)
def own_artifacts(settings, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "artifacts": {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path / "artifacts"}},
    }


@pytest.fixture
def admin(team):
    return signed_in(make_user(team=team, role=Role.ADMIN, username="ada"))


@pytest.fixture
def measured(team):
    """A matrix with two sweeps, results of every kind, a load that they need, and things that point at it."""
    matrix = make_world(team, name="study").matrix
    load = make_run(make_sweep(matrix=matrix, team=team, phase="load"))
    for threads in (2, 4):
        run = make_run(make_sweep(matrix=matrix, team=team), threads=threads, needs=load)
        make_client_run(run)
        artifacts.store(run, "summary", "client-0.txt", f"[OVERALL], RunTime(ms), {threads}\n".encode())
        cut = MeasurementSet.objects.create(run=run, number=2, is_current=False, throughput_ops_s=0.1 + 0.2)
        Measurement.objects.create(measurement_set=cut, operation="READ", p99_us=1 / 3, bounds={"p99": [1, None]})
        Finding.objects.create(measurement_set=cut, check_id="V01", severity="pass", title="ü\t“\u2028”", message="\\n")
        Series.objects.create(run=run, operation="READ", points=2, data=bytes(range(256)))
        RunEvent.objects.create(run=run, kind="status", new="running")
        change_points = apps.get_model("reports", "ChangePoint").objects
        change_points.create(team=team, config_key="k", metric="mean", run=run, state="new")
    make_matrix(team=team, name="the plan that was tried").trials.add(matrix)
    trial = make_matrix(team=team, name="a trial")
    Matrix.objects.filter(pk=trial.pk).update(trial_of=matrix)
    return matrix


def dump():
    """Every row of every table as PostgreSQL writes it, but of what may differ after restoring."""
    rows = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            if table not in SINCE:
                # Triggers count histories anew, under new keys.
                derived = "id" if table == "reports_history" else ""
                cursor.execute(f"SELECT (to_jsonb(t) - '{derived}')::text FROM \"{table}\" t")
                rows[table] = sorted(text for (text,) in cursor)
    return rows


def test_a_restored_matrix_is_equal_to_the_byte(team, user, measured):
    before = dump()
    deletion = delete(select_matrix(measured), user, team)
    assert not Run.objects.filter(matrix=measured).exists()
    assert not Matrix.objects.filter(pk=measured.pk).exists()
    assert Matrix.objects.get(name="a trial").trial_of is None
    assert (deletion.runs, deletion.kind, deletion.name) == (4, "matrix", "study")
    restore(deletion, user)
    after = dump()
    assert {table: rows for table, rows in after.items() if rows != before[table]} == {}
    assert not Deletion.objects.exists()
    kinds = list(AuditEntry.objects.order_by("id").values_list("kind", "subject"))
    assert kinds == [("thing_deleted", "study"), ("deletion_restored", "study")]


def test_what_only_it_uses_goes_along_and_comes_back(team, user, measured):
    shared = make_world(team, name="other")
    shared.matrix.workloads.add(measured.workloads.get())
    parts = find_exclusive_parts(measured)
    assert {type(part) for part in parts} == {Database, Cluster}
    before = dump()
    deletion = delete(select_matrix(measured, parts), user, team)
    assert not Database.objects.filter(name="study").exists()
    assert Workload.objects.filter(matrices=shared.matrix).count() == 2
    restore(deletion, user)
    assert dump() == before


def test_a_database_is_free_to_go_once_its_matrix_has_gone(team, admin, measured):
    database = measured.entries.get().database
    assert "It cannot be deleted" in get_text(admin.get(f"/databases/{database.pk}/delete/"))
    page = get_text(admin.get(f"/matrices/{measured.pk}/delete/"))
    assert "<li>4 runs</li>" in page and "<li>3 sweeps</li>" in page
    assert "the database “study”" in page
    answer = admin.post(f"/matrices/{measured.pk}/delete/", {"part": [str(database.pk)]}, follow=True)
    assert "The matrix “study” was deleted, with the database study." in get_text(answer)
    assert not Database.objects.filter(pk=database.pk).exists()
    assert "study, with the database study</th>" in get_text(admin.get("/deleted/"))
    answer = admin.post("/deleted/", {"restore": str(Deletion.objects.get().pk)}, follow=True)
    assert answer.redirect_chain == [(f"/matrices/{measured.pk}/", 302)]
    assert "“study, with the database study” was restored." in get_text(answer)
    assert Database.objects.filter(pk=database.pk).exists()
    assert admin.get(f"/matrices/{measured.pk}/").status_code == 200


def test_one_box_deletes_all_parts_and_one_button_restores_them(admin, measured):
    parts = Cluster.objects.filter(name="study"), Database.objects.filter(name="study")
    page = get_text(admin.get(f"/matrices/{measured.pk}/delete/"))
    assert "all of these" in page
    answer = get_text(admin.post(f"/matrices/{measured.pk}/delete/", {"part": ["all"]}, follow=True))
    assert [part.count() for part in parts] == [0, 0]
    undo = f'name="restore" value="{Deletion.objects.get().pk}">Undo</button>'
    assert undo in answer and 'action="/deleted/"' in answer
    admin.post("/deleted/", {"restore": str(Deletion.objects.get().pk)})
    assert [part.count() for part in parts] == [1, 1]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_it_stays_while_a_run_has_not_ended(team, user, admin, measured, status):
    make_run(make_sweep(matrix=measured, team=team), threads=9, status=status)
    assert "9t r1" in get_text(admin.get(f"/matrices/{measured.pk}/delete/"))
    assert admin.post(f"/matrices/{measured.pk}/delete/").status_code == 409
    with pytest.raises(DeletionRefused):
        delete(select_matrix(measured), user, team)
    assert measured.runs.count() == 5


def test_it_stays_while_its_servers_have_a_folder(team, user, measured):
    entry = measured.entries.get()
    fields = {"cluster": entry.database.cluster, "database": entry.database, "matrix": measured, "mode": entry.mode}
    deployment = Deployment.objects.create(**fields, state="down")
    with pytest.raises(DeletionRefused):
        delete(select_matrix(measured), user, team)
    Deployment.objects.filter(pk=deployment.pk).update(state="gone")
    delete(select_matrix(measured), user, team)


def test_a_run_that_is_added_meanwhile_keeps_it(team, user, measured):
    selection = select_matrix(measured)
    make_run(make_sweep(matrix=measured, team=team), threads=9)
    with pytest.raises(DeletionRefused, match="added just now"):
        delete(selection, user, team)
    assert measured.runs.count() == 5


def test_a_name_that_is_taken_refuses_to_restore(team, user, measured):
    database = measured.entries.get().database
    deletion = delete(select_matrix(measured, find_exclusive_parts(measured)), user, team)
    Database.objects.create(team=team, name=database.name, cluster=make_world(team, name="new").cluster, system="redis")
    with pytest.raises(RestoreRefused, match=r"A name of it is taken.*already exists"):
        restore(deletion, user)
    assert Deletion.objects.exists()
    assert not Matrix.objects.filter(pk=measured.pk).exists()


def test_says_before_restoring_what_is_gone(team, user, admin, measured):
    database = measured.entries.get().database
    deletion = delete(select_matrix(measured), user, team)
    database.delete()
    with pytest.raises(RestoreRefused, match="needs what was removed for ever: the database “study”"):
        restore(deletion, user)
    assert not Matrix.objects.filter(pk=measured.pk).exists()
    page = get_text(admin.get("/deleted/"))
    assert "removed for ever: the database “study”" in page and "not restorable" in page
    assert f'name="restore" value="{deletion.pk}"' not in page


@pytest.mark.parametrize("restored_first", [0, 1])
@pytest.mark.parametrize("with_parts", list(product([False, True], repeat=2)))
@pytest.mark.parametrize("deleted_first", [0, 1])
def test_restores_shared_parts_in_every_order(team, user, measured, deleted_first, with_parts, restored_first):
    """Two matrices of one database, cluster and workload; each may take along what nothing else uses then."""
    entry = measured.entries.get()
    workload = measured.workloads.get()
    twin = make_matrix(team=team, name="twin", entries=[(entry.database, "always")], workloads=[workload])
    make_run(make_sweep(matrix=twin, team=team, database=entry.database, workload=workload))
    before = dump()
    matrices = [measured, twin]
    deletions = {}
    for number, takes_parts in zip([deleted_first, 1 - deleted_first], with_parts, strict=True):
        matrix = matrices[number]
        parts = find_exclusive_parts(matrix) if takes_parts else []
        deletions[number] = delete(select_matrix(matrix, parts), user, team)
    for number in (restored_first, 1 - restored_first):
        restore(deletions[number], user)
        assert Matrix.objects.get(pk=matrices[number].pk).entries.get().database == entry.database
    after = dump()
    assert {table: rows for table, rows in after.items() if rows != before[table]} == {}


def test_trash_keeps_what_a_restorable_matrix_needs(team, user, admin, measured):
    entry = measured.entries.get()
    twin = make_matrix(team=team, name="twin", entries=[(entry.database, "always")])
    first = delete(select_matrix(twin), user, team)
    page = get_text(admin.get(f"/matrices/{measured.pk}/delete/"))
    assert "(used in the trash by “twin”" in page
    second = delete(select_matrix(measured, find_exclusive_parts(measured)), user, team)
    assert f"What it uses of “{second.name}” comes back with it" in get_text(admin.get("/deleted/"))
    Deletion.objects.filter(pk=second.pk).update(deleted_at=now() - RESTORABLE_FOR - timedelta(minutes=1))
    forget_old_deletions()
    answer = get_text(admin.post("/deleted/", {"forget": str(second.pk)}, follow=True))
    assert f"“{second.name}” stays in the trash: “twin” needs it" in answer
    restore(first, user)
    assert twin.entries.get().database == entry.database
    forget_old_deletions()
    assert not Deletion.objects.exists()


def delete_two_of_one_database(team, user, name):
    """The first needs what the second one took along."""
    matrix = make_world(team, name=name).matrix
    entry, workload = matrix.entries.get(), matrix.workloads.get()
    twin = make_matrix(team=team, name=f"twin {name}", entries=[(entry.database, "always")], workloads=[workload])
    make_run(make_sweep(matrix=twin, team=team, database=entry.database, workload=workload))
    first = delete(select_matrix(twin), user, team)
    return first, delete(select_matrix(matrix, find_exclusive_parts(matrix)), user, team)


def test_trash_asks_for_all_rows_at_once(team, user, admin):
    delete_two_of_one_database(team, user, "first")
    few = count_queries(admin, "/deleted/")
    for name in ("second", "third", "fourth"):
        delete_two_of_one_database(team, user, name)
    assert count_queries(admin, "/deleted/") == few <= 15
    page = get_text(admin.get("/deleted/"))
    for name in ("first", "second", "third", "fourth"):
        assert f"What it uses of “{name}, with the" in page


def test_needs_of_older_deletions_are_those_of_their_rows(team, user):
    """A release before stored neither what a deletion holds nor what it needs."""
    deletions = delete_two_of_one_database(team, user, "study")
    stored = [(sorted(row.holds), sorted(row.needs)) for row in deletions]
    Deletion.objects.update(holds=[], needs=[])
    import_module("runs.migrations.0069_needs_of_older_deletions").fill_needs(apps, None)
    filled = [Deletion.objects.get(pk=row.pk) for row in deletions]
    assert [(sorted(row.holds), sorted(row.needs)) for row in filled] == stored
    Deletion.objects.update(holds=[], needs=[], sha256="0" * 64)
    import_module("runs.migrations.0069_needs_of_older_deletions").fill_needs(apps, None)
    assert not any(Deletion.objects.values_list("needs", flat=True)), "the content is gone"


def test_after_thirty_days_rows_and_contents_are_gone(
    team, user, measured, django_capture_on_commit_callbacks, settings
):
    folder = settings.STORAGES["artifacts"]["OPTIONS"]["location"]
    with django_capture_on_commit_callbacks(execute=True):
        deletion = delete(select_matrix(measured), user, team)
        forget_old_deletions()
    assert len(list(folder.rglob("*.zst"))) == 3  # two summaries and the rows
    Deletion.objects.filter(pk=deletion.pk).update(deleted_at=now() - RESTORABLE_FOR - timedelta(minutes=1))
    with django_capture_on_commit_callbacks(execute=True):
        forget_old_deletions()
    assert list(folder.rglob("*.zst")) == []
    assert not Deletion.objects.exists()


def test_another_team_sees_and_restores_nothing(team, user, stranger, measured):
    deletion = delete(select_matrix(measured), user, team)
    assert "study" not in get_text(stranger.get("/deleted/"))
    assert stranger.post("/deleted/", {"restore": str(deletion.pk)}).status_code in (403, 404)
    assert Deletion.objects.exists()


def test_only_admins_delete_and_restore(client_in, measured):
    assert client_in.get(f"/matrices/{measured.pk}/delete/").status_code == 403
    assert client_in.post(f"/matrices/{measured.pk}/delete/").status_code == 403
    assert client_in.get("/deleted/").status_code == 200
    assert client_in.post("/deleted/", {"restore": str(measured.pk)}).status_code == 403


def test_an_archived_matrix_is_left_out_of_the_list(client_in, measured):
    client_in.post(f"/matrices/{measured.pk}/archive/")
    assert "“study”" not in get_text(client_in.get("/matrices/"))
    assert f"/matrices/{measured.pk}/" not in client_in.get("/matrices/").content.decode()
    assert f"/matrices/{measured.pk}/" in client_in.get("/matrices/?archived=1").content.decode()
    client_in.post(f"/matrices/{measured.pk}/archive/")
    assert f"/matrices/{measured.pk}/" in client_in.get("/matrices/").content.decode()

"""A plan file that defines what it names, applied by REST: what differs is changed, all of it or nothing."""

import re
import threading
from typing import Any

import pytest
from django.db import connection, transaction

from benchsite.accounts.models import Role, User
from benchsite.tests.asking import Program, make_program, problem
from benchsite.tests.test_foreign_ids_everywhere import versions
from runs.definitions.kinds import lock
from runs.models import AppliedDefinition, Cluster, Database, Machine, Matrix, Run, Workload
from runs.models.run import Status
from runs.queue import lifecycle
from runs.queue.reasons import Reason
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_run,
    make_sweep,
    make_team,
)
from runs.tests.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PASSWORD = "open sesame"
FILE = """\
format = "benchsite-plan"
version = 3

[machines.bench-01]
host_key = "key-1"
facts = { disk = "NVMe", memory_bytes = 68719476736 }

[clusters.lab]
provisioner = "process"
nodes = [{ machine = "bench-01" }]

[databases.Redis]
system = "redis"
cluster = "lab"
settings = { io-threads = 2, maxmemory = "1gb" }

[workloads."A: half reads"]
short_name = "A"
properties = { recordcount = 1000, readproportion = 0.5, updateproportion = 0.5 }

[matrix]
name = "nightly"
entries = [{ database = "Redis", mode = "everysec" }]
workloads = ["A: half reads"]
rungs = [2, 8]
repeats = 1
warmup_s = 1
measure_s = 10
"""
NAMES = [("machine", "bench-01"), ("cluster", "lab"), ("database", "Redis"), ("workload", "A: half reads"),
         ("matrix", "nightly")]  # fmt: skip
SECRET = 'cluster = "lab"\nbinding_properties = { "redis.password" = "(kept)" }\n'
DEFINITIONS = FILE.partition("[matrix]")[0]


@pytest.fixture(autouse=True)
def unlimited_requests(settings):
    settings.API_REQUESTS_PER_MINUTE = 0


@pytest.fixture
def program(team) -> Program:
    """Of an operator."""
    program = make_program(team)
    User.objects.update(is_staff=True)
    return program


def apply(program: Program, file: str = FILE, *, dry_run: bool = False, **body: Any) -> Any:
    answer = program.ask("POST", f"/apply?dry_run={dry_run:d}", {"file": file, **body})
    assert answer.status_code == 200, answer.content
    return answer.json()


def row_versions() -> dict[tuple[str, str], tuple[str, str]]:
    """Of all rows but the tokens', which tell when they were used."""
    return {key: version for key, version in versions().items() if key[0] != "teams.ApiToken"}


def refused(program: Program, status: int, slug: str, file: str = FILE, **body: Any) -> dict[str, Any]:
    """The refusal, with nothing stored."""
    before = row_versions()
    refusal = problem(program.ask("POST", "/apply", {"file": file, **body}), status, slug)
    assert row_versions() == before
    return refusal


def actions(answer: Any) -> list[str]:
    assert [(change["kind"], change["name"]) for change in answer["changes"]] == NAMES[: len(answer["changes"])]
    return [change["action"] for change in answer["changes"]]


def changed_fields(answer: Any) -> dict[str, tuple[Any, Any]]:
    return {
        f"{change['kind']} {field['field']}": (field["from"], field["to"])
        for change in answer["changes"]
        for field in change["fields"]
    }


def test_dry_run_shows_and_stores_nothing(program):
    before = row_versions()
    answer = apply(program, dry_run=True, run="new")
    assert row_versions() == before
    assert actions(answer) == ["create"] * 5
    assert changed_fields(answer)["database settings/maxmemory"] == (None, "1GB")
    assert "database notes" not in changed_fields(answer)
    assert answer["dry_run"] and not answer["needs_overwrite"]
    matrix = answer["matrix"]
    assert (matrix["id"], matrix["permalink"], matrix["is_queued"]) == (None, None, True)
    assert matrix["preview"]["problems"][0]["pointer"] == "#/load_generators"


def test_nodes_that_load_generators_start_are_applied_once(program):
    for number in (1, 2):
        machine = make_machine(name=f"lab-{number}")
        make_load_generator(machine=machine, facts={"node_address": f"10.0.0.{number}"})
    nodes = '[{ machine = "lab-1" }, { machine = "lab-2" }]'
    file = f'format = "benchsite-plan"\nversion = 3\n[clusters.lab]\nprovisioner = "process"\nnodes = {nodes}\n'

    assert [change["action"] for change in apply(program, file)["changes"]] == ["create"]
    assert Cluster.objects.get().addresses == ["10.0.0.1", "10.0.0.2"]
    assert [change["action"] for change in apply(program, file)["changes"]] == ["none"]


def test_apply_makes_all_and_a_second_stores_nothing(program, team):
    answer = apply(program)
    assert actions(answer) == ["create"] * 5
    database = Database.objects.select_related("cluster").get()
    assert (database.name, database.settings) == ("Redis", {"io-threads": "2", "maxmemory": "1GB"})
    assert [node.machine.host_key for node in database.cluster.nodes.all()] == ["key-1"]
    matrix = Matrix.objects.get()
    assert (str(matrix.pk), matrix.team, matrix.rungs) == (answer["matrix"]["id"], team, [2, 8])
    assert not answer["matrix"]["is_queued"] and matrix.submitted_at is None

    before = row_versions()
    again = apply(program)
    assert row_versions() == before
    assert actions(again) == ["none"] * 5 and again["matrix"] == answer["matrix"]
    assert changed_fields(apply(program, dry_run=True)) == {}


def test_changes_only_what_differs(program):
    apply(program)
    before = row_versions()
    file = FILE.replace("io-threads = 2", "io-threads = 4").replace('"NVMe"', '"SATA"').replace("[2, 8]", "[2, 4, 8]")
    expected = {
        "machine facts/disk": ("NVMe", "SATA"),
        "database settings/io-threads": ("2", "4"),
        "matrix rungs": ([2, 8], [2, 4, 8]),
    }
    assert changed_fields(apply(program, file, dry_run=True)) == expected
    answer = apply(program, file)
    assert changed_fields(answer) == expected
    assert actions(answer) == ["change", "none", "change", "none", "change"]
    after = row_versions()
    changed = {label for label, key in before if before[label, key] != after.get((label, key))}
    assert changed == {"runs.Machine", "runs.Database", "runs.Matrix", "runs.MatrixEntry", "runs.AppliedDefinition"}
    assert Matrix.objects.get().rungs == [2, 4, 8]
    assert actions(apply(program, file)) == ["none"] * 5


def test_field_that_the_file_leaves_out_stays(program):
    apply(program)
    Database.objects.update(notes="asked by Ada", version="7.2")
    answer = apply(program)
    assert actions(answer) == ["none"] * 5 and not answer["needs_overwrite"]
    apply(program, FILE.replace("io-threads = 2", "io-threads = 3"))
    database = Database.objects.get()
    assert (database.notes, database.version, database.settings["io-threads"]) == ("asked by Ada", "7.2", "3")


def test_change_on_the_pages_is_not_overwritten_silently(program):
    apply(program)
    Database.objects.update(settings={"io-threads": "8", "maxmemory": "1GB"})
    answer = apply(program, dry_run=True)
    [change] = [change for change in answer["changes"] if change["changed_elsewhere"]]
    assert change["fields"] == [
        {"field": "settings/io-threads", "from": "8", "to": "2", "changed_elsewhere": True, "applied": "2"}
    ]
    assert answer["needs_overwrite"]

    refusal = refused(program, 409, "changed-elsewhere")
    assert "database “Redis”" in refusal["detail"]
    [fault] = refusal["errors"]
    assert fault["pointer"] == "#/databases/Redis/settings/io-threads"
    assert fault["detail"].startswith("line ") and "'8'" in fault["detail"]

    other = FILE.replace('"NVMe"', '"SATA"')
    assert "machine" not in refused(program, 409, "changed-elsewhere", other)["detail"]
    assert actions(apply(program, other, overwrite=True)) == ["change", "none", "change", "none", "none"]
    assert Database.objects.get().settings["io-threads"] == "2"
    assert not apply(program, other)["needs_overwrite"]


def test_change_on_the_pages_to_what_the_file_has_is_no_conflict(program):
    apply(program)
    Database.objects.update(settings={"io-threads": "8", "maxmemory": "1GB"})
    file = FILE.replace("io-threads = 2", "io-threads = 8")
    assert actions(apply(program, file)) == ["none"] * 5
    assert actions(apply(program, file.replace("= 8,", "= 9,"))) == ["none", "none", "change", "none", "none"]


def test_what_was_deleted_since_is_not_made_again_silently(program):
    apply(program, DEFINITIONS)
    Workload.objects.all().delete()
    answer = apply(program, DEFINITIONS, dry_run=True)
    assert [change["changed_elsewhere"] for change in answer["changes"]] == [False, False, False, True]
    assert "was deleted since" in refused(program, 409, "changed-elsewhere", DEFINITIONS)["errors"][0]["detail"]
    apply(program, DEFINITIONS, overwrite=True)
    assert Workload.objects.get().name == "A: half reads"


def test_rows_of_the_pages_are_adopted_where_nothing_is_lost(program, team):
    machine = make_machine(name="bench-01", host_key="key-1", facts={})
    cluster = make_cluster(team=team, name="lab", machines=[machine])
    make_database(team=team, cluster=cluster, name="Redis", version="7.2", settings={"maxmemory": "2GB"})
    refusal = refused(program, 409, "changed-elsewhere")
    assert [fault["pointer"] for fault in refusal["errors"]] == ["#/databases/Redis/settings/maxmemory"]
    Database.objects.update(settings={})
    assert actions(apply(program)) == ["change", "none", "change", "create", "create"]
    assert Database.objects.get().version == "7.2"


@pytest.mark.parametrize(
    ("old", "new", "pointer", "message"),
    [
        ('machine = "bench-01"', 'machine = "bench-02"', "#/clusters/lab/nodes/0/machine", "“bench-02”"),
        ('cluster = "lab"', 'cluster = "lap"', "#/databases/Redis/cluster", "There is no cluster “lap”"),
        ('database = "Redis"', 'database = "Radis"', "#/matrix/entries/0/database", "no database “Radis”"),
        ('"everysec"', '"everysek"', "#/matrix/entries/0/mode", "Did you mean 'everysec'?"),
        ('workloads = ["A: half reads"]', 'workloads = ["B"]', "#/matrix/workloads/0", "no workload “B”"),
        ("io-threads", "io-thraeds", "#/databases/Redis/settings", "Did you mean 'io-threads'?"),
        ("readproportion", "redproportion", "#/workloads/A: half reads/properties", "Did you mean 'readproportion'?"),
        ("rungs = [2, 8]", "rungs = []", "#/matrix/rungs", ""),
    ],
)
def test_refuses_values_and_names_that_are_not_there(program, old, new, pointer, message):
    assert old in FILE
    refusal = refused(program, 400, "validation-error", FILE.replace(old, new))
    [fault] = refusal["errors"]
    assert fault["pointer"] == pointer and message in fault["detail"] and fault["detail"].startswith("line ")


def test_all_faults_of_a_kind_are_named_at_once(program):
    more = '[databases.SQL]\nsystem = "sql"\ncluster = "lab"\n[workloads'
    file = FILE.replace("io-threads", "io-thraeds").replace("[workloads", more, 1)
    pointers = [fault["pointer"] for fault in refused(program, 400, "validation-error", file)["errors"]]
    assert pointers == ["#/databases/Redis/settings", "#/databases/SQL/system"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[machines.bench-01]", "[machines.bench-01", "no TOML"),
        ("version = 3", "version = 2", "line 2, the plan: version must be 3"),
        ("benchsite-plan", "plan", "line 1"),
        ("host_key", "host_kye", "line 5, machines.bench-01: 'host_kye' is not known here. Did you mean 'host_key'?"),
        ("[databases", "[database", "'database' is not known here. Did you mean 'databases'?"),
        ('short_name = "A"', "short_name = 7", "short_name must be a text in quotes"),
        ('name = "nightly"\n', "", "name is missing"),
        ("io-threads = 2", "io-threads = [2]", "io-threads must be a number, true, false or a text"),
        ("io-threads = 2", "io-threads = 1e400", "io-threads must be a number, true, false or a text"),
        ("repeats = 1", "repeats = 0", "repeats must be a whole number from 1 to 50"),
    ],
)
def test_refuses_a_file_that_is_none_with_its_line(program, old, new, message):
    assert old in FILE
    assert message in refused(program, 422, "plan-refused", FILE.replace(old, new))["detail"]


def test_a_matrix_that_cannot_run_leaves_nothing_behind(program):
    refusal = refused(program, 422, "plan-refused", run="new")
    assert refusal["errors"][0]["pointer"] == "#/matrix/load_generators"
    assert not Machine.objects.exists() and not AppliedDefinition.objects.exists()


def test_change_of_what_runs_is_refused_with_the_run(program, team):
    apply(program)
    database, workload = Database.objects.get(), Workload.objects.get()
    run = make_run(make_sweep(team=team, database=database, workload=workload), status="running")
    for old, new in (
        ('host_key = "key-1"', 'host_key = "key-2"'),
        ('provisioner = "process"', 'provisioner = "docker"'),
        ("io-threads = 2", "io-threads = 4"),
        ("recordcount = 1000", "recordcount = 2000"),
    ):
        assert f"The run “{run.name}” uses this" in refused(program, 409, "conflict", FILE.replace(old, new))["detail"]
    assert actions(apply(program)) == ["none"] * 5
    lifecycle.transition(run.pk, Status.FAILED, actor="test", reason=Reason.CLIENT_FAILED)
    assert actions(apply(program, FILE.replace("recordcount = 1000", "recordcount = 2000")))[3] == "change"


def test_secret_comes_with_the_request_and_stays_hidden(program):
    file = DEFINITIONS.replace(
        'cluster = "lab"\n', 'cluster = "lab"\nbinding_properties = { "redis.password" = "(kept)" }\n'
    )
    assert "no secret is stored" in refused(program, 400, "validation-error", file)["errors"][0]["detail"]
    secrets = {"Redis": {"redis.password": PASSWORD}}
    answers = [apply(program, file, secrets=secrets), apply(program, file, secrets=secrets), apply(program, file)]
    assert [actions(answer)[2] for answer in answers] == ["create", "none", "none"]
    other = apply(program, file, secrets={"Redis": {"redis.password": "another"}})
    assert changed_fields(other) == {"database binding_properties/redis.password": ("(kept)", "(kept)")}
    Database.objects.update(binding_properties={"redis.password": "of the pages"})
    answer = apply(program, file, secrets=secrets, dry_run=True)
    assert answer["needs_overwrite"] and answer["changes"][2]["fields"][0]["applied"] == "(kept)"
    records = list(AppliedDefinition.objects.values_list("values", flat=True))
    text = str([*answers, other, answer, records])
    assert not [secret for secret in (PASSWORD, "another", "of the pages") if secret in text]
    refusal = refused(program, 400, "validation-error", file, secrets={"Rdis": {"redis.password": "x"}})
    assert refusal["errors"][0]["pointer"] == "secrets/Rdis"


def test_each_kind_needs_its_scope_where_it_changes(program, team):
    databases = make_program(team, "databases:write")
    assert "machines:write" in refused(databases, 403, "insufficient-scope")["detail"]
    apply(program, DEFINITIONS)
    assert "matrices:run" in refused(databases, 403, "insufficient-scope")["detail"]
    file = DEFINITIONS.replace("io-threads = 2", "io-threads = 4")
    assert actions(apply(databases, file)) == ["none", "none", "change", "none"]
    assert "machines:write" in refused(databases, 403, "insufficient-scope", file.replace("NVMe", "x"))["detail"]
    machines = make_program(team, "machines:write")
    assert "operators" in refused(machines, 403, "insufficient-scope", file.replace("NVMe", "x"))["detail"]


def test_runner_applies_what_needs_no_operator(program, team):
    apply(program)
    runner = make_program(team, "machines:write", "databases:write", "matrices:run", role=Role.RUNNER)
    assert not User.objects.latest("date_joined").is_staff
    assert actions(apply(runner, FILE.replace("[2, 8]", "[2]"))) == ["none"] * 4 + ["change"]


@pytest.fixture
def generator():
    return make_load_generator(machine=make_machine())


def test_run_queues_the_matrix_once_and_again(program, generator):
    first = apply(program, run="new")
    assert (
        first["matrix"]["is_queued"] and Run.objects.filter(matrix=first["matrix"]["id"], phase="measure").count() == 2
    )
    before = row_versions()
    assert apply(program, run="new")["matrix"] == first["matrix"]
    assert row_versions() == before
    again = apply(program, run="again")
    assert actions(again) == ["none"] * 4 + ["create"]
    assert again["matrix"]["id"] != first["matrix"]["id"] and again["matrix"]["is_queued"]
    assert Matrix.objects.count() == 2


def test_submitted_matrix_that_differs_gets_a_successor(program, generator):
    first = apply(program, run="new")["matrix"]
    file = FILE.replace("[2, 8]", "[4]")
    answer = apply(program, file, dry_run=True, run="new")
    assert (answer["matrix"]["id"], answer["matrix"]["preview"]["runs"]) == (None, 1)
    second = apply(program, file)["matrix"]
    assert second["id"] != first["id"] and not second["is_queued"]
    assert apply(program, file, run="new")["matrix"] == second | {"is_queued": True}
    assert Matrix.objects.get(pk=first["id"]).rungs == [2, 8]


def test_more_load_generators_are_no_difference(program, generator):
    apply(program, run="new")
    make_load_generator()
    assert actions(apply(program, run="new")) == ["none"] * 5


def test_exported_file_of_a_matrix_changes_nothing(program, generator):
    matrix = apply(program, run="new")["matrix"]["id"]
    text = program.get(f"/matrices/{matrix}/plan?names=1").content.decode()
    assert actions(apply(program, text, run="new")) == ["none"] * 5
    for rows in (Matrix, Run):
        assert rows.objects.exists()


def test_exported_file_has_all_but_secrets(program, team, generator):
    more = (
        'exclusions = [{ rung = 8, reason = "too long" }]\n'
        'search = { width = 0.1, slo = { operation = "READ", limit_us = 900 } }\n'
        'faults = [{ kind = "pause", at_s = 2, duration_s = 1 }]\nlabels = ["disk", "night"]\n'
    )
    file = (FILE + more).replace('cluster = "lab"\n', SECRET)
    matrix = apply(program, file, secrets={"Redis": {"redis.password": PASSWORD}})["matrix"]["id"]
    text = program.get(f"/matrices/{matrix}/plan?names=1").content.decode()
    assert PASSWORD not in text and '"redis.password" = "(kept)"' in text and "too long" in text
    assert actions(apply(program, text)) == ["none"] * 5


def test_names_of_another_team_are_not_there(program):
    make_world(make_team(), name="theirs")
    User.objects.update(is_staff=False)
    head = FILE.partition("[")[0]
    cluster = '[clusters.lab]\nnodes = [{ machine = "theirs", address = "192.0.2.1:6379" }]\n'
    assert "“theirs”" in refused(program, 400, "validation-error", head + cluster)["detail"]
    database = '[databases.Redis]\nsystem = "redis"\ncluster = "theirs"\n'
    assert "There is no cluster “theirs”" in refused(program, 400, "validation-error", head + database)["detail"]


def test_two_applies_at_once_wait_for_each_other(race):
    program = make_program(make_team())
    User.objects.update(is_staff=True)
    answers = race(lambda: apply(program), times=3)
    assert sorted(actions(answer)[0] for answer in answers) == ["create", "none", "none"]
    for rows in (Machine, Cluster, Database, Workload, Matrix, AppliedDefinition):
        assert rows._base_manager.count() == (5 if rows is AppliedDefinition else 1)


def test_apply_waits_until_another_has_ended(race):
    team = make_team()
    program = make_program(team)
    User.objects.update(is_staff=True)
    locked, order = threading.Event(), []

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            lock(team)
            locked.set()
            waiting = 0
            while not waiting:
                cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                [waiting] = cursor.fetchone()
            order.append("ended")

    def ask() -> None:
        locked.wait()
        apply(program)
        order.append("applied")

    parts = iter((hold, ask))
    race(lambda: next(parts)())
    assert order == ["ended", "applied"]


def test_documented_file_is_applied(program, settings):
    document = (settings.BASE_DIR / "docs" / "one-file.md").read_text()
    [file] = re.findall(r"```toml\n(.*?)```", document, re.DOTALL)
    make_load_generator(machine=make_machine(), bindings={"redis": "1" * 64, "postgresql": "2" * 64})
    answer = apply(program, file, run="new")
    assert [change["action"] for change in answer["changes"]] == ["create"] * 6
    assert answer["matrix"]["is_queued"] and Run.objects.filter(phase="measure").count() == 18

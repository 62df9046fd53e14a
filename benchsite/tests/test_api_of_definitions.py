"""Machines, clusters, databases and workloads by REST: as the pages take them, and with the pages' messages."""

from urllib.parse import quote

import pytest
from django.db import connection

from benchsite.accounts.models import Membership, Role, User
from benchsite.tests.asking import Program, make_program, problem
from runs.models import Cluster, Database, Deletion, Machine, Workload
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_team,
    make_workload,
)
from runs.tests.world import make_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PASSWORD = "open sesame"
RECORD = {"ack": "disk", "replicas_acked": 0, "replica_ack": "none", "reads": "primary", "loss_window_s": 1.0}
OWN_MODE = {
    "base": "always",
    "durability": RECORD,
    "server_settings": {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "yes"},
    "client_properties": {},
}
MODELS = {"machines": Machine, "clusters": Cluster, "databases": Database, "workloads": Workload}
# A name, what is sent, what is answered, and a change.
EXAMPLES = {
    "machines": (
        "db 7",
        {"host_key": "key-7", "facts": {"disk": "NVMe", "memory_bytes": 68719476736}, "teams": ["ours"]},
        {},
        {"facts": {"disk": "SATA"}, "host_key": "", "teams": []},
    ),
    "clusters": (
        "lab/north",
        {"provisioner": "external", "nodes": [{"machine": "bench-01", "address": "192.0.2.7:6379"}], "notes": "x",
         "exporters": ["http://192.0.2.7:9100/metrics"]},
        {"separates_cpus": True},
        {"provisioner": "process", "separates_cpus": False, "nodes": [{"machine": "bench-01"}], "notes": "",
         "exporters": []},
    ),
    "databases": (
        "Redis: tuned, 7.2",
        {"system": "redis", "cluster": "rack", "settings": {"maxmemory": "1gb", "io-threads": 4}, "version": "7.2"},
        {"settings": {"io-threads": "4", "maxmemory": "1GB"}, "replication_factor": 1, "own_modes": {}},
        {"system": "redis", "cluster": "rack", "own_modes": {"always-rewrite-stated": OWN_MODE}},
    ),
    "workloads": (
        "A, 50 %",
        {"short_name": "A", "properties": {"recordcount": 1000, "readproportion": 0.5, "updateproportion": 0.5}},
        {"properties": {"recordcount": "1000", "readproportion": "0.5", "updateproportion": "0.5",
                        "insertproportion": "0.0", "scanproportion": "0.0", "readmodifywriteproportion": "0.0"}},
        {"short_name": "B", "properties": {"recordcount": "9", "readproportion": "1"}, "notes": "all reads"},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def unlimited_requests(settings):
    settings.API_REQUESTS_PER_MINUTE = 0
    settings.EXTERNAL_NETWORKS = ["192.0.2.0/24"]


@pytest.fixture
def rack():
    """A team "ours" with a cluster of one machine."""
    team = make_team(slug="ours")
    return make_cluster(team=team, machines=[make_machine(name="bench-01")], name="rack")


@pytest.fixture
def operator(rack) -> Program:
    program = make_program(rack.team, "machines:write", "databases:write")
    User.objects.update(is_staff=True)
    return program


def address(kind: str, name: str) -> str:
    return f"/{kind}/{quote(name, safe='')}"


def versions() -> list[object]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id::text, xmin::text, ctid::text FROM runs_database")
        return list(cursor.fetchall())


def put(program, kind, name, definition, status=200):
    answer = program.ask("PUT", address(kind, name), definition)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize("kind", EXAMPLES)
def test_is_created_read_changed_listed_and_deleted(operator, kind):
    name, sent, answered, change = EXAMPLES[kind]
    where, rows = address(kind, name), MODELS[kind].objects
    created = put(operator, kind, name, sent, 201)
    assert created["name"] == name and created["definition"].items() >= (sent | answered).items()
    assert operator.said(where) == created
    assert created in operator.said(f"/{kind}")["items"]
    assert str(created["id"]) in created["permalink"]
    assert put(operator, kind, name, sent) == created
    assert put(operator, kind, name, created["definition"]) == created

    changed = put(operator, kind, name, change)
    assert (changed["id"], rows.filter(name=name).count()) == (created["id"], 1)
    assert changed != created and put(operator, kind, name, changed["definition"]) == changed

    assert operator.ask("DELETE", where).status_code == 204
    problem(operator.get(where), 404, "not-found")
    assert Deletion.objects.get().name == name


def test_another_address_leaves_the_name_that_programs_know(operator, rack, settings):
    settings.EXTERNAL_NETWORKS = ["192.0.2.0/24"]
    for status, port in ((201, 6379), (200, 6380)):
        nodes = [{"machine": "bench-01", "address": f"192.0.2.7:{port}"}]
        answer = put(operator, "clusters", "At 192.0.2.7:6379", {"provisioner": "external", "nodes": nodes}, status)
        assert answer["name"] == "At 192.0.2.7:6379" and answer["definition"]["nodes"] == nodes


def test_second_put_writes_no_row(operator, rack):
    definition = {"system": "redis", "cluster": "rack", "settings": {"maxmemory": "1gb"}}
    put(operator, "databases", "Redis", definition, 201)
    before = versions()
    put(operator, "databases", "Redis", definition)
    assert versions() == before
    put(operator, "databases", "Redis", {**definition, "notes": "x"})
    assert versions() != before


@pytest.mark.parametrize(
    ("kind", "definition", "pointer", "message"),
    [
        ("machines", {"facts": {"Disk": "x"}}, "#/facts", "name a fact with small letters"),
        ("machines", {"facts": {"cores": "many"}}, "#/facts", "cores is a number"),
        ("machines", {"facts": {"disk": "a\nb"}}, "#/facts", "printable characters"),
        ("machines", {"teams": ["nobody"]}, "#/teams", "nobody is not one of the available choices"),
        ("clusters", {"nodes": [{"machine": "bench-1"}]}, "#/nodes/0/machine", "Did you mean bench-01?"),
        ("clusters", {"nodes": [{"machine": "bench-01"}]}, "#/nodes/0/address", "Write where its server listens"),
        ("clusters", {"nodes": [{"machine": "bench-01", "address": "127.0.0.1:1"}]}, "#/nodes/0/address", "127.0.0.1"),
        ("clusters", {}, "#", "A cluster needs at least one node"),
        ("clusters", {"provisioner": "magic"}, "#/provisioner", "magic is not one of the available choices"),
        ("databases", {}, "#/system", "This field is required."),
        ("databases", {"system": "redis", "cluster": "x"}, "#/cluster", "There is no cluster “x”."),
        ("databases", {"system": "redis", "cluster": "rack", "replication_factor": 3}, "#/replication_factor",
         "3 copies need 3 nodes, and rack has 1."),
        ("databases", {"system": "redis", "cluster": "rack", "settings": {"maxmemmory": "1GB"}}, "#/settings",
         "Did you mean 'maxmemory'?"),
        ("databases", {"system": "redis", "cluster": "rack", "binding_properties": {"redis.password": "(kept)"}},
         "#/binding_properties/redis.password", "no secret is stored"),
        ("databases", {"system": "redis", "cluster": "rack", "client": "ycsb-0.17.0/redis"}, "#/client",
         "is not one of the available choices"),
        ("databases", {"system": "redis", "cluster": "rack", "own_modes": {"always-stated": {**OWN_MODE, "base": "x"}}},
         "#/own_modes/always-stated/base", "Redis has no durability mode x"),
        ("databases", {"system": "redis", "cluster": "rack", "own_modes": {"always": OWN_MODE}},
         "#/own_modes/always", "Write this name as always-stated."),
        ("databases", {"system": "redis", "cluster": "rack", "own_modes": {
            "a-stated": {**OWN_MODE, "durability": {**RECORD, "replicas_acked": "most"}}}},
         "#/own_modes/a-stated/durability/replicas_acked", "are a number, quorum or all"),
        ("workloads", {"short_name": "A"}, "#/properties", "Write at least recordcount and one proportion"),
        ("workloads", {"short_name": "a b", "properties": {"recordcount": 1, "readproportion": 1}}, "#/short_name",
         "Use 1 to 12 letters"),
        ("workloads", {"short_name": "A", "properties": {"recordcount": 1, "redproportion": 1}}, "#/properties",
         "Did you mean 'readproportion'?"),
        ("workloads", {"short_name": "A", "propreties": {}}, "#/propreties", "Did you mean 'properties'?"),
        ("workloads", {"short_name": "A", "properties": {"recordcount": [1]}}, "#/properties/recordcount",
         "must be a number"),
        ("workloads", {"short_name": "A", "properties": {"recordcount": "\ud800"}}, "#/properties/recordcount", ""),
        ("workloads", {"short_name": "A", "properties": {"recordcount": 10**400}}, "#/properties/recordcount",
         "must be a number"),
    ],
)  # fmt: skip
def test_refuses_with_the_messages_of_the_pages(operator, kind, definition, pointer, message):
    refusal = problem(operator.ask("PUT", address(kind, "new"), definition), 400, "validation-error")
    assert [fault for fault in refusal["errors"] if fault["pointer"] == pointer and message in fault["detail"]]
    assert not MODELS[kind].objects.filter(name="new").exists()


def test_refuses_a_second_machine_with_the_same_host_key(operator):
    make_machine(name="first", host_key="key")
    refusal = problem(operator.ask("PUT", address("machines", "second"), {"host_key": "key"}), 400, "validation-error")
    assert "two hosts are never one machine" in refusal["errors"][0]["detail"]


def test_secret_never_comes_back_and_is_kept(operator, rack):
    definition = {"system": "redis", "cluster": "rack", "binding_properties": {"redis.password": PASSWORD}}
    created = put(operator, "databases", "Redis", definition, 201)
    assert created["definition"]["binding_properties"] == {"redis.password": "(kept)"}
    put(operator, "databases", "Redis", created["definition"] | {"version": "7"})
    answers = [operator.said(address("databases", "Redis")), operator.said("/databases"), created]
    assert PASSWORD not in str(answers)
    assert Database.objects.get().binding_properties == {"redis.password": PASSWORD}
    put(operator, "databases", "Redis", definition | {"binding_properties": {"redis.password": "other"}})
    assert Database.objects.get().binding_properties == {"redis.password": "other"}
    put(operator, "databases", "Redis", definition | {"binding_properties": {}})
    assert Database.objects.get().binding_properties == {}


def test_password_in_an_address_is_a_secret_too(operator, rack):
    external = make_cluster(team=rack.team, name="ext", provisioner="external")
    external.nodes.update(address="192.0.2.7:5432")
    url = f"jdbc:postgresql://192.0.2.7/ycsb?user=a&password={PASSWORD.replace(' ', '+')}"
    make_database(team=rack.team, cluster=external, name="SQL", binding_properties={"db.url": url})
    answer = operator.said(address("databases", "SQL"))
    assert answer["definition"]["binding_properties"] == {"db.url": "(kept)"}


@pytest.mark.parametrize(
    ("kind", "blocker"),
    [("databases", "matrix study"), ("workloads", "matrix study"), ("clusters", "database study"),
     ("machines", "cluster study")],
)  # fmt: skip
def test_used_row_stays_and_names_what_needs_it(operator, rack, kind, blocker):
    make_world(rack.team, name="study")
    refusal = problem(operator.ask("DELETE", address(kind, "study")), 409, "conflict")
    assert blocker in refusal["detail"]
    assert MODELS[kind].objects.filter(name="study").exists()


CHANGES = {
    "machines": {"host_key": "other"},
    "clusters": {"provisioner": "process", "separates_cpus": False, "nodes": [{"machine": "bench-01"}]},
    "databases": {"system": "redis", "cluster": "rack", "version": "8"},
    "workloads": {"short_name": "Z", "properties": {"recordcount": 1, "readproportion": 1}},
}


@pytest.mark.parametrize("kind", CHANGES)
def test_change_of_what_runs_is_refused_with_the_run(operator, rack, kind):
    names = {"machines": "bench-01", "clusters": "rack", "databases": "Redis", "workloads": "A"}
    database = make_database(team=rack.team, cluster=rack, name="Redis")
    sweep = make_sweep(team=rack.team, database=database, workload=make_workload(team=rack.team, name="A"))
    run = make_run(sweep, status="running")
    where = address(kind, names[kind])
    before = operator.said(where)

    refusal = problem(operator.ask("PUT", where, CHANGES[kind]), 409, "conflict")

    assert f"The run “{run.name}” uses this" in refusal["detail"]
    assert operator.said(where) == before
    if kind != "machines":
        assert put(operator, kind, names[kind], before["definition"] | {"notes": "while it runs"})


def test_own_mode_of_a_matrix_is_neither_changed_nor_removed(operator, rack):
    definition = {"system": "redis", "cluster": "rack", "own_modes": {"always-rewrite-stated": OWN_MODE}}
    put(operator, "databases", "Redis", definition, 201)
    database = Database.objects.get()
    make_matrix(team=rack.team, name="nightly", entries=[(database, "always-rewrite-stated")])
    put(operator, "databases", "Redis", definition)
    other = {**OWN_MODE, "durability": {**RECORD, "loss_window_s": 2}}
    for modes in ({}, {"always-rewrite-stated": other}):
        answer = operator.ask("PUT", address("databases", "Redis"), definition | {"own_modes": modes})
        assert "the matrix “nightly” uses it" in problem(answer, 409, "conflict")["detail"]
    assert Database.objects.get().own_modes == database.own_modes


def test_only_operators_write_machines_and_clusters_they_start(rack):
    admin = make_program(rack.team, "machines:write", "runs:read")
    for kind, name, definition in (
        ("machines", "new", {}),
        ("machines", "bench-01", {"facts": {"disk": "x"}}),
        ("clusters", "new", {"provisioner": "process", "nodes": [{"machine": "bench-01"}]}),
        ("clusters", "rack", {"nodes": [{"machine": "bench-01", "address": "192.0.2.7:6379"}]}),
    ):
        problem(admin.ask("PUT", address(kind, name), definition), 403, "insufficient-scope")
    for kind, name in (("machines", "bench-01"), ("clusters", "rack")):
        problem(admin.ask("DELETE", address(kind, name)), 403, "insufficient-scope")
    put(admin, "clusters", "ext", {"nodes": [{"machine": "bench-01", "address": "192.0.2.7:6379"}]}, 201)
    assert Cluster.objects.count() == 2 and Machine.objects.get().facts["cores"]

    Membership.objects.update(role=Role.RUNNER)
    problem(admin.ask("DELETE", address("clusters", "ext")), 403, "insufficient-scope")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_token_without_the_scope_reads_at_most(rack, kind):
    name, sent, _, _ = EXAMPLES[kind]
    reader = make_program(rack.team, "runs:read")
    assert reader.get(f"/{kind}").status_code == 200
    problem(reader.ask("PUT", address(kind, name), sent), 403, "insufficient-scope")
    problem(reader.ask("DELETE", address(kind, name)), 403, "insufficient-scope")
    problem(make_program(rack.team, "reports:write").get(f"/{kind}"), 403, "insufficient-scope")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_rows_of_another_team_are_not_there(rack, kind):
    make_world(make_team(), name="theirs")
    program = make_program(rack.team)
    assert "theirs" not in program.get(f"/{kind}").content.decode()
    problem(program.get(address(kind, "theirs")), 404, "not-found")
    problem(program.ask("DELETE", address(kind, "theirs")), 404, "not-found")


def test_same_name_in_two_teams_are_two_rows(operator, rack):
    other = make_database(team=make_team(), name="Redis", version="1")
    put(operator, "databases", "Redis", {"system": "redis", "cluster": "rack"}, 201)
    other.refresh_from_db()
    assert other.version == "1" and Database.objects.filter(name="Redis").count() == 2


def test_teams_of_a_machine_are_for_operators(operator, rack):
    put(operator, "machines", "bench-01", {"teams": ["ours"]})
    reader = make_program(rack.team, "runs:read")
    assert reader.said(address("machines", "bench-01"))["definition"]["teams"] == []

"""Facts that a load generator states are checked, and no page fails for what earlier releases stored."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import Role
from benchsite.tests.browser import addresses
from runs.models import ClientRun, LoadGenerator, Machine, Run
from runs.tests.factories import make_client_run, make_load_generator, make_machine, make_run, make_sweep
from runs.tests.world import browser, make_world
from workers.generator import enrolment
from workers.generator.machine_facts import machine_facts

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CORES = {"cores": {"value": 8, "how": "observed"}}


def register(name, **fields):
    """The answer to a real request with the load generator's own credential."""
    client = Client(headers={"authorization": f"Bearer {enrolment.make(name)}"})
    body = {
        "slots": 2,
        "bindings": {"redis": "d" * 64},
        "facts": {"pid": 1, "host": "h", "python": "3.11.7", "ycsb_versions": {"redis": "0.17.0"}},
        "host_key": "key-1",
        "host_name": "lab",
        "machine_facts": CORES,
        **fields,
    }
    return client.post("/generator-api/v1/register", json.dumps(body), content_type="application/json")


@pytest.mark.parametrize(
    "facts",
    [
        {"cores": 99999999},
        {"cores": {"value": 99999999, "how": "observed"}},
        {"cores": {"value": "8", "how": "observed"}},
        {"cores": {"value": True}},
        {"cores": {"value": 0}},
        {"cores": {}},
        {"memory_bytes": {"value": 10**400}},
        {"memory_bytes": {"value": -1}},
        {"cpu_model": {"value": ["x"]}},
        {"cpu_model": {"value": {"value": "x"}}},
        {"cpu_model": {"value": "x" * 501}},
        {"nic_bits_per_s": {"value": 1e308}},
    ],
    ids=lambda facts: str(facts)[:60],
)
def test_refuses_wrong_types_and_ranges(facts):
    answer = register("lab-1", machine_facts=facts)

    assert answer.status_code == 400
    assert "machine_facts" in answer.json()["detail"]
    assert not LoadGenerator.objects.exists() and not Machine.objects.exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"facts": {"ycsb_versions": ["0.17.0"]}},
        {"facts": {"ycsb_versions": {"redis": {}}}},
        {"facts": {"host": "h" * 501}},
        {"bindings": {"b" * 501: "d"}},
        {"bindings": {str(number): "d" for number in range(1001)}},
    ],
    ids=lambda fields: str(fields)[:60],
)
def test_refuses_facts_of_the_load_generator_itself(fields):
    assert register("lab-1", **fields).status_code == 400


def test_facts_of_this_machine_are_accepted(tmp_path):
    facts = machine_facts(tmp_path)

    assert register("lab-1", machine_facts=facts).status_code == 200
    assert Machine.objects.get().facts == facts


def test_facts_that_no_load_generator_observes_are_left_out():
    """What conductors observe, and what operators state."""
    others = {"network_cut": {"value": "available"}, "instance_type": {"value": "x"}, "data_disk_free_bytes": {}}

    assert register("lab-1", machine_facts={**CORES, **others}).status_code == 200
    assert Machine.objects.get().facts == CORES


def test_first_load_generator_observes_the_machine():
    assert register("lab-1", host_key="key-1").status_code == 200

    assert register("lab-2", host_key="key-1", machine_facts={"cores": {"value": 64}}).status_code == 200
    assert Machine.objects.get().facts == CORES

    assert register("lab-1", host_key="key-1", machine_facts={"cores": {"value": 16}}).status_code == 200
    assert Machine.objects.get().facts["cores"]["value"] == 16


def test_next_load_generator_takes_over_from_a_revoked_one():
    register("lab-1", host_key="key-1")
    register("lab-2", host_key="key-1")
    enrolment.revoke("lab-1", None)

    register("lab-2", host_key="key-1", machine_facts={"cores": {"value": 16}})

    assert Machine.objects.get().facts["cores"]["value"] == 16


@pytest.mark.parametrize(
    "facts",
    [
        {"inserts": "many"},
        {"inserts": -1},
        {"java": ["21"]},
        {"host": "h" * 501},
        {"server_codes": [["INSERT", "ERROR", "OOM"]]},
        {"server_codes": [["INSERT", "ERROR", "OOM", "1"]]},
    ],
    ids=str,
)
def test_refuses_facts_of_a_client(facts):
    credential = enrolment.make("lab-1")
    client = Client(headers={"authorization": f"Bearer {credential}"})
    client_run = make_client_run(
        make_run(make_sweep(), threads=2, status="running"), generator=make_load_generator(name="lab-1")
    )
    claim = {"claim": "6f1f1b54-5f6e-4b4d-9a53-0d2f3b1c2d3e"}
    address = f"/generator-api/v1/clients/{client_run.pk}"
    client.post(f"{address}/claim", json.dumps(claim), content_type="application/json")

    for action, fields in (
        ("report", {"state": "ready"}),
        ("complete", {"reason": "", "reason_detail": "", "exit_code": 0, "cpu_percent": None}),
    ):
        body = json.dumps({**claim, **fields, "facts": facts})
        assert client.post(f"{address}/{action}", body, content_type="application/json").status_code == 400
    client_run.refresh_from_db()
    assert (client_run.state, client_run.facts) == (ClientRun.State.STARTING, {})


CAPACITY = {"digest": "digest-redis", "client_ops_s": 1e308, "ops_s": 1e308, "clients": 10**400, "cores": 10**400}
STORED = [
    {"cores": 99999999, "cores_usable": 99999999, "memory_bytes": "x", "cpu_model": ["x"], "nic": {"value": []}},
    {"cores": {"value": "many", "how": 7}, "memory_bytes": {"value": 10**400}, "kernel": {"value": {}}, "fsync_us": {}},
    {"cores": {}, "cores_usable": None, "memory_bytes": [1], "disk": {"value": None}, "network_cut": {"value": {}}},
    ["cores"],
]


@pytest.mark.parametrize("stored", STORED, ids=["bare", "texts", "empty", "list"])
def test_no_page_fails_for_stored_facts(team, stored):
    """Written past the models, as earlier releases stored them: machines, load generators and specs of runs."""
    world = make_world(team)
    text = json.dumps(stored)
    machines = json.dumps(
        [{"id": str(world.machine.pk), "name": "m", "facts": stored if isinstance(stored, dict) else {}}]
    )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # A trigger keeps specs as they are.
        cursor.execute("UPDATE runs_machine SET facts = %s", [text])
        cursor.execute("UPDATE runs_loadgenerator SET facts = %s", [json.dumps({"ycsb_versions": stored})])
        cursor.execute("UPDATE runs_loadgenerator SET capacity = %s", [json.dumps({"redis": CAPACITY})])
        cursor.execute("UPDATE runs_run SET spec = jsonb_set(spec, '{cluster,machines}', %s)", [machines])
        cursor.execute("SET LOCAL session_replication_role = origin")
    client = browser(team, Role.ADMIN, is_staff=True, is_superuser=True)

    pages = [*addresses(world), reverse("matrix", args=[world.matrix.pk]), reverse("machine-add")]
    failed = [page for page in pages if client.get(page).status_code >= 500]

    assert failed == []
    assert Run.objects.get(pk=world.run.pk).spec["cluster"]["machines"]


def test_operator_states_numbers_as_numbers(team):
    machine = make_machine()
    client = browser(team, Role.ADMIN, is_staff=True, is_superuser=True)
    address = reverse("machine-edit", args=[machine.pk])

    for facts, words in (("memory_bytes=64 GB", "memory_bytes is a number"), ("cores=99999999", "cores is a number")):
        page = client.post(address, {"name": machine.name, "facts": facts})
        assert words in page.content.decode()

"""From the address of a real server to a submitted matrix in two forms."""

import os
import re
import time
from types import SimpleNamespace

import pytest
from django.test import Client
from django.urls import reverse

from benchsite.tests.hostile_servers import silent_server
from runs.catalog import load_catalog
from runs.models import Cluster, Database, Machine, Matrix, Run
from runs.tests.factories import make_load_generator, make_machine, make_team, make_user
from workers.generator.host_identity import host_key
from workers.probe.server_checks import check_target
from workers.provision.deadline import Deadline
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.provisioner_factory import MAX_CHECKS_OF_TEAM
from workers.provision.servers import ServerSpec
from workers.tests.conftest import site_below_var_tmp
from workers.tests.external import NETWORKS
from workers.tests.stand_ins.aerospike import aerospike_stand_in
from workers.tests.test_administration import redis_client

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
REDIS = load_catalog().system("redis")


@pytest.fixture(scope="module")
def redis_of_others():
    """A Redis that never writes to its disk."""
    with site_below_var_tmp() as site:
        provisioner = ProcessProvisioner(ServerSpec(deployment="own", system=REDIS, mode=REDIS.mode("off")), site)
        try:
            yield provisioner.start()
        finally:
            provisioner.remove()


@pytest.fixture
def server(redis_of_others, settings):
    """It, empty, where external clusters may be."""
    settings.EXTERNAL_NETWORKS = NETWORKS
    with redis_client(redis_of_others) as client:
        client.flushall()
    return redis_of_others


@pytest.fixture
def operator(team):
    client = Client()
    client.force_login(make_user(team=team, role="admin", is_staff=True))
    return client


def answers(server, **changes):
    return {
        "system": "redis", "address": f"127.0.0.1:{server.port}", "password": server.password, "name": "Our Redis",
        "machine": "", "properties": "",
    } | changes  # fmt: skip


def make_silent_generators():
    """No check waits for their clients."""
    for name in ("load-1", "load-2"):
        make_load_generator(name=name, bindings={REDIS.binding.name: "1" * 64}, last_seen_at=None)


def await_check(client, response):
    """The panel of the check that a page shows, once it has ended; an address where the server can be used."""
    address = re.search(r'hx-get="([^"]*/checks/[^"]*)"', response.content.decode())[1]
    end = time.monotonic() + 60
    while time.monotonic() < end:
        panel = client.get(address, headers={"HX-Request": "true"})
        if "HX-Redirect" in panel:
            return panel["HX-Redirect"]
        if "hx-get" not in panel.content.decode():
            return panel.content.decode()
        time.sleep(0.1)
    raise AssertionError("The check does not end.")


def check_server(client, server, **changes):
    response = client.post(reverse("own-server"), answers(server, **changes))
    assert response.status_code == 202
    return await_check(client, response)


def test_two_forms_submit_the_first_matrix(operator, server, team):
    make_silent_generators()

    address = check_server(operator, server)

    database = Database.objects.get(team=team)
    assert address == reverse("own-server-first", args=[database.pk]) and database.version == server.version
    assert Machine.objects.filter(name="127.0.0.1").exists()
    page = operator.get(address).content.decode()
    assert "In force: off" in page and "The target is empty" in page and 'value="always"' not in page
    assert server.password not in page

    response = operator.post(address, {"mode": "off", "workload": "B", "records": "500"})
    matrix = Matrix.objects.get(team=team)
    assert response.url == reverse("matrix", args=[matrix.pk]) and matrix.submitted_at
    assert Run.objects.filter(matrix=matrix, phase="measure").count() == 6


def test_server_without_name_is_called_by_its_address(operator, server, team):
    check_server(operator, server, name="")

    assert Database.objects.get(team=team).name == f"Redis at 127.0.0.1:{server.port}"


def test_nothing_is_kept_of_a_server_that_does_not_answer(operator, server):
    for changes, message in (
        ({"password": "wrong"}, "invalid username-password pair"),
        ({"address": "10.9.9.9:6379"}, "10.9.9.9"),
    ):
        assert message in check_server(operator, server, **changes)
    assert not Cluster.objects.exists() and not Database.objects.exists()


def test_free_connections_are_those_of_all_generators(operator, server):
    make_silent_generators()
    with redis_client(server) as client:
        client.config_set("maxclients", "60")
        try:
            address = check_server(operator, server)
        finally:
            client.config_set("maxclients", "10000")

    page = " ".join(operator.get(address).content.decode().split())
    assert re.search("[0-9] of the server.s 60 connections are in use, and the first curve needs 66 more", page), page
    assert "Measure the first curve" not in page


def test_operator_allows_the_network_of_one_team(operator, server, team, settings):
    """At once, without a restart; the site's own web server stays refused."""
    settings.EXTERNAL_NETWORKS, settings.EMBEDDED = [], False
    make_team(name="Other", external_networks=NETWORKS)
    page = check_server(operator, server)
    assert "an operator of this site can allow 127.0.0.0/8" in page
    assert reverse("networks") in page

    operator.post(reverse("networks"), {"team": team.pk, "network": NETWORKS[0]})
    settings.WEB_PORT = server.port
    assert "a server of this site itself" in check_server(operator, server)
    settings.WEB_PORT = 1
    database = Database.objects.get(pk=check_server(operator, server).strip("/").rpartition("/")[2])

    operator.post(reverse("network-withdraw"), {"team": team.slug, "network": NETWORKS[0]})
    again = await_check(operator, operator.get(f"{reverse('own-server-first', args=[database.pk])}?again=1"))
    assert "an operator of this site can allow 127.0.0.0/8" in again


def test_data_of_others_is_named_and_kept(server):
    with redis_client(server) as client:
        client.set("precious", "1")
    properties = {"redis.password": server.password}
    target = check_target(REDIS, [f"127.0.0.1:{server.port}"], properties, deadline=Deadline(60))
    assert [check.outcome for check in target.checks] == ["pass", "pass", "pass", "pass", "warn"]
    assert "precious" in target.foreign_data and target.data == {"precious": 1}
    assert server.administration.size("usertable") == 1


def test_data_set_of_another_cluster_is_foreign(server):
    """A load would refuse it."""
    server.administration.write_marker("usertable", '{"site": "other", "cluster": "other"}', replaces="")
    properties = {"redis.password": server.password}
    target = check_target(REDIS, [f"127.0.0.1:{server.port}"], properties, deadline=Deadline(60))

    assert target.foreign_data and target.checks[-1].outcome == "warn"


def test_foreign_data_is_confirmed_before_the_form(operator, server, team):
    make_silent_generators()
    with redis_client(server) as client:
        client.set("precious", "1")
    address = check_server(operator, server)
    form = {"mode": "off", "workload": "B", "records": "500"}

    refused = operator.post(address, form)
    allowed = operator.post(address, {"confirm": "1"})
    await_check(operator, allowed)
    submitted = operator.post(address, form)

    assert "Measure the first curve" not in refused.content.decode() and not refused.context.get("form")
    assert submitted.status_code == 302 and Matrix.objects.get(team=team).submitted_at
    assert Cluster.objects.get(team=team).data_confirmations.get().confirmed_by


def test_server_on_the_generators_machine_is_filed_there(operator, server, team):
    machine = make_machine(name="here", host_key=host_key())

    check_server(operator, server)

    assert Cluster.objects.get(team=team).nodes.get().machine == machine


def test_page_asks_once_which_program_the_server_is(operator, server, team, monkeypatch):
    """Where the kernel tells nobody; another user's programs are offered."""
    make_machine(name="here", host_key=host_key())
    monkeypatch.setattr("workers.provision.listeners._find_candidates", lambda *node: [])
    others = [(os.getpid(), name) for name in ("a-server", "a-proxy")]
    monkeypatch.setattr("workers.provision.listeners._list_processes_of_others", lambda: others)
    address = check_server(operator, server)

    assert "Which program is the server?" in operator.get(address).content.decode()
    operator.post(address, {"choose": "1", "program": "another"})
    assert Cluster.objects.get(team=team).nodes.get().program == ""
    page = operator.post(
        address, {"choose": "1", "program": "a-proxy", "mode": "off", "records": "500"}
    ).content.decode()
    assert "Which program is the server?" not in page and "Measure the first curve" in page
    assert "The CPU time of a-proxy counts" in page and "<option selected>a-proxy</option>" in page
    assert "Nothing was saved yet" not in page and 'value="500"' in page
    operator.post(address, {"choose": "1", "program": "a-server"})
    assert Cluster.objects.get(team=team).nodes.get().program == "a-server"


def test_runners_describe_no_servers(team):
    client = Client()
    client.force_login(make_user(team=team, role="runner"))
    assert client.get(reverse("own-server")).status_code == 403


def test_plan_that_cannot_run_leaves_nothing(operator, server, team):
    address = check_server(operator, server)

    response = operator.post(address, {"mode": "off", "workload": "A", "records": "500"})
    assert response.status_code == 422 and not Matrix.objects.exists()


def test_later_settings_are_read_by_another_check(operator, server):
    address = check_server(operator, server)
    with redis_client(server) as client:
        client.config_set("appendonly", "yes")
        client.config_set("appendfsync", "always")

    page = operator.get(address)
    again = operator.get(f"{address}?again=1")
    later = await_check(operator, again)

    with redis_client(server) as client:
        client.config_set("appendonly", "no")
        client.config_set("appendfsync", "everysec")
    assert "In force: off" in page.content.decode() and later == address
    assert 'value="always"' in operator.get(address).content.decode()


def test_server_in_no_mode_is_measured_as_it_is(operator, server, team):
    make_silent_generators()
    with redis_client(server) as client:
        client.config_set("save", "3600 1 300 100 60 10000")
    try:
        address = check_server(operator, server)
        page = operator.get(address).content.decode()
        response = operator.post(address, {"as-it-is": "1"})
        await_check(operator, operator.get(response.url))
        submitted = operator.post(address, {"mode": "as-it-is-stated", "workload": "B", "records": "500"})
    finally:
        with redis_client(server) as client:
            client.config_set("save", "")

    assert "3600 1 300 100 60 10000" in page and "Measure the first curve" not in page
    mode = Database.objects.get(team=team).own_modes["as-it-is-stated"]
    assert mode["server_settings"]["save"] == "3600 1 300 100 60 10000"
    assert mode["durability"] == next(iter(REDIS.modes.values())).durability.model_dump()
    assert submitted.url == reverse("matrix", args=[Matrix.objects.get(team=team).pk])


def test_connection_string_fills_the_fields(operator):
    typed = {"address": "rediss://bob:se%40cret@10.0.0.5/3", "name": "Ours", "fill": "1"}
    form = operator.post(reverse("own-server"), typed).context["form"]

    values = {name: form[name].value() for name in ("system", "address", "user", "password", "database", "ssl", "name")}
    assert values == {
        "system": "redis", "address": "10.0.0.5", "user": "bob", "password": "se@cret", "database": "3",
        "ssl": "verify-ca", "name": "Ours",
    }  # fmt: skip


def test_default_of_one_system_is_not_typed_for_another(operator):
    typed = {
        "address": "10.0.0.5",
        "earlier_system": "redis",
        "system": "cassandra",
        "database": "0",
        "password": "hush",
    }
    form = operator.post(reverse("own-server"), {**typed, "fill": "1"}).context["form"]
    assert (form["database"].value(), form["password"].value()) == ("ycsb", "hush")

    refused = operator.post(reverse("own-server"), {**typed, "database": "4 5"})
    assert (
        "cassandra.keyspace is &#x27;4 5&#x27;, which does not have the right form. The keyspace."
        in refused.content.decode()
    )


def test_nothing_typed_is_lost_on_an_error(operator, server):
    typed = answers(server, system="postgresql", address="nowhere!", user="1 2", database="shop", ca="no PEM")
    response = operator.post(reverse("own-server"), typed)
    form = response.context["form"]

    assert response.status_code == 422 and {"address", "user", "ca"} <= form.errors.keys()
    assert {name: form[name].value() for name in typed} == typed


def test_copies_are_those_that_the_server_keeps(operator, team, settings):
    """A run fails where the database states another number."""
    settings.EXTERNAL_NETWORKS = NETWORKS
    with aerospike_stand_in() as stand_in:
        stand_in.settings |= {"replication-factor": "2", "effective_replication_factor": "2"}
        server = SimpleNamespace(port=stand_in.port, password="")
        address = check_server(operator, server, system="aerospike")
        stated = Database.objects.get(team=team).replication_factor
        stand_in.settings["replication-factor"] = "3"
        await_check(operator, operator.get(f"{address}?again=1"))

    assert (stated, Database.objects.get(team=team).replication_factor) == (2, 3)


def test_second_server_at_one_address_is_numbered(operator, server, team):
    for _ in range(2):
        check_server(operator, server, name="")

    first, second = Database.objects.filter(team=team).order_by("created_at").values_list("name", flat=True)
    assert second == f"{first} (2)"


def test_checks_of_a_team_at_once_are_limited(operator, server):
    with silent_server() as port:
        pages = [
            operator.post(reverse("own-server"), answers(server, address=f"127.0.0.1:{port}", name=f"Redis {number}"))
            for number in range(MAX_CHECKS_OF_TEAM + 1)
        ]
        panel = operator.get(re.search(r'hx-get="([^"]*/checks/[^"]*)"', pages[0].content.decode())[1])
        panels = [await_check(operator, page) for page in pages[:-1]]

    assert "Check 2 of 7" in panel.content.decode() or "Check 1 of 7" in panel.content.decode()
    assert "for its answers to these checks" in panel.content.decode()
    assert [page.status_code for page in pages] == [202] * MAX_CHECKS_OF_TEAM + [422]
    assert "Try again in a minute" in pages[-1].content.decode()
    assert all("Sign-in" in panel and 'href="#id_address"' in panel for panel in panels)
    assert check_server(operator, server).startswith("/own-server/")


def test_check_of_another_team_is_not_there(operator, server):
    other = Client()
    other.force_login(make_user(team=make_team(), role="admin", is_staff=True))
    response = operator.post(reverse("own-server"), answers(server))
    address = re.search(r'hx-get="([^"]*/checks/[^"]*)"', response.content.decode())[1]

    status = other.get(address).status_code

    await_check(operator, response)
    assert status == 404

"""The pages on which databases, clusters, machines and workloads are described: nonsense is refused with what to do."""

import re

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from runs.models import Cluster, Database, Machine, Node, Workload
from runs.queue import lifecycle
from runs.tests.factories import (
    make_cluster,
    make_conductor,
    make_database,
    make_load_generator,
    make_machine,
    make_run,
    make_sweep,
    make_team,
    make_user,
    make_workload,
)
from runs.tests.pages import get_text
from runs.tests.world import browser, make_world
from runs.ycsb.properties import CORE_WORKLOADS, check_workload

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def cluster(team):
    return make_cluster(team=team, machines=[make_machine(name="bench-01")], name="rack")


def refused(response):
    assert response.status_code == 422
    return response.content.decode().replace("&#x27;", "'").replace("&quot;", '"')


# --- databases ---------------------------------------------------------------------------------------------------


def database_data(cluster, **changes):
    data = {"system": "redis", "cluster": getattr(cluster, "pk", ""), "name": "Redis", "version": "7.0",
            "replication_factor": "1", "settings": "", "binding_properties": "", "notes": ""}  # fmt: skip
    return {**data, **changes}


def test_it_saves_a_database_with_canonical_settings(operator, cluster, team):
    data = database_data(cluster, system="postgresql", settings="# memory\r\nshared_buffers = 512mb\r\n\r\njit=off\r\n")
    response = operator.post(reverse("database-add"), data)
    saved = Database.objects.get()
    assert response["Location"] == reverse("database", args=[saved.pk])
    assert (saved.team, saved.settings) == (team, {"shared_buffers": "512MB", "jit": "off"})


def test_nobodys_server_is_preset(operator, cluster, team):
    make_cluster(team=team, machines=[make_machine(name="bench-02")], name="a server of theirs", provisioner="external")
    form = operator.get(reverse("database-add")).context["form"]
    assert form["cluster"].value() == cluster.pk


def test_read_preference_of_mongodb_has_a_field(operator, cluster):
    Cluster.objects.update(provisioner="external")
    page = operator.get(reverse("database-add"), {"system": "mongodb"}).content.decode()
    choices = re.search(r'<select name="read_preference".*?</select>', page, re.DOTALL)
    assert re.findall(r'value="(\w+)"', choices[0]) == [
        "primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"
    ]  # fmt: skip

    data = database_data(cluster, system="mongodb", read_preference="nearest")
    page = operator.post(reverse("database-add"), data, follow=True).content.decode()

    assert Database.objects.get().binding_properties == {"mongodb.read_preference": "nearest"}
    rows = {slug: page.partition(f'id="mode-{slug}"')[2].partition("</section>")[0] for slug in ("w1", "majority")}
    assert all("any copy" in row for row in rows.values())


def test_hints_are_those_of_the_chosen_system(operator):
    pages = {
        system: operator.get(reverse("database-add"), {"system": system}).content.decode()
        for system in ("redis", "postgresql")
    }
    assert [system for system, page in pages.items() if "CREATE DATABASE ycsb OWNER ycsb;" in page] == ["postgresql"]


def test_default_of_one_system_is_not_typed_for_another(operator, cluster):
    typed = {"database": "0", "earlier_system": "redis", "system": "postgresql"}
    response = operator.post(reverse("database-add"), {**database_data(cluster, settings=""), **typed, "fill": "1"})
    assert response.context["form"]["database"].value() == "ycsb"
    saved = operator.post(reverse("database-add"), database_data(cluster, settings="", **typed))
    assert saved.status_code == 302
    assert "postgresql.database" not in Database.objects.get().binding_properties


def test_it_names_the_nearest_setting_and_keeps_what_was_typed(operator, cluster):
    data = database_data(cluster, system="postgresql", settings="shared_bufers=512MB\njit=off")
    page = refused(operator.post(reverse("database-add"), data))
    assert "'shared_bufers' is not known here. Did you mean 'shared_buffers'?" in page
    assert "shared_bufers=512MB\njit=off" in page
    assert not Database.objects.exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("jit", "Line 1 is “jit”; write it as name=value."),
        ("=on", "Line 1 is “=on”; write it as name=value."),
        ("jit=on\njit=off", "jit stands in lines 1 and 2; leave one of them."),
        ("fsync=off", "fsync"),  # a durability mode decides it
        ("shared_buffers=lots", "shared_buffers is 'lots'; write a whole number"),
        ("shared_buffers=1kB", "it must lie between 128kB"),
        ("jit=on\x07", "control characters"),
        ("\n".join(f"a{n}=1" for n in range(400)), "There are 400 lines; at most 300 are allowed."),
    ],
)
def test_it_refuses_nonsense_in_settings(operator, cluster, settings, message):
    data = database_data(cluster, system="postgresql", settings=settings)
    assert message in refused(operator.post(reverse("database-add"), data))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 81}, "at most 80 characters"),
        ({"system": "mysterydb"}, "mysterydb is not one of the available choices"),
        ({"replication_factor": "0"}, "greater than or equal to 1"),
        ({"replication_factor": "3", "settings": "nodes=2"}, "3 copies need 3 nodes, and rack has 2."),
        ({"binding_properties": "redis.hots=x"}, "Did you mean 'redis.host'?"),
    ],
)
def test_it_refuses_a_database_that_cannot_be(operator, cluster, changes, message):
    assert message in refused(operator.post(reverse("database-add"), database_data(cluster, **changes)))


@pytest.mark.parametrize("system", ["postgresql", "redis", "mariadb"])
def test_started_nodes_follow_the_copies(operator, cluster, system):
    stated = database_data(cluster, system=system, name="Ring", replication_factor="3")

    operator.post(reverse("database-add"), stated)

    database = Database.objects.get()
    assert (database.replication_factor, database.settings["nodes"]) == (3, "3")
    page = " ".join(operator.get(reverse("database", args=[database.pk])).content.decode().split())
    assert "3 servers, copies of each record: 3" in page


def test_copies_of_replicas_follow_the_nodes(operator, cluster):
    operator.post(reverse("database-add"), database_data(cluster, system="postgresql", settings="nodes=2"))
    database = Database.objects.get()
    assert (database.replication_factor, database.settings) == (2, {"nodes": "2"})

    edit = reverse("database-edit", args=[database.pk])
    data = database_data(cluster, system="postgresql", settings="nodes=2")
    operator.post(edit, {**data, "replication_factor": "1"})

    database.refresh_from_db()
    assert (database.replication_factor, database.settings) == (1, {})


@pytest.mark.parametrize(
    ("system", "copies", "nodes", "message"),
    [
        ("redis", 3, 1, "Set nodes = 3 in the settings: they share a machine."),
        ("postgresql", 3, 2, "Set nodes = 3 in the settings"),
        ("postgresql", 2, 3, "has a copy of every record: state 3 copies, or set nodes = 2"),
        ("postgresql", 20, None, "nodes"),
    ],
)
def test_refuses_contradicting_copies(operator, cluster, system, copies, nodes, message):
    settings = f"nodes={nodes}" if nodes else ""
    data = database_data(cluster, system=system, settings=settings, replication_factor=str(copies))
    assert message in refused(operator.post(reverse("database-add"), data))


def test_mode_links_to_where_its_copies_are_set(operator, cluster):
    database = make_database(team=cluster.team, cluster=cluster, system="postgresql")
    field = f'href="{reverse("database-edit", args=[database.pk])}#id_replication_factor"'
    page = reverse("database", args=[database.pk])

    # Above all, and of three modes beside the promise in the table and at the mode itself.
    assert operator.get(page).content.decode().count(field) == 7

    Database.objects.update(settings={"nodes": "2"}, replication_factor=2)
    assert "needs 1 other" not in operator.get(page).content.decode()


def test_page_lists_the_settings_that_are_read_back(operator, cluster):
    database = make_database(team=cluster.team, cluster=cluster, system="redis")
    page = operator.get(reverse("database", args=[database.pk])).content.decode()
    assert '<dt class="mono">appendfsync</dt><dd class="mono">always</dd>' in page
    assert '<dt class="mono">replicas</dt><dd class="mono">at least 1</dd>' in page
    assert "nothing to read back" not in page


def test_cassandra_takes_more_copies_than_nodes_and_says_so(operator, cluster):
    page = operator.post(
        reverse("database-add"), database_data(cluster, system="cassandra", replication_factor="3"), follow=True
    ).content.decode()

    assert "copies of each record: 3, of which 1 can be stored" in re.sub(r"\s+", " ", page)


def test_started_servers_keep_what_their_recipe_says(operator, cluster):
    data = database_data(cluster, system="cassandra", settings="unchecked.num_tokens=8")

    assert "num_tokens cannot be set on servers that Benchsite starts" in refused(
        operator.post(reverse("database-add"), data)
    )


def test_it_needs_a_cluster(operator):
    assert "This field is required." in refused(operator.post(reverse("database-add"), database_data(None)))


def test_it_keeps_names_apart_within_a_team_only(operator, cluster, team):
    make_database(team=team, cluster=cluster, name="Redis")
    make_database(team=make_team(), name="Elsewhere's")
    assert "already a database of this name" in refused(operator.post(reverse("database-add"), database_data(cluster)))
    assert operator.post(reverse("database-add"), database_data(cluster, name="Elsewhere's")).status_code == 302


def test_it_refuses_nodes_on_ports_that_the_client_cannot_take(operator, team):
    ring = make_cluster(team=team, machines=[make_machine(), make_machine()], provisioner="external")
    for position, port in enumerate((9042, 9043)):
        ring.nodes.filter(position=position).update(address=f"10.0.0.{position}:{port}")

    assert "theirs are 9042, 9043" in refused(
        operator.post(reverse("database-add"), database_data(ring, system="cassandra", settings=""))
    )


def test_it_edits_a_database_and_keeps_its_name(operator, cluster, team):
    database = make_database(team=team, cluster=cluster, name="Redis")
    address = reverse("database-edit", args=[database.pk])
    assert 'value="Redis"' in operator.get(address).content.decode()
    assert operator.post(address, database_data(cluster, version="8.0")).status_code == 302
    database.refresh_from_db()
    assert database.version == "8.0"


def test_it_shows_what_each_mode_means_for_this_database(operator, cluster, team):
    database = make_database(team=team, cluster=cluster, system="postgresql", settings={"shared_buffers": "512MB"})
    page = operator.get(reverse("database", args=[database.pk])).content.decode()
    for mode in ("off", "local", "on"):
        assert f'id="mode-{mode}"' in page
    assert "512MB" in page
    assert "synchronous_commit" in page
    assert "✓ survives" in page
    assert "✕ lost" in page
    assert "the catalog's choice, which may differ from the server's own default" in page


def test_promise_that_needs_another_copy_says_so(operator, cluster):
    database = make_database(team=cluster.team, cluster=cluster, system="redis")
    page = operator.get(reverse("database", args=[database.pk])).content.decode()
    row = re.search(r'<a href="#mode-off-wait-1">.*?</tr>', page, re.DOTALL)[0]
    # After a crash of the process and with its node gone; a power loss of all nodes loses it.
    assert row.count("on another copy") == 2
    row = re.search(r'<a href="#mode-always-wait-1">.*?</tr>', page, re.DOTALL)[0]
    assert row.count("on another copy") == 1


def test_names_modes_that_lack_copies_and_what_to_set(operator, cluster):
    database = make_database(team=cluster.team, cluster=cluster, system="postgresql")
    page = get_text(operator.get(reverse("database", args=[database.pk])))
    assert "3 of 7 durability modes cannot be measured" in page and "Set the replication factor</a> to 2" in " ".join(
        page.split()
    )
    assert "one machine here" not in page

    Database.objects.update(replication_factor=2, settings={"nodes": "2"})
    page = get_text(operator.get(reverse("database", args=[database.pk])))
    assert "cannot be measured" not in page
    row = re.search(r'<a href="#mode-remote-write">.*?</tr>', page, re.DOTALL)[0]
    assert row.count("all are on one machine here") == 1  # with its node gone


def test_refused_field_is_linked_above_the_form(operator, cluster):
    page = refused(operator.post(reverse("database-add"), database_data(cluster, settings="nonsense")))
    assert '<a href="#id_settings">Server settings</a>' in page and 'id="id_settings"' in page


def test_it_never_shows_a_secret_property(operator, cluster, team):
    database = make_database(
        team=team, cluster=cluster, system="postgresql", binding_properties={"postgresql.password": "hunter2"}
    )
    assert "hunter2" not in operator.get(reverse("database", args=[database.pk])).content.decode()


def test_the_form_shows_modes_and_settings_of_its_system(operator):
    address = f"{reverse('database-add')}?system=postgresql"
    page = operator.get(address).content.decode()
    assert "Durability modes of PostgreSQL" in page and "synchronous_commit" in page and "appendfsync" not in page
    assert 'starts have <span class="mono">max_connections=300</span>' in get_text(operator.get(address))
    assert operator.get(reverse("database-add"), {"system": "nonsense"}).status_code == 200


# --- workloads ---------------------------------------------------------------------------------------------------


def workload_data(**changes):
    return {"name": "A", "short_name": "A", "properties": "recordcount=1000\nreadproportion=1", "notes": "", **changes}


def filled_form(response):
    """What a browser sends back from the form of a page."""
    form = response.context["form"]
    sent = {name: "" if (value := form[name].value()) is None else value for name in form.fields}
    return {**sent, "properties": form.fields["properties"].prepare_value(sent["properties"])}


@pytest.mark.parametrize("raw", [{}, {"raw": "1"}], ids=["fields", "properties"])
@pytest.mark.parametrize("letter", "ABCDEF")
def test_presets_are_saved_as_they_are(operator, letter, raw):
    sent = filled_form(operator.get(reverse("workload-add"), {"preset": letter, **raw}))
    assert operator.post(reverse("workload-add"), sent).status_code == 302
    saved = Workload.objects.get()
    assert saved.short_name == letter
    assert saved.properties == check_workload({**CORE_WORKLOADS[letter], "recordcount": "100000"})


def test_number_fields_edit_any_workload(operator, team):
    properties = {"recordcount": 1000, "readproportion": 0.2, "updateproportion": 0.1, "dataintegrity": True}
    workload = make_workload(team=team, properties=check_workload(properties))
    address = reverse("workload-edit", args=[workload.pk])
    sent = filled_form(operator.get(address))
    assert (sent["readproportion"], sent["updateproportion"]) == ("66.66666667", "33.33333333")
    page = refused(operator.post(address, {**sent, "scanproportion": "1.5"}))
    assert "The operations add up to 101.5 %" in page
    assert "has a field of its own" in refused(operator.post(address, {**sent, "properties": "fieldcount=2"}))
    assert "dataintegrity needs a constant" in refused(
        operator.post(address, {**sent, "properties": "dataintegrity=true\nfieldlengthdistribution=uniform"})
    )
    sent |= {"readproportion": "95", "updateproportion": "5", "fieldlength": "4096"}
    assert operator.post(address, sent).status_code == 302
    workload.refresh_from_db()
    saved = workload.properties
    assert (saved["readproportion"], saved["updateproportion"]) == ("0.95", "0.05")
    assert (saved["fieldlength"], saved["dataintegrity"]) == ("4096", "true")


@pytest.mark.parametrize(("size", "count", "length"), [("4 KB", 10, 400), ("4 KiB", 8, 512), ("1000", 10, 100)])
def test_size_of_a_record_sets_length_of_fields(operator, team, size, count, length):
    workload = make_workload(team=team, properties=check_workload({"recordcount": 1000, "readproportion": 1}))
    address = reverse("workload-edit", args=[workload.pk])
    sent = filled_form(operator.get(address)) | {"recordsize": size, "fieldcount": str(count)}
    assert operator.post(address, sent).status_code == 302
    workload.refresh_from_db()
    assert workload.properties["fieldlength"] == str(length)
    page = get_text(operator.get(reverse("workload", args=[workload.pk])))
    assert f'per record</span><span class="stat__value">{count * length:,} B<' in page


def test_panel_lists_what_the_form_has_no_field_for(operator):
    page = get_text(operator.get(reverse("workload-add")))
    assert '<dt class="mono">readproportion<' not in page and '<dt class="mono">dataintegrity<' in page
    page = get_text(operator.get(f"{reverse('workload-add')}?raw=1"))
    assert '<dt class="mono">readproportion<' in page
    assert "After “=”: what YCSB takes where the workload says nothing." in page


def test_size_of_a_record_that_no_fields_add_up_to(operator, team):
    workload = make_workload(team=team, properties=check_workload({"recordcount": 1000, "readproportion": 1}))
    address = reverse("workload-edit", args=[workload.pk])
    sent = filled_form(operator.get(address))
    uneven = refused(operator.post(address, {**sent, "recordsize": "4 KiB"}))
    assert "4,096 B do not divide into 10 equal fields" in uneven and "such as to 8" in uneven
    assert "is no size" in refused(operator.post(address, {**sent, "recordsize": "four"}))


def test_it_names_every_proportion_of_a_saved_workload(operator):
    operator.post(reverse("workload-add"), workload_data())
    saved = Workload.objects.get().properties
    assert (saved["readproportion"], saved["updateproportion"]) == ("1.0", "0.0")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ("", "Write at least recordcount and one proportion"),
        ("recordcount=0\nreadproportion=1", "recordcount is 0"),
        ("readproportion=1", "recordcount is missing"),
        ("recordcont=10\nreadproportion=1", "Did you mean 'recordcount'?"),
        ("recordcount=10\nreadproportion=2", "it must lie between 0 and 1"),
        ("recordcount=10\nreadproportion=nan", "write a finite number"),
        ("recordcount=10\nworkload=site.ycsb.Evil", "workload names a class"),
        ("recordcount=10\nexportfile=/etc/passwd", "exportfile names a file"),
        ("recordcount=10\nthreadcount=4", "threadcount follows from the matrix"),
        ("recordcount=10\nreadproportion=0\nupdateproportion=0", "All proportions are 0"),
    ],
)
def test_refuses_properties_that_ycsb_ignores_or_rejects(operator, properties, message):
    page = refused(operator.post(reverse("workload-add"), workload_data(properties=properties)))
    assert message in page
    if properties:
        assert properties.splitlines()[0] in page  # what was typed is kept


@pytest.mark.parametrize("short", ["two words", "", "a" * 13, "<b>", "-x"])
def test_it_refuses_short_names_that_do_not_fit_into_a_runs_name(operator, short):
    refused(operator.post(reverse("workload-add"), workload_data(short_name=short)))


def test_it_warns_of_what_may_not_be_meant(operator, team):
    workload = make_workload(
        team=team, properties={"recordcount": "1000", "readproportion": "0.9", "insertproportion": "0.3"}
    )
    assert b"add up to 1.2" in operator.get(reverse("workload", args=[workload.pk])).content


def test_the_version_of_a_database_in_containers_is_a_tag(operator, team):
    cluster = make_cluster(team=team, provisioner="docker")
    data = {"system": "redis", "cluster": str(cluster.pk), "name": "Boxed", "replication_factor": "1", "version": "7 4"}
    response = operator.post(reverse("database-add"), data)
    assert response.status_code == 422 and "is no tag of the image redis" in response.content.decode()
    assert operator.post(reverse("database-add"), {**data, "version": "7.4"}).status_code == 302


# --- clusters and machines ---------------------------------------------------------------------------------------


def cluster_data(*nodes, **changes):
    rows = {
        f"node-{number}-{name}": value
        for number, (machine, address) in enumerate(nodes)
        for name, value in (("machine", str(machine.pk) if machine else ""), ("address", address))
    }
    return {"name": "rack", "provisioner": "process", "notes": "", **rows, **changes}


def test_it_saves_a_process_cluster_of_one_node(operator, team):
    machine = make_machine()
    operator.post(reverse("cluster-add"), cluster_data((machine, ""), (None, "")))
    cluster = Cluster.objects.get()
    assert (cluster.team, [node.machine for node in cluster.nodes.all()]) == (team, [machine])


def test_it_replaces_the_nodes_of_an_edited_cluster(operator, cluster):
    other = make_machine()
    operator.post(reverse("cluster-edit", args=[cluster.pk]), cluster_data((other, "")))
    assert [node.machine for node in cluster.nodes.all()] == [other]


def test_keeps_nodes_of_cluster_in_use(operator, cluster):
    run = make_run(make_sweep(database=make_database(cluster=cluster)), status="running")
    (node,) = cluster.nodes.all()
    edit = reverse("cluster-edit", args=[cluster.pk])
    assert run.name in refused(operator.post(edit, cluster_data((make_machine(), ""), separates_cpus="on")))
    assert run.name in refused(operator.post(edit, cluster_data((node.machine, ""))))
    renamed = cluster_data((node.machine, ""), name="renamed", separates_cpus="on")
    assert operator.post(edit, renamed).status_code == 302
    cluster.refresh_from_db()
    assert (cluster.name, list(cluster.nodes.all())) == ("renamed", [node])
    administrator = Client()
    administrator.force_login(make_user(is_staff=True, is_superuser=True))
    page = administrator.get(f"/admin/runs/cluster/{cluster.pk}/change/").content.decode()
    assert 'name="nodes-0-machine"' not in page
    assert 'name="name"' in page


def test_database_keeps_nodes_of_cluster_in_use(cluster):
    """Whatever program asks, and until the run has ended."""
    run = make_run(make_sweep(database=make_database(cluster=cluster)), status="dispatched")
    changes = [
        lambda: cluster.nodes.update(machine=make_machine()),
        lambda: cluster.nodes.all().delete(),
        lambda: Node.objects.create(cluster=cluster, machine=make_machine(), position=7),
    ]
    for change in changes:
        with pytest.raises(IntegrityError, match="a run uses this cluster"), transaction.atomic():
            change()
    lifecycle.transition(run.pk, "queued", actor="test")
    assert cluster.nodes.update(position=3) == 1


def test_it_refuses_clusters_that_cannot_be(operator):
    machine, other = make_machine(), make_machine()
    add = reverse("cluster-add")
    assert "at least one node" in refused(operator.post(add, cluster_data((None, ""))))
    assert f"No load generator of {machine.name} starts servers." in refused(
        operator.post(add, cluster_data((machine, ""), (other, "")))
    )
    assert "Choose the machine" in refused(operator.post(add, cluster_data((None, "10.0.0.1:6379"))))
    two = cluster_data((machine, ""), (other, ""), provisioner="docker")
    assert "A docker cluster is a single node" in refused(operator.post(add, two))


def test_nodes_of_process_clusters_get_their_machines_addresses(operator, team):
    machines = [make_machine(), make_machine()]
    for number, machine in enumerate(machines):
        make_load_generator(machine=machine, facts={"node_address": f"10.0.0.{number}"})

    operator.post(reverse("cluster-add"), cluster_data(*((machine, "") for machine in machines)))
    cluster = Cluster.objects.get()
    assert (cluster.addresses, cluster.is_spread) == (["10.0.0.0", "10.0.0.1"], True)

    make_conductor(str(machines[0].host_key))
    operator.post(reverse("cluster-edit", args=[cluster.pk]), cluster_data((machines[0], "")))
    assert not Cluster.objects.get().is_spread  # That conductor starts the server itself.


def test_copies_of_replicas_are_those_of_the_machines(operator, team):
    cluster = make_cluster(team=team, machines=[make_machine(), make_machine()])
    cluster.nodes.filter(position=0).update(address="10.0.0.1")

    operator.post(reverse("database-add"), database_data(cluster))

    assert Database.objects.get().replication_factor == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "Write where its server listens, as host:port."),
        ("10.0.0.1", "write host:port"),
        ("10.0.0.1:99999", "between 1 and 65535"),
        ("127.0.0.1:6379", "loopback"),
        ("[::1]:6379", "loopback"),
        ("169.254.169.254:80", "link-local"),
        ("192.0.2.7:6379", "outside the networks (10.0.0.0/8) that operators of this site allow your team"),
        ("http://10.0.0.1:80", "write host:port"),
        ("10.0.0.1:63 79", "write host:port"),
    ],
)
def test_it_refuses_external_addresses_that_are_not_allowed(operator, settings, address, message):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]
    data = cluster_data((make_machine(), address), provisioner="external")
    assert message in refused(operator.post(reverse("cluster-add"), data))
    assert not Cluster.objects.exists()


def test_it_saves_external_nodes_with_their_addresses(team, settings):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]
    machine = make_machine()
    data = cluster_data((machine, "10.1.2.3:6379"), (machine, "10.1.2.3:6380"), provisioner="external")
    assert browser(team, "admin").post(reverse("cluster-add"), data).status_code == 302
    assert [node.address for node in Cluster.objects.get().nodes.all()] == ["10.1.2.3:6379", "10.1.2.3:6380"]


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("shares_machine", [False, True])
def test_second_cluster_at_an_address_warns(team, settings, is_new, shares_machine):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]
    first = make_cluster(team=team, provisioner="external", name="First")
    first.nodes.update(address="10.1.2.3:6379")
    address = reverse("cluster-add")
    if not is_new:
        second = make_cluster(team=team, provisioner="external", name="At 10.1.2.4:6379")
        second.nodes.update(address="10.1.2.4:6379")
        address = reverse("cluster-edit", args=[second.pk])
    machine = first.nodes.get().machine if shares_machine else make_machine()
    data = cluster_data((machine, "10.1.2.3:6379"), provisioner="external", name="At 10.1.2.4:6379")

    page = browser(team, "admin").post(address, data, follow=True).content.decode()

    assert "The cluster “First” has the address 10.1.2.3:6379, too" in page
    assert page.count("has the address") == 1, "not itself, whose name holds it now"
    assert ("runs of both may use that server at once" in page) == (not shares_machine)


@pytest.mark.parametrize("is_measured", [False, True])
def test_a_corrected_address_renames_what_was_not_measured(team, settings, is_measured):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]
    cluster = make_cluster(team=team, provisioner="external", name="Redis at 10.1.2.3:6379")
    node = cluster.nodes.get()
    cluster.nodes.update(address="10.1.2.3:6379")
    database = make_database(cluster=cluster, team=team, name="Redis at 10.1.2.3:6379")
    if is_measured:
        make_run(make_sweep(team=team, database=database), cluster=cluster)
    data = cluster_data((node.machine, "10.1.2.3:6380"), provisioner="external", name=cluster.name)
    assert browser(team, "admin").post(reverse("cluster-edit", args=[cluster.pk]), data).status_code == 302
    for row in (cluster, database):
        row.refresh_from_db()
        assert row.name == f"Redis at 10.1.2.3:{6379 if is_measured else 6380}"


def test_a_corrected_address_is_no_part_of_a_longer_one(team, settings):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]
    cluster = make_cluster(team=team, provisioner="external", name="Beside 10.1.2.3:6379")
    node = cluster.nodes.get()
    cluster.nodes.update(address="10.1.2.3:637")
    data = cluster_data((node.machine, "10.1.2.3:80"), provisioner="external", name=cluster.name)
    assert browser(team, "admin").post(reverse("cluster-edit", args=[cluster.pk]), data).status_code == 302
    cluster.refresh_from_db()
    assert cluster.name == "Beside 10.1.2.3:6379"


@pytest.mark.parametrize(
    ("addresses", "programs"),
    [
        (["10.1.2.3:6381", "10.1.2.3:6380"], ["first", "second"]),
        (["10.1.2.3:6380", "10.1.2.3:6379"], ["second", "first"]),
        (["10.1.2.3:6379"], ["first"]),
    ],
)
def test_a_corrected_address_keeps_the_servers_program(team, settings, addresses, programs):
    settings.EXTERNAL_NETWORKS = ["10.0.0.0/8"]
    cluster = make_cluster(team=team, provisioner="external", name="Ours")
    machine = cluster.nodes.get().machine
    cluster.nodes.update(address="10.1.2.3:6379", program="first")
    Node.objects.create(cluster=cluster, machine=machine, address="10.1.2.3:6380", program="second", position=1)
    rows = [(machine, address) for address in addresses]
    data = cluster_data(*rows, provisioner="external", name=cluster.name)
    assert browser(team, "admin").post(reverse("cluster-edit", args=[cluster.pk]), data).status_code == 302
    assert list(cluster.nodes.values_list("address", "program")) == list(zip(addresses, programs, strict=True))


def test_of_many_machines_a_node_names_its_own(operator, monkeypatch):
    monkeypatch.setattr("runs.catalog.forms.clusters.MAX_LISTED", 1)
    machine, _ = make_machine(name="rack-1"), make_machine(name="rack-2")
    sent = {"name": "Rack", "provisioner": "process", "node-0-machine": "rack-x", "node-0-address": ""}
    page = operator.post(reverse("cluster-add"), sent).content.decode()
    assert "is called “rack-x”. Did you mean rack-" in page
    assert 'value="rack-x"' in page
    operator.post(reverse("cluster-add"), {**sent, "node-0-machine": "rack-1"})
    cluster = Cluster.objects.get(name="Rack")
    assert [node.machine for node in cluster.nodes.all()] == [machine]
    assert 'value="rack-1"' in operator.get(reverse("cluster-edit", args=[cluster.pk])).content.decode()


@pytest.mark.parametrize("kind", ["process", "docker"])
def test_only_operators_may_create_locally_started_clusters(team, kind):
    data = cluster_data((make_machine(), ""), provisioner=kind)
    assert f"{kind} is not one of" in refused(browser(team, "admin").post(reverse("cluster-add"), data))
    assert browser(team, "runner").post(reverse("cluster-add"), data).status_code == 403


def test_it_gives_more_rows_without_saving_or_complaining(operator):
    make_machine()
    data = cluster_data((None, ""), name="", more="1")
    response = operator.post(reverse("cluster-add"), data)
    assert response.status_code == 200
    assert response.content.count(b'name="node-') == 6
    assert not Cluster.objects.exists()


def test_it_offers_no_machine_of_another_team(team, operator):
    foreign = make_world(make_team()).machine
    assert foreign.name not in operator.get(reverse("cluster-add")).content.decode()
    refused(operator.post(reverse("cluster-add"), cluster_data((foreign, ""))))


def machine_data(**changes):
    return {"name": "bench-02", "host_key": "", "facts": "", **changes}


def test_it_states_facts_without_touching_observed_ones(operator):
    machine = make_machine(name="bench-02", facts={"cores": {"value": 8, "how": "observed"}})
    data = machine_data(facts="cores=64\ndisk=NVMe 1.9 TB\nmemory_bytes=68719476736")
    operator.post(reverse("machine-edit", args=[machine.pk]), data)
    machine.refresh_from_db()
    assert machine.facts == {
        "cores": {"value": 8, "how": "observed"},
        "disk": {"value": "NVMe 1.9 TB", "how": "stated"},
        "memory_bytes": {"value": 68719476736, "how": "stated"},
    }
    assert machine.host_key is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "bench-01"}, "already a machine of this name"),
        ({"host_key": "taken"}, "Another machine has this host key"),
        ({"facts": "Cores=4"}, "name a fact with small letters"),
        ({"facts": "cores="}, "write a value of 1 to 200 printable characters"),
    ],
)
def test_it_refuses_machines_that_cannot_be(operator, changes, message):
    make_machine(name="bench-01", host_key="taken")
    assert message in refused(operator.post(reverse("machine-add"), machine_data(**changes)))
    assert Machine.objects.count() == 1


def test_exporters_of_a_cluster_are_kept_once_each(operator, settings):
    settings.EXTERNAL_NETWORKS = ["192.0.2.0/24"]
    urls = ["http://192.0.2.7:9100/metrics", "https://192.0.2.7/redis?target=one"]
    text = "\r\n".join([*urls, "", urls[0]])

    operator.post(reverse("cluster-add"), cluster_data((make_machine(), ""), exporters=text))

    cluster = Cluster.objects.get()
    assert cluster.exporters == urls
    assert all(escape(url) in operator.get(reverse("cluster", args=[cluster.pk])).content.decode() for url in urls)
    assert "\n".join(map(escape, urls)) in operator.get(reverse("cluster-edit", args=[cluster.pk])).content.decode()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://169.254.169.254/metrics", "link-local address"),
        ("http://198.51.100.7:9100/metrics", "outside the networks"),
        ("192.0.2.7:9100", "Write a URL"),
        ("http://me:secret@192.0.2.7/metrics", "Leave user and password out"),
        (f"http://192.0.2.7/{'x' * 300}", "longer than 300 characters"),
        ("\n".join(f"http://192.0.2.7/{number}" for number in range(33)), "at most 32"),
    ],
)
def test_an_exporter_that_may_not_be_asked_is_refused(operator, settings, url, message):
    settings.EXTERNAL_NETWORKS = ["192.0.2.0/24"]

    page = refused(operator.post(reverse("cluster-add"), cluster_data((make_machine(), ""), exporters=url)))

    assert message in page
    assert not Cluster.objects.exists()

"""On a cluster's page a team admin confirms what Benchsite may write and delete on an external server."""

import pytest
from django.urls import reverse

from benchsite.accounts.models import AuditEntry
from runs.catalog.data_confirmations import confirm, find_confirmation, target_rows
from runs.models import Cluster, DataConfirmation, Node
from runs.tests.factories import make_cluster, make_database, make_machine, make_user, make_workload
from runs.tests.world import browser

pytestmark = pytest.mark.django_db
REDIS = "10.1.2.3:6379, database 3"


@pytest.fixture
def cluster(team):
    cluster = make_cluster(team=team, name="rack", provisioner="external", machines=[])
    Node.objects.create(cluster=cluster, machine=make_machine(), address="10.1.2.3:6379")
    make_database(team=team, cluster=cluster, binding_properties={"redis.database": "3"})
    return cluster


def page(client, cluster):
    return client.get(reverse("cluster", args=[cluster.pk])).content.decode()


@pytest.mark.slow
def test_admin_confirms_and_withdraws(team, cluster):
    admin = browser(team, "admin")
    assert "not confirmed" in page(admin, cluster)
    asking = admin.get(reverse("cluster-confirm", args=[cluster.pk]), {"target": REDIS}).content.decode()
    for statement in (REDIS, "benchsite:data-set", "Deleted before each load", "never empties the whole target"):
        assert statement in asking
    assert not DataConfirmation.objects.exists()
    admin.post(reverse("cluster-confirm", args=[cluster.pk]), {"target": REDIS})
    assert find_confirmation(cluster, REDIS)
    assert "confirmed by" in page(admin, cluster)
    admin.post(reverse("cluster-withdraw", args=[cluster.pk]), {"target": REDIS})
    assert not find_confirmation(cluster, REDIS)
    entries = AuditEntry.objects.filter(team=team).order_by("id").values_list("kind", "subject", "text")
    assert list(entries) == [("data_confirmed", "rack", REDIS), ("data_withdrawn", "rack", REDIS)]


@pytest.mark.parametrize("name", ["cluster-confirm", "cluster-withdraw"])
def test_runners_neither_confirm_nor_withdraw(team, cluster, name):
    confirm(cluster, REDIS, make_user(team=team))
    runner = browser(team, "runner")
    assert runner.post(reverse(name, args=[cluster.pk]), {"target": REDIS}).status_code == 403
    assert DataConfirmation.objects.count() == 1
    assert "Withdraw" not in page(runner, cluster)


def test_refuses_targets_that_no_database_has(team, cluster):
    admin = browser(team, "admin")
    for target in ("", "10.1.2.3:6379, database 0", "10.9.9.9:6379, database 3"):
        assert admin.post(reverse("cluster-confirm", args=[cluster.pk]), {"target": target}).status_code == 404
    assert not DataConfirmation.objects.exists()


def test_confirmation_ends_with_the_address(team, cluster):
    """Another server at another address was never confirmed; the old confirmation can still be withdrawn."""
    confirm(cluster, REDIS, make_user(team=team))
    cluster.nodes.update(address="10.1.2.4:6379")
    rows = {row.target: row for row in target_rows(Cluster.objects.get())}
    assert rows["10.1.2.4:6379, database 3"].confirmation is None
    assert rows[REDIS].system is None and rows[REDIS].confirmation is not None
    admin = browser(team, "admin")
    assert "No database here any more" in page(admin, cluster)
    assert admin.post(reverse("cluster-withdraw", args=[cluster.pk]), {"target": REDIS}).status_code == 302
    assert not DataConfirmation.objects.exists()


def test_lists_every_table_of_the_teams_workloads(team, cluster):
    make_database(team=team, cluster=cluster, system="postgresql")
    make_workload(team=team, properties={"recordcount": "1", "table": "orders"})
    targets = [row.target for row in target_rows(cluster)]
    assert targets == [
        "10.1.2.3:6379, database 3",
        "10.1.2.3:6379, database ycsb, table orders",
        "10.1.2.3:6379, database ycsb, table usertable",
    ]


def test_servers_of_the_site_have_nothing_to_confirm(team):
    cluster = make_cluster(team=team)
    make_database(team=team, cluster=cluster)
    assert target_rows(cluster) == []
    assert "Data on its servers" not in page(browser(team, "admin"), cluster)

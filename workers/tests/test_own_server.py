"""From the address of a real server to a submitted matrix in two forms."""

import pytest
from django.test import Client
from django.urls import reverse

from runs.catalog import load_catalog
from runs.models import Cluster, Database, Machine, Matrix, Run
from runs.tests.factories import make_load_generator, make_user
from workers.provision.process import ProcessProvisioner
from workers.provision.servers import Wanted
from workers.target_checks import check_target
from workers.tests.conftest import site_below_var_tmp
from workers.tests.external import NETWORKS
from workers.tests.test_administration import redis_client

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
REDIS = load_catalog().system("redis")


@pytest.fixture(scope="module")
def redis_of_others():
    """A Redis that never writes to its disk."""
    with site_below_var_tmp() as site:
        provisioner = ProcessProvisioner(Wanted(deployment="own", system=REDIS, mode=REDIS.mode("off")), site)
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


def test_two_forms_submit_the_first_matrix(operator, server, team):
    for name in ("load-1", "load-2"):
        make_load_generator(name=name, bindings={REDIS.binding.name: "1" * 64})
    response = operator.post(reverse("own-server"), answers(server))
    database = Database.objects.get(team=team)
    assert response.url == reverse("own-server-first", args=[database.pk]) and database.version == server.version
    assert Machine.objects.filter(name="127.0.0.1").exists()
    page = operator.get(response.url).content.decode()
    assert "In force: off" in page and "The target is empty" in page and 'value="always"' not in page
    assert server.password not in page
    response = operator.post(response.url, {"mode": "off", "workload": "B", "records": "500"})
    matrix = Matrix.objects.get(team=team)
    assert response.url == reverse("matrix", args=[matrix.pk]) and matrix.submitted_at
    assert Run.objects.filter(matrix=matrix, phase="measure").count() == 6


def test_server_without_name_is_called_by_its_address(operator, server, team):
    operator.post(reverse("own-server"), answers(server, name=""))
    assert Database.objects.get(team=team).name == f"Redis at 127.0.0.1:{server.port}"


def test_nothing_is_kept_of_a_server_that_does_not_answer(operator, server):
    for changes, message in (({"password": "wrong"}, "cannot be used"), ({"address": "10.9.9.9:6379"}, "10.9.9.9")):
        response = operator.post(reverse("own-server"), answers(server, **changes))
        assert response.status_code == 422 and message in response.content.decode()
    assert not Cluster.objects.exists() and not Database.objects.exists()


def test_data_of_others_is_named_and_kept(server):
    with redis_client(server) as client:
        client.set("precious", "1")
    properties = {"redis.password": server.password}
    target = check_target(REDIS, f"127.0.0.1:{server.port}", properties)
    assert [check.outcome for check in target.checks] == ["pass", "pass", "pass", "pass", "warn"]
    assert "precious" in target.checks[-1].text
    assert server.administration.size("usertable") == 1


def test_runners_describe_no_servers(team):
    client = Client()
    client.force_login(make_user(team=team, role="runner"))
    assert client.get(reverse("own-server")).status_code == 403


def test_plan_that_cannot_run_leaves_nothing(operator, server, team):
    operator.post(reverse("own-server"), answers(server))
    address = reverse("own-server-first", args=[Database.objects.get(team=team).pk])
    response = operator.post(address, {"mode": "off", "workload": "A", "records": "500"})
    assert response.status_code == 422 and not Matrix.objects.exists()

"""A real server whose credentials or CA were wrong: what is resumed, run again or repeated signs in as corrected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchsite.accounts.models import Role
from benchsite.tests.live_site import LiveSite, shared_site as site
from benchsite.tests.needs import need
from benchsite.tests.test_external_clients import external_database, submitted
from runs.models import Matrix, Run
from runs.models.run import Status
from runs.plans.schedules import run_now
from runs.queue import lifecycle
from runs.tests.factories import make_schedule, make_team, make_user
from workers.provision.ports import free_port
from workers.tests.planted_obstacles import started_process
from workers.tests.test_memcached import make_certificates

__all__ = ["site"]
pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]
PASSWORD = "the right one"


@dataclass(frozen=True)
class Server:
    port: int
    properties: Mapping[str, str]  # by which clients sign in
    others_ca: str


@pytest.fixture(autouse=True, scope="module")
def loopback() -> Iterator[None]:
    """Allowed in the environment of the site that starts behind it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")
        yield


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Redis that demands TLS and a password."""
    need("redis")
    port = free_port()
    (tmp_path / "others").mkdir()
    pems, others = make_certificates(tmp_path), make_certificates(tmp_path / "others")
    with started_process(
        port, "redis-server", "--port", 0, "--tls-port", port, "--save", "", "--requirepass", PASSWORD,
        "--tls-cert-file", tmp_path / "server.pem", "--tls-key-file", tmp_path / "server.key",
        "--tls-ca-cert-file", tmp_path / "ca.pem", "--tls-auth-clients", "no", "--dir", tmp_path,
    ):  # fmt: skip
        properties = {"redis.password": PASSWORD, "redis.tls": "verify-ca", "redis.tls.ca": pems["ca.pem"]}
        yield Server(port, properties, others["ca.pem"])


def assert_succeeded(site: LiveSite, matrix: Matrix) -> None:
    runs = [run for run in site.until_ended(matrix) if not run.reruns.exists()]
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}


@pytest.mark.parametrize("wrong", ["redis.password", "redis.tls.ca"])
def test_corrected_sign_in_is_taken_everywhere(site: LiveSite, server: Server, wrong: str):
    team = make_team()
    user = make_user(team=team, role=Role.ADMIN)
    properties = {**server.properties, wrong: {"redis.password": "wrong"}.get(wrong, server.others_ca)}
    database = external_database(team, server.port, "redis", **properties)
    matrix = submitted(database, "off", user, [2])
    failed = site.until_ended(matrix)
    assert Status.SUCCEEDED not in {run.status for run in failed}

    database.binding_properties = dict(server.properties)
    database.save()
    lifecycle.resume(matrix, user)
    assert_succeeded(site, matrix)

    repeated = run_now(make_schedule(team, matrix, created_by=user), user).matrix
    assert repeated is not None
    assert_succeeded(site, repeated)

    measured = Run.objects.filter(matrix=repeated, phase="measure").get()
    again = lifecycle.run_again(measured, user)
    assert_succeeded(site, repeated)
    assert again.matrix_id == repeated.pk

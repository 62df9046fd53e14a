"""A new user walks from the address of a server to its curve, by what the pages show."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from benchsite.accounts.models import Role
from benchsite.tests.browser import chromium, opened_site
from benchsite.tests.live_site import GENERATORS, LiveSite, rejections, shared_site as site
from benchsite.tests.needs import need
from benchsite.tests.test_external_clients import redis_server
from runs.catalog import load_catalog
from runs.models import LoadGenerator, Node, Run
from runs.models.run import Phase, Status
from runs.tests.factories import make_team, make_user
from workers.probe import forms
from workers.provision.servers import Server
from workers.tests.conftest import started_server
from workers.tests.external import NETWORKS
from workers.tests.planted_obstacles import Lab, Target, mariadb_user, memcached, postgresql_role
from workers.tests.stand_ins import mongo_stand_in
from workers.tests.test_administration import redis_client

__all__ = ["chromium", "redis_server", "site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]
MAX_CLICKS = 6
RUNGS = (1, 8)
SHORT = {"WARMUP_S": 1, "SETTLE_S": 1, "MEASURE_S": 3}
RECORDS = 1000
CHECK_TIMEOUT_MS = 150_000
CURVE_TIMEOUT_MS = 300_000
NODES = {"cassandra": 3}
CURVE = ".js-plotly-plot"


@contextmanager
def cassandra_ring(lab: Lab) -> Iterator[Target]:
    """Three nodes, of which a person names the first, and as many copies."""
    system, nodes = load_catalog().system("cassandra"), NODES["cassandra"]
    with started_server(system, "quorum-periodic", copies=nodes, nodes=nodes) as server:
        yield Target(server.port)


@contextmanager
def mongodb(lab: Lab) -> Iterator[Target]:
    with mongo_stand_in() as port:
        yield Target(port)


SERVERS: dict[str, Callable[[Lab], AbstractContextManager[Target]]] = {
    "postgresql": partial(postgresql_role, suffix="_tls"),
    "mariadb": mariadb_user,
    "memcached": memcached,
    "cassandra": cassandra_ring,
    "mongodb": mongodb,
}
TYPED = {
    "postgresql": "postgresql://{user}:{password}@{address}/{database}?sslmode=require",
    "mariadb": "jdbc:mariadb://{address}/{database}?user={user}&password={password}",
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """With its servers, whose threads last as long."""
    need("openssl")
    with ExitStack() as opened:
        lab = Lab(tmp_path_factory.mktemp("lab"), opened)
        assert lab.postgresql and lab.mariadb
        yield lab


@pytest.fixture(scope="module", autouse=True)
def loopback() -> Iterator[None]:
    """The site that starts behind this may benchmark servers of this machine, as that of `make up` may."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHSITE_EXTERNAL_NETWORKS", ",".join(NETWORKS))
        yield


@pytest.fixture
def page(
    chromium: Any, site: LiveSite, live_server: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Page]:
    """A browser in which an operator is signed in; no page of the walk may complain. The curve has fewer points, and
    shorter ones.
    """
    settings.EXTERNAL_NETWORKS = NETWORKS
    monkeypatch.setattr(forms, "RUNGS", RUNGS)
    for name, seconds in SHORT.items():
        monkeypatch.setattr(forms, name, seconds)
    client = Client()
    client.force_login(make_user(team=make_team(), role=Role.ADMIN, is_staff=True))
    with opened_site(chromium, live_server.url, client) as opened:
        yield opened.open()
    assert opened.complaints == []


def test_walk_from_address_to_curve(page: Page, redis_server: Server):
    with redis_client(redis_server) as client:
        client.set("precious", "1")
    clicks = []

    def click(role: Any, name: str) -> None:
        clicks.append(name)
        page.get_by_role(role, name=name).first.click()

    page.goto("/")
    click("link", "Benchmark my server")
    page.get_by_label("Address").fill(f"redis://:{redis_server.password}@127.0.0.1:{redis_server.port}")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Password")).to_have_value(redis_server.password)
    click("button", "Check the server")
    expect(page.get_by_text("precious")).to_be_visible(timeout=CHECK_TIMEOUT_MS)
    expect(page.get_by_text("32 threads each connected and read.").first).to_be_visible()
    expect(page.get_by_role("button", name="Measure the first curve")).to_have_count(0)
    click("button", "Allow it and check again")
    expect(page.get_by_text("One record was written, updated and deleted again.")).to_be_visible(
        timeout=CHECK_TIMEOUT_MS
    )
    click("button", "Measure the first curve")
    check_curve(page)
    with redis_client(redis_server) as client:
        assert client.get("precious") == "1"
    assert len(clicks) <= MAX_CLICKS


@pytest.fixture
def one_generator(site: LiveSite) -> Iterator[None]:
    """The clients of another one would take as much processor time again."""
    other = LoadGenerator.objects.filter(name=GENERATORS[1])
    other.update(enabled=False)
    yield
    other.update(enabled=True)


@pytest.mark.usefixtures("one_generator")
@pytest.mark.parametrize(
    "slug",
    [
        "postgresql",
        "mariadb",
        pytest.param("memcached", marks=pytest.mark.needs("memcached")),
        pytest.param("cassandra", marks=[pytest.mark.needs("server-java"), pytest.mark.long]),
        "mongodb",
    ],
)
def test_walk_to_the_curve_of_another_system(page: Page, lab: Lab, slug: str):
    with SERVERS[slug](lab) as target:
        page.goto("/own-server/")
        page.get_by_label("System").select_option(slug)
        port = load_catalog().system(slug).binding.default_port
        expect(page.get_by_label("Address")).to_have_attribute("placeholder", f"e.g. 10.0.0.5:{port}")
        fields = {name: quote(text) for name, text in target.fields.items()}
        page.get_by_label("Address").fill(TYPED.get(slug, "{address}").format(address=target.address, **fields))
        page.keyboard.press("Tab")
        page.wait_for_load_state("networkidle")
        page.get_by_role("button", name="Check the server").click()
        measure = page.get_by_role("button", name="Measure the first curve")
        expect(measure).to_be_visible(timeout=CHECK_TIMEOUT_MS)
        page.get_by_label("Records").fill(str(RECORDS))
        measure.click()
        runs = check_curve(page)
    assert Node.objects.filter(cluster__runs=runs[0]).count() == NODES.get(slug, 1)


def check_curve(page: Page) -> list[Run]:
    expect(page).to_have_url(re.compile("/matrices/"))
    expect(page.get_by_text(f"{len(RUNGS) + 1} of {len(RUNGS) + 1} runs succeeded")).to_be_visible(
        timeout=CURVE_TIMEOUT_MS
    )

    runs = list(Run.objects.filter(phase=Phase.MEASURE, matrix=UUID(page.url.rstrip("/").rpartition("/")[2])))
    assert [run.status for run in runs] == [Status.SUCCEEDED] * len(RUNGS)
    assert [problem for run in runs for problem in rejections(run)] == []
    expect(page.locator(CURVE).first).to_be_visible()
    return runs

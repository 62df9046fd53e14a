"""A cluster's exporters are scraped during its runs: the page of a run draws and searches what they stated."""

import time
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse
from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server

from benchsite.accounts.models import Role
from benchsite.tests.live_site import LiveSite, site as live_site
from runs.models import Matrix, Phase, Run
from runs.models.run import Status
from runs.results.recording.server_samples import read_exporters
from runs.tests.world import browser

__all__ = ["live_site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exporters may be; of the processes of the site, which are started later."""
    monkeypatch.setenv("BENCHSITE_EXTERNAL_NETWORKS", "127.0.0.0/8")


@pytest.fixture
def site(networks: None, live_site: LiveSite) -> LiveSite:
    return live_site


@pytest.fixture
def exporter() -> Iterator[str]:
    """The URL of an exporter like that of a machine and its Redis."""
    registry = CollectorRegistry()
    clock = Gauge("clock_seconds", "Its own time", registry=registry)
    clock.set_function(time.time)
    Gauge("redis_memory_used_bytes", "Memory", registry=registry).set(3 * 2**20)
    commands = Counter("redis_commands_processed", "Commands", registry=registry)
    commands.inc(7)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    yield f"http://127.0.0.1:{server.server_port}/metrics"
    server.shutdown()
    server.server_close()
    thread.join(5)


def measure(site: LiveSite, *exporters: str) -> Run:
    def add_exporters(matrix: Matrix) -> None:
        entry = matrix.entries.select_related("database__cluster").get()
        entry.database.cluster.exporters = list(exporters)
        entry.database.cluster.save()

    matrix = site.submit(("redis", "off"), rungs=[4], measure_s=9, repeats=1, before=add_exporters)
    runs = site.until_ended(matrix)
    assert {(run.status, run.reason_detail) for run in runs} == {(Status.SUCCEEDED, "")}
    return next(run for run in runs if run.phase == Phase.MEASURE)


def draw(client: Client, run: Run, search: str) -> dict[str, list[float]]:
    """The lines of the figure by the title of their panel."""
    figure = client.get(reverse("figure-run-exporters", args=[run.pk]), {"search": search}).json()
    table = figure["table"]
    assert table["columns"] == ["second", "quantity", "of", "value"]
    lines: dict[str, list[float]] = {}
    for _, quantity, _, value in table["rows"]:
        lines.setdefault(quantity, []).append(value)
    return lines


def test_metrics_are_kept_drawn_and_searched(site: LiveSite, exporter: str) -> None:
    gone = "http://127.0.0.1:9/metrics"
    run = measure(site, exporter, gone)
    client = browser(run.team, Role.VIEWER)

    stated, silent = run.evidence["exporters"]
    assert (stated["url"], stated["problem"]) == (exporter, "")
    assert stated["samples"] >= 4
    assert (silent["url"], silent["samples"]) == (gone, 0)
    clock = next(series for series in read_exporters(run) if series.family == "clock_seconds")
    assert clock.values.tolist() == pytest.approx(clock.at_s.tolist(), abs=2)

    preset = draw(client, run, "")
    assert preset["memory used (MiB)"] == [3.0] * stated["samples"]
    assert "commands (1/s)" in preset
    assert list(draw(client, run, "CLOCK sec")) == ["clock_seconds"]

    page = client.get(reverse("run", args=[run.pk]), {"metrics": "clock"}).content.decode()
    assert "?search=clock" in page
    assert gone in page
    assert "Nothing listens there" in page

"""Runs over a docker cluster, from the queue to the verdict, with a real engine; and a conductor that is killed."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings

from benchsite.tests.container_engine import TestEngine, engine
from benchsite.tests.live_site import LiveSite, rejections
from runs.models import Cluster, Database, Deployment, Matrix, Run
from runs.models.run import Phase, Status
from runs.results import artifacts
from workers.systems.build import build

__all__ = ["engine"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(500)]


@pytest.fixture
def site(engine: TestEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveSite]:
    build(settings.YCSB_DIR)
    engine.add_image("redis")
    engine.add_image("postgresql")
    # The site's parts inherit it as a team's conductor would.
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    monkeypatch.setenv("BENCHSITE_DOCKER_MEMORY_MB", "512")
    with LiveSite(tmp_path) as live:
        yield live
    engine.clear()  # The next site does not know this one's volumes.


def in_containers(matrix: Matrix) -> None:
    Cluster.objects.filter(databases__entries__matrix=matrix).update(provisioner="docker")


def with_a_replica(matrix: Matrix) -> None:
    in_containers(matrix)
    matrix.entries.filter(database__system="redis").update(mode="everysec-wait-1")
    Database.objects.filter(entries__matrix=matrix, system="redis").update(settings={"nodes": "2"})


def left_in(engine: TestEngine) -> list[str]:
    with engine.client() as client:
        containers = client.containers.list(all=True, ignore_removed=True)
        return [left.name for left in (*containers, *client.volumes.list())]


@pytest.mark.long
def test_it_measures_and_judges_and_leaves_nothing(engine, site):
    matrix = site.submit(
        ("redis", "everysec"), ("postgresql", "on"), rungs=[2], resets={"rung": "restart"}, before=with_a_replica
    )
    runs = site.until_ended(matrix, 200)
    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    assert [run.phase for run in runs] == [Phase.LOAD, Phase.MEASURE] * 2
    for run in runs:
        assert run.verdict and rejections(run) == []
        assert run.evidence["before"]["in_force"] and run.evidence["after"]["in_force"]
        assert run.evidence["rows"] == 10_000
        if run.mode == "everysec-wait-1":
            assert run.evidence["after"]["topology"]["nodes_up"] == "2"
        ran = run.evidence["container"]
        assert ran["reference"] in ("redis:7.4-bookworm", "postgres:17-bookworm")
        assert ran["image_id"].startswith("sha256:") and ran["memory_bytes"] == 512 * 1024**2
        assert artifacts.open_artifact(run.artifacts.get(kind="server_log"))
    # Restarted before the rung, so each had a container of its own, over the data that was loaded once.
    assert len({run.evidence["container"]["container"] for run in runs}) == 4
    gone = Deployment.objects.filter(state=Deployment.State.GONE)
    site.until(lambda: gone.count() == 2 and left_in(engine) == [], 60, "containers and volumes to be removed")


@pytest.mark.long
def test_the_next_conductor_ends_what_a_killed_one_left(engine, site):
    matrix = site.submit(("redis", "off"), rungs=[2], measure_s=20, before=in_containers)
    run = Run.objects.get(matrix=matrix, phase=Phase.MEASURE)
    site.until_stage(run, "measuring")
    os.kill(site.pid("conductor"), signal.SIGKILL)
    with engine.client() as client:
        [container] = client.containers.list()
        site.start("conductor")
        everything = partial(client.containers.list, all=True, ignore_removed=True)
        site.until(lambda: everything() == [], 30, f"{container.name} to be removed")
    deployment = Deployment.objects.get(matrix=matrix)
    assert (deployment.state, deployment.fingerprint) == (Deployment.State.DOWN, "")

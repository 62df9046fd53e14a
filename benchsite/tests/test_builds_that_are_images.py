"""Own builds that are images: of a registry, with tags that move, hostile ones, and three in one plan, for real."""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings

from benchsite.tests.container_engine import ACCOUNTS, Registry, TestEngine, engine, redis_files
from benchsite.tests.live_site import LiveSite
from benchsite.tests.test_a_run_in_containers import in_containers
from runs.catalog import load_catalog
from runs.models import Matrix
from runs.models.run import Phase, Status
from runs.tests.test_own_builds_in_plans import build
from workers.provision.docker_engine import ContainerSite, EngineError
from workers.provision.docker_provisioner import DockerProvisioner
from workers.provision.images import COMMIT_LABEL
from workers.provision.own_builds import OwnBuilds
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.systems.build import build as build_bindings

__all__ = ["engine"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SYSTEM = load_catalog().system("redis")
COMMITS = {"this": "7" * 40, "base": "b" * 40, "main": "a" * 40}
LOCAL = "localhost/team/redis"


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as registry:
        yield registry


@pytest.fixture
def start(engine: TestEngine, registry: Registry) -> Iterator[partial[DockerProvisioner]]:
    provisioners: list[DockerProvisioner] = []

    def make(image: str, *, pull: bool = True) -> DockerProvisioner:
        allowed = OwnBuilds(images=(f"{registry.repository}:", f"{LOCAL}:"))
        site = ContainerSite(engine=engine.address, mark="tests", pull=pull, own_builds=allowed)
        deployment = f"build-{len(provisioners)}"
        spec = ServerSpec(deployment=deployment, system=SYSTEM, mode=SYSTEM.mode("off"), build=build(image=image))
        provisioners.append(DockerProvisioner(spec, site))
        return provisioners[-1]

    yield partial(make)
    for provisioner in provisioners:
        with contextlib.suppress(EngineError):
            provisioner.remove()


def push(registry: Registry, tag: str, commit: str) -> str:
    return registry.push(tag, redis_files(), **{COMMIT_LABEL: commit})


def test_moved_tag_is_fetched_for_the_next_deployment(registry, start):
    """All runs of one start the same bytes."""
    first_digest = push(registry, "nightly", COMMITS["base"])
    first = start(f"{registry.repository}:nightly")
    before = first.start()
    moved_digest = push(registry, "nightly", COMMITS["this"])
    first.stop()
    again = first.start()
    second = start(f"{registry.repository}:nightly").start()

    assert before.build == again.build == {"digest": first_digest, "commit": COMMITS["base"]}
    assert second.build == {"digest": moved_digest, "commit": COMMITS["this"]}
    assert before.version and before.container["reference"] == f"{registry.repository}:nightly"


def test_image_made_here_needs_no_registry(engine, start):
    engine.add_build(f"{LOCAL}:7", redis_files())

    server = start(f"{LOCAL}:7").start()

    assert server.build == {"digest": server.container["image_id"], "commit": ""}


@pytest.mark.parametrize("pull", [False, True])
def test_missing_image_is_named(registry, start, pull):
    reference = f"{registry.repository}:gone"
    with pytest.raises(ServerDidNotStart, match=f"The image {reference} (is not on|could not be pulled)"):
        start(reference, pull=pull).start()


@pytest.mark.parametrize(
    "accounts",
    [
        "redis:x:0:0::/:", "redis:x:00:0::/:", "redis:x:9_9:0::/:", "redis:x:nine:0::/:", "redis:x", "",
        "redis:x:0:0::/:\nredis:x:999:999::/:", "\x1fredis:x:999:999::/:\nredis:x:0:0::/:",
        "a:\x0credis:x:999:999::/:\nredis:x:0:0::/:",
    ],
    ids=range(9),
)  # fmt: skip
def test_image_whose_account_is_root_is_refused(engine, start, accounts):
    engine.add_build(f"{LOCAL}:hostile", redis_files(), ACCOUNTS.replace("redis:x:999:1000::/data:/bin/sh", accounts))

    with pytest.raises(ServerDidNotStart, match="has no account redis"):
        start(f"{LOCAL}:hostile").start()


@pytest.fixture
def site(engine: TestEngine, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveSite]:
    build_bindings(settings.YCSB_DIR, ["redis"])
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    monkeypatch.setenv("BENCHSITE_DOCKER_PULL", "True")
    monkeypatch.setenv("BENCHSITE_OWN_BUILD_IMAGES", f"{registry.repository}:")
    with LiveSite(tmp_path) as live:
        yield live
    engine.clear()


@pytest.mark.long
@pytest.mark.django_db(transaction=True)
def test_builds_of_one_plan_are_named_by_commit(site, registry):
    digests = {name: push(registry, name, commit) for name, commit in COMMITS.items()}

    def plan_builds(matrix: Matrix) -> None:
        in_containers(matrix)
        builds = [build(name, image=f"{registry.repository}:{name}") for name in COMMITS]
        Matrix.objects.filter(pk=matrix.pk).update(builds=builds)

    matrix = site.submit(("redis", "off"), rungs=[2], repeats=2, order="interleaved", before=plan_builds)
    runs = site.until_ended(matrix, 250)

    assert [(run.name, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    measured = [run for run in runs if run.phase == Phase.MEASURE]
    assert len(measured) == 6 and {run.spec["build"]["name"]: run.commit for run in measured} == COMMITS
    assert {run.spec["build"]["name"]: run.evidence["build"]["digest"] for run in measured} == digests

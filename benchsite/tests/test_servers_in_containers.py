"""Servers in containers of a real Docker engine: started, read back, stopped in every way, and never left behind."""

import contextlib
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchsite.tests.container_engine import TestEngine, engine
from runs.catalog import load_catalog
from workers.provision.docker_engine import ContainerSite, EngineError
from workers.provision.docker_provisioner import DockerProvisioner
from workers.provision.leftovers import sweep
from workers.provision.network_cut import CutError, check_cut
from workers.provision.readback import read_back
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.provision.sync_latency import probe_disk
from workers.tests.test_run_faults import Target
from workers.tests.test_stopping_servers import write_rows

__all__ = ["engine"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Servers = Callable[..., DockerProvisioner]


@pytest.fixture(scope="module")
def place(engine: TestEngine) -> ContainerSite:
    engine.add_image("redis")
    engine.add_image("postgresql")
    return ContainerSite(engine=engine.address, mark="tests", memory_bytes=512 * 1024**2, cpus=1.5)


@pytest.fixture
def servers(place: ContainerSite) -> Iterator[Servers]:
    made: list[DockerProvisioner] = []

    def make(system: str, mode: str, site: ContainerSite = place, **wanted: Any) -> DockerProvisioner:
        found = load_catalog().system(system)
        wanted.setdefault("deployment", f"{system}-{len(made)}")
        made.append(DockerProvisioner(ServerSpec(system=found, mode=found.mode(mode), **wanted), site))
        return made[-1]

    yield make
    for provisioner in made:
        with contextlib.suppress(EngineError):
            provisioner.remove()


@pytest.mark.parametrize(("system", "mode"), [("redis", "off"), ("postgresql", "on")])
def test_it_starts_a_server_whose_planned_stop_keeps_the_data(engine, servers, system, mode):
    provisioner = servers(system, mode)
    server = provisioner.start()
    assert server.host == "127.0.0.1" and server.version
    assert read_back(server.spec.system, server.spec.mode, server.administration).in_force
    write_rows(server, 200)
    facts = server.container
    assert facts["reference"] == server.spec.system.image.reference("")
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", str(facts["image_id"])) and facts["digest"] == ""
    assert (facts["network"], facts["memory_bytes"], facts["cpus"]) == ("host", 512 * 1024**2, 1.5)
    assert Path(f"/proc/{server.process['pid']}/comm").read_text().strip() in ("redis-server", "postgres")
    assert probe_disk(Path(server.folder), writes=2).median_us > 0
    with pytest.raises(ServerDidNotStart, match="already up"):
        provisioner.start()

    # The password is nowhere that `docker inspect` or a label tells of.
    with engine.client() as client:
        told = client.api.inspect_container(provisioner.name), client.api.inspect_volume(provisioner.name)
        assert server.password and server.password not in str(told)
    assert all(server.password not in text for text in server.files.values())
    assert server.password not in repr(server)

    provisioner.stop(planned=True)
    assert not provisioner.alive()
    assert "bye" in provisioner.log_tail() or "shut down" in provisioner.log_tail()
    again = provisioner.start()
    assert again.password == server.password
    assert again.administration.size("usertable") == 200

    # Killed, it keeps what its mode promises.
    provisioner.stop(planned=False)
    provisioner.stop()
    assert not provisioner.alive()
    kept = {"redis": 200, "postgresql": 200}  # Redis has the snapshot of its planned stop.
    assert provisioner.start().administration.size("usertable") == kept[system]
    provisioner.remove()
    provisioner.remove()
    with engine.client() as client:
        assert client.containers.list(all=True) == [] and client.volumes.list() == []


@pytest.mark.parametrize(
    ("system", "mode"), [("redis", "everysec-wait-1"), pytest.param("postgresql", "on-standby", marks=pytest.mark.long)]
)
def test_replica_is_copied_and_read_back(engine, servers, system, mode):
    provisioner = servers(system, mode, settings={"nodes": "2"})
    server = provisioner.start()

    def state():
        return read_back(server.spec.system, server.spec.mode, server.administration)

    assert state().in_force, state().differences
    assert server.nodes == (("127.0.0.1", server.port), ("127.0.0.2", server.port))
    assert len(server.process["pids"]) == 2
    write_rows(server, 20)
    with engine.client() as client:
        client.containers.get(f"{provisioner.name}-node-2").kill()
    assert not provisioner.alive()
    assert provisioner.log_tail().startswith("Node 2 ended:")
    provisioner.stop(planned=True)
    server = provisioner.start()
    assert server.administration.size("usertable") == 20 and state().in_force
    provisioner.remove()
    with engine.client() as client:
        assert client.containers.list(all=True) == [] and client.volumes.list() == []


def test_several_nodes_need_the_network_of_the_host(place, servers):
    provisioner = servers("redis", "off", replace(place, network="lab"), settings={"nodes": "2"})
    with pytest.raises(ServerDidNotStart, match="need the host's network, and containers here are on lab"):
        provisioner.start()


def test_it_sees_a_container_that_was_killed(engine, servers):
    provisioner = servers("redis", "off")
    provisioner.start()
    assert provisioner.alive()
    with engine.client() as client:
        client.containers.get(provisioner.name).kill()
    assert not provisioner.alive()
    assert "Ready to accept connections" in provisioner.log_tail()
    provisioner.stop()  # Nothing is left to stop.
    with engine.client() as client:
        client.containers.get(provisioner.name).remove(v=True)
    assert not provisioner.alive()
    assert "is gone" in provisioner.log_tail()


def test_it_makes_half_a_data_folder_anew(engine, servers):
    provisioner = servers("redis", "off")
    with engine.client() as client:
        volume = client.volumes.create(provisioner.name)
        Path(volume.attrs["Mountpoint"], "data").mkdir()
        Path(volume.attrs["Mountpoint"], "data", "dump.rdb").write_text("half")
    assert provisioner.start().administration.size("usertable") == 0


def test_server_on_container_network_has_its_own_address(engine, place, servers):
    with engine.client() as client:
        network = client.networks.create("lab")
        try:
            provisioner = servers("postgresql", "off", replace(place, network="lab"))
            server = provisioner.start()
            assert server.host != "127.0.0.1" and (server.port, server.container["network"]) == (5432, "lab")
            write_rows(server, 3)
            provisioner.remove()
        finally:
            network.remove()


@pytest.mark.parametrize(("pull", "says"), [(False, "run `docker pull redis:6.0.1`"), (True, "could not be pulled")])
def test_it_names_the_command_for_a_missing_image(place, servers, pull, says):
    with pytest.raises(ServerDidNotStart) as refused:
        servers("redis", "off", replace(place, pull=pull), version="6.0.1").start()
    assert says in str(refused.value)


def test_it_says_what_is_wrong_before_it_makes_anything(engine, place, servers):
    for wanted, says in (
        (servers("redis", "off", settings={"maxmemmory": "1GB"}), "Did you mean 'maxmemory'"),
        (servers("redis", "off-wait-1"), "it waits for 1 replica, and a single node starts"),
        (servers("redis", "off", version="7 4"), "is no tag of the image redis"),
    ):
        with pytest.raises(ServerDidNotStart, match=says):
            wanted.start()
    with engine.client() as client:
        assert client.volumes.list() == []


def test_reports_ended_server_and_refusal_by_the_engine(place, servers, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setattr("workers.provision.docker_provisioner.free_port", lambda host: port)
        provisioner = servers("redis", "off")
        with pytest.raises(ServerDidNotStart, match="ended with exit code 1") as failed:
            provisioner.start()
    assert "Address already in use" in failed.value.log_tail
    assert not provisioner.alive()
    with pytest.raises(EngineError, match="Minimum memory limit"):
        servers("redis", "off", replace(place, memory_bytes=1024)).start()


def test_it_takes_another_port_when_one_was_taken_meanwhile(servers, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as free:
        taken, left = other.getsockname()[1], free.getsockname()[1]
        free.close()
        ports = iter([taken, left])
        monkeypatch.setattr("workers.provision.docker_provisioner.free_port", lambda host: next(ports))
        assert servers("redis", "off").start().port == left


def test_it_sweeps_what_earlier_lives_left(engine, place, servers):
    going_on, finished = servers("redis", "off"), servers("redis", "off")
    neighbour = servers("redis", "off", replace(place, mark="neighbour"))
    for provisioner in (going_on, finished, neighbour):
        provisioner.start()
    removed = sweep(place, lambda: ({going_on.spec.deployment}, ()))
    assert sorted(removed) == sorted([going_on.name, finished.name, f"volume {finished.name}"])
    assert not going_on.alive() and not finished.alive()
    assert neighbour.alive()
    assert sweep(place, lambda: ({going_on.spec.deployment}, ())) == []
    assert going_on.start().version  # Over the volume that was kept.


def test_it_names_the_socket_of_an_engine_that_is_away(tmp_path, servers, place):
    away = replace(place, engine=f"unix://{tmp_path}/docker.sock")
    with pytest.raises(EngineError, match=r"No such file or directory.*group docker.*DOCKER_HOST"):
        servers("redis", "off", away).start()
    with pytest.raises(EngineError, match="conductor's own machine"):
        servers("redis", "off", replace(place, engine="tcp://10.0.0.1:2375")).start()
    with pytest.raises(EngineError, match="does not answer"):
        sweep(away, lambda: ((), ()))


def test_an_engine_that_goes_away_is_told_apart_from_its_server(servers, place):
    provisioner = servers("redis", "off")
    provisioner.start()
    began, provisioner.site = time.monotonic(), replace(place, engine="unix:///nowhere/docker.sock")
    assert provisioner.alive(), "the server itself still answers"
    assert "does not answer" in provisioner.log_tail()
    with pytest.raises(EngineError, match="does not answer"):
        provisioner.stop()
    assert time.monotonic() - began < 10
    provisioner.site = place


def test_restart_of_containers_keeps_what_a_planned_stop_keeps(engine, servers):
    """`off` writes nothing but a snapshot when it is told to end."""
    target = Target(servers("redis", "off"))
    with target.client() as client:
        client.set("kept", "value")
    assert target.inject("restart").join(60)
    with target.client() as client:
        assert client.get("kept") == b"value"


def test_faults_hit_containers_and_end(engine, servers):
    target = Target(servers("redis", "always"))
    with target.client() as client:
        client.set("kept", "value")
    kinds = ["pause", "crash", "restart", *(["network_cut"] if can_cut() else [])]
    for kind in kinds:
        injector = target.inject(kind)
        longest_s, failures = target.longest_answer_s(injector)
        assert injector.records[0]["error"] == "", kind
        assert longest_s >= 0.9 or failures, kind
        with target.client() as client:
            assert client.get("kept") == b"value", kind
    assert (target.ends, target.provisioner.alive()) == (2, True)


def can_cut() -> bool:
    with contextlib.suppress(CutError):
        check_cut()
        return True
    return False

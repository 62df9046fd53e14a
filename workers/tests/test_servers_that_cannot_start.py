"""A server that does not come up says why, with its last log lines and what to do, and leaves nothing behind."""

import dataclasses
import socket

import pytest

from benchsite.core.paths import Account
from benchsite.tests.needs import need
from workers.provision.folders import make_folder
from workers.provision.servers import ServerDidNotStart
from workers.tests.conftest import find_processes


@pytest.mark.slow
@pytest.mark.parametrize("system", ["redis", "postgresql"])
def test_it_tells_of_a_port_that_is_taken(servers, system):
    with socket.create_server(("127.0.0.1", 0)) as other:
        provisioner = servers(system, "off", port=other.getsockname()[1])
        with pytest.raises(ServerDidNotStart) as failed:
            provisioner.start()
    assert "Address already in use" in failed.value.log_tail
    assert failed.value.log_tail in str(failed.value)
    assert find_processes(provisioner.folder) == []


@pytest.mark.slow
def test_it_takes_another_port_when_one_was_taken_meanwhile(servers, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as free:
        taken, left = other.getsockname()[1], free.getsockname()[1]
        free.close()
        ports = iter([taken, left])
        monkeypatch.setattr("workers.provision.process_provisioner.free_port", lambda host: next(ports))
        assert servers("redis", "off").start().port == left


@pytest.mark.slow
def test_it_tells_of_a_setting_the_server_refuses(servers):
    provisioner = servers("postgresql", "off", settings={"huge_pages": "on", "shared_buffers": "1TB"})
    with pytest.raises(ServerDidNotStart, match="ended with exit code 1") as failed:
        provisioner.start()
    assert "could not map anonymous shared memory" in failed.value.log_tail
    # The data folder is whole, so the mended database starts in it.
    provisioner.spec = dataclasses.replace(provisioner.spec, settings={})
    assert provisioner.start().version


@pytest.mark.slow
def test_it_makes_half_a_data_folder_anew(servers):
    """An initdb that was killed leaves files which PostgreSQL would take for a database."""
    provisioner = servers("postgresql", "off", fresh=True)
    half = provisioner.folder / "data"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    assert provisioner.start().version


@pytest.mark.slow
def test_it_refuses_to_start_twice(servers):
    provisioner = servers("redis", "off")
    provisioner.start()
    with pytest.raises(ServerDidNotStart, match="already up"):
        provisioner.start()


def test_it_names_the_nearest_setting(servers):
    with pytest.raises(ServerDidNotStart, match="Did you mean 'maxmemory'"):
        servers("redis", "off", settings={"maxmemmory": "1GB"}).start()


def test_it_names_the_versions_that_are_here(servers):
    with pytest.raises(ServerDidNotStart, match="PostgreSQL 9 is needed; on this machine: "):
        servers("postgresql", "off", version="9.6").start()


@pytest.mark.parametrize("name", ["", "../other", "a/b", ".", "a\nb"])
def test_it_refuses_names_that_lead_elsewhere(servers, name):
    with pytest.raises(ValueError, match="cannot name a folder"):
        servers("redis", "off", deployment=name or "-")


def test_names_setting_for_folder_the_account_cannot_reach(tmp_path):
    need("root")
    tmp_path.chmod(0o700)
    account = Account("nobody", 65534, 65534)
    with pytest.raises(ServerDidNotStart, match="BENCHSITE_TARGETS"):
        make_folder(tmp_path / "targets" / "one", account)
    assert tmp_path.stat().st_mode & 0o777 == 0o700

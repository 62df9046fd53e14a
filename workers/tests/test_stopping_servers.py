"""A planned stop keeps the data in every mode; no stop and no death of the owner leaves a process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from benchsite.tests.needs import need
from workers.provision.administration import AdministrationError
from workers.provision.administration.factory import administration_for
from workers.provision.servers import Server
from workers.tests.conftest import find_processes

pytestmark = pytest.mark.slow


def write_rows(server: Server, rows: int) -> None:
    """As the clients' bindings lay records out."""
    server.administration.create_table("usertable", ["field0", "field1"], "{}")
    if server.spec.system.slug == "redis":
        with redis.Redis(server.host, server.port, password=server.password) as client:
            for number in range(rows):
                client.hset(f"user{number}", mapping={"field0": "a", "field1": "b"})
        return
    with psycopg.connect(
        host=server.host, port=server.port, user="ycsb", password=server.password, dbname="ycsb"
    ) as session:
        session.execute("INSERT INTO usertable SELECT 'user' || n, 'a', 'b' FROM generate_series(1, %s) n", [rows])


@pytest.mark.parametrize(
    ("system", "mode"), [("redis", "off"), ("redis", "no"), ("redis", "always"), ("postgresql", "off")]
)
def test_a_planned_stop_keeps_every_row(servers, system, mode):
    provisioner = servers(system, mode)
    server = provisioner.start()
    write_rows(server, 500)
    provisioner.stop(planned=True)
    assert find_processes(provisioner.folder) == []
    assert not provisioner.alive()
    again = provisioner.start()
    assert again.administration.size("usertable") == 500


def test_a_hard_stop_loses_what_was_only_in_memory(servers):
    provisioner = servers("redis", "off")
    write_rows(provisioner.start(), 20)
    provisioner.stop(planned=False)
    assert find_processes(provisioner.folder) == []
    assert provisioner.start().administration.size("usertable") == 0


def test_a_hard_stop_keeps_what_was_forced_to_disk(servers):
    provisioner = servers("postgresql", "on")
    write_rows(provisioner.start(), 20)
    provisioner.stop(planned=False)
    assert provisioner.start().administration.size("usertable") == 20


def test_removing_deletes_the_data(servers):
    provisioner = servers("postgresql", "off")
    server = provisioner.start()
    assert Path(server.folder, "data").is_dir()
    provisioner.remove()
    assert not Path(server.folder).exists()
    provisioner.remove()  # Twice does no harm.


def test_it_sees_a_server_that_died(servers):
    provisioner = servers("redis", "off")
    server = provisioner.start()
    assert provisioner.alive()
    os.kill(int(str(server.process["pid"])), signal.SIGKILL)
    for _ in range(100):
        if not provisioner.alive():
            break
        time.sleep(0.05)
    assert not provisioner.alive()
    provisioner.stop()  # Nothing is left to stop.
    assert provisioner.start().administration.size("usertable") == 0


OWNER = """
import sys, time
from pathlib import Path
from benchsite.core.paths import unprivileged_account
from runs.catalog import load_catalog
from workers.provision.process_provisioner import ProcessProvisioner, Site
from workers.provision.servers import ServerSpec

base, slug = Path(sys.argv[1]), sys.argv[2]
system = load_catalog().system(slug)
site = Site(
    targets=base / "t", registry=base / "g", shelf=base / "p", servers=base / "s", account=unprivileged_account()
)
ProcessProvisioner(ServerSpec(deployment=slug, system=system, mode=system.mode("off")), site).start()
print("up", flush=True)
time.sleep(120)
"""


@pytest.mark.parametrize("system", ["redis", "postgresql"])
def test_no_server_outlives_its_owner(site, system):
    base = site.targets.parent
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(base), system], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    try:
        assert owner.stdout.readline() == b"up\n"
        assert find_processes(base / "t")
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    end = time.monotonic() + 30
    while find_processes(base) and time.monotonic() < end:
        time.sleep(0.1)
    assert find_processes(base) == []


def test_it_runs_servers_as_an_unprivileged_account(servers, site):
    need("root")
    provisioner = servers("redis", "off")
    server = provisioner.start()
    assert psutil.Process(int(str(server.process["pid"]))).username() == site.account.name
    assert provisioner.folder.stat().st_uid == site.account.uid
    assert provisioner.folder.stat().st_mode & 0o777 == 0o700


def test_it_hides_the_password(servers):
    provisioner = servers("redis", "off")
    server = provisioner.start()
    assert server.password
    assert server.password not in repr(server)
    assert all(server.password not in text for text in server.files.values())
    assert not any(server.password in line for line in find_processes(provisioner.folder))
    properties = {**server.client_properties(), "redis.password": ""}
    with pytest.raises(AdministrationError, match="Authentication required"):
        administration_for(server.spec.system, properties).ping()

"""Data and logs of started servers lie on the disks that their database chooses among those the operator names."""

import dataclasses

import pytest

from runs.catalog import load_catalog
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.servers import ServerDidNotStart, ServerSpec
from workers.tests.test_administration import postgresql_session

POSTGRESQL = load_catalog().system("postgresql")


@pytest.fixture
def disks(site):
    folders = {name: site.targets.parent / name for name in ("ssd", "hdd")}
    for folder in folders.values():
        folder.mkdir(mode=0o755)
    return folders


@pytest.fixture
def make(site, disks):
    made = []

    def start(**server_settings):
        spec = ServerSpec(deployment="here", system=POSTGRESQL, mode=POSTGRESQL.mode("off"), settings=server_settings)
        made.append(ProcessProvisioner(spec, dataclasses.replace(site, disks=disks)))
        return made[-1]

    yield start
    for provisioner in made:
        provisioner.remove()


@pytest.mark.slow
def test_data_and_log_lie_on_their_disks(make, disks):
    provisioner = make(data_disk="ssd", log_disk="hdd")

    server = provisioner.start()

    data = (provisioner.folder / "data").resolve()
    assert data.parent == disks["ssd"] / "here"
    assert (data / "pg_wal").resolve().parent == disks["hdd"] / "here"
    with postgresql_session(server) as session:
        session.execute("CREATE TABLE kept AS SELECT 1")
    provisioner.stop()
    with postgresql_session(provisioner.start()) as session:
        assert session.execute("SELECT count(*) FROM kept").fetchone() == (1,)


@pytest.mark.slow
def test_nothing_is_left_on_the_disks(make, disks):
    provisioner = make(log_disk="hdd")
    provisioner.start()

    provisioner.remove()

    assert [list(folder.iterdir()) for folder in disks.values()] == [[], []]


@pytest.mark.parametrize("setting", ["data_disk", "log_disk"])
def test_other_disks_are_refused(make, setting):
    with pytest.raises(ServerDidNotStart, match=f"{setting} is tape, which is no disk"):
        make(**{setting: "tape"}).start()

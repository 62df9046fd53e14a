"""The second method: the server in a virtual machine that is killed loses what its mode loses on the volatile disk."""

import pytest

from runs.catalog import load_catalog
from runs.catalog.measured_losses import Fault
from workers.durability.guest import archive, guest_problem, prepared_guest
from workers.durability.trials import THREADS
from workers.systems.build import build
from workers.tests.conftest import site
from workers.tests.trees import ROOT

__all__ = ["site"]
CUTS = 3


def test_archive_has_every_folder_once():
    content = b"".join(archive([("/a/b", b"12345", 0o755), ("/a/c", b"", 0o644)]))
    assert content.count(b"070701") == 4 and len(content) % 4 == 0
    assert content.index(b"a\0") < content.index(b"a/b\0") < content.index(b"12345") < content.index(b"TRAILER!!!")


@pytest.mark.long
@pytest.mark.skipif(bool(guest_problem()), reason=guest_problem())
@pytest.mark.parametrize(
    ("name", "loses"),
    [
        ("redis/always", False),
        ("redis/everysec", True),
        ("postgresql/on", False),
        ("postgresql/off", True),
        ("postgresql/fsync-off", True),
    ],
)
def test_guest_loses_what_the_volatile_disk_loses(site, name, loses):
    slug, mode = name.split("/")
    system = load_catalog().system(slug)
    manifest = build(ROOT / "var" / "ycsb")[slug]
    with prepared_guest(system, system.mode(mode), manifest, site) as bench:
        trials = [bench.run_trial(Fault.POWER_CUT, moment_s) for moment_s in bench.moments_s(CUTS)]
    for trial in trials:
        # Without any sync PostgreSQL may find an empty lock file of its own, and does not start.
        assert mode == "fsync-off" or trial.problem == ""
        assert trial.loss.acknowledged >= THREADS
        assert trial.loss.damaged == trial.loss.holes == 0
    assert any(trial.loss.lost for trial in trials) == loses

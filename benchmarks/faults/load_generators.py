"""A load generator that hangs, and one of two conductors."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from benchmarks.faults.fault import IDLE, MEASURING, fault
from benchmarks.faults.site import FaultSite
from benchsite.supervisor import GENERATORS

HANG_S = 60.0


@fault("pool-hung", moment=IDLE, outage_s=HANG_S)
def _(site: FaultSite) -> Iterator[None]:
    """The processes that run clients stop; their parent goes on."""
    pool = site.pool(GENERATORS[0])
    for process in pool:
        process.suspend()
    yield
    for process in pool:
        process.resume()


@contextmanager
def second_conductor(site: FaultSite) -> Iterator[None]:
    """A conductor beside the supervisor's."""
    site.renew()  # The conductor needs the site's tables.
    site.start_helper("conductor", sys.executable, "manage.py", "component", "conductor")
    try:
        yield
    finally:
        site.stop_helpers()


@fault("kill-one-conductor-of-two", moment=MEASURING, environment=second_conductor)
def _(site: FaultSite) -> Iterator[None]:
    """The one that conducts the run: the server under test is its child's child."""
    guardian = psutil.Process(site.server_pid()).parent()
    conductor = guardian.parent() if guardian is not None else None
    assert conductor is not None
    conductor.kill()
    yield
    if not site.helpers["conductor"].alive():
        site.restart_helper("conductor")

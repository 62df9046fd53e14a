"""SIGKILL to a part of the site, to what a part has started, and to all of it; and a part that hangs."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import psutil

from benchmarks.faults.fault import IDLE, LOADING, MEASURING, fault
from benchmarks.faults.site import FaultSite
from benchsite.local.supervisor import GENERATORS, running_site
from runs.queue.reasons import Reason

HANG_S = 60.0
RESTART_DELAY_S = 3.0  # until an operator or a service manager starts the site again


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


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _register_part(name: str, get_pid: Callable[[FaultSite], int]) -> None:
    @fault(name, moment=MEASURING)
    def _(site: FaultSite) -> Iterator[None]:
        kill(get_pid(site))
        yield


def _part_pid(part: str, site: FaultSite) -> int:
    return site.record(part).pid


def _guardian_pid(part: str, site: FaultSite) -> int:
    return site.record(part).guardian_pid


def _working_child_pid(generator: str, site: FaultSite) -> int:
    """The pool process that runs a client: the one with children of its own."""
    return next(child.pid for child in site.pool(generator) if child.children())


for _part in ("conductor", "scheduler", "web"):
    _register_part(f"kill-{_part}", partial(_part_pid, _part))
    _register_part(f"kill-{_part}-guardian", partial(_guardian_pid, _part))
for _part in GENERATORS:
    _register_part(f"kill-{_part}", partial(_part_pid, _part))
    _register_part(f"kill-{_part}-pool", partial(_working_child_pid, _part))
_register_part("kill-client-guardian", partial(_guardian_pid, "ycsb"))


@fault("kill-conductor-loading", moment=LOADING)
def _(site: FaultSite) -> Iterator[None]:
    kill(site.record("conductor").pid)
    yield


@fault("kill-jvm", moment=MEASURING)
def _(site: FaultSite) -> Iterator[None]:
    site.clients()[0].kill()
    yield


@fault("kill-server", moment=MEASURING, excuses=frozenset({Reason.SERVER_LOST}))
def _(site: FaultSite) -> Iterator[None]:
    kill(site.server_pid())
    yield


@fault("kill-server-guardian", moment=MEASURING, excuses=frozenset({Reason.SERVER_LOST}))
def _(site: FaultSite) -> Iterator[None]:
    guardian = psutil.Process(site.server_pid()).parent()
    assert guardian is not None
    guardian.kill()
    yield


@fault("kill-supervisor", moment=MEASURING, outage_s=RESTART_DELAY_S)
def _(site: FaultSite) -> Iterator[None]:
    supervisor = running_site()
    assert supervisor is not None
    kill(supervisor.pid)
    yield
    site.up()


@fault("kill-everything", moment=MEASURING, outage_s=RESTART_DELAY_S)
def _(site: FaultSite) -> Iterator[None]:
    site.kill_everything()
    yield
    site.start_servers_again()
    site.up()


@fault("make-down", moment=MEASURING, outage_s=RESTART_DELAY_S)
def _(site: FaultSite) -> Iterator[None]:
    site.down()
    yield
    site.up()

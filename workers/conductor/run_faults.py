"""Applies the planned faults of a run to its servers while it is measured. No Django.

A thread of the conductor waits for the begin of each fault, applies it, waits for its end and undoes it. Where the
conductor dies, the guardians end the servers, also stopped ones, within seconds, and a watching shell restores a cut
network; its next life removes containers and empty groups.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, TypedDict

from runs.builds import AVAILABLE
from runs.plans.faults import MIN_GAP_S, fault_sentence
from runs.queue.spec import FaultSpec
from workers.durability.storage import StorageError, require_volatile_storage
from workers.generator.clock import Clock
from workers.provision.cpu_quota import QuotaError, check_quota, cpu_quota
from workers.provision.docker_provisioner import DockerProvisioner
from workers.provision.network_cut import CutError, check_cut, network_cut
from workers.provision.process_provisioner import ProcessProvisioner
from workers.provision.process_tree import processes_below
from workers.provision.servers import ProvisionError

if TYPE_CHECKING:
    from workers.conductor.deployment import Standing

# Before its begin the processes and sockets of a fault are read: that takes time on a busy machine.
PREPARATION_S: Final = MIN_GAP_S

log = logging.getLogger(__name__)


class FaultRecord(TypedDict):
    """What became of one planned fault. Instants are seconds since 1970 on PostgreSQL's clock; None: not reached."""

    fault: FaultSpec
    began_at: float | None
    ended_at: float | None  # when it was undone; of a crash or restart when the server answered again
    error: str


def host_faults() -> dict[str, str]:
    """Kinds of fault that not every machine can apply: `AVAILABLE`, or why not and what to do."""
    answers = {}
    checks = {"cpu_throttle": check_quota, "slow_disk": require_volatile_storage, "network_cut": check_cut}
    for kind, check in checks.items():
        answers[kind] = AVAILABLE
        try:
            check()
        except (QuotaError, StorageError, CutError) as error:
            answers[kind] = str(error)
    return answers


class FaultInjector:
    """Applies faults from its start on.

    `begins_in_s`: from now to the begin of the measured window. `note` is called at the begin and the end of each
    fault, in the injector's thread, and must not raise.
    """

    def __init__(
        self,
        faults: Sequence[FaultSpec],
        target: "Standing",
        provisioner: ProcessProvisioner | DockerProvisioner,
        note: Callable[[str], None],
        *,
        begins_in_s: float,
        clock: Clock | None = None,
    ) -> None:
        self._target, self._provisioner, self._note = target, provisioner, note
        self.records: Final[list[FaultRecord]] = [
            {"fault": fault, "began_at": None, "ended_at": None, "error": ""} for fault in faults
        ]
        self._begin = time.monotonic() + begins_in_s
        self._clock = clock or Clock()
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._apply_all, name="faults", daemon=True)
        self._thread.start()

    def join(self, timeout_s: float) -> bool:
        """Whether all faults are over and undone within the time."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Undoes the fault that goes on and applies no other. A server that is down is not started again."""
        self._cancelled.set()
        self._thread.join()

    def _apply_all(self) -> None:
        for number, record in enumerate(self.records, 1):
            begin_s = self._begin + record["fault"]["at_s"]
            sentence = fault_sentence(record["fault"])
            try:
                if self._cancelled.wait(max(0.0, begin_s - PREPARATION_S - time.monotonic())):
                    return

                applied = self._prepare(record["fault"])
                if self._cancelled.wait(max(0.0, begin_s - time.monotonic())):
                    return

                due = time.monotonic() + record["fault"]["duration_s"]
                record["began_at"] = self._clock.now_s()
                with applied:
                    self._note(f"Fault {number} began: {sentence}.")
                    self._cancelled.wait(max(0.0, due - time.monotonic()))

                record["ended_at"] = self._clock.now_s()
                self._note(f"Fault {number} ended: {sentence}.")
            except Exception as error:
                if not isinstance(error, ProvisionError | QuotaError | StorageError | CutError):
                    log.exception("Fault %d could not be applied.", number)
                record["error"] = str(error)
                self._note(f"Fault {number} failed ({sentence}): {error}")

    def _prepare(self, fault: FaultSpec) -> AbstractContextManager[None]:
        """Within it the fault lasts. To be called after the fault before: that may have started other processes."""
        match fault["kind"]:
            case "pause":
                return self._provisioner.paused(fault["node"])
            case "cpu_throttle":
                return self._throttle(fault)
            case "slow_disk":
                assert fault["value"] is not None and isinstance(self._provisioner, ProcessProvisioner)
                return self._provisioner.slow_disk(fault["value"])
            case "network_cut":
                nodes = [self._provisioner.processes(node + 1) for node in range(len(self._target.server.nodes) or 1)]
                if fault["node"] is None:
                    return network_cut(nodes)
                side = nodes.pop(fault["node"] - 1)
                return network_cut([side], chain.from_iterable(nodes))
            case _:
                return self._end_processes(fault)

    @contextmanager
    def _throttle(self, fault: FaultSpec) -> Iterator[None]:
        assert fault["value"] is not None and isinstance(self._provisioner, ProcessProvisioner)
        with ExitStack() as stack:
            for pid in self._provisioner.guardians(fault["node"]):
                stack.enter_context(cpu_quota(partial(processes_below, pid), fault["value"]))
            yield

    @contextmanager
    def _end_processes(self, fault: FaultSpec) -> Iterator[None]:
        self._target.servers_stop()
        self._provisioner.stop_nodes(fault["node"], planned=fault["kind"] == "restart")
        yield
        if not self._cancelled.is_set():
            self._target.servers_started(self._provisioner.start_nodes(self._target.server, fault["node"]))

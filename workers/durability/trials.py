"""Faults against a real server on a volatile disk: acknowledged writes, the fault, recovery, the loss. No Django.

A power cut kills the process that holds what was not synced, then the server; the server starts again on what survived.
A process crash kills the server alone. Every trial begins with a copy of the same data folder.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from runs.catalog import Mode, System
from runs.catalog.measured_losses import Disk, Fault
from workers.durability.ledger import UNREADABLE, Loss, classify
from workers.durability.ledger_client import LedgerClient
from workers.durability.storage import start_storage
from workers.manifests import Manifest
from workers.provision.folders import make_folder, remove_folder
from workers.provision.ports import free_port
from workers.provision.process import ProcessProvisioner, Site
from workers.provision.server_base import HOST
from workers.provision.servers import ServerDidNotStart, Wanted

THREADS: Final = 4
RATE_OPS_S: Final = 1000.0
TABLE: Final = "usertable"
FIELD: Final = "field0"
UNBOUNDED_PERIOD_S: Final = 1.0
MIN_PERIOD_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One fault and its outcome. Instants are seconds."""

    fault: Fault
    fault_after_s: float  # from the first acknowledgements to the fault
    recovery_s: float | None  # from the start of the server's process to its first answer; None: it did not start
    problem: str  # why it did not start
    loss: Loss


class Bench:
    """One system in one mode with its prepared data folder and client. Made by `prepared_bench`."""

    def __init__(
        self, provisioner: ProcessProvisioner, port: int, version: str, client: LedgerClient, site: Site, disk: Disk
    ) -> None:
        self.provisioner = provisioner
        self.port = port
        self.version = version
        self.client = client
        self.site = site
        self.disk = disk
        self.data = provisioner.folder / "data"

    def run_trial(self, fault: Fault, after_s: float) -> Trial:
        """Writes for `after_s` seconds, then the fault, the recovery and the reading. Raises ProvisionError,
        StorageError and LedgerClientError where the trial itself could not be carried out.
        """
        base = self.provisioner.folder / "disk"
        remove_folder(base)
        base.mkdir(mode=0o700)
        subprocess.run(["cp", "-a", self.provisioner.folder / "template", base / "tree"], check=True)
        remove_folder(self.data)
        make_folder(self.data, self.site.account)
        storage = start_storage(base, self.data, registry=self.site.registry, options=self.disk)
        try:
            self.provisioner.mounts_of = storage.pid
            self.provisioner.start()
            self.client.start_writing(RATE_OPS_S)
            time.sleep(after_s)
            fault_us = round(time.time() * 1e6)
            if fault is Fault.POWER_CUT:
                os.kill(storage.pid, signal.SIGKILL)
            self.provisioner.stop(planned=False)
            if fault is Fault.POWER_CUT:
                storage.kill()
                self.data.rmdir()
                (base / "tree").rename(self.data)
                self.provisioner.mounts_of = None
            return self.read_after(fault, after_s, fault_us)
        finally:
            self.provisioner.stop(planned=False)
            storage.kill()

    def read_after(self, fault: Fault, after_s: float, fault_us: int) -> Trial:
        """Starts the server again after the fault, and reads every key of the ledger."""
        writes = self.client.finish_writing()
        keys = sorted({write.key for write in writes})
        began, problem, recovery_s = time.monotonic(), "", None
        try:
            self.provisioner.start()
            recovery_s = time.monotonic() - began
            versions = self.client.read_back(keys)
        except ServerDidNotStart as error:
            problem = str(error)
            versions = dict.fromkeys(keys, UNREADABLE)
        return Trial(
            fault=fault,
            fault_after_s=after_s,
            recovery_s=recovery_s,
            problem=problem,
            loss=classify(writes, versions, fault_us),
        )

    def moments_s(self, number: int) -> list[float]:
        """When to cut, in seconds after the first acknowledgements: spread evenly over the period of the mode, once
        the period has passed one and a half times.

        The age of a lost write depends on the moment within the server's own period; its phase is unknown, so evenly
        spread moments see all of it. A slow disk makes the period longer: by the sync that is going on and by the next.
        """
        window = self.provisioner.wanted.mode.durability.loss_window_s
        period_s = max(window if isinstance(window, float) else UNBOUNDED_PERIOD_S, MIN_PERIOD_S)
        period_s += 2 * self.disk.fsync_ms / 1000
        return [period_s * (1.5 + (position + 0.5) / number) for position in range(number)]


@contextlib.contextmanager
def prepared_bench(
    system: System, mode: Mode, manifest: Manifest, site: Site, *, disk: Disk | None = None
) -> Iterator[Bench]:
    """Starts the server once on ordinary storage, makes its table, and keeps its data folder as the template.

    Everything lies in one folder below `site.targets`, which is deleted at the end.
    """
    deployment = f"durability-{system.slug}-{mode.slug}"
    port = free_port(HOST)
    provisioner = ProcessProvisioner(Wanted(deployment=deployment, system=system, mode=mode), site, port=port)
    provisioner.remove()  # of an earlier life that was killed
    try:
        server = provisioner.start()
        server.administration.create_table(TABLE, [FIELD], "")
        provisioner.stop()
        (provisioner.folder / "data").rename(provisioner.folder / "template")
        client_folder = provisioner.folder / "client"
        client_folder.mkdir(mode=0o700)
        with LedgerClient(
            manifest, server.client_properties(), client_folder, registry=site.registry, threads=THREADS
        ) as client:
            yield Bench(provisioner, port, server.version, client, site, disk or Disk())
    finally:
        provisioner.remove()

"""Checks of a server that somebody else runs, before the first matrix: reachable, version, mode, latency, data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Literal

from benchsite.core import formatting
from runs.catalog import System
from workers.provision.administration import AdministrationError
from workers.provision.provisioner_factory import provisioner_for
from workers.provision.readback import read_back
from workers.provision.servers import ProvisionError, Server, Wanted

TABLE = "usertable"  # that YCSB's workloads use unless they say otherwise
PINGS = 5
STEPS = (
    "connecting, and reading the version",
    "reading the settings of each durability mode",
    "measuring the latency",
    "looking for data",
)


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One check with its outcome as the badges of pages name it, and a sentence."""

    title: str
    outcome: Literal["pass", "warn", "reject"]
    text: str


@dataclass(frozen=True, slots=True)
class TargetChecks:
    checks: tuple[TargetCheck, ...]
    version: str = ""  # the server's own answer; empty where it cannot be reached
    modes: tuple[str, ...] = ()  # durability modes in force, the first of the catalog first
    foreign_data: str = ""  # an example of what it holds and Benchsite did not write

    @property
    def is_reachable(self) -> bool:
        return bool(self.version)


@dataclass(frozen=True, slots=True)
class Progress:
    """Of a check that runs, or has its result in `target`. `step` is an index of STEPS, `until` a time.time()."""

    until: float
    step: int = 0
    target: TargetChecks | None = None
    saved: str = ""  # key of the database whose server was checked, once that is described

    @property
    def steps(self) -> int:
        return len(STEPS)

    @property
    def sentence(self) -> str:
        return f"Step {self.step + 1} of {len(STEPS)}: {STEPS[self.step]}."


def check_target(
    system: System,
    address: str,
    properties: Mapping[str, object],
    *,
    deadline: float,
    note_step: Callable[[int], None] = lambda step: None,
) -> TargetChecks:
    """Connects to the server at host:port as its clients will, with these client properties, and changes nothing.

    It ends at the `deadline`, of time.monotonic(). `note_step` gets the index of each of the STEPS that begins.
    """
    wanted = Wanted(
        deployment="",
        system=system,
        mode=next(iter(system.modes.values())),
        binding_properties=properties,
        address=address,
        deadline=deadline,
    )
    note_step(0)
    provisioner = provisioner_for("external", wanted)
    try:
        server = provisioner.start()
    except ProvisionError as error:
        return TargetChecks((TargetCheck("Reachable", "reject", str(error)),))
    try:
        note_step(1)
        modes = tuple(
            name for name, mode in system.modes.items() if read_back(system, mode, server.administration).in_force
        )
        note_step(2)
        latency_s = _measure_latency(server)
        note_step(3)
        foreign = "" if server.administration.read_marker(TABLE) else str(server.administration.content(TABLE) or "")
        checks = tuple(_list_checks(system, server, modes, latency_s, foreign))
        return TargetChecks(checks, server.version, modes, foreign)
    except AdministrationError as error:
        return TargetChecks((TargetCheck("Settings", "reject", str(error)),))
    finally:
        provisioner.stop()


def _measure_latency(server: Server) -> float:
    answers_s = []
    for _ in range(PINGS):
        begin = perf_counter()
        server.administration.ping()
        answers_s.append(perf_counter() - begin)
    return median(answers_s)


def _list_checks(
    system: System, server: Server, modes: tuple[str, ...], latency_s: float, foreign: str
) -> list[TargetCheck]:
    names = ", ".join(f"{name} ({system.modes[name].name})" for name in modes)
    return [
        TargetCheck("Reachable", "pass", f"{system.name} answers at {server.host}:{server.port}."),
        TargetCheck("Version", "pass", f"The server states version {server.version}."),
        TargetCheck("Durability mode", "pass", f"In force: {names}.")
        if modes
        else TargetCheck("Durability mode", "warn", "The settings of the server match no mode of the catalog."),
        TargetCheck(
            "Latency",
            "pass",
            f"A connection with one answer takes {formatting.latency(latency_s * 1e6)} from this site.",
        ),
        TargetCheck("Data", "warn", f"The server holds data that Benchsite did not write, such as {foreign}.")
        if foreign
        else TargetCheck("Data", "pass", "The target is empty, or holds Benchsite's own data set."),
    ]

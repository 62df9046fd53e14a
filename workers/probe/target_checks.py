"""Checks of servers that somebody else runs, before the first matrix: connection, sign-in, mode, latency, data."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Literal

from runs.catalog import System
from workers.provision.administration import AdministrationError
from workers.provision.administration.base import plain_text
from workers.provision.external import CONNECT_TIMEOUT_S, ExternalProvisioner
from workers.provision.ownership import Marker
from workers.provision.provisioner_factory import provisioner_for, site_marks
from workers.provision.readback import REPLICAS, ReadBack, read_back
from workers.provision.servers import ProvisionError, Server, ServerSpec

TABLE = "usertable"  # that YCSB's workloads use unless they say otherwise
OTHER_DATA_SET = "a data set of another cluster or site"
PINGS = 5
STEPS = ("connection", "sign-in", "modes", "latency", "data")
# What a person corrects where clients cannot sign in: fields of `Endpoint.sign_in`.
SIGN_IN_FIELDS = ("user", "password", "ssl", "database")
MIN_CHECK_S = 0.1


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One check with its outcome as the badges of pages name it.

    `name` is one of STEPS, an obstacle of `Survey`, or interrupted or fault of a check without a result. `detail` is a
    value, or what the server or its driver says; `fields` are those of a form in which it is corrected.
    """

    name: str
    outcome: Literal["pass", "warn", "reject"]
    detail: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetChecks:
    checks: tuple[TargetCheck, ...]
    version: str = ""  # the server's own answer; empty where clients cannot sign in
    modes: dict[str, str] = field(default_factory=dict)  # names of durability modes in force, the catalog's first first
    nearest: str = ""  # of the others the mode that the fewest settings of the server differ from
    differences: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # of that: setting -> the mode's, the server's
    foreign_data: str = ""  # an example of what the target holds and Benchsite did not write
    data: dict[str, int] = field(default_factory=dict)  # `Survey.data`

    @property
    def is_reachable(self) -> bool:
        return bool(self.version)

    @property
    def is_usable(self) -> bool:
        return bool(self.modes) and all(check.outcome != "reject" for check in self.checks)


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
    def step_name(self) -> str:
        return STEPS[self.step]


def check_target(
    system: System,
    addresses: Sequence[str],
    properties: Mapping[str, object],
    *,
    deadline: float,
    cluster: str = "",
    note_step: Callable[[int], None] = lambda step: None,
) -> TargetChecks:
    """Connects to the servers at these host:port as clients with these properties will, and changes nothing.

    It ends at the `deadline`, of time.monotonic(). `cluster` is the key of the described one, whose own data set may be
    there. `note_step` gets the index of each of the STEPS that begins.
    """
    spec = ServerSpec(
        deployment="",
        system=system,
        mode=next(iter(system.modes.values())),
        binding_properties=properties,
        address=addresses[0],
        addresses=tuple(addresses),
        deadline=deadline,
    )
    provisioner = provisioner_for("external", spec)
    assert isinstance(provisioner, ExternalProvisioner)
    note_step(0)
    try:
        provisioner.connect(max(MIN_CHECK_S, min(CONNECT_TIMEOUT_S, deadline - time.monotonic())))
    except (ProvisionError, OSError) as error:
        return TargetChecks((TargetCheck("connection", "reject", str(error), ("address",)),))
    connection = TargetCheck("connection", "pass", ", ".join(addresses))
    note_step(1)
    try:
        server = provisioner.start()
    except ProvisionError as error:
        fields = tuple(name for name in SIGN_IN_FIELDS if name in system.binding.endpoint.sign_in)
        sign_in = TargetCheck("sign-in", "reject", str(error.__cause__ or error), fields)
        return TargetChecks((connection, sign_in))
    sign_in = TargetCheck("sign-in", "pass", f"{system.name} {server.version}")
    try:
        return _check_server(system, server, (connection, sign_in), cluster, note_step)
    except AdministrationError as error:
        return TargetChecks((connection, sign_in, TargetCheck("modes", "reject", str(error), ("user",))))
    finally:
        provisioner.stop()


def _check_server(
    system: System, server: Server, passed: tuple[TargetCheck, ...], cluster: str, note_step: Callable[[int], None]
) -> TargetChecks:
    note_step(2)
    read = {name: read_back(system, mode, server.administration) for name, mode in system.modes.items()}
    modes = {name: system.modes[name].name for name, answer in read.items() if answer.in_force}
    nearest = min(read, key=lambda name: (REPLICAS in read[name].wrong, len(read[name].wrong)))
    note_step(3)
    latency_s = _measure_latency(server)
    note_step(4)
    text = server.administration.read_marker(TABLE)
    marker, foreign = Marker.parse(text), ""
    if not text or marker.site not in site_marks() or marker.cluster != cluster:
        foreign = server.administration.content(TABLE) or (text and OTHER_DATA_SET)
    survey = server.administration.survey(TABLE)
    return TargetChecks(
        checks=(
            *passed,
            TargetCheck("modes", "pass" if modes else "warn", nearest),
            TargetCheck("latency", "pass", str(round(latency_s * 1e6))),
            TargetCheck("data", "warn" if foreign or survey.data else "pass", foreign),
            *(TargetCheck(plain_text(name), "reject", fields=("address",)) for name in survey.obstacles),
        ),
        version=server.version,
        modes=modes,
        nearest=nearest,
        differences=_list_differences(read[nearest]),
        foreign_data=foreign,
        data=dict(survey.data),
    )


def _list_differences(answer: ReadBack) -> dict[str, tuple[str, str]]:
    return {name: (answer.expected[name], answer.found.get(name, "")) for name in answer.wrong}


def _measure_latency(server: Server) -> float:
    answers_s = []
    for _ in range(PINGS):
        begin = perf_counter()
        server.administration.ping()
        answers_s.append(perf_counter() - begin)
    return median(answers_s)

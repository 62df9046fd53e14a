"""Checks of servers that somebody else runs, before the first matrix.

The administration looks first. Then YCSB's clients connect from the load generators and read; where the target is empty
or holds the site's own data set, they write one record, too, which is deleted again. The server has
CHECK_SERVER_TIMEOUT_S for its answers to the administration, CHECK_CLIENT_TIMEOUT_S for those to the clients, and the
time that the catalog states for making the table between them, and for dropping it.
"""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from statistics import median
from time import perf_counter
from typing import Literal, Protocol

from benchsite.core.addresses import NotAllowedYet
from runs.catalog import System
from runs.timeouts import CHECK_CLIENT_TIMEOUT_S, CHECK_PROGRAM_TIMEOUT_S, CHECK_SERVER_TIMEOUT_S
from workers.probe.check_orders import CLIENTS_TIMEOUT_S, FIELDS, ClientResult, build_key
from workers.probe.failure_fields import find_fields
from workers.provision.administration import Administration, AdministrationError
from workers.provision.administration.base import Connections, plain_text
from workers.provision.deadline import Deadline
from workers.provision.external_provisioner import ExternalProvisioner
from workers.provision.ownership import Marker
from workers.provision.provisioner_factory import provisioner_for, site_marks
from workers.provision.readback import REPLICAS, REPLICATION_FACTOR, ReadBack, read_back_modes
from workers.provision.servers import ProvisionError, Server, ServerSpec

TABLE = "usertable"  # that YCSB's workloads use unless they say otherwise
OTHER_DATA_SET = "a data set of another cluster or site"
PINGS = 5
MAX_PINGS_S = 0.5  # in all: on a slow network they would take what the other answers need
# For a server far away that much more: so many times the latency that was measured, which counts up to a limit.
FAR_ANSWERS = 30
MAX_LATENCY_S = 0.2
COPIES = re.compile("[1-9][0-9]?")
NUMBER = re.compile("[0-9]+")
STEPS = ("connection", "sign-in", "modes", "latency", "data", "place", "clients")
# What a person corrects where clients cannot sign in: fields of `Endpoint.sign_in`.
SIGN_IN_FIELDS = ("user", "password", "ssl", "ca", "database")
# Fields in which an obstacle of `Survey` is corrected.
CORRECTED_BY = {"replica": ("address",), "read_only": ("address",), "cluster_mode": ("system",), "no_create": ("user",)}


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One check with its outcome as the badges of pages name it.

    `name` is one of STEPS, an obstacle of `Survey`, connections, nodes, lost_nodes, or interrupted or fault of a check
    without a result. `detail` is a value, or what the server or its driver says; `fields` are those of a form in which
    it is corrected. That of connections is how many the first ladder needs. That of clients which passed is what they
    did: read, write, or table where Benchsite made and dropped it; no_table of those that wait until Benchsite may make
    the table that they read.
    """

    name: str
    outcome: Literal["pass", "warn", "reject"]
    detail: str = ""
    fields: tuple[str, ...] = ()
    generators: tuple[str, ...] = ()  # whose clients were checked
    may_be_allowed: bool = False  # an operator can allow the network of the address


@dataclass(frozen=True, slots=True)
class TargetChecks:
    checks: tuple[TargetCheck, ...]
    version: str = ""  # the server's own answer; empty where clients cannot sign in
    copies: int = 0  # of each record; 0 where the server keeps no such number
    modes: dict[str, str] = field(default_factory=dict)  # names of durability modes in force, the catalog's first first
    nearest: str = ""  # of the others the mode that the fewest settings of the server differ from
    differences: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # of that: setting -> the mode's, the server's
    foreign_data: str = ""  # an example of what the target holds and Benchsite did not write
    nodes: tuple[str, ...] = ()  # host:port of those that the server names beside the addresses, and that answer
    data: dict[str, int] = field(default_factory=dict)  # `Survey.data`
    connections: Connections | None = None  # `Survey.connections`
    may_write: bool = False  # whether clients may: the target is empty, holds the own data set, or was confirmed

    @property
    def is_reachable(self) -> bool:
        return bool(self.version)

    @property
    def is_usable(self) -> bool:
        return bool(self.modes) and all(check.outcome != "reject" for check in self.checks)


@dataclass(frozen=True, slots=True)
class Progress:
    """Of a check that runs, or has its result in `target`. `step` is an index of STEPS, `until` a time.time(), and
    `place_s` the server's time for making a table.
    """

    until: float
    place_s: float = 0.0
    step: int = 0
    target: TargetChecks | None = None
    saved: str = ""  # key of the database whose server was checked, once that is described
    allowed: str = ""  # the target in which an admin allowed a table beside others, for the checks that follow, too

    @property
    def steps(self) -> int:
        return len(STEPS)

    @property
    def step_name(self) -> str:
        return STEPS[self.step]

    @property
    def timeouts_s(self) -> Mapping[str, float]:
        """How long a check waits at most: for the server, for the program that asks it, for clients to begin, ..."""
        return {
            "server": CHECK_SERVER_TIMEOUT_S,
            "program": CHECK_PROGRAM_TIMEOUT_S,
            "place": self.place_s,
            "clients": CLIENTS_TIMEOUT_S,
            "answers": CHECK_CLIENT_TIMEOUT_S,
        }


class RunClients(Protocol):
    """Runs the clients of a check; `number` is that of the record which they read and may write."""

    def __call__(self, server: Server, number: int, *, writes: bool) -> list[ClientResult]: ...


def check_target(
    system: System,
    addresses: Sequence[str],
    properties: Mapping[str, object],
    *,
    deadline: Deadline,
    networks: Sequence[str] = (),
    cluster: str = "",
    confirmed: bool = False,
    may_make_table: bool = False,
    record: int = 0,
    connections: int = 0,
    run_clients: RunClients | None = None,
    note_step: Callable[[int], None] = lambda step: None,
) -> TargetChecks:
    """Connects to the servers at these host:port as clients with these properties will.

    The servers are asked until the `deadline`; tables and clients have times of their own. `networks` are those of the
    team. `cluster` is the key of the described one, whose own data set may be there; `confirmed` allows a record beside
    other data, `may_make_table` a table beside others. `record` is the number of the one that clients write,
    `connections` how many the first ladder needs. Without `run_clients` nothing is written. `note_step` gets the index
    of each of the STEPS that begins.
    """
    spec = ServerSpec(
        deployment="",
        system=system,
        mode=next(iter(system.modes.values())),
        binding_properties=properties,
        address=addresses[0],
        addresses=tuple(addresses),
        networks=tuple(networks),
        deadline=deadline,
    )
    provisioner = provisioner_for("external", spec)
    assert isinstance(provisioner, ExternalProvisioner)
    note_step(0)
    try:
        provisioner.connect()
    except (ProvisionError, OSError) as error:
        may_be_allowed = isinstance(error.__cause__, NotAllowedYet)
        check = TargetCheck("connection", "reject", str(error), ("address",), may_be_allowed=may_be_allowed)
        return TargetChecks((check,))
    connection = TargetCheck("connection", "pass", ", ".join(addresses))
    note_step(1)
    try:
        server = provisioner.start()
    except ProvisionError as error:
        text = str(error.__cause__ or error)
        fields = find_fields(text, system.binding.endpoint.sign_in, SIGN_IN_FIELDS)
        return TargetChecks((connection, TargetCheck("sign-in", "reject", text, fields)))
    sign_in = TargetCheck("sign-in", "pass", f"{system.name} {server.version}")
    reached = [1]

    def note(step: int) -> None:
        reached.append(step)
        note_step(step)

    try:
        nodes, lost = provisioner.find_others()
        passed = (connection, sign_in, *_judge_nodes(nodes, lost, is_described=bool(cluster)))
        target = _check_server(
            system, server, passed, cluster, confirmed, may_make_table, record, connections, note, deadline
        )
        target = dataclasses.replace(target, nodes=tuple(nodes))
        if run_clients is None or any(check.outcome == "reject" for check in target.checks):
            return target
        if not (target.may_write or target.foreign_data):
            return dataclasses.replace(target, checks=(*target.checks, TargetCheck("clients", "warn", "no_table")))
        mode = system.modes[next(reversed(target.modes), target.nearest)]
        of_mode = dataclasses.replace(server, spec=dataclasses.replace(server.spec, mode=mode))
        run = partial(run_clients, of_mode, record)
        clients = _check_clients(system, server.administration, record, target.may_write, run, note, deadline)
        return dataclasses.replace(target, checks=(*target.checks, *clients))
    except AdministrationError as error:
        fields = find_fields(str(error), system.binding.endpoint.sign_in, ("user", "database"))
        return TargetChecks((connection, sign_in, TargetCheck(STEPS[reached[-1]], "reject", str(error), fields)))
    finally:
        provisioner.stop()


def _judge_nodes(nodes: Sequence[str], lost: Sequence[str], *, is_described: bool) -> Iterator[TargetCheck]:
    """Those of a described cluster are not added to it here."""
    if nodes:
        yield TargetCheck("nodes", "warn" if is_described else "pass", ", ".join(nodes))
    if lost:
        yield TargetCheck("lost_nodes", "warn", plain_text(" ".join(lost)))


def _check_server(
    system: System,
    server: Server,
    passed: tuple[TargetCheck, ...],
    cluster: str,
    confirmed: bool,
    may_make_table: bool,
    record: int,
    connections: int,
    note_step: Callable[[int], None],
    deadline: Deadline,
) -> TargetChecks:
    note_step(2)
    read = read_back_modes(system, system.modes.values(), server.administration)
    modes = {name: system.modes[name].name for name, answer in read.items() if answer.in_force}
    nearest = min(read, key=lambda name: (REPLICAS in read[name].wrong, len(read[name].wrong)))
    note_step(3)
    latency_s = _measure_latency(server)
    deadline.extend(FAR_ANSWERS * min(latency_s, MAX_LATENCY_S))
    note_step(4)
    text = server.administration.read_marker(TABLE)
    marker, foreign = Marker.parse(text), ""
    if not text or not marker.belongs_to(site_marks(), cluster):
        foreign = _read_content(server.administration, record) or (text and OTHER_DATA_SET)
    survey = server.administration.survey(TABLE)
    may_write = confirmed or not (foreign or (survey.data and not may_make_table))
    is_short = survey.connections is not None and survey.connections.free < connections
    return TargetChecks(
        checks=(
            *passed,
            TargetCheck("modes", "pass" if modes else "warn", nearest),
            TargetCheck("latency", "pass", str(round(latency_s * 1e6))),
            TargetCheck("data", "pass" if may_write else "warn", foreign),
            *(TargetCheck(plain_text(name), "reject", fields=CORRECTED_BY.get(name, ())) for name in survey.obstacles),
            *((TargetCheck("connections", "reject", str(connections)),) if is_short else ()),
        ),
        version=server.version,
        copies=_read_copies(read[nearest]),
        modes=modes,
        nearest=nearest,
        differences=_list_differences(read[nearest]),
        foreign_data=foreign,
        data=dict(survey.data),
        connections=survey.connections,
        may_write=may_write,
    )


def _read_copies(answer: ReadBack) -> int:
    factor = answer.topology.get(REPLICATION_FACTOR, "")
    return int(factor) if COPIES.fullmatch(factor) else 0


def _read_content(administration: Administration, record: int) -> str:
    """Without what a check left that was killed."""
    content = administration.content(TABLE)
    if not content or not record:
        return content
    _remove_record(administration, build_key(record))
    return administration.content(TABLE)


def _check_clients(
    system: System,
    administration: Administration,
    record: int,
    may_write: bool,
    run: Callable[..., list[ClientResult]],
    note_step: Callable[[int], None],
    deadline: Deadline,
) -> list[TargetCheck]:
    """Nothing of it stays: not even what a check left that was killed."""
    is_new = False
    try:
        if may_write:
            note_step(5)
            deadline.restart(system.schema_change_s)
            is_new = _make_place(administration, record)
        note_step(6)
        results = run(writes=may_write)
    except AdministrationError as error:
        return [TargetCheck("clients", "reject", str(error), find_fields(str(error), system.binding.endpoint.sign_in))]
    finally:
        if may_write:
            deadline.restart(system.schema_change_s)
            _remove_record(administration, build_key(record))
    if not results:
        return [TargetCheck("clients", "warn", "none")]
    return judge_clients(results, system, is_new=is_new)


def judge_clients(results: Sequence[ClientResult], system: System, *, is_new: bool) -> list[TargetCheck]:
    """What several load generators say alike, but for numbers such as ports, stands once, with all of their names."""
    alike: dict[object, list[TargetCheck]] = {}
    for result in results:
        check = _judge(result, system, is_new)
        text = NUMBER.sub("0", check.detail)
        alike.setdefault((check.outcome, text, check.fields), []).append(check)
    return [
        dataclasses.replace(checks[0], generators=tuple(chain.from_iterable(check.generators for check in checks)))
        for checks in alike.values()
    ]


def _make_place(administration: Administration, record: int) -> bool:
    """Whether there was no table, and is one now. Raises AdministrationError."""
    marker = Marker(site=site_marks()[0], table=TABLE, created=True)
    if administration.create_table(TABLE, FIELDS, marker.text()):
        return True
    administration.delete_keys(TABLE, [build_key(record)])
    return False


def _remove_record(administration: Administration, key: str) -> None:
    """With the table that a check made. Where the server is gone, the next check or load does it."""
    with contextlib.suppress(AdministrationError):
        administration.delete_keys(TABLE, [key])
        if Marker.parse(administration.read_marker(TABLE)).is_of_check(site_marks()):
            administration.drop_empty_table(TABLE)


def _judge(result: ClientResult, system: System, is_new: bool) -> TargetCheck:
    match result.outcome:
        case "passed" if result.writes and is_new:
            return TargetCheck("clients", "pass", "table", generators=(result.generator,))
        case "passed":
            return TargetCheck("clients", "pass", "write" if result.writes else "read", generators=(result.generator,))
        case "failed":
            # The administration signed in as they do: where nothing tells, no field is known to be amiss.
            fields = find_fields(result.detail, system.binding.endpoint.sign_in)
            return TargetCheck("clients", "reject", plain_text(result.detail), fields, (result.generator,))
        case outcome:
            return TargetCheck("clients", "warn", plain_text(result.detail or outcome), generators=(result.generator,))


def _list_differences(answer: ReadBack) -> dict[str, tuple[str, str]]:
    return {name: (answer.expected[name], answer.found.get(name, "")) for name in answer.wrong}


def _measure_latency(server: Server) -> float:
    answers_s: list[float] = []
    while len(answers_s) < PINGS and sum(answers_s) < MAX_PINGS_S:
        begin = perf_counter()
        server.administration.ping()
        answers_s.append(perf_counter() - begin)
    return median(answers_s)

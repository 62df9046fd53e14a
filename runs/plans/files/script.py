"""The one script that repeats a plan without Benchsite: servers' settings, loads, and the commands of all clients.

`repeat.sh` has its functions. A *station* is a database in one durability mode, a *cell* one planned run. Pure.
"""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from benchsite.core.formatting import duration, grouped, printable, size
from runs.catalog import (
    GO_FLAVOUR,
    OWN_FLAVOUR,
    System,
    UnknownMode,
    UnknownSystem,
    client_properties,
    load_catalog,
    render_server,
    server_settings,
)
from runs.plans.expansion import PlannedRun, duration_s, expand
from runs.plans.files.plan import Facts, PlanFile, PlanMatrix, PlanRefused, planned, twice_the_same
from runs.plans.files.plan_file import read_plan
from runs.plans.messages import (
    CLIENT_GROUP,
    ENDS_BY_OPERATIONS,
    ORDER_OF_STATIONS,
    RESET_BEFORE,
    STATION_CHECK,
    STATION_DELETES,
    STATION_NODES,
    STATION_START,
)
from runs.plans.plan_spec import PlanGroup, find_patience_ms
from runs.ycsb.command import (
    OPEN_RATE,
    TAIL_S,
    choose_jvm_options,
    client_properties_for_run,
    java_command,
    number_inserting,
    open_load_properties,
    split,
    split_target,
)
from runs.ycsb.errors import SplitError
from runs.ycsb.properties import CLIENT_COUNT, list_own_properties, prime, render_properties
from runs.ycsb.property_schema import PropertyError

MAX_SLUG: Final = 60
SERVER_USER: Final = "ycsb"
# Systems whose stock YCSB client takes the same properties as Benchsite's.
STOCK_ALIKE: Final = frozenset({"redis"})
# System -> a command that empties the database before a load, and how a server is started on one machine.
EMPTY_DATABASE: Final = {
    "redis": 'redis-cli -h "$HOST" -p "$PORT" flushdb',
    "postgresql": 'psql -h "$HOST" -p "$PORT" -U ycsb -d ycsb -v ON_ERROR_STOP=1 -f "servers/$STATION/$CELL.sql"',
}
START: Final = {
    "redis": "mkdir -p data && redis-server ./redis.conf",
    "postgresql": "initdb -D data -U ycsb -E UTF8 --locale=C && postgres -D data -c config_file=postgresql.conf; "
    'then createdb -h "$HOST" -p "$PORT" -U ycsb ycsb',
}
_FUNCTIONS: Final = Path(__file__).with_name("repeat.sh")
HEAD: Final = """\
Repeats a benchmark without Benchsite: {name}

1. `bash repeat.sh servers` writes the settings of each server into servers/STATION.
2. Start the server of a station with them, and check the values listed below.
3. `HOST=... PORT=... bash repeat.sh STATION` runs all of its cells. Instead of a station, name a cell, or `all`.

The clients' outputs (YCSB's summaries and histogram logs) are in outputs/ and can be imported into a Benchsite. A cell
whose output exists is not run again. The script needs bash, Java 11 or newer and YCSB's clients, and takes:

  HOST, PORT        the server under test; PASSWORD where it has one
  BENCHSITE_JARS    the jars of Benchsite's binding: `make bindings` in a checkout builds var/ycsb/BINDING/lib
  YCSB_HOME         instead of them, a stock YCSB 0.17.0 where it does the same
  EMPTY_DATABASE    a command that empties the database before each load; `true` where it is empty
  BEFORE_CELL       a command before each cell, for resets between cells; CELL, STATION and PHASE are set
  EXTRA_PROPERTIES  a property file with further properties of the clients
  CLIENT, START_AT  on machines of their own, run client number CLIENT alone, on each from the same second of the epoch
  OUTPUTS, JAVA     another folder, another Java"""


# The group, how many seconds after the clients of the ladder it begins, and the properties.
GroupClient = tuple[str, int, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One planned run with the properties of each client, without an address, a secret, and where it writes."""

    run: PlannedRun
    name: str
    clients: tuple[Mapping[str, str], ...]
    group_clients: tuple[GroupClient, ...] = ()


@dataclass(frozen=True, slots=True)
class Station:
    """A database in one mode with its cells, in the order of the plan."""

    name: str
    database: str  # a role
    system: System
    mode: str
    cells: tuple[Cell, ...]


def repeat_script(plan_toml: str, loads: Mapping[str, Sequence[int]] | None = None) -> str:
    """The script of a plan file: the same plan has the same text. Raises PlanRefused.

    `loads` are those that a search measured, by the name of the sweep.
    """
    plan = read_plan(plan_toml)
    stations = list_stations(plan, loads or {})
    head = [HEAD.format(name=plan.matrix.name), "", *_machine_lines(plan)]
    for station in stations:
        head += ["", *_station_lines(plan, station)]
    lines = ["#!/usr/bin/env bash", *_comment_out(head), _FUNCTIONS.read_text(), *_flag_lines(plan, stations)]
    for station in stations:
        lines += ["", *_commands(plan, station)]
    return "\n".join([*lines, "", *_LAST_LINES])


_LAST_LINES: Final = (
    'case $wanted in *" servers "*) ran=yes ;; esac',
    '[ -n "$ran" ] || fail "No cell or station has this name:$wanted"',
    "",
)


def slug(text: str) -> str:
    """Small letters, digits and hyphens: fit for the name of a file on any machine."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_SLUG].strip("-") or "x"


def cell_name(run: PlannedRun) -> str:
    """The position in the plan comes first, so names sort and differ."""
    return f"{run.position + 1:04d}-{slug(run.name)}"


def list_stations(plan: PlanFile, loads: Mapping[str, Sequence[int]]) -> tuple[Station, ...]:
    """Every database and mode with its cells. Raises PlanRefused."""
    if plan.search is not None:
        if not loads:
            raise PlanRefused("The loads of this search are not known, so no script repeats it. Import the plan.")
        rungs = sorted(set().union(*loads.values()))
        plan = plan.model_copy(update={"search": None, "matrix": plan.matrix.model_copy(update={"rungs": rungs})})

    if plan.faults:
        raise PlanRefused("A script applies no faults. Import the plan.")
    if any(database.flavour == GO_FLAVOUR for database in plan.databases.values()):
        raise PlanRefused("The script starts Java clients, and this plan uses go-ycsb. Import the plan.")

    cells: defaultdict[tuple[str, str], list[Cell]] = defaultdict(list)
    runs = []
    try:
        for run in expand(planned(plan)).runs:
            if run.phase != "load" and run.rung not in loads.get(run.sweep.name, (run.rung,)):
                continue
            runs.append(run)
            cell = Cell(run, cell_name(run), list_clients(plan, run), tuple(list_group_clients(plan, run)))
            cells[run.sweep.entry.database.id, run.sweep.entry.mode].append(cell)
    except (PropertyError, SplitError, UnknownSystem, UnknownMode) as error:
        raise PlanRefused(f"This plan cannot be run: {error}") from None

    problem = twice_the_same(runs)
    if problem:
        raise PlanRefused(f"This plan cannot be run: {problem}")

    stations = []
    for entry in plan.entries:
        role, database = entry.database, plan.databases[entry.database]
        if (role, entry.mode) not in cells:
            continue
        # Two databases may have one name; their roles differ.
        name = f"{role.removeprefix('database-')}-{slug(database.name)}-{entry.mode}"
        system = load_catalog().system(database.system, database.flavour, database.stated_modes)
        stations.append(Station(name, role, system, entry.mode, tuple(cells[role, entry.mode])))

    return tuple(stations)


def list_clients(plan: PlanFile, run: PlannedRun) -> tuple[Mapping[str, str], ...]:
    """The properties of each client of a run, as Benchsite's load generators have them."""
    inserting, *_ = _number_inserting(run)
    seconds = None
    if run.phase == "measure":
        seconds = duration_s(plan.matrix, run.max_measure_s)
    clients = _split_load(
        run,
        plan.matrix,
        prime(run.properties, run.priming_s, reads_only=plan.matrix.priming_reads),
        name=run.name,
        clients=run.clients,
        threads=run.threads,
        target_ops_s=run.target_ops_s,
        inserting=inserting,
        duration_s=seconds,
        warmup_s=plan.matrix.warmup_s,
        is_own_client=run.sweep.entry.database.flavour == OWN_FLAVOUR,
    )
    return tuple(clients)


def list_group_clients(plan: PlanFile, run: PlannedRun) -> Iterator[GroupClient]:
    """The clients of the groups beside a run, as Benchsite's load generators have them."""
    _, *inserting_of_groups = _number_inserting(run)
    for planned_group, inserting in zip(run.groups, inserting_of_groups, strict=True):
        group = planned_group.group
        warmup_s, start_s, seconds = plan.matrix.warmup_s, 0, duration_s(plan.matrix, run.max_measure_s)
        if group.start_s is not None:
            start_s = warmup_s + plan.matrix.settle_s + group.start_s
            warmup_s, seconds = 0, (group.length_s or seconds - start_s - TAIL_S) + TAIL_S
        clients = _split_load(
            run,
            group,
            planned_group.properties,
            name=f"{run.name} {group.name}",
            clients=len(planned_group.generators),
            threads=group.threads,
            target_ops_s=group.target_ops_s,
            inserting=inserting,
            duration_s=seconds,
            warmup_s=warmup_s,
        )
        for properties in clients:
            yield slug(group.name), start_s, properties


def _split_load(
    run: PlannedRun,
    load: PlanMatrix | PlanGroup,
    workload: Mapping[str, str],
    *,
    name: str,
    clients: int,
    threads: int,
    target_ops_s: int | None,
    inserting: tuple[int, int],
    **options: Any,
) -> Iterator[dict[str, str]]:
    """The properties of each of the clients that share a load."""
    first, all_inserting = inserting
    binding_properties = _select_binding_properties(run, workload)
    parts = zip(split(threads, clients, noun="threads"), split_target(target_ops_s, clients), strict=True)
    for number, (own_threads, own_target_ops_s) in enumerate(parts):
        open_load = None
        if load.arrivals and target_ops_s:
            open_load = open_load_properties(
                target_ops_s=target_ops_s,
                arrivals=load.arrivals,
                patience_ms=find_patience_ms(load.patience_ms),
                profile=load.profile,
                client=number,
                clients=clients,
                run=name,
            )
        yield client_properties_for_run(
            workload,
            phase=run.phase,
            client=number,
            clients=clients,
            threads=own_threads,
            target_ops_s=own_target_ops_s,
            binding_properties=binding_properties,
            among_inserting=(first + number, all_inserting),
            open_load=open_load,
            **options,
        )


def _number_inserting(run: PlannedRun) -> list[tuple[int, int]]:
    groups = [(group.properties, len(group.generators)) for group in run.groups]
    return number_inserting([(run.properties, run.clients), *groups])


def _select_binding_properties(run: PlannedRun, workload: Mapping[str, str]) -> dict[str, str]:
    """Without an address."""
    entry = run.sweep.entry
    database = entry.database
    system = load_catalog().system(database.system, database.flavour, database.own_modes)
    mode = system.mode(entry.mode)
    with_address = client_properties(
        system, mode, database.binding_properties, host="127.0.0.1", port=1, workload=workload
    )
    # Where a URL has the address, whoever repeats the plan writes it, with the options that are here by their names.
    properties = {
        **system.check_binding_properties(database.binding_properties), **with_address, **mode.client_properties
    }  # fmt: skip
    addresses = system.binding.endpoint.addresses
    return {name: value for name, value in properties.items() if name not in addresses}


def _flag_lines(plan: PlanFile, stations: Sequence[Station]) -> list[str]:
    """The options of Java, as load generators use them, so that the same machine gives the same heap."""
    cells = list(chain.from_iterable(station.cells for station in stations))
    clients = chain.from_iterable(cell.clients for cell in cells)
    longest_s = max(cell.run.max_measure_s for cell in cells)
    most_inserts = max(int(client.get("insertcount", 0)) for client in clients)
    options = {
        "load_flags": choose_jvm_options(duration_s=None, inserts=most_inserts),
        "run_flags": choose_jvm_options(duration_s=duration_s(plan.matrix, longest_s), inserts=0),
    }
    lines = []
    for name, jvm_options in options.items():
        command = java_command("java", ["JARS"], main_class="MAIN", jvm_options=jvm_options)
        lines.append(f"{name}={shlex.quote(' '.join(command[1 : command.index('-cp')]))}")

    return lines


def _commands(plan: PlanFile, station: Station) -> list[str]:
    """The part of the script that runs one station."""
    system, binding = station.system, station.system.binding
    mode = system.mode(station.mode)
    port = ""
    if binding.endpoint.port:
        port = binding.properties[binding.endpoint.port].default or ""
    own_class, stock_client = "", binding.name
    if system.own_client:
        own_class, stock_client = binding.java_class, ""
    if system.slug in STOCK_ALIKE and not mode.client_properties and not any(map(_needs_own_client, station.cells)):
        stock_client = system.recognition.bindings[0]
    words = ("station", station.name, binding.endpoint.host, binding.endpoint.port, port,
             binding.endpoint.password, own_class, stock_client)  # fmt: skip
    lines = [_quote(words)]
    for name, text in _server_files(plan, station).items():
        lines += _here_document(f"file {shlex.quote(name)}", text)

    written: dict[str, str] = {}
    for cell in station.cells:
        shared = _find_shared_properties(station, cell)
        if shared != written:
            written = shared
            lines += _here_document("workload", render_properties(shared))
        clients = [render_properties(dict(client.items() - shared.items())).strip() for client in cell.clients]
        for group, start_s, properties in cell.group_clients:
            clients.append(f"#group={group}\n#start={start_s}\n{render_properties(properties).strip()}")
        lines.append(_quote(("cell", cell.name, cell.run.phase, *clients)))

    return lines


def _needs_own_client(cell: Cell) -> bool:
    first = cell.clients[0]
    if CLIENT_COUNT in first:
        return True
    clients = [first, *(properties for *_, properties in cell.group_clients)]
    return any(OPEN_RATE in client or list_own_properties(client) for client in clients)


def _find_shared_properties(station: Station, cell: Cell) -> dict[str, str]:
    """The properties that all cells of this workload and phase have in common."""
    run = cell.run
    common = set(cell.clients[0].items())
    for other in station.cells:
        if (other.run.sweep.workload.id, other.run.phase) == (run.sweep.workload.id, run.phase):
            for client in other.clients:
                common &= set(client.items())
    return dict(sorted(common))


def _server_files(plan: PlanFile, station: Station) -> dict[str, str]:
    """Name -> content of the configuration that Benchsite would start a server with; else the settings by name."""
    database, system = plan.databases[station.database], station.system
    mode = system.mode(station.mode)
    try:
        if system.process is None:
            settings = server_settings(system, mode, database.settings)
            return {"settings.txt": "".join(f"{name} = {value}\n" for name, value in settings.items())}
        binding = system.binding
        port = int(binding.properties[binding.endpoint.port].default or 0)
        rendered = render_server(
            system, mode, database.settings, host="127.0.0.1", port=port, folder=Path(), user=SERVER_USER
        )
    except PropertyError as error:
        raise PlanRefused(f"{database.name}: {error}") from None

    files = dict(rendered.files)
    if system.slug == "postgresql":
        files |= {f"{cell.name}.sql": _schema(cell) for cell in station.cells if cell.run.phase == "load"}
    return files


def _schema(cell: Cell) -> str:
    """The table as Benchsite makes it: keys in the order of their bytes, every field a text."""
    properties = cell.run.properties
    table, prefix = properties.get("table", "usertable"), properties.get("fieldnameprefix", "field")
    fields = ",\n".join(f'  "{prefix}{number}" text' for number in range(int(properties.get("fieldcount", "10"))))
    return (
        f'DROP TABLE IF EXISTS "{table}";\nCREATE TABLE "{table}" (\n'
        f'  ycsb_key text COLLATE "C" PRIMARY KEY,\n{fields}\n);\n'
    )


def _station_lines(plan: PlanFile, station: Station) -> list[str]:
    """What the head of the script says about a station."""
    database, system = plan.databases[station.database], station.system
    mode, cluster = system.mode(station.mode), plan.clusters[database.cluster]
    lines = [
        f"Station {station.name}: {database.name}, {system.name} {database.version}, durability mode {mode.name}",
        STATION_NODES.format(nodes=len(cluster.nodes), copies=database.replication_factor),
    ]
    if system.slug in START:
        lines.append(STATION_START.format(station=station.name, command=START[system.slug]))
    lines += [STATION_CHECK.format(name=name, value=value) for name, value in mode.expected_settings.items()]
    if system.slug in EMPTY_DATABASE:
        lines += [
            f"  EMPTY_DATABASE='{EMPTY_DATABASE[system.slug]}'",
            STATION_DELETES,
        ]

    loads = [cell for cell in station.cells if cell.run.phase == "load"]
    lines += [f"  rows after {cell.name}: {cell.run.dataset.records}" for cell in loads]
    return lines


def _machine_lines(plan: PlanFile) -> list[str]:
    """What it ran on, in which order, and what was reset."""
    matrix = plan.matrix
    lines = []
    for role, cluster in plan.clusters.items():
        node = cluster.nodes[0] if cluster.nodes else Facts()
        lines.append(f"{role}: {len(cluster.nodes)} node(s), each {_describe_facts(node)}")
    for role, generator in plan.generators.items():
        line = f"{role}: {matrix.processes_per_generator} client(s), {_describe_facts(generator.facts)}"
        if generator.shares:
            line += f", on a machine of {', '.join(generator.shares)}"
        lines.append(line)

    for group in plan.groups:
        where = f"{group.generators} of the last ones" if group.generators else "each of the others"
        lines.append(CLIENT_GROUP.format(group=group.name, where=where))

    lines.append(ORDER_OF_STATIONS.format(order=matrix.order.replace("_", " ")))
    if matrix.min_operations and matrix.max_measure_s > matrix.min_measure_s:
        lines.append(
            ENDS_BY_OPERATIONS.format(
                operations=grouped(matrix.min_operations),
                measured=duration(matrix.min_measure_s),
                longest=duration(matrix.max_measure_s),
            )
        )
    for level, reset in matrix.resets.items():
        if reset != "keep":
            lines.append(RESET_BEFORE.format(level=level, reset=reset))
    return lines


def _describe_facts(facts: Facts) -> str:
    texts = []
    if facts.cores:
        texts.append(f"{facts.cores} cores")
    if facts.memory_bytes:
        texts.append(f"{size(facts.memory_bytes)} of memory")
    return ", ".join(texts) or "facts not stated"


def _here_document(command: str, text: str) -> list[str]:
    """A command with a text on its standard input, in which the shell replaces nothing."""
    end = "END"
    while end in text.split("\n"):
        end += "_"
    return [f"{command} <<'{end}'", text.rstrip("\n"), end]


def _quote(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _comment_out(lines: Sequence[str]) -> list[str]:
    """Lines of comments; a character that is not printable becomes a blank."""
    comments = []
    for line in "\n".join(lines).split("\n"):
        plain = printable(line, " ")
        comments.append(f"# {plain}".rstrip())
    return comments

"""The cells of a plan and their clients as a kit names them: `0004-redis-always-a-2t-r1.client-1.summary.txt`. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from runs.catalog import System, UnknownMode, UnknownSystem, client_properties, load_catalog
from runs.kits.plan import PlanFile, PlanRefused, planned, twice_the_same
from runs.planning.expansion import PlannedRun, expand
from runs.planning.plan import TAIL_S
from runs.property_schema import PropertyError
from runs.ycsb.command import client_properties_for_run, split
from runs.ycsb.errors import SplitError

MAX_SLUG: Final = 60
# What one client leaves of one cell, and what Benchsite keeps it as.
KINDS: Final[Mapping[str, str]] = {"summary.txt": "summary", "stdout.txt": "stdout", "status.txt": "stderr"}
_OUTPUT: Final = re.compile(r"(?P<cell>\d{4,6}-[a-z0-9-]+)\.client-(?P<client>[1-9]\d{0,3})\.(?P<kind>[^/\\]+)")


@dataclass(frozen=True, slots=True)
class KitClient:
    """One YCSB process of a cell."""

    number: int  # from 0
    threads: int
    target_ops_s: int | None
    duration_s: int | None  # None: until its records are loaded
    properties: Mapping[str, str]  # without an address, a secret, and where it writes


@dataclass(frozen=True, slots=True)
class KitCell:
    """One planned run."""

    run: PlannedRun
    name: str
    clients: tuple[KitClient, ...]


@dataclass(frozen=True, slots=True)
class Station:
    """A database in one mode: what stands while its cells are run."""

    slug: str
    database: str  # a role
    system: System
    mode: str
    cells: tuple[KitCell, ...]


def slug(text: str) -> str:
    """Small letters, digits and hyphens: fit for the name of a file on any machine."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_SLUG].strip("-") or "x"


def cell_name(run: PlannedRun) -> str:
    """The place in the plan comes first, so that names sort and are told apart whatever the rest says."""
    return f"{run.position + 1:04d}-{slug(run.name)}"


def output_of(name: str) -> tuple[str, int, str] | None:
    """Cell, client (from 0) and kind of an output by its name; None where a file is none of a kit's outputs."""
    match = _OUTPUT.fullmatch(re.split(r"[/\\]", name)[-1])
    return (match["cell"], int(match["client"]) - 1, match["kind"]) if match else None


def stations_of(file: PlanFile) -> tuple[Station, ...]:
    """Every database and mode with its cells, in the order of the plan. Raises PlanRefused."""
    if file.search is not None:
        raise PlanRefused(
            "A search cannot be run by hand: each load follows from the result before it. Plan fixed rungs instead."
        )
    if file.faults:
        raise PlanRefused("A kit applies no faults: leave them out, or import the plan on clusters of a site.")
    cells: dict[tuple[str, str], list[KitCell]] = {}
    try:
        runs = expand(planned(file)).runs
        for run in runs:
            cell = KitCell(run, cell_name(run), clients_of(file, run))
            cells.setdefault((run.sweep.entry.database.id, run.sweep.entry.mode), []).append(cell)
    except (PropertyError, SplitError, UnknownSystem, UnknownMode) as error:
        raise PlanRefused(f"No kit can be made of this plan: {error}") from None
    if twice := twice_the_same(runs):
        raise PlanRefused(f"No kit can be made of this plan: {twice}")
    stations = []
    for entry in file.entries:
        role, database = entry.database, file.databases[entry.database]
        if (role, entry.mode) in cells:
            # Two databases may have one name; their roles differ.
            name = f"{role.removeprefix('database-')}-{slug(database.name)}-{entry.mode}"
            system = load_catalog().system(database.system, database.flavour, database.stated_modes)
            stations.append(Station(name, role, system, entry.mode, tuple(cells[role, entry.mode])))
    return tuple(stations)


def clients_of(file: PlanFile, run: PlannedRun) -> tuple[KitClient, ...]:
    """The clients of a run with their properties, exactly as load generators of Benchsite have them."""
    entry, count = run.sweep.entry, run.clients
    database = entry.database
    system = load_catalog().system(database.system, database.flavour, database.own_modes)
    mode = system.mode(entry.mode)
    known = client_properties(
        system, mode, entry.database.binding_properties, host="127.0.0.1", port=1, workload=run.properties
    )
    # Where a URL holds the address, whoever runs the kit writes it, with the options that stand here by their names.
    known = {**system.check_binding_properties(entry.database.binding_properties), **known, **mode.client_properties}
    binding = {name: value for name, value in known.items() if name not in system.binding.endpoint.addresses}
    targets = split(run.target_ops_s, count, noun="operations per second") if run.target_ops_s else [None] * count
    threads = split(run.threads, count, noun="threads")
    duration_s = file.matrix.warmup_s + file.matrix.min_measure_s + TAIL_S if run.phase == "measure" else None
    return tuple(
        KitClient(
            number=number,
            threads=threads[number],
            target_ops_s=target,
            duration_s=duration_s,
            properties=client_properties_for_run(
                run.properties,
                phase=run.phase,
                client=number,
                clients=count,
                threads=threads[number],
                target_ops_s=target,
                duration_s=duration_s,
                binding_properties=binding,
            ),
        )
        for number, target in enumerate(targets)
    )

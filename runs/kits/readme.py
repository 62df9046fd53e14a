"""The README of a kit, which a stranger follows. Pure."""

import re
from collections.abc import Sequence
from typing import Final

from benchsite.core.formatting import size
from runs.kits.cells import Station
from runs.kits.plan import Facts, PlanFile

_EMPTY: Final = {
    "redis": 'redis-cli -h "$HOST" -p "$PORT" flushdb',
    "postgresql": 'psql -h "$HOST" -p "$PORT" -U ycsb -d ycsb -v ON_ERROR_STOP=1 -f "schema/$CELL.sql"',
}
_DELETES: Final = {
    "redis": "everything in database 0 of that Redis, also data of others",
    "postgresql": "the workload's table in the database `ycsb`, also data of others",
}
_START: Final = {
    "redis": "mkdir -p data && redis-server ./redis.conf",
    "postgresql": "initdb -D data -U ycsb -E UTF8 --locale=C, then postgres -D data -c config_file=postgresql.conf; "
    'once it answers, in another shell, `createdb -h "$HOST" -p "$PORT" -U ycsb ycsb`',
}


def readme(file: PlanFile, stations: Sequence[Station], clients: int) -> str:
    """What is in the kit, what is needed, and what to do, in that order."""
    parts = [
        f"# Run again: {plain(file.matrix.name)}",
        _what(stations, clients),
        _needs(stations),
        *(_station(file, station) for station in stations),
        _running(stations, clients),
        _machines(file),
        _AFTER,
    ]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """A name in Markdown: shown as it is, with no power over the page."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return re.sub(r"([\\`*_{}\[\]<>#|!~])", r"\\\1", shown)


def _what(stations: Sequence[Station], clients: int) -> str:
    cells = [cell for station in stations for cell in station.cells]
    measured = sum(cell.run.phase == "measure" for cell in cells)
    seconds = sum(cell.run.expected_s for cell in cells)
    return (
        f"This kit repeats a benchmark without Benchsite: {measured} measured cells and {len(cells) - measured} loads "
        f"on {len(stations)} database{'s' if len(stations) > 1 else ''} in one durability mode each, with {clients} "
        f"YCSB client{'s' if clients > 1 else ''}, about {max(1, round(seconds / 60))} minutes in all.\n\n"
        "- `plan.toml`: the plan itself; another Benchsite imports it.\n"
        "- `servers/`: the settings of every server, by station (a database in one durability mode).\n"
        "- `properties/`: the YCSB property file of each cell and client. They hold no address and no password.\n"
        "- `client-1.sh` …: everything that one client does. `run-here.sh`: all clients on one machine.\n"
        "- `load-….sh`: the data set of one station. `expected-rows.csv`: how many rows stand when.\n"
        "- `outputs/`: where the outputs go, named by cell and client."
    )


def _needs(stations: Sequence[Station]) -> str:
    ours = sorted({station.system.binding.name for station in stations if station.system.own_client})
    jars = (
        f" The numbers were made with Benchsite's own bindings ({', '.join(ours)}): a checkout of Benchsite builds "
        "them with `make bindings` into `var/ycsb/BINDING/lib`; set `BENCHSITE_JARS` to that folder. "
        if ours
        else " "
    )
    return (
        "## What you need\n\nA POSIX shell, Java 11 or newer, and a YCSB client."
        + jars
        + "Where a stock YCSB 0.17.0 does the same "
        "(the script says where it does not), set `YCSB_HOME` to it instead.\n\n"
        "All addresses come from the environment; the scripts stop where one is missing:\n\n"
        "- `HOST`, `PORT`: of the server under test (several nodes as YCSB's client wants them).\n"
        "- `PASSWORD`: where the server asks for one. `EXTRA_PROPERTIES`: a property file for anything else.\n"
        "- `EMPTY_DATABASE`: a command that empties the database before each load; `true` where it is empty. The "
        "scripts run it as it is and check nothing.\n"
        "- `OUTPUTS`: another folder for the outputs. `JAVA`: another Java."
    )


def _station(file: PlanFile, station: Station) -> str:
    database, system = file.databases[station.database], station.system
    mode, role = system.mode(station.mode), file.clusters[database.cluster]
    lines = [
        f"## Station `{station.slug}`",
        f"{plain(database.name)}: {system.name} {plain(database.version) or '(version not stated)'} on "
        f"{len(role.nodes)} node{'s' if len(role.nodes) != 1 else ''}, {database.replication_factor} "
        f"cop{'ies' if database.replication_factor > 1 else 'y'} of each record, durability mode “{plain(mode.name)}”.",
        f"1. Set up the server with `servers/{station.slug}/`; put your own address, port and folders in."
        + (f" On one machine: `cd servers/{station.slug}`, {_START[system.slug]}." if system.slug in _START else ""),
    ]
    if mode.readback:
        values = "; ".join(f"`{setting.setting}` is `{setting.expected}`" for setting in mode.readback)
        lines.append(f"2. Ask the running server whether the mode is in force: {values}.")
    else:
        lines.append("2. Make sure that the settings are in force: this system has no way to be asked.")
    if system.slug in _EMPTY:
        lines.append(
            f"3. `export EMPTY_DATABASE='{_EMPTY[system.slug]}'` (a user `ycsb` as in the property files). "
            f"**It deletes {_DELETES[system.slug]}**, before each load: use a server that holds nothing else."
        )
    loads = [cell for cell in station.cells if cell.run.phase == "load"]
    rows = ", ".join(f"{cell.run.dataset.records:,} rows after `{cell.name}`" for cell in loads[:6])
    if loads:
        lines.append(f"Expected: {rows}{' and so on (see expected-rows.csv)' if len(loads) > 6 else ''}.")
    return "\n\n".join(lines)


def _running(stations: Sequence[Station], clients: int) -> str:
    first = stations[0].slug if stations else "all"
    several = (
        f"\n\nThe plan has {clients} clients. On machines of their own, run each cell on all of them at the same "
        "second: `START_AT=$(($(date +%s) + 10)) ./client-1.sh CELL`, with the same `START_AT` and `./client-2.sh` "
        "and so on for the others. Their clocks must agree (NTP)."
        if clients > 1
        else ""
    )
    return (
        "## Running it\n\nOne station after the other, its server up:\n\n"
        f"```sh\nexport HOST=… PORT=… EMPTY_DATABASE=…\n./run-here.sh {first}\n```\n\n"
        "A cell can be named instead of a station. What a cell has written is never written over: move it away to run "
        "the cell again. Where the plan says that the server is restarted or caches are dropped between rungs, do that "
        "between the cells." + several
    )


def _machines(file: PlanFile) -> str:
    lines = ["## What it ran on", ""]
    for role, cluster in file.clusters.items():
        lines.append(
            f"- {role}: {len(cluster.nodes)} node(s); {_facts(cluster.nodes[0] if cluster.nodes else Facts())} each"
        )
    for role, generator in file.generators.items():
        shared = f", on a machine of {', '.join(generator.shares)}" if generator.shares else ""
        lines.append(f"- {role}: {file.matrix.processes_per_generator} client(s); {_facts(generator.facts)}{shared}")
    changed = [(level, policy) for level, policy in file.matrix.resets if policy not in (None, "keep")]
    resets = ", ".join(f"between {level}s: {policy}" for level, policy in changed)
    order = f"Order: {file.matrix.order.replace('_', ' ')}, over all stations."
    return "\n".join([*lines, "", f"{order} Resets {resets}." if resets else order])


def _facts(facts: Facts) -> str:
    texts = [
        f"{facts.cores} cores" if facts.cores else "",
        f"{size(facts.memory_bytes)} of memory" if facts.memory_bytes else "",
    ]
    return ", ".join(text for text in texts if text) or "facts not stated"


_AFTER: Final = """\
## Afterwards

Import `plan.toml` into a Benchsite (Matrices, Import a plan), mark it “run by hand”, and drop the folder `outputs`, or
a zip of it, onto its page: every file goes to its planned cell by its name, and is judged like any other run. What is
missing or belongs to no cell is said before anything is stored. Without a Benchsite, `outputs/*.summary.txt` are
YCSB's own summaries, and `*.hdr` its histogram logs."""

"""What the scripts of a kit say: POSIX shell, every value of the plan between quotes. Pure."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from runs.kits.cells import KitCell, Station
from runs.kits.plan import PlanFile
from runs.ycsb.command import JVM_OPTIONS, java_command

# As load generators of Benchsite start their clients (`workers.client`), so that the same machine gives the same heap.
MAIN_CLASS: Final = "benchsite.Start"
_CLASSPATH: Final = "CLASSPATH"
_LIB: Final = Path(__file__).with_name("lib.sh")
# Systems whose stock YCSB client takes the same properties as Benchsite's.
STOCK_ALIKE: Final = frozenset({"redis"})

HEAD: Final = """\
#!/bin/sh
# {what}
# Made by Benchsite from plan.toml; README.md says how it is used.
set -eu
cd -- "$(dirname -- "$0")"
. ./lib.sh
"""


def lib() -> str:
    """What all scripts share."""
    start = java_command("java", [_CLASSPATH], main_class=MAIN_CLASS, jvm_options=JVM_OPTIONS)
    flags = " ".join(shlex.quote(part) for part in start[1 : start.index("-cp")])
    return _LIB.read_text().replace("@JAVA_FLAGS@", flags).replace("@MAIN_CLASS@", MAIN_CLASS)


def client_script(file: PlanFile, number: int, stations: Sequence[Station]) -> str:
    """All cells of one client, station by station."""
    lines = [
        HEAD.format(what=f"Client {number + 1} of {_comment(file.matrix.name)}"),
        f"client=client-{number + 1}",
        'wanted "$@"',
    ]
    for station in stations:
        lines += ["", _station(station)]
        lines += [_cell(cell, number) for cell in station.cells if number < len(cell.clients)]
    return "\n".join([*lines, "", "finish", ""])


def here_script(file: PlanFile, stations: Sequence[Station]) -> str:
    """All clients on one machine, cell by cell."""
    lines = [
        HEAD.format(what=f"All clients of {_comment(file.matrix.name)} on this machine, one cell after another."),
        'wanted "$@"',
        "",
    ]
    for station in stations:
        for cell in station.cells:
            words = (cell.name, station.slug, cell.run.phase, str(len(cell.clients)))
            lines.append(f"together {_quoted(words)}")
    return "\n".join([*lines, "", "finish", ""])


def load_script(file: PlanFile, station: Station) -> str:
    """The data sets of one database in one mode."""
    name, mode = _comment(file.databases[station.database].name), station.mode
    loads = [cell.name for cell in station.cells if cell.run.phase == "load"]
    text = HEAD.format(what=f"Loads what {name} in mode {mode} is measured over first; run-here.sh does it too.")
    if not loads:
        return f"{text}say 'This plan measures over data that is there already: nothing is to be loaded.'\n"
    return f"{text}exec ./run-here.sh {shlex.quote(loads[0])}\n"


def _station(station: Station) -> str:
    system, binding = station.system, station.system.binding
    mode = system.mode(station.mode)
    port = binding.properties[binding.endpoint.port].default if binding.endpoint.port else ""
    stock = binding.name if not system.own_client else ""
    if system.slug in STOCK_ALIKE and not mode.client_properties:
        stock = system.recognition.bindings[0]
    ours = binding.java_class if system.own_client else ""
    words = (
        station.slug, binding.endpoint.host, binding.endpoint.port, port or "", binding.endpoint.password, ours, stock,
    )  # fmt: skip
    return f"station {_quoted(words)}"


def _cell(cell: KitCell, number: int) -> str:
    client = cell.clients[number]
    target = str(client.target_ops_s or "")
    records = client.properties.get("insertcount", "") if cell.run.phase == "load" else ""
    return f"cell {_quoted((cell.name, cell.run.phase, str(client.threads), target, records))}"


def _quoted(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _comment(text: str) -> str:
    """Fit for a comment: one line, whatever stands in it."""
    return "".join(character if character.isprintable() else " " for character in text)

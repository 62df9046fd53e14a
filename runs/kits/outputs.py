"""Which of the files that people bring are outputs of which planned cell, and what is wrong with them. Pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from runs.kits.cells import KINDS, output_of

MANIFEST: Final = "kit.json"
HISTOGRAMS: Final = ".hdr"
MAX_SAID: Final = 30


@dataclass(frozen=True, slots=True)
class Waiting:
    """One planned cell as it stands: how many clients it has, and whether it still waits for outputs."""

    clients: int
    waits: bool
    name: str  # of its run


@dataclass(frozen=True, slots=True)
class OutputFile:
    """One file as it was unpacked."""

    name: str
    sha256: str
    error: str = ""


class FilledCell(TypedDict):
    """What goes into one cell: for each client, which file is what. JSON, kept with the upload."""

    cell: str
    run: str  # its name
    clients: list[dict[str, str]]  # by number: what -> name of the file


class Sorted(TypedDict):
    """Every file in its place. `problems` keep all of it from being stored."""

    cells: list[FilledCell]
    problems: list[str]
    left_out: list[str]  # files that are no outputs: the kit's own, say
    remarks: list[str]


def sort_files(
    files: Sequence[OutputFile], cells: Mapping[str, Waiting], manifests: Iterable[str], plan: str
) -> Sorted:
    """`manifests` are the texts of the kit's manifests among the files, `plan` is the digest of the matrix's plan."""
    places: dict[str, dict[int, dict[str, OutputFile]]] = {}
    problems = [text for manifest in manifests if (text := _of_another_plan(manifest, plan))]
    left_out: list[str] = []
    for file in files:
        output = output_of(file.name)
        if output is None or not (output[2] in KINDS or output[2].endswith(HISTOGRAMS)):
            if is_manifest(file.name):
                continue
            left_out.append(file.name)
            continue
        cell, client, kind = output
        if file.error:
            problems.append(f"{file.name} cannot be unpacked: {file.error}")
        elif cell not in cells:
            problems.append(f"{file.name} belongs to no cell of this matrix: the kit of another plan wrote it.")
        elif client >= cells[cell].clients:
            problems.append(
                f"{file.name}: {cells[cell].name} has {cells[cell].clients} client(s), and none of that number."
            )
        else:
            held = places.setdefault(cell, {}).setdefault(client, {})
            if kind in held and held[kind].sha256 != file.sha256:
                problems.append(
                    f"{held[kind].name} and {file.name} both fill the same place of {cells[cell].name}: keep one."
                )
            held.setdefault(kind, file)
    for cell, clients in places.items():
        problems += _lacks(cells[cell], clients)
    if not places and not problems:
        problems.append("None of these files is an output of this plan's kit: upload the folder “outputs” of the kit.")
    filled: list[FilledCell] = [
        {
            "cell": cell,
            "run": cells[cell].name,
            "clients": [
                {kind: kept.name for kind, kept in sorted(places[cell].get(n, {}).items())}
                for n in range(cells[cell].clients)
            ],
        }
        for cell in sorted(places)
    ]
    return {"cells": filled, "problems": _few(problems), "left_out": left_out, "remarks": _remarks(places, cells)}


def is_manifest(name: str) -> bool:
    return re.split(r"[/\\]", name)[-1] == MANIFEST


def _of_another_plan(manifest: str, plan: str) -> str:
    try:
        says = json.loads(manifest)
        theirs = says.get("plan_sha256") if isinstance(says, dict) else None
    except (ValueError, RecursionError):
        theirs = None
    if theirs == plan:
        return ""
    return f"The file {MANIFEST} says that these are outputs of another plan: import that plan, and upload them there."


def _lacks(cell: Waiting, clients: Mapping[int, Mapping[str, OutputFile]]) -> list[str]:
    if not cell.waits:
        return [f"{cell.name} does not wait for outputs: it is filled already, or was cancelled. Leave its files out."]
    problems = []
    missing = [str(number + 1) for number in range(cell.clients) if number not in clients]
    if missing:
        problems.append(
            f"{cell.name}: client {', '.join(missing)} of {cell.clients} is missing. "
            "Upload all clients of a cell at once."
        )
    for number, held in sorted(clients.items()):
        if "summary.txt" not in held:
            problems.append(f"{cell.name}: client {number + 1} has no summary.txt, so it did not end.")
        if not any(kind.endswith(HISTOGRAMS) for kind in held):
            problems.append(f"{cell.name}: client {number + 1} has no histogram logs (*.hdr).")
    return problems


def _few(problems: Sequence[str]) -> list[str]:
    more = len(problems) - MAX_SAID
    return [*problems[:MAX_SAID], *([f"And {more} more of this kind."] if more > 0 else [])]


def _remarks(places: Mapping[str, object], cells: Mapping[str, Waiting]) -> list[str]:
    waiting = [cell.name for name, cell in cells.items() if cell.waits and name not in places]
    if not places or not waiting:
        return []
    named = ", ".join(waiting[:5]) + (" …" if len(waiting) > 5 else "")
    return [f"{len(waiting)} cell{'s' if len(waiting) > 1 else ''} will still wait: {named}."]

"""The zip of a kit: the same plan makes the same bytes, and no row is asked. Pure."""

import csv
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchsite.core.formatting import not_a_formula
from runs.catalog import PropertyError, render_server, server_settings
from runs.kits.cells import KitCell, Station, slug, stations_of
from runs.kits.plan import PlanFile, PlanRefused, digest_of
from runs.kits.plan_file import read_plan
from runs.kits.readme import readme
from runs.kits.scripts import client_script, here_script, lib, load_script
from runs.ycsb.properties import render_properties

MANIFEST: Final = "kit.json"
OUTPUTS_FORMAT: Final = "benchsite-outputs"
# Zip knows no time before; a kit made twice is the same file.
_TIME: Final = (1980, 1, 1, 0, 0, 0)
SERVER_USER: Final = "ycsb"


def kit_name(plan_toml: str) -> str:
    """What the kit's folder is called: the plan's name, and enough of its digest to tell two plans apart."""
    return f"benchsite-kit-{slug(read_plan(plan_toml).matrix.name)}-{digest_of(plan_toml)[:8]}"


def kit_obstacle(plan_toml: str) -> str:
    """Why no kit can be made of a plan file; empty where one can."""
    try:
        stations_of(read_plan(plan_toml))
    except PlanRefused as refused:
        return str(refused)
    return ""


def zipped(plan_toml: str) -> bytes:
    """The kit of a plan file, as a zip. Raises PlanRefused."""
    file, folder = read_plan(plan_toml), kit_name(plan_toml)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in sorted(_files(file, plan_toml).items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _TIME)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100755 if name.endswith(".sh") and name != "lib.sh" else 0o100644) << 16
            archive.writestr(entry, text.encode())
    return content.getvalue()


def _files(file: PlanFile, plan_toml: str) -> dict[str, str]:
    stations = stations_of(file)
    cells = [cell for station in stations for cell in station.cells]
    clients = max((len(cell.clients) for cell in cells), default=0)
    files = {
        "README.md": readme(file, stations, clients),
        "plan.toml": plan_toml,
        "lib.sh": lib(),
        "run-here.sh": here_script(file, stations),
        "expected-rows.csv": _expected(file, stations),
        f"outputs/{MANIFEST}": manifest(plan_toml),
    }
    for number in range(clients):
        files[f"client-{number + 1}.sh"] = client_script(file, number, stations)
    for station in stations:
        files[f"load-{station.slug}.sh"] = load_script(file, station)
        files |= _server(file, station)
        for cell in station.cells:
            files |= _of_cell(station, cell)
    return files


def manifest(plan_toml: str) -> str:
    """What travels with the outputs and says whose they are."""
    return json.dumps({"format": OUTPUTS_FORMAT, "version": 1, "plan_sha256": digest_of(plan_toml)}, indent=1) + "\n"


def _of_cell(station: Station, cell: KitCell) -> dict[str, str]:
    files = {
        f"properties/{cell.name}.client-{client.number + 1}.properties": render_properties(client.properties)
        for client in cell.clients
    }
    if station.system.slug == "postgresql" and cell.run.phase == "load":
        files[f"schema/{cell.name}.sql"] = _schema(cell)
    return files


def _schema(cell: KitCell) -> str:
    """The table as Benchsite makes it: keys in the order of their bytes, every field a text."""
    says = cell.run.properties
    table, prefix = says.get("table", "usertable"), says.get("fieldnameprefix", "field")
    fields = ",\n".join(f'  "{prefix}{number}" text' for number in range(int(says.get("fieldcount", "10"))))
    return (
        f'DROP TABLE IF EXISTS "{table}";\nCREATE TABLE "{table}" (\n'
        f'  ycsb_key text COLLATE "C" PRIMARY KEY,\n{fields}\n);\n'
    )


def _server(file: PlanFile, station: Station) -> dict[str, str]:
    """The configuration that Benchsite would start a server with; of other systems, the settings by name."""
    database, system = file.databases[station.database], station.system
    mode, folder = system.mode(station.mode), f"servers/{station.slug}"
    try:
        if system.process is None:
            settings = server_settings(system, mode, database.settings)
            return {f"{folder}/settings.txt": "".join(f"{name} = {value}\n" for name, value in settings.items())}
        binding = system.binding
        port = int(binding.properties[binding.endpoint.port].default or 0)
        rendered = render_server(
            system, mode, database.settings, host="127.0.0.1", port=port, folder=Path(), user=SERVER_USER
        )
    except PropertyError as error:
        raise PlanRefused(f"{database.name}: {error}") from None
    return {f"{folder}/{name}": text for name, text in rendered.files.items()}


def _expected(file: PlanFile, stations: Sequence[Station]) -> str:
    """How many records stand after each load, and before each measured cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["cell", "station", "database", "mode", "phase", "workload", "rows", "clients", "threads", "target_ops_s"]
    )
    for station in stations:
        database = file.databases[station.database].name
        for cell in station.cells:
            run = cell.run
            words = [cell.name, station.slug, database, station.mode, run.phase, run.sweep.workload.name]
            numbers = [
                str(number) for number in (run.dataset.records, len(cell.clients), run.threads, run.target_ops_s or "")
            ]
            writer.writerow([not_a_formula(word) for word in (*words, *numbers)])
    return out.getvalue()

"""A manifest and what the files tell, put together: what is stated about the runs of an upload.

Where a manifest says nothing the command lines in the files do. Raises ManifestRefused with every fault at once.
"""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from benchsite.teams.models import Team
from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, UPLOAD_NAMES, load_catalog, recognise
from runs.models import Sweep
from runs.models import Workload as WorkloadRow
from runs.models.run import Phase
from runs.property_schema import nearest
from runs.spec import WorkloadSpec
from runs.uploading.manifest import Manifest, ManifestRefused, OneRun, Workload
from runs.uploading.metadata import Stated, StatedRun
from runs.ycsb.clients import RunFiles
from runs.ycsb.errors import PropertyError
from runs.ycsb.hints import Hints, hints_of
from runs.ycsb.properties import check_workload

_UNNAMED: Final = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
MAX_SHORT: Final = 12


@dataclass(frozen=True, slots=True)
class Told:
    """What the files tell of one run."""

    phase: str | None
    hints: Hints


def told_by(files: RunFiles) -> Told:
    return Told(files.phase, hints_of([one.summary for one in files.clients if one.summary is not None]))


def stated_by(manifest: Manifest, team: Team, told: Sequence[Told]) -> Stated:
    """What is to be saved, and under which names."""
    return _Stating(manifest, team, told).stated()


class _Stating:
    def __init__(self, manifest: Manifest, team: Team, told: Sequence[Told]) -> None:
        self.manifest, self.team, self.told = manifest, team, told
        self.faults: list[tuple[str, str]] = []
        self.hints = next((one.hints for one in told if one.hints.binding or one.hints.properties), Hints())

    def stated(self) -> Stated:
        said = self.manifest
        system, name = self._system()
        mode = self._mode(system)
        workload = self._workload()
        runs = self._runs()
        if said.sweep and not self.faults:
            self._check_sweep(system, mode, workload)
        if self.faults:
            raise ManifestRefused(self.faults)
        return {
            "system": system,
            "system_name": name if system == OTHER_SYSTEM else "",
            "mode": mode,
            "database": said.database or name,
            "version": said.version,
            "replication_factor": said.replication_factor,
            "workload": workload,
            "purpose": said.purpose,
            "hardware": said.cluster.hardware,
            "nodes": said.cluster.nodes,
            "cores": said.cluster.cores,
            "memory_gib": said.cluster.memory_gib,
            "client_on_database_host": said.cluster.client_on_database_host,
            "warmup_s": said.warmup_s,
            "sweep": said.sweep,
            "tags": said.tags(),
            "notes": said.notes,
            "commit": said.commit,
            "branch": said.branch,
            "ci_url": said.ci_url,
            "session": said.session,
            "runner": said.cluster.name,
            "runs": runs,
        }

    def _fault(self, place: str, said: str) -> None:
        self.faults.append((f"#/manifest/{place}", said))

    def _system(self) -> tuple[str, str]:
        """Its slug, and its name."""
        said, catalog = self.manifest, load_catalog()
        if said.system == OTHER_SYSTEM or (said.system_name and not said.system):
            if not said.system_name:
                self._fault("system_name", "Name the other system, as in “FooDB”.")
            return OTHER_SYSTEM, said.system_name or UPLOAD_NAMES[OTHER_SYSTEM]
        if not said.system:
            found = recognise(self.hints.binding, self.hints.connection) if self.hints.binding else None
            if found is None:
                self._fault("system", "The files do not tell which system this was: state its slug, as in “redis”.")
                return OTHER_SYSTEM, ""
            return found, catalog.system(found).name
        found = said.system if said.system in catalog.systems else recognise(said.system)
        if found is None:
            near = nearest(said.system, [name for one in catalog.systems.values() for name in (one.name, one.slug)])
            meant = f"Did you mean “{near}”? " if near else ""
            self._fault(
                "system",
                f"No system of the catalog is called “{said.system}”. {meant}Of another one state “other” and its "
                "system_name.",
            )
            return OTHER_SYSTEM, ""
        return found, catalog.system(found).name

    def _mode(self, system: str) -> str:
        mode = self.manifest.mode or UNKNOWN_MODE
        if mode == UNKNOWN_MODE or self.faults:
            return mode
        if system == OTHER_SYSTEM:
            self._fault("mode", "Of a system that is not in the catalog the mode is “unknown”.")
            return mode
        modes = load_catalog().system(system).modes
        if mode not in modes:
            near = nearest(mode, modes)
            meant = f"Did you mean “{near}”? " if near else ""
            self._fault("mode", f"{system} has no mode “{mode}”. {meant}It has: {', '.join(modes)}, unknown.")
        return mode

    def _workload(self) -> WorkloadSpec:
        """One of the team's by its name, else as it is described and the files tell."""
        said = self.manifest.workload
        described = said if isinstance(said, Workload) else Workload(name=said or "")
        name = described.name or (f"YCSB {self.hints.letter}" if self.hints.letter else "")
        if not name:
            self._fault("workload", "The files do not tell which workload this was: name it, as in “YCSB A”.")
        properties = {key: _plain(value) for key, value in described.properties.items()}
        known = WorkloadRow.objects.filter(team=self.team, name=name).first() if name and not properties else None
        if known is not None:
            properties = {**known.properties, **_records(described.records or self.hints.records)}
            return {"id": str(known.pk), "name": name, "short_name": known.short_name, "properties": properties}
        properties = {**self.hints.properties, **properties, **_records(described.records)}
        short = _UNNAMED.sub("-", name.removeprefix("YCSB ")).strip("-")[:MAX_SHORT]
        return {"id": "", "name": name, "short_name": short, "properties": self._checked(properties)}

    def _checked(self, properties: dict[str, str]) -> dict[str, str]:
        """What is described need not be complete; what is written must be right."""
        try:
            return check_workload(properties) if properties else {}
        except PropertyError as error:
            for name, text in error.problems.items():
                if name != "recordcount" or name in properties:
                    self._fault(f"workload/properties/{name}".rstrip("/"), text)
        return properties

    def _runs(self) -> list[StatedRun]:
        said = self.manifest
        if len(said.runs) > len(self.told):
            self._fault("runs", f"The files hold {len(self.told)} runs, and {len(said.runs)} are stated.")
        own = [*said.runs[: len(self.told)], *[OneRun()] * (len(self.told) - len(said.runs))]
        pairs = enumerate(zip(self.told, own, strict=True))
        return [self._run(index, told, one) for index, (told, one) in pairs]

    def _run(self, index: int, told: Told, one: OneRun) -> StatedRun:
        """What is said of this run counts more than what its files tell, and that more than what is said of all of
        several; of a single run all that is said is said of it."""
        said, alone = self.manifest, len(self.told) == 1
        common = said if alone else OneRun()
        phase = one.phase or common.phase or told.phase or said.phase or Phase.MEASURE.value
        threads = one.threads or common.threads or told.hints.threads or said.threads
        if threads is None:
            place = "threads" if alone else f"runs/{index}/threads"
            self._fault(place, "The files do not tell how many threads the clients had: state all of them together.")
        target = one.target_ops_s or common.target_ops_s or told.hints.target_ops_s or said.target_ops_s
        repeat = one.repeat or common.repeat
        return {"index": index, "phase": phase, "threads": threads or 1, "target_ops_s": target, "repeat": repeat}

    def _check_sweep(self, system: str, mode: str, workload: WorkloadSpec) -> None:
        """A curve has one system, mode, purpose and workload."""
        sweep = sweep_of(self.team, self.manifest.sweep)
        if sweep is None:
            self._fault("sweep", "Your team has no uploaded curve with this id. Leave it away for a new one.")
        elif (sweep.system, sweep.mode) != (system, mode):
            self._fault("sweep", f"That curve is of {sweep.system} in mode {sweep.mode}: begin a new one.")
        elif sweep.purpose != self.manifest.purpose:
            self._fault("sweep", f"That curve's purpose is {sweep.purpose}: begin a new one.")
        else:
            other = sweep.runs.values_list("workload_name", flat=True).first()
            if other is not None and other != workload["name"]:
                self._fault("sweep", f"That curve is of the workload “{other}”: begin a new one.")


def sweep_of(team: Team, key: str) -> Sweep | None:
    """An uploaded curve of measured runs."""
    try:
        pk = uuid.UUID(key)
    except ValueError:
        return None
    return Sweep.objects.filter(pk=pk, team=team, matrix=None, phase=Phase.MEASURE).first()


def _records(records: int | None) -> dict[str, str]:
    return {"recordcount": str(records)} if records else {}


def _plain(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""A manifest and what the files tell, put together: what is stated about the runs of an upload.

Where a manifest says nothing the command lines in the files do. Raises ManifestRefused with every fault at once.
"""

import re
from collections.abc import Sequence
from typing import Final

from benchsite.accounts.models import Team
from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, UPLOAD_NAMES, load_catalog, recognise
from runs.catalog.property_schema import nearest
from runs.identifiers import parse_uuid
from runs.models import Sweep
from runs.models import Workload as WorkloadRow
from runs.models.run import Phase
from runs.queue.spec import WorkloadSpec
from runs.uploads.manifest import Manifest, ManifestRefused, OneRun, Workload
from runs.uploads.metadata import Stated, StatedRun
from runs.ycsb.errors import PropertyError
from runs.ycsb.grouping import RunFiles
from runs.ycsb.hints import Hints, read_hints
from runs.ycsb.properties import check_stated_workload

_UNNAMED: Final = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
MAX_SHORT: Final = 12


def stated_by(manifest: Manifest, team: Team, runs: Sequence[RunFiles]) -> Stated:
    """What is to be saved of these runs, and under which names."""
    return _Stating(manifest, team, runs).stated()


class _Stating:
    def __init__(self, manifest: Manifest, team: Team, runs: Sequence[RunFiles]) -> None:
        self.manifest, self.team, self.from_files = manifest, team, runs
        self.faults: list[tuple[str, str]] = []
        self.hints_of_runs = [read_hints([each.summary for each in run.clients if each.summary]) for run in runs]
        self.hints = next((hints for hints in self.hints_of_runs if hints.binding or hints.properties), Hints())

    def stated(self) -> Stated:
        manifest = self.manifest
        system, name = self._system()
        mode = self._mode(system)
        workload = self._workload()
        runs = self._runs()
        self._check_utc_offsets()
        if manifest.sweep and not self.faults:
            self._check_sweep(system, mode, workload)
        if self.faults:
            raise ManifestRefused(self.faults)
        return {
            "system": system,
            "system_name": name if system == OTHER_SYSTEM else "",
            "mode": mode,
            "database": manifest.database or name,
            "version": manifest.version,
            "replication_factor": manifest.replication_factor,
            "workload": workload,
            "purpose": manifest.purpose,
            "hardware": manifest.cluster.hardware,
            "nodes": manifest.cluster.nodes,
            "cores": manifest.cluster.cores,
            "memory_gib": manifest.cluster.memory_gib,
            "client_on_database_host": manifest.cluster.client_on_database_host,
            "warmup_s": manifest.warmup_s,
            "sweep": manifest.sweep,
            "tags": manifest.tags(),
            "notes": manifest.notes,
            "commit": manifest.commit,
            "branch": manifest.branch,
            "ci_url": manifest.ci_url,
            "session": manifest.session,
            "runner": manifest.cluster.name,
            "runs": runs,
        }

    def _fault(self, place: str, message: str) -> None:
        self.faults.append((f"#/manifest/{place}", message))

    def _system(self) -> tuple[str, str]:
        """Its slug, and its name."""
        manifest, catalog = self.manifest, load_catalog()
        if manifest.system == OTHER_SYSTEM or (manifest.system_name and not manifest.system):
            if not manifest.system_name:
                self._fault("system_name", "Name the other system, as in “FooDB”.")
            return OTHER_SYSTEM, manifest.system_name or UPLOAD_NAMES[OTHER_SYSTEM]
        if not manifest.system:
            slug = recognise(self.hints.binding, self.hints.connection) if self.hints.binding else None
            if slug is None:
                self._fault("system", "The files do not tell which system this was: state its slug, as in “redis”.")
                return OTHER_SYSTEM, ""
            return slug, catalog.system(slug).name
        slug = manifest.system if manifest.system in catalog.systems else recognise(manifest.system)
        if slug is None:
            near = nearest(
                manifest.system, [name for system in catalog.systems.values() for name in (system.name, system.slug)]
            )
            meant = f"Did you mean “{near}”? " if near else ""
            self._fault(
                "system",
                f"No system of the catalog is called “{manifest.system}”. {meant}Of another one state “other” and its "
                "system_name.",
            )
            return OTHER_SYSTEM, ""
        return slug, catalog.system(slug).name

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
        stated = self.manifest.workload
        described = stated if isinstance(stated, Workload) else Workload(name=stated or "")
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
            return check_stated_workload(properties) if properties else {}
        except PropertyError as error:
            for name, text in error.problems.items():
                if name != "recordcount" or name in properties:
                    self._fault(f"workload/properties/{name}".rstrip("/"), text)
        return properties

    def _runs(self) -> list[StatedRun]:
        stated = self.manifest
        if len(stated.runs) > len(self.from_files):
            self._fault("runs", f"The files hold {len(self.from_files)} runs, and {len(stated.runs)} are stated.")
        self._check_threads()
        own = [*stated.runs[: len(self.from_files)], *[OneRun()] * (len(self.from_files) - len(stated.runs))]
        return [self._run(index, run) for index, run in enumerate(own)]

    def _check_threads(self) -> None:
        """A number for all of several runs that none of them had may be that of one run of several clients."""
        stated, of_files = self.manifest.threads, [hints.threads for hints in self.hints_of_runs]
        is_said_of_each = any(run.threads for run in self.manifest.runs)
        if stated is None or is_said_of_each or len(of_files) < 2 or None in of_files or stated in of_files:
            return
        listed = ", ".join(str(threads) for threads in of_files[:10])
        self._fault(
            "threads",
            f"The files hold {len(of_files)} runs of {listed} threads, and {stated} are stated. If they are clients of "
            "one run, state grouping “together”; else the threads of each run in runs.",
        )

    def _run(self, index: int, stated: OneRun) -> StatedRun:
        """What is said of this run counts more than what its files tell, and that more than what is said of all of
        several; of a single run all that is said is said of it."""
        manifest, alone = self.manifest, len(self.from_files) == 1
        common, hints = manifest if alone else OneRun(), self.hints_of_runs[index]
        phase = stated.phase or common.phase or self.from_files[index].phase or manifest.phase or Phase.MEASURE.value
        threads = stated.threads or common.threads or hints.threads or manifest.threads
        if threads is None:
            place = "threads" if alone else f"runs/{index}/threads"
            self._fault(place, "The files do not tell how many threads the clients had: state all of them together.")
        target = stated.target_ops_s or common.target_ops_s or hints.target_ops_s or manifest.target_ops_s
        repeat = stated.repeat or common.repeat
        return {"index": index, "phase": phase, "threads": threads or 1, "target_ops_s": target, "repeat": repeat}

    def _check_utc_offsets(self) -> None:
        notes = [note for run in self.from_files[:1] for note in run.notes if note.code == "offset_of_no_client"]
        for note in notes:
            name = str(note.values["name"])
            pointer = name.replace("~", "~0").replace("/", "~1")
            self._fault(f"utc_offsets/{pointer}", f"{note} {self._nearest_file(name)}".rstrip())

    def _nearest_file(self, name: str) -> str:
        near = nearest(name, [file for run in self.from_files for client in run.clients for file in client.names])
        return f"Did you mean “{near}”?" if near else ""

    def _check_sweep(self, system: str, mode: str, workload: WorkloadSpec) -> None:
        """A curve has one system, mode, purpose and workload."""
        sweep = find_sweep(self.team, self.manifest.sweep)
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


def find_sweep(team: Team, key: str) -> Sweep | None:
    """An uploaded curve of measured runs."""
    pk = parse_uuid(key)
    return Sweep.objects.filter(pk=pk, team=team, matrix=None, phase=Phase.MEASURE).first() if pk else None


def _records(records: int | None) -> dict[str, str]:
    return {"recordcount": str(records)} if records else {}


def _plain(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

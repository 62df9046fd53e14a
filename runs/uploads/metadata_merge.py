"""A manifest and what the files tell, put together: the metadata of the runs of an upload.

Where a manifest says nothing the command lines in the files do. Pure.
"""

from collections.abc import Callable, Sequence
from itertools import chain

from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, UPLOAD_NAMES, load_catalog, recognise
from runs.uploads.manifest import Manifest, Workload
from runs.uploads.messages import (
    MODE_OF_OTHER_SYSTEM,
    NAME_OTHER_SYSTEM,
    NO_MODE,
    NO_SYSTEM,
    SEVERAL_SYSTEMS,
    SEVERAL_WORKLOADS,
    SYSTEM_NOT_TOLD,
)
from runs.uploads.metadata import (
    CommonMetadata,
    HostFacts,
    OneRun,
    RunMetadata,
    StatedRun,
    StatedWorkload,
    describe_workload,
    suggest,
)
from runs.ycsb.errors import PropertyError
from runs.ycsb.file_grouping import RunFiles
from runs.ycsb.form_defaults import Hints, read_hints
from runs.ycsb.properties import check_stated_workload

# A workload of the team by its name.
FindWorkload = Callable[[str], StatedWorkload | None]


def merge_metadata(
    manifest: Manifest, runs: Sequence[RunFiles], find_workload: FindWorkload = lambda name: None
) -> tuple[RunMetadata, list[tuple[str, str]]]:
    """The metadata of these runs, and what is wrong with it or missing: a JSON pointer and a sentence for each.

    With faults the metadata says as much as is known: an unknown number of threads is 0.
    """
    merge = _Merge(manifest, runs, find_workload)
    return merge.metadata(), merge.faults


class _Merge:
    def __init__(self, manifest: Manifest, runs: Sequence[RunFiles], find_workload: FindWorkload) -> None:
        self.manifest, self.from_files, self.find_workload = manifest, runs, find_workload
        self.faults: list[tuple[str, str]] = []
        self.hints_of_runs = [read_hints(run.summaries) for run in runs]
        self.hints = next((hints for hints in self.hints_of_runs if hints.binding or hints.properties), Hints())

    def metadata(self) -> RunMetadata:
        manifest = self.manifest
        system, name = self._system()
        fields = {
            **manifest.model_dump(include=set(CommonMetadata.model_fields)),
            **manifest.cluster.model_dump(include=set(HostFacts.model_fields)),
            "system": system,
            "system_name": name if system == OTHER_SYSTEM else "",
            "mode": self._mode(system),
            "database": manifest.database or name,
        }
        workload, runs = self._workload(), self._runs()
        self._check_utc_offsets()
        return RunMetadata(**fields, workload=workload, tags=manifest.tags(), runner=manifest.cluster.name, runs=runs)

    def _fault(self, pointer: str, message: str) -> None:
        self.faults.append((f"#/manifest/{pointer}", message))

    def _system(self) -> tuple[str, str]:
        """Its slug, and its name."""
        manifest, catalog = self.manifest, load_catalog()
        if manifest.system == OTHER_SYSTEM or (manifest.system_name and not manifest.system):
            if not manifest.system_name:
                self._fault("system_name", NAME_OTHER_SYSTEM)
            return OTHER_SYSTEM, manifest.system_name or UPLOAD_NAMES[OTHER_SYSTEM]
        if not manifest.system:
            self._check_systems()
            slug = recognise(self.hints.binding, self.hints.connection)
            if slug is None:
                self._fault("system", SYSTEM_NOT_TOLD)
                return OTHER_SYSTEM, ""
            return slug, catalog.system(slug).name

        slug = manifest.system if manifest.system in catalog.systems else recognise(manifest.system)
        if slug is None:
            names = [system.name for system in catalog.systems.values()]
            hint = suggest(manifest.system, [*names, *catalog.systems])
            self._fault("system", NO_SYSTEM.format(name=manifest.system, hint=hint))
            return OTHER_SYSTEM, ""

        return slug, catalog.system(slug).name

    def _check_systems(self) -> None:
        """Of runs of several systems the first must not decide."""
        slugs = {recognise(hints.binding, hints.connection) for hints in self.hints_of_runs if hints.binding} - {None}
        if len(slugs) > 1:
            self._fault("system", SEVERAL_SYSTEMS.format(systems=", ".join(sorted(filter(None, slugs)))))

    def _mode(self, system: str) -> str:
        mode = self.manifest.mode or UNKNOWN_MODE
        if mode == UNKNOWN_MODE or self.faults:
            return UNKNOWN_MODE
        if system == OTHER_SYSTEM:
            self._fault("mode", MODE_OF_OTHER_SYSTEM)
            return UNKNOWN_MODE

        modes = load_catalog().system(system).modes
        if mode not in modes:
            hint = suggest(mode, modes)
            self._fault("mode", NO_MODE.format(system=system, mode=mode, hint=hint, modes=", ".join(modes)))
            return UNKNOWN_MODE

        return mode

    def _workload(self) -> StatedWorkload:
        """One of the team's by its name, else as it is described and the files tell."""
        stated = self.manifest.workload
        described = stated if isinstance(stated, Workload) else Workload(name=stated or "")
        name = described.name or (f"YCSB {self.hints.letter}" if self.hints.letter else "")
        letters = sorted({hints.letter for hints in self.hints_of_runs} - {""})
        if not described.name and len(letters) > 1:
            self._fault("workload", SEVERAL_WORKLOADS.format(letters=", ".join(letters)))
        if not name:
            self._fault("workload", "The files do not tell which workload this was: name it, as in “YCSB A”.")
        properties = {key: _plain(value) for key, value in described.properties.items()}
        row = self.find_workload(name) if name and not properties else None
        if row is not None:
            properties = _state_records(row.properties, described.records or self.hints.records)
            return row.model_copy(update={"properties": properties})

        properties = _state_records({**self.hints.properties, **properties}, described.records)
        return describe_workload(name, self._check_properties(properties))

    def _check_properties(self, properties: dict[str, str]) -> dict[str, str]:
        """A description may be incomplete, but not wrong."""
        try:
            return check_stated_workload(properties) if properties else {}
        except PropertyError as error:
            for name, text in error.problems.items():
                if name != "recordcount" or name in properties:
                    self._fault(f"workload/properties/{name}".rstrip("/"), text)
        return properties

    def _runs(self) -> list[StatedRun]:
        runs = self.manifest.runs
        if len(runs) > len(self.from_files):
            self._fault("runs", f"The files hold {len(self.from_files)} runs, and {len(runs)} are stated.")
        self._check_threads()
        unstated = [OneRun()] * (len(self.from_files) - len(runs))
        return [self._run(index, run) for index, run in enumerate([*runs[: len(self.from_files)], *unstated])]

    def _check_threads(self) -> None:
        """A number for all of several runs that none of them had may be that of one run of several clients."""
        stated = self.manifest.threads
        of_files = [hints.threads for hints in self.hints_of_runs]
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
        """Precedence: the manifest's entry for this run, then the files, then the manifest's defaults.

        Of a single run the defaults come before the files.
        """
        manifest = self.manifest
        alone = len(self.from_files) == 1
        first = manifest if alone else OneRun()
        hints = self.hints_of_runs[index]
        threads = stated.threads or first.threads or hints.threads or manifest.threads
        if threads is None:
            pointer = "threads" if alone else f"runs/{index}/threads"
            self._fault(pointer, "The files do not tell how many threads the clients had: state all of them together.")

        return StatedRun(
            index=index,
            phase=stated.phase or first.phase or self.from_files[index].phase or manifest.phase or "measure",
            threads=threads or 0,
            target_ops_s=stated.target_ops_s or first.target_ops_s or hints.target_ops_s or manifest.target_ops_s,
            repeat=stated.repeat or first.repeat,
        )

    def _check_utc_offsets(self) -> None:
        files = list(chain.from_iterable(run.names for run in self.from_files))
        for note in self.from_files[0].notes if self.from_files else ():
            if note.code != "offset_of_no_client":
                continue
            name = str(note.values["name"])
            escaped = name.replace("~", "~0").replace("/", "~1")
            self._fault(f"utc_offsets/{escaped}", f"{note}{suggest(name, files)}")


def _plain(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _state_records(properties: dict[str, str], records: int | None) -> dict[str, str]:
    return {**properties, "recordcount": str(records)} if records else properties

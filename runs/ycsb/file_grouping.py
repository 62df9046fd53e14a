"""Which files are one client's, and which clients are one run's.

People bring a run as they have it: a folder for each client, one file for each with a number in its name, histogram
logs without any folder, standard output and error apart, load and run in one file. What belongs together is told by
names first, and by counts where the names say nothing: a log that counts exactly what a summary states is that
client's. Runs of different clients are one run where the times of their status lines overlap. Without times, names that
differ by a number or equal properties in one folder group them, and the group is doubtful: it may be repeats. Adjoining
ranges of keys with equal properties are parts of one load, and leave no doubt.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, pairwise
from operator import attrgetter
from typing import Final

from runs.ycsb.failure_symptoms import Symptom
from runs.ycsb.form_defaults import build_workload, stated_options
from runs.ycsb.grouping_notes import GroupingNote
from runs.ycsb.hdr import IntervalLog
from runs.ycsb.merged import Phase, Window
from runs.ycsb.numbers import whole
from runs.ycsb.operation import MeasurementName, count_done, parse_name, printed_name
from runs.ycsb.progress import ZONE_STEP_S, Progress, get_progress, may_change_zone
from runs.ycsb.readers.results import ReadFile, ReadRun
from runs.ycsb.summary_counts import collect_operations, counts_operations, interpret_name

# Words of a file's name that tell what it holds, and not whose it is.
_ROLES: Final = re.compile(
    r"std|(std)?(out|err)|error|properties|outputs?|summary|status|logs?|hdr|raw|points?|results?|data?|ycsb|te?xt|json|csv|md|tar|t?gz|zip|zst"
)
_PHASES: Final[Mapping[str, Phase]] = {
    "load": "load",
    "loading": "load",
    "run": "measure",
    "measure": "measure",
    "transactions": "measure",
}
_CLIENTS: Final = frozenset({"client", "clients", "generator", "generators", "host", "node", "pod", "vm", "worker"})
_MAX_ZONE_S: Final = 26 * 3600
_MAX_START_S: Final = 60  # between the starts of clients of one run
_MAX_SCRIPTED_START_S: Final = 5  # where a script starts them
_MAX_COMPARED: Final = 50  # runs of one upload
_NEAR: Final = 0.01  # of a run's operations
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True, slots=True)
class ClientFiles:
    """The output of one client of a run. `summary` has its status lines too, whichever file they were in."""

    number: int  # from 0
    names: tuple[str, ...]
    summary: ReadRun | None
    logs: tuple[IntervalLog, ...]
    clock_offset_s: float = 0.0  # to be added to the dates of its status lines: their time zone is another one's


@dataclass(frozen=True, slots=True)
class RunFiles:
    """All clients of one run."""

    phase: Phase | None
    clients: tuple[ClientFiles, ...]
    notes: tuple[GroupingNote, ...] = ()
    is_doubtful: bool = False  # whether its clients may as well be runs of their own

    @property
    def names(self) -> list[str]:
        """Names of all files."""
        return list(chain.from_iterable(client.names for client in self.clients))

    @property
    def summaries(self) -> list[ReadRun]:
        return [client.summary for client in self.clients if client.summary is not None]


def group(
    files: Sequence[ReadFile], *, together: bool = False, utc_offsets_s: Mapping[str, float] | None = None
) -> tuple[RunFiles, ...]:
    """The runs in these files, in the order in which they first occur; files without any result are left out.

    A client's output that was brought twice counts once. As the output of another client it stays, and V27 rejects it.
    `together`: the files are stated to be of one run, so neither times nor operations are held against it.
    `utc_offsets_s`: stated for the dates of status lines, by file, folder or writer of lines.
    """
    drafts, notes = _drafts(files)
    client_runs: list[_Run] = []
    for key in sorted(drafts, key=_rank_key):
        own_runs, own_notes = drafts[key].runs(key)
        notes += own_notes
        client_runs += own_runs

    _number_splits(client_runs)
    runs: list[list[_Run]] = []
    for run in client_runs:
        run.utc_offset_s = _stated_offset_s(run, utc_offsets_s or {})
        notes += _check_offset(run)
        home = next((members for members in runs if _is_one_run(run, members, together=together)), None)
        if home is None:
            runs.append([run])
        else:
            home.append(run)

    runs.sort(key=lambda members: min(run.position for run in members))
    firsts = [members[0] for members in runs]
    notes += _contradictions(firsts) if together else _possible_zones(firsts)
    return tuple(_run_files(members, notes, together=together) for members in runs)


# --- Which files are one client's ---


@dataclass
class _Run:
    """One run of one client while its files are gathered."""

    position: int
    names: list[str]
    summary: ReadRun | None = None
    logs: list[IntervalLog] = field(default_factory=list)
    utc_offset_s: float | None = None  # stated for its dates
    split: int | None = None  # the number of the load that its keys are a part of
    key: str = ""  # what its files' names have in common

    @cached_property
    def counts(self) -> dict[MeasurementName, int]:
        """Counts of the summary."""
        operations = self.summary.operations if self.summary else {}
        counts = {parse_name(name): operation.count for name, operation in operations.items()}
        return {name: count for name, count in counts.items() if count is not None}

    @cached_property
    def done(self) -> int:
        """Operations by the summary, a read-modify-write once."""
        if self.summary is None:
            return 0
        operations = collect_operations(self.summary).values()
        counting = [operation for operation in operations if counts_operations(operation.name, self.summary)]
        return count_done((operation.name, operation.count or 0) for operation in counting)

    @cached_property
    def operations(self) -> frozenset[str]:
        """The operations of the workload that summary or logs name."""
        names = {parse_name(log.operation) for log in self.logs} | set(self.counts)
        return frozenset(name.operation for name in names if name.is_operation)

    @cached_property
    def phase(self) -> Phase | None:
        if self.summary is not None and self.summary.phase is not None:
            return self.summary.phase
        if not self.operations:
            return None
        if self.operations == {"INSERT"}:
            return "load"
        return "measure"

    @property
    def family(self) -> str:
        return name_family(self.summary.format if self.summary is not None else "hdr-log")

    @cached_property
    def setup(self) -> dict[str, str]:
        """The binding, the threads and the workload, as far as its options state them."""
        if self.summary is None:
            return {}
        options = stated_options(self.summary)
        stated: dict[str, str] = {name: options[name] for name in ("db", "threadcount") if name in options}
        return {**build_workload(options), **stated}

    @cached_property
    def keys(self) -> range:
        """The keys that its options give to this client; empty where they are not stated."""
        options = stated_options(self.summary) if self.summary is not None else {}
        start, count = whole(options.get("insertstart", "0")), whole(options.get("insertcount", ""))
        if start is None or count is None or start < 0:
            return range(0)
        return range(start, start + count)

    @property
    def folder(self) -> str:
        return self.names[0].rpartition("/")[0]

    @cached_property
    def progress(self) -> Progress | None:
        if self.summary is not None:
            return get_progress(self.summary.status)
        return None

    @property
    def span(self) -> Window | None:
        """When it worked, on its own clock, by the stated offset of its dates."""
        progress = self.progress
        if progress is not None and progress.is_dated:
            offset_s = self.utc_offset_s or 0.0
            return Window(progress.started_s - offset_s, progress.ended_s - offset_s)
        return self.logged_span

    @cached_property
    def logged_span(self) -> Window | None:
        """When it worked by its logs, which count from the epoch."""
        starts = [log.start_time_s + float(log.start_s[0]) for log in self.logs if len(log)]
        ends = [log.start_time_s + float(log.start_s[-1] + log.length_s[-1]) for log in self.logs if len(log)]
        if starts:
            return Window(min(starts), max(ends))
        return None


def name_family(file_format: str) -> str:
    """Which client wrote files of this format: YCSB, whatever it wrote, or one of its relatives."""
    if file_format in ("ycsb-cpp", "ycsb-c"):
        return file_format
    family, _, _ = file_format.replace("go-ycsb", "go").partition("-")
    if family in ("hdr", "properties"):
        return "ycsb"
    return family


@dataclass
class _Item:
    """One run as read from one file."""

    position: int
    name: str
    run: ReadRun
    phase: Phase | None  # by a word of the file's name

    @property
    def is_shared(self) -> bool:
        """Whether every run of its client, or of all clients, was started with it."""
        return self.run.format == "properties"

    @property
    def done(self) -> int:
        """Operations by its last status line."""
        if not self.run.status:
            return 0
        return self.run.status[-1].operations_done

    @cached_property
    def totals(self) -> dict[MeasurementName, int]:
        """Counts of the logs."""
        return {parse_name(log.operation): log.total for log in self.run.logs}


@dataclass
class _Draft:
    """One client while its files are gathered."""

    summaries: list[_Run] = field(default_factory=list)
    logs: list[_Item] = field(default_factory=list)
    statuses: list[_Item] = field(default_factory=list)
    prefaces: list[_Item] = field(default_factory=list)

    @property
    def names_of_results(self) -> list[str]:
        """The names of the files that hold results."""
        return [*(run.names[0] for run in self.summaries), *(item.name for item in [*self.logs, *self.statuses])]

    def states(self, item: _Item) -> bool:
        """Whether a summary counts exactly what the file counts."""
        return any(_fits(item, run) for run in self.summaries)

    def runs(self, key: str) -> tuple[list[_Run], list[GroupingNote]]:
        """The client's runs, and a note for each that is not stored, because another one is stated whole."""
        runs = [replace(run, names=list(run.names), logs=list(run.logs)) for run in self.summaries]
        notes = [*self._add_logs(runs), *self._add_statuses(runs)]
        for item in self.prefaces if runs else ():
            for run in runs if item.is_shared else [_owner(item, runs)]:
                run.summary = _join(run.summary, item.run)
                run.names.append(item.name)
        for run in runs:
            run.key = key
        return runs, notes

    def _add_logs(self, runs: list[_Run]) -> Iterator[GroupingNote]:
        """Logs of the same operations are of several runs: YCSB appends raw points to the file of the run before."""
        have_summaries = bool(runs)
        for item in sorted(self.logs, key=lambda item: not any(_fits(item, run) for run in runs)):
            logs = list(_rename_logs(item.run))
            names = {log.operation for log in logs}
            twins = [run for run in runs if _measured_twice(logs, run.logs)]
            if twins:
                operations = {log.operation for log in twins[-1].logs}
                twins[-1].logs += [log for log in logs if log.operation not in operations]
                twins[-1].names.append(item.name)
                continue

            free = [run for run in runs if names.isdisjoint(map(attrgetter("operation"), run.logs))]
            if have_summaries and _owner(item, runs) not in free:
                done = sum(total for name, total in item.totals.items() if name.is_operation)
                yield _not_stored("counts_match_no_summary", item, done)
                continue

            if not free:
                runs.append(_Run(item.position, []))
            run = _owner(item, free or runs[-1:])
            run.logs += logs
            run.names.append(item.name)

    def _add_statuses(self, runs: list[_Run]) -> Iterator[GroupingNote]:
        """Status lines of other runs than those of the summaries are of clients that were killed."""
        have_results = bool(runs)
        ordered = sorted(self.statuses, key=lambda item: (not any(_fits(item, run) for run in runs), -item.position))
        taken: list[_Run] = []
        for item in ordered if have_results else self.statuses:
            if not have_results:
                runs.append(_Run(item.position, [item.name], item.run))
                continue

            run = _owner(item, runs)
            if _is_another_client(item, runs):
                runs.append(_Run(item.position, [item.name], item.run))
                continue
            if run in taken or (item.name in run.names[:1] and not _is_near(item, run)):
                yield _not_stored("no_summary", item, item.done)
                run.summary = replace(run.summary, symptoms=_symptoms(run.summary, item.run)) if run.summary else None
                continue

            taken.append(run)
            run.summary = _join(run.summary, item.run)
            run.names.append(item.name)


def _measured_twice(logs: Iterable[IntervalLog], others: Iterable[IntervalLog]) -> bool:
    """Whether both are of the same values, as measurement types of two kinds give them."""
    totals = {log.operation: log.total for log in others}
    common = [log for log in logs if log.operation in totals]
    return bool(common) and all(log.total == totals[log.operation] for log in common)


def _not_stored(code: str, item: _Item, done: int) -> GroupingNote:
    values = {"first_line": item.run.first_line, "last_line": item.run.last_line, "done": done}
    return GroupingNote(code, (item.name,), values)


def _drafts(files: Sequence[ReadFile]) -> tuple[dict[str, _Draft], list[GroupingNote]]:
    """The clients by what their files' names have in common."""
    drafts: dict[str, _Draft] = {}
    notes: list[GroupingNote] = []
    names: Counter[str] = Counter()
    first_files: dict[object, tuple[str, str]] = {}
    position = 0
    for file in files:
        for run in file.runs:
            position += 1
            key, phase = _parse_file_name(file.name, run)
            fingerprint = _compute_fingerprint(run) or position
            original, original_key = first_files.setdefault(fingerprint, (file.name, key))
            if original != file.name and original_key == key:
                notes.append(GroupingNote("copied_by_client", (file.name, original)))
                continue
            if original != file.name:
                notes.append(GroupingNote("copied", (file.name, original)))

            item = _Item(position, file.name, run, phase)
            # Another file of the same name is of another client.
            number = str(names[file.name] or "")
            draft = drafts.setdefault(" ".join(filter(None, (key, run.source, number))), _Draft())
            if run.logs and run.throughput_ops_s is None:
                draft.logs.append(item)
            elif not run.operations and run.throughput_ops_s is None:
                draft.statuses.append(item)
            else:
                draft.summaries.append(_Run(position, [file.name], run, list(_rename_logs(run))))

        if file.preface is not None:
            position += 1
            key, phase = _parse_file_name(file.name, file.preface)
            item = _Item(position, file.name, file.preface, phase)
            drafts.setdefault(key, _Draft()).prefaces.append(item)

        names[file.name] += 1

    notes += _adopt(drafts)
    _share(drafts)
    return drafts, notes


def _compute_fingerprint(run: ReadRun) -> object | None:
    """Equal for two runs only where one is a copy of the other; None where there is too little to tell."""
    if run.throughput_ops_s is not None and run.operations:
        numbers = []
        for name in sorted(run.operations):
            operation = run.operations[name]
            percentiles = sorted(operation.percentiles_us.items())
            numbers.append((name, operation.count, operation.mean_us, operation.max_us, *percentiles))
        return run.runtime_ms, run.throughput_ops_s, tuple(numbers)

    logs = [
        (log.operation, log.start_time_s, log.total, float(log.start_s.sum()), int(log.index.sum()))
        for log in run.logs
        if log.total
    ]
    return tuple(logs) or None


def _rename_logs(run: ReadRun) -> Iterable[IntervalLog]:
    """The run's logs under the names that all clients have in common: HdrREAD and RawREAD of the same values once."""
    logs: dict[str, IntervalLog] = {}
    for log in sorted(run.logs, key=lambda log: log.operation.startswith("Raw")):
        parsed = interpret_name(log.operation, replace(run, properties={}))
        name = printed_name(parsed.operation, parsed.kind, parsed.status)
        logs.setdefault(name, replace(log, operation=name))
    return logs.values()


def _parse_file_name(name: str, run: ReadRun) -> tuple[str, Phase | None]:
    """Words of the name that tell the client, without roles, phases and measurements; and the phase."""
    folders, _, stem = name.replace("\\", "/").rpartition("/")
    if run.format == "hdr-log":
        for log in run.logs:
            # YCSB puts whatever it was told before the measurement's name: client1-READ.hdr, outREAD.hdr.
            measurement = re.escape(log.operation)
            stem = re.sub(rf"{measurement}(?=\.|$)|(?<![A-Za-z]){measurement}(?![A-Za-z])", " ", stem)
    words = [word.lower() for word in _WORD.findall(f"{folders} {stem}")]
    phase = next((_PHASES[word] for word in reversed(words) if word in _PHASES), None)
    return " ".join(word for word in words if not _ROLES.fullmatch(word) and word not in _PHASES), phase


def _adopt(drafts: dict[str, _Draft]) -> list[GroupingNote]:
    """Logs and status lines whose names lead to no summary go to the one that states the same counts.

    Status lines may also go to the only summary there is: the last of them can be missing.
    """
    notes: list[GroupingNote] = []
    homes = {key: draft for key, draft in drafts.items() if draft.summaries}
    strangers = {key: draft for key, draft in drafts.items() if not draft.summaries}
    for key, draft in strangers.items():
        items = [*draft.logs, *draft.statuses]
        fitting = [name for name, home in homes.items() if all(map(home.states, items))]
        if not fitting and not draft.logs and len(homes) == len(strangers) == 1:
            fitting = list(homes)
        if len(fitting) > 1:
            # Clients that did the same number of operations: run-1.txt and test-1-READ.hdr have a number in common.
            fitting = [name for name in fitting if _numbers(name) == _numbers(key)] or fitting

        if len(fitting) > 1 and draft.logs and len(homes) > 1:
            names = ", ".join(item.name for item in draft.logs)
            values: dict[str, str | int | float] = {"logs": names, "summaries": len(fitting)}
            notes += [
                GroupingNote("logs_match_several", (homes[name].summaries[0].names[0],), values) for name in fitting
            ]
            del drafts[key]
        elif len(fitting) == 1:
            home = homes[fitting[0]]
            home.logs += draft.logs
            home.statuses += draft.statuses
            home.prefaces += draft.prefaces
            del drafts[key]

    return notes


def _numbers(key: str) -> list[str]:
    return [word for word in key.split() if word.isdigit()]


def _share(drafts: dict[str, _Draft]) -> None:
    """Properties whose name leads to no client are those of every client in their folder and below."""
    for key, draft in list(drafts.items()):
        if draft.names_of_results or not draft.prefaces or not all(item.is_shared for item in draft.prefaces):
            continue
        for item in draft.prefaces:
            folder, slash, _ = item.name.rpartition("/")
            for other in drafts.values():
                if any(name.startswith(folder + slash) for name in other.names_of_results):
                    other.prefaces.append(item)
        del drafts[key]


def _fits(item: _Item, run: _Run) -> bool:
    """Whether the file counts exactly what the run states."""
    if item.run.logs:
        # People cut CLEANUP off a summary.
        return all(run.counts.get(name, 0) == total for name, total in item.totals.items() if name.is_operation)
    return bool(item.run.status) and item.done == run.done


def _is_another_client(item: _Item, runs: Sequence[_Run]) -> bool:
    """Whether status lines are of a client that was killed while another one in the same file worked."""
    span = _Run(item.position, [], item.run).span
    others = [run for run in runs if item.name in run.names[:1]]
    if span is None or not others or not all(run.summary is not None and run.summary.status for run in others):
        return False
    first = others[0]
    return first.span is not None and _overlap(first.span, span) and not _is_near(item, first)


def _is_near(item: _Item, run: _Run) -> bool:
    """Whether status lines may be of the run: the last of them can be missing."""
    return not item.done or abs(item.done - run.done) <= _NEAR * run.done


def _owner(item: _Item, runs: Sequence[_Run]) -> _Run:
    """Which of a client's runs the file belongs to. A rerun overwrites logs, so without any sign it is the last."""
    if len(runs) == 1:
        return runs[0]
    candidates = [run for run in runs if _fits(item, run)] or runs
    of_phase = [run for run in candidates if item.phase is not None and run.phase == item.phase]
    return (of_phase or candidates)[-1]


def _join(summary: ReadRun | None, other: ReadRun) -> ReadRun:
    """A summary and what the client wrote elsewhere: its status lines, its command line, its complaints."""
    if summary is None or summary is other:
        return other
    return replace(
        summary,
        status=max(summary.status, other.status, key=len),
        properties={**other.properties, **summary.properties},
        command=summary.command or other.command,
        version=summary.exact_version or other.exact_version or summary.version or other.version,
        phase=summary.phase or other.phase,
        process={**other.process, **summary.process},
        symptoms=_symptoms(summary, other),
    )


def _symptoms(run: ReadRun, other: ReadRun) -> tuple[Symptom, ...]:
    return tuple(dict.fromkeys((*run.symptoms, *other.symptoms)))


# --- Which clients are one run's ---


def _number_splits(runs: Sequence[_Run]) -> None:
    """Number the runs of each load that clients share out by ranges of keys. Runs of the same keys are of two loads."""
    splits: list[list[_Run]] = []
    for run in sorted((run for run in runs if run.keys), key=lambda run: run.keys.start):
        adjoining = [split for split in splits if _adjoin(split[-1], run)]
        beside = [split for split in adjoining if split[-1].folder == run.folder]
        home = next(iter(beside or adjoining), None)
        if home is None:
            splits.append([run])
        else:
            home.append(run)

    for number, split in enumerate(splits):
        for run in split if len(split) > 1 else ():
            run.split = number


def _adjoin(run: _Run, following: _Run) -> bool:
    """Whether the keys of one begin where those of the other end, and nothing else differs."""
    is_one_test = run.family == following.family and run.phase == following.phase and run.setup == following.setup
    return is_one_test and bool(run.setup) and run.keys.stop == following.keys.start


def _is_one_run(run: _Run, members: Sequence[_Run], *, together: bool) -> bool:
    """Whether the run is another client of those: of the same phase, at the same time or, undated, of the same kind."""
    for other in members:
        if run.phase != other.phase:
            return False
        if run.key == other.key and not _may_be_two_clients(run, other, together=together):
            return False
    return together or any(_are_together(run, other) for other in members)


def _may_be_two_clients(run: _Run, other: _Run, *, together: bool) -> bool:
    """Whether two runs in one file are of two clients: one client does not run twice at a time."""
    if run.span is None or other.span is None:
        return together
    return _overlap(run.span, other.span)


def _overlap(span: Window, other: Window) -> bool:
    return span.from_s < other.to_s and other.from_s < span.to_s


def _contradictions(runs: Sequence[_Run]) -> Iterator[GroupingNote]:
    """Where all files are stated to be of one run, and the times in one of them say otherwise."""
    by_key: defaultdict[tuple[str, Phase | None], list[_Run]] = defaultdict(list)
    for run in runs:
        by_key[run.key, run.phase].append(run)
    for (_, phase), in_sequence in by_key.items():
        if len(in_sequence) > 1 and phase is not None:
            yield GroupingNote("runs_in_sequence", (in_sequence[0].names[0],), {"runs": len(in_sequence)})


def _possible_zones(runs: Sequence[_Run]) -> Iterator[GroupingNote]:
    """Runs that may be of clients in different time zones: a schedule also starts runs at whole hours."""
    for first, run in combinations(runs[:_MAX_COMPARED], 2):
        offset_s = _zone_offset_s(run, first, _MAX_SCRIPTED_START_S)
        if offset_s and run.phase == first.phase and run.names[:1] != first.names[:1] and _last_equally(run, first):
            is_stated = run.utc_offset_s is not None or first.utc_offset_s is not None
            code = "may_be_other_zone"
            if is_stated:
                code = "stated_offsets_apart"
            yield GroupingNote(code, (first.names[0], run.names[0]), {"hours": abs(offset_s) / 3600})


def _last_equally(run: _Run, other: _Run) -> bool:
    lengths = [member.span.length_s for member in (run, other) if member.span is not None]
    return max(lengths) - min(lengths) <= _MAX_START_S


def _are_together(run: _Run, other: _Run) -> bool:
    """Whether there is a reason to take them for one run, and none against it."""
    if run.family != other.family:
        return False
    if run.span is not None and other.span is not None:
        return _overlap(run.span, other.span)
    if run.split is not None and other.split is not None:
        return run.split == other.split
    differing = {name for name in run.setup.keys() & other.setup.keys() if run.setup[name] != other.setup[name]}
    if differing or (run.operations and other.operations and not run.operations & other.operations):
        return False
    has_same_setup = bool(run.setup) and run.setup == other.setup and run.folder == other.folder != ""
    return has_same_setup or _differ_by_a_number(run.key, other.key) or _is_one_file(run, other)


def _differ_by_a_number(key: str, other_key: str) -> bool:
    """Whether "client 1" and "client 2", or the third copy of a file and its first."""
    words, others = key.split(), other_key.split()
    if len(words) != len(others):
        longer, shorter = sorted((words, others), key=len, reverse=True)
        return longer[:-1] == shorter and longer[-1].isdigit()
    differing = [(word, other) for word, other in zip(words, others, strict=True) if word != other]
    return len(differing) == 1 and all(map(str.isdigit, differing[0]))


def _is_one_file(run: _Run, other: _Run) -> bool:
    return not set(run.names).isdisjoint(other.names)


def _is_doubtful(run: _Run, other: _Run) -> bool:
    """Whether neither times, keys nor a word of their names say that they are two clients, and not two repeats."""
    if (run.span is not None and other.span is not None) or _is_one_file(run, other):
        return False
    if run.split is not None and run.split == other.split:
        return False
    return _CLIENTS.isdisjoint(run.key.split())


def _run_files(runs: Sequence[_Run], notes: Sequence[GroupingNote], *, together: bool) -> RunFiles:
    files = set(chain.from_iterable(run.names for run in runs))
    run_notes = [note for note in notes if files.intersection(note.files)]
    reference = next((run for run in runs if run.utc_offset_s is not None), runs[0])
    clients = []
    for number, run in enumerate(runs):
        offset_s = 0.0
        if together:
            offset_s = _zone_offset_s(run, reference, _MAX_START_S)
        hours = abs(offset_s) / 3600
        if offset_s and run.utc_offset_s is not None:
            run_notes.append(GroupingNote("stated_offsets_apart", (reference.names[0], run.names[0]), {"hours": hours}))
            offset_s = 0.0
        elif offset_s:
            code = "behind_other" if offset_s > 0 else "ahead_of_other"
            run_notes.append(GroupingNote(code, (run.names[0],), {"hours": hours, "client": runs.index(reference)}))

        is_moved = run.summary is not None and may_change_zone(run.summary.status)
        if is_moved and run.progress is not None and run.progress.zone_change_s:
            hours = abs(run.progress.zone_change_s) / 3600
            run_notes.append(GroupingNote("zone_changed", (run.names[0],), {"hours": hours}))

        offset_s -= run.utc_offset_s or 0.0
        clients.append(ClientFiles(number, tuple(run.names), run.summary, tuple(run.logs), offset_s))

    is_doubtful = not together and any(_is_doubtful(*pair) for pair in pairwise(runs))
    return RunFiles(runs[0].phase, tuple(clients), tuple(run_notes), is_doubtful)


def _stated_offset_s(run: _Run, utc_offsets_s: Mapping[str, float]) -> float | None:
    """By its writer, else by the file, else by the innermost folder."""
    stated = [name for name in utc_offsets_s if is_named(name, run)]
    source = ""
    if run.summary is not None:
        source = run.summary.source
    nearest = max(stated, key=lambda name: (name == source, len(name)), default=None)
    if nearest is None:
        return None
    return utc_offsets_s[nearest]


def is_named(name: str, client: "_Run | ClientFiles") -> bool:
    """Whether the name is that of the client's lines, of one of its files, or of a folder that one lies in."""
    is_writer = client.summary is not None and name == client.summary.source
    return is_writer or any(file == name or file.startswith(name.rstrip("/") + "/") for file in client.names)


def _check_offset(run: _Run) -> Iterator[GroupingNote]:
    """Contradictions of the offset that was stated for the run."""
    if run.utc_offset_s is None:
        return
    if run.progress is None or not run.progress.is_dated:
        yield GroupingNote("offset_without_dates", (run.names[0],))
    elif run.logged_span is not None and run.span is not None:
        apart_s = round((run.logged_span.from_s - run.span.from_s) / ZONE_STEP_S) * ZONE_STEP_S
        if apart_s:
            yield GroupingNote("offset_contradicts_logs", (run.names[0],), {"hours": abs(apart_s) / 3600})


def _zone_offset_s(run: _Run, first: _Run, max_start_s: float) -> float:
    """How far a client's dates must be moved where its clock shows another time zone: whole quarters of an hour.

    Status lines name no zone. Clients of one run that begin nearly together but for such a distance were in two. Of
    long runs, which overlap in spite of it, the ends must be as far apart.
    """
    if run.logs or first.logs or run.span is None or first.span is None:
        return 0.0
    apart_s = first.span.from_s - run.span.from_s
    offset_s = round(apart_s / ZONE_STEP_S) * ZONE_STEP_S
    is_zone = abs(apart_s - offset_s) <= max_start_s and abs(offset_s) <= _MAX_ZONE_S
    if _overlap(run.span, first.span):
        is_zone = is_zone and abs(first.span.to_s - run.span.to_s - offset_s) <= max_start_s
    return float(offset_s) if is_zone else 0.0


def _rank_key(key: str) -> list[tuple[int, int | str]]:
    """client 2 before client 10."""
    ranks: list[tuple[int, int | str]] = []
    for word in key.split():
        if word.isdigit():
            ranks.append((0, int(word)))
        else:
            ranks.append((1, word))
    return ranks

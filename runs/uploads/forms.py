"""The form that completes an import: what the files cannot know, and which of the runs in them to save."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import OuterRef, Subquery
from django.http import QueryDict
from pydantic import ValidationError as ModelError

from benchsite.accounts.models import Team
from benchsite.core.formatting import counted
from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, UPLOAD_NAMES, load_catalog, recognise
from runs.catalog.forms.fields import DescribedForm, PropertiesField, TagsField, as_lines, name_field, notes_field
from runs.models import Phase, Purpose, Run, Sweep, Upload, Workload
from runs.plans.forms.workloads import in_order
from runs.plans.plan_spec import PURPOSES
from runs.uploads.manifest import MAX_UTC_OFFSETS, check_utc_offset
from runs.uploads.messages import (
    OTHER_DEFAULT_WORKLOAD,
    OTHER_SYSTEM_OF_RUN,
    OTHER_WORKLOAD,
    RUNS_OF_OTHER_TESTS,
    UNSTATED_THREADS,
)
from runs.uploads.metadata import MAX_REPEAT, RunMetadata, StatedRun, StatedWorkload, describe_workload
from runs.uploads.recognition import FoundRun, Recognised
from runs.uploads.run_sets import RunSets, get_shares, list_shares, read_shares
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import (
    CLIENT_PROPERTIES,
    MAX_INT,
    MAX_RECORDS,
    REFUSED_PROPERTIES,
    check_stated_workload,
)

MAX_SWEEPS = 200
YES_NO = (("", "not known"), ("yes", "yes"), ("no", "no"))
DESCRIBED = ""  # of the workload: as written below
NEW = ""  # of the sweep
RECORD_SIZE = ("fieldcount", "fieldlength")


class GroupingForm(DescribedForm):
    """How the files of an import are grouped into runs, and how their dates are read."""

    grouping = forms.ChoiceField(choices=Upload.Grouping.choices)
    utc_offsets = forms.CharField(
        required=False,
        max_length=20_000,
        label="Offsets from UTC of clients whose status lines are in local time",
        help_text="file=offset or folder=offset, one per line, as in client-2.txt=+02:00. Of others the time zone is "
        "recognised only where all files are taken for one run.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "class": "mono"}),
    )

    def __init__(self, posted: Mapping[str, Any] | None, *, upload: Upload) -> None:
        super().__init__(posted, initial={"utc_offsets": as_lines(upload.utc_offsets)})

    def clean_utc_offsets(self) -> dict[str, str]:
        lines = [line.strip() for line in self.cleaned_data["utc_offsets"].splitlines()]
        # A file's name may have an equals sign; an offset has none.
        pairs = [line.rpartition("=") for line in lines if line]
        if len(pairs) > MAX_UTC_OFFSETS:
            raise ValidationError(f"There are {len(pairs)} offsets; at most {MAX_UTC_OFFSETS} are allowed.")
        offsets = {}
        for name, _, offset in pairs:
            if not name.strip():
                raise ValidationError(f"“{offset[:60]}” is no line as in client-2.txt=+02:00.")
            try:
                offsets[name.strip()] = check_utc_offset(offset.strip())
            except ValueError as error:
                raise ValidationError(f"{name[:60]}: {error}.") from error
        return offsets


class FoundRunForm(DescribedForm):
    """One run that was recognised: whether to save it, and how much load it was. One that is not kept is not bound."""

    keep = forms.BooleanField(required=False)
    phase = forms.ChoiceField(choices=Phase.choices)
    threads = forms.IntegerField(
        min_value=1,
        max_value=MAX_INT,
        error_messages={"required": "State the client threads, all clients together."},
    )
    target = forms.IntegerField(min_value=1, max_value=MAX_INT, required=False)
    repeat = forms.IntegerField(min_value=1, max_value=MAX_REPEAT, required=False)

    def __init__(self, posted: Mapping[str, Any] | None, *, run: FoundRun, number: int, other: str) -> None:
        # `other`: a code of `RunSets.find_difference`, or `unrelated`; empty where it is of the selected test.
        self.run, self.number, self.other = run, number, other
        prefix, hints = f"run-{number}", run["hints"]
        is_kept = not run["error"] and (posted is None or f"{prefix}-keep" in posted)
        initial = {
            "keep": is_kept and not other and not run.get("is_doubtful"),
            "phase": run["phase"] or Phase.MEASURE.value,
            "threads": hints["threads"],
            "target": hints["target_ops_s"],
        }
        super().__init__(posted if is_kept else None, prefix=prefix, initial=initial)
        for name, label in (("keep", "Save"), ("phase", "Phase of"), ("threads", "Threads of"), ("target", "Target of"),
                            ("repeat", "Repeat of")):  # fmt: skip
            self.fields[name].widget.attrs["aria-label"] = f"{label} run {number + 1}"
        self.fields["keep"].disabled = bool(run["error"])

    def stated(self) -> StatedRun:
        data = self.cleaned_data
        return StatedRun(
            index=self.number,
            phase=data["phase"],
            threads=data["threads"],
            target_ops_s=data["target"],
            repeat=data["repeat"],
        )


class ImportForm(DescribedForm):
    """What all runs of an import have in common, with one `FoundRunForm` each."""

    unstated_threads = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_INT,
        label="Threads of the runs whose files do not state them",
        help_text="Of all clients together, for every selected run whose threads are empty.",
    )
    mode = forms.ChoiceField(
        label="Database system and durability mode",
        help_text="The files do not say it. A result whose mode is unknown is never compared by durability.",
        error_messages={"required": "Choose the system and its mode; both may be unknown."},
    )
    system_name = forms.CharField(
        required=False,
        max_length=80,
        label="Name of another system",
        help_text="Where the list does not have it.",
    )
    database = name_field(label="Name in figures", help_text="Such as Redis, or PostgreSQL tuned.")
    version = forms.CharField(required=False, max_length=40, label="Database version")
    replication_factor = forms.IntegerField(required=False, min_value=1, max_value=100)
    workload = forms.ChoiceField(required=False, help_text="One of your team's, or the one described here.")
    workload_name = forms.CharField(
        required=False, max_length=80, label="Name of the described workload", help_text="Needed where none is chosen."
    )
    properties = PropertiesField(
        rows=8,
        label="Its YCSB properties",
        help_text="name=value, one per line, as far as they are known. A whole workload file can be pasted.",
    )
    records = forms.IntegerField(
        required=False, min_value=1, max_value=MAX_RECORDS, help_text="How many were loaded before."
    )
    purpose = forms.ChoiceField(choices=list(PURPOSES.items()), initial=Purpose.MEASURED)
    hardware = forms.CharField(
        required=False, max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Processor, disks, network, provider: whatever a reader needs to judge the numbers.",
    )  # fmt: skip
    nodes = forms.IntegerField(required=False, min_value=1, max_value=100, label="Database nodes")
    cores = forms.IntegerField(required=False, min_value=1, max_value=4096, label="Cores of each")
    memory_gib = forms.FloatField(required=False, min_value=0.1, max_value=1_000_000, label="Memory of each, GiB")
    same_host = forms.ChoiceField(
        required=False, choices=YES_NO, label="Did clients run on a database node?",
        help_text="They then take its processor away.",
    )  # fmt: skip
    warmup_s = forms.IntegerField(
        required=False, min_value=0, max_value=100_000, initial=0, label="Warm-up to leave out, seconds",
        help_text="Possible where there are histograms over time. It can be cut otherwise later.",
    )  # fmt: skip
    commit = forms.CharField(
        required=False, max_length=64, help_text="Of the code that was measured; a history is read along it.",
    )  # fmt: skip
    branch = forms.CharField(required=False, max_length=120)
    sweep = forms.ChoiceField(required=False, label="Curve", help_text="Which curve the measured runs are points of.")
    tags = TagsField(required=False, max_length=1_000, help_text="Commas between several.")
    notes = notes_field()

    def __init__(self, posted: QueryDict | None, *, upload: Upload) -> None:
        self.team: Team = upload.team
        recognised = cast(Recognised, upload.recognised)
        self.sets, self.states_mix = RunSets(recognised), True
        posted = _fill_threads(posted, len(recognised["runs"]))
        test = self.sets.choose_test()
        self.runs = [
            FoundRunForm(posted, run=run, number=number, other=_compare_with_test(self.sets, number, test))
            for number, run in enumerate(recognised["runs"])
        ]
        super().__init__(posted, initial=_initial(self.sets, test))
        self.workloads = list(Workload.objects.filter(team=self.team))
        of_commits = Run.objects.filter(sweep=OuterRef("pk")).exclude(commit="")
        sweeps = Sweep.objects.filter(team=self.team, matrix=None, phase=Phase.MEASURE).order_by("-created_at")
        self.sweeps = list(sweeps.annotate(commit=Subquery(of_commits.values("commit")[:1]))[:MAX_SWEEPS])
        self.offer("mode", mode_choices())
        self.offer("workload", [(DESCRIBED, "as described here"), *((str(w.pk), w.name) for w in self.workloads)])
        self.offer("sweep", [(NEW, "a new one"), *((str(sweep.pk), _name_sweep(sweep)) for sweep in self.sweeps)])
        if not any(run["intervals"] for run in recognised["runs"]):
            del self.fields["warmup_s"]
        if all(run["hints"]["threads"] for run in recognised["runs"]):
            del self.fields["unstated_threads"]

    def is_valid(self) -> bool:
        # Every form is asked, so that every one shows what is wrong with it.
        rows = [row.is_valid() for row in self.kept]
        return super().is_valid() and all(rows)

    @property
    def is_of_several_tests(self) -> bool:
        return any(row.other for row in self.runs if not row.run["error"])

    @property
    def kept(self) -> list[FoundRunForm]:
        return [row for row in self.runs if row.is_bound]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.kept:
            raise ValidationError("Select at least one run to save.")
        missing = [row for row in self.kept if row.has_error("threads", "required")]
        if missing and "unstated_threads" in self.fields:
            self.add_error("unstated_threads", UNSTATED_THREADS.format(runs=counted(len(missing), "selected run")))
        if cleaned.get("mode", "").startswith(f"{OTHER_SYSTEM}:") and not cleaned.get("system_name"):
            self.add_error("system_name", "Write which system it was.")
        if "workload" in cleaned and not cleaned["workload"]:
            self._clean_description(cleaned)
        if not self.errors and all(row.is_valid() for row in self.kept):
            self._clean_tests()
            self._clean_metadata(cleaned)
        return cleaned

    def _clean_tests(self) -> None:
        """One import states one system and one workload: what the files themselves show must not contradict them."""
        shares, system = read_shares(self._workload().properties), ""
        stated = OTHER_WORKLOAD if self.states_mix else OTHER_DEFAULT_WORKLOAD
        for row in self.kept:
            row_system, counts = self.sets.systems[row.number], self.sets.counts[row.number]
            if row.cleaned_data["phase"] == Phase.MEASURE and counts:
                done = get_shares(counts)
                if self.sets.differs_from(row.number, shares):
                    row.add_error("keep", stated.format(done=list_shares(done), stated=list_shares(shares)))
                shares = shares or done
            system = system or row_system
            if row_system and row_system != system:
                row.add_error("keep", OTHER_SYSTEM_OF_RUN.format(system=row_system, first=system))
        contradicting = sum("keep" in row.errors for row in self.kept)
        if contradicting:
            self.add_error(None, RUNS_OF_OTHER_TESTS.format(runs=counted(contradicting, "selected run")))

    def _clean_metadata(self, cleaned: dict[str, Any]) -> None:
        """Its rules are those of a manifest."""
        try:
            metadata = self.metadata()
        except ModelError as error:
            for fault in error.errors(include_url=False):
                name = str(fault["loc"][0])
                text = fault["msg"].removeprefix("Value error, ")
                self.add_error(name if name in self.fields else None, f"{text[:1].upper()}{text[1:]}.")
            return
        sweep = next((row for row in self.sweeps if str(row.pk) == cleaned["sweep"]), None)
        if sweep is not None:
            workload = sweep.runs.values_list("workload_name", flat=True).first()
            if problem := metadata.find_sweep_problem(sweep.system, sweep.mode, sweep.purpose, workload):
                self.add_error("sweep", problem)

    def _clean_description(self, cleaned: dict[str, Any]) -> None:
        """A described workload need not be complete; what is written must be right."""
        if not cleaned.get("workload_name"):
            self.add_error("workload_name", "Name the workload, or choose one of your team's.")
        # People paste whole workload files, which name classes and the work of a client too.
        of_clients = {*CLIENT_PROPERTIES, *REFUSED_PROPERTIES}
        properties = {name: text for name, text in (cleaned.get("properties") or {}).items() if name not in of_clients}
        self.states_mix = bool(read_shares(properties))
        if cleaned.get("records"):
            properties["recordcount"] = str(cleaned["records"])
        try:
            cleaned["properties"] = check_stated_workload(properties) if properties else {}
        except PropertyError as error:
            problems = {n: text for n, text in error.problems.items() if n != "recordcount" or n in properties}
            for text in problems.values():
                self.add_error("properties", text)
            cleaned["properties"] = properties

    def _workload(self) -> StatedWorkload:
        data = self.cleaned_data
        chosen = next((workload for workload in self.workloads if str(workload.pk) == data["workload"]), None)
        if chosen is None:
            return describe_workload(" ".join(data["workload_name"].split()), data["properties"])
        properties = dict(chosen.properties)
        if data["records"]:
            properties["recordcount"] = str(data["records"])
        return StatedWorkload(id=str(chosen.pk), name=chosen.name, short_name=chosen.short_name, properties=properties)

    def metadata(self) -> RunMetadata:
        """Raises pydantic's ValidationError."""
        data = self.cleaned_data
        system, _, mode = data["mode"].partition(":")
        fields = {name: value for name, value in data.items() if name in RunMetadata.model_fields} | {
            "system": system,
            "system_name": data["system_name"] if system == OTHER_SYSTEM else "",
            "mode": mode,
            "workload": self._workload(),
            "client_on_database_host": {"yes": True, "no": False}.get(data["same_host"]),
            "warmup_s": data.get("warmup_s") or 0,
            "runs": [row.stated() for row in self.kept],
        }
        return RunMetadata(**fields)


def _name_sweep(sweep: Any) -> str:
    """Sweeps of one test differ by commit or time."""
    commit = f", {sweep.commit[:10]}" if sweep.commit else ""
    return f"{sweep.name}, {sweep.purpose}{commit}, of {sweep.created_at:%-d %b %Y %H:%M}"


def _fill_threads(posted: QueryDict | None, runs: int) -> QueryDict | None:
    """Runs without threads get those that a person stated for all of them: a file tells nothing of another's."""
    if posted is None:
        return None
    filled = posted.copy()
    for name in (f"run-{number}-threads" for number in range(runs)):
        if not filled.get(name, "").strip():
            filled[name] = filled.get("unstated_threads", "")
    return filled


def _compare_with_test(sets: RunSets, number: int, test: Sequence[int]) -> str:
    """Why the run is not among those of the test: by what it differs, or `unrelated`; empty for one that is."""
    if number in test or not test:
        return ""
    return sets.find_difference(number, test[0]) or "unrelated"


def mode_choices() -> list[Any]:
    """Every mode of every system of the catalog, by system; last what the catalog does not know."""
    systems = sorted(load_catalog().systems.values(), key=lambda system: system.name.lower())
    groups: list[Any] = [("", "choose …")]
    for system in systems:
        modes = [(f"{system.slug}:{mode.slug}", f"{system.name}: {mode.name}") for mode in system.modes.values()]
        groups.append((system.name, [*modes, (f"{system.slug}:{UNKNOWN_MODE}", f"{system.name}: mode unknown")]))
    return [
        *groups,
        ("Not listed", [(f"{OTHER_SYSTEM}:{UNKNOWN_MODE}", f"{UPLOAD_NAMES[OTHER_SYSTEM]}, mode unknown")]),
    ]


def _initial(sets: RunSets, test: Sequence[int]) -> dict[str, Any]:
    """What all command lines of the test agree on; the mode is nowhere in them."""
    hints = [_check_hints(sets, position) for position in test]
    hints = [hint for hint in hints if hint["binding"] or hint["properties"]]
    if not hints:
        return {}
    mode = database = workload_name = ""
    system = _agree([recognise(hint["binding"], hint["connection"]) for hint in hints if hint["binding"]])
    if system:
        mode = f"{system}:{UNKNOWN_MODE}"
        database = load_catalog().system(system).name
    if letter := _agree([hint["letter"] for hint in hints]):
        workload_name = f"YCSB {letter}"
    shared = set.intersection(*(set(hint["properties"].items()) for hint in hints))
    return {
        "mode": mode,
        "database": database,
        "workload_name": workload_name,
        "properties": in_order({name: value for name, value in shared if name != "recordcount"}),
        "records": _agree([hint["records"] for hint in hints]),
    }


def _check_hints(sets: RunSets, position: int) -> Mapping[str, Any]:
    """What the command line of a run says. Where its counts contradict the workload, that was not YCSB's file."""
    hints = sets.runs[position]["hints"]
    properties = hints["properties"]
    if not sets.differs_from(position, read_shares(properties)):
        return hints
    return {**hints, "letter": "", "properties": {name: properties[name] for name in RECORD_SIZE if name in properties}}


def _agree(values: Sequence[Any]) -> Any:
    """The value that all have; None where they differ."""
    if len(set(values)) == 1:
        return values[0]
    return None

"""The form that completes an import: what the files cannot know, and which of the runs in them to save."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import OuterRef, Subquery
from django.forms import BoundField
from django.http import QueryDict
from pydantic import ValidationError as ModelError

from benchsite.accounts.models import Team
from benchsite.core.formatting import counted, exact, plain_percent
from runs.catalog import OTHER_SYSTEM, UNKNOWN_MODE, UPLOAD_NAMES, load_catalog
from runs.catalog.forms.fields import DescribedForm, PropertiesField, TagsField, as_lines, name_field, notes_field
from runs.models import Phase, Purpose, Run, Sweep, Upload, Workload
from runs.plans.forms.workloads import in_order
from runs.plans.plan_spec import PURPOSES
from runs.uploads.manifest import MAX_UTC_OFFSETS, check_utc_offset
from runs.uploads.messages import (
    CHOOSE_MODE,
    NAME_WORKLOAD,
    OTHER_DEFAULT_WORKLOAD,
    OTHER_SYSTEM_OF_RUN,
    OTHER_WORKLOAD,
    RUNS_OF_OTHER_TESTS,
    WRITE_SYSTEM,
)
from runs.uploads.metadata import (
    MAX_REPEAT,
    RunMetadata,
    StatedRun,
    StatedWorkload,
    describe_workload,
    label_curve,
)
from runs.uploads.recognition import FoundRun, Recognised
from runs.uploads.run_grouping import RunSets, get_shares, list_shares
from runs.uploads.team_metadata import find_sweep_problem, state_workload
from runs.ycsb.errors import PropertyError
from runs.ycsb.properties import (
    CLIENT_PROPERTIES,
    MAX_INT,
    MAX_RECORDS,
    PROPORTIONS,
    REFUSED_PROPERTIES,
    check_stated_workload,
    read_shares,
)

MAX_SWEEPS = 200
YES_NO = (("", "not known"), ("yes", "yes"), ("no", "no"))
DESCRIBED = ""  # of the workload: as written below
NEW = ""  # of the sweep
MAX_NAME_LENGTH = 80  # of a database
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
    """One run that was recognised: whether to save it, and how much load it was. It is bound where it is selected."""

    keep = forms.BooleanField(required=False)
    phase = forms.ChoiceField(choices=Phase.choices)
    threads = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_INT,
        widget=forms.NumberInput(attrs={"placeholder": "unknown"}),
    )
    target = forms.IntegerField(min_value=1, max_value=MAX_INT, required=False)
    repeat = forms.IntegerField(min_value=1, max_value=MAX_REPEAT, required=False)

    def __init__(self, posted: Mapping[str, Any] | None, *, run: FoundRun, number: int, test: int) -> None:
        self.run, self.number, self.test = run, number, test  # `test` counts from 0
        prefix, hints = f"run-{number}", run["hints"]
        is_selected = not run["error"] and (posted is None or f"{prefix}-keep" in posted)
        initial = {
            "keep": is_selected and bool(run["throughput_ops_s"]) and not run.get("is_doubtful"),
            "phase": run["phase"] or Phase.MEASURE.value,
            "threads": hints["threads"],
            "target": hints["target_ops_s"],
        }
        super().__init__(posted if is_selected else None, prefix=prefix, initial=initial)
        for name, label in (("keep", "Save"), ("phase", "Phase of"), ("threads", "Threads of"), ("target", "Target of"),
                            ("repeat", "Repeat of")):  # fmt: skip
            self.fields[name].widget.attrs["aria-label"] = f"{label} run {number + 1}"
        self.fields["keep"].disabled = bool(run["error"])

    def stated(self) -> StatedRun:
        data = self.cleaned_data
        return StatedRun(
            index=self.number,
            phase=data["phase"],
            threads=data["threads"] or 0,
            target_ops_s=data["target"],
            repeat=data["repeat"],
        )


class StatedTestForm(DescribedForm):
    """System, durability mode and workload of a test."""

    states_mix = True  # whether a mix of operations is stated, not YCSB's default one

    mode = forms.ChoiceField(
        label="Database system and durability mode",
        help_text="The files do not say it. A result whose mode is unknown is never compared by durability.",
        error_messages={"required": CHOOSE_MODE},
    )
    system_name = forms.CharField(
        required=False,
        max_length=80,
        label="Name of another system",
        help_text="Where the list does not have it.",
    )
    database = name_field(label="Name in figures", help_text="Such as Redis, or PostgreSQL tuned.")
    workload = forms.ChoiceField(required=False, help_text="One of your team's, or the one described here.")
    workload_name = forms.CharField(
        required=False,
        max_length=80,
        label="Name of the described workload",
        help_text="Needed where none is chosen.",
        widget=forms.TextInput(attrs={"size": 28}),
    )
    properties = PropertiesField(
        rows=8,
        label="Its YCSB properties",
        help_text="name=value, one per line, as far as they are known. A whole workload file can be pasted.",
    )
    records = forms.IntegerField(
        required=False, min_value=1, max_value=MAX_RECORDS, help_text="How many were loaded before."
    )

    def offer_choices(self, workloads: Sequence[Workload], no_mode: str = "choose …") -> None:
        self.offer("mode", mode_choices(no_mode))
        self.offer("workload", [(DESCRIBED, "as described here"), *((str(w.pk), w.name) for w in workloads)])

    @property
    def own_name(self) -> str:
        """The name that a person gives to this very test; empty where it is that of all tests, or as proposed."""
        return ""

    def make_optional(self) -> None:
        for name in ("mode", "database"):
            self.fields[name].required = False


class OwnTestForm(StatedTestForm):
    """What one of several tests has of its own; what it leaves empty is as for all tests."""

    def __init__(
        self,
        posted: Mapping[str, Any] | None,
        *,
        number: int,
        rows: Sequence[FoundRunForm],
        initial: dict[str, Any],
        workloads: Sequence[Workload],
    ) -> None:
        self.number, self.rows = number, rows
        self.selected = [row for row in rows if row.is_bound]
        super().__init__(posted if self.selected else None, prefix=f"test-{number}", initial=initial)
        self.make_optional()
        self.offer_choices(workloads, "as for all tests")
        for name, field in self.fields.items():
            field.widget.attrs["aria-label"] = f"{field.label or name.capitalize()}, test {number + 1}"

    @property
    def own_name(self) -> str:
        if "database" in self.changed_data:
            return str(self.cleaned_data.get("database", ""))
        return ""

    @property
    def has_workload(self) -> bool:
        return bool(self.cleaned_data.get("workload") or self.cleaned_data.get("workload_name"))

    def merge(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """The values of this test, with those of all tests where it states none of its own."""
        own = self.cleaned_data
        names = {name for name in ("mode", "database", "properties", "records") if own.get(name)}
        if "mode" in names:
            names.add("system_name")
        if self.has_workload:
            names |= {"workload", "workload_name", "properties", "records"}
        return {**common, **{name: own.get(name) for name in names}}


class ImportForm(StatedTestForm):
    """What all runs of an import have in common, with a `FoundRunForm` for each, and an `OwnTestForm` for each of
    several tests.
    """

    unstated_threads = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_INT,
        label="Threads where files state none",
        help_text="Of all clients together. Empty: unknown, and without a target such a run is no point of a ladder.",
    )
    version = forms.CharField(required=False, max_length=40, label="Database version")
    replication_factor = forms.IntegerField(required=False, min_value=1, max_value=100)
    purpose = forms.ChoiceField(
        choices=list(PURPOSES.items()),
        initial=Purpose.MEASURED,
        help_text="How strictly runs are judged; comparisons across matrices and sizing leave out those of a demo.",
    )
    hardware = forms.CharField(
        required=False, max_length=2_000, widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Processor, disks, network, provider: whatever a reader needs to judge the numbers.",
    )  # fmt: skip
    nodes = forms.IntegerField(required=False, min_value=1, max_value=100, label="Database nodes")
    cores = forms.IntegerField(required=False, min_value=1, max_value=4096, label="Cores of each")
    memory_gib = forms.FloatField(required=False, min_value=0.1, max_value=1_000_000, label="Memory of each, GiB")
    same_host = forms.ChoiceField(
        required=False, choices=YES_NO, label="Clients on these nodes?",
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
        self.sets = RunSets(recognised)
        self.stated_tests: list[tuple[ImportForm | OwnTestForm, dict[str, Any]]] = []
        posted = _fill_threads(posted, len(recognised["runs"]))
        tests = self.sets.list_tests()
        test_of_run = {position: number for number, test in enumerate(tests) for position in test}
        self.runs = [
            FoundRunForm(posted, run=run, number=number, test=test_of_run.get(number, 0))
            for number, run in enumerate(recognised["runs"])
        ]
        self.selected = [row for row in self.runs if row.is_bound]
        # Each of several tests begins with what its own files say: that is not true of those that say nothing.
        initial = _initial(self.sets, list(test_of_run)) if len(tests) == 1 else {}
        super().__init__(posted, initial=initial)
        self.workloads = list(Workload.objects.filter(team=self.team))
        of_commits = Run.objects.filter(sweep=OuterRef("pk")).exclude(commit="")
        sweeps = Sweep.objects.filter(team=self.team, matrix=None, phase=Phase.MEASURE).order_by("-created_at")
        self.sweeps = list(sweeps.annotate(commit=Subquery(of_commits.values("commit")[:1]))[:MAX_SWEEPS])
        self.offer_choices(self.workloads)
        self.offer("sweep", [(NEW, "a new one"), *((str(sweep.pk), _name_sweep(sweep)) for sweep in self.sweeps)])
        self.tests = self._build_tests(posted, tests) if len(tests) > 1 else []
        self.selected_tests = [test for test in self.tests if test.is_bound]
        if self.tests:
            self.make_optional()
            del self.fields["sweep"]
        if not any(run["intervals"] for run in recognised["runs"]):
            del self.fields["warmup_s"]
        readable = [run for run in recognised["runs"] if not run["error"]]
        if all(run["hints"]["threads"] for run in readable):
            del self.fields["unstated_threads"]
        elif self.tests:
            # Several tests that do not even tell their threads are what others left, and no measurement of one's own.
            self.initial["purpose"] = Purpose.DEMO

    def _build_tests(self, posted: QueryDict | None, tests: Sequence[Sequence[int]]) -> list[OwnTestForm]:
        initial = _initial_of_tests(self.sets, tests)
        return [
            OwnTestForm(
                posted,
                number=number,
                rows=[self.runs[position] for position in test],
                initial=initial[number],
                workloads=self.workloads,
            )
            for number, test in enumerate(tests)
        ]

    def is_valid(self) -> bool:
        return self.is_bound and not self._has_faults()

    def _has_faults(self) -> bool:
        return any(form.errors for form in (self, *self.selected, *self.selected_tests))

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.selected:
            raise ValidationError("Select at least one run to save.")
        for form in (*self.selected, *self.selected_tests):
            form.full_clean()
        self.stated_tests = [(test, test.merge(cleaned)) for test in self.selected_tests]
        if not self.tests:
            self.stated_tests = [(self, cleaned)]
        for form, data in self.stated_tests:
            _clean_test(form, data)
        common_shares: dict[str, float] = {}
        # What is wrong is told all at once: a fault of one test hides none of another's.
        for form, data in self._list_faultless_tests():
            is_own = isinstance(form, OwnTestForm) and (form.has_workload or form.cleaned_data["properties"])
            shares = self._clean_runs(form, data, {} if is_own else common_shares)
            common_shares = common_shares if is_own else shares
        contradicting = sum("keep" in row.errors for row in self.selected)
        if contradicting:
            self.add_error(None, RUNS_OF_OTHER_TESTS.format(runs=counted(contradicting, "selected run")))
        if not self._has_faults():
            self._clean_metadata(cleaned)
        return cleaned

    def _list_faultless_tests(self) -> list[tuple["ImportForm | OwnTestForm", dict[str, Any]]]:
        return [
            (form, data)
            for form, data in self.stated_tests
            if not any(each.errors for each in (self, form, *form.selected))
        ]

    def list_faults(self) -> list[tuple[str, list[BoundField]]]:
        """Everything that is wrong, each once with the fields of the form, of tests and of runs that it is said of."""
        faults: dict[str, dict[str, BoundField]] = {}
        for form in (self, *self.selected_tests, *self.selected):
            for name, errors in form.errors.items():
                fields = {field.html_name: field for field in self._list_fields(form, name)}
                for error in errors:
                    faults.setdefault(str(error), {}).update(fields)
        return [(text, list(fields.values())) for text, fields in faults.items()]

    def _list_fields(self, form: forms.Form, name: str) -> list[BoundField]:
        """The field of this form, behind that of all tests where a test leaves its own empty."""
        if name not in form.fields:
            return []
        if isinstance(form, OwnTestForm) and name in self.fields and not form[name].value():
            return [self[name], form[name]]
        return [form[name]]

    def list_missing(self) -> list[tuple[BoundField, list[OwnTestForm]]]:
        """Required fields that files do not fill for all runs selected at first, each with the tests that lack it."""
        missing = []
        proposed = [test for test in self.tests if any(row["keep"].value() for row in test.rows)]
        for name in ("mode", "workload_name"):
            lacking = [test for test in proposed if not _states(test, name)]
            if lacking or not (self.tests or _states(self, name)):
                missing.append((self[name], lacking))
        return missing

    def _clean_runs(
        self, form: "ImportForm | OwnTestForm", data: Mapping[str, Any], shares: dict[str, float]
    ) -> dict[str, float]:
        """The shares of the test's operations, as stated or as its first run shows them; `shares` are those of tests
        with the same workload. What the files themselves show must not contradict them.
        """
        shares = read_shares(self._workload(data).properties) or shares
        other_workload = OTHER_WORKLOAD if form.states_mix else OTHER_DEFAULT_WORKLOAD
        system, _, _ = data["mode"].partition(":")
        for row in form.selected:
            row_system, counts = self.sets.systems[row.number], self.sets.counts[row.number]
            if row.cleaned_data["phase"] == Phase.MEASURE and counts:
                done = get_shares(counts)
                if self.sets.differs_from(row.number, shares):
                    row.add_error("keep", other_workload.format(done=list_shares(done), stated=list_shares(shares)))
                shares = shares or done
            # A system of the catalog that a person states for this very test may speak another one's protocol.
            is_common = isinstance(form, OwnTestForm) and not form.cleaned_data.get("mode")
            if is_common and row_system in load_catalog().systems and row_system != system:
                row.add_error("keep", OTHER_SYSTEM_OF_RUN.format(system=row_system, stated=system))
        return shares

    def _clean_metadata(self, cleaned: dict[str, Any]) -> None:
        """Its rules are those of a manifest."""
        try:
            tests = self.metadata()
        except ModelError as error:
            for fault in error.errors(include_url=False):
                name = str(fault["loc"][0])
                text = fault["msg"].removeprefix("Value error, ")
                self.add_error(name if name in self.fields else None, f"{text[:1].upper()}{text[1:]}.")
            return
        sweep = next((row for row in self.sweeps if str(row.pk) == cleaned.get("sweep")), None)
        if sweep is not None and (problem := find_sweep_problem(tests[0], sweep)):
            self.add_error("sweep", problem)

    def _workload(self, data: Mapping[str, Any]) -> StatedWorkload:
        chosen = next((workload for workload in self.workloads if str(workload.pk) == data["workload"]), None)
        if chosen is None:
            return describe_workload(" ".join(data["workload_name"].split()), data["properties"])
        stated = state_workload(chosen)
        if data["records"]:
            stated.properties["recordcount"] = str(data["records"])
        return stated

    def metadata(self) -> list[RunMetadata]:
        """One for each curve with a selected run: tests are one where a person gives each of them the same name of its
        own, the same is stated of them, and nothing in their files contradicts it. Raises pydantic's ValidationError.
        """
        curves: list[tuple[str, int, RunMetadata]] = []
        for form, data in self.stated_tests:
            name, position = form.own_name, form.selected[0].number
            stated = self._describe_test(data, form.selected)
            for other_name, other, curve in curves:
                is_same = curve.model_copy(update={"runs": stated.runs}) == stated
                if name and name == other_name and is_same and not self.sets.differ(position, other):
                    curve.runs.extend(stated.runs)
                    break
            else:
                curves.append((name, position, stated))
        return number_alike([curve for _, _, curve in curves])

    def _describe_test(self, data: Mapping[str, Any], rows: Sequence[FoundRunForm]) -> RunMetadata:
        system, _, mode = data["mode"].partition(":")
        system_name = data["system_name"] if system == OTHER_SYSTEM else ""
        fields = {name: value for name, value in data.items() if name in RunMetadata.model_fields} | {
            "system": system,
            "system_name": system_name,
            "database": data["database"] or system_name or load_catalog().system(system).name,
            "mode": mode,
            "workload": self._workload(data),
            "client_on_database_host": {"yes": True, "no": False}.get(data["same_host"]),
            "warmup_s": data.get("warmup_s") or 0,
            "runs": [row.stated() for row in rows],
        }
        return RunMetadata(**fields)


def number_alike(curves: Sequence[RunMetadata]) -> list[RunMetadata]:
    """Curves with the names in figures of tests that would be called alike numbered: else they would share a history,
    or nothing told their runs apart.
    """
    stated = set(chain.from_iterable(map(_list_names, curves)))
    taken: set[str] = set()
    numbered = []
    for curve in curves:
        named, number = curve, 1
        while taken & _list_names(named) or (number > 1 and stated & _list_names(named)):
            number += 1
            name = f"{curve.database[: MAX_NAME_LENGTH - len(f' {number}')]} {number}"
            named = curve.model_copy(update={"database": name})
        taken |= _list_names(named)
        numbered.append(named)
    return numbered


def _list_names(curve: RunMetadata) -> set[str]:
    """What the test's curves are called, and what tells its history apart."""
    # The curve of a load beside measured runs has no workload in its name: loads of two tests may be called alike.
    phases = {run.phase for run in curve.runs}
    labels = {label_curve(curve, phase) for phase in phases - {Phase.LOAD} or phases}
    return {*labels, f"{curve.database} {curve.mode} {curve.workload.name}"}


def _clean_test(form: StatedTestForm, data: dict[str, Any]) -> None:
    """Check what is stated of a test, with the faults in its form."""
    if not data.get("mode") and not form.has_error("mode"):
        form.add_error("mode", CHOOSE_MODE)
    if (data.get("mode") or "").startswith(f"{OTHER_SYSTEM}:") and not data.get("system_name"):
        form.add_error("system_name", WRITE_SYSTEM)
    if "workload" in data and not data["workload"]:
        _clean_description(form, data)


def _clean_description(form: StatedTestForm, data: dict[str, Any]) -> None:
    """A described workload need not be complete; what is written must be right."""
    if not data.get("workload_name"):
        form.add_error("workload_name", NAME_WORKLOAD)
    # People paste whole workload files, which name classes and the work of a client too.
    of_clients = {*CLIENT_PROPERTIES, *REFUSED_PROPERTIES}
    properties = {name: text for name, text in (data.get("properties") or {}).items() if name not in of_clients}
    form.states_mix = bool(read_shares(properties))
    if data.get("records"):
        properties["recordcount"] = str(data["records"])
    try:
        data["properties"] = check_stated_workload(properties) if properties else {}
    except PropertyError as error:
        problems = {n: text for n, text in error.problems.items() if n != "recordcount" or n in properties}
        for text in problems.values():
            form.add_error("properties", text)
        data["properties"] = properties


def _states(form: StatedTestForm, name: str) -> bool:
    """Whether the field has a value; a workload of the team has a name."""
    return bool(form[name].value() or (name == "workload_name" and form["workload"].value()))


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


def mode_choices(no_mode: str) -> list[Any]:
    """Every mode of every system of the catalog, by system; first that none is chosen, last what the catalog does not
    know.
    """
    systems = sorted(load_catalog().systems.values(), key=lambda system: system.name.lower())
    groups: list[Any] = [("", no_mode)]
    for system in systems:
        modes = [(f"{system.slug}:{mode.slug}", f"{system.name}: {mode.name}") for mode in system.modes.values()]
        groups.append((system.name, [*modes, (f"{system.slug}:{UNKNOWN_MODE}", f"{system.name}: mode unknown")]))
    return [
        *groups,
        ("Not listed", [(f"{OTHER_SYSTEM}:{UNKNOWN_MODE}", f"{UPLOAD_NAMES[OTHER_SYSTEM]}, mode unknown")]),
    ]


def _initial(sets: RunSets, test: Sequence[int]) -> dict[str, Any]:
    """What all command lines of the test agree on, and the names of the files; the mode is nowhere in them."""
    initial: dict[str, Any] = {"mode": "", "database": ""}
    system = _agree([sets.proposals[position] for position in test if sets.name_system(position)])
    if system:
        initial |= {"mode": f"{system}:{UNKNOWN_MODE}", "database": load_catalog().system(system).name}
    hints = [_check_hints(sets, position, test) for position in test]
    hints = [hint for hint in hints if hint["binding"] or hint["properties"]]
    if not hints:
        return initial
    letter = _agree([hint["letter"] for hint in hints])
    shared = set.intersection(*(set(hint["properties"].items()) for hint in hints))
    return initial | {
        "workload_name": f"YCSB {letter}" if letter else "",
        "properties": in_order({name: value for name, value in shared if name != "recordcount"}),
        "records": _agree([hint["records"] for hint in hints]),
    }


def _initial_of_tests(sets: RunSets, tests: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """As `_initial`, of each test; the workload by its operations where no command line names it."""
    initial = [_initial(sets, test) for test in tests]
    stated = [read_shares(values.get("properties", {})) for values in initial]
    mixes = iter(sets.find_mixes([test for test, shares in zip(tests, stated, strict=True) if not shares]))
    return [_name_workload(values, shares or next(mixes)) for values, shares in zip(initial, stated, strict=True)]


def _name_workload(initial: dict[str, Any], shares: Mapping[str, float]) -> dict[str, Any]:
    """The initial values of a test with the workload by these shares, unless it has a name or YCSB no such mix."""
    stated = {name: shares[operation] for name, operation in PROPORTIONS.items() if operation in shares}
    if initial.get("workload_name") or not shares or len(stated) < len(shares):
        return initial
    properties = initial.get("properties", {})
    if not read_shares(properties):
        properties = {**properties, **{name: exact(share) for name, share in stated.items()}}
    mix = ", ".join(f"{PROPORTIONS[name]} {plain_percent(share)}" for name, share in stated.items())
    return {**initial, "workload_name": mix, "properties": properties}


def _check_hints(sets: RunSets, position: int, test: Sequence[int]) -> Mapping[str, Any]:
    """What the command line of a run says. Where counts of its test contradict the workload, that was not YCSB's file,
    or it was loaded for another one.
    """
    hints = sets.runs[position]["hints"]
    properties = hints["properties"]
    shares = read_shares(properties)
    if not any(sets.differs_from(member, shares) for member in test):
        return hints
    return {**hints, "letter": "", "properties": {name: properties[name] for name in RECORD_SIZE if name in properties}}


def _agree(values: Sequence[Any]) -> Any:
    """The value that all have; None where they differ."""
    return values[0] if len(set(values)) == 1 else None

"""The matrix builder's form: what is crossed, the ladder, how each rung is measured, and what is left out and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict

from benchsite.accounts.models import Team, User
from runs.catalog import Mode, System, load_catalog
from runs.catalog.forms.fields import NumbersField, TagsField, name_field, notes_field
from runs.catalog.forms.generators import GeneratorsForm
from runs.catalog.generators import get_generators
from runs.models import Database, LoadGenerator, Matrix, MatrixEntry, Sweep, Workload
from runs.models.plan import Purpose
from runs.models.result import LatencyKind
from runs.plans import Plan, build_plan, sizes, submit
from runs.plans.faults import KINDS, Kind
from runs.plans.forms.exclusions import MAX_EXCLUSIONS, Exclusion, get_exclusions, problem_with
from runs.plans.forms.extension import Extension
from runs.plans.forms.faults import COLUMNS, MAX_ROWS, FaultRow, get_rows
from runs.plans.forms.proposed_workloads import store_proposed
from runs.queue.spec import (
    MAX_CURVE_PERCENT,
    MAX_TRIALS_LIMIT,
    SLO_OPERATIONS,
    SLO_STATISTICS,
    FaultSpec,
    SearchSpec,
    SloSpec,
)
from runs.results.measures.search import MAX_SLO_TRIALS, MAX_TRIALS, WIDTH
from runs.results.measures.sustained_load import MAX_ERRORS

DEFAULT_RUNGS = [2, 4, 8, 16, 32, 64]
RESETS = (("keep", "keep everything"), ("restart", "restart the server"), ("reload", "reload the data"))
LOAD_POLICIES = [choice for choice in Matrix.LoadPolicy.choices if choice[0] != Matrix.LoadPolicy.REUSE]
PURPOSES = {
    Purpose.SMOKE: "smoke: does it run at all?",
    Purpose.DEMO: "demo: shapes, never numbers to publish",
    Purpose.TUNING: "tuning: looking for settings",
    Purpose.MEASURED: "measured: to be compared and published",
    Purpose.SOAK: "soak: hours, to see what drifts",
}
FOLDED = (
    "load_policy", "load_threads", "processes_per_generator", "reset_rung",
    "tags", "priority", "seed", "notes",
)  # fmt: skip
EXCLUSION_COLUMNS = ("entry", "workload", "rung", "reason")
R = TypeVar("R", Exclusion, FaultRow)
LEVELS = ("rung",)  # those that this release resets between


@dataclass(frozen=True, slots=True)
class ModeChoice:
    value: str
    mode: Mode
    chosen: bool


@dataclass(frozen=True, slots=True)
class DatabaseChoice:
    """One database with the modes it can be run in; `system` is None where the catalog does not know it."""

    database: Database
    system: System | None
    modes: tuple[ModeChoice, ...]


def whole(least: int, most: int, **kwargs: Any) -> forms.IntegerField:
    return forms.IntegerField(min_value=least, max_value=most, **kwargs)


class MatrixForm(GeneratorsForm):
    name = name_field(120, required=False, help_text="Left empty, it is made from what you choose.")
    purpose = forms.ChoiceField(
        choices=[(value.value, text) for value, text in PURPOSES.items()],
        help_text="Chooses how strictly the runs are judged.",
    )
    entries = forms.MultipleChoiceField(required=False, label="Databases and durability modes")
    workloads = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    processes_per_generator = whole(1, 64, label="Clients per generator")
    ladder = forms.ChoiceField(choices=Matrix.Ladder.choices, label="Step the ladder by", widget=forms.RadioSelect)
    rungs = NumbersField(
        required=False,
        label="Load ladder",
        help_text="Total threads (or total ops/s), comma-separated. A search over threads begins at the first.",
    )
    searches = forms.BooleanField(
        required=False, label="Search for the ceiling", help_text="Each load follows from the results so far."
    )
    stops_early = forms.BooleanField(
        required=False, label="Stop early", help_text="Skip the rungs that follow two beyond saturation."
    )
    search_width = forms.FloatField(
        min_value=0.1, max_value=100, initial=100 * WIDTH, required=False, label="Bracket, %",
        help_text="Wide at most.",
    )  # fmt: skip
    max_trials = whole(
        2, MAX_TRIALS_LIMIT, required=False, label="Trials at most",
        help_text=f"Empty: {MAX_TRIALS} of targets, {MAX_SLO_TRIALS} of threads or with a limit.",
    )  # fmt: skip
    max_error_percent = forms.FloatField(
        min_value=0, max_value=100, initial=100 * MAX_ERRORS, required=False, label="Errors at most, %"
    )
    slo_operation = forms.ChoiceField(
        choices=[("", "no limit"), *((name, name) for name in SLO_OPERATIONS)], required=False, label="Latency limit of"
    )
    slo_statistic = forms.ChoiceField(
        choices=[(name, "p99.9" if name == "p999" else name) for name in SLO_STATISTICS], required=False,
        initial="p99", label="Percentile",
    )  # fmt: skip
    slo_kind = forms.ChoiceField(choices=LatencyKind.choices, required=False, label="Measured as")
    slo_limit_ms = forms.FloatField(min_value=0.001, max_value=1e6, required=False, label="At most, ms")
    curve_percent = NumbersField(
        required=False, label="Then, % of the ceiling",
        help_text="Of targets: loads to measure afterwards, such as 25, 50, 75, 90, 100.",
    )  # fmt: skip
    threads = whole(1, 100_000, required=False, help_text="Of a target ladder: the total on every rung.")
    repeats = whole(1, 50, help_text="Three show a difference, five are fit to publish.")
    looks = NumbersField(
        required=False,
        help_text="Repeats after which verdicts are taken, as in 3, 5, 9: they share the error of 5 %. "
        "Empty: one verdict.",
    )
    order = forms.ChoiceField(
        choices=Matrix.Order.choices,
        help_text="Fixes the analysis: blocked for interleaved and randomised repeats, which removes what both sides "
        "share; else Welch's t.",
    )
    bracket = forms.BooleanField(
        required=False, label="Bracket", help_text="Repeat the first cell at the end, to see drift."
    )
    seed = whole(1, 2_147_483_647, help_text="Of the random order.")
    warmup_s = whole(0, 86_400, label="Warm-up, seconds", help_text="Cut from each run.")
    measure_s = whole(1, 604_800, label="Measured, seconds", help_text="Per rung, after the warm-up.")
    load_policy = forms.ChoiceField(choices=LOAD_POLICIES, label="Data")
    load_threads = whole(1, 10_000, label="Threads of a load")
    reset_rung = forms.ChoiceField(choices=RESETS, label="Between rungs")
    priority = whole(-100, 100, help_text="Among your team's own matrices; higher starts first.")
    records_rule = forms.ChoiceField(
        choices=tuple(sizes.RULES.items()),
        required=False,
        label="Records on larger clusters",
        help_text="For a scaling set: databases of one system on clusters of several sizes.",
    )
    tags = TagsField(required=False, max_length=1000, help_text="Apart by commas; every run gets them.")
    notes = notes_field()

    def __init__(
        self,
        *args: Any,
        team: Team,
        source: Matrix | None = None,
        final: bool = False,
        start: Mapping[str, str] | None = None,
        extends: Sweep | None = None,
        **kwargs: Any,
    ) -> None:
        self.team = team
        self.source = source
        self.extends = extends
        self.final = final  # Whether it is to be submitted; a preview shows a cell left out before its reason is there.
        self.databases = list(
            Database.objects.filter(team=team).select_related("cluster").prefetch_related("cluster__nodes__machine")
        )
        self.team_workloads = list(Workload.objects.filter(team=team))
        self.generators = list(generators_for(team).select_related("machine"))
        self.extension = Extension(extends, self.databases, self.team_workloads) if extends else None
        self.proposed = self.extension.proposed if self.extension else []
        self.team_workloads += self.proposed
        kwargs["initial"] = {
            **build_initial(source, [] if self.has_many_generators else self.generators, self._chosen(start or {})),
            **(self.extension.initial() if self.extension else {}),
        }
        super().__init__(*args, **kwargs)
        self.offer("entries", [(mode.value, mode.value) for choice in self.database_choices for mode in choice.modes])
        self.offer("workloads", [(str(w.pk), w.name) for w in self.team_workloads])
        self.offer("load_generators", [(str(g.pk), g.name) for g in self.generators])
        self.exclusions = get_exclusions(source)
        self.fault_rows = get_rows(source)
        if self.is_bound:
            self.exclusions = self._posted(Exclusion, "exclude", EXCLUSION_COLUMNS)[:MAX_EXCLUSIONS]
            self.fault_rows = self._posted(FaultRow, "fault", COLUMNS)[:MAX_ROWS]
        self.faults: list[FaultSpec] = []

    def _chosen(self, start: Mapping[str, str]) -> dict[str, Any]:
        """What is ticked at first: the database or workload whose page led here, in every mode that one node has; or
        all databases of a system that stands on clusters of several sizes."""
        entries = [
            mode.value
            for database in self.databases
            if str(database.pk) == start.get("database") or database.system == (start.get("scaling") or None)
            for mode in database_choice(database, set()).modes
            if not mode.mode.replicas_needed
        ]
        workloads = [str(w.pk) for w in self.team_workloads if str(w.pk) == start.get("workload")]
        rule = {"records_rule": sizes.PER_NODE} if start.get("scaling") else {}
        return {"entries": entries, "workloads": workloads, **rule}

    @property
    def database_choices(self) -> list[DatabaseChoice]:
        chosen = set(self["entries"].value() or []) if "entries" in self.fields else set()
        return [database_choice(database, chosen) for database in self.databases]

    @property
    def folded_needs_attention(self) -> bool:
        """Whether a field of the folded part was refused."""
        return any(name in self.errors for name in FOLDED)

    @property
    def entry_options(self) -> list[tuple[str, str]]:
        """What an exclusion can name: only what is chosen, or everything while nothing is."""
        options = [
            (mode.value, f"{choice.database.name} · {mode.mode.slug}", mode.chosen)
            for choice in self.database_choices
            for mode in choice.modes
        ]
        chosen = [(value, label) for value, label, is_chosen in options if is_chosen]
        return chosen or [(value, label) for value, label, _ in options]

    @property
    def proposed_workloads(self) -> set[str]:
        """Those that are made when the matrix is submitted."""
        return {str(w.pk) for w in self.proposed}

    @property
    def scaling_sets(self) -> list[dict[str, object]]:
        """The systems of which databases on clusters of several sizes are described."""
        sizes_of: dict[str, set[int]] = {}
        for database in self.databases:
            if count := len(database.cluster.nodes.all()):
                sizes_of.setdefault(database.system, set()).add(count)
        systems = load_catalog().systems
        return [
            {"system": system, "name": systems[system].name, "nodes": sorted(nodes)}
            for system, nodes in sizes_of.items()
            if len(nodes) > 1 and system in systems
        ]

    def _posted(self, kind: type[R], prefix: str, names: Sequence[str]) -> list[R]:
        columns = [self.data.getlist(f"{prefix}_{name}") for name in names]  # type: ignore[attr-defined]
        rows = [kind(*(text.strip() for text in row)) for row in zip(*columns, strict=False)]
        return [row for row in rows if not row.blank]

    @property
    def fault_kinds(self) -> Mapping[str, Kind]:
        return KINDS

    def _clean_search(self, cleaned: dict[str, Any]) -> None:
        searches = cleaned.get("searches")
        needs_rungs = not searches or cleaned.get("ladder") == Matrix.Ladder.THREADS
        if needs_rungs and not cleaned.get("rungs") and "rungs" not in self.errors:
            self.add_error("rungs", "Give the ladder at least one rung, such as 2, 4, 8, 16.")
        if not needs_rungs:
            cleaned["rungs"] = []
        if any(percent > MAX_CURVE_PERCENT for percent in cleaned.get("curve_percent", [])):
            self.add_error("curve_percent", f"Give shares of the ceiling of at most {MAX_CURVE_PERCENT} %.")
        if searches and cleaned.get("slo_operation") and not cleaned.get("slo_limit_ms"):
            self.add_error("slo_limit_ms", "Give the limit of the latency in ms, such as 5.")

    def _search(self) -> SearchSpec | None:
        data = self.cleaned_data
        if not data["searches"]:
            return None
        slo: SloSpec | None = None
        if data["slo_operation"]:
            slo = {
                "operation": data["slo_operation"],
                "statistic": data["slo_statistic"] or "p99",
                "kind": data["slo_kind"] or LatencyKind.SERVICE,
                "limit_us": 1000 * data["slo_limit_ms"],
            }
        errors = data["max_error_percent"]
        usual = MAX_TRIALS if data["ladder"] == Matrix.Ladder.TARGET and slo is None else MAX_SLO_TRIALS
        search: SearchSpec = {
            "width": (data["search_width"] or 100 * WIDTH) / 100,
            "max_trials": data["max_trials"] or usual,
            "max_error_rate": MAX_ERRORS if errors is None else errors / 100,
            "slo": slo,
        }
        if data["curve_percent"]:
            search["curve_percent"] = data["curve_percent"]
        return search

    def clean_rungs(self) -> list[int]:
        rungs: list[int] = self.cleaned_data["rungs"]
        twice = sorted({rung for rung in rungs if rungs.count(rung) > 1})
        if twice:
            raise ValidationError(f"{twice[0]} stands in the ladder twice: use repeats to measure it again.")
        return rungs

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self._clean_search(cleaned)
        known = {mode.value for choice in self.database_choices for mode in choice.modes}
        workloads = {str(workload.pk) for workload in self.team_workloads}
        for row in self.exclusions:
            row.error = problem_with(row, known, workloads)
            if not row.error and self.final and not row.reason:
                row.error = "Write why it is left out: the reason is shown wherever its result would stand."
        if any(row.error for row in self.exclusions):
            self.add_error(None, "A row of what is left out needs attention.")
        self.faults = [fault for row in self.fault_rows if (fault := row.fault())]
        if any(row.error for row in self.fault_rows):
            self.add_error(None, "A row of the faults needs attention.")
        return cleaned

    def matrix(self) -> Matrix:
        """The matrix that the form describes, not saved. Only for a form without errors."""
        data = self.cleaned_data
        same = ("purpose", "processes_per_generator", "ladder", "rungs", "threads", "repeats", "order", "seed")
        more = ("load_policy", "load_threads", "warmup_s", "bracket", "looks", "priority", "tags", "notes")
        return Matrix(
            team=self.team,
            name=data["name"] or self._made_name(),
            min_measure_s=data["measure_s"],
            max_measure_s=data["measure_s"],
            resets={level: data[f"reset_{level}"] for level in LEVELS},
            search=self._search(),
            stops_early=data["stops_early"] and not data["searches"] and not self.faults,
            faults=self.faults,
            exclusions=[row.rule() for row in self.exclusions],
            overrides=self._overrides(),
            **{name: data[name] for name in (*same, *more)},
        )

    def _overrides(self) -> list[dict[str, Any]]:
        """Those of the matrix that is cloned, after what the rule for records makes of the chosen sizes."""
        kept = [rule for rule in (self.source.overrides if self.source else []) if not sizes.is_by_rule(rule)]
        databases = {str(database.pk): len(database.cluster.nodes.all()) for database, _ in self.chosen_entries()}
        workloads = {str(w.pk): int(w.properties.get("recordcount", 0)) for w in self.chosen_workloads()}
        return [*sizes.overrides(self.cleaned_data["records_rule"], databases, workloads), *kept]

    def plan(self) -> Plan:
        return build_plan(
            self.matrix(),
            entries=self.chosen_entries(),
            workloads=self.chosen_workloads(),
            generators=self.chosen_generators(),
        )

    def as_posted(self) -> QueryDict:
        """What this form would send if nobody changed it, so that a fresh page can show its preview too."""
        sent = QueryDict(mutable=True)
        for name, field in self.fields.items():
            value = field.prepare_value(self.get_initial_for_field(field, name))
            if isinstance(value, list | tuple):
                sent.setlist(name, [str(item) for item in value])
            elif value is not None and value is not False:  # What is not ticked is not sent.
                sent[name] = str(value)
        for row in self.exclusions:
            for name in EXCLUSION_COLUMNS:
                sent.appendlist(f"exclude_{name}", getattr(row, name))
        for fault_row in self.fault_rows:
            for name in COLUMNS:
                sent.appendlist(f"fault_{name}", getattr(fault_row, name))
        return sent

    def chosen_entries(self) -> list[tuple[Database, str]]:
        """The chosen (database, mode), in the order of the page."""
        chosen = set(self.cleaned_data["entries"])
        return [
            (choice.database, mode.mode.slug)
            for choice in self.database_choices
            for mode in choice.modes
            if mode.value in chosen
        ]

    def chosen_workloads(self) -> list[Workload]:
        return [w for w in self.team_workloads if str(w.pk) in self.cleaned_data["workloads"]]

    def _made_name(self) -> str:
        databases = list(dict.fromkeys(database.name for database, _ in self.chosen_entries()))
        workloads = [workload.short_name for workload in self.chosen_workloads()]
        shown = ", ".join(databases[:3]) + (f" and {len(databases) - 3} more" if len(databases) > 3 else "")
        return f"{shown or 'Matrix'}: {', '.join(workloads) or 'no workload'}"[:120]

    def submit(self, user: User) -> Matrix:
        """Saves the matrix and inserts its runs. Raises PlanError; nothing is stored then."""
        with transaction.atomic():
            matrix = self.store(user)
            submit(matrix, user)
        return matrix

    @transaction.atomic
    def store(self, user: User) -> Matrix:
        """Saves the matrix alone, to be submitted later."""
        matrix = self.matrix()
        workloads = store_proposed(self.proposed, self.chosen_workloads(), matrix)
        matrix.created_by = user
        matrix.save()
        matrix.workloads.set(workloads)
        matrix.load_generators.set(self.chosen_generators())
        MatrixEntry.objects.bulk_create(
            MatrixEntry(matrix=matrix, database=database, mode=mode, position=position)
            for position, (database, mode) in enumerate(self.chosen_entries())
        )
        return matrix


def generators_for(team: Team) -> QuerySet[LoadGenerator]:
    """The enabled load generators that a team may use."""
    return get_generators(team).filter(enabled=True)


def database_choice(database: Database, chosen: set[str]) -> DatabaseChoice:
    system = load_catalog().get(database.system, database.flavour, database.own_modes)
    if system is None:
        return DatabaseChoice(database, None, ())
    modes = ((f"{database.pk}:{slug}", mode) for slug, mode in system.modes.items())
    return DatabaseChoice(database, system, tuple(ModeChoice(value, mode, value in chosen) for value, mode in modes))


def _search_initial(search: SearchSpec | None) -> dict[str, Any]:
    if search is None:
        return {}
    slo = search["slo"]
    limits: dict[str, Any] = {}
    if slo is not None:
        limits = {f"slo_{name}": slo[name] for name in ("operation", "statistic", "kind")}
        limits["slo_limit_ms"] = slo["limit_us"] / 1000
    return {
        **limits,
        "searches": True,
        "search_width": round(100 * search["width"], 6),
        "max_trials": search["max_trials"],
        "max_error_percent": round(100 * search["max_error_rate"], 6),
        "curve_percent": search.get("curve_percent", []),
    }


def build_initial(source: Matrix | None, generators: list[LoadGenerator], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the form begins with: another matrix, or careful values for a study to be published."""
    if source is None:
        return {
            **chosen,
            "purpose": Purpose.MEASURED,
            "load_generators": [str(generator.pk) for generator in generators],
            "processes_per_generator": 1,
            "ladder": Matrix.Ladder.THREADS,
            "rungs": DEFAULT_RUNGS,
            "stops_early": True,
            "repeats": 3,
            "order": Matrix.Order.INTERLEAVED,
            "seed": 1,
            "warmup_s": 60,
            "measure_s": 180,
            "load_policy": Matrix.LoadPolicy.LOAD,
            "load_threads": 8,
            "priority": 0,
            **{f"reset_{level}": Matrix.Reset.KEEP for level in LEVELS},
        }
    same = (
        "purpose", "processes_per_generator", "ladder", "rungs", "threads", "repeats", "order", "seed", "warmup_s",
        "bracket", "stops_early", "looks", "load_policy", "load_threads", "priority", "tags", "notes",
    )  # fmt: skip
    return {
        **{name: getattr(source, name) for name in same},
        **{f"reset_{level}": source.resets.get(level, Matrix.Reset.KEEP) for level in LEVELS},
        **_search_initial(source.search),
        "name": f"{source.name} (again)"[:120],
        "records_rule": sizes.get_rule(source.overrides),
        "measure_s": source.min_measure_s,
        "entries": [f"{entry.database_id}:{entry.mode}" for entry in source.entries.all()],
        "workloads": [str(pk) for pk in source.workloads.values_list("pk", flat=True)],
        "load_generators": [str(pk) for pk in source.load_generators.values_list("pk", flat=True)],
    }

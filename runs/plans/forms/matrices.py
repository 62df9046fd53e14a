"""The matrix builder's form: what is crossed, the ladder, how each rung is measured, and what is left out and why."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django import forms
from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict

from benchsite.accounts.models import Team, User
from runs.catalog import GO_FLAVOUR, Durability, Mode, System, load_catalog
from runs.catalog.forms.generators import GeneratorsForm
from runs.catalog.generators import find_elsewhere, get_generators
from runs.models import Database, LoadGenerator, Matrix, Purpose, Sweep, Workload
from runs.plans import sizes
from runs.plans.drafts import Draft, draft_matrix
from runs.plans.faults import KINDS, Kind
from runs.plans.forms.extension import Extension, store_proposed
from runs.plans.forms.plan_fields import ProfilePoints, build_plan_fields, collect_nested, list_folded_names
from runs.plans.forms.rows import (
    MAX_EXCLUSIONS,
    MAX_OVERRIDES,
    MAX_ROWS,
    Exclusion,
    Override,
    Row,
    get_exclusions,
    get_overrides,
    get_rows,
    is_row,
)
from runs.plans.plan import rungs_problem
from runs.plans.plan_spec import ARRIVALS, PlanFault, PlanGroup, PlanRequest, PlanSearch, PlanSlo
from runs.plans.profiles import PRESETS, make_preset
from runs.queue.spec import MAX_CURVE_PERCENT, SLO_OPERATIONS


@dataclass(frozen=True, slots=True)
class ModeChoice:
    value: str
    mode: Mode
    durability: Durability  # of the mode with this database
    lacks_copies: bool  # the database has fewer than it waits for


@dataclass(frozen=True, slots=True)
class DatabaseChoice:
    """One database with the modes it can be run in; `system` is None where the catalog does not know it."""

    database: Database
    system: System | None
    modes: tuple[ModeChoice, ...]

    @property
    def one_of_each_loss(self) -> dict[str, str]:
        """The first mode of one node in each class of loss at a power failure (any, some seconds, none): slug -> value.

        Empty where that is no choice.
        """
        first: dict[str, ModeChoice] = {}
        for mode in self._single_node_modes:
            loss_s = mode.durability.loss_window_s
            loss = "any"
            if loss_s is not None:
                loss = "some" if loss_s else "none"
            first.setdefault(loss, mode)
        if len(first) < 2:
            return {}
        return {mode.mode.slug: mode.value for mode in first.values()}

    @property
    def representative_modes(self) -> list[str]:
        """The values of these modes, or of the first mode where there is no such choice."""
        first = [mode.value for mode in self._single_node_modes[:1]]
        return list(self.one_of_each_loss.values()) or first

    @property
    def _single_node_modes(self) -> list[ModeChoice]:
        return [mode for mode in self.modes if not mode.mode.replicas_needed and not mode.mode.no_client]


ALL = "all"  # in the place of a database's key
SET_WINDOW = "set-min_measure_s"
PRESSES = {"pick", "pick-workloads", SET_WINDOW}  # the names of buttons that fill in fields
EMPTY_MEANS_DEFAULT = ("settle_s", "priming_s", "between_workloads", "max_measure_s", "warmup_s", "min_measure_s")
ELSEWHERE = "elsewhere"
SETTLE_S = 60  # of what is published, unless something else is typed
# Of what is not published, in place of an empty field; V05 rejects no window of these purposes that is so long.
SHORT_SECONDS: Final = {
    "warmup_s": {Purpose.SMOKE.value: 5, Purpose.TUNING.value: 30},
    "min_measure_s": {Purpose.SMOKE.value: 10, Purpose.TUNING.value: 60},
}


class MatrixForm(GeneratorsForm):
    entries = forms.MultipleChoiceField(required=False, label="Databases and durability modes")
    workloads = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    profile_preset = forms.ChoiceField(required=False, label="Or a profile of", help_text="Over the measured seconds.")
    searches = forms.BooleanField(
        required=False, label="Search for the ceiling", help_text="Each load follows from the results so far."
    )

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
        self.database_choices = list(map(database_choice, self.databases))
        self.team_workloads = list(Workload.objects.filter(team=team))
        self.generators = list(generators_for(team).select_related("machine"))
        self.extension = None
        self.proposed: list[Workload] = []
        if extends:
            self.extension = Extension(extends, self.databases, self.team_workloads)
            self.proposed = self.extension.proposed
        self.team_workloads += self.proposed
        super().__init__(*args, **{"initial": self._build_initial(start or {}), **kwargs})
        if PRESSES & self.data.keys():
            self.data = self._press_buttons()
        self._add_plan_fields()
        self.offer("entries", [(mode.value, mode.value) for _, mode in self.modes])
        self.offer("workloads", [(str(w.pk), w.name) for w in self.team_workloads])
        self.offer("load_generators", [(str(g.pk), g.name) for g in self.generators])
        stored = source or Matrix()
        self.exclusions = get_exclusions(stored.exclusions)
        self.override_rows = get_overrides(stored.overrides)
        self.fault_rows = get_rows(PlanFault, stored.faults)
        self.group_rows = get_rows(PlanGroup, stored.groups)
        if self.is_bound:
            self._read_tables()
        self.faults: list[PlanFault] = []
        self.groups: list[PlanGroup] = []

    def _add_plan_fields(self) -> None:
        self.fields |= build_plan_fields()
        self.fields["ladder"].widget = forms.RadioSelect(choices=Matrix.Ladder.choices)
        for name in EMPTY_MEANS_DEFAULT:
            self.fields[name].required = False
        self.fields["settle_s"].initial = None
        self.fields["settle_s"].help_text += f" Empty: {SETTLE_S} where the purpose is measured or soak."
        for name, seconds in SHORT_SECONDS.items():
            usual, self.fields[name].initial = self.fields[name].initial, None
            self.fields[name].widget.attrs["placeholder"] = usual
            short = "".join(f", {purpose} {length}" for purpose, length in seconds.items())
            self.fields[name].help_text += f" Empty: {usual}{short}."
        self.offer("profile_preset", [("", "as listed"), *((name, label) for name, (label, _) in PRESETS.items())])
        self.offer("slo_operation", [("", "no limit"), *((name, name) for name in SLO_OPERATIONS)])

    def _build_initial(self, start: Mapping[str, str]) -> dict[str, Any]:
        initial = self._choose_rows(start)
        if self.source:
            initial = build_initial(self.source)
            if start.get("clients") == ELSEWHERE:
                initial |= self._choose_elsewhere(self.source)
        if self.extension:
            initial |= self.extension.initial()
        return initial

    def _choose_rows(self, start: Mapping[str, str]) -> dict[str, Any]:
        """The database or workload whose page led here, in every mode that its servers can have; or all databases of a
        system that stands on clusters of several sizes.
        """
        entries = [
            mode.value
            for database, mode in self.modes
            if str(database.pk) == start.get("database") or database.system == (start.get("scaling") or None)
            if not mode.lacks_copies
        ]
        if "entry" in start:
            entries = [start["entry"]]
        workloads = [str(w.pk) for w in self.team_workloads if str(w.pk) == start.get("workload")]
        load_generators = []
        if not self.has_many_generators:
            load_generators = [str(generator.pk) for generator in self.generators]
        return _overload(start) | {
            "entries": entries,
            "workloads": workloads,
            "load_generators": load_generators,
            "records_rule": sizes.PER_NODE if start.get("scaling") else sizes.FIXED,
        }

    def _choose_elsewhere(self, source: Matrix) -> dict[str, Any]:
        """The load generators on machines without servers or clients of the plan, where there are any."""
        load_generators = [str(pk) for pk in find_elsewhere(source).values_list("pk", flat=True)]
        if not load_generators:
            return {}
        return {"load_generators": load_generators, "generator_counts": []}

    def _press_buttons(self) -> QueryDict:
        """What was sent, with what the pressed button fills in."""
        posted: QueryDict = self.data.copy()  # type: ignore[attr-defined]
        if "pick" in posted:
            posted.setlist("entries", self._pick_modes(str(posted["pick"]), posted.getlist("entries")))
        if "pick-workloads" in posted:
            posted.setlist("workloads", [str(workload.pk) for workload in self.team_workloads])
        if SET_WINDOW in posted:
            posted["min_measure_s"] = str(posted[SET_WINDOW])
        return posted

    def _pick_modes(self, key: str, values: list[str]) -> list[str]:
        """The entries with one mode for each loss of this database, or of all, in place of its others."""
        for choice in self.database_choices:
            prefix = f"{choice.database.pk}:"
            if choice.representative_modes and key in (ALL, str(choice.database.pk)):
                others = [value for value in values if not value.startswith(prefix)]
                values = [*others, *choice.representative_modes]
        return values

    @property
    def modes(self) -> list[tuple[Database, ModeChoice]]:
        return [(choice.database, mode) for choice in self.database_choices for mode in choice.modes]

    @property
    def folded(self) -> list[forms.BoundField]:
        return [self[name] for name in list_folded_names()]

    @property
    def folded_needs_attention(self) -> bool:
        """Whether a field of the folded part was refused."""
        return any(field.errors for field in self.folded)

    @property
    def entry_options(self) -> list[tuple[str, str]]:
        """What an exclusion can name: only what is chosen, or everything while nothing is."""
        values = set(self["entries"].value() or [])
        modes = [(database, mode) for database, mode in self.modes if mode.value in values] or self.modes
        return [(mode.value, f"{database.name} · {mode.mode.slug}") for database, mode in modes]

    @property
    def proposed_workloads(self) -> set[str]:
        """Those that are made when the matrix is submitted."""
        return {str(w.pk) for w in self.proposed}

    @property
    def scaling_sets(self) -> list[dict[str, object]]:
        """The systems of which databases on clusters of several sizes are described."""
        sizes_of: dict[str, set[int]] = {}
        for database in self.databases:
            if count := database.count_servers():
                sizes_of.setdefault(database.system, set()).add(count)
        systems = load_catalog().systems
        return [
            {"system": system, "name": systems[system].name, "nodes": sorted(nodes)}
            for system, nodes in sizes_of.items()
            if len(nodes) > 1 and system in systems
        ]

    def _read_tables(self) -> None:
        exclusions = [Exclusion(**cells) for cells in self._read_cells("exclude", Exclusion.COLUMNS)]
        self.exclusions = exclusions[:MAX_EXCLUSIONS]
        overrides = [Override(**cells) for cells in self._read_cells("override", Override.COLUMNS)]
        self.override_rows = [row for row in overrides if not row.is_blank][:MAX_OVERRIDES]
        faults = [Row(PlanFault, cells) for cells in self._read_cells("fault", PlanFault.model_fields)]
        self.fault_rows = faults[:MAX_ROWS]
        groups = [Row(PlanGroup, cells) for cells in self._read_cells("group", PlanGroup.model_fields)]
        self.group_rows = groups[:MAX_ROWS]

    def _read_cells(self, prefix: str, names: Collection[str]) -> list[dict[str, str]]:
        """The rows of a table in which something was written."""
        columns = [self.data.getlist(f"{prefix}_{name}") for name in names]  # type: ignore[attr-defined]
        rows = [list(map(str.strip, row)) for row in zip(*columns, strict=False)]
        return [dict(zip(names, row, strict=True)) for row in rows if any(row)]

    @property
    def database_names(self) -> list[tuple[str, str]]:
        return [(str(database.pk), database.name) for database in self.databases]

    @property
    def fault_kinds(self) -> Mapping[str, Kind]:
        return KINDS

    @property
    def group_arrivals(self) -> Mapping[str, str]:
        return ARRIVALS

    def _has_stated_window(self, cleaned: Mapping[str, Any]) -> bool:
        """Whether something of the plan is stated in seconds of the window."""
        return bool(cleaned.get("profile") or cleaned.get("profile_preset") or self.fault_rows)

    def _choose_seconds(self, name: str, cleaned: Mapping[str, Any]) -> Any:
        """In place of an empty field: short ones where the purpose publishes nothing."""
        usual = PlanRequest.model_fields[name].default
        if self._has_stated_window(cleaned):
            return usual
        return SHORT_SECONDS.get(name, {}).get(cleaned.get("purpose", ""), usual)

    def _choose_settling(self, cleaned: Mapping[str, Any]) -> int:
        """In place of an empty field: none where the window has to begin at a stated second."""
        flavours = {database.flavour for database, mode in self.modes if mode.value in cleaned.get("entries", ())}
        if self._has_stated_window(cleaned) or GO_FLAVOUR in flavours:
            return 0
        return SETTLE_S if cleaned.get("purpose") in (Purpose.MEASURED, Purpose.SOAK) else 0

    def _clean_profile(self, cleaned: dict[str, Any]) -> None:
        if cleaned.get("settle_s", 0) is None:
            cleaned["settle_s"] = self._choose_settling(cleaned)
        for name in EMPTY_MEANS_DEFAULT:
            if cleaned.get(name, 0) in (None, ""):
                cleaned[name] = self._choose_seconds(name, cleaned)
        preset, profile = cleaned.get("profile_preset"), cleaned.get("profile")
        if preset and profile:
            self.add_error("profile_preset", "Choose a profile here, or list its points: not both.")
        elif preset and cleaned.get("min_measure_s"):
            cleaned["profile"] = make_preset(preset, cleaned["min_measure_s"])
        elif isinstance(profile, ProfilePoints) and profile.peak_ops_s:
            cleaned["rungs"] = [profile.peak_ops_s]

    def _clean_search(self, cleaned: dict[str, Any]) -> None:
        searches, ladder = cleaned.get("searches", False), cleaned.get("ladder", "")
        if "rungs" in cleaned and (problem := rungs_problem(cleaned["rungs"], ladder, searches=searches)):
            self.add_error("rungs", problem)
        if any(percent > MAX_CURVE_PERCENT for percent in cleaned.get("search_curve_percent", [])):
            self.add_error("search_curve_percent", f"Give shares of the ceiling of at most {MAX_CURVE_PERCENT} %.")
        if searches and cleaned.get("slo_operation") and not cleaned.get("slo_limit_us"):
            self.add_error("slo_limit_us", "Give the limit of the latency in ms, such as 5.")

    def _search(self) -> PlanSearch | None:
        if not self.cleaned_data["searches"]:
            return None
        slo = PlanSlo.model_construct(**collect_nested(PlanSlo, "slo_", self.cleaned_data))
        values = collect_nested(PlanSearch, "search_", self.cleaned_data)
        return PlanSearch.model_construct(**values, slo=slo if self.cleaned_data["slo_operation"] else None)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self._clean_profile(cleaned)
        self._clean_search(cleaned)
        values = {mode.value for _, mode in self.modes}
        workloads = {str(workload.pk) for workload in self.team_workloads}
        for row in self.exclusions:
            row.error = row.find_problem(values, workloads, needs_reason=self.final)
        databases = dict(self.database_names)
        for override in self.override_rows:
            override.error = override.find_problem(databases, workloads)
        self.faults = [fault for row in self.fault_rows if (fault := row.read())]
        self.groups = [group for row in self.group_rows if (group := row.read())]
        tables: dict[str, Sequence[Exclusion | Override | Row[Any]]] = {
            "what is left out": self.exclusions,
            "what is changed for some": self.override_rows,
            "the faults": self.fault_rows,
            "the client groups": self.group_rows,
        }
        for table, rows in tables.items():
            if any(row.error for row in rows):
                self.add_error(None, f"A row of {table} needs attention.")
        return cleaned

    def build_draft(self) -> Draft:
        """The matrix that the form describes, not saved. Only for a form without errors."""
        columns = {name: self.cleaned_data[name] for name in PlanRequest.model_fields if name in self.fields}
        # Those that no row of the builder can say.
        other_rules = []
        if self.source:
            other_rules = [rule for rule in self.source.overrides if not sizes.is_by_rule(rule) and not is_row(rule)]
        return draft_matrix(
            self.team,
            PlanRequest.model_construct(**columns, search=self._search(), faults=self.faults, groups=self.groups),
            entries=select_entries(self.databases, self.cleaned_data["entries"]),
            workloads=self.chosen_workloads(),
            generators=self.chosen_generators(),
            exclusions=[row.rule for row in self.exclusions],
            overrides=[*other_rules, *(row.rule for row in self.override_rows)],
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
            for name in row.COLUMNS:
                sent.appendlist(f"exclude_{name}", getattr(row, name))
        for override in self.override_rows:
            for name in override.COLUMNS:
                sent.appendlist(f"override_{name}", getattr(override, name))
        tables: Mapping[str, Sequence[Row[Any]]] = {"fault": self.fault_rows, "group": self.group_rows}
        for prefix, rows in tables.items():
            for name, text in chain.from_iterable(table_row.cells.items() for table_row in rows):
                sent.appendlist(f"{prefix}_{name}", text)
        return sent

    def chosen_workloads(self) -> list[Workload]:
        return [w for w in self.team_workloads if str(w.pk) in self.cleaned_data["workloads"]]

    @transaction.atomic
    def store(self, user: User) -> Matrix:
        """Saves the matrix alone, to be submitted later."""
        draft = self.build_draft()
        draft.workloads = [
            store_proposed(workload, draft.matrix) if workload in self.proposed else workload
            for workload in draft.workloads
        ]
        return draft.store(user)


# An overload plan offers these shares of a ceiling.
OVERLOADS: Final = (0.5, 0.8, 0.9, 1.0, 1.1, 1.5, 2.0, 3.0)
RECOVERY_S: Final = 180


def _overload(start: Mapping[str, str]) -> dict[str, Any]:
    """An open load around the ceiling that a page states; of `recovery` an overload in the middle of a run."""
    ceiling = start.get("ceiling", "")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", ceiling, re.ASCII):
        return {}
    plan = {
        "ladder": Matrix.Ladder.TARGET,
        "arrivals": "poisson",
        "threads": start.get("threads"),
        "stops_early": False,
    }
    if start.get("recovery"):
        return {**plan, "rungs": [int(ceiling)], "profile_preset": "overload", "min_measure_s": RECOVERY_S}
    return {**plan, "rungs": sorted({max(round(share * int(ceiling)), 1) for share in OVERLOADS})}


def generators_for(team: Team) -> QuerySet[LoadGenerator]:
    """The enabled load generators that a team may use."""
    return get_generators(team).filter(enabled=True)


def database_choice(database: Database) -> DatabaseChoice:
    system = load_catalog().get(database.system, database.flavour, database.own_modes)
    if system is None:
        return DatabaseChoice(database, None, ())
    modes = []
    for slug, mode in system.modes.items():
        durability = system.find_durability(mode, database.binding_properties)
        modes.append(ModeChoice(f"{database.pk}:{slug}", mode, durability, not database.has_copies_for(mode)))
    return DatabaseChoice(database, system, tuple(modes))


def select_entries(databases: Iterable[Database], values: Collection[str]) -> list[tuple[Database, str]]:
    """The (database, mode) of which "database:mode" is among the values, in the order of the page."""
    entries = []
    for database in databases:
        for mode in database_choice(database).modes:
            if mode.value in values:
                entries.append((database, mode.mode.slug))
    return entries


def build_initial(source: Matrix) -> dict[str, Any]:
    """What the form begins with for another matrix."""
    search = source.search or {}
    max_measure_s = 0
    if source.max_measure_s > source.min_measure_s:
        max_measure_s = source.max_measure_s
    return {
        **{name: getattr(source, name) for name in build_plan_fields() if hasattr(source, name)},
        "max_measure_s": max_measure_s,
        **{f"search_{name}": value for name, value in search.items()},
        **{f"slo_{name}": value for name, value in (search.get("slo") or {}).items()},
        "searches": bool(search),
        **{f"between_{level}s": source.resets.get(level, Matrix.Reset.KEEP) for level in ("rung", "workload")},
        "name": f"{source.name} (again)"[:120],
        "records_rule": sizes.get_rule(source.overrides),
        "entries": [f"{entry.database_id}:{entry.mode}" for entry in source.entries.all()],
        "workloads": [str(pk) for pk in source.workloads.values_list("pk", flat=True)],
        "load_generators": [str(pk) for pk in source.load_generators.values_list("pk", flat=True)],
    }

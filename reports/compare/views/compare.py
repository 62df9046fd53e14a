"""The compare page: both pictures of a selection, what the sides differ in, and the numbers as tables."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypedDict, TypeVar

from django.core.exceptions import TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.safestring import SafeString
from django_htmx.http import push_url

from benchsite.accounts.models import Team
from benchsite.accounts.permissions import get_team, team_required
from reports.compare.analysis.differences import are_of_one_plan, split_differences
from reports.compare.analysis.pairs import PairFinding, pair_findings
from reports.compare.analysis.repeat_comparison import Outcome
from reports.compare.curves import (
    STATISTICS,
    Curve,
    Standing,
    collect_measured,
    collect_operations,
    collect_points,
    detect_kind,
)
from reports.compare.figures.captions import join_terms, list_conditions
from reports.compare.figures.latency import points_table
from reports.compare.figures.overlay import (
    build_absence_sentence,
    choices as studies,
    list_throughputs,
    published_missing,
)
from reports.compare.figures.theme import MAX_DATABASES, get_labels, list_databases
from reports.compare.ladder_text import status_sentences
from reports.compare.pages.answer import Answer, find_answer, find_differing_pair
from reports.compare.pages.answer_messages import certainty, plain_text, sentence
from reports.compare.pages.baseline_ratios import Against, Judging, against, collect_comparisons
from reports.compare.pages.charts import (
    FigureLink,
    ceilings_picture,
    latency_picture,
    more_pictures,
    picture_link,
    shown_operations,
)
from reports.compare.pages.comparison_table import LatencyScale, table_rows
from reports.compare.pages.decision import Need, decide
from reports.compare.pages.equal_load import EqualLoad, build_equal_load, number_text, only_single_rungs
from reports.compare.pages.exclusions import left_out
from reports.compare.pages.filter_menus import Menu, chips, menus
from reports.compare.pages.tables import Item, list_tables
from reports.compare.queries import (
    Chosen,
    build_key,
    chosen,
    facets,
    get_or_compute,
    get_profile,
    rows_digest,
    session_spreads,
    sides_by_sweep,
)
from reports.compare.queries.sweep_selection import get_sweeps_by_phase
from reports.compare.selection import ALL, BOTH, KINDS, MAX_SHOWN, MAX_VALUES, Selection, read
from reports.published.figures import cells
from reports.published.pages import grid
from reports.trends.analysis.sessions import SessionSpread
from runs.checks import Profile, SideFacts
from runs.models import Matrix, Sweep, ThresholdOverride
from runs.plans.pages.next_repeats import next_repeats

SCALE_SAYS = (
    ("auto", "auto"),
    ("log", "latency logarithmic"),
    ("loglog", "both logarithmic"),
    ("linear", "both linear"),
)
KIND_MENU_SAYS = {
    "service": "from the call (service time)",
    "response": "from the scheduled start (response time)",
}
SESSIONS = (
    "Sessions",
    "Sides were measured in different sessions, and how much sessions vary on their machines is not known. Intervals "
    "hold within these sessions only: a neighbour or a cache may make the difference. Measure both sides in one plan.",
)
MIN_WHOLE_OPS_S = 100.0  # ceilings from here on are whole numbers in the table
CHOSEN_STATISTICS = ("mean", "p50", "p95", "p99", "p999")
# What the form of the menus gives itself, and what that of the movable line does.
MENU_NAMES = frozenset(
    {
        "matrix", "system", "mode", "class", "workload", "cluster", "version", "label", "source", "purpose", "phase",
        "since", "until", "stat", "scale", "vary", "published",
    }
)  # fmt: skip
LINE_NAMES = frozenset({"load", "within", "loss"})
NUMBERS = ("table-sustained", "table-equal-load")  # of the tables, those without buttons of their own


class UncountedSide(TypedDict):
    """A side none of whose points counts."""

    label: str
    reason: str
    stand_in: str  # what its server was where that is not the product
    sweep_id: str
    matrix_id: str  # empty: it was uploaded
    is_mendable: bool  # its runs have ended, and checks reject them


class ComparisonParts(TypedDict):
    """The page of a comparison as it is cached: rendered parts, and values for the frame around them."""

    going: bool
    figures: list[FigureLink]  # of the first workload
    permalink: str
    title: str
    equal: str
    repeats: dict[str, object] | None
    lead: SafeString
    actions: SafeString
    headline: SafeString
    uncounted: list[UncountedSide]
    body: SafeString


class NumbersPart(TypedDict):
    """All numbers of a comparison, as they are cached."""

    going: bool
    html: SafeString


class SidesPart(NumbersPart):
    """Rows of the table of sides, as they are cached."""


class WorkloadFigures(NamedTuple):
    workload: str
    ceilings: FigureLink
    latency: FigureLink | None
    suffix: str  # of ids on the page; the first has none

    @property
    def listed(self) -> list[FigureLink]:
        return [figure for figure in (self.ceilings, self.latency) if figure]


Part = TypeVar("Part", ComparisonParts, NumbersPart, SidesPart)


@team_required("GET")
def compare(request: HttpRequest) -> HttpResponseBase:
    """The page; for a menu or a link of it (htmx) what changes, with the canonical address."""
    selection = selection_in(request)
    canonical = selection.query()
    is_part = bool(request.htmx)  # type: ignore[attr-defined]
    if not is_part and not selection.problems and request.GET.urlencode() != canonical.removeprefix("?"):
        return redirect(request.path + canonical)

    parts = get_parts(get_team(request), selection)
    frame = "base.html"
    if is_part:
        frame = "part.html"
    context = {
        "frame": frame,
        "parts": parts,
        "query": parts["permalink"].partition("?")[2],
    }
    response = render(request, "reports/compare.html", context)
    patch_vary_headers(response, ["HX-Request"])
    address = request.get_full_path() if selection.problems else request.path + canonical
    if is_part:
        return push_url(response, address)

    return response


@team_required("GET")
def pictures(request: HttpRequest) -> HttpResponse:
    """The other figures of a comparison, when somebody opens them; without JavaScript a page of its own."""
    selection = selection_in(request)
    comparison = chosen(get_team(request), selection)
    state = pinned(selection, comparison)
    curves = comparison.curves
    drawn = latency_picture(state, curves)
    charts = [chart for chart in more_pictures(state, curves) if drawn is None or chart.key != drawn.key]
    figures = [picture_link(chart, curves) for chart in charts]
    return _part(request, "pictures", selection, {"figures": figures})


@team_required("GET")
def numbers(request: HttpRequest) -> HttpResponse:
    """All percentiles at equal load, the ratios with their method, ceilings and the checks of pairs, when opened."""
    selection = selection_in(request)
    team = get_team(request)

    def made(context: dict[str, Any]) -> NumbersPart:
        curves = context["compared"].curves
        kind = selection.kind_for(curves)
        items = list_tables(curves, context["labels"], context.get("against"), context["equal"], kind)
        context["tables"] = [table_part(item) for item in items if item.name in NUMBERS]
        context["pairs"] = pairs(sides_by_sweep(curves).values(), get_profile(team, curves))
        html = render_to_string("reports/compare/all_numbers.html", context)
        return NumbersPart(going=is_going(curves), html=html)

    return _part(request, "numbers", selection, {"numbers": cached_part(team, selection, NumbersPart, made)["html"]})


@team_required("GET")
def sides(request: HttpRequest) -> HttpResponseBase:
    """The rows of the sides beyond those that the figures show, for the table of the page (htmx)."""
    selection = selection_in(request)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(reverse("compare") + replace(selection, sides=(ALL,)).query())

    def made(context: dict[str, Any]) -> SidesPart:
        rows = [
            render_to_string("reports/compare/side.html", context | {"row": row})
            for row in context["sides"]
            if not row.is_listed
        ]
        return SidesPart(going=is_going(context["compared"].curves), html=SafeString("".join(rows)))

    return HttpResponse(cached_part(get_team(request), selection, SidesPart, made)["html"])


@team_required("GET")
def headline(request: HttpRequest) -> HttpResponseBase:
    """What a comparison found and how sure that is, for the page of its matrix (htmx)."""
    selection = selection_in(request)
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(reverse("compare") + selection.query())
    return HttpResponse(get_parts(get_team(request), selection)["headline"])


@team_required("GET")
def points(request: HttpRequest) -> HttpResponse:
    """Every point of a comparison as a table, when somebody opens it."""
    selection = selection_in(request)
    comparison = chosen(get_team(request), selection)
    table = points_table(comparison.curves, kind=selection.kind_for(comparison.curves))
    return _part(request, "points", selection, {"grid": grid(cells(table))})


def table_part(item: Item) -> dict[str, Any]:
    """A table of the comparison as reports show it."""
    assert item.table is not None
    return {"name": item.name, "title": item.title, "says": item.says, "grid": grid(cells(item.table()))}


def _part(request: HttpRequest, part: str, selection: Selection, context: dict[str, Any]) -> HttpResponse:
    context |= {"part": f"reports/compare/{part}.html", "selection": selection}
    context["back"] = reverse("compare") + selection.query()
    alone = "HX-Request" in request.headers
    return render(request, context["part"] if alone else "reports/compare/part.html", context)


def selection_in(request: HttpRequest) -> Selection:
    """The selection in the address; of an address that names too much, none, with a sentence."""
    try:
        return read(request.GET)
    except TooManyFieldsSent:
        message = f"The address names too many values: choose at most {MAX_VALUES} sweeps, or use the menus."
        return Selection(problems=(message,))


def get_parts(team: Team, selection: Selection) -> ComparisonParts:
    """The parts of the page for a selection, equal for all members of the team."""

    def made(context: dict[str, Any]) -> ComparisonParts:
        comparison: Chosen = context["compared"]
        # What is undecided is decided by more repeats.
        is_open = is_undecided(context["answer"], context.get("against"))
        matrix: Matrix | None = context["matrix"]

        def render_part(name: str) -> SafeString:
            return render_to_string(f"reports/compare/{name}.html", context)

        figures = []
        if context["groups"]:
            figures = context["groups"][0].listed
        equal = ""
        if context["equal"]:
            equal = plain_text("compare/equal_load.txt", equal=context["equal"])
        repeats = None
        if matrix and is_open:
            repeats = next_repeats(matrix)

        return ComparisonParts(
            going=is_going(comparison.curves),
            figures=figures,
            permalink=context["permalink"],
            title=build_title(comparison),
            equal=equal,
            repeats=repeats,
            lead=render_part("lead"),
            actions=render_part("actions"),
            headline=render_part("headline"),
            uncounted=list(list_uncounted(comparison.curves)),
            body=render_part("body"),
        )

    return cached_part(team, selection, ComparisonParts, made)


def list_uncounted(curves: Sequence[Curve]) -> Iterator[UncountedSide]:
    labels = get_labels(curves)
    for curve in curves:
        if curve.points and not curve.counted:
            products = (point for point in curve.points if point.standing is not Standing.STAND_IN)
            first = next(products, curve.points[0])
            yield UncountedSide(
                label=labels.get(curve.sweep_id, curve.label),
                reason=first.worst_finding or "".join(first.excluded[:1]),
                stand_in="".join(curve.stand_ins[:1]) if curve.is_stand_in else "",
                sweep_id=str(curve.sweep_id),
                matrix_id=str(curve.matrix_id or ""),
                is_mendable=bool(first.rejected) and not curve.progress.going,
            )


def cached_part(team: Team, selection: Selection, kind: type[Part], make: Callable[[dict[str, Any]], Part]) -> Part:
    """A part of the page, computed from its context once, until one of its rows changes.

    The key contains everything that is read beside the chosen sweeps. While runs are going, nothing is kept.
    """
    choice = chosen(team, selection)
    choices = facets(team, choice.matrix.pk if choice.matrix else None, selection.phase)
    thresholds = rows_digest(ThresholdOverride, team)
    floors = session_spreads(team, {sweep.cluster_name for sweep in choice.sweeps}) if len(choice.sweeps) > 1 else {}
    key = build_key(
        team.pk, kind.__name__, selection.query(), choice.digest(), repr(choices), thresholds,
        repr(sorted(floors.items())),
    )  # fmt: skip

    return get_or_compute(
        key,
        kind,
        lambda: make(build_context(team, selection, choice, choices, floors) | {"matrix": choice.matrix}),
        keep=lambda part: not part["going"],
    )


def is_going(curves: Sequence[Curve]) -> bool:
    """Whether runs of these sweeps are queued or running."""
    return any(curve.progress.going for curve in curves)


def is_undecided(answer: Answer, table: Against | None) -> bool:
    """Whether some ceiling was measured once, or some ratio has no verdict yet."""
    if table is None:
        return False
    outcomes = [comparison.outcome for comparison in collect_comparisons(table.rows)]
    return answer.repeats[0] == 1 or Outcome.INCONCLUSIVE in outcomes


def has_siblings(team: Team, curve: Curve) -> bool:
    """Whether its matrix has other sweeps to compare it with."""
    if curve.matrix_id is None:
        return False
    return get_sweeps_by_phase(team).filter(matrix=curve.matrix_id).exclude(pk=curve.sweep_id).exists()


def build_title(comparison: Chosen) -> str:
    """The title of a comparison."""
    if comparison.matrix:
        return comparison.matrix.name
    systems = dict.fromkeys(curve.system_name for curve in comparison.curves)
    return " against ".join(list(systems)[:3]) or "Comparison"


def build_context(
    team: Team,
    selection: Selection,
    comparison: Chosen,
    choices: Mapping[str, Sequence[Any]],
    floors: Mapping[str, SessionSpread],
) -> dict[str, Any]:
    offered = menus(selection, choices, studies())
    curves = comparison.curves
    workload_menu = find_workload_menu(offered)
    other_menus = [menu for menu in offered if menu is not workload_menu]
    state = pinned(selection, comparison)
    equal = build_equal_load(selection, curves)
    unknown = [slug for slug in selection.published if slug not in dict(studies())]
    verdicts = judged(team, selection, curves, floors, equal)
    labels = get_labels(curves)
    planned, unplanned = split_differences(curves, labels)
    places = 2
    if all(curve.ceiling_ops_s >= MIN_WHOLE_OPS_S for curve in curves):
        places = 0
    max_loss = ""
    if selection.max_loss_s is not None:
        max_loss = number_text(selection.max_loss_s)

    return {
        "selection": selection,
        "compared": comparison,
        "problems": [
            *comparison.problems,
            *(f"“{slug}” is no published study that is known here." for slug in unknown),
        ],
        "facets": choices,
        "menus": other_menus,
        "workload_menu": workload_menu,
        "chips": chips(selection, other_menus),
        "controls": build_controls(selection, curves),
        "carried": selection.pairs(without=carried_names(selection, curves)),
        "operations": operation_links(state, curves),
        "groups": figures_by_workload(replace(state, load_ops_s=equal.load_ops_s) if equal else state, curves),
        "places": places,
        "latency_scale": LatencyScale.choose(equal) if equal else None,
        "many": many_sides(state, curves),
        "sides_carried": selection.pairs(without={"side"}),
        "more_pictures": reverse("compare-pictures") + state.query(),
        "all_numbers": reverse("compare-numbers") + state.query(),
        "all_points": reverse("compare-points") + state.query(),
        "equal": equal,
        "one_rung": only_single_rungs(curves),
        "has_siblings": len(curves) == 1 and has_siblings(team, curves[0]),
        "labels": labels,
        "line_carried": selection.pairs(without=LINE_NAMES),
        "left_out": left_out(curves),
        **describe_studies(selection, curves),
        "max_loss": max_loss,
        "decision": decide(curves, build_need(selection, curves, equal), labels),
        "of_one_plan": are_of_one_plan(curves),
        "planned": planned,
        "differences": unplanned,
        **verdicts,
        "sides": table_rows(
            curves, equal, verdicts.get("against"), state.select_visible(curves), selection.kind_for(curves)
        ),
        "findings": list(map(sentence, verdicts["answer"].findings)),
        "certainty": certainty(verdicts["answer"]),
        "differing_pair": find_differing_pair(verdicts["answer"], verdicts.get("against")),
        "conditions": conditions(curves, selection.kind_for(curves), verdicts.get("against")),
        "permalink": reverse("compare") + state.query(),
        "nothing_at_all": not curves and not Sweep.objects.exists(),
    }


def describe_studies(selection: Selection, curves: Sequence[Curve]) -> dict[str, Any]:
    """Whether the chosen studies have a result here, and which of them the figures lack, and why."""
    if not selection.published:
        return {"has_published": False, "study_notes": []}
    chosen = selection.choose_overlays(curves)
    operations = shown_operations(selection, curves)
    notes = [build_absence_sentence(selection.published, chosen)]
    if operations:
        published = list_throughputs(chosen, operations, selection.statistic)
        notes.append(published_missing(published, operations[0], selection.statistic))
    return {"has_published": bool(chosen), "study_notes": [note for note in notes if note]}


def pinned(selection: Selection, comparison: Chosen) -> Selection:
    """The selection of the figures and of a shared link: the newest matrix by its name, no sides of another one."""
    ids = {str(curve.sweep_id) for curve in comparison.curves} | {ALL}
    selection = replace(selection, sides=tuple(side for side in selection.sides if side in ids))
    if comparison.matrix:
        return replace(selection, matrix=str(comparison.matrix.pk))
    return selection


def find_workload_menu(offered: Sequence[Menu]) -> Menu | None:
    """The menu of workloads where one of several can be chosen; None where an address already names more."""
    return next((menu for menu in offered if menu.name == "workload" and len(menu.options) > 1 >= menu.chosen), None)


def figures_by_workload(state: Selection, curves: Sequence[Curve]) -> list[WorkloadFigures]:
    """Both figures of each workload: what differs in it is not drawn over one another, unless it was chosen."""
    workloads = list(dict.fromkeys(curve.workload for curve in curves))
    if len(workloads) == 1 or state.sweeps:
        return [_link_figures(state, curves, "", "")]
    groups = []
    for number, workload in enumerate(workloads):
        chosen = replace(state, workloads=(workload,))
        group = [curve for curve in curves if curve.workload == workload]
        groups.append(_link_figures(chosen, group, workload, f"-{number}" if number else ""))
    return groups


def _link_figures(state: Selection, curves: Sequence[Curve], workload: str, suffix: str) -> WorkloadFigures:
    latency = latency_picture(state, curves)
    return WorkloadFigures(
        workload,
        picture_link(ceilings_picture(state), curves),
        picture_link(latency, curves) if latency else None,
        suffix,
    )


def operation_links(state: Selection, curves: Sequence[Curve]) -> list[tuple[str, str, bool]]:
    """The operations that the latency figure can draw: text, address, and whether it does. The first is the default."""
    measured = collect_operations(curves)
    values = ["", *measured[1:], *([BOTH] if len(measured) > 1 else [])] if measured else []
    drawn = ""
    if state.operation != (measured or [""])[0]:
        drawn = state.operation

    return [
        (
            "both" if value == BOTH else value or measured[0],
            reverse("compare") + replace(state, operation=value).query(),
            value == drawn,
        )
        for value in values
    ]


def many_sides(state: Selection, curves: Sequence[Curve]) -> dict[str, Any] | None:
    """How many sides are drawn, and the addresses with all and with the highest; None where there are few."""
    if len(curves) <= MAX_SHOWN:
        return None
    visible = len(state.select_visible(curves))
    rows = reverse("compare-sides") + state.query()
    all_sides, few = (reverse("compare") + replace(state, sides=sides).query() for sides in ((ALL,), ()))
    return {"shown": visible, "hidden": len(curves) - visible, "all": all_sides, "few": few, "rows": rows}


def build_need(selection: Selection, curves: Sequence[Curve], equal: EqualLoad | None) -> Need:
    """The default load, which the form sends with a limit too, is no need."""
    load_ops_s = selection.load_ops_s
    if equal and equal.is_default:
        load_ops_s = None
    return Need(
        operations=tuple(shown_operations(selection, curves)),
        statistic=selection.statistic,
        kind=selection.kind_for(curves),
        max_loss_s=selection.max_loss_s,
        limit_us=selection.limit_us,
        load_ops_s=load_ops_s,
    )


def judged(
    team: Team,
    selection: Selection,
    curves: Sequence[Curve],
    floors: Mapping[str, SessionSpread],
    equal: EqualLoad | None,
) -> dict[str, Any]:
    """The answer, and the ratios of two or more sides."""
    if len(curves) < 2:
        return {"answer": find_answer(curves, None, get_labels)}

    sides = sides_by_sweep(curves)
    profile = get_profile(team, curves)
    judging = Judging(sides, profile, floors, selection.kind_for(curves))
    table = against(
        curves,
        judging,
        equal,
        baseline=selection.baseline,
        vary=selection.vary,
        anyway=selection.anyway,
        address=lambda chosen: reverse("compare") + replace(selection, baseline=chosen).query(),
    )

    return {
        "answer": find_answer(curves, judging, get_labels, table=table),
        "against": table,
        "anyway_href": reverse("compare") + replace(selection, anyway=not selection.anyway).query(),
        "unpin_href": reverse("compare") + replace(selection, baseline=None).query(),
    }


def build_controls(selection: Selection, curves: Sequence[Curve]) -> dict[str, Any]:
    """The options of the figures' menus. A chosen statistic that is in none is added, so that the form keeps it."""
    statistics = [*CHOSEN_STATISTICS, *({selection.statistic} - set(CHOSEN_STATISTICS))]
    databases = list_databases(curves)
    return {
        "operations": collect_operations(curves),
        "statistics": [(name, STATISTICS[name]) for name in statistics],
        "scales": SCALE_SAYS,
        # The one that is shown by itself is nobody's choice: its value is empty.
        "kinds": [(kind if kind != detect_kind(curves) else "", KIND_MENU_SAYS[kind]) for kind in list_kinds(curves)],
        # To highlight one of; none while every one has a colour of its own.
        "databases": databases if len(databases) > MAX_DATABASES else [],
    }


def carried_names(selection: Selection, curves: Sequence[Curve]) -> set[str]:
    """The parameters that the form of the menus shows; all others it carries along, hidden."""
    controls = build_controls(selection, curves)
    shown = set(MENU_NAMES)
    if len(controls["kinds"]) > 1:
        shown |= {"kind"}
    if controls["databases"]:
        shown |= {"highlight"}
    if len(curves) > 1:
        shown |= {"baseline"}
    if selection.sweeps:
        return shown - {"matrix"}
    return shown


def pairs(sides: Collection[SideFacts], profile: Profile) -> list[PairFinding]:
    """The checks of every two sides."""
    if len(sides) > 1:
        return pair_findings(list(sides), profile)
    return []


def list_kinds(curves: Sequence[Curve]) -> list[str]:
    """The kinds of latency that were measured, service time first."""
    measured_kinds = {operation.kind for operation in collect_measured(collect_points(curves))}
    return [kind for kind in KINDS if kind in measured_kinds]


def conditions(curves: Sequence[Curve], kind: str, table: Against | None) -> list[tuple[str, str]]:
    """The conditions that hold for all figures of the page: term and sentence."""
    ceilings = [("Ceilings", f"{text}.") for text in status_sentences(curves, get_labels(curves))]
    sessions = [SESSIONS] if table and table.sessions_unknown else []
    return join_terms([*ceilings, *sessions, *list_conditions(curves, kind)])

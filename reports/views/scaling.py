"""The scaling page: ceilings and latencies at the knee, cluster sizes against databases."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from benchsite.accounts.permissions import team_of, team_required
from reports.analysis.scalability import Measured, Pivot, pivot
from reports.curves import Curve
from reports.ladder_text import ladder_says
from reports.pages.charts import Picture, picture_link
from reports.queries import Compared, compared
from reports.selection import ALL, Selection, read
from reports.views.compare import pinned
from runs.studies import Fact, Study, studies

CEILING, KNEE = "max_throughput", "latency_before_rapid_rise"


def measured_of(curves: Sequence[Curve]) -> Iterator[Measured]:
    """The sweeps that state their nodes. A version is named where a system has several, a workload likewise."""
    versions = {(curve.system_name, curve.setup.version) for curve in curves}
    has_versions = len(versions) > len({system for system, _ in versions})
    workloads = len({curve.workload for curve in curves}) > 1
    for curve in curves:
        nodes = curve.setup.nodes
        if not nodes:
            continue
        names = [curve.system_name, curve.setup.version if has_versions else "", curve.mode]
        ceiling, knee = curve.ceiling, curve.knee
        measured = Measured(
            row=tuple(name for name in (*names, curve.workload if workloads else "") if name),
            nodes=nodes,
            ceiling_ops_s=ceiling.throughput_ops_s if ceiling else None,
            knee_us=knee.latency_s * 1e6 if knee else None,
            ladder=ladder_says(ceiling) if ceiling else "",
            lower_bound=bool(ceiling and ceiling.is_lower_bound),
            knee_reached=bool(knee and knee.reached),
            repeats_ops_s=curve.ceiling_rung.throughput_ops_s.values if curve.ceiling_rung else (),
            records=curve.setup.records,
            key=curve.sweep_id,
            database=curve.database_name,
        )
        yield measured


def studies_with_sizes() -> tuple[Study, ...]:
    """The studies that printed one metric for clusters of several sizes."""
    return tuple(study for study in studies() if len({fact.nodes for fact in _ceilings(study)}) > 1)


def printed_of(slugs: Collection[str]) -> tuple[Measured, ...]:
    """What these studies printed for each size, as lines of the same table; a slug without sizes adds nothing."""
    return tuple(result for study in studies_with_sizes() if study.slug in slugs for result in _printed(study))


def _ceilings(study: Study) -> Iterable[Fact]:
    return (fact for fact in study.facts if fact.metric == CEILING and fact.nodes.isdigit())


def _printed(study: Study) -> Iterator[Measured]:
    knees = {(f.database, f.workload, f.nodes): f for f in study.facts if f.metric == KNEE}
    for fact in _ceilings(study):
        knee = knees.get((fact.database, fact.workload, fact.nodes))
        yield Measured(
            row=(f"{fact.database} {fact.version}".strip(), fact.workload),
            nodes=int(fact.nodes),
            ceiling_ops_s=fact.value,
            knee_us=knee.microseconds if knee else None,
            disputed=fact.disputed,
            key=study.slug,
        )


@team_required("GET")
def scaling(request: HttpRequest) -> HttpResponseBase:
    selection = read(request.GET)
    comparison = compared(team_of(request), selection)
    table = pivot(measured_of(comparison.curves))
    picture = Picture("scalability", "Throughput over nodes", "scalability", pinned(selection, comparison))
    links = []
    for study in studies_with_sizes():
        chosen = study.slug in selection.published
        kept = tuple(slug for slug in selection.published if slug != study.slug)
        changed = replace(selection, published=kept if chosen else (*kept, study.slug))
        links.append({"name": study.name, "href": address(changed), "chosen": chosen})
    context = {
        "compared": comparison,
        "table": table,
        "unsized": [curve for curve in comparison.curves if not curve.setup.nodes],
        "advice": advice(comparison, table),
        "figure": picture_link(picture, comparison.curves) if table.scored else None,
        "printed": pivot(printed_of(selection.published)),
        "studies": links,
        "compare_url": reverse("compare") + selection.query(),
        "all_url": "" if selection.matrix == ALL else address(replace(selection, matrix=ALL, sweeps=())),
    }
    return render(request, "reports/scaling.html", context)


def address(selection: Selection) -> str:
    return reverse("scaling") + selection.query()


def advice(comparison: Compared, table: Pivot) -> str:
    """What to do where there is nothing to see yet; empty where a row has two sizes."""
    if not comparison.curves:
        return "No sweep matches. Choose another matrix, or look across all of them."
    if not table.rows:
        return "None of these sweeps states how many nodes its cluster has."
    if not any(sum(cell is not None for cell in row.cells) > 1 for row in table.rows):
        sizes = (
            f"{table.sizes[0]} node{'' if table.sizes[0] == 1 else 's'}" if len(table.sizes) == 1 else "one size each"
        )
        return f"These sweeps stand on clusters of {sizes}: scaling needs the same database and mode on several."
    return ""

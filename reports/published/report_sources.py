"""Everything that a report may be made of, worked out once: curves as outsiders may see them, judged as on the page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import UUID

from benchsite.accounts.models import Team
from reports.compare.curves import Curve, MachineFacts, Point, Setup
from reports.compare.figures.theme import get_labels
from reports.compare.packing import encode
from reports.compare.pages.answer import Answer, judge_selection
from reports.compare.pages.baseline_ratios import Against, Judging
from reports.compare.pages.charts import Picture, every_picture
from reports.compare.pages.equal_load import EqualLoad, build_equal_load
from reports.compare.queries import chosen, get_profile, load_submissions, session_spreads, sides_by_sweep
from reports.compare.queries.sweep_facts import Submitted
from reports.compare.selection import Selection
from reports.published.drafts import Draft
from reports.published.queries.host_names import names_of_places
from reports.published.redaction import Redactor, safe_value
from runs.catalog import load_catalog


# A picture cuts long names, so what must not be seen has to be gone before anything is drawn: half a host name is
# found by no search.
def assign_roles(curves: Sequence[Curve]) -> dict[str, str]:
    """The sides' machines and load generators by name -> what each is called in a report: "machine 1"."""
    machines: dict[str, None] = {}
    generators: dict[str, None] = {}
    for curve in curves:
        setup = curve.setup
        machines |= dict.fromkeys(machine.name for machine in (*setup.cluster_machines, *setup.generator_machines))
        generators |= dict.fromkeys(setup.generators)
    return {
        **{name: f"load generator {number}" for number, name in enumerate(generators, 1)},
        **{name: f"machine {number}" for number, name in enumerate(machines, 1)},
    }


def without_places(curve: Curve, redactor: Redactor, roles: Mapping[str, str]) -> Curve:
    """The curve as outsiders may see it. Its ceiling and its knee stay what they are."""

    def clean(text: str, where: str) -> str:
        return redactor.clean(text, where) if text else ""

    clean_curve = replace(
        curve,
        name=clean(curve.name, "names of sweeps"),
        database_name=clean(curve.database_name, "names of databases"),
        system_name=clean(curve.system_name, "names of systems"),
        mode=clean(curve.mode, "durability modes"),
        mode_name=clean(curve.mode_name, "durability modes"),
        workload=clean(curve.workload, "names of workloads"),
        matrix_name=clean(curve.matrix_name, "name of the matrix"),
        tags=(),
        notes="",
        points=tuple(_clean_point(point, redactor) for point in curve.points),
        setup=_clean_setup(curve.setup, redactor, roles),
    )
    # Worked out once already, of the same numbers.
    clean_curve.__dict__.update(ceiling=curve.ceiling, knee=curve.knee)
    return clean_curve


def _clean_point(point: Point, redactor: Redactor) -> Point:
    texts = (point.worst_finding, *point.excluded, *point.overridden, *(repeat.reason for repeat in point.left_out))
    if not any(texts):
        return point

    where = "findings of the checks, and reasons"

    def clean(text: str) -> str:
        return redactor.clean(text, where)

    return replace(
        point,
        worst_finding=clean(point.worst_finding),
        excluded=tuple(map(clean, point.excluded)),
        overridden=tuple(map(clean, point.overridden)),
        left_out=tuple(replace(repeat, reason=clean(repeat.reason)) for repeat in point.left_out),
    )


def _clean_setup(setup: Setup, redactor: Redactor, roles: Mapping[str, str]) -> Setup:
    def rename(machine: MachineFacts) -> MachineFacts:
        return MachineFacts(id=machine.id, name=roles.get(machine.name, machine.name), cores=machine.cores)

    def clean_settings(settings: Mapping[str, Any]) -> dict[str, str]:
        return {name: safe_value(name, value) for name, value in settings.items()}

    return replace(
        setup,
        version=redactor.clean(setup.version, "versions"),
        server_settings=clean_settings(setup.server_settings),
        binding_properties=clean_settings(setup.binding_properties),
        mode_settings=clean_settings(setup.mode_settings),
        client_version=redactor.clean(setup.client_version, "versions"),
        cluster_machines=tuple(map(rename, setup.cluster_machines)),
        generators=tuple(roles.get(name, name) for name in setup.generators),
        generator_machines=tuple(map(rename, setup.generator_machines)),
    )


@dataclass(frozen=True)
class Material:
    """One comparison, ready to be frozen."""

    selection: Selection
    curves: tuple[Curve, ...]
    labels: Mapping[UUID, str]
    answer: Answer
    kind: str  # of latency
    equal: EqualLoad | None
    against: Against | None
    pictures: Sequence[Picture]
    submitted: Mapping[UUID, Submitted]
    matrix_id: UUID | None  # where all sides come from one
    problems: tuple[str, ...]  # of the selection
    redactor: Redactor

    @cached_property
    def curves_digest(self) -> str:
        """A digest of the curves, under which what is drawn of them alone is cached."""
        return hashlib.sha256(encode(self.curves)).hexdigest()


def gather(team: Team, draft: Draft) -> Material:
    """The draft's comparison of the team's sweeps. At most thirty queries, however many sweeps there are."""
    selection = draft.selection
    comparison = chosen(team, selection)
    if comparison.matrix:
        selection = replace(selection, matrix=str(comparison.matrix.pk))
    roles = assign_roles(comparison.curves)
    redactor = Redactor(names_of_places(team, comparison.curves, roles, load_catalog()), frozenset(draft.kept))
    curves = tuple(without_places(curve, redactor, roles) for curve in comparison.curves)
    selection = replace(selection, highlight=redactor.clean(selection.highlight, "names of databases"))
    kind = selection.kind_for(curves)
    equal = build_equal_load(selection, curves)
    submitted = load_submissions(curves)
    matrices = {curve.matrix_id for curve in curves}
    drawn = replace(selection, load_ops_s=equal.load_ops_s) if equal else selection
    judging = None
    if len(curves) > 1:
        floors = session_spreads(team, {curve.setup.cluster_name for curve in curves})
        judging = Judging(sides_by_sweep(curves, submitted), get_profile(team, curves), floors)
    answer, table = judge_selection(selection, curves, judging, equal)

    return Material(
        selection=selection,
        curves=curves,
        labels=get_labels(curves),
        answer=answer,
        kind=kind,
        equal=equal,
        against=table,
        pictures=every_picture(drawn, curves),
        submitted=submitted,
        matrix_id=matrices.pop() if len(matrices) == 1 else None,
        problems=comparison.problems,
        redactor=redactor,
    )

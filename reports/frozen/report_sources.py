"""Everything that a report may be made of, worked out once: curves as outsiders may see them, judged as on the page."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

from benchsite.teams.models import Team
from reports.curves import Curve
from reports.figures.theme import labels_of
from reports.frozen.curve_redaction import roles_of, without_places
from reports.frozen.drafts import Draft
from reports.frozen.redaction import Redactor
from reports.packing import encode
from reports.pages.baseline_ratios import Against, Judging, against
from reports.pages.charts import Picture, every_picture, shown_operations
from reports.pages.equal_load import EqualLoad, equal_load
from reports.queries import chosen, profile_of, session_spreads, sides_by_sweep, submitted_of
from reports.queries.host_names import names_of_places
from reports.queries.sides import Submitted
from reports.selection import Selection
from runs.catalog import load_catalog


@dataclass(frozen=True)
class Material:
    """One comparison, ready to be frozen."""

    selection: Selection
    curves: tuple[Curve, ...]
    labels: Mapping[UUID, str]
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
        """Of everything that the curves say, so that what is drawn of them alone can be found again."""
        return hashlib.sha256(encode(self.curves)).hexdigest()


def gather(team: Team, draft: Draft) -> Material:
    """The draft's comparison of the team's sweeps. At most thirty queries, however many sweeps there are."""
    selection = draft.selection
    comparison = chosen(team, selection).compared()
    if comparison.matrix_id:
        selection = replace(selection, matrix=str(comparison.matrix_id))
    roles = roles_of(comparison.curves)
    redactor = Redactor(names_of_places(team, comparison.curves, roles, load_catalog()), frozenset(draft.kept))
    curves = tuple(without_places(curve, redactor, roles) for curve in comparison.curves)
    selection = replace(selection, highlight=redactor.clean(selection.highlight, "names of databases"))
    kind = selection.kind_for(curves)
    equal = equal_load(
        curves,
        shown_operations(selection, curves),
        kind=kind,
        statistic=selection.statistic,
        load_ops_s=selection.load_ops_s,
        limit_us=selection.limit_us,
    )
    submitted = submitted_of(curves)
    matrices = {curve.matrix_id for curve in curves}
    drawn = replace(selection, load_ops_s=equal.load_ops_s) if equal else selection
    compared = None
    if len(curves) > 1:
        floors = session_spreads(team, {curve.setup.cluster_name for curve in curves})
        judging = Judging(sides_by_sweep(curves, submitted), profile_of(team, curves), floors, kind)
        compared = against(
            curves,
            judging,
            equal,
            baseline=selection.baseline,
            vary=selection.vary,
            anyway=selection.anyway,
        )
    return Material(
        selection=selection,
        curves=curves,
        labels=labels_of(curves),
        kind=kind,
        equal=equal,
        against=compared,
        pictures=every_picture(drawn, curves),
        submitted=submitted,
        matrix_id=matrices.pop() if len(matrices) == 1 else None,
        problems=comparison.problems,
        redactor=redactor,
    )

"""Curves and printed results as lines of the scaling table."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from reports.analysis.pivot import Measured
from reports.curves import Curve
from reports.ladder_text import ladder_says
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
        yield _measured(curve, nodes, tuple(name for name in (*names, curve.workload if workloads else "") if name))


def _measured(curve: Curve, nodes: int, row: tuple[str, ...]) -> Measured:
    ceiling, knee = curve.ceiling, curve.knee
    return Measured(
        row=row,
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

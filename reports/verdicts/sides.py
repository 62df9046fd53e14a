"""Runs as what a verdict looks at: metrics with a value for each run, and the conditions they were measured under."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from reports.analysis.gate import gate
from reports.analysis.verdicts import DiffersAnswer, EnvironmentAnswer, Metric
from reports.curves import Curve, Point, operations_of
from runs.models import Run
from runs.spec import RunSpec
from runs.validity import Profile, SideFacts, judge_pair
from runs.validity.spec_facts import side_facts

STATISTICS: Final = ("mean", "p99")
# Of fewer operations the slowest hundredth is fewer than ten of them.
MIN_FOR_P99: Final = 1000
# What is measured once per client says nothing of the database under load.
NOT_JUDGED: Final = frozenset({"CLEANUP", "INIT"})
# What a verdict is about: other code. A changed version is what changed code looks like.
VARYING: Final = ("version",)


def metrics_of(
    new: Sequence[Sequence[Curve]], base: Sequence[Sequence[Curve]], history: Sequence[Sequence[Curve]] = ()
) -> tuple[list[Metric], list[str]]:
    """The metrics that both sides have, throughput first; and sentences about those that cannot be judged.

    Sides and history are sessions, each with its runs as curves of one rung. A session of the history that does not
    have a metric is left out of it.
    """
    sides, older = (
        [[point for curve in session for point in curve.points] for session in side]
        for side in ((*new, *base), history)
    )
    metrics = [
        Metric("throughput", "throughput", True, *_parted(_throughputs(sides), len(new)), history=_throughputs(older))
    ]
    notes: list[str] = []
    curves = [curve for session in (*new, *base) for curve in session]
    # Response time where every run has it, for overload shows there alone; else service time.
    kind = "response" if all(curve.latency_kind == "response" for curve in curves) else "service"
    for name in operations_of(curves):
        if name in NOT_JUDGED or name.endswith("FAILED"):
            continue
        for statistic in STATISTICS:
            values, reasons = [], []
            for number, session in enumerate(sides):
                session_values, why = _values(session, "new" if number < len(new) else "base", name, kind, statistic)
                values.append(session_values)
                reasons += [why] if why else []
            if reasons:
                notes.append(f"{name} {statistic} is not judged: {reasons[0]}")
                continue
            earlier = [_values(session, "base", name, kind, statistic)[0] for session in older]
            before = tuple(session for session in earlier if session)
            parted = _parted(values, len(new))
            metrics.append(Metric(f"{name} {statistic}", statistic, False, *parted, kind, before))
    return metrics, notes


Values = tuple[float, ...]


def _throughputs(sessions: Sequence[Sequence[Point]]) -> tuple[Values, ...]:
    return tuple(tuple(point.throughput_ops_s.median for point in session) for session in sessions)


def _parted(sessions: Sequence[Values], new: int) -> tuple[tuple[Values, ...], tuple[Values, ...]]:
    return tuple(sessions[:new]), tuple(sessions[new:])


def _values(session: Sequence[Point], who: str, name: str, kind: str, statistic: str) -> tuple[Values, str]:
    """The values of a session's runs, or why there are none."""
    operations = [row for point in session if (row := point.operation(name, kind))]
    if len(operations) < len(session):
        return (), f"not every run of the {who} side measured its {kind} times."
    if statistic == "p99" and any(row.ok is not None and row.ok < MIN_FOR_P99 for row in operations):
        return (), f"a run of the {who} side did it less than {MIN_FOR_P99} times."
    values = [row.median_us(statistic) for row in operations]
    if None in values:
        return (), f"of a run of the {who} side it is only known to lie between two values."
    return tuple(value for value in values if value is not None), ""


def environment_of(new: Mapping[Run, Curve], base: Mapping[Run, Curve], profile: Profile) -> EnvironmentAnswer:
    """What differs between the first run of the baseline and any other one, be it new or of the baseline."""
    reference, *others = [*base, *new]
    curves = {**base, **new}
    facts = {run: _facts(run) for run in curves}
    differs: dict[DiffersAnswer, None] = {}
    ignored: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for run in others:
        findings = judge_pair(facts[reference], facts[run], profile)
        judged = gate(curves[reference], curves[run], findings, VARYING, declared=True)
        differs |= dict.fromkeys(map(DiffersAnswer, judged.fields, judged.stops))
        differs |= dict.fromkeys(_elsewhere(reference, run))
        ignored |= dict.fromkeys(judged.ignored)
        unknown |= dict.fromkeys(judged.unknown)
    return EnvironmentAnswer(not differs, tuple(differs), tuple(ignored), tuple(unknown))


def _facts(run: Run) -> SideFacts:
    """Without a name of its own, so that what is said of ten runs is said once."""
    spec = cast(RunSpec, run.spec)
    return side_facts("one of the sides", spec, str(run.evidence.get("server_version") or ""))


def _elsewhere(a: Run, b: Run) -> list[DiffersAnswer]:
    """What says that other machines did it, where nobody knows the machines' facts."""
    specs = [cast(RunSpec, run.spec) for run in (a, b)]
    clusters = [spec["cluster"]["name"] for spec in specs]
    hardware = [spec["stated"]["hardware"] if "stated" in spec else "" for spec in specs]
    differs = []
    if all(clusters) and clusters[0] != clusters[1]:
        differs.append(DiffersAnswer("cluster", f"The clusters differ: {clusters[0]} and {clusters[1]}."))
    if all(hardware) and _plain(hardware[0]) != _plain(hardware[1]):
        texts = " and ".join(f"“{text[:80]}”" for text in hardware)
        differs.append(DiffersAnswer("hardware", f"The hardware is stated differently: {texts}."))
    return differs


def _plain(text: str) -> str:
    return " ".join(text.lower().split())

"""The method of a report in whole sentences, and the versions of what computed it: made by itself. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchsite import formatting
from reports.analysis.ceiling import MIN_GAIN_PER_DOUBLING, SUSTAINED_SHARE
from reports.analysis.repeat_comparison import ALGORITHM, LATENCY_THRESHOLD, THRESHOLD
from reports.curves import Curve
from reports.figures.captions import caption, machine_sentence
from reports.figures.table import Cell, Table
from reports.frozen.content import Source
from reports.pages.baseline_ratios import Against
from reports.pages.equal_load import EqualLoad
from reports.queries.sources import SourceRun
from runs.ycsb import ALGORITHM_VERSION, READER_VERSION

CEILING_RULE: Final = "ceiling by ladder 2"
QUIET: Final = ("pass", "not_assessed")


def method_sentences(curves: Sequence[Curve], kind: str, against: Against | None, equal: EqualLoad | None) -> list[str]:
    """How the numbers were made and what they can bear."""
    sentences = [
        _measured(curves),
        "A point is the median of its runs; histograms of all clients of a run are merged, and percentiles are read "
        "off the merged histogram, never averaged.",
        _latency(kind),
        *_ceilings(curves),
    ]
    if equal:
        sentences.append(
            f"Latencies are compared at {formatting.throughput(equal.load_ops_s)}, the same work for every side, read "
            "off between the two rungs around that load."
        )
    if against:
        sentences += _ratios(against)
    sentences += [f"{caption(curves, kind=kind)}", f"{machine}." if (machine := machine_sentence(curves)) else ""]
    return [sentence for sentence in sentences if sentence]


def _measured(curves: Sequence[Curve]) -> str:
    by_hand = sum(curve.by_hand for curve in curves)
    if by_hand == len(curves):
        return (
            "The runs were planned here and made by hand with the plan's kit: the clients' outputs were merged and "
            "judged as all others are, but the durability mode was not read back from the server."
        )
    uploaded = sum(curve.uploaded and not curve.by_hand for curve in curves)
    if by_hand:
        sentence = f"Of {len(curves)} sides {by_hand} were run by hand: their durability mode was not read back."
        others = f" {uploaded} were uploaded, and are described as their uploaders stated." if uploaded else ""
        return sentence + others
    if uploaded == len(curves):
        return (
            "The runs were made elsewhere and uploaded: what is said of their settings and machines is what their "
            "uploaders stated."
        )
    if uploaded:
        return f"Of {len(curves)} sides {uploaded} were uploaded, and are described as their uploaders stated."
    if stated := sum(curve.mode_stated for curve in curves):
        return (
            "Benchsite ran every measurement itself: it started all clients at one instant and kept their raw output. "
            f"The durability modes of {stated} of {len(curves)} sides are stated, not read back from servers."
        )
    return (
        "Benchsite ran every measurement itself: it set the durability mode, read it back from the server before and "
        "after the run, started all clients at one instant and kept their raw output."
    )


def _latency(kind: str) -> str:
    if kind == "response":
        return (
            "Latency is response time, from the moment at which an operation was to start: waiting because of overload "
            "is part of it."
        )
    return (
        "Latency is service time, from the call to the answer: an operation that had to wait for its turn is not "
        "charged for the wait."
    )


def _ceilings(curves: Sequence[Curve]) -> list[str]:
    ladders = {curve.ladder for curve in curves}
    sentences = []
    if ladders - {"target"}:
        least = formatting.percent(MIN_GAIN_PER_DOUBLING)
        sentences.append(
            "The ceiling of a ladder of threads is the mean of its repeats, each at the rungs that the other repeats "
            "put highest, with a 95 % interval that accounts for the selection; of single runs it is the highest "
            f"measured. A ladder is called saturated where its end gained less than {least} per doubling of the "
            "threads beyond the noise of the repeats, and too short where its last step grew beyond it."
        )
    if "target" in ladders:
        share = formatting.percent(SUSTAINED_SHARE)
        sentences.append(
            f"The ceiling of a ladder of targets is the highest target of which {share} was achieved without a growing "
            "backlog, below the first that failed."
        )
    return sentences


def _ratios(against: Against) -> list[str]:
    noise = (
        f"The same test in another session differs on these machines by up to "
        f"{formatting.percent(against.noise_floor)}; the intervals of sides from different sessions include it."
        if against.noise_floor
        else "How much the same test differs on these machines from session to session is not known."
    )
    level = "at the level of the plan's newest look" if against.has_looks else "of 95 %"
    return [
        f"Ratios are of geometric means of the runs, in favour of a side above 1, against {against.baseline.label}; "
        f"intervals are {level} on logarithms ({against.analyses}), wider by what the rungs leave open of a ceiling or "
        "of a latency between them. What varies here: " + against.axes + ".",
        "A ratio of ceilings is exact where both ladders reach their ceiling, and a bound where only that of the "
        "slower side does; else both sides are compared at the highest number of threads that both measured.",
        f"Faster or slower is said only where the interval excludes 1, the difference is at least "
        f"{formatting.percent(THRESHOLD)} ({formatting.percent(LATENCY_THRESHOLD)} of tails), and "
        f"the sides may be compared. {against.tests} comparisons were judged together, after Holm. {noise}"
        if against.tests
        else f"No comparison here has an interval, so nothing is called faster. {noise}",
    ]


def algorithms(runs: Sequence[SourceRun]) -> dict[str, str]:
    """Name -> version of everything that made these numbers; several where runs were read by several releases."""

    def versions(values: Sequence[int | None], now: int) -> str:
        known = sorted({value for value in values if value is not None}) or [now]
        return ", ".join(str(value) for value in known)

    return {
        "ratios and intervals": ALGORITHM,
        "ceilings": CEILING_RULE,
        "reading": versions([run.reader_version for run in runs], READER_VERSION),
        "merging and checks": versions([run.algorithm_version for run in runs], ALGORITHM_VERSION),
    }


def validity_table(runs: Sequence[SourceRun]) -> Table:
    """What the checks say: those that passed in one row of a run, each other in a row of its own."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        if not run.sha256:
            continue
        for severity, words in (("pass", "passed"), ("not_assessed", "not assessed")):
            if same := [finding.check_id for finding in run.findings if finding.severity == severity]:
                rows.append((run.name, run.verdict, ", ".join(same), words, "", "", ""))
        rows += [
            (run.name, run.verdict, check.check_id, check.severity, check.measured, check.threshold, check.message)
            for check in run.findings
            if check.severity not in QUIET
        ]
        if not run.findings:
            rows.append((run.name, run.verdict or "not judged", "", "", "", "", "no check said anything of it"))
    return Table(("run", "verdict", "check", "outcome", "measured", "threshold", "what it says"), tuple(rows))


def excluded_table(runs: Sequence[SourceRun], counted: Mapping[object, object]) -> Table:
    """Runs that are in no number here, with the reason; and those that count although a check rejects them."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        if run.id not in counted:
            rows.append((run.name, *_why(run)))
        elif run.verdict == "reject" and run.override:
            rows.append((run.name, "rejected, counts nevertheless", run.override))
    return Table(("run", "what became of it", "reason"), tuple(rows))


def _why(run: SourceRun) -> tuple[str, str]:
    if run.status != "succeeded":
        return run.status, run.failed_because
    if run.excluded:
        return "left out by a person", run.excluded
    if run.verdict == "reject":
        worst = next((finding.message for finding in run.findings if finding.severity == "reject"), "")
        return "rejected by the checks", worst
    return "not counted", "nothing tells its throughput" if not run.sha256 else "its point does not count"


def sources(runs: Sequence[SourceRun], counted: Mapping[object, object]) -> list[Source]:
    """The runs that the numbers come from."""
    return [{"run": str(run.id), "name": run.name, "sha256": run.sha256} for run in runs if run.id in counted]

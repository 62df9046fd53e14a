"""What a sweep's ladder shows beside its ceiling and knee: second opinions, how sure they are, what to measure next."""

from dataclasses import dataclass, replace

from benchsite.core import formatting
from reports.analysis.alternative_knees import Opinions, Repeats, opinions
from reports.analysis.ceiling import CLIENT_LIMITED, NOT_KNOWN, THREAD_LIMITED, Ceiling, Ladder, Rung
from reports.analysis.knee import Knee, latency
from reports.analysis.scalability import MIN_R2, MIN_RUNGS, REACH, Usl
from reports.curves import COMPOSITE, Curve, Point
from reports.ladder_text import threads_text
from runs.measures.search import Goal, next_target

COARSE_STEP = 1.25  # from target to target where nothing shows how far it is


@dataclass(frozen=True, slots=True)
class OpinionRow:
    """One rule's answer. Throughput in operations per second; None where the rule says none."""

    rule: str
    load: str  # "32 threads", "a target of 2.00k ops/s"; empty: none
    throughput_ops_s: float | None
    note: str


@dataclass(frozen=True, slots=True)
class LadderPage:
    """What stands beside the ceiling and the knee of one sweep."""

    rows: tuple[OpinionRow, ...]
    confidence: str  # a sentence; empty where there is no knee
    next_step: str  # a sentence; empty where nothing more is needed


def ladder_page(curve: Curve) -> LadderPage:
    """For a ladder of one rung there are no opinions, but there is a next step."""
    counted = curve.counted
    judged = opinions(curve.counted_rungs, [repeats_of(point, curve.latency_kind) for point in counted], curve.ceiling)
    several = judged is not None and len(counted) > 1
    return LadderPage(
        rows=rows_of(judged) if judged and several else (),
        confidence=confidence_sentence(judged) if judged else "",
        next_step=next_step(curve.ceiling, judged) if not curve.progress.going else "",
    )


def repeats_of(point: Point, kind: str = "service") -> Repeats:
    """Every repeat's throughput and mean latency; the point's own latency where a repeat's is not known."""
    throughputs = point.throughput_ops_s.values or (point.throughput_ops_s.median,)
    parts = [
        (-row.ok if row.operation == COMPOSITE else row.ok, row.operation == COMPOSITE, row.latencies_us["mean"].values)
        for row in point.of_kind(kind)
        if row.ok is not None and "mean" in row.latencies_us
    ]
    done = sum(weight for weight, _, _ in parts)
    if done <= 0 or any(len(values) != len(throughputs) for _, _, values in parts):
        # A closed loop's latency is threads over throughput; with a target the median is the best that is known.
        rung = point.as_rung()
        own = latency(rung if kind == "response" else replace(rung, response_s=None))
        closed = tuple(own if point.target_ops_s or not x else point.threads / x for x in throughputs)
        return Repeats(throughputs, closed)
    means = (
        sum(weight * values[i] for weight, composite, values in parts if not composite) / done / 1e6
        for i in range(len(throughputs))
    )
    return Repeats(throughputs, tuple(means))


def rows_of(opinions: Opinions) -> tuple[OpinionRow, ...]:
    """The rule that decides first."""
    knee, leaning = opinions.knee, opinions.leaning
    rule = "Kneedle, the distance from the chord"
    if opinions.kneedle is None:
        kneedle_row = OpinionRow(rule, "", None, "the curve does not bend enough")
    else:
        note = "moves with the last rung, so it never decides"
        kneedle_row = OpinionRow(rule, load_text(opinions.kneedle), opinions.kneedle.throughput_ops_s, note)
    rows = [
        _knee_row("Power, throughput over latency: decides", knee, "the last rung within 5 % of the highest power"),
        _knee_row("Power that leans to throughput (squared)", leaning, "1 % more throughput may cost 2 % more latency"),
        kneedle_row,
    ]
    if opinions.asymptote_threads is not None:
        rows.append(_usl_row(opinions.usl))
        threads = formatting.significant(opinions.asymptote_threads)
        note = "the ceiling times the first rung's latency; beyond it threads wait for each other"
        rows.append(OpinionRow("Asymptotes", f"{threads} threads", None, note))
    return tuple(rows)


def _knee_row(rule: str, knee: Knee | None, note: str) -> OpinionRow:
    if knee is None or not knee.reached:
        return OpinionRow(rule, "", None, f"no knee: {knee.reason}" if knee else "no knee")
    return OpinionRow(rule, load_text(knee), knee.throughput_ops_s, note)


def _usl_row(law: Usl | None) -> OpinionRow:
    rule = "Universal Scalability Law, its peak"
    if law is None:
        return OpinionRow(rule, "", None, f"needs {MIN_RUNGS} rungs")
    fit = f"R² {formatting.grouped(law.r2, 3)}, contention {formatting.percent(law.sigma)}"
    if law.r2 < MIN_R2:
        return OpinionRow(rule, "", None, f"the ladder does not follow the law ({fit})")
    if law.kappa == 0 or law.peak_threads > 1e6:
        return OpinionRow(rule, "", None, f"no peak: nothing but contention is seen ({fit})")
    threads = f"{formatting.grouped(law.peak_threads)} threads"
    if law.accepted:
        return OpinionRow(rule, threads, law.peak_ops_s, f"the highest throughput that is predicted ({fit})")
    beyond = f"{formatting.exact(REACH)} times the {law.most_threads} threads measured"
    return OpinionRow(rule, threads, law.peak_ops_s, f"extrapolated: it lies beyond {beyond} ({fit})")


def load_text(rung: Rung | Knee | Ceiling) -> str:
    """ "32 threads", or "a target of 2.00k ops/s"."""
    if rung.target_ops_s:
        return f"a target of {formatting.throughput(rung.target_ops_s)}"
    return f"{rung.threads} thread{'' if rung.threads == 1 else 's'}"


def confidence_sentence(opinions: Opinions) -> str:
    """The grade of the knee with what it rests on; empty where the knee is not reached."""
    if not opinions.knee.confidence:
        return ""
    reasons = []
    if opinions.chord is not None:
        same = opinions.chord.load == opinions.knee.load
        reasons.append("the chord rule agrees" if same else f"the chord rule says {load_text(opinions.chord)}")
    if opinions.resampled_share is None:
        reasons.append("too few repeats to resample")
    else:
        reasons.append(
            f"{formatting.percent(opinions.resampled_share)} of the ladders resampled from the repeats agree"
        )
    return f"Confidence in the knee: {opinions.knee.confidence} ({'; '.join(reasons)})."


def next_step(ceiling: Ceiling | None, opinions: Opinions | None) -> str:
    """The target that narrows the bracket, or the threads that place the knee and show the ceiling."""
    if ceiling is None:
        return ""
    if ceiling.bracket:
        low, high = ceiling.bracket
        if {CLIENT_LIMITED, THREAD_LIMITED} & set(ceiling.notes):
            more = "clients" if CLIENT_LIMITED in ceiling.notes else "threads"
            return f"Measure the target of {formatting.throughput(high)} with more {more} next."
        if NOT_KNOWN in ceiling.notes:
            return f"Measure the target of {formatting.throughput(high)} again next: no run of it counts."
        wanted = next_target(low, high, Goal(step=COARSE_STEP))
        if wanted is None:
            return "The bracket is narrower than 5 %: repeat its lower end for longer to confirm it."
        target = formatting.grouped(wanted)
        if high is None:
            return f"Measure a target of {target} ops/s next: every target so far was sustained."
        if not low:
            return f"Measure a target of {target} ops/s next: none was sustained so far."
        ends = f"{formatting.short(low)} to {formatting.throughput(high)}"
        return f"Measure a target of {target} ops/s next: it narrows the bracket, now {ends}."
    refine = opinions.refine if opinions and opinions.knee.reached else ()
    parts = [f"{threads_text(refine)} to place the knee"] if refine else []
    if CLIENT_LIMITED in ceiling.notes:
        parts.append(f"{threads_text((ceiling.threads,))} on more clients to see the database's ceiling")
    elif ceiling.ladder is Ladder.FIRST:
        lower = max(ceiling.threads // 2, 1)
        parts = [f"{threads_text((lower,))} to see the ceiling", *parts] if lower < ceiling.threads else parts
    elif ceiling.ladder is Ladder.OPEN:
        again = "every rung three times" if not ceiling.is_estimate else "more repeats, and twice the threads,"
        parts.append(f"{again} to see where throughput ends")
    elif ceiling.ladder is Ladder.SHORT:
        further = (2 * ceiling.threads, 4 * ceiling.threads) if not refine else (2 * ceiling.threads,)
        parts.append(f"{threads_text(further)} to see the ceiling")
    elif opinions and not opinions.knee.reached and not refine:
        return "Measure fewer threads, or rungs between these, to see the knee." if ceiling.rungs > 1 else ""
    return f"Measure {' and '.join(parts)} next." if parts else ""

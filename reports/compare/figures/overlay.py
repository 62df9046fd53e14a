"""Published results beside measured ones: grey, hollow, named "published, not comparable", never a part of a claim."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from benchsite.core import formatting
from reports.compare.curves import STATISTICS, Curve
from reports.compare.figures import points as marks
from reports.compare.figures.layout import Frame, Trace, escaped, rounded, scatter
from reports.compare.messages import IN_GREY, SOME_DISPUTED, STUDY_WITHOUT_LATENCY, STUDY_WITHOUT_RESULT
from reports.compare.printed_conditions import list_alike
from runs.plans.studies import Fact, Overlay, Study, studies

NAMED = "published, not comparable"
SYMBOLS = ("circle-cross-open", "square-cross-open")  # of the first and the second operation
# So many times the greatest measured number, printed ones leave slivers of it on a linear axis.
TOWERING = 5.0
ADDED = "sum of the printed rates of its operations"
StudyOverlay = tuple[Study, Overlay]


@dataclass(frozen=True, slots=True)
class Published:
    """One number that somebody printed; throughput in operations per second, latency in microseconds.

    `qualifier` is what the print puts before the number (">", "≈"), `note` what has to be known to read it, and
    `disputed` why the number cannot be right as printed; empty where nothing speaks against it.
    """

    label: str  # "Couchbase, asynchronous, 4 nodes"
    study: str
    year: int
    throughput_ops_s: float
    latency_us: float | None
    note: str = ""
    qualifier: str = ""
    disputed: str = ""
    operation: str = ""  # of the latency
    nodes: int | None = None
    series: str = ""  # the same for what differs in its nodes alone

    @property
    def printed(self) -> str:
        """The numbers as the print has them, short."""
        throughput = f"{self.qualifier} {formatting.throughput(self.throughput_ops_s)}".strip()
        if self.latency_us is None:
            return throughput
        latency = f"{self.operation} {formatting.latency(self.latency_us)}".strip()
        return f"{throughput} at {latency}"


def find_highest(published: Sequence[Published]) -> float:
    """The highest printed throughput; 0 where there is none."""
    return max((result.throughput_ops_s for result in published), default=0.0)


def build_hover_text(result: Published) -> str:
    lines = [
        f"<b>{escaped(result.label)}</b>",
        f"{escaped(result.study)}, {result.year}",
        escaped(result.printed),
        f"<b>{NAMED}</b>",
    ]
    if result.note:
        lines.append(escaped(result.note)[:160])
    if result.disputed:
        lines.append(escaped(f"disputed: {result.disputed}")[:200])
    return "<br>".join(lines)


def published_said(published: Sequence[Published]) -> str:
    """For the caption: whose numbers they are, and that nobody compares them."""
    if not published:
        return ""
    studies = ", ".join(dict.fromkeys(f"{result.study} {result.year}" for result in published))
    disputed = sum(bool(result.disputed) for result in published)
    if disputed:
        studies = SOME_DISPUTED.format(studies=studies, disputed=disputed)
    return IN_GREY.format(studies=studies)


def drawn_with_latency(published: Sequence[Published]) -> list[Published]:
    """Those that have a place in the latency figure: both numbers were printed."""
    return [result for result in published if result.latency_us is not None]


def published_missing(published: Sequence[Published], operation: str, statistic: str) -> str:
    """Why studies that a reader chose have no point in the latency figure; empty where each has one."""
    drawn = {(result.study, result.year) for result in drawn_with_latency(published)}
    missing = dict.fromkeys((result.study, result.year) for result in published)
    studies = [f"{study} {year}" for study, year in missing if (study, year) not in drawn]
    if not studies:
        return ""
    return STUDY_WITHOUT_LATENCY.format(
        studies=formatting.enumerated(studies), operation=operation, statistic=STATISTICS[statistic]
    )


def build_absence_sentence(slugs: Collection[str], chosen: Sequence[StudyOverlay]) -> str:
    """Which of these studies have no chosen overlay; empty where each has one."""
    drawn = {study.slug for study, _ in chosen}
    absent = [study.name for study in studies() if study.slug in slugs and study.slug not in drawn]
    if not absent:
        return ""
    return STUDY_WITHOUT_RESULT.format(studies=formatting.enumerated(absent))


def published_points(published: Sequence[Published], frame: Frame) -> Iterator[Trace]:
    """A trace of each operation's results that have both a throughput and a latency, in the latency figure's units."""
    drawn = drawn_with_latency(published)
    operations = list(dict.fromkeys(result.operation for result in drawn))
    for operation, symbol in zip(operations, SYMBOLS, strict=False):
        results = [result for result in drawn if result.operation == operation]
        name = NAMED
        if len(operations) > 1:
            name = f"{NAMED}: {escaped(operation)}"
        yield scatter(
            [rounded(result.throughput_ops_s) for result in results],
            [rounded((result.latency_us or 0.0) / 1e3) for result in results],
            name,
            hover=[build_hover_text(result) for result in results],
            showlegend=True,
            marker=marks.marker(frame.theme.grey, symbol, marks.MARKER_PX + 2),
        )


def choose_overlays(
    slugs: Collection[str], phase: str = "", curves: Sequence[Curve] | None = None, among: Sequence[Curve] = ()
) -> list[StudyOverlay]:
    """Those of the studies of these slugs, of the phase ("" or "load"); a slug that names no study adds nothing.

    With `curves` only what was printed of their mix and records, which are told apart `among` all of a comparison.
    """
    chosen = []
    for study in [study for study in studies() if study.slug in slugs]:
        for overlay in study.overlays:
            alike = list_alike(overlay.throughputs[0], study, among or curves or ())
            if overlay.phase == phase and (curves is None or any(curve in alike for curve in curves)):
                chosen.append((study, overlay))
    return chosen


def list_throughputs(
    chosen: Sequence[StudyOverlay], operations: Sequence[str] = ("",), statistic: str = ""
) -> list[Published]:
    """With `operations` and `statistic` (READ, "p95") there is a result of each operation, whose latency is handed out
    only where the study printed that very one; without them whatever latency was printed first.
    """
    return [
        build_published_result(study, overlay, _latency(overlay, operation, statistic))
        for (study, overlay), operation in product(chosen, operations)
    ]


def list_rates(chosen: Sequence[StudyOverlay], operation: str) -> list[Published]:
    """The printed throughputs of one operation."""
    results = []
    for study, overlay in chosen:
        facts = [fact for fact in overlay.throughputs if operation in (fact.operation, _name_only_operation(fact))]
        for fact in facts:
            result = build_published_result(study, Overlay((fact,), ()), None)
            results.append(replace(result, label=overlay.label))
    return results


def _name_only_operation(fact: Fact) -> str:
    """That of a throughput of all operations, where there is but one."""
    if fact.phase == "load":
        return "INSERT"
    return "READ" if fact.reads_percent == "100" and not fact.operation else ""


def choices() -> tuple[tuple[str, str], ...]:
    """The studies that have something to lay over a picture: slug and name, oldest first."""
    return tuple((study.slug, study.name) for study in studies() if study.overlays)


def _latency(overlay: Overlay, operation: str, statistic: str) -> Fact | None:
    """The first of this operation and statistic; empty ones are any."""
    names = (operation.upper(), statistic)
    for latency in overlay.latencies:
        printed = (latency.operation, latency.statistic)
        if all(name in ("", other) for name, other in zip(names, printed, strict=True)):
            return latency
    return None


def build_published_result(study: Study, overlay: Overlay, latency: Fact | None) -> Published:
    """One overlay as figures take it."""
    first = overlay.throughputs[0]
    facts = [*overlay.throughputs, *([latency] if latency else [])]
    notes = [ADDED if len(overlay.throughputs) > 1 else "", overlay.note, first.dataset]
    return Published(
        label=overlay.label,
        study=study.organisation,  # the figures add the year
        year=study.year,
        throughput_ops_s=overlay.throughput_ops_s,
        latency_us=latency.microseconds if latency else None,
        operation=latency.operation if latency else "",
        nodes=int(first.nodes) if first.nodes.isdecimal() else None,
        series=f"{first.database}, {first.workload}",
        note="; ".join(note for note in notes if note),
        qualifier=first.mark,
        disputed=" ".join(dict.fromkeys(fact.disputed for fact in facts if fact.disputed)),
    )

"""Published results beside measured ones: grey, hollow, named "published, not comparable", never a part of a claim."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchsite.core import formatting
from reports.compare.figures import points as marks
from reports.compare.figures.layout import Frame, Trace, escaped, rounded, scatter
from runs.plans.studies import Fact, Overlay, Study, studies

NAMED = "published, not comparable"
SYMBOL = "circle-cross-open"
ADDED = "sum of the printed rates of its operations"


@dataclass(frozen=True, slots=True)
class Published:
    """One number that somebody printed; throughput in operations per second, latency in microseconds.

    `qualifier` is what the print puts before the number (">", "≈"), `note` what has to be known to read it, and
    `disputed` why the number cannot be right as printed; empty where nothing speaks against it.
    """

    label: str  # "Couchbase, asynchronous, 4 nodes"
    study: str
    year: int
    throughput_ops_s: float | None
    latency_us: float | None
    note: str = ""
    qualifier: str = ""
    disputed: str = ""

    @property
    def printed(self) -> str:
        """The numbers as the print has them, short."""
        parts = []
        if is_drawn(self.throughput_ops_s):
            parts.append(
                f"{self.qualifier}{' ' if self.qualifier else ''}{formatting.throughput(self.throughput_ops_s)}"
            )
        if is_drawn(self.latency_us):
            parts.append(formatting.latency(self.latency_us))
        return " at ".join(parts)


def is_drawn(value: float | None) -> bool:
    """Whether a number has a place on an axis: nobody printed a throughput of nothing."""
    return value is not None and not formatting.is_missing(value) and value > 0


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
    doubt = ""
    if disputed:
        doubt = f"; {disputed} of them disputed"
    return f"In grey, as published and not comparable: {studies}{doubt}"


def drawn_with_latency(published: Sequence[Published]) -> list[Published]:
    """Those that have a place in the latency figure: both numbers were printed."""
    return [result for result in published if is_drawn(result.throughput_ops_s) and is_drawn(result.latency_us)]


def published_points(published: Sequence[Published], frame: Frame) -> list[Trace]:
    """One trace of all results that have both a throughput and a latency, in the latency figure's units."""
    drawn = drawn_with_latency(published)
    if not drawn:
        return []

    colour = frame.theme.grey
    return [
        scatter(
            [rounded(result.throughput_ops_s or 0.0) for result in drawn],
            [rounded((result.latency_us or 0.0) / 1e3) for result in drawn],
            NAMED,
            hover=[build_hover_text(result) for result in drawn],
            showlegend=True,
            marker=marks.marker(colour, SYMBOL, marks.MARKER_PX + 2),
        )
    ]


def overlays(
    slugs: Collection[str], *, phase: str = "", operation: str = "", statistic: str = ""
) -> tuple[Published, ...]:
    """The printed throughputs of the studies of these slugs; a slug that names no study adds nothing.

    `phase` is "" or "load". With `operation` and `statistic` ("READ", "p95") a latency is handed out only where the
    study printed that very one; without them whatever latency was printed with the throughput.
    """
    results = []
    for study in studies():
        if study.slug in slugs:
            for overlay in study.overlays:
                if overlay.phase == phase:
                    latency = _latency(overlay, operation, statistic)
                    results.append(build_published_result(study, overlay, latency))
    return tuple(results)


def choices() -> tuple[tuple[str, str], ...]:
    """The studies that have something to lay over a picture: slug and name, oldest first."""
    return tuple((study.slug, study.name) for study in studies() if study.overlays)


def _latency(overlay: Overlay, operation: str, statistic: str) -> Fact | None:
    latency = overlay.latency
    if latency is None or (operation and operation.upper() != latency.operation):
        return None
    if statistic and statistic != latency.statistic:
        return None
    return latency


def build_published_result(study: Study, overlay: Overlay, latency: Fact | None) -> Published:
    """One overlay as figures take it."""
    facts = [*overlay.throughputs, *([latency] if latency else [])]
    notes = [ADDED if len(overlay.throughputs) > 1 else "", overlay.note, overlay.throughputs[0].dataset]
    return Published(
        label=overlay.label,
        study=study.organisation,  # the figures add the year
        year=study.year,
        throughput_ops_s=overlay.throughput_ops_s,
        latency_us=latency.microseconds if latency else None,
        note="; ".join(note for note in notes if note),
        qualifier=overlay.throughputs[0].mark,
        disputed=" ".join(dict.fromkeys(fact.disputed for fact in facts if fact.disputed)),
    )

"""Published results as grey marks beside measured ones: the pack's overlays in the figures' own shape. Pure."""

from collections.abc import Collection

from reports.figures.overlay import Published
from runs.studies import Fact, Overlay, Study, studies

ADDED = "sum of the printed rates of its operations"


def overlays(
    slugs: Collection[str], *, phase: str = "", operation: str = "", statistic: str = ""
) -> tuple[Published, ...]:
    """The printed throughputs of the studies of these slugs; a slug that names no study adds nothing.

    `phase` is "" or "load". With `operation` and `statistic` ("READ", "p95") a latency is handed out only where the
    study printed that very one; without them whatever latency was printed with the throughput.
    """
    return tuple(
        published_of(study, overlay, _latency(overlay, operation, statistic))
        for study in studies()
        if study.slug in slugs
        for overlay in study.overlays
        if overlay.phase == phase
    )


def choices() -> tuple[tuple[str, str], ...]:
    """The studies that have something to lay over a picture: slug and name, oldest first."""
    return tuple((study.slug, study.name) for study in studies() if study.overlays)


def _latency(overlay: Overlay, operation: str, statistic: str) -> Fact | None:
    if operation and operation.upper() != overlay.operation:
        return None
    return None if statistic and statistic != overlay.statistic else overlay.latency


def published_of(study: Study, overlay: Overlay, latency: Fact | None) -> Published:
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
        qualifier=overlay.throughputs[0].qualifier.mark,
        disputed=" ".join(dict.fromkeys(fact.disputed for fact in facts if fact.disputed)),
    )

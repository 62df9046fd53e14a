"""The line under each figure, made by itself, and the sentences that a figure must carry."""

from collections.abc import Iterable, Sequence
from itertools import chain

from benchsite.core import formatting
from reports.compare.curves import Curve, MachineFacts, Point, collect_operations, collect_points
from reports.compare.messages import (
    CLIENTS_MERGED,
    CLIENTS_MISSING,
    CLIENTS_ON_DATABASE_MACHINES,
    COMPARE_SHAPES,
    CORES_DIVIDED,
    CPU_NOT_MEASURED,
    DROPPED,
    EXCLUDED,
    GENERATORS_CPU,
    GENERATORS_ON_CLUSTER,
    MODE_NOT_READ_BACK,
    MODE_READ_BACK,
    MODES_STATED,
    NO_FINDINGS,
    NODES_ON_ONE_MACHINE,
    NOT_MEASURED,
    ON_ONE_MACHINE,
    ONE_RUN_PER_POINT,
    OVERRIDDEN,
    POINTS_WITH_FINDINGS,
    RUNS_PER_POINT,
    STAND_INS,
)
from runs.catalog.measured_losses import find_contradiction
from runs.queue.messages import WINDOW
from runs.results.measures.sustained_load import MAX_DROPPED

Remark = tuple[str, str]  # a term, and a sentence with or without its full stop

KIND_SAYS = {"service": "service time", "response": "response time"}
KIND_HELP = {
    "service": "Service time: latency from the call to the answer",
    "response": "Response time: latency from the scheduled start, so waiting for an earlier operation counts too",
}
REPEATS = "Repeats"
BUSY_GENERATOR = "A load generator without spare CPU limits the throughput that it measures"
MAX_MACHINES = 3  # that are named
MAX_STATED = 3  # sides that are named
MAX_NOTES = 3
MAX_WORDS = 35  # of a caption
DEMONSTRATION = "Demonstration: too short to publish"
TUNING = "Tuning: not to be published"


def machine_sentence(curves: Sequence[Curve]) -> str:
    """The effect of shared machines on the numbers; empty where generators and clusters stand apart."""
    clusters: dict[str, MachineFacts] = {}
    generators: dict[str, MachineFacts] = {}
    for curve in curves:
        clusters |= {machine.id: machine for machine in curve.setup.cluster_machines}
        generators |= {machine.id: machine for machine in curve.setup.generator_machines}

    shared = clusters.keys() & generators.keys()
    if not shared:
        stated = any(curve.setup.client_on_database_host for curve in curves)
        return CLIENTS_ON_DATABASE_MACHINES if stated else ""
    if len(clusters | generators) == 1:
        cores = _cores(next(iter(clusters.values())), divided=all(curve.setup.separates_cpus for curve in curves))
        several = any(curve.setup.server_settings.get("nodes", "1") != "1" for curve in curves)
        subject = ON_ONE_MACHINE
        if several:
            subject = NODES_ON_ONE_MACHINE
        return COMPARE_SHAPES.format(subject=subject, cores=cores)

    names = formatting.listed(sorted(clusters[key].name for key in shared), MAX_MACHINES)
    return GENERATORS_ON_CLUSTER.format(machines=names)


def _cores(machine: MachineFacts, *, divided: bool) -> str:
    if not machine.cores:
        return ""
    sides = ""
    if divided and machine.cores > 1:
        sides = CORES_DIVIDED
    return f" ({formatting.counted(machine.cores, 'core')}{sides})"


def collect_notes(curves: Sequence[Curve]) -> tuple[str, ...]:
    """The notes in the picture itself, which go wherever the picture goes: the first of `list_notes`."""
    return tuple(text for _, text in list_notes(curves)[:MAX_NOTES])


def describe_purpose(curves: Sequence[Curve]) -> str:
    """Why some of the curves are not to be published; empty where all are."""
    purposes = {curve.purpose for curve in curves if not curve.publishable}
    if purposes == {"tuning"}:
        return TUNING
    return DEMONSTRATION if purposes else ""


def list_notes(curves: Sequence[Curve]) -> list[Remark]:
    """What changes the conclusion from all curves, that which changes it most first."""
    drawn = [curve for curve in curves if curve.points]
    stated = [curve.label for curve in drawn if curve.mode_stated]
    notes = [
        ("Purpose", describe_purpose(curves)),
        ("Stand-ins", stand_in_sentence(curves).rstrip(".")),
        ("Machines", machine_sentence(curves)),
        ("Loss", _contradictions(drawn)),
        ("Stated modes", MODES_STATED.format(sides=formatting.listed(stated, MAX_STATED)) if stated else ""),
        ("Ladders", _uneven(curves)),
    ]
    return [(term, text) for term, text in notes if text]


def _contradictions(curves: Sequence[Curve]) -> str:
    texts = [
        f"Loss of {curve.label}: {text}"
        for curve in curves
        if (text := find_contradiction(curve.system, curve.mode, curve.durability))
    ]
    return "; ".join(texts)


def _uneven(curves: Sequence[Curve]) -> str:
    uneven = [f"{curve.label}: {curve.shape.message[:-1]}" for curve in curves if curve.shape.severity == "warn"]
    if not uneven:
        return ""
    more = ""
    if uneven[1:]:
        more = f", and {len(uneven) - 1} more"
    return f"Uneven ladder{more}: {uneven[0]}"


def compose_caption(remarks: Iterable[Remark]) -> tuple[str, list[Remark]]:
    """The sentences that `MAX_WORDS` have room for, the first before others, and the remarks that are left."""
    sentences, left = [], []
    room = MAX_WORDS
    for term, text in remarks:
        if not text:
            continue
        sentence = f"{text.rstrip('.')}."
        words = len(sentence.split())
        if words > room:
            left.append((term, sentence))
            continue
        sentences.append(sentence)
        room -= words
    return " ".join(sentences), join_terms(left)


def join_terms(remarks: Iterable[Remark]) -> list[Remark]:
    """One remark for each term, with all sentences of that term."""
    sentences: dict[str, list[str]] = {}
    for term, text in remarks:
        sentences.setdefault(term, []).append(text)
    return [(term, " ".join(texts)) for term, texts in sentences.items()]


def caption(curves: Sequence[Curve], *, kind: str = "") -> str:
    """What is amiss, repeats, window and kind of latency; `list_conditions` has everything."""
    return compose_caption([*list_doubts(curves), *list_basics(curves, kind)])[0]


def list_doubts(curves: Sequence[Curve]) -> list[Remark]:
    """What is amiss with the points."""
    points = collect_points(curves)
    stand_ins = [("Stand-ins", stand_in_sentence(curves))]
    if not points:
        return stand_ins

    # How many points have no throughput: no ceiling or knee is made of them.
    none = sum(point.throughput_ops_s.geomean <= 0 for point in points)
    findings = sum(bool(point.worst_finding) for point in points)
    remarks = [
        *stand_ins,
        ("Throughput", f"no throughput at {formatting.counted(none, 'point')}" if none else ""),
        ("Checks", POINTS_WITH_FINDINGS.format(points=formatting.counted(findings, "point")) if findings else ""),
        ("Clients", _missing_clients(points)),
        ("Durability mode", "" if all(point.mode_verified for point in points) else _modes(points)),
        ("Left out", _left_out(points)),
        ("Dropped", _dropped(points)),
    ]
    return [(term, _capitalise(text)) for term, text in remarks]


def list_basics(curves: Sequence[Curve], kind: str = "") -> list[Remark]:
    """Repeats, window, and the kind of latency where there is one."""
    points = collect_points(curves)
    if not points:
        return []
    latency = _capitalise(KIND_SAYS[kind]) if kind else ""
    return [(REPEATS, _repeats(points)), ("Window", _window(points)), ("Latency", latency)]


def _capitalise(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def list_conditions(curves: Sequence[Curve], kind: str) -> list[Remark]:
    """Term and sentence of every condition that all figures of a page share."""
    points = collect_points(curves)
    if not points:
        return []

    conditions: list[Remark] = [
        *list_basics(curves),
        ("Latency", KIND_HELP[kind]),
        ("Clients", _clients(points)),
        ("Load generators", f"{_generators(points)}. {BUSY_GENERATOR}"),
        ("Durability mode", _modes(points)),
        ("Left out", _left_out(points) or "nothing"),
        ("Checks", _worst(points)),
        *list_notes(curves),
    ]
    # "n = 3" stays as statisticians write it.
    capitalised = [(term, text if term == REPEATS else _capitalise(text)) for term, text in conditions]
    return [(term, f"{text.rstrip('.')}.") for term, text in capitalised if text]


def not_measured(curves: Sequence[Curve], operation: str, kind: str) -> str:
    """Instead of a picture of an operation that none of the curves has: what they have."""
    measured = ", ".join(collect_operations(curves)) or "nothing"
    return NOT_MEASURED.format(kind=KIND_SAYS[kind], operation=operation, measured=measured)


def _repeats(points: Sequence[Point]) -> str:
    counted = [point for point in points if point.counts] or points
    numbers = [point.throughput_ops_s.n for point in counted] or [0]
    if max(numbers) <= 1:
        return ONE_RUN_PER_POINT
    least, most = min(numbers), max(numbers)
    return RUNS_PER_POINT.format(runs=least if least == most else f"{least} to {most}")


def _window(points: Sequence[Point]) -> str:
    windows = [point.window_s for point in points if point.window_s]
    if not windows:
        return ""
    warmups = [point.warmup_s for point in points]
    measured = formatting.duration_between(min(windows), max(windows))
    return WINDOW.format(measured=measured, warmup=formatting.duration_between(min(warmups), max(warmups)))


def _clients(points: Sequence[Point]) -> str:
    if missing := _missing_clients(points):
        return missing
    numbers = sorted({point.clients_merged for point in points})
    which = f"{numbers[0]} of {numbers[0]} clients"
    if len(numbers) > 1:
        which = f"all {numbers[0]} to {numbers[-1]} clients"
    return CLIENTS_MERGED.format(clients=which)


def _missing_clients(points: Sequence[Point]) -> str:
    partial = [point for point in points if point.clients_merged < point.clients_expected]
    if not partial:
        return ""
    worst = min(partial, key=lambda point: point.clients_merged - point.clients_expected)
    where = formatting.counted(len(partial), "point")
    return CLIENTS_MISSING.format(merged=worst.clients_merged, expected=worst.clients_expected, points=where)


def _generators(points: Sequence[Point]) -> str:
    """How busy the load generators were; of points of which nobody measured it, that too."""
    shares = [point.generator_cpu for point in points if point.generator_cpu is not None]
    if not shares:
        return CPU_NOT_MEASURED
    unknown = len(points) - len(shares)
    missing = ""
    if unknown:
        missing = f", not measured at {formatting.counted(unknown, 'point')}"
    return GENERATORS_CPU.format(most=formatting.percent(max(shares)), missing=missing)


def _modes(points: Sequence[Point]) -> str:
    missing = sum(not point.mode_verified for point in points)
    if missing:
        return MODE_NOT_READ_BACK.format(points=formatting.counted(missing, "point"))
    return MODE_READ_BACK


def _left_out(points: Sequence[Point]) -> str:
    numbers = {
        "rejected": sum(point.rejected for point in points),
        EXCLUDED: sum(len(point.excluded) for point in points),
        OVERRIDDEN: sum(len(point.overridden) for point in points),
    }
    parts = [f"{formatting.counted(number, 'run')} {outcome}" for outcome, number in numbers.items() if number]
    return " and ".join(parts)


def _dropped(points: Sequence[Point]) -> str:
    """How much of an open load is in no latency; empty where every point dropped as little as a sustained load."""
    most = max((point.dropped_share or 0.0 for point in points), default=0.0)
    if most <= MAX_DROPPED:
        return ""
    return DROPPED.format(share=formatting.percent(most))


def stand_in_sentence(curves: Sequence[Curve]) -> str:
    """How many runs do not count because their server was not the product; empty for none."""
    stand_ins = list(chain.from_iterable(curve.stand_ins for curve in curves))
    if not stand_ins:
        return ""
    kinds = " or ".join(f"a {kind}" for kind in sorted(set(stand_ins)))
    runs = formatting.counted(len(stand_ins), "run")
    return STAND_INS.format(runs=runs, kinds=kinds)


def _worst(points: Sequence[Point]) -> str:
    criticised = [point for point in points if point.worst_finding]
    if not criticised:
        return NO_FINDINGS
    worst = min(criticised, key=lambda point: not point.rejected_by)
    text = f"worst finding {worst.worst_finding.rstrip('.')}"
    if len(criticised) == 1:
        return text
    points_text = POINTS_WITH_FINDINGS.format(points=formatting.counted(len(criticised), "point"))
    return f"{text}; {points_text}"

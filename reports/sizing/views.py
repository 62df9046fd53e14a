"""The sizing page: which measured results meet a need, and with how many nodes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from benchsite.accounts.permissions import get_team, team_required
from benchsite.core import formatting
from reports.compare.analysis.equal_load import How
from reports.compare.analysis.ratios import bound_sign
from reports.compare.curves import STATISTICS, Curve
from reports.compare.ladder_text import MEASURED_ONCE, bound_reason, ceiling_label
from reports.compare.pages.equal_load import UNSUSTAINED, most_within, within_text
from reports.compare.pages.ladder import load_text
from reports.compare.queries import candidates, measured_workloads
from reports.compare.queries.reduced_loads import STOPPED, Conditions, ReducedLoad, get_conditions, read_reduced_loads
from reports.sizing.analysis import (
    FILL,
    HEADROOM,
    Need,
    Resource,
    Sizing,
    binding_ratio,
    compute_sizing,
    dollars_per_million,
    nodes_by_measurement,
    nodes_needed,
    operations_per_dollar,
    per_node,
    product_as_published,
)
from reports.sizing.question import EVENTS, OPERATIONS, Question, read_question
from runs.catalog import Durability
from runs.results.measures.recovery import RECOVERED_SHARE

HOURS_A_MONTH: Final = 730
BINDING_SAYS: Final[dict[Resource, str]] = {"throughput": "throughput", "storage": "storage", "copies": "copies"}
# More data on a node than this many times what was measured may no longer fit the caches that made it fast.
MORE_DATA = 2.0
# The numbers of the form: name, label, unit, help, placeholder.
NUMBERS = (
    ("throughput", "Throughput needed", "ops/s", "All operations together.", "200k"),
    ("within", "Latency limit", "ms", "Empty: no limit, the ceiling counts.", "2"),
    ("data", "Data", "GB", "One copy. Empty: storage is not asked about.", "4000"),
    ("copies", "Copies", "", "Of every record. Empty: as many as were measured.", "2"),
    ("node", "A node holds", "GB", "Its whole capacity.", "3200"),
    ("headroom", "Load a node takes", "", "The share of the measured throughput to use.", f"{HEADROOM}"),
    ("fill", "Fill", "", "The share of its capacity that data may take.", f"{FILL}"),
    ("price", "Price of a node", "US$/h", "Empty: what the machines' facts say.", "2"),
)


@dataclass(frozen=True, slots=True)
class Reached:
    """What one sweep does within the limit."""

    curve: Curve
    nodes: int
    throughput_ops_s: float
    how: str  # "measured at 16 threads"
    operation: str  # that binds; empty without a limit
    at_least: str = ""  # why it may do more; empty where its throughput is no lower bound
    reduced: tuple[ReducedLoad, ...] = ()  # what it did under harder conditions, as far as they were measured
    exceeded: str = ""  # how the limit was exceeded with more data; empty where it was not

    @property
    def safe(self) -> ReducedLoad | None:
        """The condition under which it did least; None where it did no less than without."""
        lowest = min(self.reduced, key=lambda load: load.throughput_ops_s, default=None)
        return lowest if lowest and lowest.throughput_ops_s < self.throughput_ops_s else None

    @property
    def safe_ops_s(self) -> float:
        """The safe load, by which nodes are counted."""
        return self.safe.throughput_ops_s if self.safe else self.throughput_ops_s

    @property
    def sign(self) -> str:
        """Before its throughput."""
        return "≥ " if self.at_least else ""

    @property
    def safe_sign(self) -> str:
        """Before its safe load, and what a dollar buys."""
        return "≥ " if self.at_least and not self.safe else ""


class LimitExceeded(str):
    """Why a sweep does not qualify: the limit is exceeded at every load measured."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One result that meets the need. Prices are US$; None where none is stated."""

    reached: Reached  # on the largest cluster measured
    sizing: Sizing
    scaling: str  # what is assumed or known of more nodes
    question: Question
    price: float | None  # per node and hour
    bound: Literal["", "at most", "open"] = ""  # of the nodes that the throughput takes

    @property
    def sign(self) -> str:
        """Before the nodes and what they cost: exact where another resource needs more of them in any case."""
        if self.sizing.binding != "throughput":
            return "" if self.bound != "open" else "≈ "
        return {"at most": "≤ ", "open": "≈ "}.get(self.bound, "")

    @property
    def cost_sign(self) -> str:
        """Before US$ per million operations of the measured cluster."""
        return "≤ " if self.reached.safe_sign else ""

    @property
    def curve(self) -> Curve:
        return self.reached.curve

    @property
    def copies(self) -> int:
        """That were measured."""
        return self.curve.setup.replication_factor or 1

    @property
    def held_bytes(self) -> float | None:
        """On a node, as it was measured."""
        setup = self.curve.setup
        if not setup.records or not setup.record_bytes:
            return None
        return setup.records * setup.record_bytes * self.copies / self.reached.nodes

    @property
    def asked_bytes(self) -> float:
        """On a node."""
        return (self.question.data_gb or 0.0) * 1e9 * (self.question.copies or self.copies) / self.sizing.nodes

    @property
    def holds_much_more(self) -> bool:
        return self.held_bytes is not None and self.asked_bytes > MORE_DATA * self.held_bytes

    @property
    def lacks_a_stopped_node(self) -> bool:
        """Whether a cluster was not measured at this load with one of its nodes stopped."""
        conditions = {load.condition for load in self.reached.reduced}
        return (self.curve.setup.server_nodes or 1) > 1 and STOPPED not in conditions

    @property
    def node_ops_s(self) -> float:
        return per_node(self.reached.safe_ops_s, self.reached.nodes) or 0.0

    @property
    def binding(self) -> str:
        return BINDING_SAYS[self.sizing.binding]

    @property
    def parts(self) -> str:
        """What each resource alone would need."""
        return ", ".join(f"{BINDING_SAYS[resource]} {nodes}" for resource, nodes in self.sizing.parts.items())

    @property
    def measured_price(self) -> float | None:
        return self.price * self.reached.nodes if self.price else None

    @property
    def operations_per_dollar(self) -> float | None:
        return operations_per_dollar(self.reached.safe_ops_s, self.measured_price)

    @property
    def dollars_per_million(self) -> float | None:
        return dollars_per_million(self.reached.safe_ops_s, self.measured_price)

    @property
    def dollars_an_hour(self) -> float | None:
        return self.price * self.sizing.nodes if self.price else None

    @property
    def dollars_a_month(self) -> float | None:
        return self.dollars_an_hour * HOURS_A_MONTH if self.dollars_an_hour else None


def answer(
    curves: Iterable[Curve],
    question: Question,
    at_faults: Mapping[Conditions, Sequence[ReducedLoad]] = MappingProxyType({}),
) -> dict[str, Any]:
    """From measured sweeps only; sweeps of one matrix that differ in the number of nodes answer together.

    Those that qualify, the cheapest first (the fewest nodes where prices are not known), and those that do not.
    """
    refused: list[dict[str, object]] = []
    measurements = [(curve, reached(curve, question)) for curve in curves]
    readings: list[Reached] = []
    for curve, measured in measurements:
        if isinstance(measured, Reached):
            readings.append(measured)
        else:
            refused.append({"curve": curve, "reason": measured})
    series: dict[tuple[object, ...], dict[int, Reached]] = defaultdict(dict)
    for reading in readings:
        # The newest comes first; another sweep of the same size in the same matrix stands for itself.
        curve, nodes = reading.curve, reading.nodes
        setup = curve.setup
        # Equal for sweeps that differ in their number of nodes only.
        same = (curve.system, setup.version, curve.mode, curve.workload, setup.replication_factor, curve.purpose)
        key = (curve.matrix_id or curve.sweep_id, *same)
        # A smaller load says nothing about what this one would have done.
        least_ops_s = RECOVERED_SHARE * reading.throughput_ops_s
        at_load = [load for load in at_faults.get(get_conditions(curve), ()) if load.level_ops_s >= least_ops_s]
        more_data = _with_more_data(reading, measurements)
        if isinstance(more_data, ReducedLoad):
            at_load.append(more_data)
        exceeded = more_data if isinstance(more_data, str) else ""
        reading = replace(reading, reduced=tuple(at_load), exceeded=exceeded)
        series[key if nodes not in series[key] else (*key, curve.sweep_id)][nodes] = reading
    answers: list[Answer] = []
    for sizes in series.values():
        sized = _answer(sizes, question)
        if isinstance(sized, Answer):
            answers.append(sized)
        else:
            refused.append({"curve": sizes[max(sizes)].curve, "reason": sized})
    answers.sort(key=lambda sized: (sized.dollars_an_hour or float("inf"), sized.sizing.nodes, -sized.node_ops_s))
    return {
        "answers": answers,
        "refused": refused,
        "priced": any(answer.price for answer in answers),
        "against": _beside_the_first(answers),
    }


def _with_more_data(
    reading: Reached, measurements: Sequence[tuple[Curve, Reached | str]]
) -> ReducedLoad | LimitExceeded | None:
    """What the newest sweep of the same database with twice the records or more did within the limit."""
    records = reading.curve.setup.records
    same = get_conditions(reading.curve, with_records=False)
    for curve, measured in measurements:
        more = curve.setup.records
        is_same = get_conditions(curve, with_records=False) == same and curve.source == reading.curve.source
        if records and more and is_same and more >= MORE_DATA * records:
            condition = f"with {formatting.exact(round(more / records, 1))} times the data"
            if isinstance(measured, Reached):
                return ReducedLoad(measured.throughput_ops_s, condition, reading.throughput_ops_s)
            if isinstance(measured, LimitExceeded):
                return LimitExceeded(f"{condition}: {measured.rstrip('.')}")
    return None


def _beside_the_first(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """How many times the nodes each other answer takes, as the study of 2017 multiplies it and as it binds.

    Empty where storage is not asked for, for then there is one ratio only. `sign` is of the ratio of throughputs; None:
    both are lower bounds.
    """
    first = next(iter(answers), None)
    if first is None or "storage" not in first.sizing.parts:
        return []
    rows = []
    for answer in answers[1:]:
        throughput_ratio = first.node_ops_s / answer.node_ops_s
        storage_ratio = answer.sizing.parts["storage"] / first.sizing.parts["storage"]
        rows.append(
            {
                "curve": answer.curve,
                "throughput_ratio": throughput_ratio,
                "storage_ratio": storage_ratio,
                "sign": bound_sign(bool(first.reached.at_least), bool(answer.reached.at_least)),
                "product": product_as_published(storage_ratio, throughput_ratio),
                "binding": binding_ratio(storage_ratio, throughput_ratio),
            }
        )
    return rows


def reached(curve: Curve, question: Question) -> Reached | str:
    """What a sweep does within the limit, or the reason for which it does not qualify."""
    if missing := not_survived(curve, question.survives):
        return missing
    if not curve.counted:
        return "No point of it counts."
    if not curve.setup.nodes:
        return "The number of nodes is not stated."
    if not curve.within_ceiling:
        return f"{UNSUSTAINED[0].upper()}{UNSUSTAINED[1:]}."
    if question.limit_us is None:
        if curve.ceiling is None:
            return "No operation ended on any of its rungs."
        label = ceiling_label([curve.ceiling])
        at = f"{'the highest measured' if label == MEASURED_ONCE else 'its ceiling'}, at {load_text(curve.ceiling)}"
        return Reached(
            curve, curve.setup.nodes, curve.ceiling.throughput_ops_s, at, "", at_least=bound_reason(curve.ceiling)
        )
    kind = curve.latency_kind
    names = [question.operation] if question.operation else measured_operations(curve, kind)
    within = [(name, most_within(curve, name, question.statistic, kind, question.limit_us)) for name in names]
    if not within or (lacking := [name for name, reading in within if reading.how is How.NOT_REACHED]):
        subject = lacking[0] if within else "any operation"
        return f"{STATISTICS[question.statistic]} of {subject} was not measured."
    name, worst = min(within, key=lambda pair: pair[1].throughput_ops_s or 0.0)
    if worst.throughput_ops_s is None:
        statistic, limit = STATISTICS[question.statistic], formatting.latency(question.limit_us)
        lowest = worst.between[0]
        least = f"{formatting.latency(lowest.latency_us)} at {formatting.throughput(lowest.throughput_ops_s)}"
        return LimitExceeded(f"{statistic} of {name} is above {limit} even on its lowest rung: {least}.")
    at_least = bound_reason(curve.ceiling) if worst.at_least and curve.ceiling else ""
    return Reached(curve, curve.setup.nodes, worst.throughput_ops_s, within_text(worst), name, at_least)


def measured_operations(curve: Curve, kind: str) -> list[str]:
    return sorted(
        {operation.operation for point in curve.counted for operation in point.operations if operation.kind == kind}
    )


def not_survived(curve: Curve, events: Sequence[str]) -> str:
    """Why a write of this mode may be lost; empty where it outlives all the events."""
    if not events:
        return ""
    try:
        survives = Durability.from_dict(curve.durability).survives
    except (ValueError, TypeError):
        return "The durability mode is not stated, so what it survives is unknown."
    lost = [EVENTS[event] for event in events if not survives[event]]
    return f"An acknowledged write may not survive {' or '.join(lost)}." if lost else ""


def _answer(sizes: dict[int, Reached], question: Question) -> Answer | str:
    # Of clusters of several sizes, conditions that all of them have.
    common = set[str].intersection(*({load.condition for load in reading.reduced} for reading in sizes.values()))
    sizes = {
        nodes: replace(reading, reduced=tuple(load for load in reading.reduced if load.condition in common))
        for nodes, reading in sizes.items()
    }
    largest = sizes[max(sizes)]
    largest = replace(largest, exceeded=next((size.exceeded for size in sizes.values() if size.exceeded), ""))
    # The need of one result: as many copies as were measured where the question names no number.
    need = Need(
        throughput_ops_s=question.throughput_ops_s or 0.0,
        data_gb=question.data_gb or 0.0,
        copies=question.copies or largest.curve.setup.replication_factor or 1,
        node_gb=question.node_gb if question.data_gb else None,
        headroom=question.headroom,
        fill=question.fill,
    )
    bound: Literal["", "at most", "open"] = "at most" if largest.safe_sign else ""
    if len(sizes) == 1:
        sizing = nodes_needed(need, largest.safe_ops_s / largest.nodes)
        scaling = f"linear scaling assumed from {largest.nodes} node{'' if largest.nodes == 1 else 's'}"
    else:
        measured = {nodes: reading.safe_ops_s for nodes, reading in sizes.items()}
        short = [nodes for nodes, reading in sizes.items() if reading.safe_sign]
        by_measurement = nodes_by_measurement(measured, need.throughput_ops_s / need.headroom, short)
        if by_measurement is None and largest.safe_sign:
            return f"{_listed(sizes)} nodes were measured, and {largest.nodes} may do more: {largest.at_least}."
        if by_measurement is None:
            return f"More nodes brought no more: {_listed(sizes)} nodes were measured, and none reaches the need."
        sizing, bound = compute_sizing(need, by_measurement.nodes), by_measurement.bound
        beyond = ", extrapolated beyond" if by_measurement.extrapolated else ""
        scaling = f"scaling measured on {_listed(sizes)} nodes{beyond}"
    if sizing is None:
        return "It did nothing within the limit."
    price = question.price
    if price is None and largest.curve.setup.price_per_hour:
        price = largest.curve.setup.price_per_hour / largest.nodes
    return Answer(largest, sizing, scaling, question, price, bound)


def _listed(sizes: Iterable[int]) -> str:
    *first, last = (str(nodes) for nodes in sorted(sizes))
    return f"{', '.join(first)} and {last}" if first else last


@team_required("GET")
def sizing(request: HttpRequest) -> HttpResponseBase:
    team, question = get_team(request), read_question(request.GET)
    numbers = [
        {
            "name": name,
            "label": label,
            "unit": unit,
            "help": text,
            "placeholder": placeholder,
            "value": question.texts.get(name, ""),
            "error": question.problems.get(name, ""),
        }
        for name, label, unit, text, placeholder in NUMBERS
    ]
    measured = None
    if question.answerable:
        measured = candidates(team, workload=question.workload, every_purpose=question.every_purpose)
    context = {
        "question": question,
        "load": numbers[:2],
        "storage": numbers[2:],
        "operations": OPERATIONS,
        "statistics": STATISTICS.items(),
        "events": EVENTS.items(),
        "workloads": measured_workloads(team),
        "found": measured,
        "result": None,
    }
    if measured:
        at_faults = read_reduced_loads(team, measured["curves"], every_purpose=question.every_purpose)
        context["result"] = answer(measured["curves"], question, at_faults)
    return render(request, "reports/sizing.html", context)

"""The sizing page: which measured results meet a need, and with how many nodes."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Self

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from benchsite.accounts.permissions import get_team, team_required
from benchsite.core import formatting
from reports.compare.analysis.equal_load import How
from reports.compare.analysis.ratios import bound_sign
from reports.compare.curves import STATISTICS, Curve, Standing
from reports.compare.figures.points import STANDING_SAYS
from reports.compare.ladder_text import MEASURED_ONCE, bound_reason, ceiling_label
from reports.compare.pages.equal_load import most_within, within_text
from reports.compare.pages.ladder import load_text
from reports.compare.queries.reduced_loads import STOPPED, Conditions, ReducedLoad, get_conditions, read_reduced_loads
from reports.sizing.analysis import (
    Bound,
    Resource,
    binding_ratio,
    count_nodes,
    dollars_per_million,
    nodes_by_measurement,
    operations_per_dollar,
    per_node,
    product_as_published,
    scale_linearly,
)
from reports.sizing.forms import EVENTS, QuestionForm
from reports.sizing.queries import candidates, measured_workloads
from runs.catalog import Durability
from runs.results.measures.recovery import RECOVERED_SHARE

HOURS_A_MONTH: Final = 730
# More data on a node than this many times what was measured may no longer fit the caches that made it fast.
MORE_DATA = 2.0
SIGNS: Final = {"": "", "at most": "≤ ", "open": "≈ "}
Question = Mapping[str, Any]  # `QuestionForm.cleaned_data`
Refusal = dict[str, Any]


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
    exceeded: Refusal | None = None  # how the limit was exceeded with more data

    @property
    def conditions(self) -> set[str]:
        return {load.condition for load in self.reduced}

    def restrict(self, conditions: Collection[str]) -> Self:
        return replace(self, reduced=tuple(load for load in self.reduced if load.condition in conditions))

    @property
    def safe(self) -> ReducedLoad | None:
        """The condition under which it did least; None where it did no less than without."""
        lower = [load for load in self.reduced if load.throughput_ops_s < self.throughput_ops_s]
        return min(lower, key=lambda load: load.throughput_ops_s, default=None)

    @property
    def safe_ops_s(self) -> float:
        """The safe load, by which nodes are counted."""
        return self.safe.throughput_ops_s if self.safe else self.throughput_ops_s

    @property
    def sign(self) -> str:
        """Before its throughput."""
        if self.at_least:
            return "≥ "
        return ""

    @property
    def safe_sign(self) -> str:
        """Before its safe load, and what a dollar buys."""
        if self.at_least and not self.safe:
            return "≥ "
        return ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One result that meets the need. Prices are US$; None where none is stated."""

    reached: Reached  # on the largest cluster measured
    parts: Mapping[Resource, int]  # the nodes that each resource alone needs
    sizes: Sequence[int]  # of the clusters measured
    extrapolated: bool  # beyond the largest of them
    question: Question
    price: float | None  # per node and hour
    bound: Bound  # of the nodes that the throughput takes

    @property
    def nodes(self) -> int:
        return max(self.parts.values())

    @property
    def binding(self) -> Resource:
        """The resource that needs the most nodes."""
        return max(self.parts, key=lambda resource: self.parts[resource])

    @property
    def sign(self) -> str:
        """Before the nodes and what they cost: exact where another resource needs more of them in any case."""
        if self.binding != "throughput" and self.bound == "at most":
            return ""
        return SIGNS[self.bound]

    @property
    def cost_sign(self) -> str:
        """Before US$ per million operations of the measured cluster."""
        if self.reached.safe_sign:
            return "≤ "
        return ""

    @property
    def curve(self) -> Curve:
        return self.reached.curve

    @property
    def copies(self) -> int:
        """The copies that were measured."""
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
        return (self.question["data"] or 0.0) * 1e9 * (self.question["copies"] or self.copies) / self.nodes

    @property
    def holds_much_more(self) -> bool:
        return self.held_bytes is not None and self.asked_bytes > MORE_DATA * self.held_bytes

    @property
    def lacks_a_stopped_node(self) -> bool:
        """Whether a cluster was not measured at this load with one of its nodes stopped."""
        return (self.curve.setup.nodes or 1) > 1 and STOPPED not in self.reached.conditions

    @property
    def node_ops_s(self) -> float:
        return per_node(self.reached.safe_ops_s, self.reached.nodes) or 0.0

    @property
    def measured_price(self) -> float | None:
        if self.price:
            return self.price * self.reached.nodes
        return None

    @property
    def operations_per_dollar(self) -> float | None:
        return operations_per_dollar(self.reached.safe_ops_s, self.measured_price)

    @property
    def dollars_per_million(self) -> float | None:
        return dollars_per_million(self.reached.safe_ops_s, self.measured_price)

    @property
    def dollars_an_hour(self) -> float | None:
        if self.price:
            return self.price * self.nodes
        return None

    @property
    def dollars_a_month(self) -> float | None:
        if self.dollars_an_hour:
            return self.dollars_an_hour * HOURS_A_MONTH
        return None


Measurements = Sequence[tuple[Curve, Reached | Refusal]]


def answer(
    curves: Iterable[Curve],
    question: Question,
    at_faults: Mapping[Conditions, Sequence[ReducedLoad]] = MappingProxyType({}),
) -> dict[str, Any]:
    """From measured sweeps only; sweeps of one matrix that differ in the number of nodes answer together.

    Those that qualify, the cheapest first (the fewest nodes where prices are not known), and those that do not.
    """
    measurements = [(curve, measure(curve, question)) for curve in curves]
    refused: list[Refusal] = []
    series: dict[tuple[object, ...], dict[int, Reached]] = defaultdict(dict)
    for curve, reading in measurements:
        if not isinstance(reading, Reached):
            refused.append(reading)
            continue
        setup = curve.setup
        # Equal for sweeps of a matrix that differ in their number of nodes only.
        key: tuple[object, ...] = (
            curve.matrix_id or curve.sweep_id, curve.system, setup.version, curve.mode, curve.workload,
            setup.replication_factor, curve.purpose,
        )  # fmt: skip
        # The newest comes first; another sweep of the same size in the same matrix stands for itself.
        if reading.nodes in series[key]:
            key = (*key, curve.sweep_id)
        series[key][reading.nodes] = _reduce(reading, measurements, at_faults.get(get_conditions(curve), ()))

    answers: list[Answer] = []
    for sizes in series.values():
        sized = _answer(sizes, question)
        if isinstance(sized, Answer):
            answers.append(sized)
        else:
            refused.append(sized)
    answers.sort(key=lambda sized: (sized.dollars_an_hour or math.inf, sized.nodes, -sized.node_ops_s))

    return {
        "answers": answers,
        "refused": refused,
        "priced": any(answer.price for answer in answers),
        "against": _compare_with_first(answers),
    }


def _reduce(reading: Reached, measurements: Measurements, at_faults: Sequence[ReducedLoad]) -> Reached:
    """With what it did under harder conditions."""
    # A smaller load says nothing about what this one would have done.
    least_ops_s = RECOVERED_SHARE * reading.throughput_ops_s
    at_load = [load for load in at_faults if load.level_ops_s >= least_ops_s]
    factor, more_data = _find_more_data(reading, measurements)
    if isinstance(more_data, Reached):
        condition = f"with {factor} times the data"
        at_load.append(ReducedLoad(more_data.throughput_ops_s, condition, reading.throughput_ops_s))
    elif more_data:
        return replace(reading, reduced=tuple(at_load), exceeded={**more_data, "factor": factor})
    return replace(reading, reduced=tuple(at_load))


def _find_more_data(reading: Reached, measurements: Measurements) -> tuple[str, Reached | Refusal | None]:
    """The result of the newest sweep of the same database with twice the records or more, and the factor."""
    records = reading.curve.setup.records
    same = (get_conditions(reading.curve, with_records=False), reading.curve.source)
    for curve, measured in measurements:
        more = curve.setup.records
        is_same = (get_conditions(curve, with_records=False), curve.source) == same
        says_something = isinstance(measured, Reached) or measured["code"] == "exceeded"
        if records and more and is_same and says_something and more >= MORE_DATA * records:
            return formatting.exact(round(more / records, 1)), measured
    return "", None


def _compare_with_first(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """How many times the nodes each other answer takes, as the study of 2017 multiplies it and as it binds.

    Empty where storage is not asked for, for then there is one ratio only. `sign` is of the ratio of throughputs; None:
    both are lower bounds.
    """
    if not answers or "storage" not in answers[0].parts:
        return []

    first, *others = answers
    rows = []
    for answer in others:
        throughput_ratio = first.node_ops_s / answer.node_ops_s
        storage_ratio = answer.parts["storage"] / first.parts["storage"]
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


def _refuse(curve: Curve, code: str, **values: Any) -> Refusal:
    """Why a sweep does not qualify; `sizing/refusal.txt` has the words."""
    return {"curve": curve, "code": code, **values}


def measure(curve: Curve, question: Question) -> Reached | Refusal:
    """The result of a sweep within the limit, or the reason for which it does not qualify."""
    nodes, ceiling = curve.setup.nodes, curve.ceiling
    if question["survives"]:
        try:
            survives = Durability.from_dict(curve.durability).survives
        except (ValueError, TypeError):
            return _refuse(curve, "mode_not_stated")
        lost = [EVENTS[event] for event in question["survives"] if not survives[event]]
        if lost:
            return _refuse(curve, "not_survived", lost=lost)

    if not curve.points:
        return _refuse(curve, "no_run")
    if not curve.counted:
        present = {point.standing for point in curve.points}
        reasons = [STANDING_SAYS[standing] for standing in Standing if standing in present]
        return _refuse(curve, "no_point", reasons=reasons)
    if not nodes:
        return _refuse(curve, "nodes_not_stated")
    if not curve.within_ceiling:
        return _refuse(curve, "not_sustained")
    if question["within"] is None:
        if ceiling is None:
            return _refuse(curve, "no_operation")
        name = "its ceiling"
        if ceiling_label([ceiling]) == MEASURED_ONCE:
            name = "the highest measured"
        load = f"{name}, at {load_text(ceiling)}"
        return Reached(curve, nodes, ceiling.throughput_ops_s, how=load, operation="", at_least=bound_reason(ceiling))

    kind, limit_us = curve.latency_kind, question["within"] * 1000
    names = [question["op"]]
    if not question["op"]:
        operations = chain.from_iterable(point.operations for point in curve.counted)
        names = sorted({operation.operation for operation in operations if operation.kind == kind})

    statistic = STATISTICS[question["stat"]]
    readings = {name: most_within(curve, name, question["stat"], kind, limit_us) for name in names}
    lacking = [name for name, reading in readings.items() if reading.how is How.NOT_REACHED]
    if lacking or not readings:
        return _refuse(curve, "not_measured", statistic=statistic, operation=next(iter(lacking), "any operation"))

    name = min(readings, key=lambda name: readings[name].throughput_ops_s or 0.0)
    worst = readings[name]
    if worst.throughput_ops_s is None:
        lowest = worst.between[0]
        return _refuse(curve, "exceeded", statistic=statistic, operation=name, limit_us=limit_us, lowest=lowest)

    at_least = ""
    if worst.at_least and ceiling:
        at_least = bound_reason(ceiling)
    return Reached(curve, nodes, worst.throughput_ops_s, how=within_text(worst), operation=name, at_least=at_least)


def _answer(sizes: dict[int, Reached], question: Question) -> Answer | Refusal:
    # Of clusters of several sizes, conditions that all of them have.
    common = set[str].intersection(*(reading.conditions for reading in sizes.values()))
    sizes = {nodes: sizes[nodes].restrict(common) for nodes in sorted(sizes)}
    exceeded = [size.exceeded for size in sizes.values() if size.exceeded]
    largest = replace(sizes[max(sizes)], exceeded=exceeded[0] if exceeded else None)
    curve, setup = largest.curve, largest.curve.setup
    required_ops_s = question["throughput"] / question["headroom"]
    bound: Bound = "at most" if largest.safe_sign else ""
    extrapolated = False
    if len(sizes) == 1:
        nodes = scale_linearly(required_ops_s, largest.safe_ops_s / largest.nodes)
        if nodes is None:
            return _refuse(curve, "nothing_within")
    else:
        measured = {nodes: reading.safe_ops_s for nodes, reading in sizes.items()}
        short = [nodes for nodes, reading in sizes.items() if reading.safe_sign]
        by_measurement = nodes_by_measurement(measured, required_ops_s, short)
        if by_measurement is None:
            return _refuse(curve, "no_more_by_nodes", sizes=list(sizes), largest=largest)
        nodes, extrapolated, bound = by_measurement

    # As many copies as were measured where the question names no number.
    parts = count_nodes(
        nodes,
        data_gb=question["data"] or 0.0,
        copies=question["copies"] or setup.replication_factor or 1,
        node_gb=question["data"] and question["node"],
        fill=question["fill"],
    )
    price = question["price"]
    if price is None and setup.price_per_hour:
        price = setup.price_per_hour / largest.nodes
    return Answer(
        reached=largest,
        parts=parts,
        sizes=list(sizes),
        extrapolated=extrapolated,
        question=question,
        price=price,
        bound=bound,
    )


@team_required("GET")
def sizing(request: HttpRequest) -> HttpResponseBase:
    team = get_team(request)
    form = QuestionForm(request.GET)
    form.fields["workload"].offer(measured_workloads(team))
    context: dict[str, Any] = {"form": form}
    if form.is_answerable:
        question = form.cleaned_data
        measured = candidates(team, workload=question["workload"], every_purpose=question["any"])
        at_faults = read_reduced_loads(team, measured["curves"], every_purpose=question["any"])
        context |= {"question": question, "found": measured, "result": answer(measured["curves"], question, at_faults)}
    return render(request, "reports/sizing.html", context)

"""The sizing page: which measured results meet a need, and with how many nodes."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_of, team_required
from reports.analysis.sizing import FILL, HEADROOM
from reports.curves import STATISTICS
from reports.pages.question import EVENTS, OPERATIONS, Question, read_question
from reports.pages.sizing import answer
from reports.queries import candidates, measured_workloads


@dataclass(frozen=True, slots=True)
class NumberField:
    """One number of the form, as it was typed, with what is wrong about it."""

    name: str
    label: str
    unit: str
    help: str
    placeholder: str
    value: str
    error: str


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


@require_GET
@team_required
def sizing(request: HttpRequest) -> HttpResponseBase:
    team, question = team_of(request), read_question(request.GET)
    found, numbers = None, list(number_fields(question))
    if question.answerable:
        found = candidates(team, workload=question.workload, every_purpose=question.every_purpose)
    context = {
        "question": question,
        "load": numbers[:2],
        "storage": numbers[2:],
        "operations": OPERATIONS,
        "statistics": STATISTICS.items(),
        "events": EVENTS.items(),
        "workloads": measured_workloads(team),
        "found": found,
        "result": answer(found.curves, question) if found else None,
    }
    return render(request, "reports/sizing.html", context)


def number_fields(question: Question) -> Iterator[NumberField]:
    for name, label, unit, text, placeholder in NUMBERS:
        problem = question.problems.get(name, "")
        yield NumberField(name, label, unit, text, placeholder, question.texts.get(name, ""), problem)

"""The sizing page: which measured results meet a need, and with how many nodes."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from benchsite.teams.permissions import team_of, team_required
from reports.analysis.sizing import FILL, HEADROOM
from reports.curves import STATISTICS
from reports.pages.sizing import answer
from reports.pages.sizing_question import EVENTS, OPERATIONS, read_question
from reports.queries import candidates, measured_workloads

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


@require_GET
@team_required
def sizing(request: HttpRequest) -> HttpResponseBase:
    team, question = team_of(request), read_question(request.GET)
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
        "result": answer(measured.curves, question) if measured else None,
    }
    return render(request, "reports/sizing.html", context)

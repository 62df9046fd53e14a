"""Load generators and the queue."""

from typing import cast

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from benchsite.accounts import audit
from benchsite.accounts.models import User
from benchsite.accounts.permissions import get_team, is_operator, operator_required, team_required
from benchsite.core.responses import part_template
from runs.catalog import generators
from runs.models import LoadGenerator
from runs.queue.pages.queue import queue as read_queue, waiting_runs
from runs.results.pages.lists import get_page
from workers.conductor.queries import queue_lines
from workers.generator.enrolment import make_code, revoke
from workers.generator.fleet import FleetFilter, add_activity, get_fleet, health, list_bindings

MAX_WAITING_RUNS = 200  # on the page of the queue


@team_required("GET")
def load_generators(request: HttpRequest) -> HttpResponse:
    """A page of them, and of all how many are in which state."""
    team = get_team(request)
    chosen = FleetFilter(request.GET)
    fleet = get_fleet(team)
    rows = chosen.apply(fleet)
    if not request.htmx:  # type: ignore[attr-defined]
        chosen.offer(binding=list_bindings(fleet))
    context = {"filter": chosen, "health": health(rows), "is_operator": is_operator(request)}
    page = get_page(request, chosen.narrow(rows))
    context |= {"page": page, "generators": add_activity(team, page.object_list)}
    return render(request, part_template(request, "workers/load_generators"), context)


@operator_required("POST")
def release_load_generator(request: HttpRequest) -> HttpResponse:
    """End a quarantine by hand."""
    name = request.POST.get("name", "")
    if generators.release(name):
        audit.note("generator_released", team=None, actor=cast(User, request.user), subject=name)
        messages.success(request, f"{name} is released from quarantine.")
    return redirect("load-generators")


@operator_required("POST")
def calibrate(request: HttpRequest) -> HttpResponse:
    """Have a load generator measure what it can generate."""
    name = request.POST.get("name", "")
    try:
        generators.request_calibration(name)
    except generators.CalibrationRefused as refusal:
        messages.error(request, str(refusal))
    except LoadGenerator.DoesNotExist as error:
        raise Http404 from error
    else:
        messages.success(request, f"{name} is calibrated as soon as no run holds its machine.")
    return redirect("load-generators")


@operator_required("POST")
def enrolment(request: HttpRequest) -> HttpResponse:
    """Make an enrolment code of a load generator, which this answer alone shows, or revoke its credential."""
    name = request.POST.get("name", "").strip()
    user = cast(User, request.user)
    try:
        validate_slug(name)
    except ValidationError:
        messages.error(request, "The name of a load generator has letters, digits, hyphens and underscores only.")
        return redirect("load-generators")

    if "revoke" in request.POST:
        if revoke(name, user):
            messages.success(request, f"The credential of {name} is revoked.")
        else:
            messages.success(request, f"{name} has no valid credential.")
        return redirect("load-generators")

    response = render(request, "workers/enrolment.html", {"name": name, "code": make_code(name, user)})
    response["Cache-Control"] = "no-store"
    return response


@operator_required("POST")
def allow_move(request: HttpRequest) -> HttpResponse:
    """Let the next host that registers this load generator's name have it."""
    name = request.POST.get("name", "")
    if not generators.allow_move(name):
        raise Http404
    audit.note("generator_may_move", team=None, actor=cast(User, request.user), subject=name)
    messages.success(request, f"The next host that registers {name} takes the name over.")
    return redirect("load-generators")


@team_required("GET")
def queue(request: HttpRequest) -> HttpResponse:
    state = read_queue(waiting_runs()[:MAX_WAITING_RUNS])
    lines = queue_lines(get_team(request), state)
    ends_at = None
    # No end can be predicted while a run waits for what gives no sign of life.
    if not any(line["in_vain"] for line in lines):
        ends_at = max(state.free_at.values(), default=None)
    context = {
        "holding": [line for line in lines if line["row"].holds],
        "waiting": [line for line in lines if not line["row"].holds],
        "waiting_total": state.waiting,
        "ends_at": ends_at,
    }
    return render(request, part_template(request, "workers/queue"), context)

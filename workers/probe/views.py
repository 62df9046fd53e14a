"""Benchmark my server: from an address to the first curve in two forms, for every system with a client."""

from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from benchsite.accounts.permissions import get_team, get_user, is_operator, team_required
from benchsite.core.addresses import split_address
from benchsite.core.responses import form_status
from runs.catalog import STATED_SUFFIX, OwnMode, System, data_target, load_catalog
from runs.catalog.data_confirmations import confirm, find_confirmation
from runs.catalog.views.clusters import may_edit
from runs.models import Cluster, Database, Node
from runs.plans import PlanError
from runs.queue.spec import describe_window
from runs.ycsb.properties import WORKLOAD_PROPERTIES
from workers.generator.host_identity import host_key
from workers.probe.check_jobs import CheckRefused, read_check, start_check
from workers.probe.forms import MEASURE_S, SETTLE_S, WARMUP_S, FirstMatrixForm, ServerForm
from workers.probe.server_checks import TargetChecks
from workers.provision.listeners import Listing, find_servers, list_connections_once, list_programs

OTHER_BUTTONS = {"as-it-is", "choose", "confirm"}  # of the second page, beside that which submits its form
AS_IT_IS = f"as-it-is{STATED_SUFFIX}"


@team_required("GET", "POST")
def own_server(request: HttpRequest) -> HttpResponse:
    """The first form: address and credentials. The server is saved when it answers."""
    _refuse_unless_allowed(request)
    team = get_team(request)
    is_final = request.method == "POST" and "fill" not in request.POST
    form = ServerForm(request.POST.dict(), is_final=is_final, team=team, operator=is_operator(request))
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        system, check = form.systems[form.cleaned_data["system"]], uuid4()
        try:
            context["progress"] = start_check(
                team,
                check,
                system,
                form.cleaned_data["address"].split(", "),
                form.cleaned_data["properties"],
                lambda target: form.save(target).pk,
            )
        except CheckRefused as error:
            form.add_error(None, str(error))
        else:
            return render(request, "workers/own_server.html", {**context, "check": check}, status=202)
    return render(request, "workers/own_server.html", context, status=form_status(form))


@team_required("GET")
def server_check(request: HttpRequest, check: UUID) -> HttpResponse:
    """The panel of a check, which polls itself until it has ended; then the next page where the server can be used."""
    _refuse_unless_allowed(request)
    progress = read_check(get_team(request), check)
    if progress is None:
        raise Http404
    if progress.saved:
        address = reverse("own-server-first", args=[progress.saved])
        if request.htmx:  # type: ignore[attr-defined]
            return HttpResponseClientRedirect(address)
        return redirect(address)
    database = Database.objects.filter(pk=check).first()
    return render(request, "workers/server_check.html", {"check": check, "progress": progress, "database": database})


@team_required("GET", "POST")
def own_server_first(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The checks of a described server and the second form, which submits the first matrix."""
    _refuse_unless_allowed(request)
    team = get_team(request)
    database = get_object_or_404(Database.objects.select_related("cluster"), pk=pk)
    system = load_catalog().system(database.system, database.flavour, database.own_modes)
    window = describe_window(MEASURE_S, WARMUP_S, SETTLE_S)
    context: dict[str, Any] = {"database": database, "check": pk, "window": window, "process": system.process}
    previous = read_check(team, pk)
    progress = None if "again" in request.GET else previous
    place = _data_target(database, system)
    allowed = place if previous and previous.allowed == place else ""
    target = progress.target if progress else None
    is_confirmed = find_confirmation(database.cluster, place) is not None
    if "as-it-is" in request.POST and target and target.differences:
        _state_mode(database, system, target)
        return redirect(f"{reverse('own-server-first', args=[pk])}?again=1")
    if "confirm" in request.POST and target and not target.may_write:
        if target.foreign_data:
            confirm(database.cluster, place, get_user(request))
            is_confirmed = True
        else:
            allowed = place
        progress = None
    if progress is None:
        addresses, properties, cluster = database.cluster.addresses, database.binding_properties, database.cluster_id
        try:
            progress = start_check(
                team, pk, system, addresses, properties, partial(_note_copies, pk), str(cluster),
                confirmed=is_confirmed, allowed=allowed,
            )  # fmt: skip
        except CheckRefused as error:
            context["refusal"] = str(error)
    context["progress"] = progress
    target = progress.target if progress else None
    if target is None or not (target.is_usable and target.may_write):
        return render(request, "workers/own_server_first.html", context)
    is_final = request.method == "POST" and not OTHER_BUTTONS & request.POST.keys()
    form = FirstMatrixForm(request.POST.dict(), is_final=is_final, modes=target.modes)
    usual = system.process.program if system.process else ""
    connections, program = list_connections_once(), request.POST.get("program", "")
    if "choose" in request.POST and not _name_program(database.cluster, program, usual, connections):
        messages.error(request, "Nothing was changed: a run uses this cluster, or the program has ended.")
    context["hidden"] = _list_hidden_nodes(database.cluster, connections)
    nodes = context["hidden"] or list(database.cluster.nodes.exclude(program=""))
    if nodes:
        context["node"], context["programs"] = nodes[0], list_programs(usual)
    if form.is_valid():
        try:
            matrix = form.save(database, get_user(request))
        except PlanError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Submitted. The curve grows on this page as its points are measured.")
            return redirect("matrix", pk=matrix.pk)
    context["form"] = form
    return render(request, "workers/own_server_first.html", context, status=form_status(form))


def _name_program(cluster: Cluster, program: str, usual: str, connections: Listing) -> bool:
    """Whether the nodes about which the page asks have this program from now on."""
    nodes = _list_hidden_nodes(cluster, connections) or list(cluster.nodes.exclude(program=""))
    if program not in list_programs(usual) or cluster.active_run():
        return False
    Node.objects.filter(pk__in=[node.pk for node in nodes]).update(program=program)
    return True


def _list_hidden_nodes(cluster: Cluster, connections: Listing) -> list[Node]:
    """Those on this machine of which nothing tells which process their server is."""
    nodes = cluster.nodes.filter(machine__host_key=host_key())
    return [node for node in nodes if not find_servers([(*split_address(node.address, 0), node.program)], connections)]


def _data_target(database: Database, system: System) -> str:
    table = str(WORKLOAD_PROPERTIES["table"].default)
    return data_target(system, database.cluster.address, database.binding_properties, table)


def _state_mode(database: Database, system: System, target: TargetChecks) -> None:
    """An own mode with the settings that the server has. It promises what the system's weakest mode does."""
    nearest, weakest = system.modes[target.nearest], next(iter(system.modes.values()))
    settings = {name: value for name, (_, value) in target.differences.items() if name in system.settings}
    own: OwnMode = {
        "base": nearest.base or nearest.slug,
        "name": "as the server is set",
        "durability": weakest.durability.model_dump(),
        "server_settings": {**nearest.server_settings, **settings},
        "client_properties": nearest.client_properties,
    }
    checked = load_catalog().system(database.system).check_own_mode(AS_IT_IS, own)
    database.own_modes = {**database.own_modes, AS_IT_IS: checked}
    database.save(update_fields=["own_modes"])


def _note_copies(pk: UUID, target: TargetChecks) -> UUID:
    """A run fails where the server has another number of copies than the database states."""
    if target.copies:
        Database.objects.filter(pk=pk).update(replication_factor=target.copies)
    return pk


def _refuse_unless_allowed(request: HttpRequest) -> None:
    if not may_edit(request, None):
        raise PermissionDenied("Admins of the team and operators of this site describe servers.")

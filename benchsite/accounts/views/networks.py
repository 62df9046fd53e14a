"""The page on which operators allow teams the networks of their external servers."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from benchsite.accounts import networks
from benchsite.accounts.forms import NetworkForm
from benchsite.accounts.models import Team
from benchsite.accounts.permissions import get_team, get_user, operator_required
from benchsite.core.own_servers import allowed_networks
from benchsite.core.responses import form_status, get_posted


@operator_required("GET", "POST")
def external_networks(request: HttpRequest) -> HttpResponse:
    form = NetworkForm(get_posted(request), initial={"team": get_team(request)})
    if form.is_valid():
        team, network = form.cleaned_data["team"], form.cleaned_data["network"]
        try:
            networks.allow(team, network, get_user(request))
        except networks.NetworkRefused as refused:
            form.add_error("network", str(refused))
        else:
            messages.success(request, f"Servers of {team} may lie in {network} now.")
            return redirect("networks")
    context = {
        "form": form,
        "teams": Team.objects.exclude(external_networks=[]),
        "of_all_teams": allowed_networks([]),
        "is_set": bool(settings.EXTERNAL_NETWORKS),
    }
    return render(request, "teams/networks.html", context, status=form_status(form))


@operator_required("POST")
def network_withdraw(request: HttpRequest) -> HttpResponse:
    team = get_object_or_404(Team, slug=request.POST.get("team", ""))
    network = request.POST.get("network", "")
    networks.withdraw(team, network, get_user(request))
    messages.success(request, f"Servers of {team} may lie in {network} no more.")
    return redirect("networks")

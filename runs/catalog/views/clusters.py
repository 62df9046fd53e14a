"""Clusters: the machines that databases under test run on."""

import shlex
import uuid

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse

from benchsite.accounts.models import Role
from benchsite.accounts.permissions import get_team, get_user, has_role, is_operator, team_required
from benchsite.core.responses import get_posted
from runs.catalog.data_confirmations import TargetRow, confirm, target_rows, withdraw
from runs.catalog.forms.clusters import MORE_ROWS, RIGHTS, ClusterForm, may_edit_cluster
from runs.models import Cluster, Provisioner
from runs.results.views.deletion import delete_page
from runs.results.views.row_pages import edit_page, find_row, list_page


@team_required("GET")
def clusters(request: HttpRequest) -> HttpResponse:
    rows = Cluster.objects.annotate(database_count=Count("databases", distinct=True))
    rows = rows.prefetch_related("nodes__machine").order_by("name")
    return list_page(request, "runs/clusters/list.html", rows, lambda row: row, may_add=may_edit(request, None))


@team_required("GET")
def cluster(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Cluster, pk=pk)
    nodes = list(row.nodes.select_related("machine"))
    address = request.build_absolute_uri(reverse("api-v1:push_metrics", args=[pk]))
    return render(
        request,
        "runs/clusters/page.html",
        {
            "cluster": row,
            "nodes": nodes,
            "push_options": [f"--watch {address}", *(f"--name {shlex.quote(node.machine.name)}" for node in nodes[:1])],
            "databases": row.databases.all(),
            "targets": target_rows(row),
            "may_edit": may_edit(request, row),
        },
    )


@team_required("GET", "POST")
def cluster_edit(request: HttpRequest, pk: uuid.UUID | None = None) -> HttpResponse:
    """A new one, or with its key one that is there."""
    cluster = find_row(Cluster, pk)
    refuse_unless_allowed(request, cluster)
    more = "more" in request.POST
    form = ClusterForm(
        get_posted(request),
        team=get_team(request),
        operator=is_operator(request),
        instance=cluster,
        rows=MORE_ROWS if more else 0,
    )
    response = edit_page(
        request,
        "runs/clusters/form.html",
        Cluster,
        form,
        saves=not more,
        operator=is_operator(request),
        more=more,
    )
    if form.has_moved:
        for text in form.describe_others():
            messages.warning(request, text)
    if cluster and form.has_moved:
        _offer_check(request, cluster)
    return response


def _offer_check(request: HttpRequest, cluster: Cluster) -> None:
    """Nothing has tried the new addresses of its servers yet."""
    databases = cluster.databases.all()
    if cluster.provisioner == Provisioner.EXTERNAL and databases:
        messages.warning(request, render_to_string("runs/clusters/offer_check.html", {"databases": databases}))


@team_required("GET", "POST")
def cluster_delete(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    cluster = get_object_or_404(Cluster, pk=pk)
    refuse_unless_allowed(request, cluster)
    return delete_page(request, cluster)


@team_required("GET", "POST")
def cluster_confirm(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    """GET says what Benchsite would write and delete in the target `?target=`, POST confirms it."""
    cluster, row = _target_or_404(request, pk)
    if row.system is None:
        raise Http404
    if request.method == "POST":
        confirm(cluster, row.target, get_user(request))
        messages.success(request, f"Benchsite may write and delete in {row.target}.")
        return redirect("cluster", pk=cluster.pk)
    return render(request, "runs/clusters/confirm.html", {"cluster": cluster, "row": row})


@team_required("POST")
def cluster_withdraw(request: HttpRequest, pk: uuid.UUID) -> HttpResponse:
    cluster, row = _target_or_404(request, pk)
    if row.confirmation is not None:
        withdraw(row.confirmation, get_user(request))
        messages.success(request, f"The confirmation for {row.target} was withdrawn.")
    return redirect("cluster", pk=cluster.pk)


def _target_or_404(request: HttpRequest, pk: uuid.UUID) -> tuple[Cluster, TargetRow]:
    """The cluster, if the person may edit it, and its target that the request names."""
    cluster = get_object_or_404(Cluster, pk=pk)
    refuse_unless_allowed(request, cluster)
    target = request.POST.get("target") or request.GET.get("target")
    for row in target_rows(cluster):
        if row.target == target:
            return cluster, row
    raise Http404


def may_edit(request: HttpRequest, cluster: Cluster | None) -> bool:
    provisioner = cluster.provisioner if cluster else Provisioner.EXTERNAL
    return may_edit_cluster(provisioner, operator=is_operator(request), admin=has_role(request, Role.ADMIN))


def refuse_unless_allowed(request: HttpRequest, cluster: Cluster | None) -> None:
    if not may_edit(request, cluster):
        raise PermissionDenied(RIGHTS)

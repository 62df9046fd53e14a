"""Run this again: a matrix as a plan file, and a plan file as a matrix."""

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import get_valid_filename
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from benchsite.accounts.models import Role, Team
from benchsite.accounts.permissions import get_team, get_user, team_required
from benchsite.core.formatting import counted
from runs.catalog.forms.fields import DescribedForm
from runs.identifiers import parse_uuid
from runs.models import Cluster, Matrix
from runs.plans import PlanError, expand
from runs.plans.files.plan import PlanFile, PlanRefused, planned
from runs.plans.files.plan_export import export_plan
from runs.plans.files.plan_file import MAX_LENGTH, read_plan
from runs.plans.files.plan_fit import Chosen, misfits
from runs.plans.files.plan_import import import_plan
from runs.plans.forms.matrices import generators_for
from runs.plans.preview import max_trials
from runs.plans.studies import plan_text
from runs.uploads.upload_handlers import ReceivedFiles
from runs.ycsb.errors import PropertyError


class PlanForm(DescribedForm):
    """The roles of one plan. Fields are named by role: `cluster-1`, `generator-2`, `database-1:redis.password`."""

    def __init__(self, data: Mapping[str, Any] | None = None, *, team: Team, plan: PlanFile) -> None:
        self.team, self.plan = team, plan
        clusters = Cluster.objects.prefetch_related("nodes__machine", "databases")
        self.clusters = {str(cluster.pk): cluster for cluster in clusters}
        self.generators = {str(row.pk): row for row in generators_for(team).select_related("machine")}
        super().__init__(data)
        for role, cluster in plan.clusters.items():
            databases = [database for database in plan.databases.values() if database.cluster == role]
            names = ", ".join(database.name for database in databases)
            systems = {database.system for database in databases}
            label = f"{role}: {counted(len(cluster.nodes), 'node')}, for {names}"
            self.fields[role] = _build_field(label, self.clusters, self._propose(systems, len(cluster.nodes)))

        free = list(self.generators)
        for role, generator in plan.generators.items():
            label = f"{role}: {counted(generator.slots, 'client')} at a time"
            self.fields[role] = _build_field(label, self.generators, free.pop(0) if free else "")

        for role, database in plan.databases.items():
            for secret in database.secrets:
                widget = forms.PasswordInput(render_value=True, attrs={"autocomplete": "off"})
                name = f"{role}:{secret}"
                self.fields[name] = forms.CharField(label=f"{database.name}: {secret}", widget=widget)

    def _propose(self, systems: set[str], nodes: int) -> str:
        """The cluster that takes a role best: one that has its systems, and as many nodes."""

        def rank(key: str) -> tuple[int, bool]:
            cluster = self.clusters[key]
            lacking = systems - {database.system for database in cluster.databases.all()}
            return len(lacking), len(cluster.nodes.all()) != nodes

        return min(self.clusters, key=rank, default="")

    def chosen(self) -> Chosen:
        """As it was sent, or as it is proposed."""
        values = {name: str(self[name].value() or "") for name in self.fields}
        clusters = {role: self.clusters.get(values[role]) for role in self.plan.clusters}
        generators = {role: self.generators.get(values[role]) for role in self.plan.generators}
        secrets: dict[str, dict[str, str]] = {}
        for role, database in self.plan.databases.items():
            stated = {name: values[f"{role}:{name}"] for name in database.secrets}
            secrets[role] = {name: value for name, value in stated.items() if value}
        return Chosen(
            {role: cluster for role, cluster in clusters.items() if cluster},
            {role: generator for role, generator in generators.items() if generator},
            secrets,
        )


def _build_field(label: str, rows: Mapping[str, Any], initial: str) -> forms.ChoiceField:
    choices = [("", "choose …"), *((key, str(row)) for key, row in rows.items())]
    return forms.ChoiceField(label=label, choices=choices, initial=initial)


@team_required("GET")
def plan_export(request: HttpRequest, pk: uuid.UUID) -> HttpResponseBase:
    """The plan file, to be saved."""
    matrix = get_object_or_404(Matrix.objects.select_related("team"), pk=pk)
    try:
        text = export_plan(matrix)
    except PlanRefused as refused:
        messages.error(request, str(refused))
        return redirect("matrix", pk=pk)
    name = f"{get_valid_filename(matrix.name)[:80]}.plan.toml"
    response = HttpResponse(text, content_type="application/toml")
    response["Content-Disposition"] = f'attachment; filename="{name.encode("ascii", "replace").decode()}"'
    return response


@csrf_exempt  # Only until it is settled where the file goes: `_plan_import` checks the token.
@team_required("GET", "POST", role=Role.RUNNER)
def plan_import(request: HttpRequest) -> HttpResponseBase:
    """The page that takes a plan file, asks for its roles, and says what no longer fits."""
    request.upload_handlers = [ReceivedFiles(request)]
    return _plan_import(request)


@csrf_protect
def _plan_import(request: HttpRequest) -> HttpResponseBase:
    text, plan, problem = _read_sent_plan(request)
    if plan is None:
        bare = {"text": text, "problem": problem}
        return render(request, "runs/matrices/import.html", bare, status=422 if problem else 200)

    posted = request.POST if "chosen" in request.POST else None
    form = PlanForm(posted, team=get_team(request), plan=plan)
    refused = ""
    if {"store", "queue"} & request.POST.keys():
        try:
            return _store(request, form)
        except (PlanError, PlanRefused) as error:
            refused = str(error)

    differences = misfits(plan, form.chosen())
    context: dict[str, object] = {
        "text": text, "plan": plan, "form": form, "refused": refused, "misfits": differences,
        "stops": any(misfit.tone == "stop" for misfit in differences), "makes": _count_rows(plan),
        "modes": [(plan.databases[entry.database].name, entry.mode) for entry in plan.entries],
    }  # fmt: skip
    return render(request, "runs/matrices/import.html", context, status=422 if refused else 200)


def _read_sent_plan(request: HttpRequest) -> tuple[str, PlanFile | None, str]:
    """The plan as it was brought, pasted, or taken from a matrix or a published study; and why it cannot be read."""
    files = []
    if request.method == "POST":
        files = request.FILES.getlist("file")
    text = request.POST.get("plan", "").replace("\r\n", "\n")
    if files and (files[0].size or 0) <= MAX_LENGTH:
        text = files[0].read().decode("utf-8", "replace")
    elif files:
        return text, None, "A plan file is not so large: choose the file that ends in .plan.toml."

    source, study = request.GET.get("from"), request.GET.get("study")
    try:
        if source and not text:
            text = export_plan(get_object_or_404(Matrix.objects.select_related("team"), pk=parse_uuid(source)))
        elif study and not text:
            text = _read_study_plan(study)
        elif not text.strip():
            return text, None, "Choose a plan file, or paste its text." if request.method == "POST" else ""
        return text, read_plan(text), ""
    except PlanRefused as refused:
        return text, None, str(refused)


def _read_study_plan(slug: str) -> str:
    try:
        return plan_text(slug)
    except KeyError:
        raise Http404("There is no such published study.") from None


def _store(request: HttpRequest, form: PlanForm) -> HttpResponse:
    """Stores the plan, and submits it, by the button that was pressed. Raises PlanError or PlanRefused."""
    matrix = import_plan(form.team, form.plan, form.chosen(), get_user(request), submits="queue" in request.POST)
    outcome = "was kept, and not put in the queue yet"
    if matrix.submitted_at:
        outcome = "was put in the queue"
    messages.success(request, f"The matrix “{matrix.name}” {outcome}.")
    return redirect("matrix", pk=matrix.pk)


def _count_rows(plan: PlanFile) -> dict[str, object]:
    """The numbers of rows that the plan would make; for a search the most that it may need."""
    stored = planned(plan)
    try:
        runs = expand(stored).runs
    except PropertyError:
        runs = ()
    trials = max_trials(stored)
    measured = sum(run.phase == "measure" for run in runs)
    seconds = sum(run.expected_s * (trials if run.phase == "measure" else 1) for run in runs)
    return {"measured": measured * trials, "loads": len(runs) - measured, "seconds": round(seconds)}

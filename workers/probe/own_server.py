"""Benchmark my server: from an address to the first curve in two forms."""

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect

from benchsite.accounts.models import Team, User
from benchsite.accounts.permissions import get_team, get_user, is_operator, team_required
from benchsite.core.addresses import AddressRefused, is_own_address, resolve, split_address
from benchsite.core.responses import form_status
from runs.catalog import System, data_target, load_catalog
from runs.catalog.data_confirmations import confirm
from runs.catalog.forms.clusters import machines_for
from runs.catalog.forms.fields import DescribedForm, PropertiesField, name_field
from runs.catalog.views.clusters import may_edit
from runs.models import Cluster, Database, Machine, Matrix, Node, Workload
from runs.models.plan import Provisioner, Purpose
from runs.plans import Draft, PlanError, submit
from runs.plans.forms.matrices import generators_for
from runs.plans.forms.workloads import EXAMPLES
from runs.ycsb.properties import CORE_WORKLOADS, WORKLOAD_PROPERTIES
from runs.ycsb.property_schema import PropertyError
from workers.generator.host_identity import host_key
from workers.probe.server_checks import CheckRefused, read_check, start_check

RUNGS = (1, 2, 4, 8, 16, 32)  # threads of each client in the first ladder
WARMUP_S = 2
MEASURE_S = 10
DEFAULT_RECORDS = 10_000
NEW_MACHINE = ""


class ServerForm(DescribedForm):
    """Where the server is, and how clients sign in."""

    system = forms.ChoiceField(choices=[])
    address = forms.CharField(
        max_length=200,
        help_text="host:port, as the load generators reach it.",
        widget=forms.TextInput(attrs={"placeholder": "10.0.0.5:5432", "autocomplete": "off"}),
    )
    password = forms.CharField(
        required=False,
        strip=False,
        max_length=200,
        help_text="Of the user that the clients are; empty where the server asks for none.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}, render_value=False),
    )
    name = name_field(required=False, help_text="Its name in figures; empty: its system and address.")
    machine = forms.ChoiceField(
        choices=[], required=False, help_text="Runs on one machine never overlap, so Benchsite has to know it."
    )
    properties = PropertiesField(
        rows=3,
        label="More client properties",
        help_text="name=value, one per line, such as postgresql.user=ycsb. An external PostgreSQL must have the "
        "database that postgresql.database names, ycsb unless you set it.",
    )

    def __init__(self, *args: Any, team: Team, operator: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.team = team
        self.systems = {
            system.slug: system
            for system in load_catalog().systems.values()
            if system.own_client and system.administered and not system.admin_class
        }
        machines = [(str(machine.pk), machine.name) for machine in machines_for(team)]
        if operator:
            machines.insert(0, (NEW_MACHINE, "a machine that Benchsite does not know yet"))
        self.fields["system"].choices = [(slug, system.name) for slug, system in self.systems.items()]  # type: ignore[attr-defined]
        self.fields["machine"].choices = machines  # type: ignore[attr-defined]

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"].strip()
        try:
            split_address(address)
        except AddressRefused as error:
            raise ValidationError(str(error)) from error
        return address

    def clean_name(self) -> str:
        system, proposed = (self.cleaned_data.get(field, "") for field in ("system", "address"))
        if system in self.systems:
            proposed = f"{self.systems[system].name} at {proposed}"
        name = " ".join(self.cleaned_data["name"].split()) or proposed[: self.fields["name"].max_length]  # type: ignore[attr-defined]
        for model in (Cluster, Database):
            if model.objects.filter(team=self.team, name=name).exists():
                raise ValidationError("There is already a cluster or database of this name: choose another.")
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        system = self.systems.get(cleaned.get("system", ""))
        if system is None or "properties" not in cleaned:
            return cleaned
        properties = dict(cleaned["properties"])
        if cleaned.get("password"):
            properties[system.binding.endpoint.password] = cleaned["password"]
        try:
            cleaned["properties"] = system.check_binding_properties(properties)
        except PropertyError as error:
            self.refuse("properties", error)
        return cleaned

    def save(self, version: str) -> Database:
        """The machine where it is new, an external cluster of one node, and the database on it."""
        cleaned = self.cleaned_data
        with transaction.atomic():
            if cleaned["machine"] == NEW_MACHINE:
                host, port = split_address(cleaned["address"])
                machine = _own_machine(host, port) or Machine.objects.get_or_create(name=host[:80])[0]
            else:
                machine = Machine.objects.get(pk=cleaned["machine"])
            cluster = Cluster.objects.create(
                team=self.team, name=cleaned["name"], provisioner=Provisioner.EXTERNAL, separates_cpus=False
            )
            Node.objects.create(cluster=cluster, machine=machine, address=cleaned["address"], position=0)
            return Database.objects.create(
                team=self.team, name=cleaned["name"], cluster=cluster, system=cleaned["system"], version=version,
                binding_properties=cleaned["properties"],
            )  # fmt: skip


def _own_machine(host: str, port: int) -> Machine | None:
    """This machine, where the address is its own and it drives clients; its load generator has described it."""
    if not any(map(is_own_address, resolve(host, port))):
        return None
    return Machine.objects.filter(host_key=host_key()).first()


class FirstMatrixForm(DescribedForm):
    """What the first curve measures."""

    mode = forms.ChoiceField(choices=[], label="Durability mode", widget=forms.RadioSelect)
    workload = forms.ChoiceField(choices=[(letter, f"{letter}: {text}") for letter, text in EXAMPLES.items()])
    records = forms.IntegerField(min_value=1, max_value=10_000_000, initial=DEFAULT_RECORDS)
    confirmed = forms.BooleanField(
        label="Benchsite may add and delete its own records beside this data",
        error_messages={"required": "Allow it, or empty the server and check again: nothing is loaded without it."},
    )

    def __init__(self, *args: Any, system: System, modes: tuple[str, ...], is_foreign: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_foreign:
            del self.fields["confirmed"]
        self.fields["mode"].initial = next(iter(modes), "")
        # Modes that the server is not in would fail the first run.
        self.fields["mode"].choices = [(name, system.modes[name].name) for name in modes]  # type: ignore[attr-defined]

    def save(self, database: Database, user: User) -> Matrix:
        """Submitted. Raises PlanError where it cannot run, and then makes nothing."""
        letter, records = self.cleaned_data["workload"], self.cleaned_data["records"]
        team = database.team
        with transaction.atomic():
            workload, _ = Workload.objects.get_or_create(
                team=team,
                name=f"{EXAMPLES[letter].partition(':')[0].capitalize()}, {records} records",
                defaults={
                    "short_name": letter,
                    "properties": {**CORE_WORKLOADS[letter], "recordcount": str(records)},
                },
            )
            binding = load_catalog().system(database.system, database.flavour).binding.name
            generators = [row for row in generators_for(team) if binding in row.bindings]
            rungs = [threads * max(len(generators), 1) for threads in RUNGS]
            matrix = Matrix(
                team=team, purpose=Purpose.TUNING, rungs=rungs, warmup_s=WARMUP_S, min_measure_s=MEASURE_S,
                max_measure_s=MEASURE_S, name=f"First curve of {database.name}, {timezone.now():%Y-%m-%d %H:%M}"[:120],
            )  # fmt: skip
            Draft(matrix, [(database, self.cleaned_data["mode"])], [workload], generators).store(user)
            if "confirmed" in self.cleaned_data:
                self._confirm(database, user)
            submit(matrix, user)
        return matrix

    def _confirm(self, database: Database, user: User) -> None:
        system = load_catalog().system(database.system, database.flavour)
        table = str(WORKLOAD_PROPERTIES["table"].default)
        target = data_target(system, database.cluster.address, database.binding_properties, table)
        confirm(database.cluster, target, user)


@team_required("GET", "POST")
def own_server(request: HttpRequest) -> HttpResponse:
    """The first form: address and credentials. The server is saved when it answers."""
    _refuse_unless_allowed(request)
    team = get_team(request)
    form = ServerForm(request.POST or None, team=team, operator=is_operator(request))
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        system, check = form.systems[form.cleaned_data["system"]], uuid4()
        try:
            context["progress"] = start_check(
                team,
                check,
                system,
                form.cleaned_data["address"],
                form.cleaned_data["properties"],
                lambda target: form.save(target.version).pk,
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
    return render(request, "workers/server_check.html", {"check": check, "progress": progress})


@team_required("GET", "POST")
def own_server_first(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The checks of a described server and the second form, which submits the first matrix."""
    _refuse_unless_allowed(request)
    team = get_team(request)
    database = get_object_or_404(Database.objects.select_related("cluster"), pk=pk)
    system = load_catalog().system(database.system, database.flavour)
    context: dict[str, Any] = {"database": database, "check": pk}
    progress = None
    if "again" not in request.GET:
        progress = read_check(team, pk)
    if progress is None:
        address, properties = database.cluster.address, database.binding_properties
        try:
            progress = start_check(team, pk, system, address, properties, lambda target: pk)
        except CheckRefused as error:
            context["refusal"] = str(error)
    context["progress"] = progress
    if progress is None or progress.target is None:
        return render(request, "workers/own_server_first.html", context)
    is_foreign = bool(progress.target.foreign_data)
    form = FirstMatrixForm(request.POST or None, system=system, modes=progress.target.modes, is_foreign=is_foreign)
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


def _refuse_unless_allowed(request: HttpRequest) -> None:
    if not may_edit(request, None):
        raise PermissionDenied("Admins of the team and operators of this site describe servers.")

"""The forms of Benchmark my server: where it is and how clients sign in, and what the first curve measures."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from benchsite.accounts.models import Team, User
from benchsite.core.addresses import AddressRefused, is_own_address, join_address, resolve, split_address
from benchsite.core.formatting import grouped
from runs.catalog import load_catalog
from runs.catalog.connection_strings import parse_connection_string, read_options
from runs.catalog.forms.clusters import machines_for
from runs.catalog.forms.fields import DescribedForm, PropertiesField, name_field
from runs.catalog.forms.sign_in import SignInForm, drop_defaults_of_another
from runs.models import Cluster, Database, Machine, Matrix, Node, Provisioner, Purpose, Workload
from runs.plans import Draft, submit
from runs.plans.forms.workloads import EXAMPLES
from runs.ycsb.properties import CORE_WORKLOADS
from runs.ycsb.property_schema import MAX_TEXT_LENGTH
from workers.generator.host_identity import host_key
from workers.probe.check_orders import THREADS, find_generators
from workers.probe.seed_list import SeedListError, read_seed_list
from workers.probe.server_checks import TargetChecks
from workers.provision.listeners import find_listener

RUNGS = (1, 2, 4, 8, 16, THREADS)  # threads of each client in the first ladder
WARMUP_S = 2
# A server that has just been filled gets so much longer until its throughput is steady.
SETTLE_S = 10
MEASURE_S = 10
DEFAULT_RECORDS = 10_000
NEW_MACHINE = ""
MAX_NAME_LENGTH = 80
# A record TXT states no more, as for drivers: anybody may have written it, and a person gives credentials and CAs.
SEED_LIST_FIELDS = frozenset({"auth_source", "replica_set"})


class ServerForm(SignInForm):
    """Where the server is, and how clients sign in. `typed` is what a person has typed so far, unchecked."""

    lines = "properties"
    ignored: tuple[str, ...] = ()  # options of a connection string
    seed_list_problem = ""
    system = forms.ChoiceField(choices=[])
    address = forms.CharField(
        max_length=MAX_TEXT_LENGTH,
        help_text="host:port as the load generators reach it, comma-separated for the nodes of a cluster, or a "
        "connection string.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    name = name_field(required=False, help_text="Its name in figures; empty: its system and address.")
    machine = forms.ChoiceField(
        choices=[], required=False, help_text="Runs on one machine never overlap, so Benchsite has to know it."
    )
    properties = PropertiesField(
        rows=3,
        label="More client properties",
        help_text="name=value, one per line.",
    )

    def __init__(self, data: Mapping[str, str], *, is_final: bool, team: Team, operator: bool) -> None:
        systems = (system for system in load_catalog().systems.values() if system.own_client and system.has_address)
        self.systems = {system.slug: system for system in sorted(systems, key=lambda system: system.name.lower())}
        typed = self._read_connection_string({"system": "redis", **data})
        system = self.systems.get(typed["system"]) or self.systems["redis"]
        typed = drop_defaults_of_another(typed, system)
        super().__init__(typed if is_final else None)
        self.team = team
        self.add_sign_in(system, {})
        self.initial.update(typed)
        self.fields["address"].widget.attrs["placeholder"] = f"e.g. 10.0.0.5:{system.binding.default_port}"
        machines = [(str(machine.pk), machine.name) for machine in machines_for(team)]
        if operator:
            machines.insert(0, (NEW_MACHINE, "a machine that Benchsite does not know yet"))
        self.fields["system"].choices = [(slug, system.name) for slug, system in self.systems.items()]  # type: ignore[attr-defined]
        self.fields["machine"].choices = machines  # type: ignore[attr-defined]

    def _read_connection_string(self, data: Mapping[str, str]) -> dict[str, str]:
        """What was typed, with the parts of a connection string in the fields that are meant for them."""
        read = parse_connection_string(data.get("address", ""), self.systems.values(), data["system"])
        if read is None:
            self.ignored = tuple(filter(None, data.get("ignored", "")[:MAX_TEXT_LENGTH].split(", ")))
            return {**data}
        values, self.ignored = {**read.values}, read.ignored
        if read.is_dns_record:
            try:
                values["address"], query = read_seed_list(values["address"])
            except (AddressRefused, SeedListError) as error:
                self.seed_list_problem = str(error)
                return {**data}
            options, ignored = read_options(self.systems[values["system"]], query)
            refused = sorted(options.keys() - SEED_LIST_FIELDS)
            options = {field: options[field] for field in options.keys() & SEED_LIST_FIELDS}
            values, self.ignored = {**options, **values}, (*self.ignored, *ignored, *refused)
        return {**data, **values}

    def clean_address(self) -> str:
        """host:port of every node, comma-separated."""
        if self.seed_list_problem:
            raise ValidationError(self.seed_list_problem)
        endpoint = self.client_system.binding.endpoint  # type: ignore[union-attr]
        addresses = self.cleaned_data["address"].replace(",", " ").split()
        if len(addresses) > 1 and endpoint.nodes == "first":
            raise ValidationError("The clients of this system connect to one server: write the address of its primary.")
        try:
            nodes = [split_address(address, self.client_system.binding.default_port) for address in addresses]  # type: ignore[union-attr]
        except AddressRefused as error:
            raise ValidationError(str(error)) from error
        return ", ".join(join_address(host, port) for host, port in nodes)

    def clean_name(self) -> str:
        system, proposed = (self.cleaned_data.get(field, "") for field in ("system", "address"))
        if system in self.systems:
            proposed = f"{self.systems[system].name} at {proposed}"
        name = " ".join(self.cleaned_data["name"].split())
        if not name:
            return next(filter(self._is_free, _number_names(proposed)))
        if not self._is_free(name):
            raise ValidationError("There is already a cluster or database of this name: choose another.")
        return name

    def _is_free(self, name: str) -> bool:
        rows = (model.objects.filter(team=self.team, name=name) for model in (Cluster, Database))
        return not any(named.exists() for named in rows)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "properties" in cleaned:
            cleaned["properties"] = self.read_properties(cleaned["properties"], {})
        return cleaned

    def save(self, target: TargetChecks) -> Database:
        """The machines where they are new, an external cluster of its nodes, and the database on it."""
        cleaned = self.cleaned_data
        addresses = [*cleaned["address"].split(", "), *target.nodes]
        with transaction.atomic():
            cluster = Cluster.objects.create(
                team=self.team, name=cleaned["name"], provisioner=Provisioner.EXTERNAL, separates_cpus=False
            )
            Node.objects.bulk_create(
                Node(cluster=cluster, machine=self._get_machine(address), address=address, position=position)
                for position, address in enumerate(addresses)
            )
            return Database.objects.create(
                team=self.team, name=cleaned["name"], cluster=cluster, system=cleaned["system"],
                version=target.version, replication_factor=target.copies or 1, binding_properties=cleaned["properties"],
            )  # fmt: skip

    def _get_machine(self, address: str) -> Machine:
        if self.cleaned_data["machine"] != NEW_MACHINE:
            return Machine.objects.get(pk=self.cleaned_data["machine"])
        host, port = split_address(address)
        return _own_machine(host, port) or Machine.objects.get_or_create(name=host[:80])[0]


def _number_names(name: str) -> Iterator[str]:
    """The name, then with 2, 3 and so on behind it."""
    yield name[:MAX_NAME_LENGTH]
    for number in count(2):
        yield f"{name[: MAX_NAME_LENGTH - 8]} ({number})"


def _own_machine(host: str, port: int) -> Machine | None:
    """This machine, where the address is its own or a container's and it drives clients; its load generator has
    described it.
    """
    if not any(map(is_own_address, resolve(host, port))) and find_listener(host, port) is None:
        return None
    return Machine.objects.filter(host_key=host_key()).first()


class FirstMatrixForm(DescribedForm):
    """What the first curve measures."""

    mode = forms.ChoiceField(choices=[], label="Durability mode", widget=forms.RadioSelect)
    workload = forms.ChoiceField(choices=[(letter, f"{letter}: {text}") for letter, text in EXAMPLES.items()])
    records = forms.IntegerField(min_value=1, max_value=10_000_000, initial=DEFAULT_RECORDS)

    def __init__(self, typed: Mapping[str, str], *, is_final: bool, modes: dict[str, str]) -> None:
        super().__init__(typed if is_final else None)
        self.fields["mode"].initial = next(reversed(modes), "")  # the strongest
        self.initial.update(typed)
        # Modes that the server is not in would fail the first run.
        self.offer("mode", list(modes.items()))

    def save(self, database: Database, user: User) -> Matrix:
        """Submitted. Raises PlanError where it cannot run, and then makes nothing."""
        letter, records = self.cleaned_data["workload"], self.cleaned_data["records"]
        team = database.team
        with transaction.atomic():
            workload, _ = Workload.objects.get_or_create(
                team=team,
                name=f"{letter}: {EXAMPLES[letter].partition(':')[0]}, {grouped(records)} records",
                defaults={
                    "short_name": letter,
                    "properties": {**CORE_WORKLOADS[letter], "recordcount": str(records)},
                },
            )
            generators = find_generators(team, load_catalog().system(database.system, database.flavour))
            rungs = [threads * max(len(generators), 1) for threads in RUNGS]
            matrix = Matrix(
                team=team, purpose=Purpose.TUNING, rungs=rungs, warmup_s=WARMUP_S, settle_s=SETTLE_S,
                min_measure_s=MEASURE_S, max_measure_s=MEASURE_S,
                name=f"First curve of {database.name}, {timezone.now():%Y-%m-%d %H:%M}"[:120],
            )  # fmt: skip
            Draft(matrix, [(database, self.cleaned_data["mode"])], [workload], generators).store(user)
            submit(matrix, user)
        return matrix

"""The form of one database: a system of the catalog on a cluster, with the settings that hold in every mode."""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from django import forms
from django.db import transaction

from benchsite.accounts.models import Team
from runs.catalog import (
    BadTag,
    System,
    count_servers,
    get_flavour,
    load_catalog,
    ports_problem,
    refuse_fixed_settings,
)
from runs.catalog.forms.fields import NamedForm, PropertiesField, name_field, notes_field
from runs.catalog.forms.own_modes import own_mode_problem
from runs.catalog.forms.sign_in import EARLIER_SYSTEM, KEPT, SignInForm, drop_defaults_of_another
from runs.catalog.messages import ADD_NODES, COPIES_NEED_NODES, NODES_ARE_COPIES, SET_NODES
from runs.models import Cluster, Database, Provisioner
from runs.models.client_properties import find_secrets
from runs.plans.forms.matrices import generators_for
from runs.queue.spec_corrections import rename_queued_runs
from runs.ycsb.property_schema import PropertyError


class DatabaseForm(SignInForm, NamedForm):
    model = Database
    used_as = "sweep__database"
    lines = "binding_properties"
    # Another system replaces the modes and settings that the page shows, and no field.
    system = forms.ChoiceField(
        choices=[],
        help_text="Its durability modes, settings and client come from the catalog.",
        widget=forms.Select(
            attrs={
                "hx-post": "",
                "hx-vals": '{"fill": "1"}',
                "hx-target": "#system-modes",
                "hx-select": "#system-modes",
                "hx-swap": "outerHTML",
                "hx-select-oob": "#system-settings,#sign-in",
            }
        ),
    )
    cluster = forms.ModelChoiceField(
        queryset=Cluster.objects.none(), empty_label=None, help_text="Where its servers run."
    )
    name = name_field(help_text="The name in figures. Databases of one system need names that differ.")
    version = forms.CharField(
        required=False,
        max_length=40,
        help_text="As you state it; the server's own answer is kept with every run. On a docker cluster it is the tag "
        "of the official image.",
    )
    replication_factor = forms.IntegerField(
        min_value=1,
        max_value=100,
        initial=1,
        help_text="Copies of each record. A mode that waits for 1 other copy needs 2.",
    )
    settings = PropertiesField(
        label="Server settings",
        help_text="name=value, one per line, for every mode. The durability mode of a run decides the others. What "
        "the catalog lacks begins with unchecked., as in unchecked.NAME=value: recorded, and not read back.",
    )
    binding_properties = PropertiesField(
        rows=4,
        label="More client properties",
        help_text="name=value, one per line: what the YCSB client of this database is given in every mode. "
        "A stored secret is shown as (kept); write another one to replace it.",
    )
    client = forms.ChoiceField(
        required=False,
        choices=[],
        help_text="The YCSB client. Stock bindings and drivers of go-ycsb are those on your load generators.",
    )
    notes = notes_field()

    def __init__(
        self,
        *args: Any,
        team: Team,
        instance: Database | None = None,
        typed: Mapping[str, str] = MappingProxyType({}),
        as_stated: bool = False,
        **kwargs: Any,
    ) -> None:
        self.as_stated = as_stated  # by a definition, which is saved as it is or refused
        super().__init__(*args, team=team, instance=instance, **kwargs)
        if instance is not None:
            for name in ("settings", "binding_properties"):
                self.initial[name] = dict(sorted(self.initial[name].items()))
            self.initial["binding_properties"] |= dict.fromkeys(self._secrets(), KEPT)
        by_name = sorted(load_catalog().systems.values(), key=lambda system: system.name.lower())
        own = [(system.slug, system.name) for system in by_name if system.own_client]
        foreign = [(system.slug, system.name) for system in by_name if not system.own_client]
        self.fields["system"].choices = [  # type: ignore[attr-defined]
            ("Benchsite's own client", own),
            ("A stock YCSB client, on external clusters", foreign),
        ]
        bindings = generators_for(team).values_list("bindings", flat=True)
        registered = set(chain.from_iterable(bindings))
        stock = {name for name in registered if "/" in name} | ({instance.client} if instance else set()) - {""}
        self.offer("client", [("", "Benchsite's own binding"), *((name, name) for name in sorted(stock))])
        clusters = Cluster.objects.filter(team=team)
        self.fields["cluster"].queryset = clusters  # type: ignore[attr-defined]
        chosen = {**self.initial, **typed, **dict(self.data.items())}
        system = load_catalog().get(chosen.get("system", ""), get_flavour(chosen.get("client", "")))
        started = clusters.exclude(provisioner=Provisioner.EXTERNAL).first()
        # Nobody's server is measured because its name stands first.
        if started and not instance and (system is None or system.can_be_started):
            self.initial["cluster"] = self.initial.get("cluster") or started.pk
        if system is not None:
            stored = self.initial.get("binding_properties") or {}
            names = system.binding.form_fields.values()
            self.add_sign_in(system, stored)
            self.initial["binding_properties"] = {name: stored[name] for name in stored if name not in names}
        self.initial.update(drop_defaults_of_another(typed, system))
        if EARLIER_SYSTEM in self.data:
            self.data = drop_defaults_of_another(dict(self.data.items()), system)

    def _secrets(self) -> dict[str, str]:
        """The stored secret properties, which a page never shows."""
        if self.instance is None:
            return {}
        stored = self.instance.binding_properties
        return {name: stored[name] for name in find_secrets(stored)}

    def clean_version(self) -> str:
        return str(self.cleaned_data["version"]).strip()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        system = load_catalog().get(cleaned.get("system", ""), get_flavour(cleaned.get("client", "")))
        if system is None:
            return cleaned  # The field itself has said so.
        if self.instance is not None:
            if problem := own_mode_problem(self.instance, system):
                self.add_error("client" if system.slug == self.instance.system else "system", problem)
            else:
                system = system.with_own_modes(self.instance.own_modes)
        if "settings" in cleaned:
            try:
                cleaned["settings"] = system.check_settings(cleaned["settings"])
            except PropertyError as error:
                self.refuse("settings", error)
        if "binding_properties" in cleaned:
            cleaned["binding_properties"] = self.read_properties(cleaned["binding_properties"], self._secrets())
        self._check_settings(system, cleaned)
        self._check_copies(system, cleaned)
        self._check_client(system, cleaned.get("cluster"), cleaned.get("client", ""))
        self._check_ports(system, cleaned.get("cluster"))
        self._check_tag(system, cleaned.get("cluster"), cleaned.get("version", ""))
        return cleaned

    def _check_settings(self, system: System, cleaned: Mapping[str, Any]) -> None:
        cluster = cleaned.get("cluster")
        if cluster is None or cluster.provisioner == Provisioner.EXTERNAL:
            return
        for message in refuse_fixed_settings(system.process, cleaned.get("settings") or {}).values():
            self.add_error("settings", message)

    def _check_tag(self, system: System, cluster: Cluster | None, version: str) -> None:
        if cluster is None or cluster.provisioner != Provisioner.DOCKER or system.image is None:
            return
        try:
            system.image.reference(version)
        except BadTag as error:
            self.add_error("version", str(error))

    def _check_client(self, system: System, cluster: Cluster | None, client: str) -> None:
        external = cluster is not None and cluster.provisioner == Provisioner.EXTERNAL
        if cluster is not None and not external and not system.can_be_started:
            message = f"Benchsite cannot start {system.name} yet: choose an external cluster, or another system."
            self.add_error("system", message)
        elif client and (problem := system.client_problem(get_flavour(client), client, external=external)):
            self.add_error("client", problem)

    def _check_ports(self, system: System, cluster: Cluster | None) -> None:
        binding = system.binding
        if cluster and (problem := ports_problem(binding.endpoint, cluster.list_ports(binding.default_port))):
            self.add_error("cluster", problem)

    def _check_copies(self, system: System, cleaned: dict[str, Any]) -> None:
        cluster = cleaned.get("cluster")
        if cluster is None or cleaned.get("replication_factor") is None or cleaned.get("settings") is None:
            return
        machines = cluster.nodes.count()
        is_started = cluster.provisioner != Provisioner.EXTERNAL and "nodes" in system.settings
        # Each of these servers has a copy of everything, so the two numbers are one.
        is_replicated = is_started and bool(system.process and system.process.replica)
        if cluster.is_spread and is_replicated and not self.as_stated:
            cleaned["replication_factor"] = machines
        elif is_started and not self.as_stated and not system.counts_absent_copies:
            try:
                self._fit_nodes(system, cleaned, machines, is_replicated=is_replicated)
            except PropertyError as error:
                self.refuse("replication_factor", error)
                return
        copies = cleaned["replication_factor"]
        nodes = count_servers(system, cluster.provisioner, cleaned["settings"], machines)
        if copies > max(nodes, 1) and not system.counts_absent_copies:
            message = COPIES_NEED_NODES.format(copies=copies, cluster=cluster.name, nodes=nodes)
            if cluster.is_spread or cluster.provisioner == Provisioner.EXTERNAL:
                message += ADD_NODES
            elif is_started:
                message += SET_NODES.format(copies=copies)
            self.add_error("replication_factor", message)
        elif is_replicated and copies < nodes and not self.as_stated:
            message = NODES_ARE_COPIES.format(system=system.name, nodes=nodes, copies=copies)
            self.add_error("replication_factor", message)

    def _fit_nodes(self, system: System, cleaned: dict[str, Any], machines: int, *, is_replicated: bool) -> None:
        """Of copies and servers, the number that was left as it was follows the other. Raises PropertyError."""
        settings, copies = cleaned["settings"], cleaned["replication_factor"]
        earlier_nodes, earlier_copies = None, 1
        if self.instance is not None:
            earlier_nodes = self.instance.settings.get("nodes")
            earlier_copies = self.instance.replication_factor
        nodes = settings.get("nodes")
        servers = count_servers(system, Provisioner.PROCESS, settings, machines)
        if nodes == earlier_nodes and copies != earlier_copies and (is_replicated or copies > servers):
            others = {name: value for name, value in settings.items() if name != "nodes"}
            followed = {**others, "nodes": str(copies)} if copies > 1 else others
            cleaned["settings"] = system.check_settings(followed)
        elif is_replicated and nodes != earlier_nodes and copies == earlier_copies:
            cleaned["replication_factor"] = int(nodes or 1)

    def save(self) -> Database:
        self.instance = self.instance or Database(team=self.team)
        self.instance.flavour = get_flavour(self.cleaned_data["client"])
        with transaction.atomic():
            database: Database = super().save()
            rename_queued_runs(database.cluster)
        return database

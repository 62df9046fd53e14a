"""The form of one cluster with its nodes: process and docker clusters by operators, external ones by team admins."""

import re
import time
from collections.abc import Sequence
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from benchsite.accounts.models import Team
from benchsite.core.addresses import REQUEST_LOOKUP_TIMEOUT_S, AddressRefused, refuse_address, split_address
from benchsite.core.own_servers import allowed_networks, check_url, own_servers
from runs.catalog.forms.fields import DescribedForm, NamedForm, name_field, notes_field, refuse_in_use
from runs.catalog.generators import get_generators
from runs.catalog.messages import (
    CHOOSE_MACHINE_OF_ADDRESS,
    NODE_NEEDS_ATTENTION,
    RUNS_AT_ONCE,
    SAME_ADDRESS,
    STARTS_NO_SERVERS,
    TOO_MANY_EXPORTERS,
    URL_TOO_LONG,
)
from runs.models import (
    Cluster,
    Conductor,
    Database,
    Machine,
    Matrix,
    Node,
    Phase,
    Provisioner,
    Run,
    Status,
)
from runs.queue.spec_corrections import rename_queued_runs
from runs.ycsb.property_schema import nearest

MAX_NODES = 64
MAX_EXPORTERS = 32
MAX_URL_LENGTH = 300
MORE_ROWS = 2
# Of more machines than these nobody finds one in a list, and each row would carry all of them.
MAX_LISTED = 200
EXPLAINED = {
    Provisioner.PROCESS: "process: Benchsite starts and stops the servers, on its own machine or by load generators on "
    "the machines of the nodes",
    Provisioner.DOCKER: "docker: the same in containers of the official images, by the Docker engine of that machine",
    Provisioner.EXTERNAL: "external: the servers already run; somebody else starts and stops them",
}


RIGHTS = "Clusters belong to the operators of this site, those whose servers already run also to your team's admins."


def may_edit_cluster(provisioner: str, *, operator: bool, admin: bool) -> bool:
    """Operators edit any cluster of their team; admins only external ones, which start nothing on this site."""
    return operator or (admin and provisioner == Provisioner.EXTERNAL)


def machines_for(team: Team) -> QuerySet[Machine]:
    """The machines a team may use: those of no team in particular, and its own."""
    return Machine.objects.filter(Q(teams__isnull=True) | Q(teams=team)).distinct()


class MachineByName(forms.CharField):
    """A machine called by its name, as the page of machines spells it."""

    def __init__(self, machines: list[Machine]) -> None:
        self.machines = {machine.name: machine for machine in machines}
        super().__init__(
            required=False,
            max_length=80,
            widget=forms.TextInput(attrs={"placeholder": "name of a machine", "autocomplete": "off"}),
        )

    def prepare_value(self, value: Any) -> Any:
        """What the row had is known by its id, what somebody wrote is shown as written."""
        return next((machine.name for machine in self.machines.values() if machine.pk == value), value)

    def clean(self, value: Any) -> Machine | None:
        name = super().clean(value)
        if not name:
            return None
        if name not in self.machines:
            near = nearest(name, self.machines)
            hint = f"Did you mean {near}?" if near else "The page of machines lists them."
            raise ValidationError(f"No machine that your team may use is called “{name}”. {hint}")
        return self.machines[name]


class NodeForm(DescribedForm):
    machine: forms.Field = forms.ModelChoiceField(
        queryset=Machine.objects.none(), required=False, empty_label="(no node)"
    )
    address = forms.CharField(
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "host:port", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, machines: list[Machine], by_name: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if by_name or len(machines) > MAX_LISTED:
            self.fields["machine"] = MachineByName(machines)
            return
        # One list for all rows: a queryset would be asked once per row.
        self.offer("machine", [("", "(no node)"), *((str(machine.pk), machine.name) for machine in machines)])
        self.fields["machine"].queryset = Machine.objects.filter(pk__in=[m.pk for m in machines])  # type: ignore[attr-defined]


class UrlsField(forms.CharField):
    """URLs, one a line; the value is their list. Programs send that list itself. `networks` are those of the team."""

    networks: Sequence[str] = ()
    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocapitalize": "off", "class": "mono"})

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return "\n".join(value)
        return value

    def clean(self, value: Any) -> list[str]:
        urls = list(dict.fromkeys(super().clean(self.prepare_value(value)).split()))
        if len(urls) > MAX_EXPORTERS:
            raise ValidationError(TOO_MANY_EXPORTERS.format(count=len(urls), limit=MAX_EXPORTERS))
        lookups_until = time.monotonic() + REQUEST_LOOKUP_TIMEOUT_S
        for url in urls:
            if len(url) > MAX_URL_LENGTH:
                raise ValidationError(URL_TOO_LONG.format(url=url[:60], limit=MAX_URL_LENGTH))
            try:
                check_url(url, self.networks, max(0.0, lookups_until - time.monotonic()))
            except AddressRefused as error:
                raise ValidationError(f"{url[:60]}: {error}") from None
        return urls


def _find_program(former: Sequence[Node], position: int, machine: Machine, address: str) -> str:
    """That of the node before its address was corrected: the one in its row, unless another one had the address."""
    of_machine = [node for node in former if node.machine_id == machine.pk]
    of_address = [node for node in of_machine if node.address == address]
    of_row = [node for node in of_machine if node in former[position : position + 1]]
    return next((node.program for node in (*of_address, *of_row)), "")


class ClusterForm(NamedForm):
    model = Cluster
    used_as = "cluster"
    has_moved = False  # whether other nodes were saved
    name = name_field()
    provisioner = forms.ChoiceField(choices=[], label="Who starts the servers", widget=forms.RadioSelect)
    separates_cpus = forms.BooleanField(
        required=False,
        initial=True,
        label="Separate the CPUs of servers and clients",
        help_text="Where clients run on the machine of servers that Benchsite starts, each side uses half the cores.",
    )
    exporters = UrlsField(
        required=False,
        label="Metrics",
        help_text="Prometheus or OpenMetrics exporters of its machines and servers, one URL a line. They are scraped "
        "while runs measure.",
    )
    notes = notes_field()

    def __init__(
        self,
        *args: Any,
        team: Team,
        operator: bool,
        instance: Cluster | None = None,
        rows: int = 0,
        by_name: bool = False,
        **kwargs: Any,
    ) -> None:
        self.operator, self.by_name = operator, by_name
        allowed = list(EXPLAINED) if operator else [Provisioner.EXTERNAL]
        super().__init__(*args, team=team, instance=instance, initial={"provisioner": allowed[0]}, **kwargs)
        self.offer("provisioner", [(kind.value, EXPLAINED[kind]) for kind in allowed])
        cast(UrlsField, self.fields["exporters"]).networks = team.external_networks
        initial: list[Any] = list(instance.nodes.values("machine", "address")) if instance else []
        machines = list(machines_for(team))
        posted = sum(f"node-{number}-machine" in self.data for number in range(MAX_NODES))
        count = min(MAX_NODES, max(posted, len(initial), 1) + (0 if self.is_bound else MORE_ROWS) + rows)
        initial += [{}] * (count - len(initial))
        self.rows = [
            NodeForm(
                self.data if self.is_bound else None,
                prefix=f"node-{number}",
                machines=machines,
                by_name=by_name,
                initial=initial[number],
            )
            for number in range(count)
        ]
        self.has_machines = bool(machines)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        kind = cleaned.get("provisioner")
        self.nodes: list[tuple[Machine, str]] = []
        lookups_until = time.monotonic() + REQUEST_LOOKUP_TIMEOUT_S
        for row in self.rows:
            if not row.is_valid():
                raise ValidationError(NODE_NEEDS_ATTENTION)
            machine, address = row.cleaned_data.get("machine"), row.cleaned_data.get("address", "").strip()
            if machine is None and address:
                row.add_error("machine", CHOOSE_MACHINE_OF_ADDRESS.format(address=address[:60]))
            if machine is None:
                continue
            if kind != Provisioner.EXTERNAL:
                address = ""
            else:
                self._check_address(row, address, max(0.0, lookups_until - time.monotonic()))
            self.nodes.append((machine, address))
        if kind == Provisioner.PROCESS:
            self._find_addresses()
        self._check_nodes(kind)
        return cleaned

    def _find_addresses(self) -> None:
        """Adds where load generators start the nodes. A conductor starts the only node of its own machine."""
        keys = [machine.host_key for machine, _ in self.nodes]
        if len(keys) == 1 and Conductor.objects.filter(host_key=keys[0] or "").exists():
            return
        starting = get_generators(self.team).filter(enabled=True, facts__has_key="node_address")
        starting = starting.exclude(facts__node_address="").order_by("last_seen_at")
        addresses = dict(starting.values_list("machine", "facts__node_address"))
        self.nodes = [(machine, addresses.get(machine.pk, "")) for machine, _ in self.nodes]
        for machine, address in self.nodes:
            if not address and len(self.nodes) > 1:
                row = next(row for row in self.rows if row.cleaned_data.get("machine") == machine)
                row.add_error("machine", STARTS_NO_SERVERS.format(machine=machine.name))

    def _check_address(self, row: NodeForm, address: str, timeout_s: float) -> None:
        if not address:
            row.add_error("address", "Write where its server listens, as host:port.")
            return
        try:
            host, port = split_address(address)
            networks = allowed_networks(self.team.external_networks)
            refuse_address(host, port, networks, own_servers=own_servers(), timeout_s=timeout_s)
        except AddressRefused as error:
            row.add_error("address", str(error))

    def _nodes_differ(self, cluster: Cluster) -> bool:
        stored = list(cluster.nodes.values_list("machine_id", "address"))
        return stored != [(machine.pk, address) for machine, address in self.nodes]

    def _check_nodes(self, kind: str | None) -> None:
        if any(row.errors for row in self.rows):
            raise ValidationError("A node below needs attention.")
        if not self.nodes:
            raise ValidationError("A cluster needs at least one node: choose a machine.")
        if kind == Provisioner.DOCKER and len(self.nodes) > 1:
            raise ValidationError(f"A {kind} cluster is a single node: it runs on the conductor's own machine.")
        seen = [(machine.pk, address) for machine, address in self.nodes]
        if len(set(seen)) < len(seen):
            raise ValidationError("The same node stands in two rows: leave one of them.")
        # The leases of a run are on the machines that its cluster had when the run started.
        if self.instance and self._nodes_differ(self.instance):
            refuse_in_use(self, self.instance, self.instance.runs.all())

    def save(self) -> Cluster:
        with transaction.atomic():
            cluster: Cluster = super().save()
            self.has_moved = self._nodes_differ(cluster)
            if self.has_moved:
                former = list(cluster.nodes.all())
                cluster.nodes.all().delete()
                Node.objects.bulk_create(
                    Node(
                        cluster=cluster, machine=machine, address=address, position=position,
                        program=_find_program(former, position, machine, address),
                    )
                    for position, (machine, address) in enumerate(self.nodes)
                )  # fmt: skip
                if not self.by_name:  # Programs know rows by their names.
                    self._rename(cluster, [node.address for node in former])
            rename_queued_runs(cluster)
        self.instance = cluster
        return cluster

    def describe_others(self) -> list[str]:
        """Other external clusters with an address of this one, once it is saved: a sentence on each."""
        machines = [machine for machine, _ in self.nodes]
        nodes = Node.objects.filter(
            cluster__team=self.team,
            cluster__provisioner=Provisioner.EXTERNAL,
            address__in=[address for _, address in self.nodes if address],
        ).exclude(cluster=self.instance)
        texts = {}
        for node in nodes.select_related("cluster"):
            text = SAME_ADDRESS.format(cluster=node.cluster, address=node.address)
            # Runs on one machine exclude each other.
            if not node.cluster.nodes.filter(machine__in=machines).exists():
                text += RUNS_AT_ONCE
            texts[node.cluster_id] = text
        return list(texts.values())

    def _rename(self, cluster: Cluster, former: list[str]) -> None:
        """Names that hold a former address get the new one, where nothing was measured under them."""
        measured = Run.objects.filter(phase=Phase.MEASURE, status=Status.SUCCEEDED)
        if measured.filter(cluster=cluster).exists():
            return
        renewed = {old: new for old, (_, new) in zip(former, self.nodes, strict=False) if old and new}
        if not renewed:
            return
        matrices = Matrix.objects.filter(runs__cluster=cluster).exclude(runs__in=measured).distinct()
        rows: list[Cluster | Database | Matrix] = [cluster, *cluster.databases.all(), *matrices]
        # 10.0.0.1:637 is no part of 10.0.0.1:6379.
        addresses = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, renewed))})(?![\w.])")
        for row in rows:
            name = addresses.sub(lambda match: renewed[match[0]], row.name)[: row._meta.get_field("name").max_length]
            if name != row.name and not type(row).objects.filter(team=cluster.team, name=name).exists():
                row.name = name
                row.save(update_fields=["name"])
        if self.operator:
            self._rename_machines(cluster, renewed)

    def _rename_machines(self, cluster: Cluster, renewed: dict[str, str]) -> None:
        """Machines that were named after a former address, and that nothing else uses."""
        others = Node.objects.exclude(cluster=cluster)
        for old, new in renewed.items():
            host, name = (split_address(address, 0)[0][:80] for address in (old, new))
            machines = Machine.objects.filter(nodes__cluster=cluster, name=host, load_generators=None)
            if not Machine.objects.filter(name=name).exists():
                machines.exclude(nodes__in=others).update(name=name)

"""Machines, clusters, databases and workloads by their names: read as definitions, and written by the pages' forms."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Model, QuerySet
from pydantic import AfterValidator, Field, WithJsonSchema

from benchsite.accounts.models import Membership, Role, Scope, Team
from benchsite.accounts.tokens import Bearer
from benchsite.rest.authentication import require_scope
from benchsite.rest.problems import Fault, Problem
from benchsite.rest.schemas import Text, Word, plain
from runs.catalog import MAX_OWN_MODES, OwnMode, PropertyError, System, get_flavour, load_catalog
from runs.catalog.forms.clusters import MAX_EXPORTERS, MAX_NODES, RIGHTS, ClusterForm, machines_for, may_edit_cluster
from runs.catalog.forms.databases import DatabaseForm
from runs.catalog.forms.fields import IN_USE, MAX_LINES
from runs.catalog.forms.machines import MachineForm
from runs.catalog.forms.own_modes import FIELDS, OwnModeForm, delete_own_mode
from runs.catalog.forms.sign_in import KEPT
from runs.models import Cluster, Database, Machine, Provisioner, Workload
from runs.models.client_properties import find_secrets
from runs.plans.files.plan import PlanDurability, Slug
from runs.plans.forms.workloads import WorkloadForm, in_order
from runs.plans.plan_spec import MAX_INTEGER, Between, Table
from runs.ycsb.property_schema import MAX_PEM_LENGTH

MAX_NUMBER: Final = 2**63 - 1


def _check_value(value: object) -> object:
    if isinstance(value, str):
        value.encode()
        if len(plain(value)) <= MAX_PEM_LENGTH:
            return value
    elif isinstance(value, int | float) and abs(value) <= MAX_NUMBER:
        return value
    raise ValueError(f"must be a number, true, false or a text of at most {MAX_PEM_LENGTH} characters")


# One type instead of a union: an error of a union names each of its types.
Value = Annotated[Any, AfterValidator(_check_value), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Values = Annotated[dict[Word, Value], Field(max_length=MAX_LINES)]
Definition = dict[str, Any]  # a spec as plain values
MAX_TEAMS: Final = 200


class MachineSpec(Table):
    """A host. Machines belong to the site, and its operators write them."""

    host_key: Word = Field("", description="What a worker on this host calls itself.")
    facts: Values = Field({}, description="Stated ones; what a worker observed itself outweighs them.")
    teams: list[Word] = Field(
        [], max_length=MAX_TEAMS, description="Slugs of the teams that alone may use it; empty: all. For operators."
    )


class NodeSpec(Table):
    machine: Annotated[Word, Field(min_length=1)] = Field(description="The name of a machine.")
    address: Word = Field("", description="host:port of an external server.")


class ClusterSpec(Table):
    """The machines that servers run on."""

    provisioner: Word = Field("external", description="Who starts the servers: process, docker or external.")
    separates_cpus: bool = Field(True, description="Servers and clients on one machine use half of its cores each.")
    nodes: list[NodeSpec] = Field([], max_length=MAX_NODES)
    exporters: list[Word] = Field(
        [], max_length=MAX_EXPORTERS, description="URLs of Prometheus or OpenMetrics exporters, scraped during runs."
    )
    notes: Text = ""


class OwnModeSpec(Table):
    """A copy of one of the system's durability modes, with the record that its owner states."""

    base: Word = Field(description="The slug of the copied mode.")
    durability: PlanDurability
    server_settings: Values
    client_properties: Values


class DatabaseSpec(Table):
    """A system of the catalog on a cluster."""

    system: Word = Field("", description="A slug of the catalog.")
    cluster: Word = Field("", description="The name of a cluster.")
    version: Word = ""
    replication_factor: Annotated[int, Between(-MAX_INTEGER)] = 1
    settings: Values = Field({}, description="Of the server, in every mode.")
    binding_properties: Values = Field(
        {}, description="Of the client, in every mode. A stored secret is answered as `(kept)`, which keeps it."
    )
    client: Word = Field("", description="A stock binding or a driver of go-ycsb; empty: Benchsite's own client.")
    own_modes: dict[Slug, OwnModeSpec] = Field(
        {}, max_length=MAX_OWN_MODES, description="By slug: always-tuned-stated."
    )
    notes: Text = ""


class WorkloadSpec(Table):
    """Operation mix, request distribution and data set."""

    short_name: Word = Field("", description="A few letters for the names of runs.")
    properties: Values = Field({}, description="As YCSB names them.")
    notes: Text = ""


class DefinitionRefused(Exception):
    """Nothing was stored. `faults` have pointers into the definition."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = list(faults)
        super().__init__(self.faults)

    def as_problem(self) -> Problem:
        if any(fault["code"] == IN_USE for fault in self.faults):
            details = " ".join(fault["detail"] for fault in self.faults)
            return Problem("conflict", details, errors=self.faults)
        return Problem.of_faults(self.faults)


class Kind:
    """One kind of row, by its name in requests and files."""

    model: type[Any]
    spec: type[Table]
    scope: Scope

    @property
    def name(self) -> str:
        return str(self.model._meta.verbose_name)

    @property
    def plural(self) -> str:
        return str(self.model._meta.verbose_name_plural)

    def rows(self, bearer: Bearer) -> QuerySet[Any]:
        """Those that the token may read."""
        rows: QuerySet[Any] = self.model.objects.all()
        return rows

    def find(self, bearer: Bearer, name: str) -> Any:
        """The row, or None."""
        return self.rows(bearer).filter(name=" ".join(name.split())).first()

    def read(self, row: Any) -> Definition:
        """With its secrets."""
        raise NotImplementedError

    def hide_secrets(self, definition: Definition) -> Definition:
        return definition

    def find_refusal(self, bearer: Bearer, definition: Definition) -> str:
        """Why the maker of the token may not write this; empty where they may."""
        return ""

    def save(self, bearer: Bearer, row: Any, name: str, definition: Definition) -> Model:
        """Raises DefinitionRefused."""
        form = self._build_form(bearer, row, {**definition, "name": name})
        _refuse(self._list_faults(form))
        saved: Model = form.save()
        return saved

    def _build_form(self, bearer: Bearer, row: Any, data: Definition) -> Any:
        raise NotImplementedError

    def _list_faults(self, form: Any) -> list[Fault]:
        return list_faults(form, {"name": "path.name"})


class MachineKind(Kind):
    model, spec, scope = Machine, MachineSpec, Scope.MACHINES_WRITE

    def rows(self, bearer: Bearer) -> QuerySet[Machine]:
        if bearer.user.is_staff:
            return Machine.objects.all()
        return machines_for(bearer.team)

    def read(self, row: Machine) -> Definition:
        stated = {name: fact["value"] for name, fact in sorted(row.facts.items()) if fact.get("how") == "stated"}
        teams = sorted(row.teams.values_list("slug", flat=True))
        return {"host_key": row.host_key or "", "facts": stated, "teams": teams}

    def find_refusal(self, bearer: Bearer, definition: Definition) -> str:
        if bearer.user.is_staff:
            return ""
        return "Machines belong to the operators of this site."

    def _build_form(self, bearer: Bearer, row: Machine | None, data: Definition) -> MachineForm:
        form = MachineForm({**data, "facts": as_texts(data["facts"])}, instance=row)
        form.fields["teams"].to_field_name = "slug"  # type: ignore[attr-defined]
        return form


class ClusterKind(Kind):
    model, spec, scope = Cluster, ClusterSpec, Scope.MACHINES_WRITE

    def rows(self, bearer: Bearer) -> QuerySet[Cluster]:
        return Cluster.objects.prefetch_related("nodes__machine")

    def read(self, row: Cluster) -> Definition:
        is_external = row.provisioner == Provisioner.EXTERNAL
        return {
            "provisioner": row.provisioner,
            "separates_cpus": row.separates_cpus,
            "exporters": row.exporters,
            "nodes": [
                {"machine": node.machine.name, "address": node.address if is_external else ""}
                for node in row.nodes.all()
            ],
            "notes": row.notes,
        }

    def find_refusal(self, bearer: Bearer, definition: Definition) -> str:
        admin = Membership.objects.filter(team=bearer.team, user=bearer.user, role=Role.ADMIN).exists()
        if may_edit_cluster(definition["provisioner"], operator=bearer.user.is_staff, admin=admin):
            return ""
        return RIGHTS

    def _build_form(self, bearer: Bearer, row: Cluster | None, data: Definition) -> ClusterForm:
        nodes = {f"node-{number}-{field}": node[field] for number, node in enumerate(data["nodes"]) for field in node}
        # Who may write it is decided by `find_refusal`, also for what is there and stays.
        return ClusterForm({**data, **nodes}, team=bearer.team, operator=True, instance=row, by_name=True)

    def _list_faults(self, form: ClusterForm) -> list[Fault]:
        """Those of its nodes alone where there are any."""
        faults = super()._list_faults(form)
        of_nodes = list[Fault]()
        for number, node in enumerate(form.rows):
            of_nodes += list_faults(node, {field: f"#/nodes/{number}/{field}" for field in node.fields})
        return of_nodes or faults


class DatabaseKind(Kind):
    model, spec, scope = Database, DatabaseSpec, Scope.DATABASES_WRITE

    def rows(self, bearer: Bearer) -> QuerySet[Database]:
        return Database.objects.select_related("cluster")

    def read(self, row: Database) -> Definition:
        columns = ("system", "version", "replication_factor", "client", "notes")
        return {
            **{name: getattr(row, name) for name in columns},
            "cluster": row.cluster.name,
            "settings": dict(sorted(row.settings.items())),
            "binding_properties": dict(sorted(row.binding_properties.items())),
            "own_modes": {slug: _without_name(mode) for slug, mode in sorted(row.own_modes.items())},
        }

    def hide_secrets(self, definition: Definition) -> Definition:
        properties = definition["binding_properties"]
        return {**definition, "binding_properties": properties | dict.fromkeys(find_secrets(properties), KEPT)}

    def save(self, bearer: Bearer, row: Any, name: str, definition: Definition) -> Model:
        """Own modes that are not stated any more go first: another system need not fit them."""
        system = load_catalog().get(definition["system"], get_flavour(definition["client"]))
        own_modes = {slug: _complete(system, slug, mode) for slug, mode in definition["own_modes"].items()}
        stored = {}
        if row:
            stored = row.own_modes
        for slug in stored:
            if stored[slug] != own_modes.get(slug):
                _delete_mode(row, slug)

        if row:
            row.refresh_from_db(fields=["own_modes"])
        saved: Any = super().save(bearer, row, name, definition)
        for slug, mode in own_modes.items():
            if mode != stored.get(slug):
                _add_mode(saved, slug, mode)

        return saved  # type: ignore[no-any-return]

    def _build_form(self, bearer: Bearer, row: Database | None, data: Definition) -> DatabaseForm:
        texts = {name: as_texts(data[name]) for name in ("settings", "binding_properties")}
        form = DatabaseForm({**data, **texts}, team=bearer.team, instance=row, as_stated=True)
        cluster: Any = form.fields["cluster"]
        cluster.to_field_name = "name"
        cluster.error_messages["invalid_choice"] = "There is no cluster “%(value)s”."
        return form

    def _list_faults(self, form: DatabaseForm) -> list[Fault]:
        pointers = {"name": "path.name"}
        if form.client_system:
            fields = form.client_system.binding.form_fields
            pointers |= {field: f"#/binding_properties/{name}" for field, name in fields.items()}
        return list_faults(form, pointers)


class WorkloadKind(Kind):
    model, spec, scope = Workload, WorkloadSpec, Scope.DATABASES_WRITE

    def read(self, row: Workload) -> Definition:
        return {"short_name": row.short_name, "properties": in_order(row.properties), "notes": row.notes}

    def _build_form(self, bearer: Bearer, row: Workload | None, data: Definition) -> WorkloadForm:
        return WorkloadForm({**data, "properties": as_texts(data["properties"])}, team=bearer.team, instance=row)


# In the order in which one needs the other.
KINDS: Final[tuple[Kind, ...]] = (MachineKind(), ClusterKind(), DatabaseKind(), WorkloadKind())


@transaction.atomic
def write(kind: Kind, bearer: Bearer, name: str, definition: Definition) -> tuple[Any, Definition | None, Definition]:
    """Create or change the row of this name; nothing is stored where it is so already.

    Answers the row, and with their secrets what it was before (None: it is new) and what it is after.
    Raises DefinitionRefused, and Problem where the token or its maker may not write it.
    """
    lock(bearer.team)
    if kind.model is Machine:
        lock(None)
    row = kind.find(bearer, name)
    before = None
    if row:
        before = kind.read(row)
    else:
        _require_rights(kind, bearer, definition)

    saved = kind.save(bearer, row, name, definition)
    row = kind.rows(bearer).get(pk=saved.pk)
    after = kind.read(row)
    if before == after:
        transaction.set_rollback(True)
    else:
        _require_rights(kind, bearer, *filter(None, (before, after)))

    return row, before, after


def _require_rights(kind: Kind, bearer: Bearer, *definitions: Definition) -> None:
    require_scope(bearer, [kind.scope])
    for definition in definitions:
        if refusal := kind.find_refusal(bearer, definition):
            raise Problem("insufficient-scope", refusal)


def lock(team: Team | None) -> None:
    """Serialise the writers of a team's definitions; None: those of the site, its machines."""
    key = ""
    if team:
        key = str(team.pk)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"definitions {key}"])


def list_faults(form: forms.Form, pointers: Mapping[str, str]) -> list[Fault]:
    """Everything that a form refuses. `pointers` are by field, where they are not the field's name."""
    return [
        {"pointer": pointers.get(field, f"#/{field}").removesuffix("/__all__"), "detail": error["message"],
         "code": error["code"] or "invalid"}
        for field, errors in form.errors.get_json_data().items()
        for error in errors
    ]  # fmt: skip


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """As the forms take properties: true and false in small letters."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in values.items()}


def _refuse(faults: list[Fault]) -> None:
    if faults:
        raise DefinitionRefused(faults)


def _without_name(mode: OwnMode) -> Definition:
    return {key: value for key, value in mode.items() if key != "name"}


def _complete(system: System | None, slug: str, stated: Definition) -> Definition:
    """The own mode as it would be stored; as stated where it is refused, which its form explains."""
    texts = {name: as_texts(stated[name]) for name in ("server_settings", "client_properties")}
    mode = {**stated, **texts}
    if system is None or mode["base"] not in system.modes:
        return mode
    named: Any = {**mode, "name": f"{system.modes[mode['base']].name}, as stated"}
    try:
        return dict(system.check_own_mode(slug, named))
    except PropertyError:
        return mode


def _delete_mode(database: Database, slug: str) -> None:
    try:
        delete_own_mode(database.pk, slug)
    except ValidationError as refusal:
        detail = str(refusal.message)
        raise DefinitionRefused([{"pointer": f"#/own_modes/{slug}", "detail": detail, "code": IN_USE}]) from None


def _add_mode(database: Database, slug: str, mode: Definition) -> None:
    own = f"#/own_modes/{slug}"
    system = load_catalog().system(database.system, database.flavour)
    if mode["base"] not in system.modes:
        detail = f"{system.name} has no durability mode {mode['base']} to copy."
        raise DefinitionRefused([{"pointer": f"{own}/base", "detail": detail, "code": "unknown"}])

    record = {name: value for name, value in mode["durability"].items() if value is not None}
    texts = {"replicas_acked": str(record.get("replicas_acked", "")), "restated": "on"}  # A file states all of it.
    form = OwnModeForm(
        {**mode, **record, **texts, "name": slug}, database=database, system=system, base=system.modes[mode["base"]]
    )
    pointers = {"__all__": own, **{name: f"{own}/{name}" for name in form.fields}}
    pointers |= {name: f"{own}/durability/{name}" for name in FIELDS}
    _refuse(list_faults(form, pointers))
    if form.cleaned_data["name"] != slug:
        detail = f"Write this name as {form.cleaned_data['name']}."
        raise DefinitionRefused([{"pointer": own, "detail": detail, "code": "invalid"}])

    try:
        form.save()
    except ValidationError as refusal:
        details = "; ".join(refusal.messages)
        raise DefinitionRefused([{"pointer": own, "detail": details, "code": "invalid"}]) from None

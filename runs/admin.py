"""The operator's view of plans, runs and results. What happened is read here, never rewritten.

`Run.status` and everything a conductor wrote are read-only: only `runs.queue.lifecycle` moves a run, and only its own
verbs cancel one. An operator may reorder the queue (priority) and correct what people wrote (tags, notes).
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from runs.models import (
    Artifact,
    ClientRun,
    Cluster,
    Database,
    Deployment,
    Finding,
    LoadGenerator,
    Machine,
    Matrix,
    MatrixEntry,
    Measurement,
    MeasurementSet,
    Node,
    Run,
    RunEvent,
    Sweep,
    Workload,
)

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline


class ReadOnly:
    """Rows that the machinery writes: an operator looks, and changes only the fields named `writable`."""

    model: type[Model]
    writable: tuple[str, ...] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        fields = [*self.model._meta.fields, *self.model._meta.many_to_many]
        return [field.name for field in fields if field.name not in self.writable]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class NodeInline(TabularInline):
    """Read-only while a run uses the cluster, because a trigger then refuses changes."""

    model = Node
    extra = 0
    autocomplete_fields = ["machine"]

    def has_add_permission(self, request: HttpRequest, obj: Cluster | None = None) -> bool:
        return self._is_unused(obj) and super().has_add_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Cluster | None = None) -> bool:
        return self._is_unused(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Cluster | None = None) -> bool:
        return self._is_unused(obj) and super().has_delete_permission(request, obj)

    def _is_unused(self, cluster: Cluster | None) -> bool:
        return cluster is None or cluster.active_run() is None


class ClientRunInline(ReadOnly, TabularInline):
    model = ClientRun
    fields = ["number", "load_generator", "state", "reason", "claimed_at", "ready_at", "finished_at", "exit_code"]
    extra = 0
    show_change_link = True


class RunEventInline(ReadOnly, TabularInline):
    model = RunEvent
    fields = ["at", "kind", "old", "new", "actor", "text"]
    extra = 0


class MatrixEntryInline(TabularInline):
    model = MatrixEntry
    extra = 0
    autocomplete_fields = ["database"]


class MeasurementInline(ReadOnly, TabularInline):
    model = Measurement
    fields = ["operation", "latency_kind", "count", "failed", "mean_us", "p50_us", "p99_us", "max_us"]
    extra = 0


class FindingInline(ReadOnly, TabularInline):
    model = Finding
    fields = ["check_id", "severity", "title", "measured", "threshold", "message"]
    extra = 0


@admin.register(Machine)
class MachineAdmin(ModelAdmin):
    list_display = ["name", "host_key", "created_at"]
    search_fields = ["name", "host_key"]
    filter_horizontal = ["teams"]


@admin.register(Cluster)
class ClusterAdmin(ModelAdmin):
    list_display = ["name", "team", "provisioner", "created_at"]
    list_filter = ["provisioner", "team"]
    list_select_related = ["team"]
    search_fields = ["name"]
    inlines = [NodeInline]


@admin.register(LoadGenerator)
class LoadGeneratorAdmin(ModelAdmin):
    list_display = ["name", "machine", "enabled", "slots", "last_seen_at"]
    list_editable = ["enabled"]
    list_filter = ["enabled"]
    list_select_related = ["machine"]
    search_fields = ["name", "machine__name"]
    filter_horizontal = ["teams"]
    # Its worker says these of itself, each time it starts.
    readonly_fields = ["bindings", "facts", "last_seen_at"]


@admin.register(Database)
class DatabaseAdmin(ModelAdmin):
    list_display = ["name", "team", "system", "version", "cluster", "flavour"]
    list_filter = ["system", "flavour", "team"]
    list_select_related = ["team", "cluster"]
    search_fields = ["name", "system"]
    autocomplete_fields = ["cluster"]


@admin.register(Workload)
class WorkloadAdmin(ModelAdmin):
    list_display = ["name", "short_name", "team"]
    list_filter = ["team"]
    list_select_related = ["team"]
    search_fields = ["name"]


@admin.register(Matrix)
class MatrixAdmin(ModelAdmin):
    list_display = ["name", "team", "purpose", "priority", "created_by", "submitted_at"]
    list_filter = ["purpose", "team"]
    list_select_related = ["team", "created_by"]
    search_fields = ["name", "notes"]
    date_hierarchy = "created_at"
    readonly_fields = ["submitted_at", "created_by"]
    inlines = [MatrixEntryInline]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return isinstance(obj, Matrix) and obj.submitted_at is None


@admin.register(Sweep)
class SweepAdmin(ReadOnly, ModelAdmin):
    writable = ("tags", "notes")
    list_display = ["name", "team", "matrix", "system", "mode", "phase", "purpose", "created_at"]
    list_filter = ["phase", "purpose", "system", "team"]
    list_select_related = ["team", "matrix"]
    search_fields = ["name", "notes"]


@admin.register(Run)
class RunAdmin(ReadOnly, ModelAdmin):
    writable = ("priority", "tags", "notes")
    list_display = ["name", "team", "matrix", "status", "stage", "reason", "verdict", "throughput_ops_s", "created_at"]
    list_filter = ["status", "verdict", "reason", "phase", "purpose", "system", "team"]
    list_select_related = ["team", "matrix"]
    search_fields = ["name", "notes", "reason_detail"]
    date_hierarchy = "created_at"
    inlines = [ClientRunInline, RunEventInline]
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        # The list shows neither, and each is the size of all the other columns together.
        listing = bool(request.resolver_match and request.resolver_match.url_name == "runs_run_changelist")
        if listing:
            return rows.defer("spec", "evidence")
        return rows

    def view_on_site(self, obj: Run) -> str:
        return reverse("run", args=[obj.pk])


@admin.register(ClientRun)
class ClientRunAdmin(ReadOnly, ModelAdmin):
    list_display = ["run", "number", "load_generator", "state", "reason", "heartbeat_at"]
    list_filter = ["state", "reason", "load_generator"]
    list_select_related = ["run", "load_generator"]
    search_fields = ["run__name", "reason_detail"]


@admin.register(Deployment)
class DeploymentAdmin(ReadOnly, ModelAdmin):
    list_display = ["database", "mode", "cluster", "state", "server_version", "rows_loaded", "dirtied", "changed_at"]
    list_filter = ["state", "cluster"]
    list_select_related = ["database", "cluster"]


@admin.register(MeasurementSet)
class MeasurementSetAdmin(ReadOnly, ModelAdmin):
    list_display = [
        "run",
        "number",
        "is_current",
        "throughput_ops_s",
        "clients_merged",
        "clients_expected",
        "created_at",
    ]
    list_filter = ["is_current", "algorithm_version"]
    list_select_related = ["run"]
    search_fields = ["run__name"]
    inlines = [MeasurementInline, FindingInline]


@admin.register(Artifact)
class ArtifactAdmin(ReadOnly, ModelAdmin):
    list_display = ["name", "kind", "run", "team", "size", "short_digest", "created_at"]
    list_filter = ["kind", "team"]
    list_select_related = ["run", "team"]
    search_fields = ["name", "sha256", "run__name"]

    @admin.display(description="SHA-256")
    def short_digest(self, obj: Artifact) -> SafeString:
        return format_html('<code title="{}">{}</code>', obj.sha256, obj.sha256[:12])

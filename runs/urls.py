"""Addresses of the pages of `runs`: what is benchmarked, and what happened."""

from django.urls import URLPattern, URLResolver, include, path

from runs.catalog.views import clusters, databases, machines, systems
from runs.checks import views as thresholds
from runs.plans.views import matrices, matrix, plans, schedules, workloads
from runs.results.pages.lists import export_urls
from runs.results.views import deletion, run, run_list
from runs.uploads.views import harmless_properties, imports

Patterns = list[URLPattern | URLResolver]

machine_urls: Patterns = [
    path("", machines.machines, name="machines"),
    path("new/", machines.machine_edit, name="machine-add"),
    path("<uuid:pk>/", machines.machine, name="machine"),
    path("<uuid:pk>/edit/", machines.machine_edit, name="machine-edit"),
    path("<uuid:pk>/delete/", machines.machine_delete, name="machine-delete"),
]

cluster_urls: Patterns = [
    path("", clusters.clusters, name="clusters"),
    path("new/", clusters.cluster_edit, name="cluster-add"),
    path("<uuid:pk>/", clusters.cluster, name="cluster"),
    path("<uuid:pk>/edit/", clusters.cluster_edit, name="cluster-edit"),
    path("<uuid:pk>/delete/", clusters.cluster_delete, name="cluster-delete"),
    path("<uuid:pk>/confirm/", clusters.cluster_confirm, name="cluster-confirm"),
    path("<uuid:pk>/withdraw/", clusters.cluster_withdraw, name="cluster-withdraw"),
]

database_urls: Patterns = [
    path("", databases.databases, name="databases"),
    path("new/", databases.database_edit, name="database-add"),
    path("<uuid:pk>/", databases.database, name="database"),
    path("<uuid:pk>/edit/", databases.database_edit, name="database-edit"),
    path("<uuid:pk>/delete/", databases.database_delete, name="database-delete"),
    path("<uuid:pk>/modes/<slug:base>/copy/", databases.own_mode_add, name="own-mode-add"),
    path("<uuid:pk>/modes/<slug:mode>/edit/", databases.own_mode_edit, name="own-mode-edit"),
    path("<uuid:pk>/modes/<slug:mode>/delete/", databases.own_mode_delete, name="own-mode-delete"),
]

workload_urls: Patterns = [
    path("", workloads.workloads, name="workloads"),
    path("new/", workloads.workload_edit, name="workload-add"),
    path("<uuid:pk>/", workloads.workload, name="workload"),
    path("<uuid:pk>/edit/", workloads.workload_edit, name="workload-edit"),
    path("<uuid:pk>/delete/", workloads.workload_delete, name="workload-delete"),
]

system_urls: Patterns = [
    path("", systems.systems, name="systems"),
    path("<slug:slug>/", systems.system, name="system"),
]

threshold_urls: Patterns = [
    path("", thresholds.thresholds, name="thresholds"),
    path("<slug:name>/", thresholds.threshold_edit, name="threshold-edit"),
]

matrix_urls: Patterns = [
    path("", matrices.matrices, name="matrices"),
    path("new/", matrices.matrix_add, name="matrix-add"),
    path("preview/", matrices.matrix_preview, name="matrix-preview"),
    path("import/", plans.plan_import, name="plan-import"),
    path("<uuid:pk>/plan/", plans.plan_export, name="matrix-plan"),
    path("<uuid:pk>/", matrix.matrix, name="matrix"),
    path("<uuid:pk>/live/", matrix.matrix_live, name="matrix-live"),
    path("<uuid:pk>/archive/", matrix.matrix_archive, name="matrix-archive"),
    path("<uuid:pk>/delete/", deletion.matrix_delete, name="matrix-delete"),
    path("<uuid:pk>/submit/", matrix.matrix_submit, name="matrix-submit"),
    path("<uuid:pk>/cancel/", matrix.matrix_cancel, name="matrix-cancel"),
    path("<uuid:pk>/resume/", matrix.matrix_resume, name="matrix-resume"),
    path("<uuid:pk>/replace/", matrix.matrix_replace, name="matrix-replace"),
    path("<uuid:pk>/lengthen/", matrix.matrix_lengthen, name="matrix-lengthen"),
    path("<uuid:pk>/accept/", matrix.matrix_accept, name="matrix-accept"),
    path("<uuid:pk>/add-repeats/", matrix.matrix_add_repeats, name="matrix-add-repeats"),
    path("<uuid:pk>/notes/", matrix.matrix_notes, name="matrix-notes"),
    path("<uuid:pk>/repeat/", schedules.schedule_add, name="matrix-repeat"),
]

schedule_urls: Patterns = [
    path("", schedules.schedules, name="schedules"),
    path("<uuid:pk>/", schedules.schedule, name="schedule"),
    path("<uuid:pk>/edit/", schedules.schedule_edit, name="schedule-edit"),
    path("<uuid:pk>/change/", schedules.schedule_change, name="schedule-change"),
]

run_urls: Patterns = [
    path("", run_list.runs_list, name="runs"),
    path("bulk/", run_list.runs_bulk, name="runs-bulk"),
    path("compare/", run_list.runs_compare, name="runs-compare"),
    path("delete/", deletion.runs_delete, name="runs-delete"),
    path("<uuid:pk>/", run.run, name="run"),
    path("<uuid:pk>/live/", run.run_live, name="run-live"),
    path("<uuid:pk>/cancel/", run.run_cancel, name="run-cancel"),
    path("<uuid:pk>/again/", run.run_again, name="run-again"),
    path("<uuid:pk>/annotate/", run.run_annotate, name="run-annotate"),
    path("<uuid:pk>/exclude/", run.run_exclude, name="run-exclude"),
    path("<uuid:pk>/override/", run.run_override, name="run-override"),
    path("<uuid:pk>/cut/", run.run_cut, name="run-cut"),
    path("<uuid:pk>/delete/", deletion.run_delete, name="run-delete"),
]

import_urls: Patterns = [
    path("", imports.imports, name="imports"),
    path("<uuid:pk>/", imports.upload, name="import"),
    path("<uuid:pk>/progress/", imports.upload_progress, name="import-progress"),
    path("<uuid:pk>/group/", imports.upload_group, name="import-group"),
    path("<uuid:pk>/rest/", imports.upload_rest, name="import-rest"),
    path("<uuid:pk>/discard/", imports.upload_discard, name="import-discard"),
    path("<uuid:pk>/delete/", deletion.upload_delete, name="import-delete"),
]

urlpatterns: Patterns = [
    path("machines/", include(machine_urls)),
    path("clusters/", include(cluster_urls)),
    path("databases/", include(database_urls)),
    path("workloads/", include(workload_urls)),
    path("systems/", include(system_urls)),
    path("thresholds/", include(threshold_urls)),
    path("matrices/", include(matrix_urls)),
    path("schedules/", include(schedule_urls)),
    path("runs/", include(run_urls)),
    path("import/", include(import_urls)),
    *export_urls(run_list.runs_export, "runs"),
    *export_urls(matrices.matrices_export, "matrices"),
    path("team/harmless-properties/", harmless_properties.harmless_properties, name="harmless-properties"),
    path("deleted/", deletion.deleted, name="deleted"),
    path("artifacts/<uuid:pk>/", run.artifact, name="artifact"),
]

"""Servers that share a machine are nodes of their cluster, in sweeps of earlier releases too."""

from importlib import import_module

import pytest
from django.apps import apps

from runs.models import Sweep
from runs.results.denormalised_columns import sweep_columns
from runs.tests.factories import make_database, make_run, make_sweep

pytestmark = pytest.mark.django_db
migration = import_module("runs.migrations.0054_nodes_of_sweeps")


@pytest.mark.parametrize(
    ("system", "settings", "nodes"),
    [("redis-cluster", {}, 3), ("redis-cluster", {"nodes": "6"}, 6), ("redis", {}, 1)],
)
def test_migration_counts_as_new_sweeps_are_counted(system, settings, nodes):
    run = make_run(make_sweep(database=make_database(system=system, settings=settings), mode="everysec", nodes=1))

    migration.count_nodes_of_sweeps(apps, None)

    assert Sweep.objects.get(pk=run.sweep_id).nodes == nodes
    assert sweep_columns(run.spec)["nodes"] == nodes


def test_migration_leaves_external_clusters():
    run = make_run(make_sweep(nodes=1))
    spec = {**run.spec, "cluster": {**run.spec["cluster"], "provisioner": "external"}}
    assert migration.count_nodes({**spec, "database": {**spec["database"], "settings": {"nodes": "6"}}}) == 1

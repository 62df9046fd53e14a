"""Counts the servers that Benchsite started on one machine, which earlier releases counted as one node."""

from django.db import migrations

CHUNK = 1_000
DEFAULT_NODES = {"redis-cluster": 3}  # as the catalog has them at this migration


def count_nodes(spec):
    machines = len(spec["cluster"]["machines"])
    if spec["cluster"]["provisioner"] in ("", "external"):
        return machines
    settings = spec["database"]["settings"]
    return max(machines, int(settings.get("nodes", DEFAULT_NODES.get(spec["system"], 0))))


def count_nodes_of_sweeps(apps, schema_editor):
    runs = apps.get_model("runs", "Run").objects.filter(sweep__nodes=1).order_by("sweep_id", "position", "id")
    sweeps = apps.get_model("runs", "Sweep").objects
    for sweep_id, spec in runs.distinct("sweep_id").values_list("sweep_id", "spec").iterator(CHUNK):
        nodes = count_nodes(spec)
        if nodes > 1:
            sweeps.filter(pk=sweep_id).update(nodes=nodes)


class Migration(migrations.Migration):
    dependencies = [("runs", "0053_warm_up_in_milliseconds")]
    operations = [migrations.RunPython(count_nodes_of_sweeps, migrations.RunPython.noop)]

"""Gives Benchsite's warm-up of a workload its own name and milliseconds: warmupexecutiontime has them in YCSB."""

import hashlib
import json

from django.db import migrations
from django.db.models import Q

OLD = "warmupexecutiontime"
NEW = "warmup.duration_ms"
CHUNK = 1_000
# The function of the trigger of migration 0003. Nobody else sees it changed before this migration is over.
ACCEPT_SPECS = """
CREATE OR REPLACE FUNCTION runs_refuse_changed_spec() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
"""
REFUSE_SPECS = """
CREATE OR REPLACE FUNCTION runs_refuse_changed_spec() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the spec of run % is immutable', OLD.id USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


def convert(value):
    """The value with every old property in it, at any depth, under the new name."""
    if isinstance(value, list):
        return [convert(item) for item in value]
    if not isinstance(value, dict):
        return value
    converted = {name: convert(item) for name, item in value.items()}
    text = str(value.get(OLD, "")).strip()
    if text.isascii() and text.isdecimal():
        del converted[OLD]
        converted[NEW] = str(1000 * int(text))
    return converted


def config_key(spec):
    """As `runs.results.denormalised_columns` computed it at this migration."""
    says = [
        spec["phase"],
        spec["system"],
        spec["database"]["name"],
        spec["mode"]["slug"],
        spec["workload"]["name"],
        sorted(spec["workload"]["properties"].items()),
        spec["dataset"]["fingerprint"],
        [spec["load"][name] for name in ("threads", "target_ops_s", "processes")],
        spec["cluster"]["name"],
        len(spec["generators"]),
    ]
    return hashlib.sha256(json.dumps(says, separators=(",", ":")).encode()).hexdigest()[:32]


def convert_rows(apps, schema_editor):
    convert_columns(apps.get_model("runs", "Workload"), "properties", Q(properties__has_key=OLD))
    convert_columns(apps.get_model("runs", "Matrix"), "overrides", Q(overrides__icontains=OLD))
    convert_columns(apps.get_model("runs", "Upload"), "stated", Q(stated__workload__properties__has_key=OLD))
    convert_columns(apps.get_model("runs", "Upload"), "manifest", Q(manifest__icontains=OLD))


def convert_columns(model, column, rows):
    for row in model.objects.filter(rows).iterator(CHUNK):
        setattr(row, column, convert(getattr(row, column)))
        row.save(update_fields=[column])


def convert_specs(apps, schema_editor):
    """Those of runs that wait would else begin without their warm-up, and those of the past compare as different."""
    runs = apps.get_model("runs", "Run").objects
    batch = []
    for run in runs.filter(spec__workload__properties__has_key=OLD).only("spec", "config_key").iterator(CHUNK):
        run.spec = convert(run.spec)
        if run.config_key:
            run.config_key = config_key(run.spec)
        batch.append(run)
        if len(batch) == CHUNK:
            runs.bulk_update(batch, ["spec", "config_key"])
            batch = []
    runs.bulk_update(batch, ["spec", "config_key"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0052_deletions")]
    operations = [
        migrations.RunPython(convert_rows, migrations.RunPython.noop),
        migrations.RunSQL(ACCEPT_SPECS, migrations.RunSQL.noop),
        migrations.RunPython(convert_specs, migrations.RunPython.noop),
        migrations.RunSQL(REFUSE_SPECS, migrations.RunSQL.noop),
    ]

"""What deletions of earlier releases hold and need, as far as their stored rows tell."""

import json
from collections import defaultdict

from django.db import migrations
from django.db.models import SET_NULL

from runs.results import artifacts

POINTED_AT = ("machine", "loadgenerator", "cluster", "database", "workload", "matrix", "upload", "sweep", "run")


def list_references(apps, targets):
    """Column and target of each reference to one of the targets that may not become null, by table."""
    references = defaultdict(list)
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if field.related_model in targets and field.remote_field.on_delete is not SET_NULL:
                references[model._meta.db_table].append((field.column, field.related_model))
    return references


def read_rows(sha256):
    """Table and row of each line; none where the content is gone or damaged."""
    try:
        with artifacts.opened(sha256) as content:
            lines = [line.decode().partition("\t") for line in content if not line.startswith(b"=")]
    except OSError:
        return []
    return [(table, json.loads(row)) for table, _, row in lines]


def fill_needs(apps, schema_editor):
    targets = [apps.get_model("runs", name) for name in POINTED_AT]
    tables = {model._meta.db_table: model for model in targets}
    references = list_references(apps, targets)
    names = {}
    needed = {}
    for deletion in apps.get_model("runs", "Deletion").objects.filter(holds=[]):
        wanted = {}
        for table, row in read_rows(deletion.sha256):
            if table in tables:
                deletion.holds.append(row["id"])
                names[row["id"]] = row.get("name", "")
            for column, target in references[table]:
                if row.get(column):
                    wanted[table, target, row[column]] = None
        needed[deletion] = [reference for reference in wanted if reference[2] not in deletion.holds]

    for target in targets:
        keys = {key for wanted in needed.values() for _, model, key in wanted if model is target}
        names |= {str(row.pk): getattr(row, "name", "") for row in target.objects.filter(pk__in=keys)}
    for deletion, wanted in needed.items():
        for table, target, key in wanted:
            text = f"the {target._meta.verbose_name} “{names.get(key) or key[:8]}”"
            deletion.needs.append([table, target._meta.db_table, key, text])
        deletion.save(update_fields=["holds", "needs"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0068_what_deletions_hold_and_need")]

    operations = [migrations.RunPython(fill_needs, migrations.RunPython.noop)]

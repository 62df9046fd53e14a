"""Names what a read-back found wrong, which earlier releases told in sentences only."""

import re

from django.db import migrations

SETTING = re.compile(r"(\S+) should be ")
REPLICAS = re.compile(r"The mode needs \d+ connected replicas")
REPLICATION_FACTOR = re.compile(r"The database states a replication factor of \d+")


def wrong_settings(differences):
    names = []
    for difference in differences:
        if setting := SETTING.match(difference):
            names.append(setting[1])
        elif REPLICAS.match(difference):
            names.append("replicas")
        elif REPLICATION_FACTOR.match(difference):
            names.append("replication_factor")
    return names


def name_wrong_settings(apps, schema_editor):
    runs = apps.get_model("runs", "Run").objects
    for when in ("before", "after"):
        for run in runs.filter(**{f"evidence__{when}__in_force": False}).iterator():
            reading = run.evidence[when]
            reading["wrong"] = wrong_settings(reading.get("differences", []))
            run.save(update_fields=["evidence"])


class Migration(migrations.Migration):
    dependencies = [("runs", "0050_utc_offsets")]
    operations = [migrations.RunPython(name_wrong_settings, migrations.RunPython.noop)]

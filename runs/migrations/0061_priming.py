"""Seconds of priming, in the place of a description of priming runs that no release carried out.

The old column stays in the table for one release, for a previous release that still runs.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0060_client_groups")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("matrix", "priming")]),
        migrations.AddField(
            model_name="matrix",
            name="priming_s",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]

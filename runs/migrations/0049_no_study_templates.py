"""Matrices no longer keep which published study they follow: its plan is an ordinary plan file.

The column stays in the table for one release, for `manage.py export_removed` and a previous release that still runs.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("runs", "0048_no_runs_by_hand")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RemoveField("matrix", "template")]),
    ]

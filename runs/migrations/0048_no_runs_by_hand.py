"""Runs by hand become uploaded ones; their matrices become drafts, and cells that never got outputs go.

The columns stay in the tables for one release, for `manage.py export_removed` and for a previous release that still
runs; the next release drops them.
"""

from django.db import migrations, models

BY_HAND = "SELECT id FROM runs_matrix WHERE by_hand"
WITHOUT_OUTPUT = "SELECT id FROM runs_run WHERE source = 'by_hand' AND status <> 'succeeded'"
WITHOUT_RUNS = (
    f"SELECT id FROM runs_sweep sweep WHERE matrix_id IN ({BY_HAND})"
    " AND NOT EXISTS (SELECT 1 FROM runs_run WHERE sweep_id = sweep.id)"
)
OUTPUTS = "SELECT id FROM runs_upload WHERE matrix_id IS NOT NULL"
CONVERT = [
    "SET CONSTRAINTS ALL IMMEDIATE",
    "UPDATE runs_run SET source = 'uploaded', matrix_id = NULL, needs_id = NULL, upload_id = NULL"
    " WHERE source = 'by_hand' AND status = 'succeeded'",
    f"DELETE FROM runs_runevent WHERE run_id IN ({WITHOUT_OUTPUT})",
    f"DELETE FROM runs_run WHERE id IN ({WITHOUT_OUTPUT})",
    f"DELETE FROM reports_storedcurve WHERE sweep_id IN (SELECT id FROM runs_sweep WHERE matrix_id IN ({BY_HAND}))",
    f"DELETE FROM runs_sweep WHERE id IN ({WITHOUT_RUNS})",
    f"UPDATE runs_sweep SET matrix_id = NULL WHERE matrix_id IN ({BY_HAND})",
    f"DELETE FROM runs_uploadedfile WHERE upload_id IN ({OUTPUTS})",
    f"DELETE FROM runs_upload WHERE id IN ({OUTPUTS})",
    "UPDATE runs_matrix SET submitted_at = NULL WHERE by_hand",
    "UPDATE reports_report SET draft = replace(draft::text, 'source=by_hand', 'source=uploaded')::jsonb"
    " WHERE draft::text LIKE '%source=by\\_hand%'",
]


class Migration(migrations.Migration):
    dependencies = [("runs", "0047_unfit_generators_and_clocks"), ("reports", "0009_stored_curves")]

    operations = [
        migrations.RunSQL(CONVERT, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("matrix", "by_hand"),
                migrations.RemoveField("matrix", "plan"),
                migrations.RemoveField("upload", "matrix"),
            ]
        ),
        migrations.RemoveConstraint("run", "one_run_by_hand_per_rung_and_repeat"),
        migrations.RemoveConstraint("run", "run_scheduled_has_sweep_and_cluster"),
        migrations.AlterField(
            model_name="run",
            name="source",
            field=models.CharField(
                choices=[("scheduled", "scheduled"), ("uploaded", "uploaded")], default="scheduled", max_length=10
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("source", "uploaded"),
                    models.Q(("cluster__isnull", False), ("matrix__isnull", False), ("sweep__isnull", False)),
                    _connector="OR",
                ),
                name="run_scheduled_has_sweep_and_cluster",
            ),
        ),
    ]

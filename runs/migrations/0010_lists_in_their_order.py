from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

LISTED = (
    "team", "-created_at", "phase", "system", "mode", "workload_name", "purpose", "status", "verdict", "source",
)  # fmt: skip


class Migration(migrations.Migration):
    """Lists of runs by an index that holds what they filter by. Built beside a site in use, so not in a transaction."""

    atomic = False

    dependencies = [("runs", "0009_clients_that_go")]

    operations = [
        AddIndexConcurrently("run", models.Index(fields=LISTED, name="run_list")),
        RemoveIndexConcurrently("run", "runs_run_team_id_bc6a75_idx"),
    ]

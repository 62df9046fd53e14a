from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """A client run that stores its output is active. Its index is built beside a site in use, so not in a transaction."""

    atomic = False

    dependencies = [("runs", "0013_schedules")]

    operations = [
        migrations.AddField("clientrun", "output_stored_at", models.DateTimeField(blank=True, null=True)),
        migrations.AlterField(
            "clientrun",
            "state",
            models.CharField(
                choices=[
                    ("waiting", "waiting"),
                    ("starting", "starting"),
                    ("ready", "ready"),
                    ("running", "running"),
                    ("storing", "storing"),
                    ("finished", "finished"),
                    ("failed", "failed"),
                ],
                default="waiting",
                max_length=10,
            ),
        ),
        AddIndexConcurrently(
            "clientrun",
            models.Index(
                fields=["load_generator"],
                name="client_run_active",
                condition=Q(state__in=["starting", "ready", "running", "storing"]),
            ),
        ),
        RemoveIndexConcurrently("clientrun", "client_run_going"),
    ]

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """What each load generator is doing now. Built beside a site in use, so not in a transaction."""

    atomic = False

    dependencies = [("runs", "0008_list_indexes")]

    operations = [
        AddIndexConcurrently(
            "clientrun",
            models.Index(
                fields=["load_generator"],
                name="client_run_going",
                condition=Q(state__in=["starting", "ready", "running"]),
            ),
        )
    ]

"""Numbers of load generators as an axis of plans, and priming by reads alone."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0063_patience_or_never")]

    operations = [
        migrations.AddField(
            model_name="matrix",
            name="generator_counts",
            field=ArrayField(models.PositiveIntegerField(), blank=True, db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name="matrix", name="priming_reads", field=models.BooleanField(db_default=False, default=False)
        ),
    ]

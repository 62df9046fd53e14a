"""Load generators of a large fleet give fewer signs of life each, and may be silent for longer."""

from datetime import timedelta

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0041_encrypted_client_orders")]

    operations = [
        migrations.AddField(
            model_name="loadgenerator",
            name="extra_silence",
            field=models.DurationField(db_default=timedelta(), default=timedelta),
        ),
        # The previous release inserts runs without this column.
        migrations.AlterField(
            model_name="run",
            name="stand_in",
            field=models.CharField(max_length=20, blank=True, default="", db_default=""),
        ),
    ]

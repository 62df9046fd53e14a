"""Durability modes that the owner of a database stated."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0043_faults")]

    operations = [
        migrations.AddField(
            model_name="database",
            name="own_modes",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]

"""Planned faults of a matrix's measured runs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0042_fewer_signs_of_life_of_large_fleets")]

    operations = [
        migrations.AddField(
            model_name="matrix",
            name="faults",
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
    ]

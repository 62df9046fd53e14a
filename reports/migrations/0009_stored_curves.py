import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0008_imported_revisions"),
        ("runs", "0042_fewer_signs_of_life_of_large_fleets"),
    ]

    operations = [
        migrations.CreateModel(
            name="StoredCurve",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=8)),
                ("key", models.CharField(max_length=80)),
                ("data", models.BinaryField()),
                (
                    "sweep",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="runs.sweep",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("sweep", "kind"), name="one_stored_curve_per_kind")],
            },
        ),
    ]

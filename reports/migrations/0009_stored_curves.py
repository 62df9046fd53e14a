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
                (
                    "sweep",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="runs.sweep",
                    ),
                ),
                ("key", models.CharField(max_length=80)),
                ("curve", models.BinaryField()),
                ("outline", models.BinaryField()),
            ],
        ),
    ]

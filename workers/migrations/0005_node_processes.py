import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import runs.models.client_properties


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0068_what_deletions_hold_and_need"),
        ("workers", "0004_enrolment_codes"),
    ]

    operations = [
        migrations.CreateModel(
            name="NodeProcess",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("start_id", models.UUIDField()),
                ("order", runs.models.client_properties.ClientOrderField()),
                (
                    "desired_state",
                    models.CharField(
                        choices=[("up", "up"), ("stopped", "stopped"), ("killed", "killed")], max_length=10
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("starting", "starting"), ("up", "up"), ("ended", "ended")],
                        default="starting",
                        max_length=10,
                    ),
                ),
                ("problem", models.TextField(blank=True, default="")),
                ("folder", models.TextField(blank=True, default="")),
                ("log", models.TextField(blank=True, default="")),
                ("changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("is_reported", models.BooleanField(default=False)),
                (
                    "deployment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="node_processes",
                        to="runs.deployment",
                    ),
                ),
                (
                    "load_generator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="node_processes",
                        to="runs.loadgenerator",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("deployment", "number"), name="one_process_per_deployment_and_node")
                ],
            },
        ),
    ]

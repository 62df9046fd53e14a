"""Client groups beside the ladder of a plan, and what they did."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0059_own_builds")]

    operations = [
        migrations.AddField(
            model_name="clientrun",
            name="group",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        migrations.AddField(
            model_name="matrix",
            name="groups",
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name="measurementset",
            name="groups",
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]

from django.db import migrations, models


def remove_overrides(apps, schema_editor):
    """The threshold is replaced by `percentile_margin`, which measures something else."""
    apps.get_model("runs", "ThresholdOverride").objects.filter(threshold="values_beyond_percentile").delete()


class Migration(migrations.Migration):
    dependencies = [("runs", "0023_dispatched_runs")]
    operations = [
        migrations.AddField(
            model_name="measurement",
            name="upper_bounds",
            field=models.JSONField(
                blank=True, db_default=models.Value({}, models.JSONField()), default=dict
            ),
        ),
        migrations.RunPython(remove_overrides, migrations.RunPython.noop),
    ]

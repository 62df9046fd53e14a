from django.db import migrations, models

# Copied from the findings of each run's current measurement set.
FILL = """
UPDATE runs_run SET checks = counted.checks, checks_assessed = counted.assessed
FROM (
    SELECT kept.run_id, count(*) AS checks, count(*) FILTER (WHERE finding.severity <> 'not_assessed') AS assessed
    FROM runs_finding finding JOIN runs_measurementset kept ON kept.id = finding.measurement_set_id
    WHERE kept.is_current
    GROUP BY kept.run_id
) counted
WHERE runs_run.id = counted.run_id
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0024_measurement_upper_bounds")]

    operations = [
        migrations.AddField("run", "checks", models.PositiveSmallIntegerField(blank=True, null=True)),
        migrations.AddField("run", "checks_assessed", models.PositiveSmallIntegerField(blank=True, null=True)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]

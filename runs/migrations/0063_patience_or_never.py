from django.db import migrations, models

import runs.models.plan


class Migration(migrations.Migration):
    dependencies = [("runs", "0062_words_for_external_servers")]

    operations = [
        migrations.RenameField("matrix", "patience_ms", "number_ms"),
        migrations.AddField(
            "matrix", "patience_ms", models.JSONField(db_default=1.0, default=runs.models.plan.get_usual_patience_ms)
        ),
        migrations.RunSQL(
            "UPDATE runs_matrix"
            " SET patience_ms = CASE WHEN never_drops THEN '\"never\"'::jsonb ELSE to_jsonb(number_ms) END"
        ),
        migrations.RemoveField("matrix", "number_ms"),
        migrations.RemoveField("matrix", "never_drops"),
    ]

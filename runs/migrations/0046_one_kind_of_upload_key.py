from django.db import migrations, models

# PUT /runs/by-key is gone. Its keys become keys of requests, which expire; where a request has the same key, that stays.
DELETE_COLLIDING = """
DELETE FROM runs_uploadkey AS result USING runs_uploadkey AS request
WHERE result.kind = 'natural' AND request.kind = 'request'
  AND request.team_id = result.team_id AND request.key = result.key
"""


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0045_warnings_of_a_system"),
    ]

    operations = [
        migrations.RunSQL(DELETE_COLLIDING, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="uploadkey", name="request_keys"),
        migrations.RemoveConstraint(model_name="uploadkey", name="one_upload_per_key"),
        # With a value for rows of a database that goes back.
        migrations.AlterField(
            model_name="uploadkey", name="kind", field=models.CharField(db_default="request", max_length=8)
        ),
        migrations.RemoveField(model_name="uploadkey", name="kind"),
        migrations.AddIndex(
            model_name="uploadkey", index=models.Index(fields=["created_at"], name="upload_keys_by_age")
        ),
        migrations.AddConstraint(
            model_name="uploadkey",
            constraint=models.UniqueConstraint(fields=["team", "key"], name="one_upload_per_key"),
        ),
    ]

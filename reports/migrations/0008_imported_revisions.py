from django.db import migrations, models

# As in 0003; a revision's provenance is part of what never changes.
IMMUTABLE = """
CREATE OR REPLACE FUNCTION reports_revision_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.content IS DISTINCT FROM OLD.content OR NEW.digest <> OLD.digest OR NEW.number <> OLD.number
        OR NEW.report_id <> OLD.report_id OR NEW.published_at <> OLD.published_at{more} THEN
        RAISE EXCEPTION 'A published revision never changes: publish another one.';
    END IF;
    RETURN NEW;
END $$;
"""
PROVENANCE = """
        OR NEW.imported_by <> OLD.imported_by OR NEW.imported_at IS DISTINCT FROM OLD.imported_at"""


class Migration(migrations.Migration):
    dependencies = [("reports", "0007_looks_at_commits")]

    operations = [
        migrations.AddField(
            model_name="reportrevision",
            name="imported_by",
            # The previous release inserts revisions without this column while both run.
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
        migrations.AddField(
            model_name="reportrevision",
            name="imported_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        # A revision that was published before its report began came from a file.
        migrations.RunSQL(
            """
            UPDATE reports_reportrevision revision
               SET imported_by = team.name, imported_at = report.created_at
              FROM reports_report report JOIN teams_team team ON team.id = report.team_id
             WHERE revision.report_id = report.id AND revision.number = 1
               AND revision.published_at < report.created_at - interval '2 seconds';
            """,
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(IMMUTABLE.format(more=PROVENANCE), IMMUTABLE.format(more="")),
    ]

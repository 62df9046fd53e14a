"""One row for each test that was measured, kept by triggers on the table of runs."""

import django.db.models.deletion
from django.db import migrations, models

# Which rows count. Statements that insert many runs (COPY) count them once for each test, in one order of keys, so that
# two of them cannot lock each other out.
COUNT = """
    WITH source AS NOT MATERIALIZED ({source}), added AS (
        SELECT team_id, config_key, count(*) AS runs, max(finished_at) AS last_at, (array_agg(id))[1] AS one
        FROM source WHERE status = 'succeeded' AND config_key <> '' AND NOT is_bracket
        GROUP BY team_id, config_key
    )
    INSERT INTO reports_history (team_id, config_key, phase, system, mode, database_name, workload_name, cluster_name,
                                 threads, target_ops_s, runs, last_at)
    SELECT added.team_id, added.config_key, run.phase, run.system, run.mode,
           coalesce(run.spec->'database'->>'name', ''), run.workload_name, coalesce(run.spec->'cluster'->>'name', ''),
           run.threads, run.target_ops_s, added.runs, added.last_at
    FROM added JOIN source AS run ON run.id = added.one
    ORDER BY added.team_id, added.config_key
    ON CONFLICT (team_id, config_key) DO UPDATE
    SET runs = reports_history.runs + EXCLUDED.runs, last_at = greatest(reports_history.last_at, EXCLUDED.last_at);
"""
COUNTS = "{row}.status = 'succeeded' AND {row}.config_key <> '' AND NOT {row}.is_bracket"
FORWARD = f"""
CREATE FUNCTION reports_count_inserted_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN {COUNT.format(source="SELECT * FROM inserted")} RETURN NULL; END $$;

CREATE FUNCTION reports_count_ended_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN {COUNT.format(source="SELECT * FROM runs_run WHERE id = NEW.id")} RETURN NULL; END $$;

CREATE FUNCTION reports_count_deleted_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reports_history SET runs = runs - 1
    WHERE team_id = OLD.team_id AND config_key = OLD.config_key AND runs > 1;
    IF NOT FOUND THEN
        DELETE FROM reports_history WHERE team_id = OLD.team_id AND config_key = OLD.config_key;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER history_counts_inserted_runs AFTER INSERT ON runs_run REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION reports_count_inserted_runs();
CREATE TRIGGER history_counts_ended_runs AFTER UPDATE OF status ON runs_run
    FOR EACH ROW WHEN (OLD.status <> 'succeeded' AND {COUNTS.format(row="NEW")})
    EXECUTE FUNCTION reports_count_ended_run();
CREATE TRIGGER history_counts_deleted_runs AFTER DELETE ON runs_run
    FOR EACH ROW WHEN ({COUNTS.format(row="OLD")}) EXECUTE FUNCTION reports_count_deleted_run();
{COUNT.format(source="SELECT * FROM runs_run")}
"""
BACKWARD = """
DROP TRIGGER history_counts_inserted_runs ON runs_run;
DROP TRIGGER history_counts_ended_runs ON runs_run;
DROP TRIGGER history_counts_deleted_runs ON runs_run;
DROP FUNCTION reports_count_inserted_runs();
DROP FUNCTION reports_count_ended_run();
DROP FUNCTION reports_count_deleted_run();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('reports', '0001_triage_and_notes'),
        ('runs', '0007_copies_of_specs'),
        ('teams', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='History',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('config_key', models.CharField(max_length=32)),
                ('phase', models.CharField(choices=[('load', 'load'), ('measure', 'measure')], max_length=8)),
                ('system', models.CharField(max_length=40)),
                ('mode', models.CharField(max_length=40)),
                ('database_name', models.TextField()),
                ('workload_name', models.CharField(max_length=80)),
                ('cluster_name', models.TextField()),
                ('threads', models.PositiveIntegerField()),
                ('target_ops_s', models.PositiveIntegerField(null=True)),
                ('runs', models.PositiveIntegerField()),
                ('last_at', models.DateTimeField()),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='histories', to='teams.team')),
            ],
            options={
                'verbose_name_plural': 'histories',
                'ordering': ['-last_at', 'config_key'],
                'indexes': [models.Index(fields=['team', '-last_at'], name='history_newest')],
                'constraints': [models.UniqueConstraint(fields=('team', 'config_key'), name='one_history_per_test')],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]

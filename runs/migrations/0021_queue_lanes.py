"""What the scheduler reads of the queue: lanes of runs that need the same machines, reservations, last starts.

The key of queued runs is computed here as `runs.catalog.generators.generator_key` does.
"""

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

FILL_KEYS = """
UPDATE runs_run SET generator_key = keys.key
FROM (
    SELECT link.run_id,
           md5(string_agg(link.loadgenerator_id::text, ',' ORDER BY link.loadgenerator_id::text COLLATE "C")) AS key
    FROM runs_run unfinished JOIN runs_run_load_generators link ON link.run_id = unfinished.id
    WHERE unfinished.status IN ('queued', 'dispatched', 'running')
    GROUP BY link.run_id
) keys
WHERE runs_run.id = keys.run_id
"""


class Migration(migrations.Migration):
    """The indexes are built beside a site in use, so not in a transaction."""

    atomic = False

    dependencies = [
        ('runs', '0020_late_output'),
        ('teams', '0004_confirmed_addresses_and_sealed_secrets'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='generator_key',
            field=models.CharField(blank=True, db_default='', default='', max_length=32),
        ),
        migrations.AddField(
            model_name='run',
            name='reserved_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunSQL(FILL_KEYS, migrations.RunSQL.noop),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(condition=models.Q(('source', 'scheduled'), ('status', 'queued')), fields=['-priority', 'created_at', 'position'], include=('id', 'team', 'matrix', 'cluster', 'generator_key', 'expected_s'), name='run_waiting'),
        ),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(condition=models.Q(('source', 'scheduled'), ('status', 'queued')), fields=['cluster', 'generator_key', '-priority', 'created_at', 'position'], name='run_lane'),
        ),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(condition=models.Q(('reserved_at__isnull', False), ('status', 'queued')), fields=['reserved_at'], name='run_reserved'),
        ),
        AddIndexConcurrently(
            model_name='run',
            index=models.Index(condition=models.Q(('dispatched_at__isnull', False)), fields=['team', 'dispatched_at'], name='run_served'),
        ),
        RemoveIndexConcurrently(
            model_name='run',
            name='run_queue',
        ),
    ]

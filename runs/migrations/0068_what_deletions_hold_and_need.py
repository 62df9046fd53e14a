"""What a deletion holds and needs, so that restoring one can bring back what it needs of another."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0067_ends_by_operations")]

    operations = [
        migrations.AddField(
            model_name="deletion",
            name="holds",
            field=ArrayField(models.UUIDField(), db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name="deletion",
            name="needs",
            field=models.JSONField(db_default=models.Value([], models.JSONField()), default=list),
        ),
    ]

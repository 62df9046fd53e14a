import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("teams", "0009_shapes_of_webhooks"),
    ]

    operations = [
        migrations.AddField(
            model_name="team",
            name="external_networks",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=50), blank=True, db_default=[], default=list, size=None
            ),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0064_generator_counts_and_priming_reads"),
    ]

    operations = [
        migrations.AddField(
            model_name="node",
            name="program",
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
    ]

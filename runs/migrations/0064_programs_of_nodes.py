from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runs", "0063_patience_or_never"),
    ]

    operations = [
        migrations.AddField(
            model_name="node",
            name="program",
            field=models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
    ]

"""When the clients of a run that ends by its operations end, and how many each has done."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0066_names_of_queued_runs")]

    operations = [
        migrations.AddField(
            model_name="clientrun", name="operations", field=models.PositiveBigIntegerField(blank=True, null=True)
        ),
        migrations.AddField(model_name="run", name="ends_at", field=models.DateTimeField(blank=True, null=True)),
    ]

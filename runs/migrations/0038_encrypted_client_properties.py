import json

from django.db import migrations

import runs.models.client_properties


def encrypt(apps, schema_editor):
    for database in apps.get_model("runs", "Database").objects.exclude(binding_properties={}).iterator():
        database.save(update_fields=["binding_properties"])


def decrypt(apps, schema_editor):
    databases = apps.get_model("runs", "Database").objects.exclude(binding_properties={})
    with schema_editor.connection.cursor() as cursor:
        for key, properties in databases.values_list("pk", "binding_properties"):
            cursor.execute(
                "UPDATE runs_database SET binding_properties = %s WHERE id = %s", [json.dumps(properties), key]
            )


class Migration(migrations.Migration):
    dependencies = [("runs", "0037_stock_clients")]

    operations = [
        migrations.AlterField(
            model_name="database",
            name="binding_properties",
            field=runs.models.client_properties.ClientPropertiesField(blank=True, default=dict),
        ),
        migrations.RunPython(encrypt, decrypt),
    ]

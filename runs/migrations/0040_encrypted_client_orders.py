from django.db import migrations

import runs.models.client_properties


class Migration(migrations.Migration):
    dependencies = [("runs", "0039_stand_ins")]

    operations = [
        migrations.AlterField(
            model_name="clientrun",
            name="order",
            field=runs.models.client_properties.ClientOrderField(),
        ),
    ]

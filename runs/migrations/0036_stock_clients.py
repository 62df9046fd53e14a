from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0035_trial'),
    ]

    operations = [
        migrations.AddField(
            model_name='database',
            name='client',
            field=models.CharField(blank=True, db_default='', default='', max_length=120),
        ),
        migrations.AddField(
            model_name='dataconfirmation',
            name='fingerprint',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
    ]

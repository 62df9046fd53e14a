from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0036_separate_cpus_default'),
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

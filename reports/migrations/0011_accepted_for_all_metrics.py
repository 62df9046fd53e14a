"""A level that was accepted for one metric is accepted for all, as later ones are: CI stayed red over the others."""

from django.db import migrations


def accept_for_all(apps, schema_editor):
    points = apps.get_model("reports", "ChangePoint").objects
    for point in points.filter(state="accepted").exclude(metric="").order_by("-changed_at"):
        of_run = points.filter(team=point.team_id, config_key=point.config_key, run=point.run_id)
        if not of_run.filter(metric="").exists():
            of_run.exclude(pk=point.pk).delete()
            of_run.filter(pk=point.pk).update(metric="")
    points.filter(state="accepted").exclude(metric="").delete()


class Migration(migrations.Migration):
    dependencies = [("reports", "0010_remove_watch_links")]

    operations = [migrations.RunPython(accept_for_all, migrations.RunPython.noop)]

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    """What the lists of runs sort and filter by. Built beside a site in use, so not in one transaction.

    Where it is interrupted PostgreSQL keeps the index it was at, marked invalid: drop that one and migrate again.
    """

    atomic = False

    dependencies = [("runs", "0007_copies_of_specs")]

    operations = [
        AddIndexConcurrently("run", index)
        for index in (
            models.Index(F("team"), F("throughput_ops_s").desc(nulls_last=True), name="run_fastest"),
            models.Index(F("team"), F("throughput_ops_s").asc(nulls_last=True), name="run_slowest"),
            models.Index(fields=["team", "name", "-created_at"], name="run_name"),
            models.Index(fields=["team", "-finished_at"], name="run_ended", condition=Q(status="succeeded")),
            models.Index(
                fields=["team", "status", "-created_at"], name="run_not_succeeded", condition=~Q(status="succeeded")
            ),
            models.Index(
                fields=["team", "verdict", "-created_at"], name="run_not_passed", condition=~Q(verdict="pass")
            ),
            models.Index(fields=["team", "-created_at"], name="run_excluded", condition=~Q(excluded_reason="")),
            models.Index(fields=["team", "-created_at"], name="run_tagged", condition=~Q(tags=[])),
            models.Index(fields=["team", "-created_at"], name="run_noted", condition=~Q(notes="")),
            models.Index(fields=["team", "-created_at"], name="run_explained", condition=~Q(reason_detail="")),
            models.Index(
                fields=["commit"], name="run_commit", opclasses=["varchar_pattern_ops"], condition=~Q(commit="")
            ),
        )
    ]

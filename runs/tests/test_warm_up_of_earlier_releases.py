"""Rows that state a warm-up in seconds, as earlier releases wrote them, mean the same after the migration."""

from copy import deepcopy
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from runs.models import Matrix, Run, Upload, Workload
from runs.results.denormalised_columns import config_key
from runs.tests.factories import make_matrix, make_run, make_sweep, make_team, make_workload
from runs.ycsb.form_defaults import OWN_PERCENTILES, build_workload
from runs.ycsb.properties import check_workload, warm_up_s

pytestmark = pytest.mark.django_db
migration = import_module("runs.migrations.0053_warm_up_in_milliseconds")
SECONDS = {"warmupexecutiontime": "5"}


def test_workloads_plans_and_uploads_are_converted():
    team = make_team()
    workload = make_workload(team=team, properties={"recordcount": "10", **SECONDS})
    matrix = make_matrix(team=team, overrides=[{"match": {}, "set": {"warmupexecutiontime": 7}}])
    stated = {"workload": {"properties": {"recordcount": "10", **SECONDS}}}
    upload = Upload.objects.create(team=team, stated=stated, manifest=stated)

    migration.convert_rows(apps, None)

    properties = Workload.objects.get(pk=workload.pk).properties
    assert warm_up_s(check_workload(properties)) == 5
    assert Matrix.objects.get(pk=matrix.pk).overrides == [{"match": {}, "set": {"warmup.duration_ms": "7000"}}]
    upload.refresh_from_db()
    assert upload.stated == upload.manifest == {"workload": {"properties": properties}}


def test_specs_are_converted_and_stay_immutable():
    present = make_run(make_sweep())
    spec = deepcopy(present.spec)
    spec["workload"]["properties"]["warmup.duration_ms"] = "5000"
    earlier = deepcopy(spec)
    del earlier["workload"]["properties"]["warmup.duration_ms"]
    earlier["workload"]["properties"] |= SECONDS
    run = make_run(make_sweep(), spec=earlier)

    with connection.cursor() as cursor:
        cursor.execute(migration.ACCEPT_SPECS)
        migration.convert_specs(apps, None)
        cursor.execute(migration.REFUSE_SPECS)

    run.refresh_from_db()
    assert run.spec == spec
    assert run.config_key == config_key(spec)
    assert Run.objects.get(pk=present.pk).spec == present.spec
    with pytest.raises(Exception, match="immutable"):
        Run.objects.filter(pk=run.pk).update(spec={})


def test_property_files_of_benchsite_were_in_seconds():
    assert build_workload({**SECONDS, "hdrhistogram.percentiles": OWN_PERCENTILES}) == {"warmup.duration_ms": "5000"}
    assert build_workload(SECONDS) == SECONDS

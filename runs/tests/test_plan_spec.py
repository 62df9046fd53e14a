"""Every field of a plan is where a person, a program, a file and the database expect it."""

import json

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.urls import reverse

from runs.models import Matrix
from runs.plans.api.plans import NAMES, MatrixPlan
from runs.plans.files.plan import PlanMatrix
from runs.plans.forms.plan_fields import ScaledField, build_plan_fields, list_folded_names
from runs.plans.plan_spec import PlanRequest, PlanSpec
from runs.tests.test_plan_files_over_rest import ROOT, program

FIELDS = list(PlanSpec.model_fields)
SCHEMAS = json.loads((settings.BASE_DIR / "docs" / "openapi.json").read_text("utf-8"))["components"]["schemas"]


@pytest.mark.parametrize("name", FIELDS)
def test_field_is_everywhere(name):
    assert Matrix._meta.get_field(name)
    assert name in build_plan_fields()
    assert name in MatrixPlan.model_fields and name in PlanMatrix.model_fields
    assert NAMES.get(name, name) in SCHEMAS["MatrixAnswer"]["properties"]


@pytest.mark.django_db
def test_builder_shows_every_field(client_in, team):
    page = client_in.get(f"{reverse('matrix-add')}?scaling=redis").content.decode()
    missing = [name for name in build_plan_fields() if f'name="{name}"' not in page]
    assert missing == []


def test_limits_of_the_builder_are_those_of_the_plan():
    fields = build_plan_fields()
    assert (fields["repeats"].min_value, fields["repeats"].max_value) == (1, 50)
    assert not fields["threads"].required and fields["warmup_s"].required
    assert [value for value, _ in fields["purpose"].choices] == ["smoke", "demo", "tuning", "measured", "soak"]
    assert fields["rungs"].initial == PlanRequest().rungs
    assert set(list_folded_names()) < set(fields)


def test_scaled_numbers_are_typed_in_their_unit():
    width = build_plan_fields()["search_width"]
    assert isinstance(width, ScaledField)
    assert (width.prepare_value(0.05), width.clean("4"), width.clean("")) == (5, 0.04, None)
    with pytest.raises(ValidationError):
        width.clean("101")


def test_columns_are_those_of_a_matrix():
    sent = {"measure_s": 20, "search": {}, "ladder": "target", "between_rungs": "restart", "labels": ["a ", "a"]}
    columns = PlanRequest.model_validate(sent).columns
    assert set(FIELDS) < set(columns)
    assert (columns["max_measure_s"], columns["resets"], columns["rungs"]) == (20, {"rung": "restart"}, [])
    assert PlanRequest.model_validate({"measure_s": 20, "max_measure_s": 60}).columns["max_measure_s"] == 60
    assert columns["stops_early"] is False and columns["search"]["max_trials"] == 8
    assert Matrix(**columns).tags == ["a"]


@pytest.mark.django_db
def test_rest_names_the_key_that_is_meant(team, user):
    plan = {"entries": [], "workloads": [], "repeets": 3, "search": {"widht": 0.1}}
    refused = program(team, user).post(ROOT, plan, content_type="application/json").json()
    assert [(fault["pointer"], fault["code"]) for fault in refused["errors"]] == [("#/repeets", "extra_forbidden")]
    assert "Did you mean 'repeats'?" in refused["detail"]


@pytest.mark.django_db
def test_rest_names_every_exclusion_that_means_nothing(team, user):
    rows = [{"rung": 2, "reason": " "}, {"reason": "why"}, {"rung": 2, "mode": "on", "reason": "why"}]
    answer = program(team, user).post(
        ROOT, {"entries": [], "workloads": [], "exclusions": rows}, content_type="application/json"
    )
    parts = ["Write why it is left out", "Choose what is left out", "This database and mode is no longer there"]
    assert answer.status_code == 400 and len(answer.json()["errors"]) == 3
    for at, (fault, part) in enumerate(zip(answer.json()["errors"], parts, strict=True)):
        assert fault["pointer"] == f"#/exclusions/{at}" and part in fault["detail"]

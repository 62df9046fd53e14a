"""Which passwords an account may not have."""

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from benchsite.accounts import membership
from benchsite.accounts.models import Role, User
from runs.tests.factories import make_team, make_user


@pytest.mark.parametrize(
    "password",
    [
        "1234 5678 9012", "١٢٣٤٥٦٧٨٩٠١٢",
        "benchsite", "Benchsite", "benchsite1", "benchsite2026!", "B3nchs1te", "bench-site", "benchsite-benchsite",
        "lab-example-org", "ycsbycsb", "2026-11-28-benchmark", "192837465", "8675309867", "password1", "short",
    ],
)  # fmt: skip
def test_refuses_what_is_guessed_first(settings, password):
    settings.ALLOWED_HOSTS = ["lab.example.org"]

    with pytest.raises(ValidationError):
        validate_password(password)


@pytest.mark.parametrize(
    "password", ["correct horse battery", "benchsite measures 7 systems", "x9!kQ2#mfP", "ÄÖÜäöü-ßß7"]
)
def test_accepts_others(settings, password):
    settings.ALLOWED_HOSTS = ["lab.example.org"]

    validate_password(password)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("password", ["benchsite1", "192837465"])
def test_no_account_is_made_with_one(client, password):
    team = make_team()
    token = membership.invite(team, make_user(team=team, role=Role.ADMIN), role=Role.VIEWER)

    answer = client.post(
        f"/invited/{token}", {"username": "grace", "email": "", "password1": password, "password2": password}
    )

    assert answer.status_code == 422
    assert not User.objects.filter(username="grace").exists()

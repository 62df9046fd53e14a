"""A team's own thresholds: who may set them, with which reason, and what they change."""

import pytest
from django.urls import reverse

from benchsite.accounts.models import Role
from runs.checks import THRESHOLDS, profile
from runs.checks.team_thresholds import ThresholdRefused, get_thresholds, replace_threshold, restore_default
from runs.models import ThresholdOverride
from runs.tests.factories import finding, make_run, make_sweep, make_team
from runs.tests.world import browser

pytestmark = pytest.mark.django_db


def replace(team, admin, name="errors_warn", purpose="", value=0.005, reason="Our service level allows it."):
    replace_threshold(team, admin, name, purpose=purpose, value=value, reason=reason)


def test_without_any_the_defaults_count(team):
    assert get_thresholds(team, "demo") == profile("demo")


def test_it_counts_for_its_purpose_and_for_no_other_team(team, admin):
    replace(team, admin, purpose="soak")
    assert get_thresholds(team, "soak").errors_warn == 0.005
    assert get_thresholds(team, "measured").errors_warn == profile("measured").errors_warn
    assert get_thresholds(make_team(), "soak") == profile("soak")


def test_one_for_a_purpose_outweighs_one_for_all(team, admin):
    replace(team, admin, value=0.002)
    replace(team, admin, value=0.003, purpose="measured")
    assert get_thresholds(team, "measured").errors_warn == 0.003
    assert get_thresholds(team, "demo").errors_warn == 0.002


def test_a_second_value_takes_the_place_of_the_first(team, admin):
    replace(team, admin)
    replace(team, admin, value=0.004, reason="Another one.")
    kept = ThresholdOverride.objects.get()
    assert (kept.value, kept.reason, kept.changed_by) == (0.004, "Another one.", admin)


@pytest.mark.parametrize(
    ("name", "value", "reason", "said"),
    [
        ("errors_warn", 0.02, "Why not.", "above 1 %"),
        ("errors_reject", 0.0001, "Why not.", "below 0.1 %"),
        ("errors_warn", -1, "Why not.", "between 0 % and 100 %"),
        ("cv_warn", float("nan"), "Why not.", "no number"),
        ("cv_warn", float("inf"), "Why not.", "no number"),
        ("cv_warn", 0.2, " \n", "Write why"),
        ("cv_warn", 0.2, "x" * 2001, "at most 2,000"),
    ],
)
def test_it_refuses(team, admin, name, value, reason, said):
    with pytest.raises(ThresholdRefused, match=said):
        replace(team, admin, name=name, value=value, reason=reason)
    assert not ThresholdOverride.objects.exists()


def test_the_default_comes_back_unless_it_no_longer_fits(team, admin):
    replace(team, admin, name="errors_reject", value=0.05)
    replace(team, admin, name="errors_warn", value=0.02)
    with pytest.raises(ThresholdRefused, match="does not fit"):
        restore_default(team, "errors_reject", purpose="")
    assert get_thresholds(team, "measured").errors_reject == 0.05
    restore_default(team, "errors_warn", purpose="")
    restore_default(team, "errors_reject", purpose="")
    assert get_thresholds(team, "measured") == profile("measured")


def test_a_threshold_of_another_release_decides_nothing(team, admin):
    ThresholdOverride.objects.create(team=team, threshold="long_gone", value=1, reason="Once.", changed_by=admin)
    assert get_thresholds(team, "measured") == profile("measured")


@pytest.mark.slow
def test_all_members_read_thresholds_and_only_admins_edit(team, admin):
    replace(team, admin, reason="<b>Because</b>.")
    address = reverse("threshold-edit", args=["errors_warn"])
    for role in (Role.VIEWER, Role.RUNNER):
        client = browser(team, role)
        page = client.get(reverse("thresholds")).content.decode()
        assert "&lt;b&gt;Because&lt;/b&gt;." in page and "0.5 %" in page and address not in page
        assert client.get(address).status_code == client.post(address).status_code == 403
    assert address in browser(team, Role.ADMIN).get(reverse("thresholds")).content.decode()
    assert "Because" not in browser(make_team(), Role.ADMIN).get(reverse("thresholds")).content.decode()


@pytest.mark.slow
def test_an_admin_changes_one_on_its_page_and_takes_it_back(team):
    client, address = browser(team, Role.ADMIN), reverse("threshold-edit", args=["setup_warn"])
    said = {"value": "3", "purpose": "tuning", "reason": "Connecting takes long here."}
    assert client.post(address, said)["Location"] == "/thresholds/?purpose=tuning"
    assert get_thresholds(team, "tuning").setup_warn == 0.03
    assert "Connecting takes long here." in client.get("/thresholds/?purpose=tuning").content.decode()
    assert "Connecting takes long here." not in client.get("/thresholds/").content.decode()
    assert client.post(address, {"restore": "tuning"}).status_code == 302
    assert get_thresholds(team, "tuning") == profile("tuning")


def test_pages_say_what_a_check_says_at_most_under_a_purpose(team):
    client = browser(team, Role.ADMIN)
    assert "V05: info at most" in " ".join(client.get("/thresholds/?purpose=demo").content.decode().split())
    assert "V05: warn at most" in " ".join(client.get("/thresholds/?purpose=tuning").content.decode().split())
    assert "at most<" not in client.get("/thresholds/").content.decode()
    form = client.get(reverse("threshold-edit", args=["duration_reject_s"])).content.decode()
    assert "Under smoke, demo the check says info at most. Under tuning the check says warn at most." in form

    for purpose, expected in (("demo", "30 s; info at most (demo)"), ("measured", "30 s</td>")):
        sweep = make_sweep(team=team, purpose=purpose)
        run = make_run(sweep, findings=[finding("V05", "info", threshold="30 s")])
        page = " ".join(client.get(reverse("run", args=[run.pk])).content.decode().split())
        assert expected in page, purpose
        assert (f'href="/thresholds/?purpose={purpose}"' in page) == (purpose == "demo")


def test_what_is_wrong_in_the_form_is_said_beside_it(team):
    client, address = browser(team, Role.ADMIN), reverse("threshold-edit", args=["setup_warn"])
    for said, message in (
        ({"value": "30", "reason": "Much."}, "would lie above 10 %"),
        ({"value": "much", "reason": "Much."}, "number"),
        ({"value": "3"}, "Write why"),
        ({"value": "3", "reason": "Much.", "purpose": "holiday"}, "valid choice"),
    ):
        response = client.post(address, said)
        assert response.status_code == 422 and message in response.content.decode(), said
    assert not ThresholdOverride.objects.exists()
    assert client.get(reverse("threshold-edit", args=["nothing"])).status_code == 404


@pytest.mark.slow
def test_every_threshold_has_its_page_with_defaults_it_accepts(team):
    client = browser(team, Role.ADMIN)
    for name, about in THRESHOLDS.items():
        assert client.get(reverse("threshold-edit", args=[name])).status_code == 200, name
        for purpose in ("smoke", "demo", "tuning", "measured", "soak"):
            assert about.least <= getattr(profile(purpose), name) <= about.most, name

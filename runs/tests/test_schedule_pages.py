"""The pages of schedules: made on the page of a matrix, with its next five times before it is saved."""

import re
import uuid
from datetime import time, timedelta

import pytest

from benchsite.accounts.models import Role
from conftest import signed_in
from runs.models import Matrix, Occasion, Schedule
from runs.plans import schedules
from runs.tests.factories import make_matrix, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
DAILY = {"name": "Nightly", "every": "day", "at": "03:00", "hours": "6"}


def store(matrix, user, **fields):
    schedule = Schedule(team=matrix.team, matrix=matrix, **{"name": "Nightly", "at": time(3), **fields})
    schedules.make(schedule, user)
    return schedule


@pytest.fixture
def matrix(team):
    return make_matrix(team=team, name="Checkout")


@pytest.fixture
def schedule(matrix, user):
    return store(matrix, user)


def get_text(answer):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.content.decode()))


def test_it_is_made_on_the_page_of_its_matrix(client_in, matrix):
    page = client_in.get(f"/matrices/{matrix.pk}/").content.decode()
    assert f'href="/matrices/{matrix.pk}/repeat/"' in page
    assert client_in.get(f"/matrices/{matrix.pk}/repeat/").status_code == 200
    done = client_in.post(f"/matrices/{matrix.pk}/repeat/", DAILY, follow=True)
    made = Schedule.objects.get()
    assert done.redirect_chain[-1][0] == f"/schedules/{made.pk}/"
    assert "Repeats Checkout every day at 03:00 UTC. Made by runa." in get_text(done)
    assert len(re.findall(r"<li><time", done.content.decode())) == 5
    assert "Nightly" in get_text(client_in.get("/schedules/"))


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_it_shows_the_next_five_times_before_it_is_saved(client_in, matrix, headers):
    week = DAILY | {"every": "week", "days": ["0", "4"], "preview": "1"}
    shown = client_in.post(f"/matrices/{matrix.pk}/repeat/", week, headers=headers)
    assert shown.status_code == 200
    assert "On Mondays and Fridays at 03:00 UTC. The next five times:" in get_text(shown)
    assert len(re.findall(r"<li><time[^>]*>(Mon|Fri) [^<]* 03:00 UTC", shown.content.decode())) == 5
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"at": "25:00"}, "Write a time of the day such as 03:00."),
        ({"at": ""}, "This field is required."),
        ({"every": "week"}, "Choose at least one day of the week."),
        ({"every": "week", "days": ["7"]}, "Choose at least one day of the week."),
        ({"every": "month"}, "month is not one of the available choices"),
        ({"every": "hours", "hours": "5"}, "5 is not one of the available choices"),
        ({"every": "hours", "hours": "x"}, "x is not one of the available choices"),
        ({"name": ""}, "This field is required."),
        ({"name": "a\0b"}, "Null characters are not allowed."),
    ],
)
def test_what_is_wrong_is_said_at_its_field(client_in, matrix, wrong, said):
    refused = client_in.post(f"/matrices/{matrix.pk}/repeat/", DAILY | wrong)
    assert refused.status_code == 422
    assert said in get_text(refused)
    assert not Schedule.objects.exists()


def test_it_is_edited_paused_and_switched_on(client_in, schedule):
    url = f"/schedules/{schedule.pk}/"
    assert 'value="03:00"' in client_in.get(f"{url}edit/").content.decode()
    client_in.post(f"{url}edit/", DAILY | {"name": "Noon", "at": "12:00"})
    changed = Schedule.objects.get()
    assert (changed.name, changed.at, changed.next_at.hour) == ("Noon", time(12, 0), 12)
    paused = client_in.post(f"{url}change/", {"pause": "1"}, follow=True)
    assert "None: it is paused." in get_text(paused)
    client_in.post(f"{url}change/", {"resume": "1"})
    assert Schedule.objects.get().is_active


def test_deleting_asks_by_name(client_in, schedule):
    assert "Delete the schedule “Nightly” and its log?" in get_text(client_in.get(f"/schedules/{schedule.pk}/"))
    client_in.post(f"/schedules/{schedule.pk}/change/", {"delete": "1"})
    assert not Schedule.objects.exists()
    assert Matrix.objects.exists()


def test_it_says_what_came_of_each_time(client_in, schedule, matrix):
    for days, outcome, reason in ((1, "submitted", ""), (2, "skipped", "It still runs."), (3, "failed", "<b>gone")):
        Occasion.objects.create(
            schedule=schedule, due_at=schedule.next_at - timedelta(days=days), outcome=outcome, reason=reason,
            matrix=matrix if outcome == "submitted" else None,
        )  # fmt: skip
    Schedule.objects.update(is_active=False, next_at=None, off_because="It failed 5 times in a row: gone")
    page = client_in.get(f"/schedules/{schedule.pk}/")
    text = get_text(page)
    assert "Benchsite switched it off. It failed 5 times in a row: gone" in text
    assert "It still runs." in text
    assert "&lt;b&gt;gone" in page.content.decode()
    assert "switched off" in get_text(client_in.get("/schedules/"))


def test_viewers_see_and_change_nothing(team, schedule, matrix):
    viewer = signed_in(make_user(team=team, role=Role.VIEWER))
    for page in ("/schedules/", f"/schedules/{schedule.pk}/"):
        assert viewer.get(page).status_code == 200
    assert "Delete" not in get_text(viewer.get(f"/schedules/{schedule.pk}/"))
    assert "/repeat/" not in viewer.get(f"/matrices/{matrix.pk}/").content.decode()
    for path in (f"/matrices/{matrix.pk}/repeat/", f"/schedules/{schedule.pk}/edit/"):
        assert viewer.get(path).status_code == 403
        assert viewer.post(path, DAILY).status_code == 403
    assert viewer.post(f"/schedules/{schedule.pk}/change/", {"delete": "1"}).status_code == 403
    assert Schedule.objects.count() == 1


def test_another_teams_schedule_is_not_there(stranger, schedule, matrix):
    for pk in (schedule.pk, uuid.uuid4()):
        assert stranger.get(f"/schedules/{pk}/").status_code == 404
        assert stranger.get(f"/schedules/{pk}/edit/").status_code == 404
        assert stranger.post(f"/schedules/{pk}/edit/", DAILY).status_code == 404
        assert stranger.post(f"/schedules/{pk}/change/", {"delete": "1"}).status_code == 404
    assert stranger.get(f"/matrices/{matrix.pk}/repeat/").status_code == 404
    assert stranger.post(f"/matrices/{matrix.pk}/repeat/", DAILY).status_code == 404
    assert "Nightly" not in get_text(stranger.get("/schedules/"))
    assert Schedule.objects.count() == 1


def test_the_list_costs_as_many_queries_for_many(client_in, schedule, matrix, user, django_assert_max_num_queries):
    for number in range(10):
        store(matrix, user, name=f"Schedule {number}", every="hours", at=time(0))
    with django_assert_max_num_queries(8):
        assert client_in.get("/schedules/").status_code == 200


def test_it_runs_now_or_says_why_not(client_in, schedule):
    assert "Run now" in get_text(client_in.get(f"/schedules/{schedule.pk}/"))
    refused = client_in.post(f"/schedules/{schedule.pk}/change/", {"run": "1"}, follow=True)
    assert "Nothing is submitted." in get_text(refused)
    assert not Occasion.objects.exists()

"""What monitoring reads, and who may."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from benchsite.site.metrics import ENDED_KEY
from runs.models import Conductor, LoadGenerator
from runs.tests.factories import make_load_generator, make_run, make_sweep, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def nothing_remembered():
    cache.delete(ENDED_KEY)
    yield
    cache.delete(ENDED_KEY)


def read(**headers: str) -> dict[str, float]:
    """Name and labels -> value."""
    response = Client().get("/metrics", headers=headers or None, SERVER_NAME="127.0.0.1")
    assert response.status_code == 200
    families = text_string_to_metric_families(response.text)
    return {
        sample.name + "".join(f"[{value}]" for value in sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_it_counts_runs_and_generators():
    team = make_team(name="Secret project")
    sweep = make_sweep(team=team, system="redis", mode="always")
    make_run(sweep, threads=2)
    make_run(sweep, threads=4, status="failed", reason="client_failed")
    make_run(sweep, threads=8, status="queued")
    alive = make_load_generator(name="lab-1")
    make_load_generator(name="lab-2")
    LoadGenerator.objects.update(last_seen_at=None)
    LoadGenerator.objects.filter(pk=alive.pk).update(last_seen_at=timezone.now())
    for number, silent_s in enumerate((0, 120)):
        seen_at = timezone.now() - timedelta(seconds=silent_s)
        key = UUID(int=number)
        Conductor.objects.create(pk=key, name=f"lab-{number}", host_key="lab", capacity=4, last_seen_at=seen_at)
    content = read()
    assert (content["benchsite_conductors_alive"], content["benchsite_conductor_capacity"]) == (1, 4)
    assert content["benchsite_runs[succeeded]"] == 1
    assert content["benchsite_runs[failed]"] == 1
    assert content["benchsite_runs[queued]"] == content["benchsite_queue_runs"] == 1
    assert 0 <= content["benchsite_queue_oldest_wait_seconds"] < 60
    assert content["benchsite_generators_alive"] == 1
    assert content["benchsite_generator_heartbeat_age_seconds[lab-1]"] < 5
    assert content["benchsite_database_up"] == content["benchsite_redis_up"] == 1
    assert content["benchsite_uploads_waiting"] == content["benchsite_deliveries_due"] == 0
    assert "Secret project" not in Client().get("/metrics", SERVER_NAME="127.0.0.1").text


def test_it_counts_requests_by_the_name_of_the_page():
    Client().get("/healthz")
    Client().get("/runs/01890000-0000-7000-8000-000000000000/")
    content = read()
    assert content["benchsite_http_requests_total[GET][healthz][2xx]"] >= 1
    assert content["benchsite_http_request_seconds_count[healthz]"] >= 1
    assert not [name for name in content if "01890000" in name]


def test_it_tells_the_endpoints_of_one_address_apart():
    Client().get("/api/v1/runs")
    Client().post("/api/v1/runs")
    Client().get("/api/v1/runs/01890000-0000-7000-8000-000000000000")
    content = read()
    for page in ("GET /api/v1/runs", "POST /api/v1/runs", "GET /api/v1/runs/{run_id}"):
        assert content[f"benchsite_http_requests_total[{page.split()[0]}][{page}][4xx]"] >= 1
        assert content[f"benchsite_http_request_seconds_count[{page}]"] >= 1
    assert not [name for name in content if "list_runs" in name or "01890000" in name]


def test_it_asks_as_many_queries_of_a_large_site(django_assert_num_queries):
    sweep = make_sweep(team=make_team())
    for threads in range(1, 30):
        make_run(sweep, threads=threads)
        make_load_generator()
    with django_assert_num_queries(7):
        read()


def test_it_wants_the_token_where_one_is_set(settings):
    settings.METRICS_TOKEN = "t0ken-of-the-operator"
    assert Client().get("/metrics", SERVER_NAME="127.0.0.1").status_code == 404
    wrong = {"Authorization": "Bearer t0ken"}
    assert Client().get("/metrics", headers=wrong, SERVER_NAME="127.0.0.1").status_code == 404
    assert read(Authorization="Bearer t0ken-of-the-operator")["benchsite_database_up"] == 1


@pytest.mark.parametrize(
    "asked",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"HTTP_X_FORWARDED_FOR": "10.0.0.7"},
        {"HTTP_VIA": "1.1 proxy"},
        {"SERVER_NAME": "localhost.example.org"},
    ],
)
def test_it_answers_without_a_token_on_this_machine_alone(asked, settings):
    settings.ALLOWED_HOSTS = ["*"]
    assert Client().get("/metrics", **{"SERVER_NAME": "127.0.0.1", **asked}).status_code == 404


def test_it_needs_a_token_in_production(settings):
    settings.PRODUCTION = True
    assert Client().get("/metrics", SERVER_NAME="127.0.0.1").status_code == 404


def test_it_answers_when_redis_is_away(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    content = read()
    assert (content["benchsite_redis_up"], content["benchsite_database_up"]) == (0, 1)
    assert "benchsite_runs[succeeded]" not in content

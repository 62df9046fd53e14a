"""A site that others reach does not start with what is fine on one's own machine."""

import socket

import pytest

from benchsite.core.own_servers import allowed_networks
from benchsite.core.production import SAMPLE_KEY
from benchsite.tests.settings_under import KEY, PRODUCTION, python, setting

pytestmark = pytest.mark.slow


@pytest.mark.slow
def test_it_passes_djangos_own_check(tmp_path):
    done = python("manage.py", "check", "--deploy", "--fail-level", "WARNING", var=tmp_path, **PRODUCTION)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"BENCHSITE_DEBUG": "True"}, "BENCHSITE_DEBUG"),
        ({"BENCHSITE_SECRET_KEY": SAMPLE_KEY}, "sample"),
        ({"BENCHSITE_SECRET_KEY": KEY}, "50 random characters"),
        ({"BENCHSITE_SECRET_KEY": "a" * 64}, "50 random characters"),
        ({"BENCHSITE_SECRET_KEY": ""}, "BENCHSITE_SECRET_KEY is not set"),
        ({"BENCHSITE_URL": ""}, "BENCHSITE_URL is not set"),
        ({"BENCHSITE_URL": "bench.example.org"}, "write https://"),
        ({"BENCHSITE_URL": "https://example.org/bench"}, "write no path"),
        ({"DATABASE_URL": "", "REDIS_URL": ""}, "DATABASE_URL"),
        ({"BENCHSITE_PROXY": "yes"}, "write True or False"),
        ({"BENCHSITE_LOG_FORMAT": "xml"}, "write one of plain, json"),
        ({"BENCHSITE_S3_ENDPOINT": "https://s3.example.org"}, "no BENCHSITE_S3_BUCKET"),
        ({"BENCHSITE_S3_BUCKET": "results", "BENCHSITE_S3_ACCESS_KEY": "me"}, "set both"),
    ],
)
def test_it_does_not_start(changed, said, tmp_path):
    done = python("-c", "import benchsite.settings", var=tmp_path, **{**PRODUCTION, **changed})
    assert done.returncode != 0
    assert said in done.stderr.splitlines()[-1]


def test_it_trusts_a_proxy_only_where_it_was_told(tmp_path):
    told = (
        "settings.SECURE_PROXY_SSL_HEADER, settings.SECURE_SSL_REDIRECT, settings.MIDDLEWARE[1].startswith('benchsite')"
    )
    assert setting(told, tmp_path, **PRODUCTION) == "('HTTP_X_FORWARDED_PROTO', 'https') True True"
    assert setting(told, tmp_path, **{**PRODUCTION, "BENCHSITE_PROXY": ""}) == "None False False"
    assert setting("hasattr(settings, 'USE_X_FORWARDED_HOST')", tmp_path, **PRODUCTION) == "False"


def test_it_takes_cookies_and_hosts_from_its_address(tmp_path):
    said = "settings.SESSION_COOKIE_SECURE, settings.SECURE_HSTS_SECONDS, settings.ALLOWED_HOSTS[0]"
    assert setting(said, tmp_path, **PRODUCTION) == "True 31536000 bench.example.org"
    plain = {**PRODUCTION, "BENCHSITE_URL": "http://localhost:8000", "BENCHSITE_PROXY": ""}
    assert setting(said, tmp_path, **plain) == "False 0 localhost"


@pytest.mark.parametrize(
    ("changed", "networks"),
    [
        ({"DATABASE_URL": "", "REDIS_URL": ""}, "['127.0.0.0/8']"),
        ({"DATABASE_URL": "", "REDIS_URL": "", "BENCHSITE_BIND": "0.0.0.0"}, "[]"),
        ({"DATABASE_URL": "", "REDIS_URL": "", "BENCHSITE_URL": "http://10.0.0.5:8000"}, "[]"),
        (PRODUCTION, "[]"),
    ],
)
def test_private_networks_are_allowed_on_ones_own_machine(tmp_path, changed, networks):
    code = "from benchsite.core.own_servers import allowed_networks; print(allowed_networks([])[:1])"
    done = python("-c", code, var=tmp_path, DJANGO_SETTINGS_MODULE="benchsite.settings", **changed)
    assert done.stdout.strip() == networks, done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_private_networks_end_where_others_reach_the_site(settings, host):
    """Whoever started the web server, and with what: its socket says it."""
    settings.EXTERNAL_NETWORKS, settings.EMBEDDED, settings.PUBLIC_URL = [], True, ""
    with socket.create_server((host, 0)) as web:
        settings.WEB_PORT = web.getsockname()[1]
        assert ("127.0.0.0/8" in allowed_networks([])) is (host == "127.0.0.1")
        assert "10.9.0.0/16" in allowed_networks(["10.9.0.0/16"])

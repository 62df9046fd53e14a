"""A shell that points psycopg at another PostgreSQL does not lead the site away from its private one."""

from benchsite.tests.settings_under import KEY, setting

ANOTHER = {"PGHOST": "127.0.0.1", "PGPORT": "7002", "PGUSER": "shop", "PGOPTIONS": "-c search_path=shop"}
READ = "sorted(name for name in settings.os.environ if name.startswith('PG'))"


def test_private_server_ignores_them(tmp_path):
    assert setting(READ, tmp_path, **ANOTHER, PGSSLROOTCERT="/ca.pem") == "['PGSSLROOTCERT']"


def test_stated_server_keeps_them(tmp_path):
    stated = {
        "DATABASE_URL": "postgresql:///site",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "BENCHSITE_SECRET_KEY": KEY + KEY,
    }
    assert setting(READ, tmp_path, **stated, PGPASSWORD="hush") == "['PGPASSWORD']"

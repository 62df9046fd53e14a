"""Secrets do not survive, and everything else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.ycsb.redact import HIDDEN, is_secret, redact
from runs.ycsb.tests.samples import DATA


@pytest.mark.parametrize(
    "text",
    [
        "db.passwd=hunter2",
        "redis.password = hunter2",
        "cassandra.password:hunter2",
        "couchbase.password=hun\\ter2hunter2",
        'java -p "db.passwd=hunter2" site.ycsb.Client',
        "Command line: -p redis.password=hunter2 -threads 4",
        'db.password="hunter2 and more hunter2"',
        "mongodb.url=mongodb://alice:hunter2@localhost:27017/ycsb?w=1",
        "redis://:hunter2@127.0.0.1:6379/0",
        "jdbc:postgresql://127.0.0.1/x?user=a&password=hunter2&ssl=true",
        "Authorization: Bearer hunter2hunter2",
        "--password hunter2 --port 5",
        '"PASSWORD"="hunter2"',
        "port 6379\nrequirepass hunter2\n",
        "masterauth hunter2",
        "api_token=hunter2",
        "aws_secret_access_key = hunter2",
    ],
)
def test_it_hides_secrets(text):
    hidden = redact(text)
    assert "hunter2" not in hidden
    assert HIDDEN in hidden
    assert redact(hidden) == hidden


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("-p redis.password=x -threads 4 -p redis.host=h", "-threads 4 -p redis.host=h"),
        ("mongodb://alice:s@localhost:27017/ycsb?w=1", "@localhost:27017/ycsb?w=1"),
        ("mongodb://alice:s@localhost:27017/ycsb?w=1", "mongodb://alice:"),
        ("x?user=a&password=b&ssl=true", "&ssl=true"),
        ("db.passwd=a\ndb.user=b\n", "\ndb.user=b\n"),
    ],
)
def test_it_keeps_what_stands_around_a_secret(text, kept):
    assert kept in redact(text)


@pytest.mark.parametrize("name", ["two_clients/0", "target/0", "not_loaded/0", "refused/0"])
def test_it_leaves_ordinary_output_alone(name):
    for path in (DATA / name).glob("*.txt"):
        assert redact(path.read_text()) == path.read_text()


@pytest.mark.slow
@given(st.text())
def test_it_changes_nothing_the_second_time(text):
    once = redact(text)
    assert redact(once) == once


def test_it_knows_the_names_of_secrets():
    assert is_secret("db.passwd") and is_secret("Redis.Password") and is_secret("api-key")
    for name in ("db.user", "recordcount", "num_tokens", "bypass", "passive"):
        assert not is_secret(name)
        assert redact(f"{name}: 16") == f"{name}: 16"

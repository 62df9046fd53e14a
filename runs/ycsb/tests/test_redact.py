"""Secrets do not survive, and everything else does."""

import pytest
from hypothesis import given, strategies as st

from runs.ycsb.property_names import NAMES
from runs.ycsb.redact import HIDDEN, allow_names, find_secrets, is_secret, redact
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
        # Names that end like a secret's.
        "-p azurecosmos.primaryKey=hunter2==",
        "-p azure.key=hunter2/abc+def==",
        "-p redis.tls_key=hunter2",
        '"azurecosmos.primaryKey"="hunter2=="',
        "alibaba.cloud.tablestore.primary_key: hunter2",
        "minio.access-key=hunter2 minio.secret-key=hunter2",
        '{"accountKey": "hunter2"}',
        "AccountName=x;AccountKey=hunter2==;EndpointSuffix=core.windows.net",
        "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=hunter2=",
        "STORAGE_KEY=hunter2",
        "--account-key hunter2",
        "db.pw=hunter2",
        "redis.passcode=hunter2",
        # Property files with a blank in place of the equals sign.
        "redis.password hunter2",
        "  couchbase.password\thunter2 and hunter2",
        "azure.key hunter2/abc==",
        # As other programs print properties.
        '{\\"redis.password\\":\\"hunter2\\"}',
        "('redis.password', 'hunter2')",
        '"redis.password", "hunter2"',
        "<password>hunter2</password>",
        '<property name="db.password" value="hunter2"/>',
        '<entry key="azurecosmos.primaryKey">hunter2</entry>',
        # Command lines of other tools.
        "docker run redis:7 --requirepass hunter2 --save ''",
        'REDIS_ARGS="--requirepass hunter2"',
        "redis-cli -h db1 -a hunter2 info",
        "mysql -h db1 -u root -phunter2 ycsb",
        "mongosh -u admin -p hunter2 mongodb://db1",
        "curl -fsS -u elastic:hunter2 http://db1:9200",
        "sshpass -p hunter2 ssh loader1",
        # Tokens by their beginnings.
        "x=ghp_hunter2hunter2hunter2hunter2hunter2",
        "glpat-hunter2hunter2hunter2",
        "xoxb-hunter2-hunter2hunter2",
        "git clone https://hunter2hunter2hunter2@git.example/x",
        "https://a.example/c?X-Amz-Signature=hunter2hunter2hunter2&x=1",
        "event.sas=hunter2",
        "event.connectionString=hunter2",
        # User and password as one value.
        "-p es.setting.xpack.security.user=elastic:hunter2",
        "es.setting.xpack.security.user: elastic:hunter2",
        "jdbc:oracle:thin:scott/hunter2@//db:1521/x",
        "dbpass=hunter2",
        "DB_PASS=hunter2",
        "userPass: hunter2",
        "bind_pw=hunter2",
        "redis.password hunter2",
        "-storepass hunter2",
        # Addresses as people type them.
        "redis://:hun/hunter2@h:6379/0",
        "redis://:hunter2?@h:6379/0",
        "alice:hunter2@db-1:6379",
        # Statements and commands.
        "CREATE USER 'a'@'%' IDENTIFIED BY 'hunter2'",
        "ALTER ROLE a PASSWORD 'hun''hunter2'",
        "redis-cli -h db-1 -a hunter2 info",
        "sshpass -p hunter2 ssh lab",
        "mysql -u root -phunter2 ycsb",
        # Values that are secret under any name.
        "bs_Abcd1234_" + "a" * 31 + "hunter2",
        "x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.hunter2hunter2",
        "https://a.example/c?sv=2&sig=hunter2hunter2hunter2%3D&se=1",
        "a\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\nb",
        "tls=-----BEGIN PRIVATE KEY-----\\nhunter2\\n-----END PRIVATE KEY-----",
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
        ('{"log":"x --password s3cret\\n","stream":"stdout"}', '\\n","stream":"stdout"}'),
        ('{"log":"x --requirepass s3cret","stream":"stdout"}', '","stream":"stdout"}'),
        ("redis.password s\nredis.host h\n", "\nredis.host h\n"),
        ("dynamodb.primaryKey id", "dynamodb.primaryKey id"),
        ("memcached.tls.key must be the certificate's", "memcached.tls.key must be the certificate's"),
        ("bin/go-ycsb run mysql -P workloads/workloada -p mysql.host=h", "-P workloads/workloada -p mysql.host=h"),
        ("bin/ycsb run mongo -p recordcount=1000 -p mongo.x=y", "-p recordcount=1000 -p mongo.x=y"),
        ("redis-benchmark -p 6379 -a s -n 9", "-p 6379 -a [redacted] -n 9"),
        ("the password is wrong, and the token has expired", "the password is wrong, and the token has expired"),
        ("07c37df 127.0.0.1:30004@31004,db-4 slave e7d1 0 1 4 connected", "127.0.0.1:30004@31004,db-4"),
        ("http://db-1:9200/a@b", "http://db-1:9200/a@b"),
        ("mysql -u root -p ycsb", "-p ycsb"),
        ("Password 'wrong' is refused. mysql -P 3306", "mysql -P 3306"),
        (f"token bsg_lab-1_{'0' * 64}", "token bsg_"),
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
    assert is_secret("azure.key") and is_secret("tls_key") and is_secret("primaryKey") and is_secret("AccountKey")
    for name in ("dynamodb.primaryKey", "cassandra.keyspace", "azure.partitionkey", "es.index.key", "valuekey", "key",
                 "keyprefix", "azure.account", "monkey"):  # fmt: skip
        assert not is_secret(name)
        assert redact(f"{name}=16") == f"{name}=16"
    for name in ("db.user", "recordcount", "num_tokens", "bypass", "passive", "compass"):
        assert not is_secret(name)
        assert redact(f"{name}: 16") == f"{name}: 16"


def test_shows_names_that_admins_let_be_shown():
    text = "-p riak.my_key=blue -p riak.other_key=green"
    assert redact(text) == f"-p riak.my_key={HIDDEN} -p riak.other_key={HIDDEN}"
    with allow_names(["Riak.My_Key"]):
        assert redact(text) == f"-p riak.my_key=blue -p riak.other_key={HIDDEN}"
        assert not is_secret("riak.my_key")
    assert is_secret("riak.my_key")


def test_every_documented_secret_is_hidden():
    """Of the properties that bindings document: those that hold a password, a key or a token."""
    hidden = {name for name in NAMES if is_secret(name)}
    assert hidden == {
        "accumulo.password", "alibaba.cloud.tablestore.access_key", "alibaba.cloud.tablestore.primary_key",
        "as.password", "azure.key", "azurecosmos.primaryKey", "cassandra.password", "couchbase.password", "db.passwd",
        "dynamodb.awsCredentialsFile", "elastic.password", "googledatastore.privateKeyFile", "jdbc.password",
        "minio.access-key", "minio.secret-key", "mysql.password", "orientdb.password", "password", "pg.password",
        "postgrenosql.passwd", "redis.password", "redis.tls_key", "s3.accessKeyId", "s3.secretKey", "scylla.password",
        "spanner.credentials", "voltdb.password",
    }  # fmt: skip


@pytest.mark.parametrize("value", ["open sesame", "a,b;c&d", "semi;colon and blank, too"])
def test_value_of_a_property_line_is_hidden_to_its_end(value):
    text = redact(f"redis.password={value}\nthreadcount=8\n")

    assert text == f"redis.password={HIDDEN}\nthreadcount=8\n"


def test_secrets_of_properties_are_found_in_other_texts():
    properties = {"redis.password": "p@ss word", "db.url": "jdbc:x://h/d?user=u&password=q%2Cw1", "threadcount": "8"}
    secrets = find_secrets(properties)

    text = redact("ERR p@ss word, p%40ss%20word, q%2Cw1 and q,w1 are refused", secrets)

    assert text == f"ERR {HIDDEN}, {HIDDEN}, {HIDDEN} and {HIDDEN} are refused"

"""What servers and clients are started with: settings in the right order, escaped as each format wants."""

from pathlib import Path

import pytest

from runs.catalog import BadTag, PropertyError, client_properties, load_catalog, render_server, secret_properties
from runs.catalog.configuration import render_config

REDIS = load_catalog().system("redis")
POSTGRESQL = load_catalog().system("postgresql")
FOLDER = Path("/data/it's here")


def render(system, mode, settings, **more):
    return render_server(system, system.mode(mode), settings, host="127.0.0.1", port=6400, folder=FOLDER, **more)


def test_it_renders_redis():
    server = render(REDIS, "everysec", {"hz": "20", "maxmemory": "1gb"}, password='a b\\c"d')
    lines = server.files["redis.conf"].splitlines()
    assert "bind 127.0.0.1" in lines
    assert "port 6400" in lines
    assert "maxmemory 1GB" in lines
    assert "appendfsync everysec" in lines
    assert 'save ""' in lines
    assert 'dir "/data/it\'s here/data"' in lines
    assert 'requirepass "a b\\\\c\\"d"' in lines
    assert server.command(Path("/bin/redis-server")) == ["/bin/redis-server", "/data/it's here/redis.conf"]
    assert server.settings["appendonly"] == "yes"


def test_it_renders_postgresql():
    server = render(POSTGRESQL, "remote-write", {"shared_buffers": "256MB"})
    lines = server.files["postgresql.conf"].splitlines()
    assert "listen_addresses = '127.0.0.1'" in lines
    assert "unix_socket_directories = ''" in lines
    assert "synchronous_standby_names = 'FIRST 1 (*)'" in lines
    assert "shared_buffers = '256MB'" in lines
    assert "max_connections = '300'" in lines
    init = server.init_command(Path("/pg/bin/postgres"), Path("/data/password"))
    assert init[:3] == ["/pg/bin/initdb", "-D", "/data/it's here/data"]
    assert "--pwfile=/data/password" in init


def test_it_renders_postgresql_for_a_container():
    server = render_server(
        POSTGRESQL, POSTGRESQL.mode("on"), {}, host="0.0.0.0", port=5432, folder=FOLDER, user="ycsb",
        recipe=POSTGRESQL.container_recipe,
    )  # fmt: skip
    lines = server.files["postgresql.conf"].splitlines()
    assert "hba_file = '/data/it''s here/pg_hba.conf'" in lines and "listen_addresses = '0.0.0.0'" in lines
    assert server.files["pg_hba.conf"] == "host all,replication all all scram-sha-256\n"
    assert server.command(Path())[:3] == ["postgres", "-D", "/data/it's here/data"]
    assert server.init_command(Path(), Path("/p"))[0] == "initdb"


def test_the_stated_version_is_the_tag_of_the_image():
    assert REDIS.image.reference("") == "redis:7.4-bookworm"
    assert REDIS.image.reference("7.2.5") == "redis:7.2.5"
    with pytest.raises(BadTag, match=r"'7.2 rc1' is no tag of the image redis: write one such as 7"):
        REDIS.image.reference("7.2 rc1")


def test_it_leaves_a_database_its_own_settings():
    assert render(POSTGRESQL, "on", {"max_connections": "50"}).settings["max_connections"] == "50"


def test_it_writes_no_empty_password():
    assert "requirepass" not in render(REDIS, "off", {}).files["redis.conf"]


@pytest.mark.parametrize(("form", "line"), [("redis", 'a "x\'y\\\\z\\" "'), ("postgresql", "a = 'x''y\\\\z\" '")])
def test_it_escapes_by_format(form, line):
    assert render_config(form, {"a": "x'y\\z\" "}).splitlines()[1] == line


@pytest.mark.parametrize("form", ["redis", "postgresql"])
@pytest.mark.parametrize("settings", [{"a": "x\ny"}, {"a\nb": "x"}, {"include /etc/x": "1"}, {"a": "x\x00"}])
def test_it_refuses_what_no_configuration_holds(form, settings):
    with pytest.raises(PropertyError):
        render_config(form, settings)


def test_refuses_what_hadoop_would_replace():
    with pytest.raises(PropertyError, match="Hadoop replaces"):
        render_config("hadoop", {"hbase.rootdir": "/${env.DATABASE_URL}"})


def test_it_refuses_settings_nobody_declared():
    with pytest.raises(PropertyError, match="Did you mean 'maxmemory'"):
        render(REDIS, "off", {"maxmemmory": "1GB"})
    with pytest.raises(PropertyError, match="not known here"):
        render(POSTGRESQL, "on", {"archive_command": "true"})


def test_it_refuses_settings_that_belong_to_the_mode():
    with pytest.raises(PropertyError, match="fsync is decided by the durability mode"):
        render(POSTGRESQL, "on", {"fsync": "off"})
    with pytest.raises(PropertyError, match="decided by the durability mode"):
        REDIS.check_binding_properties({"redis.wait.replicas": "0"})


def test_it_gives_clients_the_address_and_the_mode():
    mode = REDIS.mode("always-wait-1")
    properties = client_properties(REDIS, mode, {"redis.timeout_ms": 500}, host="127.0.0.1", port=6400, password="p")
    assert properties == {
        "redis.timeout_ms": "500",
        "redis.host": "127.0.0.1",
        "redis.port": "6400",
        "redis.password": "p",
        "redis.wait.replicas": "1",
        "redis.wait.timeout_ms": "1000",
    }
    assert secret_properties(REDIS) == ["redis.password", "redis.tls.ca", "redis.tls.certificate", "redis.tls.key"]


@pytest.mark.parametrize(("share", "index"), [("0", None), ("0.95", "true"), ("", None)])
def test_it_keeps_an_index_only_for_scans(share, index):
    workload = {"scanproportion": share}
    properties = client_properties(REDIS, REDIS.mode("off"), {}, host="127.0.0.1", port=1, workload=workload)
    assert properties.get("redis.index") == index

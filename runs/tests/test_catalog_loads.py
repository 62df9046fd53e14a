"""The catalog that ships: every file loads, and its modes say only what their files can make true."""

import pytest

from runs.catalog import UnknownMode, UnknownSystem, load_catalog
from runs.catalog.loader import SYSTEMS, read_catalog, read_files

CATALOG = load_catalog()
MODES = [(system, mode) for system in CATALOG.systems.values() for mode in system.modes.values()]
RUNNABLE = [(system, mode) for system, mode in MODES if system.administered]
each_mode = pytest.mark.parametrize(("system", "mode"), MODES, ids=[f"{s.slug}-{m.slug}" for s, m in MODES])


def test_it_has_a_system_for_every_file():
    assert set(CATALOG.systems) == {path.parent.name for path in SYSTEMS.glob("*/system.toml")}


def test_it_digests_every_file():
    files = read_files()
    assert read_catalog(files).digest == CATALOG.digest
    files["shared.toml"] += "\n# changed\n"
    assert read_catalog(files).digest != CATALOG.digest


@each_mode
def test_it_declares_what_a_mode_sets(system, mode):
    for name, value in mode.server_settings.items():
        assert system.settings[name].check(value) == value
    for name, value in mode.client_properties.items():
        assert system.binding.properties[name].check(value) == value


@pytest.mark.parametrize(("system", "mode"), RUNNABLE, ids=[f"{s.slug}-{m.slug}" for s, m in RUNNABLE])
def test_it_reads_back_what_a_mode_sets(system, mode):
    expected = mode.expected_settings
    assert mode.server_settings.items() <= expected.items()
    assert expected or mode.client_properties


@each_mode
def test_it_needs_as_many_replicas_as_a_mode_promises(system, mode):
    promised = mode.durability.replicas_acked
    assert mode.replicas_needed >= 1 if isinstance(promised, str) else mode.replicas_needed == promised
    assert mode.name


def test_it_maps_redis_to_what_redis_does():
    modes = CATALOG.system("redis").modes
    seen = {slug: (mode.durability.ack, mode.durability.loss_window_s) for slug, mode in modes.items()}
    assert seen["off"] == ("memory", None)
    assert seen["no"] == ("os_buffer", None)
    assert seen["everysec"] == ("os_buffer", 1.0)
    assert seen["always"] == ("disk", 0.0)
    assert modes["everysec"].durability.worst_loss_window_s == 4.0
    assert modes["off-wait-1"].durability.replica_ack == "memory"
    assert modes["off-wait-1"].client_properties["redis.wait.replicas"] == "1"


def test_it_maps_postgresql_to_what_postgresql_does():
    modes = CATALOG.system("postgresql").modes
    delay_s = (
        CATALOG.system("postgresql")
        .settings["wal_writer_delay"]
        .number(modes["off"].server_settings["wal_writer_delay"])
    )
    assert modes["off"].durability.loss_window_s == pytest.approx(3 * delay_s)
    assert modes["fsync-off"].durability.ack == "os_buffer"
    assert modes["fsync-off"].durability.loss_window_s is None
    assert [
        slug for slug, mode in modes.items() if mode.replicas_needed == 0 and mode.durability.loss_window_s == 0
    ] == [
        "on",
        "local",
    ]
    replica_acks = {slug: mode.durability.replica_ack for slug, mode in modes.items() if mode.replicas_needed}
    assert replica_acks == {"remote-write": "os_buffer", "on-standby": "disk", "remote-apply": "disk"}


def test_it_names_the_nearest_system_and_mode():
    with pytest.raises(UnknownSystem, match="Did you mean 'postgresql'"):
        CATALOG.system("postgresq")
    with pytest.raises(UnknownMode, match="Did you mean 'everysec'"):
        CATALOG.system("redis").mode("everysecond")
    assert CATALOG.system("postgres").slug == "postgresql"


def test_only_own_bindings_get_the_shared_properties():
    for system in CATALOG.systems.values():
        assert ("benchsite.retries.read" in system.binding.properties) == system.own_client
        assert system.binding.java_class.startswith("org.benchsite.") == system.own_client


def test_it_declares_passwords_secret():
    for system in CATALOG.systems.values():
        for name, declared in system.binding.properties.items():
            holds_one = name.endswith(("password", "passwd")) or name == "mongodb.url" or declared.type == "pem"
            assert declared.secret == holds_one, name

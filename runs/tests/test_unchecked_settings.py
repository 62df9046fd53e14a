"""Settings that the catalog does not describe: recorded, passed on to a server's configuration, never read back."""

from pathlib import Path

import pytest

from runs.catalog import PropertyError, load_catalog, render_server
from runs.plans.files.plan_file import read_plan
from runs.plans.studies import plan_text

CASSANDRA = load_catalog().system("cassandra")


def render(settings, system=CASSANDRA, mode="one-periodic"):
    return render_server(system, system.mode(mode), settings, host="127.0.0.1", port=9042, folder=Path("/srv/target"))


def test_setting_is_kept_beside_those_of_the_catalog():
    stated = {"unchecked.key_cache_size": " 100MiB", "row_cache_size": "10GB"}

    assert CASSANDRA.check_settings(stated) == {"unchecked.key_cache_size": " 100MiB", "row_cache_size": "10GB"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unchecked.row_cache_size", "row_cache_size is known here: leave out unchecked."),
        ("unchecked.commitlog_sync", "commitlog_sync is known here"),
        ("unchecked.", "cannot be the name of a setting"),
        ("unchecked.a b", "cannot be the name of a setting"),
        ("key_cache_size", "is not known here"),
    ],
)
def test_name_has_to_be_one_that_the_catalog_lacks(name, message):
    with pytest.raises(PropertyError, match=message):
        CASSANDRA.check_settings({name: "1"})


def test_value_is_one_line():
    with pytest.raises(PropertyError, match="line breaks"):
        CASSANDRA.check_settings({"unchecked.key_cache_size": "1\nauthenticator: AllowAll"})


def test_started_server_has_it_in_its_configuration():
    rendered = render({"unchecked.key_cache_size": "100MiB"})

    assert "\nkey_cache_size: " in rendered.files["cassandra.yaml"]
    assert "unchecked" not in rendered.files["cassandra.yaml"]
    assert rendered.settings["unchecked.key_cache_size"] == "100MiB"


@pytest.mark.parametrize(
    ("slug", "mode", "name"), [("cassandra", "one-periodic", "partitioner"), ("memcached", "none", "unix-socket")]
)
def test_started_server_refuses_what_it_cannot_have(slug, mode, name):
    with pytest.raises(PropertyError, match=f"{name} cannot be set on servers that Benchsite starts"):
        render({f"unchecked.{name}": "1"}, load_catalog().system(slug), mode)


def test_memcached_takes_options_of_its_command_line():
    memcached = load_catalog().system("memcached")

    rendered = render({"unchecked.slab_automove": "2", "unchecked.slab-min-size": "64"}, memcached, "none")

    assert {"--extended=slab_automove=2", "--slab-min-size=64"} <= set(rendered.argv)
    with pytest.raises(PropertyError, match="slab_automove takes letters, digits"):
        render({"unchecked.slab_automove": "2,ext_path=/tmp/x:1G"}, memcached, "none")


def test_plan_files_of_studies_state_what_was_set():
    databases = read_plan(plan_text("thumbtack-2013")).databases.values()

    (settings,) = [database.settings for database in databases if database.system == "cassandra"]
    assert settings["row_cache_size"] == "10GB"
    assert settings["unchecked.partitioner"] == "RandomPartitioner"

"""The systems that are known for their uploaded results: what their records say follows from what their modes set."""

import re

import pytest
from django.urls import reverse

from runs.catalog import OwnMode, load_catalog
from runs.results.pages.durability import mode_rows
from runs.results.verifications import load_verifications
from runs.tests.factories import make_cluster, make_database

CATALOG = load_catalog()
KNOWN = [system for system in CATALOG.systems.values() if system.slug not in ("redis", "postgresql")]
each_known = pytest.mark.parametrize("system", KNOWN, ids=[system.slug for system in KNOWN])

# ack, other copies, what they had done, seconds that may be lost (None: any)
RECORDS = {
    "aerospike": {
        "in-memory-master": ("memory", 0, "none", None),
        "master": ("memory", 0, "none", 1.0),
        "in-memory-all": ("memory", "all", "memory", 0.0),
        "all": ("memory", "all", "memory", 0.0),
        "commit-to-device": ("disk", "all", "disk", 0.0),
        "commit-to-device-linearizable": ("disk", "all", "disk", 0.0),
    },
    "cassandra": {
        "no-commitlog": ("memory", 0, "none", None),
        "one-periodic": ("memory", 0, "none", 10.0),
        "one-group": ("disk", 0, "none", 0.0),
        "one-batch": ("disk", 0, "none", 0.0),
        "quorum-periodic": ("memory", "quorum", "memory", 0.0),
        "all-one-periodic": ("memory", "all", "memory", 0.0),
        "quorum-batch": ("disk", "quorum", "disk", 0.0),
    },
    "couchbase": {
        "unchecked": ("none", 0, "none", None),
        "memory": ("memory", 0, "none", None),
        "replicate-1": ("memory", 1, "memory", 0.0),
        "majority": ("memory", "quorum", "memory", 0.0),
        "persist-1": ("disk", 0, "none", 0.0),
        "persist-1-replicate-1": ("disk", 1, "memory", 0.0),
        "majority-persist-active": ("disk", "quorum", "memory", 0.0),
        "persist-2": ("disk", 1, "disk", 0.0),
        "persist-majority": ("disk", "quorum", "disk", 0.0),
    },
    "ferretdb": {
        "sqlite-normal": ("os_buffer", 0, "none", None),
        "sqlite": ("disk", 0, "none", 0.0),
        "postgresql": ("disk", 0, "none", 0.0),
    },
    "hbase": {
        "client-buffering": ("none", 0, "none", None),
        "skip-wal": ("memory", 0, "none", None),
        "async-wal": ("memory", 0, "none", None),
        "sync-wal-local": ("os_buffer", 0, "none", None),
        "fsync-wal-local": ("disk", 0, "none", 0.0),
        "sync-wal-one-copy": ("os_buffer", 0, "none", None),
        "sync-wal": ("os_buffer", "all", "os_buffer", 0.0),
        "fsync-wal": ("disk", "all", "disk", 0.0),
    },
    "mariadb": {
        "flush-0": ("memory", 0, "none", 1.0),
        "flush-2": ("os_buffer", 0, "none", 1.0),
        "flush-1": ("disk", 0, "none", 0.0),
        "flush-2-semi-sync": ("os_buffer", 1, "os_buffer", 0.0),
        "flush-1-semi-sync": ("disk", 1, "os_buffer", 0.0),
    },
    "memcached": {"unchecked": ("none", 0, "none", None), "none": ("memory", 0, "none", None)},
    "mongodb": {
        "w0": ("none", 0, "none", None),
        "w1-no-journal": ("memory", 0, "none", 60.0),
        "w1-secondary-reads": ("memory", 0, "none", 0.1),
        "w1": ("memory", 0, "none", 0.1),
        "w2": ("memory", 1, "memory", 0.0),
        "majority-no-journal": ("memory", "quorum", "memory", 0.0),
        "w1-j": ("disk", 0, "none", 0.0),
        "majority": ("disk", "quorum", "disk", 0.0),
        "majority-linearizable": ("disk", "quorum", "disk", 0.0),
    },
    "redis-cluster": {
        "off": ("memory", 0, "none", None),
        "no": ("os_buffer", 0, "none", None),
        "everysec": ("os_buffer", 0, "none", 1.0),
        "always": ("disk", 0, "none", 0.0),
    },
    "rocksdb": {
        "no-wal": ("memory", 0, "none", None),
        "no-sync": ("os_buffer", 0, "none", None),
        "sync": ("disk", 0, "none", 0.0),
    },
}
# The setting that makes a bounded loss window, in the modes that have one.
WINDOWS = {
    ("aerospike", "master"): ("flush-max-ms", 1e-3),
    ("cassandra", "one-periodic"): ("commitlog_sync_period", 1.0),
    ("mariadb", "flush-0"): ("innodb_flush_log_at_timeout", 1.0),
    ("mariadb", "flush-2"): ("innodb_flush_log_at_timeout", 1.0),
    ("mongodb", "w1"): ("storage.journal.commitIntervalMs", 1e-3),
    ("mongodb", "w1-secondary-reads"): ("storage.journal.commitIntervalMs", 1e-3),
}


def test_it_knows_every_system_of_the_studies():
    assert {system.slug for system in KNOWN} == set(RECORDS)


@each_known
def test_it_records_what_each_mode_promises(system):
    found = {
        slug: (d.ack, d.replicas_acked, d.replica_ack, d.loss_window_s)
        for slug, mode in system.modes.items()
        for d in [mode.durability]
    }
    assert found == RECORDS[system.slug]


@pytest.mark.parametrize(("slug", "mode"), WINDOWS)
def test_it_takes_loss_windows_from_the_settings_of_the_mode(slug, mode):
    system = CATALOG.system(slug)
    setting, unit_s = WINDOWS[slug, mode]
    text = system.modes[mode].server_settings[setting]
    assert system.modes[mode].durability.loss_window_s == pytest.approx(system.settings[setting].number(text) * unit_s)


@each_known
def test_it_says_what_makes_each_mode_and_no_two_are_made_alike(system):
    made = [(tuple(m.server_settings.items()), tuple(m.client_properties.items())) for m in system.modes.values()]
    assert all(server or client for server, client in made)
    assert len(set(made)) == len(made)


@each_known
def test_it_warns_of_pitfalls_and_cites_no_address(system):
    assert system.pitfalls
    texts = [system.notes, *system.pitfalls, *(mode.notes for mode in system.modes.values())]
    assert not any("://" in text for text in texts)
    assert all(text.endswith((".", ".)")) for text in texts if text)


@each_known
def test_it_renders_every_mode_for_pages(system):
    for row in mode_rows(system):
        assert not row["problem"]
        started_with = system.process.settings if system.process else {}
        assert {line["name"]: line["value"] for line in row["server"]} == started_with | row["mode"].server_settings
        fixed = {name: value for name, value in system.binding.fixed.items() if not name.startswith("url.")}
        assert {line["name"]: line["value"] for line in row["client"]} == fixed | row["mode"].client_properties


@each_known
def test_every_choice_of_who_answers_reads_says_what_they_see(system):
    assert CATALOG.system("mongodb").binding.read_choices
    for name, choices in system.binding.read_choices.items():
        assert tuple(choices) == system.binding.properties[name].choices


def test_own_mode_that_states_other_reads_keeps_them():
    w1 = CATALOG.system("mongodb").mode("w1")
    own: OwnMode = {
        "base": "w1",
        "name": "linearizable",
        "durability": {**w1.durability.as_dict(), "reads": "linearizable"},
        "server_settings": w1.server_settings,
        "client_properties": {**w1.client_properties, "mongodb.read_concern": "linearizable"},
    }
    system = CATALOG.system("mongodb", own_modes={"linearizable-stated": own})
    chosen = {"mongodb.read_preference": "nearest"}
    reads = {slug: system.find_durability(system.mode(slug), chosen).reads for slug in ("w1", "linearizable-stated")}
    assert reads == {"w1": "any_copy", "linearizable-stated": "linearizable"}


def test_preference_of_an_earlier_catalog_is_a_problem():
    rows = mode_rows(CATALOG.system("mongodb"), properties={"mongodb.read_preference": "dropped"})
    w1 = next(row for row in rows if row["mode"].slug == "w1")
    assert "mongodb.read_preference" in w1["problem"] and w1["reads"] == "the primary"


@pytest.mark.slow
@each_known
@pytest.mark.django_db
def test_it_shows_each_on_a_page_of_its_own(client_in, system):
    page = client_in.get(reverse("system", args=[system.slug])).content.decode()
    assert ("its servers: the durability mode of a run is stated" in page) == (
        system.has_client and not system.own_client
    )
    assert "What has misled measurements" in page
    assert ("Read back before" in page) == system.administered
    assert reverse("database-add") in page
    for mode in system.modes:
        assert f'id="mode-{mode}"' in page


@pytest.mark.slow
@pytest.mark.django_db
def test_each_mode_names_what_is_read_back(client_in):
    page = client_in.get(reverse("system", args=["redis"])).content.decode()
    everysec = page.partition('id="mode-everysec"')[2].partition("</section>")[0].partition("Read back before")[2]
    assert '<dt class="mono">appendfsync</dt><dd class="mono">everysec</dd>' in everysec
    assert "nothing to read back" not in everysec


@pytest.mark.django_db
def test_it_lists_four_facts_of_each_system(client_in):
    page = client_in.get(reverse("systems")).content.decode()
    rows = {
        slug: re.sub(r"<[^>]+>", " ", row)
        for slug, row in re.findall(r'systems/([\w-]+)/">(.*?)</tr>', page, re.DOTALL)
    }
    assert rows.keys() == CATALOG.systems.keys()
    for slug, system in CATALOG.systems.items():
        assert ("mode stated" in rows[slug]) == (not system.administered)
        assert ("process" in rows[slug]) == system.can_be_started
        assert all(verification["label"] in rows[slug] for verification in load_verifications(slug))
    assert "CouchbaseMock v1.5.25 (vendor mock)" in rows["couchbase"]
    assert "(wire stand-in)" in rows["aerospike"] and "(real server)" in rows["redis"]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(("provisioner", "refused"), [("process", True), ("docker", True), ("external", False)])
def test_it_describes_one_on_external_clusters_only(client_in, team, provisioner, refused):
    cluster = make_cluster(team=team, provisioner=provisioner)
    data = {"system": "mongodb", "cluster": str(cluster.pk), "name": "Documents", "replication_factor": "1"}
    response = client_in.post(reverse("database-add"), data)
    assert response.status_code == (422 if refused else 302)
    if refused:
        assert "Benchsite cannot start MongoDB yet" in response.content.decode()


@pytest.mark.django_db
def test_it_is_refused_by_the_matrix_builder_with_one_sentence(client_in, team):
    cluster = make_cluster(team=team, provisioner="external")
    database = make_database(team=team, cluster=cluster, system="rocksdb", name="Documents")
    form = {
        "entries": [f"{database.pk}:sync"], "purpose": "demo", "processes_per_generator": "1", "ladder": "threads",
        "rungs": "2, 4", "repeats": "1", "order": "interleaved", "seed": "1", "warmup_s": "0", "min_measure_s": "10",
        "load_policy": "load", "load_threads": "8", "between_rungs": "keep", "min_operations": "0", "priority": "0",
    }  # fmt: skip
    page = client_in.post(reverse("matrix-preview"), form).content.decode()
    assert page.count("RocksDB is a library inside the client and has no server: choose") == 1
    assert "aerospike binding" not in page

"""A target that Benchsite cannot look into is written by its owner's word alone, and by one data set for each word."""

import pytest

from workers.provision.ownership import DataNotOwned, DataSetMissing, StatedTarget


class Confirmation:
    """What is kept of a target between runs."""

    def __init__(self, loaded: str | None) -> None:
        self.loaded = loaded

    def target(self, fingerprint: str = "a", inserted: int | None = 5) -> StatedTarget:
        def note_loaded(loaded: str) -> None:
            self.loaded = loaded

        return StatedTarget(
            name="Cassandra at db:9042, keyspace ycsb",
            page="the page of the cluster lab",
            fingerprint=fingerprint,
            loaded=self.loaded,
            inserted=inserted,
            note_loaded=note_loaded,
        )


def test_refuses_loads_and_writes_without_confirmation():
    confirmation = Confirmation(None)
    for act in (confirmation.target().prepare_load, lambda: confirmation.target().prepare_writes(inserts=False)):
        with pytest.raises(DataNotOwned, match=r"keyspace ycsb holds data .* confirm on the page of the cluster lab"):
            act()
    assert confirmation.loaded is None


def test_counts_what_clients_inserted():
    assert Confirmation("a").target(inserted=7).count() == 7
    assert Confirmation("a").target(inserted=None).count() is None


def test_holds_one_data_set_for_each_confirmation():
    confirmation = Confirmation("")
    with pytest.raises(DataSetMissing, match="was not loaded into"):
        confirmation.target().require_data_set()
    assert confirmation.target().prepare_load() == ""
    confirmation.target().require_data_set()
    assert "written again" in confirmation.target().prepare_load()
    with pytest.raises(DataNotOwned, match="withdraw the confirmation on the page of the cluster lab and"):
        confirmation.target("b").prepare_load()
    with pytest.raises(DataSetMissing):
        confirmation.target("b").require_data_set()
    assert confirmation.loaded == "a"

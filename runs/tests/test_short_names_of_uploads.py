"""The name in 12 characters of a workload that was described with an upload, for the names of its runs."""

import pytest

from runs.uploads.metadata import describe_workload


@pytest.mark.parametrize(
    ("name", "shares", "short_name"),
    [
        ("READ 49 %, UPDATE 51 %", {"readproportion": "0.49", "updateproportion": "0.51"}, "R49-U51"),
        ("INSERT 5 %, SCAN 95 %", {"insertproportion": "0.05", "scanproportion": "0.95"}, "I5-S95"),
        ("READ 50 %, READ-MODIFY-WRITE 50 %", {"readproportion": "1", "readmodifywriteproportion": "1"}, "R50-RMW50"),
        ("YCSB A", {"readproportion": "0.5", "updateproportion": "0.5"}, "A"),
        ("Orders 2", {"readproportion": "0.5", "updateproportion": "0.5"}, "Orders-2"),
        ("unstated workload", {}, "unstated"),
        ("Reads of the shop's sessions", {}, "Reads-of-the"),
        ("Fileserverworkload", {}, "Fileserverwo"),
        ("%", {}, ""),
    ],
)
def test_name_in_twelve_characters_reads(name: str, shares: dict[str, str], short_name: str):
    assert describe_workload(name, shares).short_name == short_name

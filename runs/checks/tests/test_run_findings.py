"""Whole findings of what a run did and where, at and just beyond their limits: value, limits, sentence and advice.

Limits are those of the profile "measured" and of docs/evidence/checks.md.
"""

from dataclasses import replace
from typing import Any

import pytest

from runs.checks import CheckResult, ClusterFacts, OperationFacts, judge_run, profile
from runs.checks.messages import MEASURE_MIX_AGAIN, STATE_WORKLOAD
from runs.checks.tests.test_checks import ON_DISK, both, client, facts, host, over_time, sampled
from runs.checks.tests.test_client_findings import finding, stating
from runs.ycsb.evidence import ClientEvidence

# --- E01: did it happen? ---

MEND = "Read the clients' output on this page, mend what stopped them, and run it again."
ALL_THERE = (
    "pass",
    "2 of 2 clients, 580,000 operations",
    "Every client's operations are there, over the whole window.",
    "",
)
ITS_OWN_WORD = (
    "info",
    "2 of 2 clients, 580,000 operations",
    "The output counts successful operations but prints no return codes, so their success is its own word.",
    "",
)


def gap(message: str, measured: str = "2 of 2 clients, 580,000 operations") -> tuple[str, str, str, str]:
    return "reject", measured, message, MEND


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"window_s": 270.0}, ALL_THERE),
        ({"window_s": 269.0}, gap("The window is 4 min 29 s, and 5 min were planned.")),
        (
            {"clients": (client(0),), "missing": ("client 1: gone", "client 2: late"), "clients_expected": 3},
            gap(
                "Only 1 of 3 clients could be merged (client 1: gone; client 2: late).",
                "1 of 3 clients, 580,000 operations",
            ),
        ),
        (
            {"clients": (client(0),)},
            gap("Only 1 of 2 clients could be merged.", "1 of 2 clients, 580,000 operations"),
        ),
        ({"missing": ("client 2: gone",)}, gap("Only 2 of 2 clients could be merged (client 2: gone).")),
        ({"throughput_ops_s": 0.0}, gap("Not a single operation succeeded.")),
        ({"throughput_ops_s": 1.0}, ALL_THERE),
        ({"ok_operations": 0}, gap("Not a single operation succeeded.", "2 of 2 clients, 0 operations")),
        ({"returns": None}, gap("No summary tells of a successful return code.")),
        ({"returns": {"OK": 0, "ERROR": 5}}, gap("No summary tells of a successful return code.")),
        ({"returns": {"0": 5}}, ALL_THERE),
        ({"returns": None, "made_elsewhere": True}, ITS_OWN_WORD),
        ({"returns": None, "without_codes": True}, ITS_OWN_WORD),
        ({"returns": {"ERROR": 5}, "made_elsewhere": True}, gap("No summary tells of a successful return code.")),
        ({"clients": both(truncated=True)}, gap("The output of client 0, 1 breaks off.")),
        (
            {"phase": "load", "ok_operations": 9_999_999},
            gap("9,999,999 of 10,000,000 records were inserted.", "2 of 2 clients, 9,999,999 operations"),
        ),
        (
            {"phase": "load", "ok_operations": 10_000_000},
            ("pass", "2 of 2 clients, 10,000,000 operations", ALL_THERE[2], ""),
        ),
        (
            {"phase": "load", "ok_operations": None, "recordcount": 1},
            gap("0 of 1 records were inserted.", "2 of 2 clients, unknown operations"),
        ),
    ],
)
def test_evidence_names_every_gap(changes, expected):
    severity, measured, message, remedy = expected
    limits = "all clients, successful operations and return codes, the whole window"
    assert finding("E01", facts(**changes)) == CheckResult(
        "E01", severity, "Evidence of success", measured, limits, message, remedy
    )


# --- V05: p99 is known from 459 values on, and its upper bound lies at most 25 % above it ---


def bounded(bound_us: float | None, **changes: Any) -> OperationFacts:
    values: dict[str, Any] = {"ok": 20_000, "percentiles_us": {99.0: 10_000.0}, "upper_bounds_us": {99.0: bound_us}}
    return OperationFacts("READ", **{**values, **changes})


LONG_ENOUGH = "The window is long enough for its percentiles."


@pytest.mark.parametrize(
    ("changes", "severity", "measured", "complaint"),
    [
        ({"window_s": 120.0}, "pass", "2 min, 580,000 operations", ""),
        ({"window_s": 119.0}, "warn", "1 min 59 s, 580,000 operations", "it lasted 1 min 59 s"),
        ({"window_s": 30.0}, "warn", "30 s, 580,000 operations", "it lasted 30 s"),
        ({"window_s": 29.0}, "reject", "29 s, 580,000 operations", "it lasted 29 s"),
        ({"total_operations": 100_000}, "pass", "5 min, 100,000 operations", ""),
        ({"total_operations": 99_999}, "warn", "5 min, 99,999 operations", "it did 99,999 operations"),
        ({"operations": (bounded(12_500.0),)}, "pass", "5 min, 580,000 operations", ""),
        (
            {"operations": (bounded(12_600.0),)},
            "warn", "5 min, 580,000 operations", "p99 of READ is 10.0 ms, at most 12.6 ms (99 %)",
        ),
        (
            {"operations": (bounded(None),)},
            "warn", "5 min, 580,000 operations", "p99 of READ has no upper bound from 20,000 values",
        ),
        (
            {"operations": (OperationFacts("SCAN", ok=0), OperationFacts("READ", ok=458))},
            "warn", "5 min, 580,000 operations", "p99 of READ has no upper bound from 458 values",
        ),
    ],
)  # fmt: skip
def test_duration_names_what_is_too_short(changes, severity, measured, complaint):
    message = f"This run is too short to publish: {complaint}. Its shape may be right, its digits are not."
    assert finding("V05", facts(**changes)) == CheckResult(
        "V05", severity, "Duration", measured,
        "2 min, 100,000 operations, p99 known within 25 %; under 30 s reject",
        message if complaint else LONG_ENOUGH, "Measure longer." if complaint else "",
    )  # fmt: skip


# --- V08: shares of the operations, and what a command line's file of the workload asks for ---

IN_WINDOW = "1 points or 4 sigma and threads / operations warn, 5 points reject"


def asking(read: str, update: str, **more: str) -> ClientEvidence:
    weights = dict.fromkeys(("readproportion", "updateproportion", "insertproportion", "scanproportion"), "0")
    weights |= {"readmodifywriteproportion": "0", "readproportion": read, "updateproportion": update}
    return ClientEvidence({**weights, **more})


def mixed(read: int, update: int, *others: OperationFacts) -> dict[str, Any]:
    operations = (OperationFacts("READ", ok=read), OperationFacts("UPDATE", ok=update), *others)
    return {"operations": operations, "total_operations": 1_000_000}


HALVES = "READ 50 %, UPDATE 50 %"
COMPOSITE = OperationFacts("READ-MODIFY-WRITE", ok=4, is_composite=True)
MODIFIED = {"proportions": {"READ": 1 / 3, "READ-MODIFY-WRITE": 2 / 3}}
RIGHT = "The operations have the shares that the workload asks for."


def wrong(complaints: str) -> str:
    return f"The operations are not what the workload asks for: {complaints}."


@pytest.mark.parametrize(
    ("changes", "severity", "measured", "message"),
    [
        (mixed(509_000, 491_000), "pass", "READ 50.9 %, UPDATE 49.1 %", RIGHT),
        (mixed(510_000, 490_000), "pass", "READ 51 %, UPDATE 49 %", RIGHT),
        (
            mixed(550_000, 450_000), "warn", "READ 55 %, UPDATE 45 %",
            wrong("READ has 55 % instead of 50 %; UPDATE has 45 % instead of 50 %"),
        ),
        (
            mixed(511_000, 489_000), "warn", "READ 51.1 %, UPDATE 48.9 %",
            wrong("READ has 51.1 % instead of 50 %; UPDATE has 48.9 % instead of 50 %"),
        ),
        (
            mixed(551_000, 449_000), "reject", "READ 55.1 %, UPDATE 44.9 %",
            wrong("READ has 55.1 % instead of 50 %; UPDATE has 44.9 % instead of 50 %"),
        ),
        # A read-modify-write's own reads and updates are none of the workload's.
        (
            mixed(500_000, 500_000, OperationFacts("READ-MODIFY-WRITE", ok=0, is_composite=True)),
            "pass", HALVES, RIGHT,
        ),
        (
            mixed(600_000, 600_000, OperationFacts("READ-MODIFY-WRITE", ok=200_000, is_composite=True))
            | {"proportions": {"READ": 0.4, "UPDATE": 0.4, "READ-MODIFY-WRITE": 0.2}},
            "pass", "READ 40 %, READ-MODIFY-WRITE 20 %, UPDATE 40 %", RIGHT,
        ),
        (
            mixed(600_000, 0, OperationFacts("READ-MODIFY-WRITE", ok=400_000, is_composite=True))
            | {"proportions": {"READ": 0.2, "READ-MODIFY-WRITE": 0.4, "SCAN": 0.4}},
            "reject", "READ 20 %, READ-MODIFY-WRITE 40 %", wrong("SCAN is missing"),
        ),
        (
            {"operations": (OperationFacts("READ", ok=6), COMPOSITE), "total_operations": 6, **MODIFIED},
            "pass", "READ 33.3 %, READ-MODIFY-WRITE 66.7 %", RIGHT,
        ),
        # Of so few each one counts.
        (mixed(5, 5) | {"total_operations": 10}, "pass", HALVES, RIGHT),
        # Files of the workload that ask for 54 % and for 56 % of reads, by weights that need not come to 1.
        (mixed(500_000, 500_000) | {"clients": both(evidence=asking("54", "46"))}, "pass", HALVES, RIGHT),
        (
            mixed(500_000, 500_000) | stating(asking("0.48", "0.48", scanproportion="0.04"), None),
            "pass", HALVES, RIGHT,
        ),
        (
            mixed(960_000, 40_000)
            | stating(asking("1", "0"), None)
            | {"proportions": {"READ": 0.96, "UPDATE": 0.04}},
            "pass", "READ 96 %, UPDATE 4 %", RIGHT,
        ),
        (
            mixed(500_000, 500_000) | {"clients": (client(0), client(1, evidence=asking("0.56", "0.44")))},
            "warn", HALVES, wrong("the command line of client 1 asks for READ 56 %, UPDATE 44 %"),
        ),
        (
            mixed(500_000, 500_000)
            | stating(asking("0", "0"), asking("0.3", "0.3", scanproportion="0.4")),
            "warn", HALVES, wrong("the command line of client 1 asks for READ 30 %, UPDATE 30 %, SCAN 40 %"),
        ),
        (
            mixed(500_000, 500_000) | stating(ClientEvidence({"readproportion": "1"}), asking("1", "0")),
            "warn", HALVES, wrong("the command line of client 1 asks for READ 100 %"),
        ),
    ],
)  # fmt: skip
def test_mix_names_the_shares_that_are_off(changes, severity, measured, message):
    remedy = "" if severity == "pass" else MEASURE_MIX_AGAIN
    assert finding("V08", facts(**changes)) == CheckResult(
        "V08", severity, "Mix of operations", measured, IN_WINDOW, message, remedy
    )


@pytest.mark.parametrize(("made_elsewhere", "remedy"), [(True, STATE_WORKLOAD), (False, MEASURE_MIX_AGAIN)])
def test_another_workload_is_stated_of_uploads_only(made_elsewhere, remedy):
    outcome = finding("V08", facts(**mixed(600_000, 400_000), made_elsewhere=made_elsewhere))
    assert outcome is not None and outcome.remedy == remedy


def test_mix_of_whole_runs_has_no_other_limit_to_reject():
    known = finding("V08", facts(whole_runs=True))
    assert known is not None and known.threshold == "1 points or 4 sigma"


# --- V20: the mode against command lines ---

WITH_JOURNAL: dict[str, Any] = {
    "durability": {"ack": "disk"},
    "mode_properties": {"w": "majority", "journal": "false", "read.level": "QUORUM"},
}
STATED_MODE = "the stated mode, and acknowledged writes"
UNANSWERED = CheckResult(
    "V20", "warn", "Durability", "acknowledged: nothing", "writes are acknowledged",
    "Writes count as done when they are sent: their latency is that of sending, and lost ones are not noticed.",
    "Compare it with nothing that waits for an answer, or choose a mode that does.",
)  # fmt: skip


def contradicted(severity: str, listed: str) -> CheckResult:
    return CheckResult(
        "V20", severity, "Durability", listed, STATED_MODE,  # type: ignore[arg-type]
        f"The command line contradicts the stated durability mode: {listed}.",
        "State the mode that the command line asks for.",
    )  # fmt: skip


def confirmed(listed: str) -> CheckResult:
    message = "The command lines agree with the stated durability mode."
    return CheckResult("V20", "pass", "Durability", listed, STATED_MODE, message)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"durability": {"ack": "none"}}, UNANSWERED),
        ({"durability": {"ack": "none"}, "proportions": {"READ": 1.0}}, None),
        ({"durability": {"ack": "none"}, "proportions": None, "phase": "load"}, UNANSWERED),
        (
            {"durability": {"ack": "disk"}, "mode_stated": True},
            CheckResult(
                "V20", "warn", "Durability", "the stated mode", "the mode as the servers say it",
                "The durability mode was not read back: Benchsite cannot ask the servers of this system.",
                "Compare the servers' settings with those of the mode on the page of the database.",
            ),
        ),
        *[
            (WITH_JOURNAL | {"clients": both(evidence=ClientEvidence(properties))}, expected)
            for properties, expected in [
                ({"w": "1"}, contradicted("reject", "w=1 instead of majority")),
                # A majority has the write in its journals anyway, but no other property is excused by that.
                ({"journal": "true"}, confirmed("journal=true")),
                ({"journal": "maybe"}, contradicted("reject", "journal=maybe instead of false")),
                ({"w": "true"}, contradicted("reject", "w=true instead of majority")),
                ({"journal": " No "}, confirmed("journal= No ")),
                ({"read.level": "local_quorum"}, confirmed("read.level=local_quorum")),
                ({"read.level": "USE_DEFAULT"}, confirmed("read.level=USE_DEFAULT")),
                ({"read.level": "one"}, contradicted("warn", "read.level=one instead of QUORUM")),
                (
                    {"read.level": "one", "w": "0"},
                    contradicted("reject", "w=0 instead of majority, read.level=one instead of QUORUM"),
                ),
            ]
        ],
        (
            {**WITH_JOURNAL, "durability": {"ack": "memory"}}
            | {"clients": both(evidence=ClientEvidence({"journal": "yes"}))},
            contradicted("reject", "journal=yes instead of false"),
        ),
    ],
)  # fmt: skip
def test_durability_is_that_of_the_command_line(changes, expected):
    assert finding("V20", facts(**changes)) == expected


# --- V21: 94 % of the network, half of the payload ---

HALF_READS = {"throughput_ops_s": 200_000.0, "ok_operations": 580_000}  # 290,000 of 580,000: 100,000 reads/s
GIGABIT = {"cluster": ClusterFacts(nodes=1, machines=({"nic_bits_per_s": 10**9},))}
WHOLE: dict[str, Any] = {"properties": {"fieldcount": "10"}}
ONE_OF_ONE: dict[str, Any] = {"properties": {"readallfields": "false"}}
WRITERS = (OperationFacts("INSERT", ok=290_000), OperationFacts("UPDATE", ok=290_000))
MIB = 2.0**20


def v21(severity: str, measured: str, message: str, remedy: str = "") -> CheckResult:
    return CheckResult(
        "V21", severity, "Physically possible", measured,  # type: ignore[arg-type]
        "94 % of the nodes' network; 50 % of the payload seen on network and disk", message, remedy,
    )  # fmt: skip


def too_much(severity: str) -> CheckResult:
    return v21(
        severity, "0.941 Gbit/s of payload, 1 Gbit/s of network",
        "100k ops/s of 1,176 B each are 0.941 Gbit/s, more than the nodes' network carries: reads return less than "
        "whole records, or a number is wrong.",
        "Find out whether reads fetch all fields and find their records, and how fast the network really is.",
    )  # fmt: skip


# Reads of 100 MiB/s, of which half must be seen on the network.
def sending(sent_bytes_s: float, **changes: Any) -> dict[str, Any]:
    return {**HALF_READS, **sampled(network_sent_bytes_s=sent_bytes_s), "record_bytes": 1048.576, **changes}


# 1,000 inserts and updates a second: 10,240 B and, of one field of ten, 1,024 B.
def writing(written_bytes_s: float, *operations: OperationFacts, **changes: Any) -> dict[str, Any]:
    run = {"throughput_ops_s": 2000.0, "operations": operations or WRITERS, "record_bytes": 10_240.0, **ON_DISK}
    return {**run, **sampled(disk_written_bytes_s=written_bytes_s), "properties": {"fieldcount": "10"}, **changes}


def on_disk(severity: str, acknowledged: str, written: str) -> CheckResult:
    shown = f"{acknowledged} of values acknowledged, {written} written to disks"
    if severity == "pass":
        return v21("pass", shown, "The disks wrote what was acknowledged as on disk.")
    return v21(
        "warn", shown,
        f"Writes of {acknowledged} were acknowledged as on disk, and the nodes' disks wrote {written}: the data goes "
        "elsewhere, is compressed well, or does not wait for the disk.",
        "Find out where the servers keep their data, and whether the durability mode holds.",
    )  # fmt: skip


SENT = "The nodes sent what was read."
CARRIED = "The network can carry what was read."


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # 100,000 x 1,175 B x 8 = 0.94 Gbit/s
        (
            {**HALF_READS, **GIGABIT, **WHOLE, "record_bytes": 1175.0},
            v21("pass", "0.940 Gbit/s of payload, 1 Gbit/s of network", CARRIED),
        ),
        ({**HALF_READS, **GIGABIT, **WHOLE, "record_bytes": 1176.0}, too_much("reject")),
        ({**HALF_READS, **GIGABIT, **ONE_OF_ONE, "record_bytes": 1176.0}, too_much("warn")),
        (
            {**GIGABIT, "operations": WRITERS[1:]},
            v21("pass", "0 Gbit/s of payload, 1 Gbit/s of network", CARRIED),
        ),
        # what the nodes sent
        (sending(50 * MIB), v21("pass", "100 MiB/s of payload read, 50.0 MiB/s sent by the nodes", SENT)),
        (
            sending(49 * MIB, **WHOLE),
            v21(
                "reject", "100 MiB/s of payload read, 49.0 MiB/s sent by the nodes",
                "100k ops/s of 1,049 B each are 100 MiB/s, and the nodes sent 49.0 MiB/s: reads return less than whole "
                "records, or other machines answered them.",
                "Find out whether reads find their records and fetch all fields, and which machines answer the "
                "clients.",
            ),
        ),
        (
            sending(5 * MIB, properties={"fieldcount": "10", "readallfields": "false"}),
            v21("pass", "10.0 MiB/s of payload read, 5.00 MiB/s sent by the nodes", SENT),
        ),
        (
            sending(1.0, record_bytes=None),
            v21("not_assessed", "", "It is not known how many reads there were and how large their records are."),
        ),
        # what the disks wrote: half of 11,264,000 B/s, or of twice 10,240,000 B/s
        (writing(5_632_000.0), on_disk("pass", "10.7 MiB/s", "5.37 MiB/s")),
        (writing(5_631_000.0), on_disk("warn", "10.7 MiB/s", "5.37 MiB/s")),
        (
            writing(10_240_000.0, properties={"fieldcount": "10", "writeallfields": "true"}),
            on_disk("pass", "19.5 MiB/s", "9.77 MiB/s"),
        ),
        (
            writing(10_230_000.0, properties={"fieldcount": "10", "writeallfields": "true"}),
            on_disk("warn", "19.5 MiB/s", "9.76 MiB/s"),
        ),
        (writing(512_000.0, WRITERS[1]), on_disk("pass", "1000 KiB/s", "500 KiB/s")),
        (writing(1.0, OperationFacts("READ", ok=580_000)), None),
        (writing(1.0, record_bytes=None), None),
    ],
)  # fmt: skip
def test_payload_is_seen_on_network_and_disks(changes, expected):
    assert finding("V21", facts(**changes)) == expected


# --- V24: machines ---

OWN_MACHINES = "Put the load generators on machines of their own, and the database on machines that are its own."


RATIONED: list[dict[str, object]] = [
    {"burstable": "yes"}, {"burstable": True}, {"burstable": 1}, {"instance_type": {"value": "T3.large"}},
]  # fmt: skip


def of_nodes(*machines: dict[str, object], **changes: Any) -> dict[str, Any]:
    return {"cluster": ClusterFacts(nodes=len(machines), replication_factor=1, machines=machines), **changes}


@pytest.mark.parametrize(
    ("changes", "complaints"),
    [
        (of_nodes({}, {"swap_bytes": "0", "burstable": "no", "transparent_huge_pages": "madvise"}), ""),
        *[
            (of_nodes({}, machine), "A node's CPU is rationed (burstable)")
            for machine in RATIONED
        ],
        (of_nodes({"instance_type": "m5.large"}), ""),
        (of_nodes({"swap_bytes": 1}), "A node has swap"),
        (
            of_nodes({"transparent_huge_pages": "always"}, {"swap_bytes": 0.5}),
            "A node has swap; a node's memory is in transparent huge pages",
        ),
        (
            {"cluster": ClusterFacts(nodes=1, replication_factor=2), "client_on_database_host": True},
            "Clients and database ran on one machine; 2 copies were asked of 1 node",
        ),
        (
            of_nodes({}, client_on_database_host=True, divided_cpus=(1, 3)),
            "Clients and database ran on one machine, the database on 1 core, the clients on 3 others",
        ),
    ],
)  # fmt: skip
def test_environment_names_every_complaint(changes, complaints):
    limits = "machines of its own, not rationed, as many nodes as copies"
    assert finding("V24", facts(**changes)) == CheckResult(
        "V24", "warn" if complaints else "pass", "Environment",
        complaints[:1].lower() + complaints[1:] if complaints else "separate machines", limits,
        f"{complaints}: compare the shapes, not the numbers."
        if complaints
        else "The clients ran on machines of their own, and nothing speaks against the database's.",
        OWN_MACHINES if complaints else "",
    )  # fmt: skip


# --- V25: what the sampler did not see ---


def v25(message: str) -> CheckResult:
    limits = "above 10 % of the cores in 10 % of the window warn, above 25 % on average reject"
    return CheckResult("V25", "not_assessed", "Interference", "", limits, message)


def test_interference_names_what_was_not_seen():
    servers = replace(host("machine 0"), owners=("servers_cores", "clients_cores"))
    assert finding("V25", facts(hosts=(servers, host("machine 1")))) == v25(
        "The sampler on machine 0 did not see the servers, so their CPU cannot be told from that of other processes. "
        "It sees no processes of other PID namespaces, and no external servers whose process nothing tells."
    )
    neither = replace(servers, columns={**servers.columns, "clients_cores": servers.columns["servers_cores"]})
    known = finding("V25", facts(hosts=(neither, host("machine 1"))))
    assert known is not None and known.message.startswith(
        "The sampler on machine 0 did not see the servers and clients, so their CPU "
    )
    empty = replace(host("machine 1"), columns={name: values[:0] for name, values in host("machine 1").columns.items()})
    assert finding("V25", facts(hosts=(host("machine 0"), empty))) == v25("Nothing was sampled on machine 1.")
    assert finding("V25", facts(hosts=())) == v25("Nothing was sampled on machine 0.")
    nameless = facts(hosts=(), clients=both(machine=""))
    assert finding("V25", nameless) == v25("Nothing was sampled on the machines of the clients.")


# --- V11 and V13: seconds ---


@pytest.mark.parametrize(
    ("changes", "severity", "message"),
    [
        ({"over_time": None}, "not_assessed", "Nothing tells how much was done in each second."),
        (
            {"over_time": over_time(5, rate_ops_s=[1000.0] * 64)},
            "not_assessed", "59 seconds are too few to judge by: 60 are needed.",
        ),
        ({"over_time": over_time(5, rate_ops_s=[1000.0] * 65, p95_us=())}, "pass", "The window is in a steady state."),
        # A p95 that is not known of every second, or always 0, says nothing.
        (
            {"over_time": over_time(p95_us=[*range(90_000, 1000, -890), *[1000.0] * 204, float("nan")])},
            "pass", "The window is in a steady state.",
        ),
        ({"over_time": over_time(p95_us=[0.0] * 305)}, "pass", "The window is in a steady state."),
        ({"over_time": over_time(p95_us=[9e5] * 4)}, "pass", "The window is in a steady state."),
        (
            {"over_time": over_time(p95_us=[*[9000.0] * 100, *([1000.0] * 5 + [1010.0] * 5) * 20, *[1000.0] * 5])},
            "warn", "By its p95 the warm-up took 100 s, and 5 s were cut off.",
        ),
    ],
)  # fmt: skip
def test_steady_state_says_what_it_is_judged_by(changes, severity, message):
    known = finding("V11", facts(**changes))
    assert known is not None and (known.severity, known.message) == (severity, message)


def test_a_late_warm_up_is_named_before_its_drift():
    slow_start = over_time(rate_ops_s=[*[100.0] * 20, *([1000.0] * 5 + [1010.0] * 5) * 28, *[1000.0] * 5])
    known = finding("V11", facts(over_time=slow_start))
    assert known is not None and known.message.startswith(
        "By its throughput the warm-up took 20 s, and 5 s were cut off; the throughput rose by "
    )


@pytest.mark.parametrize(
    ("rate_ops_s", "message"),
    [
        ([5.0, 0.0, 0.0] * 50, "Below 10.0 ops/s seconds without any operation come by chance."),
        (None, "Nothing tells how much was done in each second."),
    ],
)
def test_stalls_of_slow_runs_are_not_assessed(rate_ops_s, message):
    known = finding("V13", facts(rate_ops_s=rate_ops_s))
    assert known is not None and (known.severity, known.message) == ("not_assessed", message)


# --- judge_run ---


def test_planned_faults_leave_the_checks_of_throughput_open():
    run = facts(target_ops_s=2100.0, failed_operations=5_801, clients=both(evidence=ClientEvidence(has_messages=True)))
    usual = judge_run(run, profile("measured"))
    disturbed = judge_run(replace(run, has_faults=True), profile("measured"))
    assert {entry.severity for entry in usual if entry.check_id in ("V07", "V09")} == {"reject", "warn"}
    message = "The run has planned faults, which disturb its throughput: see its table of faults and recovery."
    undisturbed = ["V01", "V07", "V09", "V10", "V11", "V12", "V13", "V15", "V29", "V31"]
    assert disturbed == [
        replace(entry, severity="not_assessed", measured="", message=message, remedy="")
        if entry.check_id in undisturbed
        else entry
        for entry in usual
    ]
    assert [entry.check_id for entry in disturbed if entry.message == message] == undisturbed


def test_a_load_is_judged_by_the_checks_of_loads():
    upload = facts(phase="load", clients=both(evidence=ClientEvidence(has_messages=True)), whole_runs=True)
    known = [entry.check_id for entry in judge_run(upload, profile("measured"))]
    assert known == ["E01", "V01", "V03", "V06", "V07", "V16", "V19", "V22", "V23", "V24", "V25", "V27", "V29"]

"""What stands for the servers of each study on one machine, and how much smaller everything is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class StandIn:
    """A server that this machine starts; `nodes` are processes of it."""

    system: str
    mode: str
    nodes: int = 1
    replication_factor: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)  # the study's, as large as this machine bears

    @property
    def name(self) -> str:
        nodes = copies = ""
        if self.nodes > 1:
            nodes = f" x{self.nodes}"
        if self.nodes > 1 or self.replication_factor > 1:
            copies = f", RF {self.replication_factor}"
        return f"{self.system}{nodes}{copies}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallStudy:
    """`stand_ins`: (database of the plan without its version, mode) -> what runs; None: nothing does.

    Records are those of the study divided by `records_divisor`. Reports show `statistic` in `items`, both as the study
    does: a short name of a workload is the figure of its mix. `load_items` are those of a report of the loads, where
    the study printed them.
    """

    stand_ins: Mapping[tuple[str, str], StandIn | None]
    records_divisor: int
    rungs: tuple[int, ...]
    threads: int | None = None
    warmup_s: int = 2
    priming_s: int = 0
    measure_s: int = 5
    repeats: int = 1
    records_per_node: bool = False
    statistic: str = "mean"
    items: tuple[str, ...]
    load_items: tuple[str, ...] = ()


LOAD_ITEMS: Final = ("ceilings", "latency-insert", "table-sustained")
REPLICATED_REDIS: Final = StandIn("redis", "everysec-wait-1", 2, 2)
CACHED_ROWS: Final = {
    "concurrent_reads": "64",
    "concurrent_writes": "64",
    "memtable_heap_space": "64MB",
    "row_cache_size": "16MB",
}


def _ring(nodes: int) -> StandIn:
    settings = {"compaction_throughput": "128MiB/s", "memtable_flush_writers": "8", "trickle_fsync": "true"}
    return StandIn("cassandra", "no-commitlog", nodes, 2, settings)


SMALL_STUDIES: Final[Mapping[str, SmallStudy]] = {
    "thumbtack-2013": SmallStudy(
        stand_ins={
            ("Aerospike", "all"): REPLICATED_REDIS,
            ("Cassandra", "all-one-periodic"): StandIn("cassandra", "all-one-periodic", 3, 2, CACHED_ROWS),
            ("MongoDB", "w2"): StandIn("mariadb", "flush-2-semi-sync", 2, 2),
            ("Aerospike", "master"): StandIn("redis", "everysec", 2, 2),
            ("Cassandra", "one-periodic"): StandIn("cassandra", "one-periodic", 3, 2, CACHED_ROWS),
            ("Couchbase 1", "memory"): StandIn("memcached", "none"),
            ("Couchbase 2", "memory"): None,
            ("MongoDB", "w0"): StandIn("mariadb", "flush-0", 2, 2),
        },
        records_divisor=50_000,
        # On two cores three nodes of Cassandra did less than the second, Redis and memcached more than the last.
        rungs=(1_000, 4_000, 16_000),
        threads=32,
        warmup_s=1,
        priming_s=5,
        measure_s=4,
        items=("ceilings", "A500", "B500", "A50", "B50", "table-sustained"),
        load_items=LOAD_ITEMS,
    ),
    "thumbtack-2014": SmallStudy(
        stand_ins={
            ("Cassandra 2.0.9, 4", "no-commitlog"): _ring(2),
            ("Cassandra 2.0.9, 6", "no-commitlog"): _ring(3),
            ("Cassandra 2.0.9, 8", "no-commitlog"): _ring(4),
        },
        records_divisor=4_000,
        rungs=(8, 32),
        records_per_node=True,
        items=("ceilings", "table-sustained", "RH", "BA", "scalability"),
    ),
    "columbia-2016": SmallStudy(
        stand_ins={
            ("Cassandra", "one-periodic"): StandIn("cassandra", "one-periodic", 1, 3),
            # The study's 200 splits take 400 MB of the heap.
            ("HBase", "sync-wal-one-copy"): StandIn("hbase", "sync-wal-local", settings={"heap": "1g"}),
            ("MongoDB", "w0"): StandIn("ferretdb", "sqlite-normal"),
        },
        records_divisor=200,
        rungs=(40, 160, 640),
        threads=2,
        warmup_s=1,
        items=("A", "B", "C", "D", "E", "ceilings", "table-sustained"),
        load_items=LOAD_ITEMS,
    ),
    "aerospike-2017": SmallStudy(
        stand_ins={
            ("Aerospike", "all"): REPLICATED_REDIS,
            ("Couchbase", "replicate-1"): StandIn("postgresql", "on-standby", 2, 2),
        },
        records_divisor=10_000,
        rungs=(32,),
        warmup_s=20,
        measure_s=100,
        statistic="p95",
        items=("table-sustained", "over-time-read", "over-time-update", "ceilings", "U", "Z"),
    ),
    "vari-2013": SmallStudy(
        stand_ins={("Couchbase", "memory"): StandIn("memcached", "none")},
        records_divisor=100,
        rungs=(8, 16, 32),
        warmup_s=0,
        measure_s=30,
        items=("ceilings", "table-sustained", "latency-read"),
    ),
}

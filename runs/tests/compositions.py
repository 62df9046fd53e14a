"""Files composed of outputs of clients, as people and programs put them together, with the truth about them.

The truth is known from what was composed: nothing here uses a reader.
"""

import gzip
import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

_BEGIN = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)
_INTERVAL_S = 10
FRONTS = (
    "ycsb-{client} | ", "[pod/ycsb-{client}/main] ", "node{client}: ", "ycsb-{client} main ",
    "Mar 01 09:00:{second:02} loader{client} ycsb[41{client}]: ", "[loader{client}] out: ",
    "2026-03-01T09:00:{second:02}.123Z loader{client} ycsb[7]: ",
    "[2026-03-01 09:00:{second:02}.062] [info] task{client}: ",
    "2026-03-01 09:00:{second:02},123 INFO [main] client{client} - ", "results/client-{client}.txt:",
)  # fmt: skip
HEADLINES = ("==> client-{client}.txt <==\n", "----------------\nloader{client}\n----------------\n",
             "::::::::::::::\nclient-{client}.txt\n::::::::::::::\n")  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """One run: what its clients did together."""

    reads: int
    updates: int
    clients: int
    throughput_ops_s: float


@dataclass(frozen=True)
class Composition:
    name: str
    files: dict[str, bytes]
    runs: tuple[Truth, ...]
    is_whole: bool  # nothing is missing and everything can be told: it must be read, and right
    is_undecidable: bool  # nobody can tell whose lines these are: it must be refused
    has_parts: bool  # of a client only a part is left: its run must not be accepted without a word


@dataclass
class _Client:
    """One client in one run."""

    number: int
    lines: list[str]
    reads: int
    updates: int
    rate: float

    def presence(self, text: str) -> str:
        """Whether its lines are in what is left of the files: whole, part, or none."""
        own = [line for line in self.lines if " sec: " in line or ("Operations, " in line and "CLEANUP" not in line)]
        own.append(self.lines[-1])
        left = [line for line in own if 0 <= text.find(line) < len(text) - len(line)]
        if len(left) == len(own):
            return "whole"
        return "part" if any(" sec: " in line for line in left) else "none"


@dataclass
class _Plan:
    clients: int
    runs: list[list[_Client]] = field(default_factory=list)


def compose(seed: int) -> Composition:
    """One composition; the same for the same seed."""
    chance = random.Random(seed)
    plan = _plan(chance)
    truth = tuple(_truth(run) for run in plan.runs)
    arrangement = chance.choice(["files", "cat", "fronts", "headlines", "json"] * 4 + ["mixed"])
    if plan.clients == 1 and arrangement == "mixed":
        arrangement = "cat"
    texts = _ARRANGED[arrangement](plan, chance)
    damage = chance.choice(["none"] * 6 + ["cut", "doubled", "late"])
    if arrangement in ("mixed", "json") and damage != "cut":
        damage = "none"
    texts = {name: _damaged(text, damage, chance) for name, text in texts.items()}
    has_parts = False
    if damage == "cut":
        # Nobody can know of a client of which nothing is left.
        left = [[client.presence("".join(texts.values())) for client in run] for run in plan.runs]
        has_parts = any("part" in run for run in left)
        whole = [[c for c, state in zip(run, states, strict=True) if state == "whole"]
                 for run, states in zip(plan.runs, left, strict=True)]  # fmt: skip
        truth = tuple(_truth(run) for run in whole if run)
    encoding = chance.choice(["utf-8", "utf-8", "crlf", "utf-16", "gzip"])
    files = {name: _encoded(text, encoding) for name, text in texts.items()}
    name = f"{seed}: {len(plan.runs)} runs of {plan.clients} clients, {arrangement}, {damage}, {encoding}"
    is_whole = arrangement != "mixed" and damage != "cut"
    return Composition(name, files, truth, is_whole, arrangement == "mixed", has_parts)


def _truth(run: "list[_Client]") -> Truth:
    return Truth(sum(c.reads for c in run), sum(c.updates for c in run), len(run), sum(c.rate for c in run))


def _plan(chance: random.Random) -> _Plan:
    plan = _Plan(chance.randint(1, 4))
    types = [chance.choice(["plain", "plain", "twice"]) for _ in range(plan.clients)]
    begin = _BEGIN
    for _ in range(chance.randint(1, 3)):
        seconds = _INTERVAL_S * chance.randint(12, 18)
        plan.runs.append([_client(number, seconds, begin, types[number], chance) for number in range(plan.clients)])
        begin += timedelta(seconds=seconds + chance.randint(20, 200))
    return plan


def _client(number: int, seconds: int, begin: datetime, kind: str, chance: random.Random) -> _Client:
    """Threads that always wait for the database, as a healthy client's do."""
    threads = chance.choice([4, 8, 16])
    rate = threads * chance.randint(230, 270)
    reads = updates = 0
    begin += timedelta(milliseconds=chance.randint(0, 400))
    lines = [
        f"Command line: -t -db site.ycsb.db.RedisClient -s -P workloads/workloada -p redis.host=db1 -threads {threads}",
        "YCSB Client 0.17.0",
        "Loading workload...",
        "Starting test.",
    ]
    for second in range(_INTERVAL_S, seconds + 1, _INTERVAL_S):
        done = rate * _INTERVAL_S + chance.randint(-60, 60)
        now_reads = done // 2 + chance.randint(-30, 30)
        reads, updates = reads + now_reads, updates + done - now_reads
        at = (begin + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S:") + f"{begin.microsecond // 1000:03}"
        operations = " ".join(
            f"[{name}: Count={count}, Max=50111, Min=110, Avg=3870.5, 90=6000, 99=9000, 99.9=20000, 99.99=40000]"
            for name, count in (("READ", now_reads), ("UPDATE", done - now_reads))
        )
        lines.append(
            f"{at} {second} sec: {reads + updates} operations; {done / _INTERVAL_S:.1f} current ops/sec; "
            f"est completion in 1 minute {operations} "
        )
    total = reads + updates
    mean = threads * seconds * 1e6 * 0.985 / total
    lines += [f"[OVERALL], RunTime(ms), {seconds * 1000}", f"[OVERALL], Throughput(ops/sec), {total / seconds}"]
    for prefix in ("Hdr", "Bucket") if kind == "twice" else ("",):
        for name, count in (("READ", reads), ("CLEANUP", threads), ("UPDATE", updates)):
            lines += _metric(prefix + name, count, 42.0 if name == "CLEANUP" else mean, chance, prefix == "Bucket")
    return _Client(number, lines, reads, updates, total / seconds)


def _metric(name: str, count: int, mean: float, chance: random.Random, is_bucket: bool) -> list[str]:
    least, most = (3, 200) if mean < 100 else (chance.randint(100, 300), chance.randint(50_000, 90_000))
    lines = [
        f"[{name}], Operations, {count}",
        f"[{name}], AverageLatency(us), {mean:.4f}",
        f"[{name}], MinLatency(us), {least}",
        f"[{name}], MaxLatency(us), {most}",
        f"[{name}], 95thPercentileLatency(us), {199 if mean < 100 else 9000 + chance.randint(0, 999)}",
        f"[{name}], 99thPercentileLatency(us), {199 if mean < 100 else 20_000 + chance.randint(0, 9999)}",
    ]
    return lines if is_bucket or "CLEANUP" in name else [*lines, f"[{name}], Return=OK, {count}"]


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _in_files(plan: _Plan, chance: random.Random) -> dict[str, str]:
    """One file for each client, to which each of its runs was appended."""
    return {
        f"client-{number + 1}.txt": "".join(_text(run[number].lines) for run in plan.runs)
        for number in range(plan.clients)
    }


def _cat(plan: _Plan, chance: random.Random) -> dict[str, str]:
    """`cat client*.txt > all.txt`, or run by run."""
    if chance.random() < 0.5:
        return {"all.txt": "".join(_in_files(plan, chance).values())}
    return {"all.txt": "".join(_text(client.lines) for run in plan.runs for client in run)}


def _interleaved(run: list[_Client]) -> list[tuple[_Client, str]]:
    longest = max(len(client.lines) for client in run)
    return [(client, client.lines[at]) for at in range(longest) for client in run if at < len(client.lines)]


def _with_fronts(plan: _Plan, chance: random.Random) -> dict[str, str]:
    front = chance.choice(FRONTS)
    lines = [
        front.format(client=client.number + 1, second=at % 60) + line
        for run in plan.runs
        for at, (client, line) in enumerate(_interleaved(run))
    ]
    return {"all.log": _text(lines)}


def _with_headlines(plan: _Plan, chance: random.Random) -> dict[str, str]:
    headline = chance.choice(HEADLINES)
    parts = _in_files(plan, chance).values()
    return {"all.txt": "".join(headline.format(client=number) + part for number, part in enumerate(parts, 1))}


def _in_json(plan: _Plan, chance: random.Random) -> dict[str, str]:
    lines = [
        json.dumps({"log": f"{line}\n", "stream": "stdout", "pod_name": f"ycsb-{client.number}"})
        for run in plan.runs
        for client, line in _interleaved(run)
    ]
    return {"export.json": _text(lines)}


def _mixed(plan: _Plan, chance: random.Random) -> dict[str, str]:
    """Several clients on one terminal."""
    return {"nohup.out": _text([line for run in plan.runs for _, line in _interleaved(run)])}


_ARRANGED = {
    "files": _in_files,
    "cat": _cat,
    "fronts": _with_fronts,
    "headlines": _with_headlines,
    "json": _in_json,
    "mixed": _mixed,
}


def _damaged(text: str, damage: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if damage == "cut":
        return text[: int(len(text) * chance.uniform(0.5, 0.98))]
    statuses = [at for at, line in enumerate(lines) if " sec: " in line]
    at = chance.choice(statuses)
    if damage == "doubled":
        lines.insert(at, lines[at])
    elif damage == "late" and at + 1 in statuses:
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "".join(lines)


def _encoded(text: str, encoding: str) -> bytes:
    if encoding == "crlf":
        return text.replace("\n", "\r\n").encode()
    if encoding == "utf-16":
        return text.encode("utf-16")
    return gzip.compress(text.encode(), mtime=0) if encoding == "gzip" else text.encode()

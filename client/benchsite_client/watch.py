"""Follow the runs of a plan until they have ended: a line for each run, and in a terminal a live chart of the one that
runs. The exit code is 5 if a run failed or the checks reject it.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from benchsite_client import messages
from benchsite_client.site import PAGE_SIZE, Client, find_matrix, read_login
from benchsite_client.upload import BENCHMARK_FAILED, PASS, say

POLL_INTERVAL_S: Final = 2.0
ENDED: Final = frozenset({"succeeded", "failed", "cancelled"})
BARS: Final = "▁▂▃▄▅▆▇█"
MAX_BARS: Final = 40  # seconds of the chart
ERASE: Final = "\r\x1b[K"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", help="name or id of a plan")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each run that ends")


def run(options: argparse.Namespace) -> int:
    client = Client(read_login())
    return watch(client, find_matrix(client, options.plan), as_json=options.json)


def watch(client: Client, matrix: dict[str, Any], *, as_json: bool = False, is_quiet: bool = False) -> int:
    """Until every run of the matrix has ended."""
    is_live = sys.stdout.isatty() and not as_json and not is_quiet
    printed: set[str] = set()
    code = PASS
    while True:
        runs = list(client.list("runs", matrix=matrix["id"], phase="any"))
        ended = [run for run in reversed(runs) if run["status"] in ENDED and run["id"] not in printed]
        for run in ended:
            if not is_quiet:
                _print_run(run, as_json=as_json, erase=is_live)
            printed.add(run["id"])
            if run["status"] != "succeeded" or run["verdict"] == "reject":
                code = BENCHMARK_FAILED
        if len(printed) == len(runs):
            break
        if is_live:
            _draw(client, runs, len(printed))
        # A token may make so many requests a minute, and each page of runs is one.
        time.sleep(POLL_INTERVAL_S * (1 + len(runs) // PAGE_SIZE))
    if not as_json and not is_quiet:
        say(messages.describe_end(len(runs), matrix["permalink"]))
    return code


def _print_run(run: dict[str, Any], *, as_json: bool, erase: bool) -> None:
    if as_json:
        print(json.dumps(run, ensure_ascii=False), flush=True)
        return
    if erase:
        sys.stdout.write(ERASE)
    say(messages.describe_run(run))


def _draw(client: Client, runs: Sequence[dict[str, Any]], ended: int) -> None:
    """The last line of the terminal: how many runs have ended, and the throughput of the newest that runs."""
    text = f"{ended}/{len(runs)}"
    running = next((run for run in runs if run["status"] == "running"), None)
    if running is not None:
        rates = client.get(f"runs/{running['id']}/live")["rate_ops_s"][-MAX_BARS:]
        text = " ".join(filter(None, (text, running["name"], draw_bars(rates))))
        if rates:
            text = f"{text} {rates[-1]:,.0f} ops/s"
    sys.stdout.write(ERASE + "".join(sign for sign in text if sign.isprintable()))
    sys.stdout.flush()


def draw_bars(values: Sequence[float]) -> str:
    """A bar for each value; the highest value has the highest bar."""
    highest = max(values, default=0.0)
    if highest <= 0:
        return ""
    return "".join(BARS[round(value / highest * (len(BARS) - 1))] for value in values)

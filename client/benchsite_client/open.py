"""Open a run, a sweep or a plan in the browser."""

import argparse
import json
import webbrowser

from benchsite_client.site import Client, find_matrix, find_row, read_login
from benchsite_client.upload import PASS, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", nargs="?", help="id of a run, a sweep or a plan, or name of a plan (default: the site)")
    add("--print", action="store_true", help="print the address and open nothing")
    add("--json", action="store_true", help="print the address as JSON and open nothing")


def run(options: argparse.Namespace) -> int:
    client = Client(read_login())
    address = client.address
    if options.name:
        row = find_row(client, ("runs", "sweeps"), options.name) or find_matrix(client, options.name)
        address = row["permalink"]
    if options.json:
        print(json.dumps({"address": address}))
    elif options.print or not webbrowser.open(address):
        say(address)
    return PASS

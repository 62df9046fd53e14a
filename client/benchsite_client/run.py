"""Queue the runs of a plan. A plan that was queued before is queued once more, as a copy, with --again."""

import argparse
import json

from benchsite_client import messages
from benchsite_client.site import Client, find_matrix, read_login
from benchsite_client.upload import PASS, USAGE, Ended, say
from benchsite_client.watch import watch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("plan", help="name or id of a plan")
    add("--again", action="store_true", help="also where it was queued before")
    add("--watch", action="store_true", help="follow its runs until they have ended")
    add("--json", action="store_true", help="print the plan as JSON; with --watch a JSON object for each run that ends")


def run(options: argparse.Namespace) -> int:
    client = Client(read_login())
    matrix = find_matrix(client, options.plan)
    if matrix["submitted_at"] is None:
        matrix = client.post(f"matrices/{matrix['id']}/submit")
    elif options.again:
        plan = client.get_text(f"matrices/{matrix['id']}/plan", names=1)
        copy = client.post("apply", {"file": plan, "run": "again"})["matrix"]
        matrix = client.get(f"matrices/{copy['id']}")
    else:
        raise Ended(USAGE, messages.ALREADY_QUEUED.format(name=matrix["name"]))
    if options.watch:
        return watch(client, matrix, as_json=options.json)
    if options.json:
        print(json.dumps(matrix, ensure_ascii=False))
    else:
        say(messages.QUEUED.format(name=matrix["name"], permalink=matrix["permalink"]))
    return PASS

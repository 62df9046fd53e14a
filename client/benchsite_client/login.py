"""Store the address and the token of a site for this account. BENCHSITE_URL and BENCHSITE_TOKEN outweigh them."""

import argparse
import json
import sys
from getpass import getpass
from pathlib import Path

from benchsite_client import messages
from benchsite_client.site import API, Client, Login, end_by, get_login_path, store_login
from benchsite_client.upload import PASS, USAGE, Ended, Refused, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("address", nargs="?", help="of the site, as in https://benchsite.example")
    add(
        "--token-file",
        metavar="PATH",
        help="file that holds the token (default: it is asked for; piped: standard input)",
    )
    add("--allow-http", action="store_true", help="send the token without TLS to a host that is not this one")
    add("--forget", action="store_true", help="remove what is stored")
    add("--json", action="store_true", help="print the site and where it is stored as JSON")


def run(options: argparse.Namespace) -> int:
    if options.forget:
        get_login_path().unlink(missing_ok=True)
        say(messages.LOGIN_FORGOTTEN)
        return PASS
    if not options.address:
        raise Ended(USAGE, messages.NO_ADDRESS)
    client = Client(Login(options.address, _read_token(options.token_file), options.allow_http))
    try:
        client.site.ask("GET", f"{API}/runs?limit=1")
    except Refused as refused:
        if refused.slug != "insufficient-scope":  # A token that may only write is one too.
            raise end_by(refused) from None
    path = store_login(Login(client.address, client.site.token, options.allow_http))
    if options.json:
        print(json.dumps({"address": client.address, "path": str(path)}))
    else:
        say(messages.LOGGED_IN.format(address=client.address, path=path))
    return PASS


def _read_token(path: str | None) -> str:
    try:
        if path:
            token = Path(path).read_text(encoding="ascii")
        elif sys.stdin.isatty():
            token = getpass(messages.TOKEN_PROMPT)
        else:
            token = sys.stdin.readline()
    except (OSError, ValueError) as error:
        raise Ended(USAGE, messages.UNREADABLE_TOKEN.format(path=path or "standard input", reason=error)) from None
    if not token.strip():
        raise Ended(USAGE, messages.NO_TOKEN)
    return token.strip()

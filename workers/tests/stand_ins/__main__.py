"""Starts one until Ctrl-C."""

import signal
import sys
from contextlib import suppress

from workers.tests.stand_ins import couchbase_mock, mongo_stand_in
from workers.tests.stand_ins.aerospike import aerospike_stand_in

name, *arguments = sys.argv[1:]
with suppress(KeyboardInterrupt):
    if name == "couchbase":
        with couchbase_mock(*map(int, arguments)) as ports:
            print("Key-value ports:", *ports, flush=True)
            signal.pause()
    elif name == "mongodb":
        with mongo_stand_in() as port:
            print("Port:", port, flush=True)
            signal.pause()
    else:
        with aerospike_stand_in() as server:
            server.settings.update(dict(argument.split("=", 1) for argument in arguments))
            print("Port:", server.port, flush=True)
            signal.pause()

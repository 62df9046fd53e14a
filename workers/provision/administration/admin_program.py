"""The process that asks one Redis, Redis Cluster or PostgreSQL which somebody else runs (`program.py` starts it).

It does what `AdminProgram` of the bindings in Java does, by the same lines: an order with the address, then a call per
line, each answered by {"result": ...}, {"error": message} or {"name_taken": message}. Answers of the server may take
MAX_GROWTH_BYTES of memory here, beyond what the call itself needs. Imports no Django and one driver.
"""

import json
import math
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workers.provision.administration.base import (
    Address,
    Administration,
    AdministrationError,
    Counters,
    MarkerNameTaken,
    Survey,
)
from workers.provision.messages import ANSWER_NOT_UNDERSTOOD, ANSWER_TOO_LARGE, CANNOT_ADMINISTER

MAX_GROWTH_BYTES = 16 * 1024**2
BYTES_PER_CALL_BYTE = 10  # of a call with keys, which is copied while it is parsed and sent on
STATUS = Path("/proc/self/status")  # absent where no such limit can be set, as on macOS
CALLS = frozenset(
    {
        "ping", "server_version", "survey", "data_folder", "read_settings", "replicas", "topology", "list_nodes",
        "content", "size", "read_marker", "write_marker", "create_table", "drop_empty_table", "count_keys",
        "delete_keys",
    }
)  # fmt: skip


def direct_administration(
    system: str, address: Address, nodes: Sequence[tuple[str, int]], *, keeps_connection: bool = False
) -> Administration:
    """The class that speaks to a server of this system. Raises ValueError where there is none."""
    match system:
        case "redis":
            from workers.provision.administration.redis import RedisAdministration

            return RedisAdministration(address, keeps_connection=keeps_connection)
        case "redis-cluster":
            from workers.provision.administration.redis_cluster import RedisClusterAdministration

            return RedisClusterAdministration(address, nodes, keeps_connection=keeps_connection)
        case "postgresql":
            from workers.provision.administration.postgresql import PostgresqlAdministration

            return PostgresqlAdministration(address, keeps_connection=keeps_connection)
        case _:
            raise ValueError(CANNOT_ADMINISTER.format(system=system))


class Program:
    """Answers calls to one server; the connection for its counters stays open between them."""

    def __init__(self, order: dict[str, Any]) -> None:
        address = Address(
            host=order["hosts"], port=order["port"], user=order["user"], password=order["password"],
            database=order["database"], ssl=order["ssl"], pems=tuple(order["pems"]),
        )  # fmt: skip
        self._administration = direct_administration(
            order["system"], address, list(map(tuple, order["nodes"])), keeps_connection=order["keeps_connection"]
        )
        self._opened = ExitStack()
        self._counters: Callable[[], Counters] | None = None

    def answer(self, line: bytes) -> dict[str, Any]:
        """The JSON object that answers a line."""
        call = json.loads(line)
        # A server that answers for ever must not keep this process when nobody waits for it any more.
        signal.alarm(math.ceil(call.pop("timeout_s")) + 1)
        try:
            _limit_memory(MAX_GROWTH_BYTES + BYTES_PER_CALL_BYTE * len(line))
            return {"result": self._call(**call)}
        except MarkerNameTaken as error:
            return {"name_taken": str(error)}
        except AdministrationError as error:
            return {"error": str(error)}
        except MemoryError:
            return {"error": ANSWER_TOO_LARGE}
        except Exception as error:
            return {"error": ANSWER_NOT_UNDERSTOOD.format(error=type(error).__name__)}
        finally:
            _limit_memory(None)
            signal.alarm(0)

    def _call(self, call: str, **arguments: Any) -> Any:
        if call == "counters":
            return self._read_counters()
        if call not in CALLS:
            raise ValueError(f"there is no call {call}")
        result = getattr(self._administration, call)(**arguments)
        if isinstance(result, Survey):
            return asdict(result)
        return result

    def _read_counters(self) -> dict[str, Any]:
        try:
            if self._counters is None:
                self._counters = self._opened.enter_context(self._administration.open_counters())
            return asdict(self._counters())
        except BaseException:
            self._opened, self._counters = ExitStack(), None
            raise


def _limit_memory(growth_bytes: int | None) -> None:
    """Lets the memory of this process grow by so much; None: without a limit."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
    limit = hard_limit
    if growth_bytes is not None and STATUS.exists():
        fields = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        data_kib, _ = fields["VmData"].split()
        limit = int(data_kib) * 1024 + growth_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard_limit))


def main() -> None:
    program = Program(json.loads(sys.stdin.buffer.readline()))
    for line in sys.stdin.buffer:
        print(json.dumps(program.answer(line)), flush=True)


if __name__ == "__main__":
    main()

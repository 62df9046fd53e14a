"""A server with the Redis protocol whose capacity and service time are known: a real Redis behind a token bucket.

Every command that reads or writes a record waits for a token (`capacity_ops_s` a second, at most `BUCKET` of them
saved) and takes the service time beside the others. With N closed-loop threads it serves
X(N) = min(N / service time, capacity). Other commands pass at once. Redis answers all of them, so the server needs no
data of its own.

    python -m benchmarks.calibration.server PORT SOCKET CAPACITY_OPS_S SERVICE_S
"""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Final

from benchmarks.faults.forwarder import copy

HOST: Final = "127.0.0.1"
RECORD_COMMANDS: Final = frozenset({b"HSET", b"HMSET", b"HGETALL", b"HMGET", b"HGET"})
# As many as there are threads, so that those that arrive together below the capacity do not wait for each other.
BUCKET: Final = 32
TIMER_ERROR_S: Final = 0.0012


class TokenBucketServer:
    """Passes commands on to the Redis at a UNIX socket; times are seconds."""

    def __init__(self, redis_socket: Path, capacity_ops_s: float, service_s: float) -> None:
        self._socket, self._interval_s, self._service_s = redis_socket, 1 / capacity_ops_s, service_s
        self._next_s = 0.0  # when the next token is there; in the past while tokens are saved

    async def serve(self, port: int) -> None:
        server = await asyncio.start_server(self._serve_client, HOST, port)
        async with server:
            await server.serve_forever()

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        redis_reader, redis_writer = await asyncio.open_unix_connection(str(self._socket))
        answers = asyncio.create_task(copy(redis_reader, writer))
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                name, command = await _read_command(reader)
                if name in RECORD_COMMANDS:
                    await self._wait()
                redis_writer.write(command)
                await redis_writer.drain()
        redis_writer.close()
        await answers

    async def _wait(self) -> None:
        """Until the command has its token and its service time is over."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        token_s = max(self._next_s, began - (BUCKET - 1) * self._interval_s)
        self._next_s = token_s + self._interval_s
        due = max(token_s, began) + self._service_s
        # A timer may end a millisecond late, so that the last part is waited for awake.
        await asyncio.sleep(due - TIMER_ERROR_S - loop.time())
        while loop.time() < due:
            await asyncio.sleep(0)


async def _read_command(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The name of the next command and all its bytes: an array of bulk strings of the Redis protocol."""
    lines = [await reader.readuntil(b"\r\n")]
    name = b""
    for number in range(int(lines[0][1:])):
        size = await reader.readuntil(b"\r\n")
        text = await reader.readexactly(int(size[1:]) + 2)
        name = name if number else text[:-2].upper()
        lines += [size, text]
    return name, b"".join(lines)


if __name__ == "__main__":
    port, redis_socket, capacity_ops_s, service_s = sys.argv[1:]
    asyncio.run(TokenBucketServer(Path(redis_socket), float(capacity_ops_s), float(service_s)).serve(int(port)))

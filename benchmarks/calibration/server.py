"""A server with the Redis protocol whose capacity and service time are known: a real Redis behind a token bucket.

Every command that reads or writes a record waits for a token (`capacity_ops_s` a second on average, at most `BUCKET` of
them saved) and takes a service time of `service_s` on average. Both vary evenly by `SPREAD`, so that runs differ as the
known values say. The service of a connection begins when the one before it has ended, if its client sends the next
command by the end of the shortest service: what the server, the network and the client take between two commands is
part of the service. So N closed-loop threads get X(N) = min(N / service time, capacity). Other commands pass at once.
Redis answers all of them, so the server needs no data of its own.

    python -m benchmarks.calibration.server PORT SOCKET CAPACITY_OPS_S SERVICE_S
"""

import asyncio
import contextlib
import random
import sys
from pathlib import Path
from typing import Final

HOST: Final = "127.0.0.1"
RECORD_COMMANDS: Final = frozenset({b"HSET", b"HMSET", b"HGETALL", b"HMGET", b"HGET"})
# As many as there are threads, so that those that arrive together below the capacity do not wait for each other.
BUCKET: Final = 32
SPREAD: Final = 0.25
CHUNK: Final = 64 * 1024


class TokenBucketServer:
    """Passes commands on to the Redis at a UNIX socket; times are seconds."""

    def __init__(self, redis_socket: Path, capacity_ops_s: float, service_s: float) -> None:
        self._socket, self._interval_s, self._service_s = redis_socket, 1 / capacity_ops_s, service_s
        self._next_s = 0.0  # when the next token is there; in the past while tokens are saved
        self._dice = random.Random(1)

    async def serve(self, port: int) -> None:
        server = await asyncio.start_server(self._serve_client, HOST, port)
        async with server:
            await server.serve_forever()

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        redis_reader, redis_writer = await asyncio.open_unix_connection(str(self._socket))
        due = 0.0  # when the answer to the newest command is sent

        async def answer() -> None:
            while chunk := await redis_reader.read(CHUNK):
                await asyncio.sleep(due - loop.time())
                writer.write(chunk)
            writer.close()

        answers = asyncio.create_task(answer())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                name, command = await _read_command(reader)
                if name in RECORD_COMMANDS:
                    due = self._find_due(due, loop.time())
                redis_writer.write(command)
        redis_writer.close()
        await answers

    def _find_due(self, before: float, now: float) -> float:
        """When a command that arrives now is answered, on a connection whose last answer was due at `before`."""
        is_prompt = now - before <= (1 - SPREAD) * self._service_s
        begin = before if is_prompt else now
        token_s = max(self._next_s, begin - (BUCKET - 1) * self._interval_s)
        self._next_s = token_s + self._vary(self._interval_s)
        return max(token_s, begin) + self._vary(self._service_s)

    def _vary(self, mean_s: float) -> float:
        return mean_s * self._dice.uniform(1 - SPREAD, 1 + SPREAD)


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

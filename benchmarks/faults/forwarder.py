"""Forwards TCP connections: `python -m benchmarks.faults.forwarder HOST PORT TARGET`.

TARGET is a port of 127.0.0.1 or the path of a UNIX socket. A forwarder that is killed makes its target unreachable, and
one that runs in a network namespace makes a UNIX socket reachable from others. No Django.
"""

import asyncio
import contextlib
import sys

CHUNK = 64 * 1024
FORWARDER = (sys.executable, "-m", "benchmarks.faults.forwarder")


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str) -> None:
    """Both directions of one connection, until either side ends it."""
    with contextlib.suppress(OSError):
        opening = asyncio.open_connection("127.0.0.1", int(target)) if target.isdigit() else (
            asyncio.open_unix_connection(target)
        )  # fmt: skip
        target_reader, target_writer = await opening
        try:
            await asyncio.gather(copy(reader, target_writer), copy(target_reader, writer))
        finally:
            target_writer.close()
    writer.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """All bytes of one direction until its end; the writer is closed."""
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK):
            writer.write(chunk)
            await writer.drain()
    writer.close()


async def main(host: str, port: str, target: str) -> None:
    server = await asyncio.start_server(lambda reader, writer: forward(reader, writer, target), host, int(port))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

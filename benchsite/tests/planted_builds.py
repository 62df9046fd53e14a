"""Builds of Redis in folders, planted slower: the usual program behind a preloaded loop."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

from workers.generator.executables import choose_redis

SOURCE: Final = Path(__file__).with_name("slow_server.c")
PROGRAM: Final = "redis-server"


def plant(folder: Path, *, spin_ns: int, **stated: str) -> Path:
    """A build that answers `spin_ns` later for each write on a socket, and states the rest of itself."""
    folder.mkdir(parents=True)
    program = choose_redis(None, shelf=folder.parent).path.resolve()
    shutil.copy2(program, folder / "redis-original")
    library = folder / "slow.so"
    options = ["-shared", "-fPIC", "-O2", f"-DSPIN_NS={spin_ns}L"]
    subprocess.run(["cc", *options, "-o", library, SOURCE, "-ldl"], check=True)
    script = '#!/bin/sh\nfolder=$(dirname "$0")\nLD_PRELOAD="$folder/slow.so" exec "$folder/redis-original" "$@"\n'
    (folder / PROGRAM).write_text(script)
    (folder / PROGRAM).chmod(0o755)
    if stated:
        (folder / "benchsite-build.json").write_text(json.dumps(stated))
    return folder

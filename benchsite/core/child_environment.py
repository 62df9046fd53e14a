"""The environment of processes that are no part of the site: clients, servers under test, administration, probes.

Standard library only. Some programs expand variables in their settings (go-ycsb, Hadoop), and whoever runs a server
reads what its clients send, so their environment holds no secret.
"""

import os
from typing import Final

# Paths, locale and options of Java. No proxies: their addresses may hold passwords, and servers are reached directly.
ALLOWED_VARIABLES: Final = (
    "PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "TZ", "LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
    "JAVA_HOME", "JAVA_TOOL_OPTIONS", "SSL_CERT_FILE", "SSL_CERT_DIR", "PGSSLROOTCERT",
    "BENCHSITE_VAR",  # tells the processes of several sites on one host apart
)  # fmt: skip


def child_environment() -> dict[str, str]:
    """The variables of this process that every child may have."""
    return {name: os.environ[name] for name in ALLOWED_VARIABLES if name in os.environ}

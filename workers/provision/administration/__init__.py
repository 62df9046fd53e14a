"""What speaks to a server under test beside the load: classes for Redis, Redis Cluster and PostgreSQL, and one for all
that a process of its own asks (`program.py`). `factory.py` chooses among them.
"""

from workers.provision.administration.base import (
    Address,
    Administration,
    AdministrationError,
    Counters,
    DriverError,
    MarkerNameTaken,
)

__all__ = ["Address", "Administration", "AdministrationError", "Counters", "DriverError", "MarkerNameTaken"]

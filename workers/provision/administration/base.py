"""What Benchsite asks of every server under test beside the load itself. No Django."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class AdministrationError(Exception):
    """The server did not answer, or refused what was asked. The message is fit for a page: it holds no password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server answers, and as whom it is asked."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    database: str = ""

    def __repr__(self) -> str:
        return f"Address({self.user}@{self.host}:{self.port}/{self.database})"


class Administration(Protocol):
    """One server under test. Every call opens its own short connection, so nothing idles while a run measures.

    Every method raises AdministrationError.
    """

    address: Address

    def ping(self) -> None:
        """Returns if the server answers and is ready for work."""

    def prepare(self) -> None:
        """Makes what the address speaks of and a fresh server does not have, such as its database."""

    def server_version(self) -> str:
        """The version number, as the server says it."""

    def data_folder(self) -> str:
        """The folder the server keeps its data in, by which ours is told from another on the same port."""

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        """The settings in force, as a new client's session sees them. Names the server does not know are left out."""

    def replicas(self) -> int:
        """Copies that are connected and keep up."""

    def create_schema(self, table: str, fieldcount: int, fieldnameprefix: str = "field") -> None:
        """Makes what a load writes into, empty. Refuses to touch data that Benchsite did not make."""

    def drop_data(self, table: str) -> None:
        """Removes what a load has written. Refuses to touch data that Benchsite did not make."""

    def count_rows(self, table: str) -> int:
        """The records that are there now."""

    def shut_down(self) -> bool:
        """Tells the server to end and to keep its data. False: the server does so at its stop signal anyway."""

"""What one client's files say of that client beside its numbers, as far as the checks use it. It is stored as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ClientEvidence:
    """One client of an upload. `properties` are those of its workload and of its durability mode."""

    properties: Mapping[str, str] = field(default_factory=dict)
    has_messages: bool = False  # its standard error is among the files
    messages: Sequence[str] = ()  # its exceptions and other signs of trouble, redacted
    gc_share: float | None = None  # of its run time, collecting garbage
    copy_of: int | None = None  # the number of the client whose numbers these are

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON; `from_dict` reads it back."""
        return {**asdict(self), "messages": list(self.messages)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any] | None) -> "ClientEvidence | None":
        """None where an earlier release stored none."""
        return cls(**stored) if stored else None

"""What a durability mode promises, as a value that can be compared across systems."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError, field_validator, model_validator

from benchsite.core.formatting import exact
from runs.catalog.messages import (
    COPIES_ANSWER_NOTHING,
    LOSES_ANY_NUMBER,
    LOSES_LAST_SECONDS,
    LOSES_NOTHING,
    LOSS_WITHOUT_COPY,
    NO_NUMBER_OF_COPIES,
    SLOW_DISK_LOSES_MORE,
    SLOW_DISK_LOSS,
)
from runs.ycsb.property_schema import PropertyError

Ack = Literal["none", "memory", "os_buffer", "disk"]
Reads = Literal["any_copy", "primary", "quorum", "linearizable"]
Replicas = NonNegativeInt | Literal["quorum", "all"]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]

ACKS: tuple[Ack, ...] = get_args(Ack)  # weakest first
READS: tuple[Reads, ...] = get_args(Reads)

_DONE: dict[Ack, str] = {
    "none": "as soon as it is sent",
    "memory": "when it is in the server's memory",
    "os_buffer": "when the operating system has it (not yet the disk)",
    "disk": "when it has been forced to disk",
}
_REPLICA_DONE: dict[Ack, str] = {
    "none": "has been told of it",
    "memory": "has it in memory",
    "os_buffer": "has handed it to its operating system",
    "disk": "has forced it to its disk",
}
_READS: dict[Reads, str] = {
    "any_copy": "Reads may come from any copy and see an older value.",
    "primary": "Reads come from the primary.",
    "quorum": "Reads ask enough copies to meet one with the newest acknowledged write.",
    "linearizable": "Reads see every write that was acknowledged before them.",
}


class Durability(BaseModel):
    """How far a write has come when it is acknowledged.

    `replicas_acked` counts the other copies that have answered, and `replica_ack` is what those had done.
    `loss_window_s` is how many seconds of acknowledged writes one node's power failure typically loses, None without
    bound; `worst_loss_window_s` how many where the server is late to force them to disk, None where none is known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    ack: Ack
    replicas_acked: Replicas
    replica_ack: Ack
    reads: Reads
    loss_window_s: Seconds | None
    worst_loss_window_s: Seconds | None = None

    @field_validator("replicas_acked", mode="before")
    @classmethod
    def _check_replicas(cls, replicas: object) -> object:
        if replicas not in ("quorum", "all") and type(replicas) is not int:
            raise PropertyError({"replicas_acked": NO_NUMBER_OF_COPIES})
        return replicas

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.replicas_acked == 0 and self.replica_ack != "none":
            raise PropertyError({"replica_ack": COPIES_ANSWER_NOTHING})
        worst = self.worst_loss_window_s
        if worst is not None and not (self.loss_window_s and self.loss_window_s < worst):
            raise PropertyError({"worst_loss_window_s": SLOW_DISK_LOSES_MORE})
        if self.loss_window_s == 0 and self.ack != "disk" and not self._elsewhere:
            raise PropertyError({"loss_window_s": LOSS_WITHOUT_COPY})
        return self

    @property
    def _elsewhere(self) -> bool:
        """Whether another copy has the write."""
        return self.replicas_acked != 0 and self.replica_ack != "none"

    @property
    def write_class(self) -> tuple[Ack, Replicas, Ack, bool, bool]:
        """The condition that a write waits for, without the length of a bounded loss; equal on comparable sides."""
        return self.ack, self.replicas_acked, self.replica_ack, self.loss_window_s is None, self.loss_window_s == 0

    @property
    def survives_alone(self) -> dict[str, bool]:
        """Which events an acknowledged write outlives on the acknowledging server."""
        return {
            # Its operating system goes on.
            "process_crash": self.ack in ("os_buffer", "disk"),
            # Its machine and disk never come back.
            "node_loss": False,
            # Of all nodes at once; disks keep what was forced to them.
            "power_loss": self.ack == "disk",
        }

    @property
    def survives(self) -> dict[str, bool]:
        """Which events an acknowledged write outlives, counting on any copy that has it."""
        by_copy = dict.fromkeys(self.survives_alone, self._elsewhere)
        by_copy["power_loss"] = self._elsewhere and self.replica_ack == "disk"
        return {event: alone or by_copy[event] for event, alone in self.survives_alone.items()}

    def as_dict(self) -> dict[str, object]:
        """Plain JSON, with what is derived; `from_dict` reads it back."""
        return {**self.model_dump(), "survives": self.survives}

    @classmethod
    def from_dict(cls, record: Mapping[str, object]) -> "Durability":
        """The record that `as_dict` wrote. Raises PropertyError for anything else."""
        try:
            return cls.model_validate({name: value for name, value in record.items() if name != "survives"})
        except ValidationError as error:
            fault = error.errors()[0]
            if fault["type"] == "value_error":
                raise fault["ctx"]["error"] from None
            field = str(fault["loc"][0])
            raise PropertyError({field: f"{field}: {fault['msg']}."}) from None

    def sentence(self) -> str:
        """The record in plain words, for pages."""
        return f"A write is acknowledged {_DONE[self.ack]}{self._replicas()}. {self._loss()} {_READS[self.reads]}"

    def _replicas(self) -> str:
        match self.replicas_acked:
            case 0:
                return ""
            case 1:
                copies = "one other copy"
            case "quorum":
                copies = "a quorum of the copies"
            case "all":
                copies = "every copy"
            case number:
                copies = f"each of {number} other copies"
        return f" and {copies} {_REPLICA_DONE[self.replica_ack]}"

    def _loss(self) -> str:
        if self.loss_window_s is None:
            return LOSES_ANY_NUMBER
        if self.loss_window_s == 0:
            return LOSES_NOTHING
        worst = ""
        if self.worst_loss_window_s:
            worst = SLOW_DISK_LOSS.format(seconds=exact(self.worst_loss_window_s))
        typical = exact(self.loss_window_s)
        return LOSES_LAST_SECONDS.format(typical=typical, worst=worst)


def same_class(a: Durability | None, b: Durability | None) -> bool | None:
    """Whether writes of both sides wait for the same; None where a side's record is not known, so nobody can say."""
    if a is None or b is None:
        return None
    return a.write_class == b.write_class

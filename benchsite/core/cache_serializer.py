"""The format of entries in Django's cache: MessagePack. Reading an entry creates plain values and executes nothing."""

from typing import Any

import msgspec


class MessagePackSerializer:
    """Of Django's Redis cache: None, bool, int, float, str, bytes, lists and dicts; tuples become lists."""

    def dumps(self, value: Any) -> bytes | int:
        """Integers stay digits, so that Redis can increment them. Raises TypeError for other objects."""
        if type(value) is int:
            return value
        return msgspec.msgpack.encode(value)

    def loads(self, data: bytes) -> Any:
        """The value; None for an entry that is not MessagePack, which Django's callers treat as missing."""
        try:
            return int(data)
        except ValueError:
            pass
        try:
            return msgspec.msgpack.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

"""Plain values that are kept by the thousand in the cache."""


class Packed:
    """Lets a frozen dataclass with slots be pickled as its class and its fields, in their order.

    By itself such a class looks its fields up each time: three times as long for a page of curves.
    """

    __slots__: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type["Packed"], tuple[object, ...]]:
        return type(self), tuple([getattr(self, name) for name in self.__slots__])

"""Which addresses of the site can be opened, as against those that only take what a form sends."""

from types import FunctionType
from typing import Final
from urllib.parse import urlsplit

from django.urls import Resolver404, resolve

METHODS: Final = "request_method_list"  # where Django's decorators of a view keep what it takes


def openable(address: str) -> str:
    """The address if a browser can open it, else the nearest one above it: that of /team/tokens/7/ is /team/tokens/.

    What is no address of this site is left as it is, for whoever asks to judge.
    """
    path = urlsplit(address).path
    if _takes_get(path) is not False:
        return address
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        if _takes_get(path):
            return path
    return path


def _takes_get(path: str) -> bool | None:
    """None where nothing has this address."""
    try:
        view: object = resolve(path).func
    except Resolver404:
        return None
    while isinstance(view, FunctionType):
        closure = dict(zip(view.__code__.co_freevars, view.__closure__ or (), strict=True))
        if METHODS in closure:
            return "GET" in closure[METHODS].cell_contents
        view = getattr(view, "__wrapped__", None)
    return True

"""Pages of reports as bytes, made once and kept: a revision never changes, so nothing here is ever out of date.

Whether a reader may have the bytes is asked of the database each time, before this is asked (`opening`): a link that is
revoked opens nothing from that moment on, whatever is kept here.
"""

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import http_date

from reports.frozen.link_resolution import Opened
from reports.frozen.signatures import CONTENT_TYPE, sign
from reports.queries.computed_cache import get_or_compute, key_of

PACKED: Final = ("image/png", "application/zip")  # by themselves
# What this process keeps besides, so that what many read is not fetched from Redis each time.
NEAR_BYTES: Final = 16 * 2**20
MAX_NEAR: Final = 2**20
WORTH_PACKING: Final = 1024
PACKING: Final = 6
A_YEAR_S: Final = 365 * 24 * 3600
NOT_LISTED: Final = "noindex, nofollow, noarchive"


@dataclass(frozen=True, slots=True)
class Served:
    """One answer, compressed where that is worth it."""

    data: bytes
    is_packed: bool
    digest: str
    content_type: str

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.data) if self.is_packed else self.data


class _Near:
    """The pages that this process served last, as many as there is room for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: OrderedDict[str, Served] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> Served | None:
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def keep(self, key: str, made: Served) -> None:
        if len(made.data) > MAX_NEAR:
            return
        with self._lock:
            if key not in self._pages:
                self._bytes += len(made.data)
            self._pages[key] = made
            while self._bytes > NEAR_BYTES:
                _, oldest = self._pages.popitem(last=False)
                self._bytes -= len(oldest.data)


_near = _Near()


def served(opened: Opened, parts: tuple[object, ...], content_type: str, make: Callable[[], bytes]) -> Served:
    """The bytes of one page or file of a revision. `parts` tell them from all others of the same revision."""
    key = key_of(opened.team_id, "frozen", opened.revision_id, *parts)
    near = _near.get(key)
    if near is not None:
        return near

    def file() -> Served:
        body = make()
        pack = len(body) >= WORTH_PACKING and content_type not in PACKED
        data = gzip.compress(body, PACKING) if pack else body
        return Served(data, pack, hashlib.sha256(body).hexdigest()[:32], content_type)

    answered = get_or_compute(key, Served, file)
    _near.keep(key, answered)
    return answered


def page_key(opened: Opened) -> tuple[object, ...]:
    """What the page says beside the content: its address, its place among the revisions, who may find it."""
    return (opened.token, opened.pinned, opened.newest, opened.access)


def answer(request: HttpRequest, opened: Opened, file: Served, *, fixed: bool = False) -> HttpResponse:
    """The bytes with what caches, crawlers and browsers have to know; 304 where the reader has them already.

    `fixed`: whatever this address answered once, it answers for ever, so that a browser need not ask again.
    """
    if opened.signature:
        data = sign(file.body)
        file = Served(data, False, hashlib.sha256(data).hexdigest()[:32], CONTENT_TYPE)
    as_is = file.is_packed and "gzip" in request.headers.get("Accept-Encoding", "")
    response = HttpResponse(file.data if as_is else file.body, content_type=file.content_type)
    if as_is:
        response.headers["Content-Encoding"] = "gzip"
    if file.is_packed:
        patch_vary_headers(response, ("Accept-Encoding",))
    # Weak: both forms of the body have the same one.
    etag = f'W/"{file.digest}"'
    response.headers["ETag"] = etag
    response.headers["Last-Modified"] = http_date(opened.changed_at.timestamp())
    checked = get_conditional_response(request, etag, int(opened.changed_at.timestamp()), response)
    return marked(opened, checked or response, fixed=fixed)


def marked(opened: Opened, response: HttpResponse, *, fixed: bool = False) -> HttpResponse:
    """The headers that follow from who may read the report."""
    if opened.is_private:
        patch_vary_headers(response, ("Cookie",))
    # Nothing is kept on the way: a link can be revoked. A reader's own browser may keep what it has seen.
    lasting = fixed and not opened.is_private
    response.headers["Cache-Control"] = f"private, max-age={A_YEAR_S}, immutable" if lasting else "private, no-cache"
    response.headers["Referrer-Policy"] = "same-origin"
    if not opened.is_listed:
        response.headers["X-Robots-Tag"] = NOT_LISTED
    return response

"""Pictures of figures that a publisher's browser drew: decoded under limits and encoded anew, so that what is served is
this site's own PNG and nothing that came along in it.
"""

import io
import warnings
from collections.abc import Mapping
from typing import Final

from PIL import Image, UnidentifiedImageError

from reports.models import ReportPicture, ReportRevision

MAX_BYTES: Final = 2 * 2**20  # of a picture as it comes
MAX_PIXELS: Final = 4096  # in either direction
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
GROUND: Final = (255, 255, 255)


class PictureRefused(ValueError):
    """What is no picture that can be served. The message says why."""


def encoded_anew(png: bytes) -> ReportPicture:
    """The pixels of a PNG, on white, in a PNG of our own; not stored yet. Raises PictureRefused."""
    if len(png) > MAX_BYTES:
        raise PictureRefused(
            f"A picture may have at most {MAX_BYTES // 2**20} MB, and this one has {len(png):,} bytes."
        )
    if not png.startswith(SIGNATURE):
        raise PictureRefused("This is no PNG.")

    try:
        with warnings.catch_warnings(action="error"), Image.open(io.BytesIO(png), formats=["PNG"]) as opened:
            # The size stands in the first bytes: nothing is decoded of what claims too much.
            if max(opened.size) > MAX_PIXELS or min(opened.size) < 1:
                raise PictureRefused(f"A picture may have at most {MAX_PIXELS} × {MAX_PIXELS} pixels.")  # noqa: RUF001
            if getattr(opened, "n_frames", 1) != 1:
                raise PictureRefused("A picture that moves is none of a figure.")
            return _written(opened)
    except PictureRefused:
        raise
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Warning, Image.DecompressionBombError) as error:
        raise PictureRefused(f"The PNG cannot be decoded: {error}") from error


def _written(opened: Image.Image) -> ReportPicture:
    """On white ground, with a palette where that loses nothing that anybody sees: lines and text need few colours."""
    pixels = opened.convert("RGBA")
    ground = Image.new("RGB", pixels.size, GROUND)
    ground.paste(pixels, mask=pixels.getchannel("A"))
    out = io.BytesIO()
    ground.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return ReportPicture(png=out.getvalue(), width=ground.width, height=ground.height)


def keep_pictures(revision: ReportRevision, pictures: Mapping[str, ReportPicture]) -> None:
    """Stores one picture of each figure of a revision, by its name."""
    for name, picture in pictures.items():
        picture.revision, picture.name = revision, name
    ReportPicture.objects.bulk_create(pictures.values())

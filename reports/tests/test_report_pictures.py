"""The PNG of a figure: decoded under limits, encoded anew, served for previews elsewhere."""

import io
import struct
import zlib

import pytest
from PIL import Image, PngImagePlugin

from reports.published.figure_images import MAX_BYTES, MAX_PIXELS, PictureRefused, encoded_anew, keep_pictures
from reports.published.links import find_link
from reports.tests.snapshots import published


def png(size=(40, 20), mode="RGBA", colour=(10, 20, 30, 0), **options):
    out = io.BytesIO()
    Image.new(mode, size, colour).save(out, "PNG", **options)
    return out.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def claiming(width, height, body=b""):
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def test_it_is_another_png_of_the_same_picture():
    encoded = encoded_anew(png(colour=(200, 0, 0, 255)))
    again = Image.open(io.BytesIO(encoded.png))
    assert (encoded.width, encoded.height) == again.size == (40, 20)
    assert again.convert("RGB").getpixel((5, 5)) == (200, 0, 0)


def test_what_was_transparent_is_white():
    image = Image.open(io.BytesIO(encoded_anew(png()).png))
    assert image.convert("RGB").getpixel((5, 5)) == (255, 255, 255)


def test_nothing_that_came_along_stays():
    info = PngImagePlugin.PngInfo()
    info.add_text("Comment", "my secret place")
    info.add_itxt("XML:com.adobe.xmp", "<secret/>")
    data = png(pnginfo=info, exif=b"Exif\0\0secret") + b"secret after the end"
    assert b"secret" in data
    encoded = encoded_anew(data)
    assert b"secret" not in encoded.png
    assert not Image.open(io.BytesIO(encoded.png)).text


def jpeg():
    out = io.BytesIO()
    Image.new("RGB", (5, 5)).save(out, "JPEG")
    return out.getvalue()


def moving():
    out = io.BytesIO()
    frames = [Image.new("RGB", (5, 5), (shade, 0, 0)) for shade in (0, 100, 200)]
    frames[0].save(out, "PNG", save_all=True, append_images=frames[1:])
    return out.getvalue()


BAD = {
    "nothing": lambda: b"",
    "text": lambda: b"<svg onload=alert(1)>",
    "a JPEG": jpeg,
    "a JPEG that says PNG": lambda: b"\x89PNG\r\n\x1a\n" + jpeg(),
    "cut off": lambda: png((400, 400))[:-60],
    "a bomb": lambda: claiming(MAX_PIXELS + 1, 1),
    "a large bomb": lambda: claiming(2**31 - 1, 2**31 - 1),
    "too little in it": lambda: claiming(4000, 4000),
    "a text bomb": lambda: png()[:33] + chunk(b"zTXt", b"a\0\0" + zlib.compress(b"x" * 80_000_000)) + png()[33:],
    "moving": moving,
    "too many bytes": lambda: b"\x89PNG\r\n\x1a\n" + bytes(MAX_BYTES),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_picture_of_a_figure_is_refused(bad):
    with pytest.raises(PictureRefused):
        encoded_anew(BAD[bad]())


@pytest.mark.slow
@pytest.mark.django_db
def test_previews_elsewhere_find_it(team, client):
    report = published(team)
    revision, token = report.revisions.get(), find_link(report).token
    assert "og:image" not in client.get(f"/r/{token}").content.decode()
    other = published(team)
    revision, token = other.revisions.get(), find_link(other).token
    keep_pictures(revision, {"ceilings": encoded_anew(png((1200, 630)))})
    page = client.get(f"/r/{token}").content.decode()
    assert f'<meta property="og:image" content="http://testserver/r/{token}@1/figures/ceilings.png">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page
    assert '<meta property="og:image:width" content="1200">' in page
    answer = client.get(f"/r/{token}@1/figures/ceilings.png")
    assert answer["Content-Type"] == "image/png" and answer.content.startswith(b"\x89PNG")
    assert answer["X-Content-Type-Options"] == "nosniff" and "noindex" in answer["X-Robots-Tag"]
    assert client.get(f"/r/{token}@1/figures/latency.png").status_code == 404

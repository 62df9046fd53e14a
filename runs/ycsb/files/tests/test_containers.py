"""However a file is packed, its lines come out the same; what cannot be unpacked is said, and costs little."""

import contextlib
import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from unittest import mock

import pytest
import zstandard
from hypothesis import given, settings, strategies as st

from runs.ycsb.errors import DamagedFile, LimitExceeded, UnreadableFile
from runs.ycsb.files import Member, limits, open_members

TEXT = b"".join(b"[READ], Operations, %d\n" % number for number in range(2000))


class Unseekable(io.BytesIO):
    """As a pipe."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation


def get_text(member: Member) -> bytes:
    return b"".join(block.data for block in member.blocks())


def opened(data: bytes, **limits_of_test: int) -> list[tuple[str, bytes]]:
    with contextlib.ExitStack() as patches:
        for name, limit in limits_of_test.items():
            patches.enter_context(mock.patch.object(limits, name, limit))
        return [(member.name, get_text(member)) for member in open_members("results", io.BytesIO(data))]


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


def tarred(members: dict[str, bytes], layout: int = tarfile.PAX_FORMAT) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=layout) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def zstd_frames(data: bytes) -> bytes:
    half = len(data) // 2
    skipped = struct.pack("<II", 0x184D2A50, 3) + b"abc"
    return zstandard.compress(data[:half]) + skipped + zstandard.compress(data[half:])


SINGLE: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip of several members": lambda data: gzip.compress(data[:99]) + gzip.compress(b"") + gzip.compress(data[99:]),
    "gzip with zeros behind": lambda data: gzip.compress(data) + bytes(1024),
    "gzip of gzip": lambda data: gzip.compress(gzip.compress(data)),
    "zstd": zstandard.compress,
    "zstd frames": zstd_frames,
    "zstd without its size": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
}
ARCHIVES: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "zip": zipped,
    "zip without deflate": lambda members: zipped(members, zipfile.ZIP_STORED),
    "tar": tarred,
    "tar of GNU": lambda members: tarred(members, tarfile.GNU_FORMAT),
    "tar of old": lambda members: tarred(members, tarfile.USTAR_FORMAT),
    "tar.gz": lambda members: gzip.compress(tarred(members)),
    "tar.zst": lambda members: zstandard.compress(tarred(members)),
}
lines = st.lists(st.text(st.characters(exclude_characters="\r\n\0\x1b\ufeff", codec="utf-8"), max_size=40), max_size=40)


@pytest.mark.slow
@pytest.mark.parametrize("packing", SINGLE)
@settings(max_examples=25)
@given(lines=lines)
def test_a_packed_file_has_the_lines_of_the_file(packing, lines):
    # A first line that no container begins like.
    data = ("YCSB Client 0.17.0\n" + "".join(line + "\n" for line in lines)).encode()
    assert opened(SINGLE[packing](data)) == [("results", data)]


@pytest.mark.parametrize("inner", ["plain", "gzip"])
@pytest.mark.parametrize("packing", ARCHIVES)
def test_an_archive_gives_its_members_in_order(packing, inner):
    members = {"b/client-1.txt": TEXT, "a.txt": b"one line", "empty.txt": b""}
    packed = ARCHIVES[packing]({name: SINGLE[inner](data) for name, data in members.items()})
    expected = [(f"results/{name}", data + b"\n" * (name == "a.txt")) for name, data in members.items()]
    assert opened(packed) == expected
    assert [(m.name, get_text(m)) for m in open_members("results", Unseekable(packed))] == expected


def test_an_archive_may_lie_in_an_archive():
    packed = gzip.compress(tarred({"run.zip": zipped({"client/READ.txt": TEXT})}))
    assert opened(packed) == [("results/run.zip/client/READ.txt", TEXT)]


def test_members_that_are_not_read_are_passed_over():
    packed = tarred({"a": TEXT, "b": b"other\n"})
    assert [member.name for member in open_members("results", io.BytesIO(packed))] == ["results/a", "results/b"]


def test_long_and_odd_names_are_labels():
    name = "deep/" * 50 + "client.txt"
    for layout in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        assert opened(tarred({name: b"x\n"}, layout))[0][0] == f"results/{name}"
    assert opened(tarred({"../..//etc\\a\tb": b"x\n"}))[0][0] == "results/etc/a?b"


def test_what_file_managers_add_is_left_out():
    members = {"__MACOSX/._a.txt": b"\0\5", ".DS_Store": b"x", "a.txt": TEXT, "sub/._b": b"x"}
    assert [name for name, _ in opened(zipped(members))] == ["results/a.txt"]
    assert [name for name, _ in opened(tarred(members))] == ["results/a.txt"]


def test_links_and_folders_are_left_out():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            info = tarfile.TarInfo("other")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert opened(packed.getvalue()) == []


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("left", [0.3, 0.9])
def test_of_a_file_that_is_cut_off_the_beginning_is_given(pack, left):
    packed = pack(TEXT)
    (member,) = open_members("cut", io.BytesIO(packed[: int(len(packed) * left)]))
    text = get_text(member)
    assert text.rstrip(b"\n") == TEXT[: len(text.rstrip(b"\n"))]
    assert member.damage is not None and not member.damage.is_doubtful
    assert [note.text for note in member.notes] == [str(member.damage)]
    assert "cut off" in str(member.damage)


def test_a_wrong_checksum_makes_everything_doubtful():
    packed = gzip.compress(TEXT)
    (member,) = open_members("damaged", io.BytesIO(packed[:-8] + b"\1" + packed[-7:]))
    assert get_text(member) == TEXT
    assert member.damage is not None and member.damage.is_doubtful


def test_what_stands_behind_a_packed_file_is_said():
    for pack in (gzip.compress, zstandard.compress):
        (member,) = open_members("more", io.BytesIO(pack(TEXT) + b"something else"))
        assert get_text(member) == TEXT
        assert ["other bytes" in note.text for note in member.notes] == [True]


def test_cut_off_archive_reports_damage_after_whole_members():
    packed = gzip.compress(tarred({"a": TEXT, "b": TEXT}))
    found = []
    with pytest.raises(DamagedFile, match="cut off"):
        for member in open_members("results", io.BytesIO(packed[:-500])):
            found.append((member.name, get_text(member) == TEXT, member.damage is None))
    assert found == [("results/a", True, True), ("results/b", False, False)]


def test_a_damaged_header_is_no_member():
    packed = bytearray(tarred({"a": TEXT, "b": TEXT}))
    second = 512 + len(TEXT) + -len(TEXT) % 512
    packed[second + 3] ^= 1
    members = open_members("results", io.BytesIO(bytes(packed)))
    assert get_text(next(members)) == TEXT
    with pytest.raises(DamagedFile, match="damaged"):
        next(members)


def test_damaged_zip_member_does_not_stop_the_others():
    packed = bytearray(zipped({"a": TEXT, "b": TEXT}, zipfile.ZIP_STORED))
    packed[100] ^= 1
    first, second = open_members("z", io.BytesIO(packed))
    assert len(get_text(first)) == len(TEXT), "all but the line feed at the end, which is added"
    assert get_text(second) == TEXT
    assert first.damage is not None and first.damage.is_doubtful
    assert second.damage is None


def test_locked_and_foreign_members_say_what_to_do():
    locked = bytearray(zipped({"a": TEXT}))
    locked[6] |= 1
    locked[locked.rindex(b"PK\1\2") + 8] |= 1
    for packed, word in ((bytes(locked), "password"), (zipped({"a": TEXT}, zipfile.ZIP_LZMA), "deflate")):
        (member,) = open_members("z", io.BytesIO(packed))
        with pytest.raises(UnreadableFile, match=word):
            get_text(member)
    with pytest.raises(UnreadableFile, match="office document"):
        opened(zipped({"[Content_Types].xml": b"<x/>", "xl/sheet1.xml": b"<x/>"}))
    with pytest.raises(UnreadableFile, match="directory"):
        opened(zipped({"a": TEXT})[:-30])


# --- What is too much ---


def test_a_file_may_only_grow_so_much():
    tight = {"MAX_RATIO": 10, "MAX_UNCHECKED_BYTES": 100_000}
    assert opened(gzip.compress(bytes(100_000)), **tight)
    with pytest.raises(LimitExceeded, match="packed too tightly"):
        opened(gzip.compress(bytes(10_000_000)), **tight)
    with pytest.raises(LimitExceeded, match="packed too tightly"):
        opened(gzip.compress(TEXT), MAX_EXPANDED_BYTES=len(TEXT) - 1)
    assert opened(TEXT, MAX_EXPANDED_BYTES=1) == [("results", TEXT)], "what is not packed may be as long as it is"


def test_so_may_all_members_together():
    packed = zipped({str(number): TEXT for number in range(100)})
    assert len(opened(packed, MAX_EXPANDED_BYTES=100 * len(TEXT))) == 100
    with pytest.raises(LimitExceeded):
        opened(packed, MAX_EXPANDED_BYTES=100 * len(TEXT) - 1)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_may_only_have_so_many_members(pack):
    packed = pack({str(number): b"" for number in range(20)})
    assert len(opened(packed, MAX_MEMBERS=20)) == 20
    with pytest.raises(LimitExceeded, match="more than 19 members"):
        opened(packed, MAX_MEMBERS=19)


def test_too_large_zip_directory_is_not_read():
    """It would be taken into memory whole."""
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 500_000_000, 0, 0)
    with pytest.raises(LimitExceeded, match="too many members"):
        opened(b"PK\3\4" + bytes(1000) + end)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 500_000_000, 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, 1004, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    with pytest.raises(LimitExceeded, match="too many members"):
        opened(b"PK\3\4" + bytes(1000) + record + locator + end)


def test_a_header_of_a_tar_may_not_be_endless():
    """An extended header is text of any size; only its beginning is kept."""
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 5_000_000
    file = tarfile.TarInfo("a.txt")
    file.size = 2
    packed = info.tobuf(tarfile.USTAR_FORMAT) + b" path=long\n".ljust(5_000_000 + -5_000_000 % 512, b"x")
    packed += file.tobuf(tarfile.USTAR_FORMAT) + b"x\n".ljust(512, b"\0")
    assert opened(packed) == [("results/long", b"x\n")]


def test_bytes_like_a_packed_file_are_refused_with_a_reason():
    (member,) = open_members("odd.gz", io.BytesIO(b"\x1f\x8b" + bytes(30)))
    assert get_text(member) == b""
    assert member.damage is not None
    assert not zlib.decompressobj(31).eof


def test_progress_counts_bytes_of_the_file():
    told: list[int] = []
    packed = gzip.compress(TEXT)
    for member in open_members("p", io.BytesIO(packed), progress=told.append):
        get_text(member)
    assert told == sorted(told) and told[-1] == len(packed)

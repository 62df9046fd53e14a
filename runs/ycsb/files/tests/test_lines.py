"""Lines come as UTF-8, whole and numbered, whatever they were stored as and in whatever pieces they arrive."""

import io
import tracemalloc
from unittest import mock

import pytest
from hypothesis import example, given, strategies as st

from runs.ycsb.block import Block
from runs.ycsb.files import Member, limits, open_members

ENCODINGS = {
    "with a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16 with a mark": lambda text: text.encode("utf-16"),
    "UTF-16 big-endian with a mark": lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
    "UTF-16 of PowerShell": lambda text: text.encode("utf-16-le"),
    "UTF-16 big-endian": lambda text: text.encode("utf-16-be"),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CRLF twice": lambda text: text.replace("\n", "\r\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "CRLF in UTF-16": lambda text: text.replace("\n", "\r\n").encode("utf-16"),
    "coloured": lambda text: text.replace("[", "\x1b[1;32m[").replace("]", "]\x1b[0m\x1b[K").encode(),
    "titled": lambda text: ("\x1b]0;ycsb\x07" + text).encode(),
}
line = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0\x1b\ufeff"), max_size=30)


def is_like_output(lines: list[str]) -> bool:
    """Text of mostly letters whose low byte is NUL is UTF-16 of either order: no output of a benchmark is."""
    return "\n".join(lines).encode("utf-16-le")[0::2].count(0) < 5


def opened(data: bytes, longest_line: int = limits.MAX_LINE_LENGTH) -> Member:
    with mock.patch.object(limits, "MAX_LINE_LENGTH", longest_line):
        (member,) = open_members("a.txt", io.BytesIO(data))
    return member


def build_blocks(data: bytes, longest_line: int = limits.MAX_LINE_LENGTH) -> list[Block]:
    return list(opened(data, longest_line).blocks())


def get_text(data: bytes, longest_line: int = limits.MAX_LINE_LENGTH) -> str:
    return b"".join(block.data for block in build_blocks(data, longest_line)).decode()


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
@given(lines=st.lists(line.filter(bool), max_size=20).filter(is_like_output))
@example(lines=["\U00010000"])
def test_it_does_not_matter_how_text_was_stored(encoding, lines):
    text = "[OVERALL], RunTime(ms), 10110\n" + "".join(f"{line}\n" for line in lines)
    assert get_text(ENCODINGS[encoding](text)) == text


@pytest.mark.slow
@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"\xc3\xa4", b"\xff", b"\x1b[0m"]), max_size=40),
       st.integers(1, 9))  # fmt: skip
def test_it_does_not_matter_where_pieces_end(parts, piece):
    """Pieces are never longer than the longest line: here that is a few bytes, and no line is longer."""
    data = b"\n".join(b"".join(parts[at : at + piece]) for at in range(0, len(parts), piece))
    longest = max(map(len, data.replace(b"\r", b"\n").split(b"\n")), default=0) + 2
    expected = "\n".join(data.decode(errors="replace").replace("\x1b[0m", "").splitlines())
    text = get_text(data, longest_line=longest)
    assert [line for line in text.split("\n") if line] == [line for line in expected.split("\n") if line]


@pytest.mark.slow
@given(st.lists(st.integers(0, 30), max_size=50), st.booleans())
def test_lines_keep_their_numbers_across_blocks(lengths, ends):
    lines = [str(number).rjust(length, "x")[-60:] for number, length in enumerate(lengths)]
    data = "\n".join(lines).encode() + (b"\n" if ends and lines else b"")
    found: dict[int, str] = {}
    blocks = build_blocks(data, longest_line=64)
    for block in blocks:
        assert block.data.endswith(b"\n")
        found.update(enumerate(block.data.decode().split("\n")[:-1], block.first_line))
    assert found == {number: line for number, line in enumerate(data.decode().split("\n"), 1) if number <= len(found)}
    assert "".join(f"{line}\n" for line in found.values()).strip("\n") == data.decode().strip("\n")
    assert [block.unterminated for block in blocks[:-1]] == [False] * len(blocks[:-1])
    if blocks:
        assert blocks[-1].unterminated == (not data.endswith(b"\n"))


def test_crlf_split_between_pieces_is_a_single_line_end():
    data = b"".join(b"%03d\r\n" % number for number in range(100))
    for longest in range(4, 12):
        assert get_text(data, longest_line=longest) == "".join(f"{number:03}\n" for number in range(100))


def test_bytes_that_are_not_utf_8_are_replaced_line_by_line():
    assert get_text(b"Avg=\xff\n\xc3\nend\xe2\x82\n") == "Avg=\ufffd\n\ufffd\nend\ufffd\n"


def test_a_hole_is_no_part_of_a_number():
    assert get_text(b"[READ], Operations, 12\0\0\0\0\n") == "[READ], Operations, 12\ufffd\n"
    assert get_text(b"first\n\0\0\0\0[READ], Operations, 12\n") == "first\n[READ], Operations, 12\n"


def test_of_a_line_that_is_too_long_the_beginning_is_given():
    data = b"one\n" + b"x" * 5000 + b"\nthree\n" + b"y" * 2000
    member = opened(data, longest_line=1000)
    text = b"".join(block.data for block in member.blocks()).decode()
    assert text == "one\n" + "x" * 1000 + "\nthree\n" + "y" * 1000 + "\n"
    assert [(note.line, "5,000" in note.text or "2,000" in note.text) for note in member.notes] == [
        (2, True),
        (4, True),
    ]


def test_an_endless_line_costs_no_more_memory_than_a_long_one(monkeypatch):
    class Endless(io.RawIOBase):
        left = 40 * 1024 * 1024

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            taken: int = min(size, self.left)
            self.left -= taken
            return b"x" * taken

    tracemalloc.start()
    try:
        monkeypatch.setattr(limits, "MAX_LINE_LENGTH", 1024 * 1024)
        (member,) = open_members("long", Endless())
        sizes = [len(block.data) for block in member.blocks()]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sizes == [1024 * 1024 + 1]
    assert member.size == 40 * 1024 * 1024
    assert peak < 8 * 1024 * 1024


def test_an_empty_file_has_no_blocks():
    assert build_blocks(b"") == []

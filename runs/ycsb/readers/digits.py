"""Every run of decimal digits in a text as a number, all at once."""

from typing import Final

import numpy as np

Integers = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]
Positions = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

_U: Final = np.uint64
_WORD: Final = 8  # digits that one 64-bit word holds, one in each byte
MARGIN: Final = b" " * 3 * _WORD  # what must stand before the text, so that a word can be read that ends with any digit
MAX_DIGITS: Final = 19  # digits of the largest number of a Java long


def digit_runs(text: bytes) -> tuple[Positions, Positions]:
    """Where each run of digits starts and ends. The text begins and ends with something else."""
    is_digit = (np.frombuffer(text, np.uint8) - np.uint8(48)) < 10
    edges = np.flatnonzero(is_digit[1:] != is_digit[:-1]) + 1
    return edges[::2], edges[1::2]


def values_of(text: bytes, starts: Positions, ends: Positions) -> Integers:
    """The number of each run; of a run of more than 24 digits the last ones. `text` begins with MARGIN."""
    # Indexed in brackets, because `take` would first make a copy of all these overlapping words.
    words = np.ndarray((len(text) - _WORD + 1,), dtype="<u8", buffer=text, strides=(1,))
    lengths = ends - starts
    values = _eight_digits(words[ends - _WORD], np.minimum(lengths, _WORD))
    for already in (_WORD, 2 * _WORD):
        longer = np.flatnonzero(lengths > already)
        if longer.size == 0:
            break
        more = _eight_digits(words[ends[longer] - already - _WORD], np.minimum(lengths[longer] - already, _WORD))
        values[longer] += more * _U(10**already)
    return values


def _eight_digits(words: Integers, lengths: Positions) -> Integers:
    """The value of the last `lengths` bytes of each word, the first digit in the lowest byte; in place of the words.

    Neighbours are joined to pairs, pairs to fours, fours to the whole: three multiplications for eight digits.
    """
    unused = (_U(_WORD) - lengths.astype(np.uint64)) * _U(8)
    words >>= unused
    words <<= unused
    words &= _U(0x0F0F_0F0F_0F0F_0F0F)
    neighbours = words >> _U(8)
    words *= _U(10)
    words += neighbours
    np.right_shift(words, _U(16), out=neighbours)
    for part, factor in ((words, 100 + (1_000_000 << 32)), (neighbours, 1 + (10_000 << 32))):
        part &= _U(0x0000_00FF_0000_00FF)
        part *= _U(factor)
    words += neighbours
    words >>= _U(32)
    return words

"""Who wrote a line, where several clients wrote into one file: by what stands in front of it, or above it."""

import re
from typing import Final

# What a client's lines begin with. Behind a label (`-l`) only status lines do not stand at the beginning.
_FIRST: Final = (
    rb"\[OVERALL\],|Command line:|YCSB Client |Loading workload\.\.\.|Starting test\."
    rb"|(?<!\S)(?:\S{1,200}/)?java(?:\.exe)?\s"
)
_STANDS_FIRST: Final = re.compile(_FIRST)
_BEGIN: Final = re.compile(
    _FIRST + rb"|(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?::\d{3})? )?-?\d{1,18} sec: \d{1,18} operations;"
    rb"|\[[A-Za-z][\w.%-]{0,79}\],[ \t]"
)
# Of what stands in front of a line everything that differs from line to line of one writer: line numbers, times,
# levels, streams, threads.
_VARYING: Final = re.compile(
    rb"^\s*\d{1,9}(?:\t|:(?!\d))"
    rb"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?:Z|\s?[+-]\d\d:?\d\d)?)?"
    rb"|\b[A-Z][a-z]{2} [ \d]?\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d{1,9})?"
    rb"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
    rb"|(?i:\b(?:trace|debug|info|notice|warn|warning|error|fatal|stdout|stderr)\b)"
    rb"|(?<!\S)(?:out|err)(?=:)|(?<!\S)[FP](?!\S)|\b\d\d[OE]\+?(?!\S)"
    rb"|\[(?:main|[Tt]hread-\d+|pool-\d+-thread-\d+)\]"
    rb"|(?<!\S)\d[\d.]*(?!\S)"
)
_EMPTY: Final = re.compile(rb"\[\s*\]|\(\s*\)")
_SIGNS: Final = b" \t-:|>,;\"'()"
_PIPED: Final = re.compile(rb"[^|]{1,200}\|\s|.{0,80}\[pod/[^\]\s]{1,200}\]\s")
_MAX_FRONT: Final = 300  # bytes
_LOOKED_AT: Final = 400  # bytes of a line
# Headlines of sections: of tail and head, pssh, Ansible; those of dshbak and more stand between two rules.
_HEADLINE: Final = re.compile(
    rb"==> (\S.{0,200}?) <==|\[\d{1,5}\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] (\S{1,200})"
    rb"|(\S{1,200}) \| (?:CHANGED|SUCCESS|FAILED)\b.{0,40}"
)
_RULE: Final = re.compile(rb"(?:-{8,}|:{8,}|={8,})")
MARKS: Final = (b"<==", b"[SUCCESS]", b"[FAILURE]", b" | C", b" | S", b" | F", b"--------", b"::::::::", b"========")


class Writers:
    """The writers of one file, each known from the first line in front of which it stands.

    Only a line that a client writes without anything of its own in front tells one: what stands in front of status
    lines alone is a label.
    """

    def __init__(self) -> None:
        self.names: set[bytes] = set()
        self.section = ""  # the writer whose headline was the last
        self.awaits_name = False  # the line above was a rule
        self._name_below_rule = b""

    def name(self, line: bytes) -> str:
        """Whose line this is; empty where nothing tells."""
        front = self._front(line)
        if front:
            return front.decode(errors="replace")
        return self.section

    def _front(self, line: bytes) -> bytes:
        begin = _BEGIN.search(line, 0, _LOOKED_AT)
        if begin is None:
            text = _without_varying(line[:_MAX_FRONT])
            return next((name for name in self.names if text.startswith(name)), b"")

        front = b""
        if 0 < begin.start() <= _MAX_FRONT:
            front = _without_varying(line[: begin.start()])
        if front and (_STANDS_FIRST.match(line, begin.start()) or _PIPED.match(line, 0, _LOOKED_AT)):
            self.names.add(front)
        if front in self.names:
            return front
        if front and len(self.names) == 1:
            return next(iter(self.names))

        return b""

    def begins_section(self, line: bytes) -> bool:
        """Whether the line is the headline of what one writer left."""
        if len(line) > _LOOKED_AT:
            return False

        text = line.strip()
        name, self._name_below_rule, self.awaits_name = self._name_below_rule, b"", False
        if match := _HEADLINE.fullmatch(text):
            self.section = next(name for name in match.groups() if name).decode(errors="replace")
            return True
        if _RULE.fullmatch(text):
            self.section = name.decode(errors="replace") or self.section
            self.awaits_name = not name
            return bool(name)

        return False

    def take_name(self, line: bytes) -> None:
        """The line below a rule, which may be a name that has another rule below it."""
        text = line.strip()
        self.awaits_name = False
        self._name_below_rule = b""
        if text and b" " not in text and len(text) <= _MAX_FRONT:
            self._name_below_rule = text


def has_front(shape: bytes) -> bool:
    """Whether anything may stand in front of what a client writes; of a line without its digits."""
    begin = _STANDS_FIRST.search(shape, 0, _LOOKED_AT)
    return (begin is not None and begin.start() > 0) or b"|" in shape or b"[pod/" in shape


def _without_varying(front: bytes) -> bytes:
    words = _VARYING.sub(b" ", front).split()
    name = _EMPTY.sub(b"", b" ".join(words)).strip(_SIGNS)
    if name.startswith(b"[") and name.endswith(b"]"):
        return name[1:-1]
    return name

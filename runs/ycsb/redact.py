"""Secrets taken out of properties, command lines and addresses before anything is stored or hashed.

What is secret is told by shape: by words in a name, by how a name ends, by what a value looks like. A name that only
looks like a secret's stands in `HARMLESS`; in doubt it is hidden.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Final
from urllib.parse import quote, unquote

HIDDEN: Final = "[redacted]"
MIN_LENGTH: Final = 4  # of a secret that is searched for in other texts: a shorter one is in many words
_BEYOND: Final = 1_000  # characters; the longest password that is found across a cut

# "num_tokens" of Cassandra and "bypass" are none.
_SECRET_WORD: Final = (
    r"(?:pass(?:word|wd|phrase|code)|(?<![a-z])(?:pass|pw)(?![a-z])|pwd|secret|token(?!s)"
    r"|(?:api|access|private)[-_]?key|credentials?|connection[-_]?string|shared[-_]?access[-_]?signature)"
)
_SECRET_NAME: Final = re.compile(_SECRET_WORD, re.IGNORECASE)
REDIS_SECRETS: Final = ("requirepass", "masterauth")  # names of settings that hold no such word
# Documented properties, and words, that end like a secret's name and are none: names of columns and keys of data.
HARMLESS: Final = frozenset({
    "azure.partitionkey", "crail.enumeratekeys", "downsamplingkey", "dynamodb.primarykey", "es.index.key",
    "groupbykey", "groupbykeys", "key", "tagkeylength", "timestampkey", "valuekey", "hashkey", "rangekey", "sortkey",
    "partitionkey", "rowkey", "foreignkey", "shardkey", "indexkey", "routingkey", "hotkey", "monkey", "turkey",
    "s3.sse", "bypass", "compass", "onepass", "singlepass", "twopass", "multipass",
})  # fmt: skip
_ENDINGS: Final = ("key", "sas", "pat", "pass", "pw")
_ENDING: Final = (
    r"(?:[A-Za-z0-9_.-]{0,80}?(?:[Kk]ey|KEY|[-_.]sas|Sas|[-_.]pat|Pat|[a-z_.-]pass|Pass|PASS|(?<![A-Za-z])pw|Pw|PW))"
)
_TO_END: Final = r"""(?:(?!(?:\\[rn])*["'](?:[\s,}\])]|$))\S)"""  # of a word, or of the string that it stands in
# What is repeated is repeated only so often: otherwise a long line made for it would take for ever.
_IS: Final = r"""(?:\\{0,3}["']?\s{0,20}(?:=|:(?!//))[ \t]{0,20}|["'][ \t]{0,20},[ \t]{0,20}(?=["']))"""
_VALUE: Final = r"""(?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:\\(?:.|\n[ \t]{0,200})|[^\s,;&"'\\])+)"""
# The secret's word and the rest of a name, then = or : and the value up to a blank, a quote or the next option.
_ASSIGNED: Final = re.compile(rf"(?P<name>{_SECRET_WORD}[\w.-]{{0,80}}{_IS}){_VALUE}", re.IGNORECASE)
# A line of a property file: its value ends with the line, whatever is in it. A hidden one may stand in a list.
_LINE: Final = re.compile(
    rf"^(?P<name>[ \t]{{0,20}}[\w.-]{{0,80}}?{_SECRET_WORD}[\w.-]{{0,80}}[ \t]{{0,20}}[=:](?!//)[ \t]{{0,20}})"
    r"""(?P<value>(?!\[redacted\])(?:\\\r?\n[ \t]{0,200}|[^\s"'])(?:\\\r?\n|.)*)""",
    re.IGNORECASE | re.MULTILINE,
)
# A name that ends like that of a secret: azure.key, primaryKey, tls_key, AccountKey.
_ENDING_NAME: Final = re.compile(rf"(?<![\w.-])(?P<full>{_ENDING})(?P<is>{_IS}){_VALUE}")
# A line of a property file with a blank between name and value, and no sentence about it.
_SPACED: Final = re.compile(
    r"^(?P<front>[ \t]{0,20}\w[\w-]{0,80}(?:\.[\w-]{1,80}){1,8}[ \t]{1,20})"
    r"(?!(?:must|is|has|needs|should|cannot|may|was|does|differs|and|or)[ \t])(?P<value>[^\s=:].*)$",
    re.MULTILINE,
)
# Elements and attributes of XML.
_ELEMENT: Final = re.compile(
    rf"(?P<front><(?P<name>[\w.-]{{0,80}}?{_SECRET_WORD}[\w.-]{{0,80}})>)(?P<value>[^<]+)(?=</)"
    rf"""|(?P<front2>(?:name|key)=["'](?:{_ENDING}|[\w.-]{{0,80}}?{_SECRET_WORD}[\w.-]{{0,80}})["']"""
    r"""(?:>|\s{1,20}value=["']))(?P<value2>[^<"']+)""",
    re.IGNORECASE,
)
# user:password@ of an address; the user's name stays, because it helps to find what is wrong. A password with a / or a
# ? should be written otherwise, and is not always.
_ADDRESS: Final = re.compile(
    r"(?P<front>\b[a-z][a-z0-9+.-]{0,40}://[^\s/?#:@\"']{0,200}:)"
    r"(?P<value>[^\s/?#\"']+(?=@)|(?!\d{1,5}[/?#])[^\s@\"']{1,200}(?=@))",
    re.IGNORECASE,
)
# user:password@host:port without a scheme. A node of Redis Cluster is host:port@port.
_BARE_ADDRESS: Final = re.compile(
    r"(?P<front>(?<![\w.:/@-])[\w.-]{1,60}:)(?P<value>(?!\d{1,5}@)[^\s:@/\"',;=]{4,100})(?=@[\w.-]{1,100}:\d)"
)
# Of SQL.
_STATEMENT: Final = re.compile(
    r"(?P<front>\b(?:identified\s{1,9}by|password)\s{1,9})(?P<value>'(?:[^'\\\n]|\\.|''){1,200}')", re.IGNORECASE
)
# user/password@ of Oracle's addresses, and user:password as the value of a property.
_USER_AND: Final = re.compile(
    r"(?P<front>\bjdbc:oracle:[a-z]{1,10}:[^\s/@]{1,100}/)(?P<value>[^\s@]+)(?=@)"
    rf"|(?P<front2>(?:user|auth|login|userpass|userinfo){_IS}[^\s:=,;/@\"']{{1,100}}:)(?P<value2>[^\s,;\"'/]+)",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"(?P<front>\b(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_OPTION: Final = re.compile(
    rf"(?P<front>(?:^|[\s\"'])(?:--?[\w-]{{0,80}}{_SECRET_WORD}[\w-]{{0,80}}|--?[\w-]{{1,80}}(?:[-_]key|pass)"
    rf"|(?:--?)?(?:requirepass|masterauth))[ \t]+)(?P<value>[^\s-]{_TO_END}*)",
    re.IGNORECASE | re.MULTILINE,
)
# Of tools whose options have other names: the password of redis-cli -a, mysql -p, curl -u, sshpass -p. A value with an
# equals sign is a property of YCSB.
_TOOL: Final = re.compile(
    r"(?P<front>\b(?:redis|valkey)-(?:cli|benchmark)\b[^\n|;]{0,300}?\s-a[ \t]+"
    r"|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,300}?\s-p"
    r"|\b(?:mongo|mongosh|mongodump|cqlsh|sshpass)\b[^\n|;]{0,300}?\s-p[ \t]*"
    r"|\bcurl\b[^\n|;]{0,300}?\s(?:-u|--user)[ \t]+[\"']?[^\s:\"']{1,100}:)"
    rf"""(?P<value>(?:(?!=){_TO_END})+)(?![^\s"'\\])"""
)
# Values that are secret under any name: JSON web tokens, signatures of addresses, keys of Amazon and of files, and
# tokens of services and of Benchsite.
_SHAPE: Final = re.compile(
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*|(?<=[?&;]sig=)[A-Za-z0-9%/+=_-]{16,}"
    r"|(?<=[?&]Signature=)[A-Za-z0-9%/+=_-]{16,}|(?<=-Signature=)[A-Za-z0-9%/+=_-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza|ya29\.|dop_v1_|sk_live_)[A-Za-z0-9_-]{16,}"
    r"|(?<=https://)[A-Za-z0-9_-]{20,}(?=@)"
    r"|\bbs_[A-Za-z0-9]{8}_[A-Za-z0-9]{38}|\bbse_[0-9a-f]{64}|(?<=\bbsg_)[\w.-]{1,80}_[0-9a-f]{64}"
)
_PEM: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)

# Names that a team's admins list as harmless although they look secret, in lower case.
_allowed_names: ContextVar[frozenset[str]] = ContextVar("allowed_names", default=frozenset())


@contextmanager
def allow_names(names: Iterable[str]) -> Iterator[None]:
    """Within it the values under these names are not hidden."""
    token = _allowed_names.set(frozenset(name.lower() for name in names))
    try:
        yield
    finally:
        _allowed_names.reset(token)


def redact(text: str, secrets: Collection[str] = ()) -> str:
    """The text with every secret in it replaced, and these wherever they are; applying it again changes nothing."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)

    text = redact_keys(text)
    if "://" in text:
        text = _ADDRESS.sub(lambda match: match["front"] + HIDDEN, text)
    folded = text.casefold()
    if _CUE.search(folded) is None:
        return text

    for cues, pattern, replacement in _STEPS:
        if any(map(folded.__contains__, cues)):
            text = pattern.sub(replacement, text)

    return text


def find_secrets(properties: Mapping[str, str]) -> frozenset[str]:
    """The secrets in a client's properties, also as addresses write them."""
    values = [value for name, value in properties.items() if is_secret(name)]
    text = "\n".join(properties.values())
    values += [match["value"] for match in chain(_ADDRESS.finditer(text), _ASSIGNED.finditer(text))]
    forms = {*values, *(quote(value, safe="") for value in values), *map(unquote, values)}
    return frozenset(form for form in forms - {HIDDEN} if len(form) >= MIN_LENGTH)


def redact_keys(text: str) -> str:
    """Without private keys. As many lines are left."""
    if "-----BEGIN" not in text:
        return text
    return _PEM.sub(lambda match: HIDDEN + "\n" * match[0].count("\n"), text)


def _behind_front(match: re.Match[str]) -> str:
    """The groups `front` of the alternatives are kept, whichever matched."""
    return next(text for name, text in match.groupdict().items() if text and name.startswith("front")) + HIDDEN


def _without_key(match: re.Match[str]) -> str:
    if is_secret(match["full"]):
        return match["full"] + match["is"] + _hidden(match["value"])
    return match[0]


def _without_rest(match: re.Match[str]) -> str:
    if is_secret(match["front"].strip()):
        return match["front"] + HIDDEN
    return match[0]


def _hidden(value: str) -> str:
    """In the quotes of the value: in JSON it stays one."""
    quote = ""
    if value[:1] in "\"'" and value[:1] == value[-1:]:
        quote = value[0]
    return quote + HIDDEN + quote + "\n" * value.count("\n")


def _without_value(match: re.Match[str]) -> str:
    allowed_names = _allowed_names.get()
    if allowed_names and _full_name(match).lower() in allowed_names:
        return match[0]
    return match["name"] + _hidden(match["value"])


def _full_name(match: re.Match[str]) -> str:
    """With what stands before the secret's word."""
    front = re.search(r"[\w.-]*\Z", match.string[max(match.start() - 100, 0) : match.start()])
    word = re.match(r"[\w.-]*", match["name"])
    return (front[0] if front else "") + (word[0] if word else "")


def redact_beginning(text: str, longest: int) -> str:
    """The first `longest` characters, redacted.

    More than those is looked at: only the @ behind it tells that an address holds a password.
    """
    return redact(text[: longest + _BEYOND])[:longest]


def is_allowed(name: str) -> bool:
    """Whether an admin lists the property as harmless."""
    return name.lower() in _allowed_names.get()


def is_secret(name: str) -> bool:
    """Whether a property of this name holds a secret, or may."""
    lowered = name.lower()
    if lowered in HARMLESS or is_allowed(name):
        return False
    if lowered in REDIS_SECRETS or _SECRET_NAME.search(name):
        return True
    return lowered.endswith(_ENDINGS) and re.fullmatch(_ENDING, name) is not None


_WORDS: Final = ("pass", "pw", "secret", "token", "key", "cred", "string", "signature", "sas", "pat")
TOKENS: Final = (
    "eyj", "sig=", "signature=", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox",
    "aiza", "ya29.", "dop_v1_", "sk_live_", "https://",
    "bs_", "bse_", "bsg_",
)  # fmt: skip
TOOLS: Final = ("redis-", "valkey-", "mysql", "mariadb", "mongo", "cqlsh", "sshpass", "curl")
# Without one of its words a pattern matches nothing: looking for them is much faster.
_STEPS: Final = (
    (("user", "auth", "login", "jdbc:oracle"), _USER_AND, _behind_front),
    (("pass", "pwd", "secret", "token", "key", "cred", "string", "signature", "masterauth"), _OPTION, _behind_front),
    (("@",), _BARE_ADDRESS, _behind_front),
    (("password '", "identified"), _STATEMENT, _behind_front),
    (TOOLS, _TOOL, _behind_front),
    (("</", "value="), _ELEMENT, _behind_front),
    (("bearer", "basic"), _BEARER, _behind_front),
    (TOKENS, _SHAPE, HIDDEN),
    (_ENDINGS, _ENDING_NAME, _without_key),
    (_WORDS, _SPACED, _without_rest),
    (_WORDS, _LINE, _without_value),
    (_WORDS, _ASSIGNED, _without_value),
)
_CUE: Final = re.compile("|".join(sorted(map(re.escape, set(chain.from_iterable(cues for cues, _, _ in _STEPS))))))

"""Documents name files that exist, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMING_FILES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "developers" / "architecture.md",
    ROOT / "docs" / "developers" / "tests.md",
    *sorted((ROOT / "docs" / "developers" / "decisions").glob("*.md")),
]
NAMED_FILE = re.compile(
    r"`((?:\.ci|benchsite|deploy|docs|reports|runs|static|templates|workers)/[\w./-]*(?:/|\.\w+))[`:]"
)
PLACEHOLDER = re.compile(r"\b[A-Z]{4,}\b")  # SYSTEM.toml; README.md is no placeholder
LINK = re.compile(r"\]\(([^)\s]+)\)")


def relative(path):
    return str(path.relative_to(ROOT))


def anchors(document):
    """The anchors that hosting sites give to the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", re.sub(r"[`*]", "", heading)).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", NAMING_FILES, ids=relative)
def test_named_files_exist(document):
    names = [name for name in NAMED_FILE.findall(document.read_text("utf-8")) if not is_placeholder(name)]
    assert [name for name in names if not (ROOT / name).exists()] == []


def is_placeholder(name):
    return bool(PLACEHOLDER.search(name)) and not name.endswith("README.md")


@pytest.mark.parametrize("document", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(document):
    broken = []
    for link in LINK.findall(document.read_text("utf-8")):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []

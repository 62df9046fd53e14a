"""Output in scalars of YAML gives the numbers of the output itself, however the YAML was written."""

import json
import random

import pytest
import yaml

from runs.ycsb.block import Block
from runs.ycsb.file_grouping import group
from runs.ycsb.readers.tests.test_writers import client, read
from runs.ycsb.readers.yaml_lines import YamlLines

LINES = client(1)
STYLES = {"plain": None, "single": "'", "double": '"', "literal": "|", "folded": ">"}


def ansible(host: str, result: object, *, is_flow: bool = False) -> str:
    """As the callback plugins `yaml` and `default` with result_format=yaml print it."""
    text = yaml.dump(result, width=1000, indent=4, default_flow_style=is_flow)
    return f"ok: [{host}] => \n" + "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())
@pytest.mark.parametrize("width", [70, 80, 1000])
@pytest.mark.parametrize("shape", ["lines", "text", "entries"])
@pytest.mark.parametrize("is_flow", [False, True], ids=["block", "flow"])
def test_reads_yaml_of_each_style(style: str | None, width: int, shape: str, is_flow: bool):
    content = {
        "lines": {"changed": True, "stdout_lines": LINES},
        "text": {"rc": 0, "stdout": "\n".join(LINES)},
        "entries": [{"log": line, "stream": "stdout"} for line in LINES],
    }[shape]

    (run,) = read(yaml.dump(content, default_style=style, width=width, default_flow_style=is_flow)).runs

    assert (run.throughput_ops_s, len(run.status), run.properties["threadcount"]) == (1100, 6, "4")
    assert run.operations["READ"].count == 66_000


@pytest.mark.parametrize("is_flow", [False, True], ids=["block", "flow"])
def test_takes_hosts_of_one_time_for_one_run(is_flow: bool):
    results = {f"loader{number}": {"out.stdout_lines": client(number)} for number in (1, 2)}
    text = "".join(ansible(host, result, is_flow=is_flow) for host, result in results.items())

    (run,) = group([read(text)])

    assert [client.summary.throughput_ops_s for client in run.clients if client.summary] == [1100, 1200]


def test_literal_block_stays_as_it_is():
    text = "job:\n  stdout: |-\n" + "".join(f"    {line.rstrip()}\n" for line in LINES)
    (run,) = read(text).runs
    assert (run.throughput_ops_s, len(run.status)) == (1100, 6)


@pytest.mark.parametrize(
    "text",
    [
        # One collection for each line, as an array of a program is printed.
        "".join(f"- {{at: {second}, line: '{line.strip()}'}}\n" for second, line in enumerate(LINES)),
        # By hand: an entry in a line, keys between quotes, a comment, another key behind it.
        "run: {'rc': 0,\n  'out': [  # of one client\n" + "".join(f"    '{line}',\n" for line in LINES)
        + "  ], 'err': []}\nended: {}\n",
        # Another collection in front, and the client's own brackets behind it.
        "facts: [{cores: 4}, {cores: 8}]\nout: ['" + LINES[0] + "']\n" + "\n".join(LINES[1:]) + "\n",
        "- ['" + "', '".join(LINES[:4]) + "'\n" + "\n".join(LINES[4:]) + "\n",
    ],
    ids=["lines", "by hand", "own lines behind", "never closed"],
)  # fmt: skip
def test_reads_collections_between_brackets(text: str):
    (run,) = read(text).runs
    assert (run.throughput_ops_s, len(run.status), run.properties["threadcount"]) == (1100, 6, "4")
    assert run.operations["READ"].count == 66_000


def test_cut_scalar_is_read_to_its_end():
    text = yaml.dump({"stdout_lines": LINES})
    cut = text[: text.index("- '[READ], 95th")]

    (run,) = read(cut.rstrip().removesuffix("'")).runs

    assert run.operations["READ"].count == 66_000


@pytest.mark.parametrize("length", range(0, 400, 40))
def test_long_json_is_no_yaml(length: int):
    """Whichever part of a line the beginning of the file that is looked at ends in."""
    entries = [json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in client(1, runtime_s=3000)]
    file = read(json.dumps({"log": "x" * length}) + "\n" + "\n".join(entries) + "\n")

    assert [len(run.status) for run in file.runs] == [300]


@pytest.mark.parametrize("seed", range(20))
def test_any_text_comes_out_of_any_yaml(seed: int):
    """Whatever is in the lines, wherever the blocks of the file end."""
    chance = random.Random(seed)
    characters = "ab [],.:'\"\\#-0\t\N{LATIN SMALL LETTER E WITH ACUTE}\N{EURO SIGN}"
    lines = ["".join(chance.choices(characters, k=chance.randint(20, 200))).strip() for _ in range(20)]
    quoted = [line for line in lines if line[0] not in "ab0"]
    style, is_flow = chance.choice("'\""), chance.random() < 0.5
    text = yaml.dump(
        {"stdout_lines": quoted}, width=chance.randint(30, 300), default_style=style, default_flow_style=is_flow
    )
    written, reader, taken = text.splitlines(keepends=True), YamlLines(), b""
    while written:
        count = chance.randint(1, 4)
        taken += reader.feed(Block("".join(written[:count]).encode(), 1)).data
        written = written[count:]

    assert [line for line in taken.decode().splitlines() if line][not is_flow :] == quoted

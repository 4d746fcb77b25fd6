"""Whatever a file holds, a scan of it ends well: see `scanning.scanned`."""

from __future__ import annotations

import codecs
import json
import random
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing import mutations
from tests.fuzzing.scanning import few, scanned

if TYPE_CHECKING:
    from collections.abc import Callable

FIXTURES = Path(__file__).parents[2] / "fixtures"
SCRIPTS = sorted(FIXTURES.glob("TDR[1-9]*/*.py"))
SKELETON = """
import torch
from torch import nn
{module}

class Net(nn.Module):
    {body}

    def __init__(self, width={default}):
        super().__init__()
        self.fc = nn.Linear(4, 2)
        self.extra = {expression}

    def forward(self, x):
        {forward}
        return self.fc(x)

{decorated}
def evaluate(model, loader):
    for x, y in loader:
        {evaluation}
        print(model(x).argmax(1) == y)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr={argument})
loader = torch.utils.data.DataLoader(dataset, batch_size=8)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        {loop}
        loss.backward()
        optimizer.step()
    evaluate(model, loader)
    torch.save({saved}, "model.pt")
"""
STATEMENTS = ("module", "body", "forward", "evaluation", "loop")
EXPRESSIONS = ("default", "expression", "argument", "saved")
PLACES = (*STATEMENTS, *EXPRESSIONS, "decorated")
NAMES = ("model", "optimizer", "loss", "loader", "x", "y", "torch", "nn", "self", "Net", "evaluate", "epoch")


def laid(place: str, piece: str) -> str:
    """The training script with a piece of source at one of its places."""
    parts = dict.fromkeys(STATEMENTS, "pass") | dict.fromkeys(EXPRESSIONS, "1") | {"decorated": ""}
    if place in STATEMENTS:
        row = next(row for row in SKELETON.splitlines() if f"{{{place}}}" in row)
        indent = " " * (len(row) - len(row.lstrip()))
        parts[place] = textwrap.indent(piece, indent).removeprefix(indent) or "pass"
    elif place == "decorated":
        parts[place] = "@(" + piece.replace("\n", " ") + ")"
    else:
        parts[place] = "(" + piece.replace("\n", " ") + ")"
    text = SKELETON
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


@st.composite
def generated(draw: st.DrawFn) -> str:
    """A training script with generated Python somewhere in it, whose names are often those of the script."""
    import hypothesmith  # noqa: PLC0415 - it takes seconds, which nobody waits for who runs other tests
    import libcst  # noqa: PLC0415 - as hypothesmith

    place = draw(st.sampled_from(PLACES))
    kind: Any = libcst.Module if place in STATEMENTS else libcst.BaseExpression
    if place in STATEMENTS:
        kind = draw(
            st.sampled_from([libcst.Module, libcst.FunctionDef, libcst.ClassDef, libcst.For, libcst.With, libcst.Try])
        )
        kind = draw(
            st.sampled_from([kind, libcst.If, libcst.While, libcst.Match, libcst.Assign, libcst.AugAssign, libcst.Del])
        )
    else:
        kind = draw(
            st.sampled_from(
                [libcst.Call, libcst.Lambda, libcst.ListComp, libcst.FormattedString, libcst.BinaryOperation]
            )
        )
    piece = draw(hypothesmith.from_node(kind, auto_target=False))
    chance = random.Random(draw(st.integers(0, 2**32)))
    return laid(place, _with_known_names(piece, chance))


def _with_known_names(piece: str, chance: random.Random) -> str:
    """Names that mean nothing become those of the script: a generator rarely hits upon them."""
    import libcst as cst  # noqa: PLC0415 - as above

    class Renaming(cst.CSTTransformer):
        def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:  # noqa: ARG002, N802
            return updated_node.with_changes(value=chance.choice(NAMES)) if chance.random() < 0.7 else updated_node

    try:
        return cst.parse_module(piece).visit(Renaming()).code
    except Exception:  # noqa: BLE001 - what it cannot parse stays as it is
        return piece


@few(3)
@given(generated())
def test_any_python_in_a_training_script_is_looked_at(source: str) -> None:
    scanned({"train.py": source.encode(errors="surrogatepass")})


CHANCES = st.integers(0, 2**32).map(random.Random)
MUTATIONS: dict[str, Callable[[str, random.Random], str]] = {
    "statements": mutations.statements,
    "expressions": mutations.expressions,
    "tokens": mutations.tokens,
    "truncated": mutations.truncated,
}


@pytest.mark.parametrize("name", MUTATIONS)
@few(5)
@given(script=st.sampled_from(SCRIPTS), chance=CHANCES)
def test_any_accident_to_a_script_is_survived(name: str, script: Path, chance: random.Random) -> None:
    source = script.read_text(encoding="utf-8")
    scanned({"train.py": MUTATIONS[name](source, chance).encode(errors="surrogatepass")})


@few(5)
@given(scripts=st.tuples(*[st.sampled_from(SCRIPTS)] * 2), chance=CHANCES)
def test_files_that_import_each_other_and_are_mixed_up_are_survived(
    scripts: tuple[Path, Path], chance: random.Random
) -> None:
    one, other = (script.read_text(encoding="utf-8") for script in scripts)
    crossed = mutations.crossed(one, other, chance)
    joined = chance.choice(["from other import *\n", "import other\n", "from other import train, Net, model\n", ""])
    back = chance.choice(["from train import *\n", "import train\n", "from train import model\n", ""])
    scanned({"train.py": (joined + crossed).encode(), "other.py": (back + other).encode()})


PIECES = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda text: text.encode(errors="surrogatepass")),
    st.sampled_from(
        [
            codecs.BOM_UTF8,
            codecs.BOM_UTF16_LE,
            codecs.BOM_UTF32_BE,
            b"\0",
            b"\x0c",
            b"\r",
            b"\r\n",
            b"\n\r",
            b"\x1a",
            b"\x85",
            b"\xff",
            b"\xed\xa0\x80",
            "\u2028".encode(),
            "\ufeff".encode(),
            b"# coding: latin-1\n",
            b"# coding: utf-7\n",
            b"x" * 9_000,
            b"# -*- coding: utf-16 -*-\n",
            b"# vim: set fileencoding=cp1252 :\n",
            b"# coding: idna\n",
            b"# coding: unicode_escape\n",
            b"# coding: punycode\n",
            b"# coding: utf-8-sig\n",
            b"# coding: undefined\n",
            b"import torch\n",
            b"loss.backward()\n",
            b"\t",
            b"        ",
            b"(" * 150,
            b"-" * 3_000,
            b"x." * 500 + b"x\n",
            b"'''",
            b'"',
            b"\\\n",
            b"# noqa",
            b"# torch-doctor: ignore[",
            b"9" * 5_000,
        ]
    ),
)


@few(8)
@given(
    script=st.sampled_from(SCRIPTS),
    pieces=st.lists(st.tuples(st.floats(0, 1), PIECES), min_size=1, max_size=5),
    first=st.one_of(st.just(b""), PIECES),
)
def test_any_bytes_in_a_file_are_survived(script: Path, pieces: list[tuple[float, bytes]], first: bytes) -> None:
    raw = script.read_bytes()
    for where, piece in pieces:
        at = int(where * len(raw))
        raw = raw[:at] + piece + raw[at:]
    scanned({"train.py": first + raw, "odd.py": first + b"import torch\n" + b"".join(piece for _, piece in pieces)})


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("code"), st.just("torch")
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
MAGICS = st.sampled_from(
    [
        "%matplotlib inline\n",
        "%%bash\nls\n",
        "%%time\n",
        "!pip install torch\n",
        "x = !ls\n",
        "x = %time f(\n",
        "?x\n",
        "x??\n",
        "%%\n",
        "%",
        "!",
        "!!ls",
        "get_ipython().system('ls')\n",
        "    indented = 1\n",
        "%%capture out\nx = (\n",
        "await x\n",
        "return x\n",
        "\\\n%x\n",
    ]
)


def _notebook(script: str, magic: str, chance: random.Random) -> dict[str, Any]:
    rows = script.splitlines(keepends=True)
    cells: list[dict[str, Any]] = []
    while rows:
        size = chance.randint(1, 12)
        source = "".join(rows[:size])
        cells.append({"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": source})
        del rows[:size]
    cells.insert(
        chance.randint(0, len(cells)), {"cell_type": "code", "source": magic, "outputs": ["x" * 10_000], "metadata": {}}
    )
    info = {"kernelspec": {"language": "python"}, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": info, "nbformat": 4, "nbformat_minor": chance.randint(0, 6)}


def _spoilt(value: Any, chance: random.Random, odd: Any) -> Any:
    """The value with something else at one of its places, or without it."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        changed = {**value, key: _spoilt(value[key], chance, odd)}
        if chance.random() < 0.1:
            del changed[key]
        return changed
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        return [*value[:at], _spoilt(value[at], chance, odd), *value[at + 1 :]]
    return odd


@few(8)
@given(script=st.sampled_from(SCRIPTS), magic=MAGICS, odd=JSON, chance=CHANCES, cut=st.booleans())
def test_any_notebook_is_survived(script: Path, magic: str, odd: Any, chance: random.Random, cut: bool) -> None:
    content = _notebook(script.read_text(encoding="utf-8"), magic, chance)
    for _ in range(chance.randint(0, 3)):
        content = _spoilt(content, chance, odd)
    text = json.dumps(content, ensure_ascii=chance.random() < 0.5)
    if cut and chance.random() < 0.3:
        text = mutations.truncated(text, chance)
    scanned({"train.ipynb": text.encode(errors="surrogatepass")})

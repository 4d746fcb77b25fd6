"""IPython's own syntax is blanked, Python stays as it is."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_doctor.sources.cells import blank_magics, is_foreign


def blanked(source: str) -> list[str]:
    return blank_magics(source.split("\n"))


@pytest.mark.parametrize(
    "line", ["%matplotlib inline", "!pip install torch", "?torch", "??torch", "torch.nn?", "nn.Linear??", "%timeit?"]
)
def test_a_line_that_is_not_python_is_blanked(line: str) -> None:
    assert blanked(f"a = 1\n{line}\nb = 2") == ["a = 1", "", "b = 2"]


def test_in_a_block_a_magic_leaves_a_statement() -> None:
    assert blanked("for x in y:\n    !ls\n") == ["for x in y:", "    pass", ""]


def test_a_continued_shell_line_is_blanked_to_its_end() -> None:
    assert blanked("!pip install \\\n  torch \\\n  rich\nx = 1") == ["", "", "", "x = 1"]


@pytest.mark.parametrize("line", ["files = !ls", "a, b = %sql select 1", "x.y[0] = !cat file"])
def test_an_assigned_magic_gives_none(line: str) -> None:
    (left,) = blanked(line)
    assert left == line.split("=", 1)[0] + "= None"


def test_a_timed_statement_stays_at_its_column() -> None:
    source = "    %time train(model)"
    (left,) = blanked(source)
    assert left.index("train") == source.index("train")
    assert isinstance(ast.parse(left.strip()).body[0], ast.If)


def test_the_value_of_a_timed_statement_stays() -> None:
    (left,) = blanked("loss = %time train(model)")
    assert left == "loss =       train(model)"


def test_options_of_timeit_are_no_statement() -> None:
    assert blanked("%timeit -n 10 f()") == [""]


@pytest.mark.parametrize(
    "source",
    [
        'x = ("%d"\n     % y)',
        'x = """\n%matplotlib inline\n!ls\nwhy?\n"""',
        "x = y \\\n  % z",
        "x = a % b",
        "x = 'it''s' != y",
        "# why?\nx = 1",
        "x = [\n  # closed ] in a comment\n  1\n  % 2]",
        "s = 'a\\\n% b'",
        "f = '''a''' '''\n%b\n'''",
    ],
)
def test_python_that_looks_like_a_magic_stays(source: str) -> None:
    assert "\n".join(blanked(source)) == source
    ast.parse(source)


@pytest.mark.parametrize("source", ["%%bash\nls", "%%html\n<b>", "\n%%writefile a.py\nx", "%%javascript\nx"])
def test_a_cell_in_another_language_is_foreign(source: str) -> None:
    assert is_foreign(source)


@pytest.mark.parametrize("source", ["%%time\nx = 1", "%%timeit -n 1\nf()", "%%capture out\nf()"])
def test_a_cell_that_is_only_timed_or_captured_is_python(source: str) -> None:
    assert not is_foreign(source)
    assert blanked(source)[0] == ""
    assert blanked(source)[1] == source.split("\n")[1]


@given(st.text(alphabet="ab %!?=\\'\"()[]#\n", max_size=80))
def test_rows_are_kept(source: str) -> None:
    assert len(blanked(source)) == len(source.split("\n"))


@given(st.text(alphabet="ab %!?=\\'\"()[]#\n", max_size=40))
def test_valid_python_is_untouched(source: str) -> None:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return
    assert "\n".join(blanked(source)) == source

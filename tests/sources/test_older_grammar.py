import ast
from textwrap import dedent

import pytest

from torch_doctor.sources.older_grammar import MOST_ROUNDS, in_newer_grammar


def row_refused(text: str) -> int:
    with pytest.raises(SyntaxError) as refused:
        ast.parse(text)
    return refused.value.lineno or 0


def newer(text: str) -> str | None:
    return in_newer_grammar(text, row_refused(text))


@pytest.mark.parametrize(
    "statement",
    [
        'print "loss", loss.item()',
        "print loss,",
        'print "%d: %f" % (\n    epoch,\n    loss)',
        'if epoch: print "first"',
        "x = 1; print x",
        "try:\n    load()\nexcept IOError, error:\n    pass",
        "try:\n    load()\nexcept (IOError, OSError), error:\n    pass",
        'raise ValueError, "no file " + path',
        "if a <> b: pass",
        "n = 10L",
        "n = 0xFFL",
        "x.cuda(async=True)",
        "x.cuda(0, async=True)",
        "x.cuda( async = True, device=0)",
    ],
)
def test_what_python_2_allowed_is_read_with_every_row_and_column_in_place(statement: str) -> None:
    read = newer(statement)
    assert read is not None
    ast.parse(read)
    assert [len(row) for row in read.split("\n")] == [len(row) for row in statement.split("\n")]


def test_what_a_print_statement_prints_is_still_evaluated() -> None:
    tree = ast.parse(newer('print "loss", loss.data[0]') or "")
    assert "loss.data[0]" in ast.unparse(tree)


def test_several_constructs_in_one_file_are_all_read() -> None:
    text = dedent(
        """
        for epoch in range(10L):
            print "epoch", epoch
            x = x.cuda(async=True)
            print x.sum()
        """
    )
    assert newer(text) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "class = 3",
        "def f(:\n    pass",
        "x = (1,\ny = 2",
        "<<<<<<< HEAD\nx = 1",
        "    x = 1\n  y = 2",
        "exec code",
        "print loss if",
    ],
)
def test_what_no_python_reads_is_left_as_it_is(statement: str) -> None:
    assert newer(statement) is None


def test_a_file_of_too_many_places_is_given_up() -> None:
    assert newer("\n".join(f"x = {n}L" for n in range(MOST_ROUNDS + 2))) is None
    assert newer("\n".join("print x" for _ in range(MOST_ROUNDS + 2))) is not None

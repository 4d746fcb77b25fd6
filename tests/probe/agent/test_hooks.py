"""Functions of the script that are written by value, with the builtins that their code names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

PICKLES = """
import builtins, copy, pickle
import torch

def total(rows):
    kept, found = [], 0
    for row in rows:
        found += row
        kept.append(found)
    return kept

used = [getattr(builtins, name) for name in total.__code__.co_names if hasattr(builtins, name)]
assert all(pickle.loads(pickle.dumps(each)) == copy.deepcopy(each) == each for each in used)
print("pickled", len(used))
"""


def test_what_rewritten_code_calls_is_pickled_by_its_name(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", PICKLES)
    err = run("scan", "train.py", "--probe", "--isolated", "--probe-output").err
    assert "fails" not in err
    assert "pickled 0" not in err
    assert "pickled" in err

"""Arrays of files that are not there: how many sides they have, and how long one has to be, by what does not take them."""

from __future__ import annotations

import ast
import re
from math import prod
from typing import TYPE_CHECKING

from torch_doctor.probe.lessons.lesson import Lesson, numbers, parsed

if TYPE_CHECKING:
    from torch_doctor.probe.lessons.lesson import Failure
    from torch_doctor.trace import StandIn

MADE = re.compile(r"random numbers (\d+(?:×\d+)*)$|(\d+) synthetic rows for each of .*?(?: of shape (\d+(?:×\d+)*))?$")
SIDES = {1: (), 2: (16,), 3: (20, 16), 4: (28, 32, 36), 5: (12, 14, 16, 18)}
"""Sides behind the rows, by how many there are: of several each has another length, so that errors tell which is meant."""
MOST, FEWEST = 4_000_000, 32  # numbers of an array, and rows
INDEXED = re.compile(r"array is \d-dimensional, but (\d) were indexed|too many indices for tensor of dimension")
UNPACKED = re.compile(r"not enough values to unpack \(expected (\d), got \d\)")
ORDERED = re.compile(r"input\.dim\(\) = \d is not equal to len\(dims\) = (\d)")
ENDINGS = (".npy", ".npz", ".txt", ".csv", ".data", ".dat", ".pt", ".pth")
TARGETS = 3  # columns of a table that are none of the inputs, at most
LAYERS = re.compile(
    r"or (\d)D \(batched\) input to conv|expected (\d)D input \(got|RNN: Expected input to be 2D or (\d)D"
    r"|LSTM: Expected input to be 2D or (\d)D|GRU: Expected input to be 2D or (\d)D"
)
LENGTH = re.compile(
    r"expected input\[[\d, ]+\] to have (?P<want>\d+) channels, but got (?P<got>\d+)"
    r"|cannot be multiplied \(\d+x(?P<got1>\d+) and (?P<want1>\d+)x"
    r"|must be equal to input_size\. Expected (?P<want2>\d+), got (?P<got2>\d+)"
)


def read(failure: Failure) -> Lesson | None:
    """What the array that the line reads has to be, else the only one."""
    made = [
        each for each in failure.guessed() if MADE.match(each.how) and each.what.removesuffix(".gz").endswith(ENDINGS)
    ]
    made.sort(key=lambda each: not failure.feeds(each))
    if not made or (len(made) > 1 and not failure.feeds(made[0])):
        return None
    shape = _shape(made[0])
    wanted = _more_sides(failure, shape) or _longer(failure, shape)
    if not wanted or wanted == shape:
        return None
    words = f"`{made[0].what}` is an array of shape {'×'.join(map(str, wanted))}"
    return Lesson("array", made[0].what, wanted, words)


def _shape(stand_in: StandIn) -> list[int]:
    found = MADE.match(stand_in.how)
    if found is None:
        return []
    return numbers(found[1] or found[3] or "") or [int(found[2]), *SIDES[2]]


def _more_sides(failure: Failure, shape: list[int]) -> list[int]:
    """A shape of as many sides as an index, an unpacking, a permutation or a layer takes."""
    found = INDEXED.search(failure.words) or ORDERED.search(failure.words) or LAYERS.search(failure.words)
    if found is None and ("shape" in failure.line or "size(" in failure.line):
        found = UNPACKED.search(failure.words)
    count = int(next(filter(None, found.groups()), "0")) if found is not None else 0
    if "axes don't match array" in failure.words:
        count = max(_axes(failure), len(shape) + 1)  # of one row, perhaps
    if count <= len(shape) or count not in SIDES:
        return []
    return [max(FEWEST, min(shape[0], MOST // prod(SIDES[count]))), *SIDES[count]]


def _axes(failure: Failure) -> int:
    """How many axes the line puts into another order."""
    for node in ast.walk(parsed(failure.line) or ast.Pass()):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "transpose":
            given = node.args[-1:] if node.args and isinstance(node.args[-1], (ast.Tuple, ast.List)) else node.args
            parts = [
                part for each in given for part in (each.elts if isinstance(each, (ast.Tuple, ast.List)) else [each])
            ]
            return len(parts)
    return 0


def _longer(failure: Failure, shape: list[int]) -> list[int]:
    """The shape with the side that a layer does not take, or does not take the most of."""
    found = LENGTH.search(failure.words)
    if found is None:
        return []
    given = {key.rstrip("12"): int(value) for key, value in found.groupdict().items() if value}
    for place in range(len(shape) - 1, 0, -1):
        if shape[place] == given["got"]:
            return [*shape[:place], given["want"], *shape[place + 1 :]]
    left_out = shape[-1] - given["got"] if len(shape) == len(SIDES[2]) + 1 else 0  # `rows[:, :-1]`
    return [shape[0], given["want"] + left_out] if 0 < left_out <= TARGETS else []

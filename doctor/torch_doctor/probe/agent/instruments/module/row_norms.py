"""Which tensors are normalised by what is computed over all rows: in the source of a model, and while a copy runs."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

STATISTICS = {"mean": 1, "sum": 1, "std": 1, "var": 1, "amax": 1, "amin": 1, "norm": 2}  # where the dimension is given
NORMALIZE = "normalize"
PLACES = {**STATISTICS, NORMALIZE: 2}
PASSED_ON = frozenset(
    ("add", "__add__", "sqrt", "clamp", "clamp_min", "unsqueeze", "detach", "abs", "expand", "expand_as")
)
NORMS = frozenset(("sub", "__sub__", "div", "__truediv__", "true_divide"))


def written_in(tree: ast.AST) -> bool:
    """Whether something is computed over dimension 0 in a file."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(_name(call) in PLACES and _over_rows(call) for call in calls)


def _name(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _over_rows(node: ast.Call) -> bool:
    given = [*node.args, *(each.value for each in node.keywords if each.arg in {"dim", "axis"})]
    return any(isinstance(each, ast.Constant) and each.value == 0 for each in given)


class Norm(NamedTuple):
    """What was normalised, what came of it, and the frame in which it was."""

    given: Any
    result: Any
    site: Any


class Norms:
    """Follows the functions of torch that run, and keeps the norms over so many rows; of one in two steps, the second."""

    def __init__(self, torch: Any, rows: int) -> None:
        self._torch = torch
        self._rows = rows
        self._statistics: dict[int, Any] = {}
        self.found: dict[int, Norm] = {}

    def ran(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], result: Any, site: Any) -> None:
        """A function of torch gave a result; `site` says where, when it is asked."""
        if not args or not isinstance(result, self._torch.Tensor):
            return
        given = args[0]
        rows = isinstance(given, self._torch.Tensor) and given.dim() > 0 and len(given) == self._rows
        over = rows and name in PLACES and _dim(args, keywords, PLACES[name]) in (0, (0,))
        passed_on = name in PASSED_ON and any(id(each) in self._statistics for each in args)
        if passed_on or (over and name != NORMALIZE):
            self._statistics[id(result)] = result
        used = rows and name in NORMS and len(args) > 1 and id(args[1]) in self._statistics
        if used or (over and name == NORMALIZE):
            self._keep(given, result, site())

    def _keep(self, given: Any, result: Any, site: Any) -> None:
        before = self.found.pop(id(given), None)
        if site is not None:
            self.found[id(result)] = Norm(given if before is None else before.given, result, site)


def _dim(args: tuple[Any, ...], keywords: dict[str, Any], place: int) -> Any:
    dim = keywords.get("dim", keywords.get("axis", args[place] if place < len(args) else None))
    return tuple(dim) if isinstance(dim, (tuple, list)) else dim if isinstance(dim, int) else None

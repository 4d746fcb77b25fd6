"""The gradient that each term of a loss gives each module, for the first backward pass of each place."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...nodes import last_name
from ...watching.graphs import MOST
from ..instrument import Instrument as Base
from .terms import ADDING, JOINING, leaves_of, terms_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...scopes import Here
    from ...watching.watch import Watch
    from .terms import Operand

PLACES = 4  # backward passes, each of another place, that are looked at
TERMS = 8  # terms of one loss
PARTS = 40  # modules
LARGEST = 50_000_000  # numbers of all gradients of a term, which lie in memory beside those of the pass
OTHER = "other tensors"
HOOKS = ("register_hook", "retain_grad", "register_post_accumulate_grad_hook")
HOOKED = "a tensor has a hook, which would be called more often"
SAVED = "what autograd saves has hooks, as with checkpointing"
OWN = "its graph has a custom function, a checkpoint, compiled code or module hooks"
UNKNOWN = "it is not known what is added up to it"
SHARED = "one of its terms is computed from another one"
SPREAD = "several processes share the gradients"
SCALED = "a gradient scaler multiplies it"
SEVERAL = "it is not one number"
MANY = f"it has more than {TERMS} terms"
ONCE = "autograd does not go through its graph twice"
LARGE = "its gradients are too large to be computed once more"


class NotMeasured(Exception):  # noqa: N818 - it is no error
    """Nothing is computed; the text says why."""


class TermNorms(NamedTuple):
    """A term as the source has it, and the norms of its gradient by module: no entry where it reaches none."""

    term: str
    norms: dict[str, float]


class LossTerms(NamedTuple):
    """The terms of the loss of one backward pass, and the norms of the parameters by module."""

    site: int
    loss: str
    rows: list[TermNorms]
    weights: dict[str, float]


class Instrument(Base):
    """Computes the gradient of each term with `autograd.grad` before the script's own pass, which stays as it is."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.tables: list[LossTerms] = []
        self.skipped: list[str] = []
        self._sites: set[int] = set()
        self._names: dict[int, tuple[Any, str]] = {}
        self._hooks = ""
        torch = watch.torch
        for name in HOOKS:
            watch.patches.replace(torch.Tensor, name, self._noting(HOOKED))
        watch.patches.replace(torch.autograd.graph.saved_tensors_hooks, "__enter__", self._noting(SAVED))
        watch.term_gradients = self

    def _noting(self, what: str) -> Any:
        def wrap(original: Any) -> Any:
            def registers(*arguments: Any, **keywords: Any) -> Any:
                if not self.watch.recorder.quiet:
                    self._hooks = self._hooks or what
                return original(*arguments, **keywords)

            return registers

        return wrap

    def before_forward(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], here: Here) -> None:
        """A module is called as a whole: note what the script calls it."""
        if id(module) not in self._names and len(self._sites) < PLACES:
            name = self.watch.recorder.caller(here.site).removesuffix(".forward")
            plain = name != "self" and all(each.isidentifier() for each in name.split("."))
            name = name if plain else type(module).__name__
            taken = [told for _, told in self._names.values() if told.partition(" ")[0] == name]
            self._names[id(module)] = (module, f"{name} ({len(taken) + 1})" if taken else name)

    def before_backward(self, losses: list[Any], here: Here) -> None:
        """A loss goes backward: measure its terms, at the first pass of a place."""
        if here.site in self._sites or len(self._sites) >= PLACES:
            return
        self._sites.add(here.site)
        loss = losses[0]
        name = self.watch.recorder.owner(here.site, "backward") or "the loss"
        try:
            with self.watch.unwatched():
                table = self._table(losses, loss, name, here)
        except (NotMeasured, RuntimeError, TypeError) as error:
            reason = error if isinstance(error, NotMeasured) else ONCE
            self.skipped.append(f"`{name}`: {reason}")
            self.watch.recorder.note(f"the terms of `{name}` were not measured: {reason}")
            return
        self.tables.append(table)
        for number, row in enumerate(table.rows):
            for module in table.weights:
                self.watch.recorder.event(
                    "TermGradient",
                    here,
                    loss=name,
                    number=number,
                    term=row.term,
                    module=module,
                    norm=row.norms.get(module),
                    weights=table.weights[module],
                )

    # --- what is measured ---

    def _table(self, losses: list[Any], loss: Any, name: str, here: Here) -> LossTerms:
        torch = self.watch.torch
        self._check(losses, loss)
        terms = [
            each for each in terms_of(loss.grad_fn, self._is_sum) if not each.operand.plain and each.operand.value != 0
        ]
        terms.reverse()
        whole = len(terms) < 2  # noqa: PLR2004 - one term is the loss
        leaves = leaves_of(loss.grad_fn)
        if leaves is None or any(each.leaves is None for each in terms):
            raise NotMeasured(UNKNOWN if leaves is not None and any(each.node is None for each in terms) else OWN)
        if len(terms) > TERMS:
            raise NotMeasured(MANY)
        if _overlap([each.node for each in terms if each.node is not None]):
            raise NotMeasured(SHARED)
        leaves = [each for each in leaves if each.requires_grad and not each.is_sparse]
        if sum(each.numel() for each in leaves) > LARGEST:
            raise NotMeasured(LARGE)
        found = self._parts(leaves)
        parts = [found.get(id(each), OTHER) for each in leaves]
        devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
        rows: list[TermNorms] = []
        with torch.random.fork_rng(devices=devices):
            if whole:
                rows.append(TermNorms(name, self._norms(loss, None, leaves, parts)))
            else:
                names = self._spelled([each.operand for each in terms])
                edges = [each.edge(torch) for each in terms if each.node is not None]
                told = torch.autograd.grad(loss, edges, retain_graph=True, allow_unused=True) if edges else ()
                factors = iter(zip(edges, told, strict=True))
                for term, spelled in zip(terms, names, strict=True):
                    edge, factor = next(factors) if term.node is not None else (None, None)
                    rows.append(TermNorms(spelled, {} if factor is None else self._norms(edge, factor, leaves, parts)))
        weights = dict.fromkeys([*found.values(), *parts], 0.0)
        for each, part in zip(leaves, parts, strict=True):
            weights[part] = math.hypot(weights[part], self._norm(each))
        return LossTerms(here.site, name, rows, weights)

    def _check(self, losses: list[Any], loss: Any) -> None:
        """Whether nothing but time is lost where the graph is gone through once more."""
        torch, watch = self.watch.torch, self.watch
        if len(losses) != 1 or loss.numel() != 1 or loss.grad_fn is None:
            raise NotMeasured(SEVERAL)
        if self._hooks:
            raise NotMeasured(self._hooks)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            raise NotMeasured(SPREAD)
        if watch.scaling.built or watch.optimizers.scaled is not None:
            raise NotMeasured(SCALED)

    def _norms(self, of: Any, factor: Any, leaves: list[Any], parts: list[str]) -> dict[str, float]:
        """The norm of the gradient of a term, by module."""
        if not leaves:
            return {}
        found = self.watch.torch.autograd.grad(
            [of], leaves, grad_outputs=[factor], retain_graph=True, allow_unused=True
        )
        norms: dict[str, float] = {}
        for gradient, part in zip(found, parts, strict=True):
            if gradient is not None:
                norms[part] = math.hypot(norms.get(part, 0.0), self._norm(gradient))
        return norms

    def _norm(self, tensor: Any) -> float:
        values = tensor.detach()
        values = values.coalesce().values() if values.is_sparse else values
        return float((values.abs() if values.is_complex() else values).double().norm())

    # --- what it is called ---

    def _parts(self, leaves: list[Any]) -> dict[int, str]:
        """The module that each tensor is part of, by its id: a model where it is one piece, else the part of it."""
        found: dict[int, str] = {}
        wanted = {id(each) for each in leaves}
        for module, name in self._names.values():
            own = [
                (path, each) for path, each in module.named_parameters() if id(each) in wanted and id(each) not in found
            ]
            paths = [path.split(".")[:-1] for path, _ in own]
            shared = 0
            while len({tuple(path[: shared + 1]) for path in paths}) == 1 and all(len(path) > shared for path in paths):
                shared += 1
            split = {tuple(path[: shared + 1]) for path in paths}
            for (_, each), path in zip(own, paths, strict=True):
                inner = path[: shared + 1] if len(split) <= PARTS else path[:shared]
                found[id(each)] = ".".join([name, *inner])
        return found

    def _spelled(self, operands: list[Operand]) -> list[str]:
        """The terms as the source has them; where several are called the same, with a number."""
        names = [self._text(each) for each in operands]
        counted: dict[str, int] = {}
        told = []
        for name in names:
            counted[name] = counted.get(name, 0) + 1
            told.append(f"{name} ({counted[name]})" if names.count(name) > 1 else name)
        return told

    def _is_sum(self, site: int, term: bool) -> bool:  # noqa: FBT001 - as terms are told
        """Whether the expression at a site adds up by itself, and calls nothing that does; a sum over a loop is one term."""
        statement = self._statement(site)
        node = statement.value if isinstance(statement, ast.Expr) else None
        if term and isinstance(node, ast.Call) and isinstance((*node.args, None)[0], ast.GeneratorExp):
            return False
        return next(_operands(statement, 0), None) is not None

    def _text(self, operand: Operand) -> str:
        """The expression of an operand of a sum."""
        return next(_operands(self._statement(operand.site), operand.place), "a term")

    def _statement(self, site: int) -> ast.stmt | None:
        """The expression or assignment at a site."""
        span = self.watch.recorder.span(site)
        rows = [row.encode() for row in self.watch.recorder.sites.lines(span.path)[span.row - 1 : span.end_row]]
        if not rows or span.column < 0:
            return None
        rows[-1] = rows[-1][: span.end_column]
        rows[0] = rows[0][span.column :]
        text = b" ".join(row.strip() for row in rows).decode(errors="ignore")
        return next(filter(None, map(_parsed, (f"({text})", text))), None)


def _parsed(source: str) -> ast.stmt | None:
    """The statement that a text is."""
    try:
        return (*ast.parse(source).body, None)[0]
    except (SyntaxError, ValueError):
        return None


def _overlap(nodes: list[Any]) -> bool:
    """Whether gradients of one of these nodes go through another one, so that they are gradients of both."""
    others = set(nodes)
    if len(others) < len(nodes):
        return True
    for each in nodes:
        waiting, seen = [each], {each}
        while waiting and len(seen) < MOST:
            following = [after for after, _ in waiting.pop().next_functions if after is not None and after not in seen]
            if not others.isdisjoint(following):
                return True
            seen.update(following)
            waiting += following
    return False


def _operands(statement: ast.stmt | None, place: int) -> Iterator[str]:
    """The operand at a position of the sum that a statement is: of an operator, an assignment, or a function that adds up."""
    if isinstance(statement, ast.AugAssign):
        yield ast.unparse(statement.value if place else statement.target)
    node = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(node, ast.BinOp):
        yield ast.unparse(node.right if place else node.left)
    elif isinstance(node, ast.Call) and node.args:
        first, name = node.args[0], last_name(node.func)
        if name in JOINING and isinstance(first, (ast.List, ast.Tuple)) and place < len(first.elts):
            yield ast.unparse(first.elts[place])
        elif name in JOINING:
            yield f"{ast.unparse(first)}[{place}]"
        elif name == "sum":
            yield ast.unparse(node)
        elif name in ADDING and isinstance(node.func, ast.Attribute):
            parts = [node.func.value, *node.args] if len(node.args) == 1 else node.args
            yield ast.unparse(parts[min(place, len(parts) - 1)])

"""The loops of trainers that own the training loop report their passes, so that a checkup can repeat their step."""

from __future__ import annotations

import ast
import importlib.util
from typing import TYPE_CHECKING, Any

from ..nodes import File
from .loops import LoopRewriter

if TYPE_CHECKING:
    from ..nodes import Index

TRAINERS = {
    "transformers.trainer": frozenset({"_inner_training_loop", "_run_epoch"}),
    "lightning.pytorch.loops.fit_loop": frozenset({"run"}),
    "lightning.pytorch.loops.training_epoch_loop": frozenset({"run"}),
    "pytorch_lightning.loops.fit_loop": frozenset({"run"}),
    "pytorch_lightning.loops.training_epoch_loop": frozenset({"run"}),
}
"""The methods in which trainers go through epochs and batches, by their modules."""


class TrainerRewriter(LoopRewriter):
    """Rewrites the loops of some functions, and nothing else."""

    def __init__(self, index: Index, file: File, names: frozenset[str]) -> None:
        super().__init__(index, file)
        self._names = names
        self._inside = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Only functions of these names have loops that matter."""
        wanted = node.name in self._names
        self._inside += wanted
        try:
            return self.generic_visit(node)
        finally:
            self._inside -= wanted

    def visit_For(self, node: ast.For) -> ast.AST:
        """As for the script's own, where it is one of the trainer's."""
        return super().visit_For(node) if self._inside else self.generic_visit(node)

    def visit_While(self, node: ast.While) -> Any:
        """As `visit_For`."""
        return super().visit_While(node) if self._inside else self.generic_visit(node)

    def _left(self, node: ast.AST) -> ast.AST:
        return self.generic_visit(node)

    visit_AsyncFor = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _left  # noqa: N815


def compiled_trainer(source: bytes, name: str, path: str, index: Index) -> Any:
    """The code of a trainer's module, with its loops rewritten.

    Raises:
        SyntaxError, ValueError: the source is not valid Python, as `compile` raises them.
    """
    tree = ast.parse(source, path)
    text = importlib.util.decode_source(source)
    changed = TrainerRewriter(index, File(path, text, lines=text.split("\n")), TRAINERS[name]).visit(tree)
    index.trainers.add(path)
    return compile(ast.fix_missing_locations(changed), path, "exec", dont_inherit=True)

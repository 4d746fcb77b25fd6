"""Statements of a training script in functions, methods and modules of their own."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import block, body_of, is_simple, origins, statement, statements
from tests.metamorphic.extraction import (
    Extracted,
    Extraction,
    contains,
    into_functions,
    is_call_of,
    with_definitions,
)
from tests.metamorphic.names import FreshNames, uses
from tests.metamorphic.project import text
from tests.metamorphic.transformation import FIRST_IN_A_FILE, Kind, ModuleTransformation
from tests.metamorphic.transformations.modules import IntoTwoModules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.metamorphic.names import Statement
    from tests.metamorphic.project import Project

NO_GRAD = m.With(
    items=[m.WithItem(m.Call(func=m.Attribute(attr=m.Name("no_grad") | m.Name("inference_mode"))), asname=None)]
)


class HelperTransformation(ModuleTransformation):
    """Statements become a function that gets what they need and returns what is needed of them."""

    kind: ClassVar[Kind] = Kind.KEPT
    names: ClassVar[tuple[str, ...]]

    def rewrite(self, module: cst.Module) -> cst.Module:
        return into_functions(module, self.choose, *self.names)

    @abstractmethod
    def choose(self, entries: Sequence[Statement]) -> tuple[int, int] | None:
        """Of the statements of a block, those that become a function."""


def _training_loop(entries: Sequence[Statement]) -> tuple[int, int] | None:
    loops = (
        i for i, entry in enumerate(entries) if isinstance(entry, (cst.For, cst.While)) and contains(entry, "backward")
    )
    first = next(loops, None)
    return None if first is None else (first, first + 1)


class IntoTrainFunction(HelperTransformation):
    """The training loop becomes `train(model, loader, optimizer, …)`, called with the objects."""

    names = ("train", "train_model", "fit_model")

    def choose(self, entries: Sequence[Statement]) -> tuple[int, int] | None:
        return _training_loop(entries)


class ExtractedStep(HelperTransformation):
    """The body of the innermost training loop becomes `train_step(…)`."""

    names = ("train_step", "train_on_batch")

    def choose(self, entries: Sequence[Statement]) -> tuple[int, int] | None:
        inner = [entry for entry in entries if isinstance(entry, (cst.For, cst.While))]
        if any(contains(loop, "backward") for loop in inner) or not any(
            contains(entry, "backward") for entry in entries
        ):
            return None
        return (0, len(entries)) if any(is_call_of(entry, "backward") for entry in entries) else None


class ExtractedUpdate(HelperTransformation):
    """`optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()` and the like, one after another, become `update(…)`."""

    names = ("update", "apply_update")

    def choose(self, entries: Sequence[Statement]) -> tuple[int, int] | None:
        for begin, entry in enumerate(entries):
            if is_call_of(entry, "zero_grad", "backward", "step"):
                end = begin
                while end < len(entries) and is_call_of(entries[end], "zero_grad", "backward", "step"):
                    end += 1
                if end - begin > 1:
                    return begin, end
        return None


class ExtractedLoss(HelperTransformation):
    """The assignment of what goes backward becomes `compute_loss(…)`, which returns it."""

    names = ("compute_loss", "loss_of_batch")

    def choose(self, entries: Sequence[Statement]) -> tuple[int, int] | None:
        for position, entry in enumerate(entries):
            if is_call_of(entry, "backward") and position:
                before = is_simple(entries[position - 1], cst.Assign)
                if before is not None and m.matches(before, m.Assign([m.AssignTarget(m.Name())])):
                    return position - 1, position
        return None


class ExtractedEvaluation(HelperTransformation):
    """A block under `torch.no_grad()` becomes `evaluate(…)`, with the block inside."""

    names = ("evaluate", "evaluate_model")

    def choose(self, entries: Sequence[Statement]) -> tuple[int, int] | None:
        first = next((i for i, entry in enumerate(entries) if m.matches(entry, NO_GRAD)), None)
        return None if first is None else (first, first + 1)


class NoGradAsDecorator(ModuleTransformation):
    """A block under `with torch.no_grad():` becomes a function with the decorator `@torch.no_grad()`."""

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        fresh, functions = FreshNames(module), []

        def replace(taken: Extracted) -> Statement:
            name = fresh.of("evaluate", "evaluate_model")
            (under,) = taken.statements
            node = cst.ensure_type(under, cst.With)
            inner = Extracted(body_of(node.body) or [], taken.needs, taken.gives)
            decorated = statement(f"@{text(node.items[0].item)}\ndef {name}(): pass", origins(node))
            decorators = cst.ensure_type(decorated, cst.FunctionDef).decorators
            functions.append(inner.function(name).with_changes(decorators=decorators))
            return taken.call(f"{name}({', '.join(taken.needs)})")

        rewritten = Extraction(module, self._choose, replace).run()
        return module if rewritten is module else with_definitions(rewritten, functions)

    @staticmethod
    def _choose(entries: Sequence[Statement]) -> tuple[int, int] | None:
        for position, entry in enumerate(entries):
            if m.matches(entry, NO_GRAD) and body_of(cst.ensure_type(entry, cst.With).body):
                return position, position + 1
        return None


class IntoTrainerClass(ModuleTransformation):
    """The training loop becomes a method of `Trainer`, whose `__init__` stores what it is given.

    What the loop itself assigns stays local. It does not apply where an inner function means something else by one of the names.
    """

    kind: ClassVar[Kind] = Kind.KEPT
    unless: ClassVar[Mapping[str, str]] = FIRST_IN_A_FILE

    def rewrite(self, module: cst.Module) -> cst.Module:
        fresh = FreshNames(module)
        classes: list[Statement] = []

        def replace(taken: Extracted) -> Statement:
            name, found = fresh.of("Trainer", "LoopTrainer"), uses(taken.statements)
            stored = [need for need in taken.needs if need not in found.bound]
            given = [need for need in taken.needs if need in found.bound]
            if set(stored) & found.scoped:
                stored, given = [], taken.needs
            lines = [f"class {name}:", f"    def __init__({', '.join(['self', *stored])}):"]
            lines += [f"        self.{need} = {need}" for need in stored] or ["        pass"]
            lines += [f"    def fit({', '.join(['self', *given])}):", "        pass"]
            made = cst.ensure_type(statement("\n".join(lines), taken.origins), cst.ClassDef)
            looks = _OfSelf(set(stored))
            body = [cst.ensure_type(entry.visit(looks), type(entry)) for entry in taken.statements]
            returned = statements(f"return {', '.join(taken.gives)}", taken.origins) if taken.gives else []
            *rest, last = cst.ensure_type(made.body, cst.IndentedBlock).body
            function = cst.ensure_type(last, cst.FunctionDef).with_changes(body=block([*body, *returned]))
            classes.append(made.with_changes(body=block([*rest, function])))
            return taken.call(f"{name}({', '.join(stored)}).fit({', '.join(given)})")

        rewritten = Extraction(module, _training_loop, replace, methods=False).run()
        return module if rewritten is module else with_definitions(rewritten, classes)


class TrainInModule(IntoTrainFunction):
    """As `IntoTrainFunction`, and then all functions and classes go into a module that the script imports."""

    unless: ClassVar[Mapping[str, str]] = FIRST_IN_A_FILE

    def variants(self, project: Project) -> Iterator[Project]:
        for rewritten in super().variants(project):
            yield from IntoTwoModules().variants(rewritten)


class TrainerInModule(IntoTrainerClass):
    """As `IntoTrainerClass`, and then all functions and classes go into a module that the script imports."""

    def variants(self, project: Project) -> Iterator[Project]:
        for rewritten in super().variants(project):
            yield from IntoTwoModules().variants(rewritten)


class _OfSelf(cst.CSTTransformer):
    """Reads names from `self`."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self._names = names

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        del original_node
        if updated_node.value in self._names:
            return cst.Attribute(cst.Name("self"), updated_node)
        return updated_node

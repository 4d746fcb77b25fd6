"""Batches as dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst
import libcst.matchers as m

from tests.metamorphic.code import (
    block,
    body_of,
    every,
    is_simple,
    name_of_call,
    origins,
    statement,
    statements,
    with_imports,
)
from tests.metamorphic.extraction import with_definitions
from tests.metamorphic.names import FreshNames
from tests.metamorphic.project import text
from tests.metamorphic.transformation import Kind, ModuleTransformation

if TYPE_CHECKING:
    from tests.metamorphic.names import Statement

KEYS = ("inputs", "targets", "weights", "lengths")
NAMES = m.Tuple(elements=[m.AtLeastN(m.Element(m.Name()), n=2)])
WRAPPERS = ("enumerate", "tqdm")


class BatchAsDictionary(ModuleTransformation):
    """Loaders give dictionaries, by a `collate_fn`; `for x, y in loader` becomes `x = batch["inputs"]`, and so on.

    It does not apply where a loader goes anywhere but into loops, `len` and functions of the script.
    """

    kind: ClassVar[Kind] = Kind.KEPT

    def rewrite(self, module: cst.Module) -> cst.Module:
        loaders = _loaders(module)
        if not loaders:
            return module
        fresh = FreshNames(module)
        collate, batch = fresh.of("as_dictionary", "collate_rows"), fresh.of("batch", "batch_data")
        rewritten = module.visit(_ByKey(loaders, collate, batch, self))
        keys = ", ".join(f'"{key}"' for key in KEYS)
        helper = statement(f"def {collate}(rows):\n    return dict(zip(({keys}), default_collate(rows)))")
        return with_imports(with_definitions(rewritten, [helper]), "from torch.utils.data import default_collate")

    def begun(self, batch: str, names: list[str], body: list[Statement], node: cst.For) -> list[Statement]:
        """The statements of the loop, after those that take the batch apart."""
        lines = "\n".join(f'{name} = {batch}["{key}"]' for name, key in zip(names, KEYS, strict=False))
        return [*statements(lines, origins(node)), *body]


class BatchOfDictionaryMoved(BatchAsDictionary):
    """As `BatchAsDictionary`, and `x, y = x.to(device), y.to(device)` becomes one move of all that the batch has.

    It does not apply where not everything is moved at once.
    """

    def rewrite(self, module: cst.Module) -> cst.Module:
        loops = [node for node in every(module, cst.For) if _unpacked(node)]
        return super().rewrite(module) if any(self._moves(node) for node in loops) else module

    def begun(self, batch: str, names: list[str], body: list[Statement], node: cst.For) -> list[Statement]:
        device = self._moves(node)
        if not device:
            return super().begun(batch, names, body, node)
        moved = f"{batch} = {{key: value.to({device}) for key, value in {batch}.items()}}"
        return [*statements(moved, origins(body[0])), *super().begun(batch, names, body[1:], node)]

    @staticmethod
    def _moves(node: cst.For) -> str:
        """Where the first statement of the loop moves all of the batch; empty if it does not."""
        names = _unpacked(node)
        body = body_of(node.body) or []
        assign = is_simple(body[0], cst.Assign) if body else None
        if assign is None or not m.matches(assign.value, m.Tuple()):
            return ""
        values = cst.ensure_type(assign.value, cst.Tuple).elements
        devices = {
            text(value.value).removeprefix(f"{name}.to(")[:-1] for name, value in zip(names, values, strict=False)
        }
        targets = text(assign.targets[0].target).replace(" ", "").split(",")
        same = targets == names and all(
            text(v.value).startswith(f"{n}.to(") for n, v in zip(names, values, strict=False)
        )
        return devices.pop() if same and len(devices) == 1 and len(values) == len(names) else ""


def _unpacked(node: cst.For) -> list[str]:
    """The names that a loop takes a batch apart into; none if it does not."""
    target: cst.BaseExpression = node.target
    if m.matches(node.iter, m.Call(func=m.Name("enumerate"))):
        if not m.matches(target, m.Tuple(elements=[m.Element(), m.Element()])):
            return []
        target = cst.ensure_type(target, cst.Tuple).elements[1].value
    if not m.matches(target, NAMES):
        return []
    return [text(element.value) for element in cst.ensure_type(target, cst.Tuple).elements]


def _iterated(node: cst.BaseExpression) -> str:
    """The name of what a loop goes over, within `enumerate` or `tqdm`."""
    while name_of_call(node) in WRAPPERS:
        node = cst.ensure_type(node, cst.Call).args[0].value
    return node.value if isinstance(node, cst.Name) else ""


def _loaders(module: cst.Module) -> set[str]:
    """The names of the loaders of a script; none if one of them goes where it cannot be followed."""
    found = {
        text(node.targets[0].target)
        for node in every(module, cst.Assign)
        if name_of_call(node.value).endswith("DataLoader") and isinstance(node.targets[0].target, cst.Name)
    }
    calls = [node for node in every(module, cst.Call) if name_of_call(node).endswith("DataLoader")]
    plain = all(_is_plain(arg) for call in calls for arg in call.args)
    found |= _parameters_that_get(found, module)
    places = _followed(module)
    followed = all(id(node) in places for node in every(module, cst.Name) if node.value in found)
    loops = [node for node in every(module, cst.For) if _iterated(node.iter) in found]
    apart = all(_unpacked(node) and len(_unpacked(node)) <= len(KEYS) and body_of(node.body) for node in loops)
    return found if calls and plain and followed and loops and apart else set()


def _parameters_that_get(found: set[str], module: cst.Module) -> set[str]:
    """Parameters of the functions of a script that get one of these variables."""
    functions = {node.name.value: node for node in every(module, cst.FunctionDef)}
    given = set(found)
    for _ in functions:
        for call in every(module, cst.Call):
            function = functions.get(name_of_call(call))
            for position, arg in enumerate(call.args):
                if function and isinstance(arg.value, cst.Name) and arg.value.value in given and not arg.keyword:
                    given |= {one.name.value for one in function.params.params[position : position + 1]}
    return given


def _followed(module: cst.Module) -> set[int]:
    """Where a loader may stand: everything that is done with it there is known."""
    functions = {node.name.value for node in every(module, cst.FunctionDef)}
    calls = [call for call in every(module, cst.Call) if name_of_call(call) in {*functions, *WRAPPERS, "len"}]
    nodes: list[cst.CSTNode] = [arg.value for call in calls for arg in call.args]
    nodes += [node.target for node in every(module, cst.AssignTarget)] + [node.iter for node in every(module, cst.For)]
    nodes += [node.value for node in every(module, cst.Attribute) if node.attr.value in {"dataset", "batch_size"}]
    nodes += [node.name for node in every(module, cst.Param)]
    return {id(node) for node in nodes}


def _is_plain(arg: cst.Arg) -> bool:
    """Whether an argument leaves the loader free to make batches of dictionaries."""
    odd = m.Arg(keyword=m.Name("collate_fn")) | m.Arg(keyword=m.Name("batch_size"), value=m.Name("None"))
    return not m.matches(arg, odd)


class _ByKey(cst.CSTTransformer):
    def __init__(self, loaders: set[str], collate: str, batch: str, transformation: BatchAsDictionary) -> None:
        super().__init__()
        self._loaders = loaders
        self._collate = collate
        self._batch = batch
        self._transformation = transformation

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        del original_node
        if not name_of_call(updated_node).endswith("DataLoader"):
            return updated_node
        given = cst.ensure_type(cst.parse_expression(f"f(collate_fn={self._collate})"), cst.Call).args
        *others, last = updated_node.args
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return updated_node.with_changes(args=[*others, last.with_changes(comma=comma), *given])

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        if _iterated(original_node.iter) not in self._loaders:
            return updated_node
        names, target = _unpacked(original_node), updated_node.target
        taken: cst.BaseAssignTargetExpression = cst.Name(self._batch)
        if m.matches(updated_node.iter, m.Call(func=m.Name("enumerate"))):
            number, inner = cst.ensure_type(target, cst.Tuple).elements
            taken = target.with_changes(elements=[number, inner.with_changes(value=taken)])
        body = self._transformation.begun(self._batch, names, body_of(updated_node.body) or [], original_node)
        return updated_node.with_changes(target=taken, body=block(body, like=updated_node.body))

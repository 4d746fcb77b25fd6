"""Calls of a module's `forward` by that name, by somebody else than the module itself."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torch_doctor.pattern import pattern
from torch_doctor.static import program as p
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.questions import KINDS, Kind, texts, yes
from torch_doctor.static.state import per_run
from torch_doctor.static.training.module import module_classes
from torch_doctor.static.values import NOTHING, Bound, Call, Const, Either, Fact, Method, Module, Value
from torch_doctor.trace import ForwardByName

if TYPE_CHECKING:
    from torch_doctor.sources.project import Project
    from torch_doctor.static.run import Run
    from torch_doctor.static.values.functions import Frame

_WITHOUT_BASES = pattern(
    r"^class[ \t\f\\\n]+\w+\s*(?:[:\[\\]|\(\s*(?:\)|object\b|\w+\s*=|[\\#*]))",
    re.MULTILINE,
)
"""A class that may have no bases, or only `object`; generic ones and odd spellings are looked at closely."""


class NamedForwards(Observer, calling=(Bound, Method, Either)):
    """Calls `thing.forward(...)`, which go past the `__call__` of a module."""

    writes = (ForwardByName,)

    _plain: bool | None = per_run()  # whether the project has plain classes with a `forward`

    @override
    def calling(self, run: Run, func: Value, call: Call) -> None:
        """Write such a call.

        A module's own methods may: `self.forward` and `super().forward` are how it is made. So may who has no other way:
        the class gives `__call__` a meaning of its own, `forward` is an attribute that somebody assigned, or it is compiled.
        """
        node = call.node
        if not (isinstance(node, p.Call) and isinstance(node.func, p.Attribute) and node.func.name == "forward"):
            return
        options = [option for _, option in func.options] if isinstance(func, Either) else [func]
        modules = [
            _owner(option) for option in options if not (isinstance(option, Const) and option.value is NOTHING.value)
        ]
        module = modules[0] if modules else None
        if module is None or not all(each is not None and _is_called(run, each) for each in modules):
            return
        if module.cls is None and not module.layer and self._may_be_plain(run):
            return
        frame: Frame | None = run.frame
        while frame is not None:
            if any(frame.self is each for each in modules):
                return
            frame = frame.closure
        name, within = run.text(node.func.value), 0 if _made_here(run, modules) else _around(run)
        told = {"module": module.id, "name": name, "class_name": module.class_name, "within": within}
        skips, put_at = next((known for each in modules if each and (known := each.fact(Fact.AROUND))), ("", None))
        run.emit(ForwardByName, node, **told, skips=skips, put_at=put_at)

    def _may_be_plain(self, run: Run) -> bool:
        """Whether something out of sight may be of a class of the project that has a `forward`, and is no module to be called."""
        if self._plain is None:
            self._plain = bool(run.imports.ask("plain forward", str(run.main.source.path)))
        return self._plain


def _plain_forwards(project: Project, besides: str) -> list[str]:
    """Whether another file of the project has such a class."""
    return yes(holds=any(map(has_plain_forward, texts(project, "forward", besides))))


KINDS["plain forward"] = Kind(lambda _: ("forward",), _plain_forwards)


def has_plain_forward(text: str) -> bool:
    """Whether a file defines a class without bases that has a `forward` and no `__call__`."""
    if not _WITHOUT_BASES.search(text):
        return False  # few files have one, and parsing all takes long
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and all(
            isinstance(base, ast.Name) and base.id == "object" for base in node.bases
        ):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            if "forward" in methods and "__call__" not in methods:
                return True
    return False


def _made_here(run: Run, modules: list[Module | None]) -> bool:
    """Whether the function that calls the modules has built them for itself: they are part of no other."""
    function = run.frame.what
    if function is None or run.building:
        return False
    (first, _, last, _), path = function.node.at, function.unit.source.display
    return all(
        module is not None
        and not module.fact(Fact.REGISTERED)
        and module.born is not None
        and module.born.path == path
        and first <= module.born.row <= last
        for module in modules
    )


def _around(run: Run) -> int:
    """The module whose `forward` or construction is under way, 0 where none is.

    A method of a module whose callers are out of sight may be a part of its `forward`.
    """
    if run.modules_called or run.building:
        return [*run.modules_called, *run.building][0].id
    own = run.frame.self
    alone = run.trace.begins_outside and not run.loop_depth
    return own.id if alone and isinstance(own, Module) else 0


def _owner(func: Value) -> Module | None:
    """The module whose own `forward` this is."""
    thing = func.self if isinstance(func, Bound) else func.of if isinstance(func, Method) else None
    name = func.function.node.name if isinstance(func, Bound) else func.name if isinstance(func, Method) else ""
    return thing if isinstance(thing, Module) and name == "forward" and "forward" not in thing.fields else None


def _is_called(run: Run, module: Module) -> bool:
    """Whether it surely is a module, and calling it is the way to its `forward`."""
    if module.fact(Fact.COMPILED):
        return False
    if module.cls is None:
        return True
    return module_classes.is_surely_module(run, module.cls) and module.cls.find("__call__") is None

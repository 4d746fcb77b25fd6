"""Follows the constructors of a library's modules: which layers they build that care about the mode, and parameters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from astroid import nodes

from torch_doctor.static.installed.caring import SURELY, Notes, When
from torch_doctor.static.installed.frames import DEPTH, LibraryFrame, Thing
from torch_doctor.static.installed.meanings import (
    NONE,
    UNCLEAR,
    Defined,
    Dotted,
    Given,
    Known,
    Literal,
    Made,
    Unclear,
    truth,
)
from torch_doctor.static.tables import layers, words

if TYPE_CHECKING:
    from torch_doctor.static.installed.evaluating import Evaluator
    from torch_doctor.trace import Tri

MOST_CALLS = 3_000
"""Calls of a library's sources that are followed for one question."""
_DROPOUTS = frozenset(
    f"torch.nn.functional.{name}"
    for name in words("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout")
)
_RATE_AT = 1
_PLAIN = frozenset(("builtins", "numpy", "typing_extensions", "packaging"))
_BARE = frozenset(("torch.nn.Parameter", "torch.nn.UninitializedParameter"))
_REGISTERING = frozenset(("register_parameter",))
_ON_OTHERS = frozenset(
    words(
        """
        append extend insert add_module register_module register_buffer register_parameter get pop items keys values
        update setdefault format join split startswith endswith lower upper copy fill_ zero_ normal_ uniform_ constant_
        apply modules named_modules parameters named_parameters children named_children to view reshape item
        requires_grad_ replace partition rpartition strip read render group match state_dict load_state_dict buffers
        size dim tolist sum ceil floor sqrt permute contiguous flatten transpose unsqueeze squeeze expand repeat
        register_load_state_dict_pre_hook _register_load_state_dict_pre_hook
        """
    )
)
"""Methods of what is not known that build nothing."""


class Builder:
    """Builds modules of a library, and notes what it meets."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.notes = Notes()
        self._built: dict[tuple[nodes.ClassDef, Given], Thing] = {}
        self._walked: set[tuple[nodes.FunctionDef, int, tuple[tuple[str, Known], ...]]] = set()
        self._left = MOST_CALLS

    # --- classes ---

    def classes(self, cls: nodes.ClassDef) -> tuple[Known, ...]:
        """A class with its bases, in the order in which they are looked through, as far as that is known."""
        found: dict[Known, None] = {}
        waiting = [Known(Defined(cls))]
        while waiting:
            known = waiting.pop(0)
            found.pop(known, None)
            found[known] = None
            if isinstance(known.what, Defined) and isinstance(known.what.node, nodes.ClassDef) and len(found) < 40:
                module = known.what.node.root()
                bases = (base.value if isinstance(base, nodes.Subscript) else base for base in known.what.node.bases)
                waiting[:0] = [self.evaluator.reader.plain(module, base) for base in bases]
        return tuple(found)

    def build(self, cls: nodes.ClassDef, given: Given | None, when: When = SURELY, depth: int = 0) -> Thing:
        """Construct a class with some arguments; those of the question where there are none."""
        key = (cls, given or Given(rest=True, asked=True))
        if key in self._built and when == SURELY:
            return self._built[key]
        thing = self._built[key] = Thing(self.classes(cls))
        constructor = thing.method("__init__")
        if constructor is not None and depth < DEPTH:
            if given is None:
                frame = self.evaluator.asked(constructor, thing)
            else:
                frame = self.evaluator.frame(constructor, given, thing, depth)
            self._walk(frame, when)
        self._of_bases(thing, when)
        self._by_flag(thing, when, depth)
        return thing

    def _of_bases(self, thing: Thing, when: When) -> None:
        for known in thing.classes:
            layer = layers.LAYERS.get(known.what.torch) if isinstance(known.what, Dotted) else None
            if layer is not None:
                if layer.parameters:
                    self.notes.owns(when)
                default = layer.mode if isinstance(layer.mode, bool) else layer.mode.default > layer.mode.above
                self.notes.note(default or (False if layer.mode is False else None), NONE, when)
            elif known.what == UNCLEAR.what or (isinstance(known.what, Dotted) and not _is_base(known.what)):
                self.notes.note(None, NONE, when)

    def _by_flag(self, thing: Thing, when: When, depth: int) -> None:
        """What methods do by `self.training`."""
        for cls in thing.own():
            for method in cls.mymethods():
                frame = LibraryFrame(method, {}, thing, depth)
                for node in method.nodes_of_class(nodes.Attribute):
                    if (
                        node.attrname == "training"
                        and isinstance(node.expr, nodes.Name)
                        and node.expr.name == frame.itself
                    ):
                        self._flag(node, frame, when)

    def _flag(self, node: nodes.Attribute, frame: LibraryFrame, when: When) -> None:
        call = node.parent.parent if isinstance(node.parent, nodes.Keyword) else node.parent
        function = self.evaluator.value(call.func, frame).what if isinstance(call, nodes.Call) else None
        if isinstance(call, nodes.Call) and isinstance(function, Dotted) and function.name in _DROPOUTS:
            rate = self.evaluator.given(call, frame).argument(_RATE_AT, "p") or Known(Literal(0.5))
            self.notes.rate(rate, when)
        else:
            self.notes.note(None, NONE, when)

    # --- functions ---

    def call(self, frame: LibraryFrame) -> None:
        """Follow a call of a function."""
        self._walk(frame, SURELY)

    def _walk(self, frame: LibraryFrame, when: When) -> None:
        key = (frame.function, id(frame.me), tuple(sorted(frame.names.items(), key=lambda item: item[0])))
        if key in self._walked or frame.depth > DEPTH:
            return
        self._walked.add(key)
        for statement in frame.function.body:
            self._follow(statement, frame, when)

    def _follow(self, node: nodes.NodeNG, frame: LibraryFrame, when: When) -> None:
        """Follow the calls in a statement or an expression."""
        if isinstance(node, (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)):
            return
        if isinstance(node, (nodes.If, nodes.IfExp)):
            self._branch(node, frame, when)
            return
        for child in node.get_children():
            self._follow(child, frame, when)
        if isinstance(node, nodes.Call):
            self._call(node, frame, when)
        elif isinstance(node, (nodes.Assign, nodes.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, nodes.Assign) else [node.target]:
                self._assign(target, node.value, frame, when)

    def _branch(self, node: nodes.If | nodes.IfExp, frame: LibraryFrame, when: When) -> None:
        self._follow(node.test, frame, when)
        test = self.evaluator.value(node.test, frame)
        answer, leans = truth(test), when.leans | test.leans
        for arm, part in ((True, node.body), (False, node.orelse)):
            if answer is None:
                then = When(None if when.comes is not False else False, leans)
            elif answer is arm:
                then = When(when.comes, leans)
            elif leans:
                then = When(comes=False, leans=leans)
            else:
                continue
            for statement in part if isinstance(part, list) else [part]:
                self._follow(statement, frame, then)

    def _assign(self, target: nodes.NodeNG, value: nodes.NodeNG | None, frame: LibraryFrame, when: When) -> None:
        if isinstance(target, nodes.Tuple):
            for each in target.elts:
                self._assign(each, None, frame, when)
        own = isinstance(target, nodes.AssignAttr) and isinstance(target.expr, nodes.Name)
        if own and frame.me is not None and target.expr.name == frame.itself and when.comes is not False:
            known = self.evaluator.value(value, frame) if when.comes and value is not None else UNCLEAR
            values = frame.me.attributes.setdefault(target.attrname, [])
            if values and isinstance(values[-1].what, Literal) and values[-1].what.value is None:
                values.clear()  # `self.head = None`, until it is known
            values.append(Known(known.what, known.leans | when.leans))

    # --- calls ---

    def _call(self, node: nodes.Call, frame: LibraryFrame, when: When) -> None:
        self._left -= 1
        if self._left < 0:
            self.notes.note(None, NONE, SURELY)
            return
        function = self._own_method(node, frame)
        if function is not None:
            given = self.evaluator.given(node, frame)
            self._walk(self.evaluator.frame(function, given, frame.me, frame.depth + 1), when)
            return
        called = self.evaluator.value(node.func, frame)
        when = When(when.comes, when.leans | called.leans)
        given = self.evaluator.given(node, frame)
        match called.what:
            case Dotted():
                self._outside(called.what, given, when)
            case Defined(nodes.ClassDef() as cls):
                self.build(cls, given, when, frame.depth + 1)
            case Defined(nodes.FunctionDef() as function) if _is_used(node):
                self._walk(self.evaluator.frame(function, given, depth=frame.depth + 1), when)
            case Unclear() if _is_used(node) and not self._is_harmless(node, frame):
                self.notes.note(None, when.leans, when)
            case _ if isinstance(node.func, nodes.Attribute) and node.func.attrname in _REGISTERING:
                self.notes.owns(when)

    def _is_harmless(self, node: nodes.Call, frame: LibraryFrame) -> bool:
        """Whether a method builds nothing: one of torch's modules, of an object that is known, or of a common name.

        What a factory calls on something is no layer of the module that it builds.
        """
        func = node.func
        if not isinstance(func, nodes.Attribute):
            return False
        if func.attrname in _ON_OTHERS or _is_of_super(func.expr) or frame.me is None:
            return True
        owner = self.evaluator.value(func.expr, frame).what
        return isinstance(owner, (Made, Literal)) or (
            isinstance(func.expr, nodes.Name) and func.expr.name == frame.itself
        )

    def _own_method(self, node: nodes.Call, frame: LibraryFrame) -> nodes.FunctionDef | None:
        """The method that `self.build(…)` or `super().__init__(…)` calls."""
        func = node.func
        if not isinstance(func, nodes.Attribute) or frame.me is None:
            return None
        if isinstance(func.expr, nodes.Name) and func.expr.name == frame.itself:
            return frame.me.method(func.attrname)
        if isinstance(func.expr, nodes.Call) and _is_of_super(func.expr):
            owner = frame.function.parent
            return frame.me.method(func.attrname, after=owner if isinstance(owner, nodes.ClassDef) else None)
        return None

    def _outside(self, what: Dotted, given: Given, when: When) -> None:
        """A call of torch's, or of something that is not in sight."""
        layer = layers.LAYERS.get(what.name)
        if layer is not None:
            self.notes.layer(layer, given, when)
        elif what.name in _BARE:
            self.notes.owns(when)
        elif not _is_plain(what):
            self.notes.note(None, when.leans, when)


def _is_of_super(node: nodes.NodeNG) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.func, nodes.Name) and node.func.name == "super"


def _is_used(call: nodes.Call) -> bool:
    """Whether something is done with what a call returns, besides asking whether it is true."""
    node: nodes.NodeNG = call
    while isinstance(node.parent, (nodes.BoolOp, nodes.UnaryOp, nodes.Compare)):
        node = node.parent
    around = node.parent
    tested = isinstance(around, (nodes.If, nodes.IfExp, nodes.Assert, nodes.While)) and node is around.test
    return not (tested or isinstance(around, (nodes.Expr, nodes.Raise)))


def is_module(classes: tuple[Known, ...]) -> Tri:
    """Whether a class with these bases is a module."""
    names = [known.what.torch for known in classes if isinstance(known.what, Dotted)]
    if any(name in layers.MODULE_BASES or (name.startswith("torch.nn.") and name not in _BARE) for name in names):
        return True
    clear = all(
        isinstance(known.what, Defined) or (isinstance(known.what, Dotted) and _is_plain(known.what))
        for known in classes
    )
    return False if clear else None


def _is_base(what: Dotted) -> bool:
    """Whether a class outside the library leaves what it does to those that derive from it."""
    return what.torch in layers.MODULE_BASES or what.torch in layers.CONTAINERS or (_is_plain(what) and not what.torch)


def _is_plain(what: Dotted) -> bool:
    """Whether something outside the library builds no layers: what torch and Python themselves have."""
    first = what.name.partition(".")[0]
    return bool(what.torch) or first in _PLAIN or first in sys.stdlib_module_names

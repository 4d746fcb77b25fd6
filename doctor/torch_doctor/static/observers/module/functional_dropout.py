"""Dropout as a function, which does not know the mode of the module that calls it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.static import program as p
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Observer, override
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import Call, ClassValue, Const, Default, FunctionValue, Module, Plain, Spread, Value
from torch_doctor.trace import FunctionalDropout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.static.run import Run
    from torch_doctor.trace import Site


ALWAYS_ON = frozenset(f"torch.nn.functional.{name}" for name in ("dropout", "dropout1d", "dropout2d", "dropout3d"))
"""Those whose `training`, the third argument, is True unless somebody says otherwise.

Source: https://docs.pytorch.org/docs/stable/nn.functional.html#dropout-functions
"""
_TRAINING = 2
ATTENTION: dict[str, tuple[int, str]] = {
    "torch.nn.functional.scaled_dot_product_attention": (4, "dropout_p"),
    "xformers.ops.memory_efficient_attention": (4, "p"),
    **{
        f"flash_attn{module}.flash_attn_{name}": (place, "dropout_p")
        for module in ("", ".flash_attn_interface")
        for name, place in (
            ("func", 3),
            ("kvpacked_func", 2),
            ("qkvpacked_func", 1),
            ("varlen_func", 7),
            ("varlen_kvpacked_func", 6),
            ("varlen_qkvpacked_func", 3),
        )
    },
}
"""Attention that drops by a rate that it is given, whatever the mode is: the rate's place and name. It is 0 by default.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html
"""


class FunctionalDropouts(Observer):
    """Dropouts of a forward that nobody told the mode, outside of branches that decide on it."""

    writes = (FunctionalDropout,)

    _tests: list[_ModeTest] = per_run(list)  # branches under way, and those of which the rest is the other way

    @override
    def branching(self, run: Run, node: p.If | p.Choice) -> None:
        """Remember a branch on the mode."""
        if run.modules_called and _tests_mode(run, node.test):
            self._tests.append(_ModeTest(node, len(run.stack), run.modules_called))

    @override
    def branched(self, run: Run, node: p.If | p.Choice) -> None:
        """Forget it again, unless one of its ways returns: what follows is the other way then."""
        arms = (node.body, node.other) if isinstance(node, p.If) else ()
        if not self._tests or any(arm and isinstance(arm[-1], p.Return) for arm in arms):
            return
        for number in reversed(range(len(self._tests))):
            if self._tests[number].node is node and self._tests[number].depth == len(run.stack):
                del self._tests[number]
                return

    @override
    def returned(self, run: Run, _: FunctionValue) -> None:
        """Forget the branches of a function that has returned."""
        while self._tests and self._tests[-1].depth > len(run.stack):
            self._tests.pop()

    def decided(self, run: Run) -> bool:
        """Whether a branch on the mode is being executed in the forward of the current module."""
        return any(test.modules == run.modules_called for test in self._tests)


class _ModeTest(Struct, frozen=True):
    """A branch that may ask for the mode, with the functions and the modules around."""

    node: p.If | p.Choice
    depth: int
    modules: tuple[Module, ...]


@library_family(ALWAYS_ON, stage=Stage.NOTE)
def called(run: Run, name: str, call: Call) -> None:
    """Write a dropout of a forward that nobody told the mode, unless a branch decides on it."""
    if not run.watches(FunctionalDropouts):
        return
    explicit = (
        len(call.args) > _TRAINING
        or "training" in call.keywords
        or "**" in call.keywords
        or any(isinstance(a, Spread) for a in call.args)
    )
    given = (call.node.args, call.node.keywords) if isinstance(call.node, p.Call) else ((), ())
    computed = (given[0][1:], [value for name, value in given[1] if name == "p"])
    if (
        not run.modules_called
        or run.building
        or explicit
        or run.of(FunctionalDropouts).decided(run)
        or any(map(_mode, _parts(given)))
        or is_told(run, computed)
    ):
        return
    _write(run, name, call, off=is_off(run, call.argument(1, "p"), computed))


@library_family(ATTENTION, stage=Stage.NOTE)
def attended(run: Run, name: str, call: Call) -> None:
    """Write an attention of a forward that drops by a rate which nothing makes 0 in evaluation."""
    place, keyword = ATTENTION[name]
    rate = call.argument(place, keyword)
    if (
        rate is None
        or not run.watches(FunctionalDropouts)
        or not run.modules_called
        or run.building
        or "**" in call.keywords
        or any(isinstance(a, Spread) for a in call.args)
        or run.of(FunctionalDropouts).decided(run)
        or not isinstance(call.node, p.Call)
    ):
        return
    given = dict(call.node.keywords).get(keyword) or next(iter(call.node.args[place:]), None)
    if given is None:  # it was given before the call, as `functools.partial` does
        return
    if is_told(run, given):
        return
    unused = not isinstance(rate, (Const, Plain)) or any(_is_off_in_another(run, part) for part in _parts(given))
    _write(run, name, call, off=unused or _is_off(rate), rate_site=run.site(given))


def is_told(run: Run, given: object) -> bool:
    """Whether what a rate is computed of asks for the mode, or is given by somebody who may do so."""
    return any(_mode(part) or _switches(run, part) or _is_told(run, part) for part in _parts(given))


def is_off(run: Run, rate: Value | None, given: object) -> bool:
    """Whether a rate, which is computed of what is `given`, may drop nothing."""
    return _is_off(rate) or any(_is_off_in_another(run, part) for part in _parts(given))


def _is_off(rate: Value | None) -> bool:
    """Whether a rate drops nothing, or unresolved code sets it; an option that is 0 by default is there to be set."""
    nothing = isinstance(rate, Const) and not isinstance(rate, Default) and not rate.value
    return nothing or elsewhere.chosen(rate)


def _is_off_in_another(run: Run, part: object) -> bool:
    """Whether a rate is an attribute that drops nothing in another module of the class, which is called out of sight, perhaps."""
    if not isinstance(part, p.Attribute):
        return False
    cls = run.modules_called[-1].cls
    others = (each for each in run.objects.of(Module) if cls is not None and each.cls is cls)
    return any(_is_off(rate) for each in others if isinstance(rate := each.fields.get(part.name), Value))


def _write(run: Run, name: str, call: Call, *, off: bool, rate_site: Site | None = None) -> None:
    owner = run.modules_called[-1]
    run.emit(
        FunctionalDropout,
        call.node,
        function=name,
        owner=owner.id,
        owner_class=owner.class_name,
        training=None,
        off=off,
        rate_site=rate_site,
    )


def _is_told(run: Run, part: object) -> bool:
    """Whether a part of a rate is a parameter of the function: who calls it may look at the mode."""
    what = run.frame.what
    names = {parameter.name for parameter in what.node.parameters[1:]} if what is not None else set()
    return isinstance(part, p.Name) and part.id in names


def _switches(run: Run, part: object, depth: int = 3) -> bool:
    """Whether something that a rate is computed of may be 0 in evaluation.

    The caller of a forward gives it, or it is assigned in the same function, or returned by a method, with a look at the mode.
    """
    what = run.frame.what
    if isinstance(part, p.Attribute):
        return _switched(run, part.name)
    if not isinstance(part, p.Name) or what is None or not depth:
        return False
    if what.node.name == "forward" and part.id in {parameter.name for parameter in what.node.parameters[1:]}:
        return True
    for node in walk(*what.node.body):
        if isinstance(node, p.If) and any(map(_mode, _parts(node.test))) and _assigns((node.body, node.other), part.id):
            return True
        if (
            isinstance(node, p.Assign)
            and _assigns((node,), part.id)
            and any(_mode(each) or _switches(run, each, depth - 1) for each in _parts(node.value))
        ):
            return True
    return False


def _switched(run: Run, name: str) -> bool:
    """Whether an attribute of the module is a property that asks for the mode, or one that its methods assign anew."""
    cls = run.modules_called[-1].cls
    for owner in cls.mro() if cls is not None else ():
        for method in owner.fields.values() if isinstance(owner, ClassValue) else ():
            if not isinstance(method, FunctionValue) or method.node.name == "__init__":
                continue
            if method.node.name == name and any(map(_mode, walk(*method.node.body))):
                return True
            targets = (
                target for node in walk(*method.node.body) if isinstance(node, p.Assign) for target in node.targets
            )
            if any(isinstance(target, p.Attribute) and target.name == name for target in targets):
                return True
    return False


def _assigns(nodes: tuple[object, ...], name: str) -> bool:
    targets = (target for node in walk(*nodes) if isinstance(node, p.Assign) for target in node.targets)
    return any(isinstance(target, p.Name) and target.id == name for target in targets)


def _tests_mode(run: Run, test: p.Expr) -> bool:
    """Whether a test may ask for the mode: it reads `training`, or an argument of the function, which may be a flag for it."""
    asks, names = _asked(test)
    what = run.frame.what
    return asks or (
        bool(names) and what is not None and any(parameter.name in names for parameter in what.node.parameters)
    )


@lru_cache(maxsize=1024)
def _asked(test: p.Expr) -> tuple[bool, frozenset[str]]:
    """Whether a test reads `training`, and the names in it."""
    parts = list(_parts(test))
    return any(map(_mode, parts)), frozenset(part.id for part in parts if isinstance(part, p.Name)) - {"self"}


def _mode(part: object) -> bool:
    return isinstance(part, p.Attribute) and part.name == "training"


def _parts(node: object) -> Iterator[object]:
    """An expression and all in it, functions' bodies left out."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (tuple, list)):
            waiting.extend(part)
        elif isinstance(part, p.Expr) and not isinstance(part, p.Function):
            yield part
            for kind in type(part).__mro__:
                waiting.extend(getattr(part, slot, None) for slot in vars(kind).get("__slots__", ()))

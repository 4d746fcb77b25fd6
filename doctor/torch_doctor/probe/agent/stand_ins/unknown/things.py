"""What becomes of names that are imported from modules that are not there, by what the script does with them."""

from __future__ import annotations

import ast
import sys
import types
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...handed import hand, hand_anything
from .. import told
from ..silent import Silent, decorates
from ..source import expressions, spelled
from ..unread.words import ChosenWords
from . import data, roles
from .actors import ACTING, Receiving
from .computing import Computing
from .layers import layer_class
from .names import MADE_UP, Unknown
from .results import tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..stand_in import StandIn

VOIDS = (told.VALUES, told.SHAPES, told.WEIGHTS, told.FILES, told.INSIDE)
ASKING = frozenset({"hasattr", "getattr"})
SIZES = ("batch_size", "bs", "batch")
LEARNING = ("lr", "learning_rate")


class Unknowns:
    """Makes what stands in for the names of such modules, in one run."""

    def __init__(self, user: StandIn) -> None:
        self.user = user
        self.sources = user.sources
        self.torch: Any = None
        self._computing: Computing | None = None
        self._build: Callable[..., None] = _unbuilt
        self.words = ChosenWords(user.sources, likely=bool(user.plan.get("alone")))
        self._numbers: dict[str, int] = {}
        self._whys: dict[str, str] = {}
        self.receiving = Receiving(self)
        self._known_uses: dict[tuple[str, int, str, int], roles.Uses] = {}
        _made.append(self)

    def __reduce__(self) -> Any:
        return current, ()

    def __deepcopy__(self, _: Any) -> Unknowns:
        return self

    def with_torch(self, torch: Any) -> None:
        """Torch is there."""
        self.torch = torch
        self._build = torch.utils.data.DataLoader.__init__  # before anybody watches it
        self._computing = Computing(torch, self.sources)

    # --- what is told and asked ---

    def tell(self, name: str, how: str, voids: tuple[str, ...] = VOIDS) -> None:
        """Tells what stands in for a name."""
        self.user.tell(name, how, why=self._whys.get(name, ""), voids=voids)

    def explain(self, name: str, why: str) -> None:
        """Has what is told of a name say why something stands in for it."""
        self._whys[name] = why

    def tell_base(self, name: str, how: str) -> None:
        """Tells what a class has for its base."""
        self.tell(name, how, (*VOIDS, told.BASES))

    def is_asked_whether(self, name: str) -> bool:
        """Whether the statement of the user's that runs asks whether something has an attribute."""
        frame = self.sources.innermost()
        for statement in self.sources.statements(frame)[:1] if frame is not None else ():
            for node in expressions(statement):
                if isinstance(node, ast.Call) and spelled(node) in ASKING and len(node.args) > 1:
                    asked = node.args[1]
                    if not isinstance(asked, ast.Constant) or asked.value == name:
                        return True
        return False

    def next_key(self, name: str) -> str:
        """A key for another object of this name."""
        self._numbers[name] = self._numbers.get(name, 0) + 1
        return f"{name} {self._numbers[name]}"

    # --- what they do ---

    def called(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What the call of an imported name gives."""
        frame = self.sources.innermost()
        hand((*arguments, *keywords.values()))
        if (
            frame is not None
            and not arguments
            and isinstance(next(iter(self.sources.statements(frame)), None), ast.Expr)
        ):
            hand_anything()  # it is called for what it does
        if len(arguments) == 1 and not keywords and decorates(arguments[0]):
            return self.receiving.decorated(name, arguments[0])
        if self.torch is None or frame is None:
            return Unknown(name, self)
        last = name.rpartition(".")[2]
        given = (*arguments, *keywords.values())
        if last == "backward" and arguments and isinstance(arguments[0], self.torch.Tensor):
            return arguments[0].backward()
        self.receiving.call(name, given, self._uses(frame, name))
        parts = self._parts(frame, name, arguments)
        if parts is None and self._uses(frame, name).several:
            self.tell(name, MADE_UP)
            return Unknown(name, self)  # no tensor has such items
        if parts is None and any(True for _ in tensors_in(given, self.torch)):
            return self.computed(f"{name} {frame.f_lineno}", name, (arguments, keywords), None, ())
        return parts if parts is not None else self._built(frame, name, arguments, keywords)

    def _uses(self, frame: types.FrameType, name: str) -> roles.Uses:
        """What becomes of a call's value, as the modules tell that are loaded by now."""
        last = name.rpartition(".")[2]
        key = (frame.f_code.co_filename, frame.f_lineno, last, len(sys.modules))
        if key not in self._known_uses:
            self._known_uses[key] = roles.uses_of_call(self.sources, frame, last)
        return self._known_uses[key]

    def _built(self, frame: types.FrameType, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What a call makes that gets no tensors."""
        last, given = name.rpartition(".")[2], (*arguments, *keywords.values())
        uses = self._uses(frame, name)
        made = self._optimizing(name, arguments, keywords, uses)
        if made is None:
            made = self._of_role(uses.role, name, last, given, keywords)
        if made is not None:
            return made
        self.tell(name, MADE_UP)
        return Unknown(name, self)

    def _parts(self, frame: types.FrameType, name: str, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What stands in for each of several values that a call gives: what went in, or what the names that take them want."""
        statement = next(iter(self.sources.statements(frame)), None)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if (
            not isinstance(target, (ast.Tuple, ast.List))
            or spelled(statement.value) != name.rpartition(".")[2]  # type: ignore[union-attr]
            or any(True for _ in tensors_in(given, self.torch))
        ):
            return None
        actors = (self.torch.nn.Module, self.torch.optim.Optimizer)
        if any(isinstance(each, actors) for each in given):
            self.tell(name, "its argument, unchanged", (*VOIDS, told.ACTIONS))
        if len(given) == len(target.elts) and isinstance(given[0], actors):
            return given
        made = []
        for each in target.elts:
            held = spelled(each)
            whole = f"{name} {held}".strip()
            role = roles.uses_of_name(self.sources, frame, held).role if held else roles.PLAIN
            made.append(self._of_role(role, whole, held, (), {}) or Unknown(whole, self))
        self.tell(name, MADE_UP)
        return tuple(made)

    def trains_in_loop(self, frame: types.FrameType) -> bool:
        """Whether the statement that runs is a loop in which something goes backward."""
        statement = next(iter(self.sources.statements(frame)), None)
        return isinstance(statement, ast.For) and any(
            isinstance(node, ast.Attribute) and node.attr in ("backward", "step") for node in ast.walk(statement)
        )

    def loader(self, name: str, keywords: dict[str, Any]) -> Any:
        """What gives the batches that the loop takes."""
        size = next((keywords[each] for each in SIZES if isinstance(keywords.get(each), int)), None)
        self.tell(name, "batches that fit the loop")
        return data.Loader(self.torch, name, self._build, size)

    def elsewhere(self, what: str, call: str, why: str) -> Any:
        """What was in a file, or elsewhere, that is not there, by what the script does with the call that reads it."""
        self._whys[what] = self._whys[call] = why
        frame = self.sources.innermost()
        if self.torch is None or frame is None:
            return None
        parts = self._parts(frame, call, ())
        return parts or self._of_role(roles.uses_of_call(self.sources, frame, call).role, what, call, (), {})

    def _of_role(self, role: str, name: str, last: str, given: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if role in (roles.DATASET, roles.LOADER) and self.user.learnt.of("plain", name):
            return None
        if role == roles.DATASET:
            self.tell(name, "placeholder samples")
            return data.dataset(self.torch, name)
        if role == roles.LOADER:
            whole = next((each for each in given if hasattr(each, "__next__") or _is_row(each)), None)
            return whole if whole is not None else self.loader(name, keywords)  # it goes through what it is given
        if role == roles.MODULE:
            inside = [each for each in given if isinstance(each, self.torch.nn.Module)]
            if len(inside) == 1 and inside[0] is given[0] and not last[:1].isupper():
                self.tell(name, "the module it receives, unchanged", (*VOIDS, told.ACTIONS))
                return inside[0]
            self.tell(name, "a module whose output fits the script")
            trained = not any(word in name.lower() for word in roles.LOSSES)
            return layer_class(self.torch)(self, name, given, trained=trained)
        return None

    def computed(self, key: str, name: str, given: Any, weight: Any, parts: Any) -> Any:
        """What a function or a layer gives for tensors."""
        if self._computing is None:
            raise self.missing(name)
        self.tell(name, "values that fit the script, computed from the arguments")
        return self._computing.value(key, given, weight, parts, lambda: self.missing(name))

    def missing(self, name: str) -> Exception:
        """Why the run ends where nothing fits."""
        top = name.partition(".")[0]
        self.user.teller.missing(name, f"{name} was not found, and no substitute for it fits")
        return ModuleNotFoundError(f"No module named {top!r}", name=top)

    def _optimizing(self, name: str, arguments: Any, keywords: dict[str, Any], uses: roles.Uses) -> Any:
        """An optimizer over what is given, or one that goes with a schedule; None where none is asked for."""
        optim = self.torch.optim
        given = next((each for each in (*arguments, *keywords.values()) if isinstance(each, optim.Optimizer)), None)
        if given is not None:
            if uses.methods & roles.OF_OPTIMIZERS:
                self.tell(name, "the optimizer it receives", (*VOIDS, told.ACTIONS))
                return given
            schedules = "step" in uses.methods
            how = (
                "a scheduler that changes no learning rate"
                if schedules
                else "a call that returns its argument unchanged"
            )
            self.tell(name, how, (*VOIDS, told.RATES if schedules else told.ACTIONS))
            return Unknown(name, self)
        parameters = _parameters(arguments[0] if arguments else keywords.get("params"), self.torch)
        if not parameters:
            return None
        if not uses.methods and uses.role == roles.PLAIN:
            self.tell(name, ACTING, (*VOIDS, told.ACTIONS))
            return Unknown(name, self)
        self.tell(name, "torch.optim.SGD")
        rate = next((keywords[each] for each in LEARNING if isinstance(keywords.get(each), float)), 0.01)
        return optim.SGD(parameters, lr=rate)


def _unbuilt(*_: Any, **__: Any) -> None:
    """Before there is a torch, nothing builds a loader."""


def _is_row(value: Any) -> bool:
    return (
        hasattr(value, "__len__") and hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict, Silent))
    )


def _parameters(given: Any, torch: Any) -> list[Any]:
    """The parameters, or groups of them, that something is."""
    if not isinstance(given, (list, tuple, types.GeneratorType, filter, map, chain)):
        return []
    found = list(given)
    if found and all(
        isinstance(each, torch.nn.Parameter) or (isinstance(each, dict) and "params" in each) for each in found
    ):
        return [{"params": each["params"]} if isinstance(each, dict) else each for each in found]
    return []


_made: list[Unknowns] = []


def current() -> Unknowns:
    """That of this run."""
    return _made[-1]

"""What watchers, instruments and the checkup ask of a watcher, as types; each is called like the watcher's module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

    from ..identities import IdentityMap, IdentitySet
    from ..scopes import Here
    from .data.given_rows import GivenRows
    from .families import Family


class Autocasting(Protocol):
    """Mixed precision."""

    @property
    def current(self) -> int | None:
        """The number of the event with which the autocast began that holds now; None where there is none."""


class BuiltInForward(Protocol):
    """Modules that are built in a forward."""

    def born(self, module: Any, site: int | None) -> None:
        """A module was built while another one was called."""

    def after(self, root: Any, here: Here) -> None:
        """The whole module was called."""


class Containers(Protocol):
    """Modules in plain lists and dictionaries."""

    def assigned(self, key: int, container: Any) -> None:
        """A container became an attribute, if that is what the place `key` does."""

    def tell(self, root: Any, here: Here) -> None:
        """Writes the plain containers of a module and its parts that hold modules or parameters."""


class Datasets(Protocol):
    """The data sets of loaders."""

    def tell(self, dataset: Any) -> int:
        """Writes which rows a dataset reads, once; returns its number."""


class Differences(Protocol):
    """Arithmetic with tensors whose shapes were stretched to match."""

    @property
    def stretched(self) -> bool:
        """Whether there were any but differences outside of modules."""

    def compared(self, loss: Any, given: Any, target: Any) -> None:
        """A loss was computed of its input and its target."""


class FirstLayers(Protocol):
    """The first layers of models."""

    def before(self, module: Any, here: Here) -> list[Any]:
        """A model is about to be called: asks its layers; returns what ends that."""


class Flags(Protocol):
    """Who set `requires_grad`."""

    said: IdentityMap[tuple[int, bool]]
    """For each parameter, where `requires_grad` was last set, and whether an optimizer had it then."""
    changes: list[tuple[Any, int, bool]] | None
    """Parameters, where a flag is set, and the flag before that, where an instrument wants to know."""

    def took(self, parameters: list[Any]) -> None:
        """An optimizer takes parameters."""


class Forwards(Protocol):
    """The calls of modules as a whole."""

    calling: list[Any]
    """The modules that are being called, the innermost last."""
    running: Any
    """The whole module that was called last."""

    def caring(self, module: Any) -> list[Any]:
        """The mode-sensitive parts that the last call of this module came to; all of them where nobody can see that."""


class FunctionalDropout(Protocol):
    """Dropout as a function."""

    def born(self, module: Any) -> None:
        """A module was built while another one was called."""

    def after(self, root: Any) -> None:
        """A whole module was called."""


class GivenWeights(Protocol):
    """Modules that no optimizer steps, and that get other weights."""

    def copied(self, module: Any) -> None:
        """A module is a copy."""

    def look(self, here: Here, module: Any = None) -> None:
        """Write what has changed since the last look; `module` is about to be called (None: an optimizer steps)."""


class Gradients(Protocol):
    """The gradients of all tensors that got some."""

    def is_stale(self, tensor: Any) -> bool:
        """Whether the tensor has a gradient that is not zero."""

    def filled(self, tensors: list[Any], here: Here) -> None:
        """These tensors got gradients."""

    def owned(self, numbers: set[int]) -> None:
        """An optimizer moves these tensors from here on."""

    def next_round(self) -> None:
        """A backward pass, a clearing or a step came: what is changed by hand from here on is told again."""

    def cleared(self, tensors: Iterable[Any]) -> list[Any]:
        """The gradients of these tensors were cleared by a call; returns those that are gone."""

    def touched(self, key: int) -> None:
        """A statement ran that may have changed gradients or parameters."""

    def look(self, here: Here) -> None:
        """Before something happens: writes what was changed by hand and not noticed at a statement."""

    def assigned(self, tensors: Iterable[Any], here: Here) -> None:
        """Before a step: writes gradients that no backward pass put there and no statement showed."""


class Loaders(Protocol):
    """Loaders and their batches."""

    latest: list[Any]
    """The tensors of the last batch."""
    known: dict[int, tuple[str, int, int]]
    """The class of the data set, the workers asked for and the site of each loader, by its number."""
    given: GivenRows | None
    """What a trainer of a library builds a loader over, while it does."""


class Memory(Protocol):
    """What keeps the memory of the device."""

    def used(self, tensors: Any) -> None:
        """Tensors are put together, given to a model, or to a loss."""


class ModeMethods(Protocol):
    """Classes that override `train` or `eval`."""

    def tell(self, cls: type, built_at: int, here: Here) -> None:
        """Writes what the class's own methods of these names need and do."""


class Modules(Protocol):
    """Modules: where they were built, and what they are made of."""

    version: int
    """Another number means that modules were built or replaced."""

    def built_by(self, module: Any, owner: Any) -> bool:
        """Whether the module was built while `owner` was constructed."""

    def made_by(self, code: CodeType, module: Any) -> bool:
        """Whether this code built the module, which is part of no other."""

    def birthplace(self, module: Any) -> int | None:
        """The place where a module was built."""

    def family(self, module: Any) -> Family:
        """The parameters and the mode-sensitive parts of a module."""

    def tell(self, module: Any, here: Here) -> int:
        """Writes a module and all its parts, once; returns its number."""

    def alive(self) -> Iterator[Any]:
        """All modules that were built and are still there."""

    def is_part(self, module: Any) -> bool:
        """Whether the module is part of another one that was built."""

    def owners(self, parameters: Iterable[Any], here: Here) -> frozenset[int]:
        """The modules that own these parameters, with those around them that are covered completely."""

    def is_owned(self, parameter: Any) -> bool:
        """Whether some module that is known owns the tensor."""


class Moves(Protocol):
    """What is moved to a device or wrapped."""

    shells: IdentitySet
    """The wrappers of distributed training."""


class NamedForwards(Protocol):
    """Calls of `forward` by its name."""

    def note(self, key: int, function: Any) -> None:
        """The user calls `function` as `thing.forward`, at the place of this key."""


class Optimizers(Protocol):
    """Optimizers and their steps."""

    told: IdentitySet
    """The optimizers that were written."""
    optimized: set[int]
    """The `id` of each parameter that some optimizer has."""
    moved: set[int]
    """The `id` of each parameter that a step has moved."""
    scaled: Any
    """The optimizer whose step a scaler is taking."""
    scaler: Any
    """The scaler that takes it."""

    def tensors(self) -> list[Any]:
        """All tensors that some optimizer moves."""

    def stepped_already(self) -> None:
        """Write the step under way if it has moved a parameter: what its hooks do comes after it."""

    def name(self, optimizer: Any, here: Here) -> str:
        """What the user calls an optimizer that a call at this place steps."""


class PlainTensors(Protocol):
    """Tensors that are plain attributes of modules."""

    def assigned(self, key: int, tensor: Any) -> None:
        """A tensor became an attribute at the place of this key; only what constructors assign is remembered."""

    def moved(self, key: int, tensor: Any) -> None:
        """A computed tensor became an attribute: it may be what a move made of a parameter."""

    def follow(self, module: Any, call: Any, arguments: Any, keywords: Any) -> Any:
        """Calls a whole module; the first time it is followed what becomes of such tensors in it."""


class Scaling(Protocol):
    """Gradient scalers."""

    built: bool
    """Whether the script built one."""


class Schedules(Protocol):
    """Schedulers of the learning rate."""

    def of(self, optimizer: Any) -> list[Any]:
        """The schedulers that set the rates of an optimizer."""


class Sharing(Protocol):
    """Layers that stand at several places of a module."""

    def tell(self, owner: Any, here: Here) -> None:
        """Writes the modules that an owner holds several times, where the source shows a list of that one."""


class States(Protocol):
    """States of modules that are taken."""

    def of(self, value: Any) -> list[int]:
        """The events that took what is in a value."""


class Sums(Protocol):
    """Sums over batches."""

    def adding(self, key: int, value: Any) -> None:
        """A number, or a tensor without a graph, is about to be added at a place, perhaps."""

    def added(self, key: int, holder: Any, now: Any) -> None:
        """It was added: `now` is the sum, or it is an attribute of the holder, or an item of it that nobody knows."""

"""Typed facts: what is known of an object beside the attributes that the script gives it."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any

from torch_doctor.static.values.mode import AS_BUILT
from torch_doctor.static.values.origin import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable


def _agreed(left: Any, right: Any) -> Any:
    """What both ways say; None, for not known, where they differ."""
    return left if left == right else None


def _agreed_number(left: float | None, right: float | None) -> float | None:
    """The number that both ways say; NaN, for not known, where they differ."""
    return left if left == right else math.nan


def _first(left: Any, right: Any) -> Any:
    """What one of the ways says."""
    return right if left is None else left


def _either(left: bool, right: bool) -> bool:  # noqa: FBT001 - a fact's value
    return left or right


def _both(left: bool, right: bool) -> bool:  # noqa: FBT001 - a fact's value
    return left and right


def _union(left: Any, right: Any) -> Any:
    return left | right


def _in_order(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(left + right))


def _perhaps(left: frozenset[Any], right: frozenset[Any]) -> frozenset[Any]:
    """Pairs with whether they surely hold: what one way alone has may hold."""
    return (left & right) | {(None, *rest) if holds else (holds, *rest) for holds, *rest in left ^ right}


class Fact(Enum):
    """The key of a fact in `Object.facts`: its name, `unset` and `joined`.

    `unset` is the value where nothing is known yet, `joined` what holds after two ways that leave different values: None
    where the values join as the variables of a script do.
    """

    def __init__(self, _: str, unset: object, joined: Callable[[Any, Any], Any] | None) -> None:
        self.unset: Any = unset
        self.joined = joined

    __hash__ = object.__hash__

    # --- optimizers ---

    TAKEN = "taken", frozenset[int](), _union
    """The numbers of the modules whose parameters an optimizer has, whichever way was taken."""
    BUILT = "built", False, _either
    """Whether the script has built an optimizer in sight, on some way here."""
    COMPLETE = "complete", True, _both
    """Whether an optimizer has the parameters of no other modules."""
    CLEARS = "clears", False, _either
    """Whether its own step, which the project wrote, may clear the gradients."""
    STEP_HOOKS = "step hooks", (), _in_order
    """The functions that are called before and after each of its steps: whether before, and which; of the run: for all of them."""
    IDLE = "idle", False, _agreed
    """Whether all that an optimizer has was frozen when it last stepped."""

    # --- modules ---

    MODE = "mode", AS_BUILT, None
    """The `Mode` that was last set on it; one of several where ways join that leave others."""
    ORIGIN = "origin", NOWHERE, None
    """Where the parameters that a module has itself come from, and where they are."""
    LISTED = "listed", None, None
    """The `Content` of a module that is a list of modules."""
    OWNER = "owner", None, None
    """The module that a module or parameter is registered in."""
    REGISTERED = "registered", False, _either
    """Whether it may be registered in a module."""
    BY_NAME = "by name", False, _either
    """Whether it is an attribute of a module whose class is out of sight: a part, or a method."""
    PART_OF = "part of", "", _first
    """The name that a library gives the model of which it is a part, where its own class is out of sight."""
    STANDS_FOR = "stands for", (), _in_order
    """The modules of which it is one, where there are too many to tell apart."""
    INITIALISED = "initialised", False, _agreed
    """Whether the base class's constructor ran; None where that is not known."""
    WRITTEN = "written", None, _agreed
    """For a layer of torch: the call that constructs it."""
    CONSTRUCTOR = "constructor", None, _first
    """The `__init__` of the project that ran last."""
    EARLY = "early", None, _first
    """The first part assigned before the base class was initialised: where, and in which function."""
    HELD = "held", dict[str, Any](), _union
    """Plain containers among the attributes, by name: where they are assigned, by which function, whether for one item."""
    MEANT = "meant", frozenset[str](), _union
    """The names of plain containers that were meant to register what is in them."""
    ASSIGNED = "assigned", dict[str, Any](), _union
    """Layers that the module's own class assigns while it is constructed, by the attribute's name, and where."""
    READS_MODE = "reads mode", False, _agreed
    """Whether the class asks for its own `training`."""
    CARED = "cared", frozenset[Any](), _perhaps
    """For a call that is being followed: whether what was called in it cares about the mode, and which mode that was."""
    UNMOVED = "unmoved", False, _both
    """Whether it was on the CPU when code out of sight got it, and nobody in sight moves it since."""
    CALLS_UNSEEN = "calls unseen", False, _either
    """Whether its forward calls code out of sight, which may be a layer of any sort."""
    AVERAGED = "averaged", False, _both
    """Whether it is the copy that an `AveragedModel` has of a model: its `module`."""
    AVERAGES_EQUALLY = "averages equally", False, _both
    """For such a copy: whether each update counts as much as the others, and the buffers are those of the model."""
    AVERAGED_AT = "averaged at", None, _first
    """For batch norm: where its model got averaged weights, of which modules, and whether each counts as much."""
    RENEWED_SINCE = "renewed since", False, _either
    """For batch norm: whether it may have gathered statistics since it got averaged weights, or been given some."""
    GATHERED = "gathered", False, _either
    """For batch norm: whether it may have gathered statistics, or been given some, at all."""
    COMPILED = "compiled", False, _either
    """Whether it may be compiled."""
    OUTPUT_HOOKS = "output hooks", (), _in_order
    """The functions that may give back another output than that of its forward."""
    AROUND = "around", None, _first
    """What runs around its forward when it is called, in words, and where that was put there."""
    SYNCHRONISED = "synchronised", False, _either
    """Whether it may share the statistics of a batch with other processes."""
    ENGINE = "engine", None, _first
    """The optimizer of the engine that a framework may have made of it, whose own methods train it; whatever it is."""
    FROZEN = "frozen", False, _agreed
    """Whether a module's own parameters, or a parameter, require no gradients; None where that is not known."""
    MAY_BE_FROZEN = "may be frozen", False, _both
    """Whether the script said, and did not take back, that a module's own parameters, or a parameter, require no gradients."""
    FROZEN_IN_PASSING = "frozen in passing", False, _either
    """Whether it was frozen on some way here, behind a test within a loop: in the passes that need it, perhaps."""
    FLAGGED = "flagged", None, _agreed
    """Where the script last said whether a module's own parameters, or a parameter, require gradients."""
    GRADIENT = "gradient", None, _agreed
    """Whether a module's own parameters, or a parameter, have a gradient: False for one of zeros, None where nobody knows."""
    PASSED = "passed", False, _either
    """Whether something went backward through a module's own parameters, or a parameter, while they were not surely frozen."""
    ADAPTS = "adapts", None, _first
    """For an adapter: the numbers of what it was put into."""
    ADAPTER_OFF = "adapter off", None, _agreed
    """For an adapter: why it computes nothing, and where that was asked for; None where it does, or nobody knows."""
    TRAINED = "trained", False, _either
    """Whether gradients were computed through a module of which nothing else is known."""
    CONSTANT = "constant", None, _agreed
    """The `Constant` that the weights were set to."""
    BIAS = "bias", None, _agreed_number
    """The number that the biases were set to: NaN if unknown, None for those that the module was built with."""
    WEIGHTS_GIVEN = "weights given", False, _either
    """Whether somebody may have given it weights, loaded or copied."""
    RECORDED = "recorded", False, _either
    """It ran where autograd may record, or was read: gradients of what is computed may go to its weights."""
    CUT = "cut", False, _either
    """Whether what it computed in the forward of a module was taken without its graph."""
    TOLD_AS_DRAWN = "told as drawn", False, _both
    """The trace says that it is trained from the weights that it was built with, or that it never gets gradients."""
    GIVEN_TO_BASE = "given to base", None, _agreed
    """What the constructor of a library's trainer was given, and where that stands."""
    OPTIMIZERS = "optimizers", None, None
    """The optimizers that `configure_optimizers` returned to the framework that drives the module."""
    SCHEDULERS = "schedulers", None, None
    """The same of schedulers."""
    TOGGLED = "toggled", None, _agreed
    """The optimizer whose parameters alone get gradients, with the number of events before."""
    DOUBTFUL = "doubtful", None, _first
    """For a loss: the event of its construction, where that got who knows what."""

    # --- what comes from callers ---

    HANDED_IN = "handed in", False, _both
    """Whether callers out of sight gave it, as an argument or within one."""

    # --- the run itself (`Run.state`) ---

    PLACED_BY_DEFAULT = "placed by default", False, _either
    """Whether what nobody moves may be where the model is: by a setting, or as all is on the CPU."""
    SENT_AWAY = "sent away", frozenset[Any](), _union
    """Loaders, and sorts of data sets, of which something was moved to a device."""
    SPAWNS = "spawns", False, _either
    """Whether the script chooses how worker processes start."""
    BLAMED = "blamed", frozenset[Any](), _union
    """What was reported to be on the CPU, and to meet something that is not."""
    WENT_BACKWARD = "went backward", False, _either
    """Whether anything went backward, on some way here."""
    RENEWED = "renewed", frozenset[int](), _union
    """The numbers of the parameters that forwards made: gradients reach those alone with which something was computed since."""
    CLEARED = "cleared", frozenset[Any](), _union
    """The symbols of what is not known, but had its gradients cleared."""
    DRIVEN = "driven", frozenset[int](), _union
    """The numbers of the modules and trainers whose training loop a framework ran."""
    SCORED = "scored", frozenset[int](), _union
    """The numbers of the trainers whose predictions a function of the project has scored."""
    EMPTIED = "emptied", frozenset[Any](), _union
    """What was taken out of a holder: the number of the fields that it was in, the key, and the number of a loop around."""
    WAITS = "waits", 0, max
    """How many calls may have waited for the GPU since a clock was read."""
    COPIES = "copies", 0, max
    """How many calls have copied to a device since then."""

    # --- files and classes ---

    EXECUTED = "executed", False, _agreed
    """Whether all of a file's top level was executed."""
    STARS = "stars", (), _first
    """The paths of the files of which it imports all, where they are executed when a name is looked for."""
    DATACLASS = "dataclass", False, _either
    """Whether a decorator writes the constructor of a class."""

    ANNOTATED = "annotated", (), _in_order
    """The names that a class's body annotates, in order: what such a constructor takes."""

    # --- data ---

    ELSEWHERE = "elsewhere", False, _either
    """Whether what a loader gives may come from anywhere, moved by others."""
    ARGUMENTS = "arguments", ((), dict[str, Any]()), _first
    """What an object of a project's class was constructed with: positional arguments, and those with names."""
    DREW = "drew", None, _agreed
    """Whether its constructor drew random numbers."""
    REORDERED = "reordered", False, _agreed
    """Whether a dataset's rows come in an order of its own."""
    PORTION = "portion", ..., _agreed
    """Which part of a random split a subset is, None where the number of parts is not known; `...` for other things."""
    SEVERAL = "several", False, _either
    """Whether it stands for several objects of which nobody knows how many there are."""
    LENGTH = "length", None, _agreed
    """How many rows such a part has, as a value."""
    MOVES = "moves", (), _in_order
    """Where a dataset's `__getitem__` moves tensors to the GPU."""

    # --- containers and parameters ---

    KEPT = "kept", frozenset[int](), _union
    """The numbers of what an object of the project may keep where its base, a container, has it."""
    FILLED = "filled", (), _in_order
    """Where something was put into a container after it was made."""
    GROWN = "grown", False, _either
    """Whether a loop puts items in a list that was there before it, so that nobody knows how many it has."""
    ONE_BY_ONE = "one by one", None, _agreed
    """The list from each of whose items a comprehension made one of it, and the content that it had then."""
    FILLING = "filling", None, _agreed
    """What a list repeats, as a value, and the symbol of how often."""
    TOO_LONG = "too long", None, _agreed
    """How a list was made to which the same was added as often as a symbol says: cut at that length, it is filled up."""
    FILLED_UP = "filled up", None, _agreed
    """How a list was made that was filled up to a length."""
    MADE = "made", None, _agreed
    """How the numbers of a parameter were made, from which its shape follows."""
    DATA = "data", None, None
    """The `Origin` of the tensor that a parameter was built from."""
    ATTRIBUTE = "attribute", None, _first
    """The plain attribute of a module that a leaf tensor lies in."""

"""What outlives an iteration: values that are kept or logged, checkpoints that are saved and loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event, TensorFact

if TYPE_CHECKING:
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Holding, Tri


@dataclass(slots=True, kw_only=True, eq=False)
class Kept(Event):
    """A value was put where it outlives the statement: a running sum, a container, an attribute.

    `holder` is the user's name for it; `carries` are the `Kept` events whose values the holder already had inside: when one
    of an earlier iteration is among them, the value outlived its iteration. `bounded`: the holder drops old values by
    itself (`deque(maxlen=...)`).
    """

    value: TensorFact
    how: Holding
    holder: str
    carries: frozenset[int] = NO_EVENTS
    bounded: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Stored(Event):
    """A tensor without a graph, with the data of these forwards in it, was put where it may be found again.

    An attribute, an item of something that is no list or dict, or written into a tensor that is there already.
    """

    forwards: frozenset[int]


@dataclass(slots=True, kw_only=True, eq=False)
class Logged(Event):
    """A value went to a sink: something that formats, plots or collects what it is given.

    `sink` is its canonical name, `name` the user's expression for it. `keeps`: it adds up or collects the very value it gets.
    `needs_number`: it is made for numbers, and of a tensor it makes a text or an error.
    """

    value: TensorFact
    sink: str
    name: str = ""
    keeps: bool = False
    needs_number: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class Saved(Event):
    """Something was written by `torch.save`. `modules` are whole module objects inside it, `what` the argument's text.

    `names` says under which key of a dict each module lies ("" for the object itself); `buffer` is the number of the
    buffer in memory (`io.BytesIO`) it was written into (0: a file). `states` are the `StateTaken` events whose tensors
    may be in it. `keys` are the strings of a dict that is saved; `optimizer` tells whether an optimizer's state is in it.
    `shared`: the path is the same in every process of a distributed run. `file` is the path, where a run shows it.
    """

    what: str
    modules: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    buffer: int = 0
    states: frozenset[int] = NO_EVENTS
    keys: tuple[str, ...] = ()
    optimizer: Tri = None
    shared: Tri = None
    file: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class WriterBuilt(Event):
    """A writer of logs was made; `shared`: its directory is the same in every process of a distributed run.

    `file` is the directory, where a run shows it.
    """

    name: str
    shared: Tri = None
    file: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class StateTaken(Event):
    """`module.state_dict()`, whose tensors are the module's own, or with `alias` another name for the module itself.

    `name` is the module's name, `alias` the variable or attribute that keeps the best model by assigning the module.
    """

    module: int
    name: str
    alias: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Loaded(Event):
    """Weights were loaded into `module` (0: only read from the file, or from the `buffer` in memory).

    For a file that is read: `weights_only` is what `torch.load` was told and None where it cannot be known, `by_default`
    that it was told nothing; `mapped` whether it was told where the tensors go. `states` are the `StateTaken` events whose
    tensors may be what is loaded; `only` tells that it is nothing else.
    """

    module: int
    name: str
    buffer: int = 0
    weights_only: Tri = None
    by_default: bool = False
    mapped: Tri = None
    states: frozenset[int] = NO_EVENTS
    only: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class LoadMisused(Event):
    """What `load_state_dict` was given, or gave back, is not what it is taken for; `name` is whose weights were to be loaded.

    `result`: the class of what came back ("" where the source alone was read). `path`: a string came in the place of the
    state, spelled like this. `overwritten`: the name itself got the result, which only tells the missing and unexpected
    keys. `fails_at`: where that result is used as if it were the module (None: not seen). `keys`: so many were given, none is
    a key of the module, and `strict=False` let that pass; `example` is one.
    """

    name: str
    result: str = ""
    path: str = ""
    overwritten: bool = False
    fails_at: Site | None = None
    keys: int = 0
    example: str = ""

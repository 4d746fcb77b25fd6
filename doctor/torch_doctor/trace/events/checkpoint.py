"""Checkpoints: states that are taken, saved, loaded and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import NO_EVENTS, Event
from torch_doctor.trace.events.wording import quoted

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class StateTaken(Event, frozen=True, kw_only=True):
    """`module.state_dict()`, whose tensors are the module's own, or with `alias` another name for the module itself.

    `name` is the module's name, `alias` the variable or attribute that keeps the best model by assigning the module.
    """

    module: int
    name: str
    alias: str = ""

    def words(self, _: Names, /) -> str:
        if self.alias:
            return f"make {quoted(self.alias)} another name of {quoted(self.name)}"
        return f"get the state_dict of {quoted(self.name)}, which shares its tensors"


class Saved(Event, frozen=True, kw_only=True):
    """Something was written by `torch.save`. `modules` are whole module objects inside it, `what` the argument's text.

    `names` says under which key of a dict each module lies ("" for the object itself); `buffer` is the number of the
    buffer in memory (`io.BytesIO`) it was written into (0: a file). `states` are the `StateTaken` events whose tensors
    may be in it. `keys` are the strings of a dict that is saved; `optimizer`, `scheduler` and `scaler` tell whether the
    state of one is in it.
    `objects` are the things in it that are no tensors, numbers, texts or plain containers of these: the key of each in a dict
    ("" for the thing itself), and what it is. `numbers` are the keys of what NumPy or a library on top of it computed.
    `shared`: the path is the same in every process of a distributed run. `file` is the path where a run shows it, in the
    source text that is equal where the path is ("": not known).
    """

    what: str
    modules: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    buffer: int = 0
    states: frozenset[int] = NO_EVENTS
    keys: tuple[str, ...] = ()
    optimizer: Tri = None
    scheduler: Tri = None
    scaler: Tri = None
    objects: tuple[tuple[str, str], ...] = ()
    numbers: tuple[str, ...] = ()
    shared: Tri = None
    file: str = ""

    def words(self, names: Names, /) -> str:
        whole = f": the {names.things(self.modules)} object, not its state_dict" if self.modules else ""
        return f"save {quoted(self.what)}{whole}"


class Loaded(Event, frozen=True, kw_only=True):
    """Weights were loaded into `module` (0: only read from the file, or from the `buffer` in memory).

    For a file that is read: `weights_only` is what `torch.load` was told and None where it cannot be known, `by_default`
    that it was told nothing; `mapped` whether it was told where the tensors go; `file` is as in `Saved`, `told` whether the
    user says the whole path: an option, a setting, an argument. `outside`: its name comes from somewhere else than the script
    alone, or something is downloaded there. `path` is equal where two scripts of a project read one file, or what one option
    says ("": that is not known). `own`: each key that is taken of it is one of something that the project saves.
    `resumes`: an optimizer gets its state from it, which the same code takes of it (None: only
    the first). `states` are the `StateTaken` events whose tensors may be what is loaded; `only` tells that it is nothing else.
    `whole`: what the file holds is used as a module or an optimizer; `state`: it is loaded into one.
    `allowed`: the project says which classes may be read, or lifts the limits for all files. `refused` is what torch said, where
    it refused to read what the file holds, or what it refuses by default since 2.6; None where the source alone was read.
    `pretrained`: a library that builds the module loads the weights, which others have trained.
    """

    module: int
    name: str
    buffer: int = 0
    weights_only: Tri = None
    by_default: bool = False
    mapped: Tri = None
    file: str = ""
    told: bool = False
    outside: bool = True
    path: str = ""
    own: bool = False
    resumes: Tri = False
    states: frozenset[int] = NO_EVENTS
    only: bool = False
    whole: bool = False
    state: bool = False
    allowed: bool = False
    refused: str | None = None
    pretrained: bool = False

    def words(self, names: Names, /) -> str:
        if self.pretrained:
            return f"load trained weights into {names.thing(self.module)}"
        return f"load weights into {quoted(self.name)}" if self.module else f"load {quoted(self.name)} from a file"


class LoadMisused(Event, frozen=True, kw_only=True):
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

    def words(self, _: Names, /) -> str:
        if self.path:
            return f"load the string {quoted(self.path)} into {quoted(self.name)}"
        if self.keys:
            return f"load {self.keys} keys into {quoted(self.name)}, which has none of them"
        fails = f", which fails on line {self.fails_at.row}" if self.fails_at is not None else ""
        return f"use the result of load_state_dict as {quoted(self.name)}{fails}"


class RoundTripped(Event, frozen=True, kw_only=True):
    """What `Saved` event `saved` wrote was read back into a fresh copy of the module: did it answer as the original?

    `difference` is the largest between two numbers of the outputs; `lost` names parameters and buffers that are other in
    the copy. Only the probe writes it.
    """

    saved: int
    module: int
    name: str
    difference: float
    lost: tuple[str, ...] = ()

    def words(self, _: Names, /) -> str:
        answer = f"outputs differ by up to {self.difference:.4g}" if self.difference else "same output"
        return f"reload the saved state of `{self.name}`: {answer}"


class FolderMissing(Event, frozen=True, kw_only=True):
    """The script writes below `folder`, which neither exists nor was created by the script: without the probe, this call fails.

    `file` is the source text of the path that is written ("": not known); `what` is "file" or "folder". Only the probe
    writes it.
    """

    folder: str
    file: str = ""
    what: str = "file"

    def words(self, _: Names, /) -> str:
        return f"write to the directory {quoted(self.folder)}, which does not exist"

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
    """`module.state_dict()` is called, whose tensors are those of the module, or another name is assigned to the module."""

    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    alias: str = ""
    """The variable or attribute that is to keep the best model and gets the module itself; "" for `state_dict()`."""
    parameters: bool = False
    """Whether it gets a list of the module's parameters, or of tensors that share their memory, and not the module."""

    def words(self, _: Names, /) -> str:
        if self.alias:
            what = "parameters of " * self.parameters
            return f"make {quoted(self.alias)} another name of {what}{quoted(self.name)}"
        return f"get the state_dict of {quoted(self.name)}, which shares its tensors"


class Saved(Event, frozen=True, kw_only=True):
    """Something is written by `torch.save`."""

    what: str
    """The source text of the argument."""
    modules: tuple[int, ...] = ()
    """The module objects (not their states) that it contains."""
    names: tuple[str, ...] = ()
    """The dict key of each of `modules`; "" for the saved object itself."""
    buffer: int = 0
    """The buffer in memory (`io.BytesIO`) that it is written to; 0 for a file."""
    states: frozenset[int] = NO_EVENTS
    """The `StateTaken` events whose tensors it may contain."""
    keys: tuple[str, ...] = ()
    """The string keys of a saved dict."""
    optimizer: Tri = None
    """Whether it contains the state of an optimizer."""
    scheduler: Tri = None
    """Whether it contains the state of a scheduler."""
    scaler: Tri = None
    """Whether it contains the state of a gradient scaler."""
    objects: tuple[tuple[str, str], ...] = ()
    """The dict key and the class of each object that is not a tensor, number, string or plain container."""
    numbers: tuple[str, ...] = ()
    """The keys of values that NumPy, or a library based on it, computed."""
    shared: Tri = None
    """Whether all processes of a distributed run write to the same path."""
    file: str = ""
    """The source text that determines the path, equal where the path is equal; "" if unknown."""

    def words(self, names: Names, /) -> str:
        whole = f": the {names.things(self.modules)} object, not its state_dict" if self.modules else ""
        return f"save {quoted(self.what)}{whole}"


class CheckpointCopied(Event, frozen=True, kw_only=True):
    """A file that `torch.save` wrote is copied, moved or renamed. Only the static witness writes it."""

    saves: frozenset[int]
    """The `Saved` events that wrote it."""

    def words(self, _: Names, /) -> str:
        return "copy or move a checkpoint"


class Loaded(Event, frozen=True, kw_only=True):
    """Weights are loaded into a module, or only read from a file or buffer."""

    module: int
    """The module; 0 if the weights are only read."""
    name: str
    """The name of the module, or the source text of the file."""
    buffer: int = 0
    """The buffer in memory that they are read from; 0 for a file."""
    weights_only: Tri = None
    """The argument `weights_only` of `torch.load`; None if unknown."""
    by_default: bool = False
    """Whether `torch.load` is called without `weights_only`."""
    mapped: Tri = None
    """Whether `torch.load` is called with `map_location`."""
    file: str = ""
    """The source text that determines the path, as in `Saved`."""
    told: bool = False
    """Whether the user passes the complete path as an option, a setting or an argument."""
    outside: bool = True
    """Whether the path depends on more than the script, or the file is downloaded."""
    path: str = ""
    """A text that is equal for scripts of a project that read the same file or option; "" if unknown."""
    own: bool = False
    """Whether the project saves all keys that are read from it."""
    resumes: Tri = False
    """Whether an optimizer gets its state from it; None if the script does not also take the state of that optimizer."""
    states: frozenset[int] = NO_EVENTS
    """The `StateTaken` events whose tensors may be loaded."""
    only: bool = False
    """Whether nothing but `states` can be loaded."""
    whole: bool = False
    """Whether the content of the file is used as a module or an optimizer."""
    state: bool = False
    """Whether the content of the file is loaded into a module or an optimizer."""
    allowed: bool = False
    """Whether the project allows classes for loading, or disables the check for all files."""
    refused: str | None = None
    """The error of torch if it rejects the content, or would by default since 2.6; None for the static witness."""
    pretrained: bool = False
    """Whether a library that creates the module loads pretrained weights."""

    def words(self, names: Names, /) -> str:
        if self.pretrained:
            return f"load trained weights into {names.thing(self.module)}"
        return f"load weights into {quoted(self.name)}" if self.module else f"load {quoted(self.name)} from a file"


class LoadMisused(Event, frozen=True, kw_only=True):
    """The argument or the result of `load_state_dict` is not what the script takes it for."""

    name: str
    """The module whose weights are loaded."""
    result: str = ""
    """The class of the result; "" for the static witness."""
    path: str = ""
    """The source text of a string that is passed instead of a state; "" if none is."""
    overwritten: bool = False
    """Whether the result, which lists missing and unexpected keys, is assigned to the name of the module."""
    fails_at: Site | None = None
    """Where the script uses the result as a module; None if it does not."""
    keys: int = 0
    """The number of keys of a state that has no key of the module, which `strict=False` accepts."""
    example: str = ""
    """One of these keys."""
    lost: bool = False
    """Whether `load_from_checkpoint` returns the module with the weights, and nobody keeps it."""

    def words(self, _: Names, /) -> str:
        if self.path:
            return f"load the string {quoted(self.path)} into {quoted(self.name)}"
        if self.keys:
            return f"load {self.keys} keys into {quoted(self.name)}, which has none of them"
        if self.lost:
            return f"load weights beside {quoted(self.name)}, which keeps its own"
        fails = f", which fails on line {self.fails_at.row}" if self.fails_at is not None else ""
        return f"use the result of load_state_dict as {quoted(self.name)}{fails}"


class RoundTripped(Event, frozen=True, kw_only=True):
    """The file of a `Saved` event was loaded into a new copy of the module. Only the probe writes it."""

    saved: int
    """The `Saved` event."""
    module: int
    """The module."""
    name: str
    """The name of the module in the script."""
    difference: float
    """The largest difference between a number of the original output and of the copy's output."""
    lost: tuple[str, ...] = ()
    """The parameters and buffers whose values differ in the copy."""

    def words(self, _: Names, /) -> str:
        answer = f"outputs differ by up to {self.difference:.4g}" if self.difference else "same output"
        return f"reload the saved state of `{self.name}`: {answer}"


class FolderMissing(Event, frozen=True, kw_only=True):
    """The script writes into a directory that does not exist and that it did not create. Only the probe writes it."""

    folder: str
    """The directory."""
    file: str = ""
    """The source text of the path; "" if unknown."""
    what: str = "file"
    """What is written: "file" or "folder"."""

    def words(self, _: Names, /) -> str:
        return f"write to the directory {quoted(self.folder)}, which does not exist"

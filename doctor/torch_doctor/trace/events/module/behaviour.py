"""What modules do when they are called, and what their layers give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace.events.event import Event
from torch_doctor.trace.events.wording import in_brackets, quoted, short

if TYPE_CHECKING:
    from torch_doctor.trace.events.names import Names
    from torch_doctor.trace.site import Site
    from torch_doctor.trace.words import Tri


class ForwardByName(Event, frozen=True, kw_only=True):
    """`name.forward(...)`: a module's `forward` was called past its `__call__`, by somebody else than the module itself.

    It says so beside the `Forward` of a whole module. `within` is the module whose `forward` or construction the call lies
    in, 0 outside of any, and where the function that calls it has built it for itself. `skips` is what its `__call__` would
    have run besides, such as hooks ("": nothing that is known), `put_at` where that was put there. Not said of modules that are
    not meant to be called: whose class defines `__call__` anew, whose `forward` was replaced, which are compiled.
    """

    module: int
    name: str
    class_name: str
    within: int = 0
    skips: str = ""
    put_at: Site | None = None

    def words(self, _: Names, /) -> str:
        around = " within another module" if self.within else ""
        past = f", bypassing {self.skips}" if self.skips else ""
        return f"call `forward` of {quoted(self.name)} directly{around}{past}"


class BuiltInForward(Event, frozen=True, kw_only=True):
    """A layer with something to train, or a parameter, was made while the module `owner` was called, and used there.

    `site` is the construction, `used_at` the use. `registered`: it became part of a module, and another one comes with the next
    call. `elements` counts its trainable numbers, `times` how often it was made (0: not known).
    """

    owner: int
    owner_class: str
    class_name: str
    used_at: Site
    registered: bool = False
    elements: int = 0
    times: int = 0

    def words(self, _: Names, /) -> str:
        return f"create {short(self.class_name)} in the forward of {short(self.owner_class)}"


class FunctionalDropout(Event, frozen=True, kw_only=True):
    """A forward of the module `owner` called the dropout `function` without telling it the mode: it is always on.

    An attention that is given the rate of a dropout counts as one; `rate_site` is then where the rate is written, and `rate` what
    it was in a run.

    `training` is the module's mode then (None: not known). `dropped` counts the numbers that it made zero, of `elements`
    (0: not counted). `off`: its rate was 0, or code out of sight says it.
    """

    function: str
    owner: int
    owner_class: str
    training: Tri
    dropped: int = 0
    elements: int = 0
    off: bool = False
    rate: float = 0.0
    rate_site: Site | None = None

    def words(self, _: Names, /) -> str:
        return (
            f"{short(self.function)} in the forward of {short(self.owner_class)}, in both training and evaluation mode"
        )


class ModeMethod(Event, frozen=True, kw_only=True):
    """A module's class, `class_name`, defines `train` or `eval` itself; `site` is the `def`.

    torch calls `train(mode)` and `eval()`. `needs` are the arguments that such a call leaves out and that have no default;
    `takes_mode` tells that one of them is the mode by its name. `calls_base`: it calls the method of its base; `switches`:
    it sets the mode of something, `trains`: it updates parameters, all with the methods of its own that it calls.
    """

    class_name: str
    method: str
    needs: tuple[str, ...]
    takes_mode: bool
    calls_base: bool
    switches: bool
    trains: bool
    built_at: Site | None = None

    def words(self, _: Names, /) -> str:
        traits = [f"needs {', '.join(self.needs)}"] * bool(self.needs) + ["trains"] * self.trains
        return f"{self.class_name} defines its own `{self.method}`{in_brackets(traits)}"


class ConstantWeights(Event, frozen=True, kw_only=True):
    """All weights of a layer were set to one number, `value` (None: not known which).

    `site` is the initialisation, for the probe the layer's construction, which is `built_at`. `identical`: its units get
    the same gradients and stay the same, since what follows it is constant too, or they get none, since all that it gives is
    0 and a ReLU follows that is `closed` there; for the probe, they were after `steps` updates.
    """

    module: int
    class_name: str
    value: float | None
    identical: bool
    built_at: Site | None = None
    closed: bool = False
    units: int = 0
    steps: int = 0

    def words(self, _: Names, /) -> str:
        value = "the same number" if self.value is None else f"{self.value:g}"
        return f"all weights of {short(self.class_name)} are {value}{in_brackets(['its units stay identical'] * self.identical)}"


class UnitsSeen(Event, frozen=True, kw_only=True):
    """The units of one activation (`operation`, e.g. `torch.nn.ReLU`) over all training batches.

    A unit is an entry of the last dimension (a channel, for images). `dead` of `units` were zero in all of `rows` rows in
    `batches` batches. `site` is the activation's construction, or its call where it is functional. Only the probe writes it.
    """

    name: str
    operation: str
    units: int
    dead: int
    rows: int
    batches: int

    def words(self, _: Names, /) -> str:
        return f"{self.dead} of {self.units} units were zero in all {self.rows} samples"


class OutputConstant(Event, frozen=True, kw_only=True):
    """A module gave the same output for rows and batches that differ; `site` is its last call.

    Only the probe writes it.
    """

    module: int
    name: str
    rows: int
    batches: int
    updates: int

    def words(self, _: Names, /) -> str:
        return f"`{self.name}` returns the same output for {self.rows} different samples"


class RowsMixed(Event, frozen=True, kw_only=True):
    """A layer, a view or a norm makes what it gives for a row of `loader`'s batch from other rows of it, too.

    `how` is "layer", "view" or "norm". `site` is the layer's construction, where `batch_first` is set, or the view, or where
    a tensor is normalised by what was computed over all rows; `used_at` is the call of a layer, `stacked_at` the construction
    of what repeats it. `name` is its class, or the rest as it is spelled. `shape` is that of what it was given, with the rows
    in dimension 0. `explicit`: the script itself says `batch_first`. The probe writes it for those that a batch came to, with
    its `rows`, and how many others were `changed` in the result when one row was replaced; `answers` counts those in the
    result of the whole module, where the rows are in sight.
    """

    how: str
    name: str
    loader: int
    shape: tuple[int | str | None, ...]
    used_at: Site | None = None
    stacked_at: Site | None = None
    explicit: bool = False
    rows: int = 0
    changed: int = 0
    answers: int = 0

    def words(self, _: Names, /) -> str:
        if self.rows and not self.changed:
            return f"{short(self.name)} processes the samples of a batch independently"
        counted = [f"{self.changed} of {self.rows - 1} others"] * bool(self.rows)
        return f"{short(self.name)} mixes the samples of a batch{in_brackets(counted)}"


class InputTried(Event, frozen=True, kw_only=True):
    """A `forward` of class `module` gets a batch's tensor as its parameter `name`: `site` is that parameter.

    Or it keeps a slice of one as `name`: `site` is that slice. The static witness writes it where the body lets it go into
    nothing. The probe writes it each time that it gave a copy other rows in its place: `changed` tells whether the results
    changed, `others` counts the other parameters by which they did, and `optional` tells that a branch, or something of
    the project's that is called, may leave it out. `used_at` is the call; `shared`: modules of other classes get it there, too.
    """

    module: str
    name: str
    used_at: Site | None = None
    changed: bool | None = None
    others: int = 0
    optional: bool = False
    shared: bool = False

    def words(self, _: Names, /) -> str:
        if self.changed is None:
            return f"{quoted(self.module)} does not use {quoted(self.name)}"
        effect = "changes" if self.changed else "does not change"
        return f"changing {quoted(self.name)} {effect} the output of {quoted(self.module)}"

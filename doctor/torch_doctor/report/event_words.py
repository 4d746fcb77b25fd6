"""One line of plain words for each event of a trace."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from torch_doctor import trace as t
from torch_doctor.report.seen_words import words

if TYPE_CHECKING:
    from collections.abc import Iterable

TORCH_PREFIXES = ("torch.nn.functional.", "torch.nn.", "torch.optim.lr_scheduler.", "torch.optim.", "torch.")
PLAIN_NAME = re.compile(r"[\w.\[\]]+$")
SPACES = re.compile(r"\s+")
MOST_NAMED = 4
LONGEST_NAME = 50


class Words:
    """Puts events into words; things are called as in the events that it is given first.

    A module goes by the name it has furthest outside: `model` in the script, and not `self.net` of a method.
    """

    def __init__(self, events: Iterable[t.Event] = ()) -> None:
        self._names: dict[int, str] = {}
        self._classes: dict[int, str] = {}
        depths: dict[int, int] = {}
        for event in events:
            if isinstance(event, t.ModuleBuilt):
                self._classes[event.module] = short(event.class_name)
            elif isinstance(event, t.OptimizerBuilt):
                self._classes[event.optimizer] = short(event.class_name)
            elif isinstance(event, t.SchedulerBuilt):
                self._classes[event.scheduler] = short(event.class_name)
            elif isinstance(event, (t.ModeSet, t.Forward, t.Moved)) and event.module and PLAIN_NAME.match(event.name):
                depth = len(event.scope.chain())
                if depth < depths.get(event.module, depth + 1):
                    depths[event.module], self._names[event.module] = depth, event.name

    def of(self, event: t.Event) -> str:
        """The event in words."""
        return self._said(event)

    def things(self, numbers: Iterable[int], *, whole: bool = True, nothing: str = "nothing in sight") -> str:
        """What modules, optimizers and the like are called; `whole` is False when there may be more.

        Where some have a name of their own, the others are mostly their parts and go without saying.
        """
        named = [number for number in sorted(numbers) if number in self._names]
        built = [number for number in sorted(numbers) if number in self._classes]
        names = list(dict.fromkeys(self._thing(number) for number in named or built or sorted(numbers)))
        more = len(names) - MOST_NAMED
        shown = names[:MOST_NAMED] + ([f"{more} more"] if more > 0 else []) + ([] if whole else ["maybe others"])
        return ", ".join(shown) if names else nothing if whole else "something out of sight"

    def _thing(self, number: int) -> str:
        name, kind = self._names.get(number), self._classes.get(number)
        return f"`{name}`" if name else kind or "something"

    @functools.singledispatchmethod
    def _said(self, event: t.Event) -> str:
        return words(event)

    # --- modules and data ---

    @_said.register
    def _(self, event: t.ModuleBuilt) -> str:
        traits = []
        if event.sensitive:
            traits.append("mode-sensitive")
        if event.base_initialised is False:
            traits.append("nn.Module.__init__ never ran")
        if event.early_member is not None:
            traits.append(f"a part was set before nn.Module.__init__ ran, in row {event.early_member.row}")
        return f"build {short(event.class_name)}{_in_brackets(traits)}"

    @_said.register
    def _(self, event: t.Registered) -> str:
        return f"register `{event.name}` in {self.things([event.owner])}"

    @_said.register
    def _(self, event: t.Held) -> str:
        what = f"{'parameter' if event.parameters else 'module'}{'s' * (len(event.members) != 1)}"
        fate = "registered elsewhere" if event.registered else "not registered"
        where = f"the plain {event.container} `{event.name}` of {event.owner_class}"
        return f"keep {len(event.members)} {what} in {where}: {fate}"

    @_said.register
    def _(self, event: t.Repeated) -> str:
        often = f"{event.times} times" if event.times else "several times"
        return f"list {short(event.class_name)} {_name(event.name)} {often}, the same one each time"

    @_said.register
    def _(self, event: t.LayerHeld) -> str:
        reached = "is used" if event.reached else "is never used"
        return f"{short(event.class_name)} {_name(event.name)} of {event.owner_class} {reached}"

    @_said.register
    def _(self, event: t.ConstantWeights) -> str:
        value = "one number" if event.value is None else f"{event.value:g}"
        return f"all weights of {short(event.class_name)} are {value}{_in_brackets(['its units stay identical'] * event.identical)}"

    @_said.register
    def _(self, event: t.ModeMethod) -> str:
        traits = [f"needs {', '.join(event.needs)}"] * bool(event.needs) + ["trains"] * event.trains
        return f"{event.class_name} has a `{event.method}` of its own{_in_brackets(traits)}"

    @_said.register
    def _(self, event: t.ModeSet) -> str:
        mode = {True: "training mode", False: "evaluation mode", None: "a mode that is not known"}[event.training]
        return f"switch {_name(event.name)} to {mode}{'' if event.whole else ' (a part of a model)'}"

    @_said.register
    def _(self, event: t.Moved) -> str:
        return (
            f"move {_name(event.name)} to {event.device or 'a device'}{'' if event.used else '; the result is dropped'}"
        )

    @_said.register
    def _(self, event: t.MoveLost) -> str:
        return f"move {_name(event.name)} to {event.device or 'a device'}; the result is dropped, and the tensor stays"

    @_said.register
    def _(self, event: t.RowMoved) -> str:
        return f"rows of {event.class_name or 'a dataset'} are moved to the GPU, in {event.workers} worker processes"

    @_said.register
    def _(self, event: t.DevicesMet) -> str:
        numbers = (
            f"{event.elements} numbers" if event.elements else "a tensor" if event.how != "parameter" else "weights"
        )
        return f"{event.operation} gets {numbers} on the CPU beside some on the GPU"

    @_said.register
    def _(self, event: t.DevicesAgreed) -> str:
        return f"{event.times} times all {event.tensors} tensors are on the GPU"

    @_said.register
    def _(self, event: t.LoaderBuilt) -> str:
        order = {True: "shuffled", False: "in stored order", None: "order not known"}[event.shuffle]
        traits = ["order by a sampler" if event.sampled else order, *["short batch dropped"] * bool(event.drop_last)]
        over = f" over {self._thing(event.dataset)}" if event.dataset else ""
        return f"build a data loader{over}{_in_brackets(traits)}"

    @_said.register
    def _(self, event: t.DatasetBuilt) -> str:
        style = {True: "iterable", False: "map-style", None: ""}[event.iterable]
        order = {True: "rows in random order", False: "rows as they are stored", None: ""}[event.shuffled]
        return f"read {short(event.class_name) or 'data'}{_in_brackets(part for part in (style, order) if part)}"

    @_said.register
    def _(self, _: t.Reordered) -> str:
        return "put something in random order"

    @_said.register
    def _(self, event: t.Fitted) -> str:
        what = "a statistic" if event.function == "statistic" else short(event.function).rpartition(".")[2]
        return f"fit {what} on rows{_in_brackets([event.name])}"

    @_said.register
    def _(self, event: t.MemoryChanged) -> str:
        return f"change {_name(event.name)} in place, whose memory a tensor has"

    @_said.register
    def _(self, event: t.PixelsGiven) -> str:
        return f"give {_name(event.name)} pictures in numbers from 0 to 255"

    @_said.register
    def _(self, event: t.WorkersAlike) -> str:
        return f"draw the same random numbers in each of {event.workers} workers"

    @_said.register
    def _(self, event: t.RowsSplit) -> str:
        return f"split rows by {event.by.rpartition('.')[2]}{_in_brackets(['fitted on before'] * bool(event.fits))}"

    @_said.register
    def _(self, _: t.EpochSet) -> str:
        return "tell a sampler its epoch"

    @_said.register
    def _(self, event: t.BatchTaken) -> str:
        return f"take a batch from {_name(event.name)}"

    # --- the update ---

    @_said.register
    def _(self, event: t.Forward) -> str:
        mode = {True: "training mode", False: "evaluation mode", None: "mode not known"}[event.training]
        traits = [*[mode] * (event.sensitive is not False), _autograd(event.grad)]
        what = f"{_name(event.name)} ({short(event.class_name)})"
        return f"forward {what}: {', '.join(traits)} → {_fact(event.output)}"

    @_said.register
    def _(self, event: t.LossCalled) -> str:
        expects = f"expects {event.expects.value}" if event.expects is not t.Kind.UNKNOWN else ""
        target = (
            f"; target {_fact(event.target)}" if event.target.name or event.target.kind is not t.Kind.UNKNOWN else ""
        )
        kind = "" if event.name.endswith(short(event.loss)) else short(event.loss)
        traits = _in_brackets(part for part in (kind, expects) if part)
        refused = f": {_on_one_line(event.raised)}" if event.raised else ""
        return f"loss {_name(event.name)}{traits} gets {_fact(event.input)}{target}{refused}"

    @_said.register
    def _(self, event: t.Normalised) -> str:
        return f"{short(event.function)} over {event.size} of {_fact(event.input)}"

    @_said.register
    def _(self, event: t.Broadcast) -> str:
        return f"the difference {_name(event.name)} stretches {_shape(event.left)} and {_shape(event.right)} to match"

    @_said.register
    def _(self, event: t.LossBuilt) -> str:
        given = [f"gets {_fact(fact)}" for fact in event.given]
        return f"build the loss {short(event.loss)}{_in_brackets(given)}"

    @_said.register
    def _(self, event: t.Overwritten) -> str:
        fails = f", which fails in row {event.fails_at.row}" if event.fails_at is not None else ""
        return f"put what {_name(event.name)} returns into {_name(event.name)}{fails}"

    @_said.register
    def _(self, event: t.LogTaken) -> str:
        return f"take the logarithm of {_fact(event.input)}"

    @_said.register
    def _(self, event: t.Backward) -> str:
        traits = []
        if event.through != "backward":
            traits.append(f"through {event.through}")
        if event.retain_graph:
            traits.append("keeps the graph")
        if event.inputs_only:
            traits.append("gradients of inputs only")
        if event.context:
            traits.append("into a distributed context")
        if event.scaled:
            traits.append("scaled")
        reached = self.things(event.modules, whole=event.whole)
        start = f"backward {_name(event.name)}" if event.name else "backward"
        return f"{start}: gradients for {reached}{_in_brackets(traits)}"

    @_said.register
    def _(self, event: t.OptimizerBuilt) -> str:
        return f"build optimizer {short(event.class_name)} over {self.things(event.modules, whole=event.whole)}"

    @_said.register
    def _(self, event: t.OptimizerRestored) -> str:
        return f"give {self.things([event.optimizer], nothing='an optimizer')} a state"

    @_said.register
    def _(self, event: t.Stepped) -> str:
        flags = {
            "by hand": event.manual,
            "with a closure": event.closure,
            "scaled": event.scaled,
            "clears the gradients": event.clears,
        }
        traits = [word for word, holds in flags.items() if holds]
        return (
            f"step {_name(event.name)}: updates {self.things(event.modules, whole=event.whole)}{_in_brackets(traits)}"
        )

    @_said.register
    def _(self, event: t.ZeroGrad) -> str:
        return f"zero_grad {_name(event.name)}: clears {self.things(event.modules, whole=event.whole)}"

    @_said.register
    def _(self, event: t.Clipped) -> str:
        if event.manual:
            return f"change the gradients of {self.things(event.modules, whole=event.whole)} in place"
        return f"clip the gradients of {self.things(event.modules, whole=event.whole)} ({short(event.function)})"

    @_said.register
    def _(self, event: t.Unscaled) -> str:
        return f"unscale the gradients of {self.things([event.optimizer])}"

    @_said.register
    def _(self, event: t.ScalerBuilt) -> str:
        return f"build a gradient scaler{' (switched off)' if event.enabled is False else ''}"

    @_said.register
    def _(self, _: t.ScalerUpdated) -> str:
        return "update the gradient scaler"

    @_said.register
    def _(self, event: t.SchedulerBuilt) -> str:
        return f"build scheduler {short(event.class_name)} on {self.things([event.optimizer])}"

    @_said.register
    def _(self, event: t.SchedulerStepped) -> str:
        return f"step scheduler {_name(event.name)}{' (told where to go)' if event.told else ''}"

    @_said.register
    def _(self, event: t.BuiltInForward) -> str:
        return f"build {short(event.class_name)} in the forward of {short(event.owner_class)}"

    @_said.register
    def _(self, event: t.FunctionalDropout) -> str:
        return f"{short(event.function)} in the forward of {short(event.owner_class)}, whatever its mode is"

    @_said.register
    def _(self, event: t.ParameterMoved) -> str:
        return f"keep a moved parameter as {_name(f'self.{event.name}')} of {short(event.owner_class)}"

    @_said.register
    def _(self, event: t.PlainTensorUsed) -> str:
        return f"use {_name(f'self.{event.name}')} of {short(event.owner_class)}, a plain tensor, at row {event.used_at.row}"

    @_said.register
    def _(self, event: t.ForwardByName) -> str:
        return f"call `forward` of {_name(event.name)} by name"

    @_said.register
    def _(self, event: t.GraphCut) -> str:
        return f"{_name(event.how)} ends the graph of {_fact(event.value)}"

    @_said.register
    def _(self, event: t.LeafMade) -> str:
        return f"require gradients of {_fact(event.value)}, as if nothing had come before it"

    @_said.register
    def _(self, event: t.GradFlagSet) -> str:
        return f"set {_name(event.name)} of a {event.of}, which torch does not read"

    @_said.register
    def _(self, event: t.NotCalled) -> str:
        return f"name {_name(event.name)} and do not call it"

    # --- sums ---

    @_said.register
    def _(self, event: t.Summed) -> str:
        return f"add to {_name(event.holder)}"

    @_said.register
    def _(self, event: t.Meaned) -> str:
        return f"mean of {_fact(event.value)}"

    @_said.register
    def _(self, event: t.Averaged) -> str:
        return f"divide a sum: {_name(event.name)}"

    # --- the process ---

    @_said.register
    def _(self, event: t.SettingSet) -> str:
        value = {True: "on", False: "off", None: "to what is not known"}[event.value]
        return f"switch {_name(event.setting)} {value}"

    @_said.register
    def _(self, event: t.Seeded) -> str:
        return f"seed random numbers with {_name(event.function)}"

    @_said.register
    def _(self, event: t.FiniteChecked) -> str:
        return f"look for NaN or Inf with {_name(event.function)}"

    @_said.register
    def _(self, _: t.RunAsScript) -> str:
        return "the file is run as a script"

    # --- modes, values, what is out of sight ---

    @_said.register
    def _(self, event: t.AutocastEntered) -> str:
        where = " on ".join(part for part in (event.dtype, event.device) if part)
        return f"autocast{' to ' * bool(where)}{where}{', switched off' * (event.enabled is False)}"

    @_said.register
    def _(self, _: t.AutocastExited) -> str:
        return "end of autocast"

    @_said.register
    def _(self, _: t.ClockRead) -> str:
        return "read the clock"

    @_said.register
    def _(self, event: t.Timed) -> str:
        return f"measure a time{', in which something may wait for the GPU' * event.waits}"

    @_said.register
    def _(self, event: t.ValueRead) -> str:
        return f"read the numbers of {_name(event.name)}"

    @_said.register
    def _(self, event: t.Wrapped) -> str:
        return f"wrap {_name(event.name)} in {short(event.wrapper)}"

    @_said.register
    def _(self, event: t.WriterBuilt) -> str:
        return f"build the writer {_name(event.name)}"

    @_said.register
    def _(self, event: t.GradModeEntered) -> str:
        return f"{short(event.context)}: {_autograd(event.enabled)}"

    @_said.register
    def _(self, event: t.GradModeExited) -> str:
        return f"{_autograd(event.enabled)} again"

    @_said.register
    def _(self, event: t.Kept) -> str:
        bounded = ", which drops old values by itself" if event.bounded else ""
        return f"keep {_fact(event.value)} in {_name(event.holder)} ({event.how.value}){bounded}"

    @_said.register
    def _(self, _: t.Stored) -> str:
        return "store a result without a graph"

    @_said.register
    def _(self, event: t.Logged) -> str:
        return f"log {_fact(event.value)} to {event.sink}"

    @_said.register
    def _(self, event: t.Saved) -> str:
        whole = f": the object of {self.things(event.modules)} itself, and not its state" if event.modules else ""
        return f"save {_name(event.what)}{whole}"

    @_said.register
    def _(self, event: t.StateTaken) -> str:
        if event.alias:
            return f"give {_name(event.name)} the name {_name(event.alias)} too"
        return f"take the state of {_name(event.name)}, whose tensors stay its own"

    @_said.register
    def _(self, event: t.Loaded) -> str:
        return f"load weights into {_name(event.name)}" if event.module else f"load {_name(event.name)} from a file"

    @_said.register
    def _(self, event: t.LoadMisused) -> str:
        if event.path:
            return f"load {_name(event.path)}, a string, into {_name(event.name)}"
        if event.keys:
            return f"load {event.keys} keys into {_name(event.name)}, of which it has none"
        fails = f", which fails in row {event.fails_at.row}" if event.fails_at is not None else ""
        return f"take what loading into {_name(event.name)} returns for itself{fails}"

    @_said.register
    def _(self, event: t.Handed) -> str:
        things = self.things(event.modules | event.optimizers, nothing="values")
        return f"return {things}" if event.returned else f"hand {things} to {_name(event.to)}, out of sight"

    @_said.register
    def _(self, event: t.Owned) -> str:
        return f"{event.framework} owns the loop{_in_brackets(event.details)}"

    @_said.register
    def _(self, event: t.OutdatedUsed) -> str:
        return (
            f"use {_name(event.name)}, which `{event.instead}` replaces since torch {'.'.join(map(str, event.since))}"
        )

    @_said.register
    def _(self, event: t.GaveUp) -> str:
        return f"not followed any further: {event.reason}"

    @_said.register
    def _(self, event: t.Unreadable) -> str:
        return f"not valid Python: {event.reason}"

    @_said.register
    def _(self, event: t.LoopEntered) -> str:
        batches = ", batch by batch" if event.loop_kind is t.LoopKind.BATCHES else ""
        return f"loop over {_name(event.over)}{batches}"

    @_said.register
    def _(self, event: t.LoopIterated) -> str:
        return f"pass {event.number}"

    @_said.register
    def _(self, event: t.CallEntered) -> str:
        return f"call {event.function}"


def short(name: str) -> str:
    """A torch name without the part that everybody knows."""
    for prefix in TORCH_PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _name(name: str) -> str:
    return f"`{_on_one_line(name)}`" if name else "something"


def _on_one_line(text: str) -> str:
    """The user's expression, short enough to stand in a sentence."""
    text = SPACES.sub(" ", text)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _autograd(enabled: t.Tri) -> str:
    return {True: "autograd on", False: "autograd off", None: "autograd not known"}[enabled]


def _shape(fact: t.TensorFact) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in fact.shape or ("...",)) + "]"


def _fact(fact: t.TensorFact) -> str:
    kind = fact.kind.value if fact.kind is not t.Kind.UNKNOWN else ""
    graph = {True: "with its graph", False: "without a graph", None: ""}[fact.graph]
    meta = f"{fact.dtype}{_shape(fact)}" if fact.shape is not None else fact.dtype
    if fact.name:
        return f"{_name(fact.name)}{_in_brackets(part for part in (kind, meta, graph) if part)}"
    return f"{kind or 'a tensor'} {graph}" if graph else kind or "something"


def _in_brackets(traits: Iterable[str]) -> str:
    shown = ", ".join(traits)
    return f" ({shown})" if shown else ""

"""What there is to know of a library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from msgspec import Struct

from torch_doctor.static.tables import words
from torch_doctor.static.tables.reading import EMPTY, NO_CHANNELS, ChannelFunctions

if TYPE_CHECKING:
    from torch_doctor.static.tables.framework import Framework
    from torch_doctor.static.tables.function import Function
    from torch_doctor.static.tables.loss import Loss
    from torch_doctor.trace.words import Kind, Tri

Names: TypeAlias = tuple[str, ...]
Position: TypeAlias = int
Style: TypeAlias = Literal["same", "enumerate", "zip", "cycle", "part"]
Use: TypeAlias = Literal["keeps", "number"]
Metric: TypeAlias = Literal["share", "gain", "error"]  # from 0 to 1; any number; 0 at best
T = TypeVar("T")
Table: TypeAlias = Mapping[str, T]


def members(owner: str, names: str) -> Names:
    """Return the dotted names of what an owner has, from a text that lists it."""
    return tuple(f"{owner}.{name}" for name in words(names))


class Package(Struct, frozen=True):
    """A package whose classes live in submodules and are public at the top."""

    submodules: frozenset[str] = frozenset()  # those that are public themselves
    functions_of: frozenset[str] = frozenset()  # those whose functions too are public at the top


class Array(Struct, frozen=True):
    """An array or a table: its dtype ("": not known), the number of its dimensions, and whether it holds class labels."""

    dtype: str = ""
    rank: int | None = None
    labels: bool = False


class Arrays(Struct, frozen=True):
    """What a function returns: an array or several, unless one of these arguments asks for something else."""

    arrays: tuple[Array, ...]
    unless: Names = ()
    only_with: str = ""  # a switch that is off by default


class PassThrough(Struct, frozen=True):
    """Where a function has the iterable whose items it gives, and how."""

    position: int
    # enumerate: (index, item); zip: one item of each; cycle: without an end; part: perhaps some only
    style: Style = "same"


class Launcher(Struct, frozen=True):
    """Where a call that runs another function has that function, and the arguments that it passes on."""

    function: int | None  # position; None: by name only
    name: str = ""  # keyword
    args: int | None = None  # position of the tuple of its arguments; None: none are passed that we could see
    args_name: str = "args"
    prepended: int = 0  # arguments that the launcher itself puts first: a rank, a trial, a configuration
    beside: bool = False  # it comes back while the function is running


class LibraryModel(Struct, frozen=True):
    """What is known of a model that a library builds."""

    sensitive: Tri  # it has layers that behave differently in training
    training: Tri  # it is in training mode when it is returned
    part: str = ""  # the attribute that has all such layers; "" where they are in several
    # dropout rates and their positions: it cares where one is given that is not 0
    rates: tuple[tuple[str, int], ...] = ()
    layer: bool = False  # it is made to be a part of models
    kind: Kind | None = None  # what its output means; None: not known
    # the attribute with its last layers, the place of the very last one (-1: it is that)
    head: tuple[str, int] | None = None


class Adapting(Struct, frozen=True):
    """Where a call that puts an adapter into a model has that model, the settings, and the switch that lets the adapter train."""

    model: Position = 0
    settings: Position | None = None
    switch: tuple[str, Position] | None = None  # off by default; None: the adapter trains


SENSITIVE = LibraryModel(sensitive=True, training=True)
UNSURE = LibraryModel(sensitive=None, training=True)  # dropout rates of 0, which arguments raise
OPAQUE = LibraryModel(sensitive=None, training=None)
EVALUATING = LibraryModel(sensitive=True, training=False)
EVALUATING_UNSURE = LibraryModel(sensitive=None, training=False)


class Library(Struct, frozen=True):
    """One library, or a few small ones of a sort. All names but those that `aliases` explains are canonical.

    Attributes:
        aliases: other spellings of a name.
        packages: packages whose classes live in submodules and are public at the top.
        trees: whole trees of modules under another name.
        spelling: functions that find the one spelling of a name, by the first part of it.
        harmless: packages, modules and functions that leave gradients and modes alone.
        harmful: the exceptions among them.
        neutral: packages, modules and functions whose decorators and context managers leave modes alone.
        plain: packages whose harmless functions return numbers, strings, arrays or settings.
        passes: functions that give the items of an argument.
        ranges: calls that count.
        means: functions that return the mean of a list of numbers.
        launchers: calls that run a function of the user's.
        launcher_methods: methods that do.
        functions: what functions on tensors return.
        sinks: methods that want numbers, and how each uses what it is given.
        loggers: functions that write down the metrics that they are given.
        bars: what makes a progress bar that is also the iterable it goes through.
        frameworks: declarations of what owns a training loop, or a part of it.
        engine_steps: classes that call a function, at this position, for every batch.
        engine_trainers: functions that build an engine which trains a model.
        engine_evaluators: functions that build an engine which evaluates one.
        optimizers: classes of optimizers.
        optimizer_packages: prefixes of which every class is an optimizer.
        no_optimizers: the exceptions among them.
        optimizer_factories: functions that build an optimizer, by the position of the model.
        optimizer_wrappers: calls whose result steps the optimizer at this position.
        optimizer_steps: functions that step the optimizer at this position.
        schedulers: classes of learning rate schedulers, and functions that return one.
        scheduler_pairs: functions that return a scheduler and a number of epochs.
        scheduler_packages: prefixes of which every class is a scheduler.
        scheduler_functions: packages whose functions `get_…schedule…` return a scheduler.
        schedules: packages whose classes `…Schedule` are schedulers.
        scalers: gradient scalers that are used as torch's are.
        scaler_calls: gradient scalers that are called.
        scaled_losses: contexts that give the loss to call backward on.
        prepares: functions that return the model and the optimizer that they are given.
        clips: functions that clip gradients, by the position of the parameters.
        losses: losses, classes and functions.
        metrics: functions and classes, and which of their figures are better.
        tallies: prefixes of classes whose objects add up what models answer, until `reset` is called.
        saves: functions that write a checkpoint, by the position of the object.
        loaders: classes of loaders, and functions that build one.
        loader_suffixes: how the names of loaders end, by the prefix of the package.
        loader_wrappers: calls that return the loader at this position, wrapped.
        loader_parameters: positional parameters of loaders that mean what those of `DataLoader` do.
        iterable: data sets that give their rows in an order of their own.
        map_style: prefixes of data sets whose rows a loader can put in any order.
        stored: prefixes of data sets whose rows nobody has put in another order.
        labelled: data sets of pairs whose second half is the number of a class.
        rows: how many rows data sets have with `train=True`, and with `train=False`.
        reordering: functions that put something in random order, or draw from it.
        drawing: prefixes of functions that draw random numbers.
        no_drawing: the exceptions among them.
        estimators: estimators whose result for one row depends on the other rows.
        composed_estimators: what fits the estimators that it is given.
        resamplers: what adds rows for classes that have few, and whether these are "copies" or "altered".
        splits: functions that give two parts of every array.
        splitters: classes whose `split` gives the indices of the rows in each part.
        arrays: functions that return an array of its own.
        returned_arrays: functions that return arrays or tables of which the dimensions are known.
        alike: functions of arrays, and the function of torch that does the same with tensors.
        numbers: names of numbers that are always the same.
        dtypes: names of dtypes, and torch's names of them.
        changing_first: functions that change the numbers of their first argument in place.
        random_transforms: transforms that give something else each time they are called.
        picture_readers: functions that return a picture as an array of bytes.
        pictures: functions that return a picture of which an array of bytes can be made.
        picture_tensors: functions that return a picture as a tensor of bytes.
        picture_draws: functions that draw bytes, and whether as a tensor.
        picture_functions: functions that keep the range of a picture's numbers.
        to_bytes: transforms that make a tensor of bytes of a picture.
        transform_functions: functions that do what a transform does, and that transform.
        to_floats: transforms that make a tensor of numbers from 0 to 1 of a picture.
        to_dtype: transforms that change the dtype.
        spatial: transforms that move or mix the numbers of a picture, and leave their range.
        composed_transforms: transforms that are made of others.
        channels: what happens to the order of a picture's channels.
        held: data sets whose attribute `data` has all their pictures as bytes.
        picture_models: prefixes of models that take pictures from 0 to 1, or standardised ones.
        models: builders of models.
        builders: functions that say what a call builds, by the first part of its name; they get the rest of it.
        named: functions that build the model that their first argument names, and the package that has it.
        activated: models whose `activation` says what they give.
        heads: prefixes of classifiers, the attribute with their last layers, and the place of the very last one in it.
        head_methods: methods of classifiers about their last layers: whether they build them anew, or return them.
        parts: prefixes of models, the attributes that are parts of them, and whether these care about the mode.
        pretrained: prefixes of models, the parameters that ask for trained weights, and their positions (-1: by name only).
        wrappers: calls that return the module at this position, wrapped or changed in place.
        compilers: those of the wrappers whose module runs compiled code.
        averaged: averaged copies of the model at this position.
        adapters: calls that freeze a model and put an adapter into it.
        adapter_settings: classes of such calls' settings, and what is set where they leave more than the adapter to train.
        adapter_methods: methods of models with an adapter, and what they do with it: words of `training/update/adapters.py`.
        freezing: functions that freeze the model at this position, and how the names of layers begin that keep an adapter to train.
    """

    aliases: Table[str] = EMPTY
    packages: Table[Package] = EMPTY
    trees: tuple[tuple[str, str], ...] = ()
    spelling: Table[Callable[[str], str]] = EMPTY
    harmless: Names = ()
    harmful: Names = ()
    neutral: Names = ()
    plain: Names = ()
    passes: Table[PassThrough] = EMPTY
    ranges: Names = ()
    means: Names = ()
    launchers: Table[Launcher] = EMPTY
    launcher_methods: Table[Launcher] = EMPTY
    functions: Table[Function] = EMPTY
    sinks: Table[Use] = EMPTY
    loggers: Names = ()
    bars: Names = ()
    frameworks: tuple[Framework, ...] = ()
    engine_steps: Table[Position] = EMPTY
    engine_trainers: Names = ()
    engine_evaluators: Names = ()
    optimizers: Names = ()
    optimizer_packages: Names = ()
    no_optimizers: Names = ()
    optimizer_factories: Table[Position] = EMPTY
    optimizer_wrappers: Table[Position] = EMPTY
    optimizer_steps: Table[Position] = EMPTY
    schedulers: Names = ()
    scheduler_pairs: Names = ()
    scheduler_packages: Names = ()
    scheduler_functions: Names = ()
    schedules: Names = ()
    scalers: Names = ()
    scaler_calls: Names = ()
    scaled_losses: Names = ()
    prepares: Names = ()
    clips: Table[Position] = EMPTY
    losses: Table[Loss] = EMPTY
    metrics: Table[Metric] = EMPTY
    tallies: Names = ()
    saves: Table[Position] = EMPTY
    loaders: Names = ()
    loader_suffixes: Table[Names] = EMPTY
    loader_wrappers: Table[Position] = EMPTY
    loader_parameters: Table[Names] = EMPTY
    iterable: Names = ()
    map_style: Names = ()
    stored: Names = ()
    labelled: Names = ()
    rows: Table[tuple[int, int]] = EMPTY
    reordering: Names = ()
    drawing: Names = ()
    no_drawing: Names = ()
    estimators: Names = ()
    composed_estimators: Names = ()
    resamplers: Mapping[str, str] = EMPTY
    splits: Names = ()
    splitters: Names = ()
    arrays: Names = ()
    returned_arrays: Table[Arrays] = EMPTY
    alike: Table[str] = EMPTY
    numbers: Table[float] = EMPTY
    dtypes: Table[str] = EMPTY
    changing_first: Names = ()
    random_transforms: Names = ()
    picture_readers: Names = ()
    pictures: Names = ()
    picture_tensors: Names = ()
    picture_draws: Table[bool] = EMPTY
    picture_functions: Names = ()
    to_bytes: Names = ()
    to_floats: Names = ()
    transform_functions: Table[str] = EMPTY
    to_dtype: Names = ()
    spatial: Names = ()
    composed_transforms: Names = ()
    channels: ChannelFunctions = NO_CHANNELS
    held: Table[str] = EMPTY
    picture_models: Names = ()
    models: Table[LibraryModel] = EMPTY
    builders: Table[Callable[[str], LibraryModel | None]] = EMPTY
    named: Table[str] = EMPTY
    activated: Names = ()
    heads: Table[tuple[str, int]] = EMPTY
    head_methods: Table[bool] = EMPTY
    parts: Table[Table[Tri]] = EMPTY
    pretrained: Table[Table[Position]] = EMPTY
    wrappers: Table[Position] = EMPTY
    compilers: Names = ()
    averaged: Table[Position] = EMPTY
    adapters: Table[Adapting] = EMPTY
    adapter_settings: Table[Names] = EMPTY
    adapter_methods: Table[str] = EMPTY
    freezing: Table[tuple[Position, str]] = EMPTY

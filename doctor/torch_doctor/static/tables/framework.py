"""What is said of a framework that owns the training loop, or a part of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

from torch_doctor.static.tables import words

Act: TypeAlias = Literal[
    "forward",
    "loss",
    "backward",
    "clip",
    "step",
    "scheduler",
    "clear",
    "train",
    "eval",
    "loop",
    "prepare",
    "window",
    "gather",
    "opaque",
    "as_is",
]
"""What a method does to the contract.

loop: it runs all of it, on its own terms; window: a pass begins, and prepared optimizers wait for the window; opaque: it may do
any of it; as_is: it does not divide the loss.
"""


class Method(Struct, frozen=True):
    """What a call on an object of a framework does, beyond what its arguments say."""

    acts: tuple[Act, ...] = ()
    of: int | None = None  # the position of what it acts on: a loss, parameters
    returns: Literal["nothing", "same", "bare", "arguments", "tensor", "context", "neutral", "unknown"] = "unknown"
    # same: the one argument; bare: the model without what `prepare` put around it; arguments: all of them in order,
    # alone where alone; context: a context manager; neutral: one within which all is as without it, on one device


class Framework(Struct, frozen=True):
    """What is known of one framework."""

    name: str
    module_bases: frozenset[str] = frozenset()  # modules whose steps the framework calls
    data_modules: frozenset[str] = frozenset()  # those of them that hold data, and are no modules of torch
    attributes: dict[str, bool] = field(default_factory=dict)  # of those, before their constructors set them
    hooks: frozenset[str] = frozenset()  # methods of those that it calls while training or evaluating
    training_hooks: frozenset[str] = frozenset()  # in training mode, with gradients, its result is the loss
    evaluation_hooks: frozenset[str] = frozenset()  # in evaluation mode, without gradients
    owners: frozenset[str] = frozenset()  # classes that run the loop on what they are given; may be subclassed
    methods: dict[str, Method] = field(default_factory=dict)  # of the owners
    factories: dict[str, str] = field(default_factory=dict)  # function -> owner that it returns
    wraps: dict[str, int] = field(default_factory=dict)  # function -> position of what is returned wrapped
    owns_gradients: bool = False  # it clears, runs backward and steps itself


LOOP = Method(("loop",))
_RUNS = dict.fromkeys(
    ("train", "fit", "run", "learn", "evaluate", "val", "predict", "fit_batch", "evaluate_batch"), LOOP
)


def trainers(
    name: str, owners: str, *, module_bases: tuple[str, ...] = (), training_hooks: tuple[str, ...] = ()
) -> Framework:
    """Declare classes that take a model and run the whole loop themselves, from a text that lists them."""
    return Framework(
        name=name,
        module_bases=frozenset(module_bases),
        owners=frozenset(words(owners)),
        training_hooks=frozenset(training_hooks),
        methods=_RUNS,
        owns_gradients=True,
    )

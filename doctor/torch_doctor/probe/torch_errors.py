"""Explain errors of torch where their cause lies, which is seldom the line that raises them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from torch_doctor.trace import BatchTaken, DatasetBuilt, Event, LoaderBuilt

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.trace import Trace

E = TypeVar("E", bound=Event)

DATA = ("values", "shapes", "files", "weights", "inside")
"""Substitutes that may be the cause themselves."""
INPUT = re.compile(
    r"mat1 and mat2 must have the same dtype, but got (\w+) and Float"
    r"|Input type \(([\w ]+)\) and (?:bias|weight) type \(float\)"
    r"|RNN input dtype \(torch\.(\w+)\) does not match weight dtype \(torch\.float32\)"
)
"""What layers with float32 weights say of an input of another dtype (torch 2.13; the words are older)."""
DTYPES = {
    "double": "float64",
    "long": "int64",
    "long int": "int64",
    "int": "int32",
    "unsigned char": "uint8",
    "byte": "uint8",
}
"""Names of dtypes in errors of torch."""
LENGTHS = re.compile(
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry 0 and (\[[\d, ]*\])"
    r"|each element in list of batch should be of equal size"
)
LEAF = re.compile(r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place operation")


def advice(trace: Trace) -> str:
    """Return one line on the cause of the error that ended the run and what to do; empty where the cause is unknown.

    Nothing is said where the probe used substitutes, which may be the cause.
    """
    run = trace.run
    if run is None or run.end.how != "exception" or run.voids(*DATA) is not None:
        return ""
    for pattern, explain in EXPLAINED:
        found = pattern.search(" ".join(run.end.exception.split()))
        if found is not None:
            return explain(trace, found)
    return ""


def _of_data(trace: Trace, found: re.Match[str]) -> str:
    """The dtype of the data, where the last batch has it."""
    said = next(filter(None, found.groups()), "").lower()
    dtype = DTYPES.get(said, said)
    batch = _last(trace, BatchTaken)
    if batch is None or dtype not in batch.dtypes:
        return ""
    numpy = ", the default of NumPy," if dtype == "float64" else ""
    return (
        f"cause: the batches of `{batch.name}` are {dtype}{numpy} and the weights of the model float32: "
        f"convert the data with `.float()`{_where(trace, batch)}"
    )


def _of_lengths(trace: Trace, found: re.Match[str]) -> str:
    """Samples of several lengths, which the loader that was built last cannot stack."""
    loader = _last(trace, LoaderBuilt)
    if loader is None:
        return ""
    example = f" ({found[1]} and {found[2]})" if found[1] else ""
    return (
        f"cause: the samples differ in length{example}: give the loader at {loader.site} a `collate_fn` that pads them, "
        "for example with `torch.nn.utils.rnn.pad_sequence`"
    )


def _of_leaf(trace: Trace, _: re.Match[str]) -> str:
    """An in-place write to a parameter."""
    frames = trace.run.end.frames if trace.run is not None else ()
    at = f" at {frames[-1].site}" if frames else ""
    return (
        f"cause: the statement{at} changes a tensor that requires gradients in place: "
        "update parameters inside `with torch.no_grad():`, or let an optimizer do it"
    )


EXPLAINED: tuple[tuple[re.Pattern[str], Callable[[Trace, re.Match[str]], str]], ...] = (
    (INPUT, _of_data),
    (LENGTHS, _of_lengths),
    (LEAF, _of_leaf),
)


def _where(trace: Trace, batch: BatchTaken) -> str:
    """Where the dataset of a batch is created."""
    loader = next((each for each in trace.of(LoaderBuilt) if each.loader == batch.loader), None)
    dataset = next((each for each in trace.of(DatasetBuilt) if loader and each.dataset == loader.dataset), None)
    site = dataset.site if dataset is not None else loader.site if loader is not None else None
    return "" if site is None else f" where the dataset is created ({site})"


def _last(trace: Trace, kind: type[E]) -> E | None:
    return max(trace.of(kind), key=lambda event: event.index, default=None)

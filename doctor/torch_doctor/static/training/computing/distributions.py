"""Distributions of torch: what they are made of, and what is drawn of them or computed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.language import operators
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.values import Call, Distribution, Plain, Tensor, held
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Value

PACKAGE = "torch.distributions."
COMPARES = "kl_divergence"
DRAWS = frozenset({"sample", "sample_n"})
"""Methods that draw under `no_grad`; `rsample` leaves the way back to the parameters open.
https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative"""
COMPUTES = frozenset({"rsample", "log_prob", "entropy", "cdf", "icdf", "cross_entropy", "perplexity"})
PARTS = frozenset(
    {
        "mean",
        "mode",
        "variance",
        "stddev",
        "probs",
        "logits",
        "loc",
        "scale",
        "rate",
        "concentration",
        "covariance_matrix",
    }
)
"""Attributes that are tensors, computed of what the distribution was made of."""


@library_family(lambda name: name.startswith(PACKAGE), stage=Stage.ADAPTER)
def made(run: Run, name: str, call: Call) -> Value | None:
    """What a class or function of `torch.distributions` returns; None for what is neither a distribution nor a number."""
    values = call.values
    short = name.rpartition(".")[2]
    if short == COMPARES:
        return Tensor(operators.recorded(run, blend(value.flow for value in values)))
    if not short[:1].isupper() or ".constraints." in name or ".transforms." in name:
        return None
    return run.own(Distribution(run.site(call.node), name, blend(value.flow for value in values), held(values)))


def method(run: Run, of: Distribution, name: str, args: Args) -> Value | None:
    """What a method of a distribution returns, None where it is something else than numbers."""
    if name in DRAWS:
        return Tensor(Flow(graph=False, source=Source.NOISE))
    if name in COMPUTES:
        return Tensor(operators.recorded(run, blend((of.flow, *(value.flow for value in args)))))
    if name == "expand":
        return of
    return None


def attribute(run: Run, of: Distribution, name: str) -> Value | None:
    """A number that a distribution has, None for its other attributes."""
    if name in PARTS:
        return Tensor(operators.recorded(run, of.flow))
    return Plain() if name.endswith("_shape") else None

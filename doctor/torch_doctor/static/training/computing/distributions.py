"""Distributions of torch: what they are made of, and what is drawn of them or computed with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.flow import Flow, blend
from torch_doctor.static.language import operators
from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.measuring import making
from torch_doctor.static.tables.shapes import DISTRIBUTED, DRAWN
from torch_doctor.static.values import Call, Distribution, Plain, Tensor, held
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Args, Making, Value

PACKAGE = "torch.distributions."
COMPARES = "kl_divergence"
DRAWS = frozenset({"sample", "sample_n"})
"""Methods that draw under `no_grad`; `rsample` leaves the way back to the parameters open.
https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative"""
COMPUTES = frozenset({"rsample", "log_prob", "entropy", "cdf", "icdf", "cross_entropy", "perplexity"})
COMPARES_WITH = frozenset({"log_prob", "cdf", "icdf"})
"""Methods whose argument is a value for each element, and no shape."""
PARAMETERS: Final = {
    **dict.fromkeys(("Normal", "Laplace", "Gumbel", "LogNormal", "Cauchy", "HalfNormal"), ("loc", "scale")),
    **dict.fromkeys(("Categorical", "Bernoulli"), ("probs", "logits")),
    "Beta": ("concentration1", "concentration0"),
    "Gamma": ("concentration", "rate"),
    "Uniform": ("low", "high"),
    **dict.fromkeys(("Exponential", "Poisson"), ("rate",)),
}
"""Distributions of single numbers, and their parameters."""
CHECKED: Final = "validate_args"
ROWS: Final = "Categorical"
"""Ends the name of a distribution whose parameters have a number for each class in their last dimension."""
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
    given = dict(zip(PARAMETERS.get(short, ()), call.args, strict=False)) | dict(call.keywords)
    return run.own(Distribution(run.site(call.node), name, blend(value.flow for value in values), held(values), given))


def method(run: Run, of: Distribution, name: str, args: Args) -> Value | None:
    """What a method of a distribution returns, None where it is something else than numbers."""
    if name in DRAWS:
        return Tensor(Flow(graph=False, source=Source.NOISE), meta=_made(of, name, args))
    if name in COMPUTES:
        flow = operators.recorded(run, blend((of.flow, *(value.flow for value in args))))
        return Tensor(flow, meta=_made(of, name, args))
    if name == "expand":
        return of
    return None


def _made(of: Distribution, name: str, args: Args) -> Making | None:
    """How the numbers of a method are made: one for each element of the parameters, or for each row of scores."""
    names = PARAMETERS.get(of.name.rpartition(".")[2], ())
    if not of.given or not set(of.given) <= {*names, CHECKED} or (args and name not in COMPARES_WITH):
        return None
    parameters = tuple(of.given[each] for each in names if each in of.given)
    return making(
        DRAWN if name in DRAWS else DISTRIBUTED,
        (*parameters, *args),
        of=len(parameters) if of.name.endswith(ROWS) else 0,
    )


def attribute(run: Run, of: Distribution, name: str) -> Value | None:
    """A number that a distribution has, None for its other attributes."""
    if name in PARTS:
        return Tensor(operators.recorded(run, of.flow))
    return Plain() if name.endswith("_shape") else None

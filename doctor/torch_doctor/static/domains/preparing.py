"""Copies of values that are prepared: scaled, shifted, masked, augmented or activated, and of the same kind as before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains import constants
from torch_doctor.static.domains.axes.comparing import made_of
from torch_doctor.static.tables import words
from torch_doctor.static.tables.fitting import STATISTICS
from torch_doctor.static.values import ARRAY, Const, Making, Module, ParameterValue, Plain, Sequence, Tensor
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.values import Value

_SUMS: Final = frozenset(words("+ add"))
_DIFFERENCES: Final = frozenset(words("- sub subtract"))
_PRODUCTS: Final = frozenset(words("* mul multiply"))
_QUOTIENTS: Final = frozenset(words("/ div divide true_divide"))
_ARITHMETIC: Final = _SUMS | _DIFFERENCES | _PRODUCTS | _QUOTIENTS
_NOISE: Final = frozenset(
    words("randn rand randint randn_like rand_like randint_like normal bernoulli normal_ uniform_ bernoulli_ poisson")
)
_MASKS: Final = frozenset(
    words("< > <= >= == != lt gt le ge eq ne logical_not logical_and logical_or ~ & | isnan isfinite tril triu")
)
_ONE_NUMBER: Final = STATISTICS | frozenset(words("norm vector_norm quantile sum numel size len number read"))
_CHANGES: Final = (
    frozenset(
        words(
            """
        relu leaky_relu elu selu celu gelu silu mish tanh clamp clamp_min clamp_max clip normalize layer_norm rms_norm
        group_norm instance_norm dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout
        masked_fill nan_to_num flip fliplr flipud roll transformed log1p
        """
        )
    )
    | {
        f"nn.{name}"
        for name in words(
            "ReLU LeakyReLU ELU SELU CELU GELU SiLU Mish Tanh Dropout AlphaDropout LayerNorm RMSNorm GroupNorm"
        )
    }
    | {f"nn.{kind}{d}d" for kind in ("Dropout", "InstanceNorm") for d in (1, 2, 3)}
)
"""What gives its first argument with other numbers, where all else that it is given only says how.

Batch norm is not among them: it also renews its statistics.
"""
_AS_IT_IS: Final = constants.VIEWS - {"repeat", "parameter"}


def record(value: Value) -> Making | None:
    """How a tensor or an array was made."""
    return made_of(bare(value))


def bare(value: Value) -> Value:
    """The tensor that torch would make of an array, any other value itself."""
    size = value.size if isinstance(value, Plain) else None
    return size.args[0] if size is not None and size.name == ARRAY else value


def prepared_from(value: Value) -> list[Value]:
    """The values that one is a prepared copy of, the nearest first; none where it is anything else."""
    found: list[Value] = []
    while (made := record(value)) is not None:
        before = _before(made)
        if before is None:
            break
        found.append(before)
        value = before
    return found


def _is_in_place(made: Making) -> bool:
    """Whether an activation or a dropout changes what it is given; of other flags than that one it has only `training`."""
    layer = made.of if isinstance(made.of, Module) else None
    given = made.keywords.get("inplace") if layer is None else layer.settings.get("inplace")
    last = made.args[-1] if layer is None else layer.given[-1] if layer.given else None
    flag = given if given is not None else last
    if not isinstance(flag, Const):  # a rate may be anything, a flag True
        return given is not None or (layer is not None and len(layer.given) >= (2 if "Dropout" in made.name else 1))
    return flag.value is True and not made.name.endswith("orm")


def _before(made: Making) -> Value | None:
    """What an operation gives with other numbers."""
    if made.name in _CHANGES:
        rest = [*made.args[1:], *made.keywords.values()]
        return made.args[0] if made.args and all(map(_is_setting, rest)) and not _is_in_place(made) else None
    if made.name not in _ARITHMETIC or len(made.args) != 2 or made.keywords:
        return None
    left, right = made.args
    if _is_setting(right) and not _is_one_number(left):
        return left if _prepares(made, left, right) else None
    if _is_setting(left) and not _is_one_number(right) and made.name in _SUMS | _PRODUCTS:
        return right if _prepares(made, right, left) else None
    return None


def _prepares(made: Making, of: Value, by: Value) -> bool:
    """Whether arithmetic prepares data for a model, and does not undo that for people."""
    drawn, noise = _is_drawn(by), record(by)
    if made.name in _DIFFERENCES | _QUOTIENTS:
        return not drawn
    if drawn and _is_drawn(of):  # of which one is the data
        drawn = noise is not None and (noise.name in _ARITHMETIC or noise.name.endswith("_like"))
    if made.name in _SUMS:
        return drawn
    if isinstance(by, Const):
        inner = record(of)
        return inner is not None and inner.name in _DIFFERENCES
    return drawn or _is_mask(by)


def _is_mask(value: Value) -> bool:
    made = record(value)
    while made is not None and made.name in _AS_IT_IS and made.args:
        made = record(made.args[0])
    return made is not None and made.name in _MASKS


def _is_one_number(value: Value) -> bool:
    made = record(value)
    return isinstance(value, Const) or (made is not None and made.name in _ONE_NUMBER)


def _is_drawn(value: Value) -> bool:
    """Whether a value is noise, scaled or not."""
    made = record(value)
    if made is None:
        return isinstance(value, Tensor) and value.flow.source is Source.NOISE
    return made.name in _NOISE or (made.name in _ARITHMETIC | _AS_IT_IS and any(map(_is_drawn, made.args)))


def _is_setting(value: Value) -> bool:
    """Whether a value says how to prepare another: a number, a statistic, noise, a mask, parameters."""
    made = record(value)
    if made is None:
        plain = isinstance(value, Plain) and not (value.size is not None and value.size.name == ARRAY)
        if isinstance(value, Sequence):
            return all(map(_is_setting, value.content.all()))
        return plain or isinstance(value, (Const, ParameterValue)) or (isinstance(value, Tensor) and _is_drawn(value))
    if (
        made.name in _ONE_NUMBER | _NOISE | _MASKS
        or made.name in constants.FILLED
        or made.name in ("full", "full_like")
    ):
        return True
    if made.name in ("tensor", "as_tensor", "array", "from_numpy", "arange", "linspace"):
        return not any(isinstance(each, Tensor) or record(each) is not None for each in made.args[:1])
    if made.name in _AS_IT_IS | _ARITHMETIC | _CHANGES | {"[]"}:
        return bool(made.args) and all(map(_is_setting, made.args))
    return False

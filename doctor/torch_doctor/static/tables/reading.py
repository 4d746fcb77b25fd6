"""What a library tells of the order in which the channels of pictures come, and what its loaders take."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torch_doctor.static.tables import words

if TYPE_CHECKING:
    from collections.abc import Mapping

EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class ChannelFunctions(NamedTuple):
    """The functions and transforms of a library by what they do with the channels.

    Attributes:
        orders: what reads pictures, and the order in which the channels come: "RGB" or "BGR".
        flags: settings of what reads pictures, and the order that they stand for.
        conversions: functions that are told by a setting how to change the channels.
        swaps: those of these settings that put the first channel in the place of the last.
        flips: functions that turn round dimensions, and whether these are the first two.
        keeping: functions that leave the channels in the last dimension, in their order.
        transforms: prefixes of transforms, which keep the order where the tables do not say otherwise.
        signs: names by which a module of the project shows that it stands in for the library.
        joined: transforms that do others one after the other, and take keywords.
    """

    orders: Mapping[str, str] = EMPTY
    flags: Mapping[str, str] = EMPTY
    conversions: tuple[str, ...] = ()
    swaps: tuple[str, ...] = ()
    flips: Mapping[str, bool] = EMPTY
    keeping: tuple[str, ...] = ()
    transforms: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()


NO_CHANNELS = ChannelFunctions()

DATA_LOADER = words(
    """
    dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout worker_init_fn
    """
)
"""The positional parameters of torch's loader."""

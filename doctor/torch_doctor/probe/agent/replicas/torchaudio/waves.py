"""Waves that are made up where a file of sound is read."""

from __future__ import annotations

import os
import types
from typing import Any
from zlib import crc32

import torch

RATE, SECONDS = 16_000, 1


def load(uri: Any, frame_offset: int = 0, num_frames: int = -1, *_: Any, **__: Any) -> tuple[torch.Tensor, int]:
    """A wave of one channel, the same for the same name."""
    del frame_offset
    name = os.fspath(uri) if isinstance(uri, (str, os.PathLike)) else str(getattr(uri, "name", ""))
    length = num_frames if num_frames > 0 else RATE * SECONDS
    generator = torch.Generator().manual_seed(crc32(name.encode()))
    return torch.rand(1, length, generator=generator) * 2 - 1, RATE


def info(*_: Any, **__: Any) -> types.SimpleNamespace:
    """What is known of such a file."""
    return types.SimpleNamespace(sample_rate=RATE, num_frames=RATE * SECONDS, num_channels=1, bits_per_sample=16)


def save(*_: Any, **__: Any) -> None:
    """Nothing."""


def resample(waveform: torch.Tensor, orig_freq: int, new_freq: int, *_: Any, **__: Any) -> torch.Tensor:
    """As many samples as the new rate has, by linear interpolation."""
    if orig_freq == new_freq:
        return waveform
    length = -(-waveform.shape[-1] * int(new_freq) // int(orig_freq))
    whole = waveform.reshape(1, -1, waveform.shape[-1])
    resized = torch.nn.functional.interpolate(whole, size=length, mode="linear", align_corners=False)
    return resized.reshape(*waveform.shape[:-1], length)

"""Transforms of waves and of their spectra, with the shapes that torchaudio gives them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .waves import resample

FEW = 1e-10
DECIBELS = 10.0


class Spectrogram(nn.Module):
    """The power of each frequency over time: `n_fft // 2 + 1` of them."""

    def __init__(
        self, n_fft: int = 400, win_length: Any = None, hop_length: Any = None, pad: int = 0, *_: Any, **options: Any
    ) -> None:
        super().__init__()
        self.n_fft, self.win_length = n_fft, win_length or n_fft
        self.hop_length = hop_length or self.win_length // 2
        self.pad, self.power = pad, options.get("power", 2.0)
        self.center = options.get("center", True)
        self.register_buffer("window", torch.hann_window(self.win_length))

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Of the last dimension."""
        flat = nn.functional.pad(waveform, (self.pad, self.pad)).reshape(-1, waveform.shape[-1] + 2 * self.pad)
        window: Any = self.window
        found = torch.stft(
            flat, self.n_fft, self.hop_length, self.win_length, window, center=self.center, return_complex=True
        )
        found = found.reshape(*waveform.shape[:-1], *found.shape[-2:])
        power: torch.Tensor = found if self.power is None else found.abs() ** self.power
        return power


def banks(frequencies: int, mels: int) -> torch.Tensor:
    """Triangles over the frequencies, which are wider the higher they are."""
    edges = (torch.logspace(0, 1, mels + 2) - 1) / 9 * (frequencies - 1)
    places = torch.arange(frequencies)
    rising = (places[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2]).clamp(min=FEW)
    falling = (edges[2:] - places[:, None]) / (edges[2:] - edges[1:-1]).clamp(min=FEW)
    return torch.minimum(rising, falling).clamp(min=0)


class MelScale(nn.Module):
    """Frequencies gathered as the ear hears them."""

    def __init__(self, n_mels: int = 128, sample_rate: int = 16_000, *_: Any, n_stft: int = 201, **__: Any) -> None:
        super().__init__()
        self.n_mels, self.sample_rate = n_mels, sample_rate
        self.register_buffer("fb", banks(n_stft, n_mels))

    def forward(self, specgram: torch.Tensor) -> torch.Tensor:
        """Of the last but one dimension."""
        bank: Any = self.fb
        found: torch.Tensor = (specgram.transpose(-1, -2) @ bank).transpose(-1, -2)
        return found


class MelSpectrogram(nn.Module):
    """A spectrogram whose frequencies are gathered."""

    def __init__(
        self,
        sample_rate: int = 16_000,
        n_fft: int = 400,
        win_length: Any = None,
        hop_length: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.sample_rate, self.n_fft, self.n_mels = sample_rate, n_fft, options.get("n_mels", 128)
        kept = {name: options[name] for name in ("pad", "power", "center") if name in options}
        self.spectrogram = Spectrogram(n_fft, win_length, hop_length, **kept)
        self.hop_length, self.win_length = self.spectrogram.hop_length, self.spectrogram.win_length
        self.mel_scale = MelScale(self.n_mels, sample_rate, n_stft=n_fft // 2 + 1)

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Both, one after the other."""
        found: torch.Tensor = self.mel_scale(self.spectrogram(waveform))
        return found


class MFCC(nn.Module):
    """The cosine transform of the logarithms of a mel spectrogram."""

    def __init__(
        self,
        sample_rate: int = 16_000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: Any = "ortho",
        *_: Any,
        **options: Any,
    ) -> None:
        super().__init__()
        del dct_type, norm
        self.MelSpectrogram = MelSpectrogram(sample_rate, **(options.get("melkwargs") or {}))
        mels = self.MelSpectrogram.n_mels
        steps = torch.pi / mels * (torch.arange(mels) + 0.5)
        self.n_mfcc = n_mfcc
        self.register_buffer("dct_mat", torch.cos(steps[:, None] * torch.arange(n_mfcc)))

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Of the last dimension."""
        table: Any = self.dct_mat
        loudness = (self.MelSpectrogram(waveform) + FEW).log()
        found: torch.Tensor = (loudness.transpose(-1, -2) @ table).transpose(-1, -2)
        return found


class AmplitudeToDB(nn.Module):
    """Decibels."""

    def __init__(self, stype: str = "power", top_db: Any = None) -> None:
        super().__init__()
        self.stype, self.top_db = stype, top_db

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of every number."""
        found = (DECIBELS if self.stype == "power" else 2 * DECIBELS) * x.clamp(min=FEW).log10()
        return found if self.top_db is None else found.clamp(min=float(found.max()) - self.top_db)


class Resample(nn.Module):
    """Another rate."""

    def __init__(self, orig_freq: int = 16_000, new_freq: int = 16_000, *_: Any, **__: Any) -> None:
        super().__init__()
        self.orig_freq, self.new_freq = orig_freq, new_freq

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """As `functional.resample`."""
        return resample(waveform, self.orig_freq, self.new_freq)


class _Masking(nn.Module):
    """Zeros in a range that is drawn by chance."""

    dimension = -1

    def __init__(self, mask_param: int = 0, *_: Any, **options: Any) -> None:
        super().__init__()
        self.mask_param = next((options[name] for name in options if name.endswith("mask_param")), mask_param)

    def forward(self, specgram: torch.Tensor, mask_value: float = 0.0) -> torch.Tensor:
        """A copy with the mask."""
        size = specgram.shape[self.dimension]
        width = int(torch.rand(()) * min(self.mask_param, size))
        start = int(torch.rand(()) * (size - width))
        masked = specgram.clone()
        masked.narrow(self.dimension, start, width).fill_(mask_value)
        return masked


class TimeMasking(_Masking):
    """Of a range of time."""


class FrequencyMasking(_Masking):
    """Of a range of frequencies."""

    dimension = -2


class Vol(nn.Module):
    """Louder or quieter."""

    def __init__(self, gain: float = 1.0, *_: Any, **__: Any) -> None:
        super().__init__()
        self.gain = gain

    def forward(self, waveform: torch.Tensor) -> torch.Tensor:
        """Within its bounds."""
        return (waveform * self.gain).clamp(-1, 1)


class ComputeDeltas(nn.Module):
    """Differences from one moment to the next."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, specgram: torch.Tensor) -> torch.Tensor:
        """Of the last dimension."""
        return (torch.roll(specgram, -1, -1) - torch.roll(specgram, 1, -1)) / 2


class MuLawEncoding(nn.Module):
    """Whole numbers of which small ones are close together."""

    def __init__(self, quantization_channels: int = 256) -> None:
        super().__init__()
        self.quantization_channels = quantization_channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of every number."""
        most = self.quantization_channels - 1.0
        scaled = torch.sign(x) * torch.log1p(most * x.abs()) / torch.log1p(torch.tensor(most))
        return ((scaled + 1) / 2 * most + 0.5).long()

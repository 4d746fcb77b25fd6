"""torchaudio, where it is not installed: spectra have the shapes that they have there."""

from __future__ import annotations

import pytest
import torch

from torch_doctor.probe.agent.replicas.torchaudio import datasets, spectra, waves


@pytest.mark.parametrize(
    ("transform", "shape"),
    [
        (spectra.Spectrogram(n_fft=512), (1, 257, 63)),
        (spectra.MelSpectrogram(16_000, n_fft=1_024, hop_length=512, n_mels=64), (1, 64, 32)),
        (spectra.MFCC(n_mfcc=13, melkwargs={"n_fft": 400, "hop_length": 160, "n_mels": 23}), (1, 13, 101)),
        (spectra.Resample(16_000, 8_000), (1, 8_000)),
    ],
)
def test_a_spectrum_of_a_second_has_its_shape(transform: torch.nn.Module, shape: tuple[int, ...]) -> None:
    wave, _ = waves.load("any.wav")
    found = transform(wave)
    assert found.shape == shape
    assert found.isfinite().all()


def test_a_wave_is_the_same_for_the_same_name() -> None:
    assert torch.equal(waves.load("a.wav")[0], waves.load("a.wav")[0])
    assert not torch.equal(waves.load("a.wav")[0], waves.load("b.wav")[0])


def test_a_mask_leaves_the_rest_as_it_is() -> None:
    whole = torch.rand(1, 20, 30) + 1
    masked = spectra.FrequencyMasking(freq_mask_param=8)(whole)
    kept = masked != 0
    assert torch.equal(masked[kept], whole[kept])


def test_the_commands_are_rows_of_a_wave_a_rate_and_a_word() -> None:
    wave, rate, word, *_ = datasets.by_name(lambda *_: None)["SPEECHCOMMANDS"](".", subset="testing")[0]
    assert (tuple(wave.shape), rate, word) == ((1, 16_000), 16_000, "backward")

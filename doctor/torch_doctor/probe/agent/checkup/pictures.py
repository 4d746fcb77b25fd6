"""Inputs as one can look at them: images and spectrograms as PNG, waves and series as lines, tables as text."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from .telling import count, line, number, plot

MOST = 16  # samples that are shown
SMALLEST, LARGEST = 6, 4096  # points along one side of a picture
SIDE = 64  # points along one side of a picture, at most, as it is shown
LONG = 400  # points of a wave from which on it is one
POINTS = 300  # points of a wave that are shown
CHANNELS = (1, 3, 4)
TABLE, COLUMNS = 12, 12  # rows and columns of a table that are shown
BANDS = 16  # rows and columns of a spectrogram, at least
SAMPLES, FEATURES = 2, 4  # of a series that are drawn
COLOURS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""The colours of a spectrogram, from its least value to its largest: five of those that matplotlib calls viridis."""


def is_image(tensor: Any) -> bool:
    """Whether the rows of a part of a batch are images."""
    return _as_pictures(tensor) is not None


def is_wave(tensor: Any) -> bool:
    """Whether they are waves: many points of one or two channels."""
    few = tensor.dim() == 2 or (tensor.dim() == 3 and tensor.shape[1] <= 2)
    return bool(few and tensor.is_floating_point() and tensor.shape[-1] >= LONG)


def is_spectrogram(tensor: Any) -> bool:
    """Whether they are matrices of numbers of some size, such as spectrograms."""
    return bool(tensor.dim() == 3 and tensor.is_floating_point() and min(tensor.shape[1:]) >= BANDS)


def pictured(torch: Any, path: str, tensor: Any, captions: list[str], name: str = "") -> dict[str, Any] | None:
    """A figure of the first rows as pictures; None where they are none.

    Each is scaled from its least value to its largest. A matrix has its first row at the bottom, as a spectrogram has.
    """
    pictures = _as_pictures(tensor)
    flat = pictures is None
    if flat and not is_spectrogram(tensor):
        return None
    own = tensor.detach().float().cpu()[:MOST].flip(1).unsqueeze(-1) if flat else pictures[:MOST]
    images = [
        {"png": _png(torch, each, coloured=flat), "caption": caption}
        for each, caption in zip(own, [*captions, *[""] * MOST])
    ]
    finite = own[own.isfinite()]
    values = f", values from {number(float(finite.min()))} to {number(float(finite.max()))}" if finite.numel() else ""
    size = f"{own.shape[2]} × {own.shape[1]} {'values' if flat else 'pixels'}"
    told = f"{count(len(images), 'sample')}, {size}{values}; each is scaled from its least to its largest value"
    told += ", with its first row at the bottom" * flat
    what = "Matrices" if flat else "Images"
    of = f" of {name}" if name else ""
    return plot(f"{what} in {path}{of}", "images", told, images=images, beside=path)


def waves(path: str, sets: list[tuple[str, Any, list[str]]]) -> dict[str, Any]:
    """The first samples of each set as waves, with a panel for each."""
    drawn = []
    for name, tensor, captions in sets:
        for place, sample in enumerate(tensor.detach().float().cpu()[:SAMPLES]):
            label = f"label {captions[place]}" if place < len(captions) else f"sample {place}"
            points, values = _points(sample.reshape(-1, sample.shape[-1])[0])
            drawn.append(line(label, values, points, axis=f"{name} {place}: {label}"))
    return _curves(f"Waveforms in {path}", "samples", sets, drawn)


def series(path: str, sets: list[tuple[str, Any, list[str]]]) -> dict[str, Any]:
    """The first sample of each set as a series, with a panel for each feature."""
    firsts = [(name, tensor[0].detach().float().cpu()) for name, tensor, _ in sets]
    steps = [(name, each if each.shape[1] <= max(FEATURES, each.shape[0]) else each.T) for name, each in firsts]
    drawn = []
    for feature in range(min(FEATURES, *(each.shape[1] for _, each in steps))):
        for name, each in steps:
            points, values = _points(each[:, feature])
            drawn.append(line(name, values, points, axis=f"feature {feature}"))
    return _curves(f"Series in {path}", "sample", sets, drawn)


def _points(values: Any) -> tuple[list[float], list[float]]:
    """Some of the points of a line, with their places: the least and the largest of each stretch of a long one.

    Every nth point alone would show a wave of another frequency.
    """
    if len(values) <= POINTS:
        return [float(each) for each in range(len(values))], values.tolist()
    step = -(-len(values) // (POINTS // 2))
    places = []
    for start in range(0, len(values), step):
        part = values[start : start + step].nan_to_num()
        places += sorted({start + int(part.argmin()), start + int(part.argmax())})
    return [float(each) for each in places], [float(values[each]) for each in places]


def _curves(
    title: str, what: str, sets: list[tuple[str, Any, list[str]]], drawn: list[dict[str, Any]]
) -> dict[str, Any]:
    shape = " × ".join(map(str, sets[0][1].shape[1:]))
    told = f"the first {what} of {' and '.join(name for name, _, _ in sets)}, {shape} values each"
    return plot(title, "lines", told, x_label="step", y_label="value", series=drawn, private=True)


def table(path: str, tensor: Any, captions: list[str]) -> dict[str, Any]:
    """The first rows of a table as text, with the numbers of its columns above and the target of each row behind."""
    cells = [list(map(number, row)) for row in tensor.detach()[:TABLE, :COLUMNS].tolist()]
    rows = [list(map(str, range(len(cells[0])))), *cells]
    wide = [max(len(row[place]) for row in rows) for place in range(len(cells[0]))]
    more = " …" if tensor.shape[1] > COLUMNS else ""
    texts = ["  ".join(each.rjust(width) for each, width in zip(row, wide)) + more for row in rows]
    if captions:
        texts = [f"{text}  │ {caption}" for text, caption in zip(texts, ["target", *captions, *[""] * TABLE])]
    told = f"the first {count(len(cells), 'row')} of {path} below the numbers of the columns"
    return plot(f"Rows of {path}", "texts", told, texts=texts)


def thumbnail(torch: Any, row: Any) -> str:
    """One sample as a picture of at most 64 × 64 points in base64; "" where it is none."""
    pictures = _as_pictures(row.unsqueeze(0)) if row.dim() and row.numel() else None
    return "" if pictures is None else _png(torch, pictures[0])


def _as_pictures(tensor: Any) -> Any:
    """The rows as height × width × channels; None where they are no pictures."""
    if tensor.dim() == 3 and not is_wave(tensor) and tensor.shape[1] == tensor.shape[2]:
        tensor = tensor.unsqueeze(1)
    if tensor.dim() != 4 or tensor.is_complex():
        return None
    if tensor.shape[1] in CHANNELS:
        tensor = tensor.permute(0, 2, 3, 1)
    if tensor.shape[3] not in CHANNELS or not all(SMALLEST <= each <= LARGEST for each in tensor.shape[1:3]):
        return None
    return tensor.detach()[..., : 3 if tensor.shape[3] > 1 else 1].float().cpu()


def _png(torch: Any, picture: Any, *, coloured: bool = False) -> str:
    """A picture of height × width × channels, from its least value to its largest, in base64.

    Points of a large one are means. `coloured`: a single channel in `COLOURS`, and each side made smaller by itself.
    """
    picture = torch.nan_to_num(picture, posinf=0.0, neginf=0.0)
    height, width = picture.shape[:2]
    by = max(1.0, max(height, width) / SIDE)
    size = (min(height, SIDE), min(width, SIDE)) if coloured else (max(1, int(height / by)), max(1, int(width / by)))
    if size != (height, width):
        whole = picture.permute(2, 0, 1).unsqueeze(0)
        picture = torch.nn.functional.adaptive_avg_pool2d(whole, size)[0].permute(1, 2, 0)
    low, high = float(picture.min()), float(picture.max())
    scaled = (picture - low) / (high - low or 1.0)
    if coloured:
        scaled = _ramp(torch, scaled)
    scaled = (scaled * 255).round().to(torch.uint8)
    height, width, channels = scaled.shape
    rows = b"".join(b"\x00" + bytes(row.reshape(-1).tolist()) for row in scaled)
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)).decode()


def _ramp(torch: Any, values: Any) -> Any:
    """The colours between which each value from 0 to 1 lies, mixed."""
    known = torch.tensor(COLOURS) / 255
    place = values[..., 0] * (len(COLOURS) - 1)
    below = place.floor().long().clamp(0, len(COLOURS) - 2)
    part = (place - below).unsqueeze(-1)
    return known[below] * (1 - part) + known[below + 1] * part


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

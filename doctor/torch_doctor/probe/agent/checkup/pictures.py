"""Inputs as one can look at them: pictures as PNG, waves as lines, tokens and words as text."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from .telling import line, number, plot

MOST = 16  # rows that are shown
SMALLEST, LARGEST = 6, 4096  # points along one side of a picture
SIDE = 64  # points along one side of a picture, at most, as it is shown
LONG = 400  # points of a wave from which on it is one
POINTS = 300  # points of a wave that are shown
CHANNELS = (1, 3, 4)
TABLE, COLUMNS = 12, 12  # rows and columns of a table that are shown


def shown(torch: Any, path: str, tensor: Any, captions: list[str]) -> dict[str, Any] | None:
    """A figure of the first rows of a part of a batch; None where it is nothing to look at."""
    pictures = _as_pictures(tensor)
    if pictures is not None:
        images = [
            {"png": _png(torch, picture), "caption": caption}
            for picture, caption in zip(pictures[:MOST], captions + [""] * MOST)
        ]
        told = f"{len(images)} images from {path}, {pictures.shape[2]} × {pictures.shape[1]} pixels"
        return plot(f"Images in {path}", "images", told, images=images)
    if _is_wave(tensor):
        rows = tensor.detach().float().reshape(tensor.shape[0], -1)[:3]
        step = max(1, rows.shape[1] // POINTS)
        series = [
            line(captions[number] if number < len(captions) else f"sample {number}", row[::step][:POINTS].tolist())
            for number, row in enumerate(rows)
        ]
        return plot(
            f"Waveforms in {path}",
            "lines",
            f"the first samples of {path}",
            x_label="point",
            series=series,
            private=True,
        )
    if not tensor.is_floating_point() and tensor.dim() == 2 and tensor.shape[1] > 3:
        texts = [" ".join(str(each) for each in row[:48].tolist()) for row in tensor[:8]]
        return plot(f"Tokens in {path}", "texts", f"the first samples of {path}, as token ids", texts=texts)
    if tensor.is_floating_point() and tensor.dim() == 2 and tensor.numel():
        numbers = tensor.detach()[:TABLE, :COLUMNS].tolist()
        more = " …" if tensor.shape[1] > COLUMNS else ""
        texts = [
            " ".join(map(number, row)) + more + (f": {caption}" if caption else "")
            for row, caption in zip(numbers, captions + [""] * TABLE)
        ]
        return plot(f"Rows of {path}", "texts", f"the first {len(texts)} rows of {path}", texts=texts)
    return None


def thumbnail(torch: Any, row: Any) -> str:
    """One sample as a picture of at most 64 × 64 points in base64; "" where it is none."""
    pictures = _as_pictures(row.unsqueeze(0)) if row.dim() and row.numel() else None
    return "" if pictures is None else _png(torch, pictures[0])


def _as_pictures(tensor: Any) -> Any:
    """The rows as height × width × channels; None where they are no pictures."""
    if tensor.dim() == 3 and not _is_wave(tensor) and tensor.shape[1] == tensor.shape[2]:
        tensor = tensor.unsqueeze(1)
    if tensor.dim() != 4 or tensor.is_complex():
        return None
    if tensor.shape[1] in CHANNELS:
        tensor = tensor.permute(0, 2, 3, 1)
    if tensor.shape[3] not in CHANNELS or not all(SMALLEST <= each <= LARGEST for each in tensor.shape[1:3]):
        return None
    return tensor.detach()[..., : 3 if tensor.shape[3] > 1 else 1].float().cpu()


def _is_wave(tensor: Any) -> bool:
    few = tensor.dim() == 2 or (tensor.dim() == 3 and tensor.shape[1] <= 2)
    return bool(few and tensor.is_floating_point() and tensor.shape[-1] >= LONG)


def _png(torch: Any, picture: Any) -> str:
    """A picture of height × width × channels, from its least value to its largest, in base64."""
    step = max(1, -(-max(picture.shape[:2]) // SIDE))
    picture = torch.nan_to_num(picture[::step, ::step])
    low, high = float(picture.min()), float(picture.max())
    scaled = ((picture - low) / (high - low or 1.0) * 255).round().to(torch.uint8)
    height, width, channels = scaled.shape
    rows = b"".join(b"\x00" + bytes(row.reshape(-1).tolist()) for row in scaled)
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

"""Rows: which samples of which source reach a model, in which order, and what has prepared them."""

from __future__ import annotations

from torch_doctor.static.domains.rows import windows

__all__ = ["windows"]

"""Mends what findings name: edits become changes of text, changes are joined, and files are written in one go."""

from __future__ import annotations

from torch_doctor.fixes.imports import idle_imports
from torch_doctor.fixes.joining import joined, moved
from torch_doctor.fixes.proposing import propose
from torch_doctor.fixes.writing import changed, readable, relined, rewrite

__all__ = ["changed", "idle_imports", "joined", "moved", "propose", "readable", "relined", "rewrite"]

"""The cache folder, from options and configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from torch_doctor.cache import FOLDER
from torch_doctor.sources.discovery import PROJECT_MARKERS, common_directory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.config import LoadedConfig

_ROOTS = (*PROJECT_MARKERS, ".git")


def cache_folder(asked: str | None, loaded: LoadedConfig, paths: Sequence[Path]) -> Path:
    """Return the cache folder: the given or configured one, else one in the project of the paths, else in the working directory."""
    if asked:
        return Path(asked).absolute()
    if loaded.config.cache_dir:
        return loaded.saying("cache-dir").base / os.path.expanduser(loaded.config.cache_dir)  # noqa: PTH111 - never raises
    common = common_directory(paths)
    around = (folder for folder in (common, *common.parents) if any((folder / name).exists() for name in _ROOTS))
    return next(around, Path.cwd()) / FOLDER

"""Examples are installed by pip, each into a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Installs a package, and returns the folder that it was put into."""

    def pip_install(package: Path) -> Path:
        target = tmp_path_factory.mktemp("site")
        options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", "install", "--quiet", *options, "--target", str(target), str(package)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return target

    return pip_install


@pytest.fixture
def command(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a module of Python in an environment that has what lies in a folder."""

    def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        whole = [sys.executable, "-m", *arguments]
        return subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False, env=environment)

    return run

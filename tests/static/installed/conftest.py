"""An environment with small libraries in it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

from torch_doctor.static.installed.environment import Installed
from torch_doctor.static.installed.whose import Environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_doctor.static.installed.answers import Answer

SITE = "lib/python3.12/site-packages"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """The folder of an environment that has torch, and nothing else."""
    folder = tmp_path / "environment"
    for name in ("bin/python", f"{SITE}/torch/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", encoding="utf-8")
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n", encoding="utf-8")
    return folder


@pytest.fixture
def install(environment: Path) -> Callable[..., None]:
    """Installs a file of a package, whose version is told where it is given."""

    def write(name: str, source: str, version: str = "") -> None:
        path = environment / SITE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        for folder in path.parents:
            if folder == environment / SITE:
                break
            (folder / "__init__.py").touch()
        if version:
            package = name.partition("/")[0]
            for old in (environment / SITE).glob(f"{package}-*.dist-info"):
                old.rmdir()
            (environment / SITE / f"{package}-{version}.dist-info").mkdir()

    return write


@pytest.fixture
def builds(environment: Path, tmp_path: Path) -> Callable[[str], Answer | None]:
    """What a call of a dotted name builds."""
    installed = Installed(Environment(str(environment)), tmp_path)
    return installed.builds

"""The schema of the configuration: current, and read by what reads schemas."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import msgspec
import pytest

from torch_doctor.config import KEYS, Config, load
from torch_doctor.config.schema import SHIPPED, schema

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]


def test_the_schema_that_is_shipped_is_current() -> None:
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == schema(), "torch-doctor config --schema writes it anew"


def test_the_schema_knows_all_keys_and_nothing_else() -> None:
    assert tuple(schema()["properties"]) == KEYS
    jsonschema.Draft7Validator.check_schema(schema())
    with pytest.raises(jsonschema.ValidationError, match="slect"):
        jsonschema.validate({"slect": []}, schema())


@pytest.mark.parametrize("key", KEYS)
def test_each_key_is_described_and_its_examples_are_right(key: str) -> None:
    described = schema()["properties"][key]
    assert described["description"].endswith(".")
    for example in described["examples"]:
        jsonschema.validate({key: example}, schema())
        assert msgspec.convert({key: example}, Config) != Config()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: 1.5}, schema())


def validated(folder: Path, content: str) -> Any:
    """What validate-pyproject says where a package with our entry points is installed."""
    information = folder / "installed/torch_doctor-0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-doctor\nVersion: 0\n", encoding="utf-8")
    group = "validate_pyproject.tool_schema"
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in ENTRY_POINTS[group].items())]
    (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "pyproject.toml").write_text(content, encoding="utf-8")
    path = f"import sys; sys.path[:0] = [{str(information.parent)!r}, {str(ROOT / 'doctor')!r}]\n"
    script = path + "from validate_pyproject.cli import main; main(['pyproject.toml'])"
    return subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def test_validate_pyproject_checks_our_table(folder: Path, write: Callable[..., Path]) -> None:
    right = (
        "[tool.torch-doctor]\nselect = ['TDR1']\nper-file-ignores = { 'a.py' = ['ALL'] }\nrespect-gitignore = false\n"
    )
    load(write("pyproject.toml", right))
    done = validated(folder, right)
    assert (done.returncode, "Valid" in done.stdout + done.stderr) == (0, True)
    for wrong in ("select = 'TDR1'", "slect = ['TDR1']", "per-file-ignores = { 'a.py' = 'ALL' }"):
        done = validated(folder, f"[tool.torch-doctor]\n{wrong}\n")
        assert done.returncode == 1
        assert "tool.torch-doctor" in done.stdout + done.stderr

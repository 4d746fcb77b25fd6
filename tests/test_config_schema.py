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

from torch_doctor import cli
from torch_doctor.config import KEYS, Config, load
from torch_doctor.config.schema import SELECTOR, SHIPPED, documented, properties, schema
from torch_doctor.report.formats import FORMATS
from torch_doctor.rule import all_rules

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


@pytest.mark.parametrize("key", [*documented(), "probe"])
def test_each_key_is_described_and_its_examples_are_right(key: str) -> None:
    described = documented().get(key) or properties()[key]
    assert described["description"].endswith(".")
    table, _, name = key.rpartition(".")

    def setting(value: Any) -> dict[str, Any]:
        return {table: {name: value}} if table else {name: value}

    for example in described["examples"]:
        jsonschema.validate(setting(example), schema())
        assert msgspec.convert(setting(example), Config) != Config()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(setting([1.5]), schema())


def test_output_formats_are_listed() -> None:
    assert schema()["properties"]["output-format"]["anyOf"][0] == {"enum": list(FORMATS)}


def test_codes_names_and_prefixes_are_listed_so_that_editors_complete_them() -> None:
    keys = schema()["properties"]
    for key in (
        "select",
        "ignore",
        "extend-select",
        "fixable",
        "unfixable",
        "extend-safe-fixes",
        "extend-unsafe-fixes",
    ):
        assert keys[key]["items"] == SELECTOR
    for key in ("per-file-ignores", "extend-per-file-ignores"):
        assert keys[key]["additionalProperties"]["items"] == SELECTOR
    listed = schema()["definitions"]["selector"]["anyOf"][0]["enum"]
    assert (
        {"ALL", "TDR", "TDR1", "TDR10", "TDR101", "missing-zero-grad"} <= {*listed} == {*keys["levels"]["properties"]}
    )
    for rule in all_rules():
        assert {rule.code, rule.name, rule.code[:-2]} <= {*listed}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("select = ['ALL', 'TDR', 'TDR1', 'TDR10', 'TDR101', 'missing-zero-grad', 'ABC123']", ""),
        ("levels = { TDR305 = 'advice', no-seed = 'warning', TDR6 = 'error', ABC1 = 'error' }", ""),
        ("fixable = ['ALL']\nunfixable = ['TDR101']\nextend-safe-fixes = ['TDR1']\nextend-unsafe-fixes = ['TDR2']", ""),
        ("per-file-ignores = { 'tests/*' = ['TDR1'] }\ninclude = ['src']\nforce-exclude = true", ""),
        ("fail-level = 'error'\nrequired-version = '>=0.1'", ""),
        ("[probe]\ntime = 30\nscripts = ['a.py']\n[probe.arguments]\n'a.py' = ['--epochs', '1']", ""),
        ("select = ['TDR1011']", "$.select[0]: 'TDR1011' is not valid under any of the given schemas"),
        ("ignore = ['TDR77']", "$.ignore[0]"),
        ("unfixable = ['missing-zero-gard']", "$.unfixable[0]"),
        ("per-file-ignores = { 'a.py' = ['TDR0x'] }", "$['per-file-ignores']"),
        ("levels = { TDR305 = 'fatal' }", "$.levels.TDR305: 'fatal' is not one of ['advice', 'error', 'warning']"),
        ("levels = { no-sead = 'error' }", "$.levels"),
        ("fail-level = 'fatal'", "$['fail-level']"),
        ("include = 'src'", "$.include"),
        ("[probe]\ntime = 0", "$.probe.time"),
        ("[probe]\ndevise = 'cpu'", "'devise' was unexpected"),
        ("[probe.arguments]\n'a.py' = '--epochs 1'", "$.probe.arguments"),
        ("output-format = 'sarif:out.sarif'", ""),
        ("output-format = 'sraif'", "$['output-format']"),
        ("slect = []", "'slect' was unexpected"),
    ],
)
def test_a_real_validator_accepts_what_is_right_and_reports_what_is_wrong(
    write: Callable[..., Path], content: str, said: str
) -> None:
    path = write("torch-doctor.toml", content + "\n")
    command = ["check-jsonschema", "--schemafile", str(SHIPPED), "--force-filetype", "toml", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, said in done.stdout) == (int(bool(said)), True)
    if not said and "ABC" not in content:  # rules of a package that is not installed
        assert cli.run(["scan", "--show-settings", "--config", str(path)]) == 0


def validated(folder: Path, content: str) -> Any:
    """What validate-pyproject says where a package with our entry points is installed."""
    information = folder / "installed/torch_doctor-0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-doctor\nVersion: 0\n", encoding="utf-8")
    lines = []
    for group in ("validate_pyproject.tool_schema", "torch_doctor.rules"):
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in ENTRY_POINTS[group].items())]
    (information / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "pyproject.toml").write_text(content, encoding="utf-8")
    paths = [str(information.parent), str(ROOT / "doctor"), str(ROOT / "rules")]
    path = f"import sys; sys.path[:0] = {paths!r}\n"
    script = path + "from validate_pyproject.cli import main; main(['pyproject.toml'])"
    return subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def test_validate_pyproject_checks_our_table(folder: Path, write: Callable[..., Path]) -> None:
    right = (
        "[tool.torch-doctor]\nselect = ['TDR1']\nper-file-ignores = { 'a.py' = ['ALL'] }\nrespect-gitignore = false\n"
    )
    load(write("pyproject.toml", right))
    done = validated(folder, right)
    assert (done.returncode, "Valid" in done.stdout + done.stderr) == (0, True)
    for wrong in ("select = 'TDR1'", "select = ['TDR77']", "slect = ['TDR1']", "per-file-ignores = { 'a.py' = 'ALL' }"):
        done = validated(folder, f"[tool.torch-doctor]\n{wrong}\n")
        assert done.returncode == 1
        assert "tool.torch-doctor" in done.stdout + done.stderr

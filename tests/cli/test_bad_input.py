"""Whatever lies in a folder: each file has its finding or its silence, the others are still reported, nothing crashes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torch_doctor import cli
from torch_doctor.cache import FOLDER
from torch_doctor.report.formats import FORMATS, renderer
from torch_doctor.report.paint import Paint
from torch_doctor.report.reported import Look, Reported
from torch_doctor.rule import all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND = [sys.executable, "-m", "torch_doctor"]
FIXTURES = Path(__file__).parents[2] / "fixtures"
BUG = "import torch\n\nmodel = torch.nn.Linear(2, 1)\ntorch.save(model, 'model.pt')\n"


def cells(*sources: object, **others: object) -> bytes:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4, **others}).encode()


WRONG = {  # name: (bytes, where it is wrong)
    "python2.py": (b"import torch\nprint 'x'\n", "2:1"),
    "latin1.py": ("import torch\nx = 'é'\n".encode("latin-1"), "2:6"),
    "utf16.py": ("import torch\n".encode("utf-16"), "1:1"),
    "binary.py": (b"torch\n\x00\x01\xff", "2:1"),
    "encoding.py": (b"# coding: klingon\nimport torch\n", "1:1"),
    "no_text_encoding.py": (b"# coding: rot13\nimport torch\n", "1:1"),
    "parentheses.py": (b"import torch\nx = " + b"(" * 10_000 + b")" * 10_000, "2:205"),
    "ifs.py": (b"import torch\n" + b"".join(b" " * i + b"if x:\n" for i in range(1000)), "102:1"),
    "not_json.ipynb": (b'{\n  "torch": }', "2:12"),
    "empty_list.ipynb": (b'["torch"]', "1:1"),
    "deep.ipynb": (b"[" * 100_000 + b'"torch"', "1:1"),
    "no_keys.ipynb": (b'{"torch": 1}', "1:1"),
    "version_9.ipynb": (b'{"nbformat": 9, "cells": ["torch"]}', "1:1"),
    "cells_are_text.ipynb": (cells(cells="torch"), "1:1"),
    "cells_are_numbers.ipynb": (cells("import torch", cells=[1, 2], x="torch"), "1:1"),
    "source_is_a_number.ipynb": (cells("import torch", 3), "1:1"),
    "metadata_is_a_list.ipynb": (cells("import torch", metadata=[1]), "1:1"),
    "broken_cell.ipynb": (cells("import torch", "x = (\n"), "cell 2:1:5"),
    "null_in_cell.ipynb": (cells("import torch\nx = '\0'"), "cell 1:2:6"),
}
VALID = {
    "empty.py": b"",
    "comment.py": b"# torch",
    "bom.py": b"\xef\xbb\xbfimport torch\n",
    "cookie.py": "# -*- coding: latin-1 -*-\nimport torch\nx = 'é'\n".encode("latin-1"),
    "form_feeds.py": b"import torch\n\x0c\ndef f():\n\x0c    return torch\n",
    "carriage_returns.py": b"import torch\rif torch:\r    x = 1\r",
    "tabs.py": b"import torch\nif torch:\n\tx = 1\n",
    "ifs.py": b"import torch\n" + b"".join(b" " * i + b"if x:\n" for i in range(99)) + b" " * 99 + b"pass\n",
    "calls.py": b"import torch\nx = torch" + b".a()" * 1000 + b"\n",
    "sum.py": b"import torch\nx = " + b"1+" * 20_000 + b"1\n",
    "branches.py": b"import torch\nif x: pass\n" + b"elif x: pass\n" * 2000,
    "digits.py": b"import torch\nx = " + b"9" * 5000 + b"\n",
    "many_lines.py": b"import torch\n" + b"x = 1\n" * 50_000,
    "empty.ipynb": b"",
    "no_cells.ipynb": cells(x="torch"),
    "markdown.ipynb": b'{"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "markdown", "source": "torch"}]}',
    "magics.ipynb": cells("%matplotlib inline\nimport torch\n!ls\n", "%%bash\ntorch(", ["import torch\n", "x = 1"]),
}


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.CompletedProcess[str]]]:
    """A folder of everything, and what a scan of it says."""
    folder = tmp_path_factory.mktemp("everything")
    for name, (raw, _) in WRONG.items():
        (folder / "wrong" / name).parent.mkdir(exist_ok=True)
        (folder / "wrong" / name).write_bytes(raw)
    for name, raw in VALID.items():
        (folder / "valid" / name).parent.mkdir(exist_ok=True)
        (folder / "valid" / name).write_bytes(raw)
    (folder / "huge.py").write_bytes(b"import torch\n" + b"x = 1\n" * 1_000_000)
    (folder / "folder.py").mkdir()
    (folder / "folder.py/inner.py").write_text(BUG, encoding="utf-8")
    (folder / "folder.ipynb").mkdir()
    (folder / "dangling.py").symlink_to("nowhere.py")
    (folder / "circle.py").symlink_to("circle.py")
    (folder / "up").symlink_to(folder, target_is_directory=True)
    (folder / "zzz.py").write_text(BUG, encoding="utf-8")
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.py")
    command = [*COMMAND, "scan", "--isolated", "--output-format", "concise", "."]
    yield folder, subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    shutil.rmtree(folder)


def reported(said: str, name: str) -> list[str]:
    """Place and code of what is said of a file."""
    findings = [line.removeprefix(f"{name}:").split(": ") for line in said.splitlines() if line.startswith(f"{name}:")]
    return [f"{place} {code.split()[0]}" for place, code, *_ in findings]


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_not_valid_is_told_with_its_place(scanned: Any, name: str) -> None:
    assert reported(scanned[1].stdout, f"wrong/{name}") == [f"{WRONG[name][1]} TDR000"]


@pytest.mark.parametrize("name", VALID)
def test_a_file_that_is_only_odd_is_silent(scanned: Any, name: str) -> None:
    assert reported(scanned[1].stdout, f"valid/{name}") == []


def test_the_files_beside_them_are_still_reported(scanned: Any) -> None:
    done = scanned[1]
    assert reported(done.stdout, "zzz.py") == ["4:1 TDR601"]
    assert reported(done.stdout, "folder.py/inner.py") == ["4:1 TDR601"]
    assert done.returncode == 1
    *warnings, summary = done.stderr.splitlines()
    assert sorted(warnings) == [
        "warning: huge.py is too large for hand-written source: skipped",
        "warning: valid/many_lines.py:1: the file exceeds the step limit",
    ]
    places, files = len(WRONG) + 2, len(WRONG) + 2 + len(VALID) + 1  # huge.py is none of these places
    assert summary.startswith(f"Found {len(WRONG)} errors and 2 warnings in {places} of {files} files")


@pytest.mark.parametrize("name", ["wrong/python2.py", "wrong/parentheses.py", "wrong/deep.ipynb", "valid/branches.py"])
def test_a_trace_of_any_of_them_ends_well(scanned: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["trace", str(scanned[0] / name)]) == 0
    assert "Traceback" not in capsys.readouterr().err


something_is_forbidden = pytest.mark.skipif(
    not hasattr(os, "geteuid") or (os.geteuid() == 0 and not shutil.which("setpriv")),
    reason="nothing is forbidden to this user",
)


def without_rights(command: list[str]) -> list[str]:
    """The command as somebody who may not read everything; to root, permissions mean nothing."""
    if os.geteuid() != 0:
        return command
    rights = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", *command]


@something_is_forbidden
@pytest.mark.parametrize(
    ("paths", "errors"),
    [
        (["."], ["closed cannot be read: Permission denied", "secret.py cannot be read: Permission denied"]),
        (["secret.py", "open.py"], ["secret.py cannot be read: Permission denied"]),
        (["closed", "open.py"], ["closed cannot be read: Permission denied"]),
        (["closed/a.py", "open.py"], ["closed/a.py cannot be read: Permission denied"]),
    ],
)
def test_what_may_not_be_read_is_an_error_and_the_rest_is_reported(
    folder: Path, write: Callable[..., Path], paths: list[str], errors: list[str]
) -> None:
    write("open.py", BUG)
    write("secret.py", BUG).chmod(0)
    write("closed/a.py", BUG)
    (folder / "closed").chmod(0)
    try:
        command = without_rights([*COMMAND, "scan", "-q", "--output-format", "concise", *paths])
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    finally:
        (folder / "closed").chmod(0o700)
    assert done.stderr.splitlines() == [f"error: {error}" for error in errors]
    assert reported(done.stdout, "open.py") == ["4:1 TDR601"]
    assert done.returncode == 2


@something_is_forbidden
def test_a_working_directory_that_is_read_only_is_enough(folder: Path, write: Callable[..., Path]) -> None:
    write("train.py", BUG)
    folder.chmod(0o500)
    try:
        command = without_rights([*COMMAND, "scan", "--output-format", "concise"])
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        command = without_rights([*COMMAND, "scan", "-q", "--output-format", "json:out.json"])
        refused = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o700)
    *told, summary = done.stderr.splitlines()
    assert (done.returncode, summary) == (
        1,
        "Found 1 warning in 1 file. --fix --unsafe-fixes fixes 1; confirm with --probe.",
    )
    assert [line.partition(":")[0] for line in told] == ["warning"]
    assert f"the cache in {folder / FOLDER} is not used (permission denied)" in told[0]
    assert (refused.returncode, refused.stderr) == (2, "error: out.json cannot be written: Permission denied\n")


# --- anything at all ---

SCRIPTS = [path.read_bytes() for path in sorted((FIXTURES / "whole").glob("*.py"))]
NOTEBOOKS = [path.read_bytes() for path in sorted((FIXTURES / "whole").glob("*.ipynb"))]
PIECES = [
    *(
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b":",
        b"=",
        b"\n",
        b"\t",
        b"    ",
        b"\\\n",
        b"#",
        b'"',
        b"'''",
        b"\xff",
        b"\0",
        b"\r",
    ),
    *(
        b"lambda: ",
        b"yield ",
        b"await ",
        b"async ",
        b"def ",
        b"class ",
        b"return\n",
        b"del ",
        b"not ",
        b"*",
        b"@",
        b":=",
    ),
    *(
        b"try:\n",
        b"else:\n",
        b"break\n",
        b"global x\n",
        b"from . import x\n",
        b"while 1:\n",
        b"print ",
        b"super().",
        b"f'{x}'",
    ),
    *(
        b".backward()",
        b".step()",
        b"torch.",
        b"None",
        b"self",
        b"...",
        b"type X = int\n",
        b"%time ",
        b"\\u0000",
        b"\\ud800",
    ),
]


@st.composite
def spoilt(draw: st.DrawFn, sources: list[bytes]) -> bytes:
    """A real file after a few accidents."""
    raw = draw(st.sampled_from(sources))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(raw)))
        end = min(begin + draw(st.sampled_from([0, 1, 4, 40, 400])), len(raw))
        middle = draw(st.sampled_from([b"", raw[begin:end] * 2, *PIECES]))
        raw = raw[:begin] + middle + raw[end:]
    return raw


LONE_SURROGATE = rb"""{"cells": [{"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
"source": ["import torch\n", "name = '\ud800\n"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"""


@example(("a.ipynb", LONE_SURROGATE))
@given(
    st.one_of(
        st.tuples(st.just("a.py"), st.binary(max_size=200).map(lambda raw: b"import torch\n" + raw)),
        st.tuples(st.just("a.ipynb"), st.binary(max_size=200).map(lambda raw: b'{"torch": ' + raw)),
        st.tuples(st.just("a.py"), spoilt(SCRIPTS)),
        st.tuples(st.just("a.py"), spoilt(SCRIPTS)),
        st.tuples(st.just("a.ipynb"), spoilt(NOTEBOOKS)),
    )
)
def test_no_file_crashes_a_scan_or_a_report(file: tuple[str, bytes]) -> None:
    name, raw = file
    path = Path.cwd() / "nowhere" / name
    rules = all_rules()
    report = scan(Options(paths=(path,), rules=rules, overlay={path: raw}))
    assert report.errors == []
    found = Reported(report.findings, report.sources, rules, report.errors)
    for output in FORMATS:
        renderer(output)(found, Look(Paint(), 60))
        renderer(output)(found, Look(Paint()))
    for finding in report.findings:
        site, source = finding.site, report.sources[finding.site.path]
        row = source.row_of(site)
        assert 1 <= row <= len(source.shown)
        assert 1 <= site.column <= len(source.shown[row - 1]) + 1

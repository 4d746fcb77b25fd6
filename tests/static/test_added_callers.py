"""A caller of which nothing is known takes no finding away from what it calls."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.marks import FIXTURES
from torch_doctor.rule import Level, all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
OTHER_MODEL = "the caller may have another model than the only one of the file"
EVALUATES = "the caller may have put the model into evaluation mode"
SERVES = "no script in sight trains the model: the caller may serve one"
WAITS = "the caller's optimizer may wait for its window by itself, as accelerate's does"
DISPROVED = {
    ("TDR107", "bad_counter_per_epoch"): "the caller's loader may have a length of whole windows",
    ("TDR107", "bad_loader_handed_in"): "the caller's loader may have a length of whole windows",
    ("TDR127", "bad_entropy_as_number"): "the caller's optimizer may have other parameters",
    ("TDR128", "bad_cleared_every_batch"): WAITS,
    ("TDR128", "bad_counter_reset_every_batch"): WAITS,
    ("TDR130", "bad_weights_loaded_before_training"): EVALUATES,
    ("TDR203", "bad_raw_scores"): OTHER_MODEL,
    ("TDR204", "bad_in_forward"): OTHER_MODEL,
    ("TDR401", "bad_average_evaluated"): EVALUATES,
    ("TDR401", "bad_evaluate_helper"): EVALUATES,
    ("TDR401", "bad_fit_of_any_network"): EVALUATES,
    ("TDR401", "bad_one_epoch_for_both"): EVALUATES,
    ("TDR401", "bad_phases_without_mode"): EVALUATES,
    ("TDR401", "bad_scored_late_in_training_mode"): EVALUATES,
    ("TDR402", "bad_evaluate_helper"): SERVES,
    ("TDR402", "bad_evaluation_by_itself"): SERVES,
    ("TDR402", "bad_forward_outside_block"): SERVES,
    ("TDR503", "bad_epoch_function"): OTHER_MODEL,
    ("TDR802", "bad_one_of_two_models_stays"): OTHER_MODEL,
    ("TDR809", "bad_log_directory"): "each process may have been given a directory of its own",
    ("TDR814", "bad_alike_only_at_the_start"): "no process group may be started around the call",
}
"""What a caller takes away all the same, with the reason."""


def test_findings_in_a_function_stay_when_a_caller_with_unknown_arguments_is_added(tmp_path: Path) -> None:
    libraries = {path: library for path in fixtures_with_functions() if (library := as_library(path)) is not None}
    assert len(libraries) > 200
    alone, called = tmp_path / "alone", tmp_path / "called"
    for path, (source, caller) in libraries.items():
        for folder in (alone, called):
            home = folder / path.parent.name
            home.mkdir(parents=True, exist_ok=True)
            (home / path.name).write_text(source, encoding="utf-8")
        calls = f"import things\nimport torch\nimport {path.stem}\n\n{caller}"
        (called / path.parent.name / f"calls_{path.name}").write_text(calls, encoding="utf-8")
    before, after = found_in(alone), found_in(called)
    assert before.total() > 60
    assert {where[:2] for where in before - after} == set(DISPROVED)


def fixtures_with_functions() -> Iterator[Path]:
    """The fixtures with a bug."""
    for path in sorted(FIXTURES.glob("TDR*/bad_*.py")):
        if not path.name.endswith(".fixed.py"):
            yield path


def as_library(path: Path) -> tuple[str, str] | None:
    """What a fixture defines, without what it runs, and a script that calls its functions with unknown arguments."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (UnicodeDecodeError, SyntaxError):
        return None
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    taking = [each for each in functions if each.args.args]
    if not taking:
        return None
    lines = text.splitlines()
    dropped = [
        each for each in tree.body if not isinstance(each, _DEFINING) or (each in functions and each not in taking)
    ]
    for node in dropped:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        lines[first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    calls = [
        f"{path.stem}.{each.name}({', '.join(f'things.make_{number}()' for number in range(len(each.args.args)))})\n"
        for each in taking
    ]
    return "\n".join(lines) + "\n", "".join(calls)


def found_in(folder: Path) -> Counter[tuple[str, str, int]]:
    """The findings in the libraries below a folder: code, fixture, row."""
    rules = tuple(rule for rule in all_rules() if rule.level is not Level.ADVICE)
    found = scan(Options(paths=(folder,), rules=rules, jobs=1)).findings
    sites = ((finding.code, finding.site) for finding in found)
    return Counter(
        (code, Path(site.path).stem, site.row) for code, site in sites if not Path(site.path).name.startswith("calls_")
    )

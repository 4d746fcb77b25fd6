"""What holds for all rules: codes, pages with examples that work, fixtures enough."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.marks import rules_for
from tests.probe.farm import farm as farming
from torch_doctor import examples
from torch_doctor.rule import Fix, all_rules
from torch_doctor.scan import Options, scan

if TYPE_CHECKING:
    from torch_doctor.rule import Rule

ROOT = Path(__file__).parents[1]
CATALOGUE = {  # code: name, level, witness, fix; users write codes and names, so they stay as they are
    "TDR000": ("unreadable-source", "E", "S", "-"),
    "TDR001": ("unused-suppression", "W", "S", "safe"),
    "TDR901": ("no-seed", "A", "SP", "unsafe"),
    "TDR902": ("cudnn-flags-clash", "W", "S", "safe"),
    "TDR903": ("debug-mode-left-on", "W", "SP", "safe"),
    "TDR904": ("no-finite-check", "A", "S", "-"),
    "TDR905": ("sync-every-step", "A", "SP", "-"),
    "TDR101": ("missing-zero-grad", "E", "SP", "unsafe"),
    "TDR102": ("grad-cleared-before-step", "E", "SP", "unsafe"),
    "TDR103": ("step-before-backward", "E", "SP", "unsafe"),
    "TDR104": ("missing-step", "E", "SP", "-"),
    "TDR105": ("missing-backward", "E", "SP", "-"),
    "TDR106": ("accumulation-not-scaled", "W", "SP", "unsafe"),
    "TDR107": ("accumulation-tail-dropped", "W", "SP", "-"),
    "TDR108": ("clip-misplaced", "E", "SP", "unsafe"),
    "TDR109": ("amp-order", "E", "SP", "unsafe"),
    "TDR110": ("scheduler-before-optimizer", "E", "SP", "unsafe"),
    "TDR111": ("method-not-called", "E", "SP", "safe"),
    "TDR112": ("update-in-evaluation", "E", "SP", "-"),
    "TDR113": ("training-under-no-grad", "E", "SP", "-"),
    "TDR114": ("optimizer-misses-parameters", "E", "SP", "-"),
    "TDR115": ("loss-cut-from-graph", "E", "SP", "-"),
    "TDR116": ("non-scalar-backward", "E", "SP", "-"),
    "TDR117": ("requires-grad-typo", "E", "SP", "safe"),
    "TDR118": ("parameter-without-gradient", "E", "P", "-"),
    "TDR119": ("parameter-never-updated", "E", "SP", "-"),
    "TDR120": ("non-finite-value", "E", "P", "-"),
    "TDR121": ("exploding-or-vanishing-gradient", "W", "P", "-"),
    "TDR122": ("optimizer-rebuilt-in-loop", "W", "SP", "-"),
    "TDR123": ("scheduler-interval", "E", "SP", "-"),
    "TDR124": ("custom-backward-wrong", "E", "SP", "-"),
    "TDR125": ("frozen-part-changes", "W", "SP", "-"),
    "TDR126": ("adapter-wiring", "E", "SP", "-"),
    "TDR127": ("loss-term-without-gradient", "E", "SP", "-"),
    "TDR129": ("copy-is-the-model", "E", "SP", "unsafe"),
    "TDR130": ("freezing-undone", "E", "SP", "-"),
    "TDR128": ("accumulation-cadence", "E", "SP", "-"),
    "TDR131": ("result-discarded", "E", "SP", "unsafe"),
    "TDR132": ("scheduler-never-stepped", "W", "SP", "-"),
    "TDR133": ("target-not-detached", "E", "SP", "unsafe"),
    "TDR201": ("softmax-before-cross-entropy", "E", "SP", "unsafe"),
    "TDR202": ("log-softmax-before-cross-entropy", "W", "SP", "safe"),
    "TDR209": ("loss-module-given-tensors", "E", "SP", "safe"),
    "TDR215": ("loss-module-overwritten", "E", "SP", "safe"),
    "TDR216": ("reduction-over-batch", "E", "SP", "unsafe"),
    "TDR217": ("loss-on-padding", "E", "SP", "unsafe"),
    "TDR218": ("labels-not-shifted", "E", "SP", "-"),
    "TDR203": ("nll-without-log-softmax", "E", "SP", "unsafe"),
    "TDR204": ("sigmoid-before-bce-with-logits", "E", "SP", "unsafe"),
    "TDR205": ("bce-on-logits", "E", "SP", "unsafe"),
    "TDR206": ("mse-on-class-labels", "E", "SP", "-"),
    "TDR207": ("target-dtype", "E", "SP", "-"),
    "TDR208": ("loss-arguments-swapped", "E", "SP", "unsafe"),
    "TDR214": ("silent-broadcast", "E", "SP", "unsafe"),
    "TDR220": ("softmax-axis", "E", "SP", "unsafe"),
    "TDR219": ("infinite-derivative", "E", "SP", "unsafe"),
    "TDR221": ("reduced-to-one-number", "E", "SP", "-"),
    "TDR213": ("softmax-over-one-output", "E", "SP", "-"),
    "TDR210": ("unstable-log", "W", "SP", "unsafe"),
    "TDR211": ("kl-div-not-log", "E", "SP", "unsafe"),
    "TDR212": ("softmax-without-dim", "W", "S", "unsafe"),
    "TDR301": ("modules-in-plain-container", "E", "SP", "safe"),
    "TDR302": ("missing-super-init", "E", "SP", "safe"),
    "TDR303": ("unregistered-tensor", "W", "SP", "unsafe"),
    "TDR304": ("layer-built-in-forward", "E", "SP", "-"),
    "TDR305": ("forward-called-directly", "W", "SP", "safe"),
    "TDR306": ("dropout-ignores-mode", "E", "SP", "safe"),
    "TDR307": ("parameter-not-a-leaf", "E", "SP", "unsafe"),
    "TDR308": ("parameters-in-plain-container", "E", "SP", "safe"),
    "TDR309": ("zero-initialised-weights", "E", "SP", "-"),
    "TDR310": ("layer-never-used", "W", "SP", "-"),
    "TDR311": ("shared-layer-object", "E", "SP", "unsafe"),
    "TDR315": ("rows-mixed", "E", "SP", "-"),
    "TDR317": ("reshaped-across-axes", "E", "SP", "-"),
    "TDR318": ("sequence-axis", "E", "SP", "unsafe"),
    "TDR319": ("future-leak", "E", "SP", "-"),
    "TDR321": ("mask-inverted", "E", "SP", "unsafe"),
    "TDR320": ("linear-on-linear", "W", "SP", "-"),
    "TDR316": ("input-ignored", "W", "SP", "-"),
    "TDR312": ("dead-units", "W", "P", "-"),
    "TDR313": ("constant-output", "E", "P", "-"),
    "TDR314": ("train-method-overridden", "E", "SP", "-"),
    "TDR401": ("missing-eval-mode", "E", "SP", "unsafe"),
    "TDR402": ("missing-no-grad", "W", "SP", "unsafe"),
    "TDR403": ("train-mode-not-restored", "E", "SP", "unsafe"),
    "TDR406": ("evaluation-not-repeatable", "E", "P", "-"),
    "TDR404": ("no-grad-for-serving", "A", "S", "unsafe"),
    "TDR405": ("mean-of-batch-means", "W", "SP", "-"),
    "TDR407": ("accumulator-not-reset", "W", "SP", "-"),
    "TDR408": ("score-of-last-batch", "E", "SP", "-"),
    "TDR409": ("metric-shape", "E", "SP", "unsafe"),
    "TDR410": ("mean-divided-by-rows", "W", "SP", "unsafe"),
    "TDR411": ("metric-counts-padding", "E", "SP", "unsafe"),
    "TDR412": ("metric-out-of-range", "E", "SP", "-"),
    "TDR413": ("best-kept-wrong-way", "E", "SP", "unsafe"),
    "TDR414": ("selected-on-test", "A", "S", "-"),
    "TDR415": ("average-not-restored", "E", "SP", "-"),
    "TDR416": ("averaged-batch-norm-stale", "E", "SP", "-"),
    "TDR501": ("loss-accumulated-with-graph", "E", "SP", "safe"),
    "TDR502": ("graph-kept-in-container", "E", "SP", "safe"),
    "TDR503": ("retain-graph-in-loop", "W", "SP", "unsafe"),
    "TDR504": ("hidden-state-not-detached", "E", "SP", "unsafe"),
    "TDR505": ("raw-tensor-logged", "W", "SP", "safe"),
    "TDR506": ("memory-grows-per-step", "E", "P", "-"),
    "TDR601": ("whole-model-saved", "W", "SP", "unsafe"),
    "TDR602": ("state-dict-alias", "E", "SP", "safe"),
    "TDR603": ("unsafe-load", "W", "S", "unsafe"),
    "TDR604": ("load-without-map-location", "A", "S", "unsafe"),
    "TDR605": ("resume-without-optimizer", "W", "SP", "-"),
    "TDR606": ("load-result-misused", "E", "SP", "safe"),
    "TDR607": ("mode-unset-after-load", "E", "SP", "unsafe"),
    "TDR608": ("checkpoint-round-trip", "E", "P", "-"),
    "TDR609": ("load-refuses-objects", "E", "SP", "unsafe"),
    "TDR610": ("checkpoint-folder-missing", "W", "P", "unsafe"),
    "TDR701": ("train-loader-not-shuffled", "W", "SP", "unsafe"),
    "TDR702": ("eval-loader-shuffled", "A", "S", "safe"),
    "TDR703": ("loader-starves-device", "A", "SP", "unsafe"),
    "TDR704": ("worker-seeds-identical", "W", "SP", "-"),
    "TDR705": ("dataset-on-device", "W", "SP", "-"),
    "TDR706": ("augmented-evaluation", "E", "SP", "-"),
    "TDR707": ("fitted-before-split", "E", "S", "-"),
    "TDR708": ("train-data-evaluated", "E", "SP", "-"),
    "TDR709": ("shared-numpy-memory", "W", "SP", "-"),
    "TDR710": ("sampler-epoch-not-set", "E", "SP", "unsafe"),
    "TDR711": ("raw-pixels", "W", "SP", "-"),
    "TDR715": ("input-scale", "W", "P", "-"),
    "TDR712": ("eval-drops-last", "W", "SP", "safe"),
    "TDR713": ("transforms-differ", "E", "SP", "-"),
    "TDR714": ("padding-unmasked", "W", "SP", "-"),
    "TDR716": ("channel-order", "W", "SP", "-"),
    "TDR717": ("labels-differ", "E", "SP", "-"),
    "TDR718": ("split-shares-data", "W", "SP", "-"),
    "TDR801": ("cpu-tensor-in-forward", "E", "SP", "unsafe"),
    "TDR802": ("batch-on-other-device", "E", "SP", "-"),
    "TDR804": ("optimizer-before-move", "A", "SP", "unsafe"),
    "TDR809": ("every-rank-writes", "W", "SP", "unsafe"),
    "TDR810": ("device-parity", "E", "P", "-"),
    "TDR811": ("ddp-wrapper-bypassed", "E", "SP", "unsafe"),
    "TDR812": ("moved-after-wrap", "E", "SP", "unsafe"),
    "TDR814": ("process-group-without-wrapper", "E", "SP", "-"),
    "TDR815": ("batch-norm-not-synchronised", "A", "S", "unsafe"),
    "TDR816": ("unused-parameter-under-ddp", "E", "SP", "-"),
    "TDR817": ("ranks-share-device", "E", "S", "unsafe"),
    "TDR805": ("fp16-without-scaler", "E", "SP", "-"),
    "TDR806": ("backward-in-autocast", "W", "SP", "safe"),
    "TDR808": ("timing-without-synchronize", "W", "S", "unsafe"),
    "TDR807": ("outdated-api", "W", "S", "safe"),
    "TDR813": ("legacy-style", "A", "S", "safe"),
    "TDR818": ("cuda-tensor-to-numpy", "E", "SP", "safe"),
    "TDR803": ("move-result-discarded", "E", "SP", "safe"),
}
PROCESSES = {"init_process_group", "num_workers"}
"""What examples have that start processes or threads: a fork of this process would inherit its locks."""
SUBSTITUTED = {"TDR703", "TDR713", "TDR716", "TDR812", "TDR905"}
"""Rules whose scripts need a GPU or a download: only the probe, which substitutes both, runs them (`probe/test_pages.py`)."""
SECTIONS = [
    "Why is this bad?",
    "Example",
    "Use instead",
    "How the probe confirms it",
    "When it is not reported",
    "References",
]
FIX_SAFETY = "Fix safety"
"""What may stand after "Use instead", where there is a fix: what it changes, and when it is not what was meant."""
BAD, OK = 2, 3  # fixtures at least

RULES = {rule.code: rule for rule in all_rules()}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


def test_the_rules_are_those_of_the_catalogue() -> None:
    here = {
        code: (rule.name, rule.level.value, rule.witness, rule.fix.value)
        for code, rule in RULES.items()
        if type(rule).__module__.startswith("torch_doctor_rules.")
    }
    assert here == CATALOGUE


@every_rule
def test_a_rules_module_is_called_like_the_rule(rule: Rule) -> None:
    module = type(rule).__module__.rpartition(".")[2]
    assert module.replace("_", "-") == rule.name


@every_rule
def test_a_page_has_its_sections_in_order(rule: Rule) -> None:
    found = re.findall(r"^## (.*)$", rule.page(), flags=re.MULTILINE)
    if FIX_SAFETY in found:
        assert rule.fix is not Fix.NONE
        assert found.index(FIX_SAFETY) == found.index("Use instead") + 1
        found.remove(FIX_SAFETY)
    assert found == SECTIONS
    for text in re.split(r"^## .*$", rule.page(), flags=re.MULTILINE):
        assert text.strip()


@every_rule
def test_a_page_begins_with_one_sentence(rule: Rule) -> None:
    first, second = rule.page().splitlines()[:2]
    assert first.endswith(".")
    assert second == ""
    assert rule.summary()


@every_rule
def test_the_example_fires_exactly_this_rule(rule: Rule, folder: Path) -> None:
    assert found(rule, examples.example(rule.page()), folder) == ([rule.code] if "S" in rule.witness else [])


@every_rule
def test_what_to_use_instead_fires_nothing(rule: Rule, folder: Path) -> None:
    assert found(rule, examples.instead(rule.page()), folder) == []


@pytest.mark.parametrize(
    "rule", [rule for code, rule in RULES.items() if code not in SUBSTITUTED], ids=lambda rule: rule.code
)
def test_what_to_use_instead_runs(
    rule: Rule, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    script = written(examples.instead(rule.page()), folder)
    if PROCESSES & set(re.findall(r"\w+", script.read_text())):
        farming.ran(request.getfixturevalue("farm_address"), script)
    else:
        monkeypatch.syspath_prepend(folder)
        runpy.run_path(str(script), run_name="__main__")


@every_rule
def test_a_rule_has_fixtures_that_are_wrong_and_near_misses(rule: Rule) -> None:
    names = [entry.name for entry in (ROOT / "fixtures" / rule.code).iterdir()]
    assert sum(name.startswith("bad_") and ".fixed" not in name for name in names) >= BAD
    assert sum(name.startswith("ok_") for name in names) >= OK


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if rule.fix is not Fix.NONE], ids=lambda rule: rule.code
)
def test_what_can_be_mended_has_a_mended_fixture(rule: Rule) -> None:
    assert any(".fixed" in entry.name for entry in (ROOT / "fixtures" / rule.code).iterdir())


def written(script: str, folder: Path) -> Path:
    """Write a script to a file, and return its path."""
    path = folder / "train.py"
    path.write_text(script, encoding="utf-8")
    return path


def found(rule: Rule, script: str, folder: Path) -> list[str]:
    """Return the code of each finding that the default rules and the rule itself report on a script."""
    written(script, folder)
    report = scan(Options(paths=(folder,), rules=rules_for(rule.code)))
    assert report.errors == []
    return [finding.code for finding in report.findings]

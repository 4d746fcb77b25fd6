"""Every fixture is run under the probe, once: it confirms what is marked, and nothing else.

What the marks say is told in `tests/marks.py`.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections import defaultdict
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
import torch
from msgspec.structs import replace

from tests import reports, sweep
from tests.marks import Place, files_of, fixtures, marks, name_of, rules_for, scripts_of
from tests.probe.evidence import contradictions
from torch_doctor import probe as probing
from torch_doctor.probe import Judgement, Outcome, Ways, judge
from torch_doctor.probe.plan import foreseen
from torch_doctor.probe.protocol import Reader
from torch_doctor.probing import Probing
from torch_doctor.rule import Finding, Verdict, all_rules
from torch_doctor.scan import Follower, Options, Report, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.records.records import Records
    from torch_doctor.probe.following import Attention
    from torch_doctor.probe.launch import Launched, Limits
    from torch_doctor.rule import Rule
    from torch_doctor.trace import Site, Trace

SECONDS = 60.0
PROBE = probing.probe
PROBED = fixtures()
WITNESSES = {rule.code: rule.witness for rule in all_rules()}


class Scanned(Follower):
    """Keeps what the source of a fixture says for the test that asks for no more."""

    def __init__(self, fixture: Path) -> None:
        self._fixture = fixture

    def found(self, report: Report) -> None:
        """The report is complete, but for what the runs say."""
        if self._fixture.is_file():  # of a folder, the files that are imported are not named here
            reports.keep(self._fixture, report)


class Probed(NamedTuple):
    """What came of the probes of one fixture.

    `runs` are the lines of the agent, `folder` what their paths are in. `ways` are those on which the source comes to its
    findings, `expected` what it says goes backward; `placed` gives the place that users see of one in what was run.
    """

    findings: list[Finding]
    said: list[str]
    runs: list[list[bytes]]
    folder: Path
    ways: Ways
    expected: frozenset[Site]
    placed: Callable[[Site], Site]


def probe(fixture: Path, records: Records) -> Probed:
    """Scans and runs a copy of the fixture that lies alone, as a user's project would."""
    rules = rules_for(fixture.parent.name)
    with tempfile.TemporaryDirectory() as alone:
        copy = Path(alone).resolve() / fixture.name
        if fixture.is_dir():
            shutil.copytree(fixture, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(fixture, copy)
        runs: list[list[bytes]] = []
        asked: list[probing.Names] = []
        judged: list[Ways] = []
        expected: set[Site] = set()

        def heard(
            request: probing.Request,
            rules: Sequence[Rule],
            traces: Sequence[Trace],
            names: probing.Names,
            attention: Attention,
        ) -> Outcome:
            asked.append(names)
            expected.update(foreseen(traces))
            return PROBE(request, rules, traces, names, attention)

        def told(findings: Sequence[Finding], trace: Trace, rules: Sequence[Rule], ways: Ways) -> Judgement:
            judged.append(ways)
            return judge(findings, trace, rules, ways)

        def listened(python: Path, plan: dict[str, object], limits: Limits, attention: Attention) -> Launched:
            done = records.launched(python, plan, limits, attention)
            # Of a run that believes in a GPU only places of tensors are taken; one of the loop alone has its own tests.
            if not plan.get("pretend") and not plan.get("alone"):
                runs.append(done.lines)
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(copy.parent)
            patch.setattr(probing, "launched", listened)
            patch.setattr(probing, "probe", heard)
            patch.setattr(probing, "judge", told)
            known = frozenset(name for rule in all_rules() for name in (rule.code, rule.name))
            how = Probing(seconds=SECONDS)
            options = Options(paths=tuple(scripts_of(copy)), rules=rules, known=known, probe=how)
            report = scan(options, Scanned(fixture))
        placed = asked[-1].placed if asked else _as_it_is
        ways = judged[-1] if judged else Ways()
        left = set(map(str, report.incomplete))  # of the scan: what it does not follow is no fault of the script
        said = report.errors + [each for each in report.warnings if each not in left]
        return Probed(report.findings, said, runs, copy.parent, ways, frozenset(expected), placed)


def _as_it_is(site: Site) -> Site:
    return site


OPEN: frozenset[str] = frozenset()
"""Known to be wrong; one that comes right fails until it is taken out here."""

CUTS = 16 if sweep.WHOLE else 6
"""Beginnings of a run that are judged, where the script is wrong."""

ENDS_EARLY = {
    "TDR101/ok_kept_by_a_base_out_of_sight.py": "'Inherited' object has no attribute 'after_step'",
    "TDR104/ok_two_engines.py": "No module named 'deepspeed'",
    "TDR106/ok_divided_by_an_accelerator.py": "does not require grad",
    "TDR126/ok_peft.py": "'Tensor' object has no attribute 'logits'",  # of what stands in for transformers
    "TDR207/ok_range_only_a_run_knows.py": "IndexError: Target 5 is out of bounds",
    "TDR217/ok_labels_of_tokenizer_masked.py": "list indices must be integers or slices",
    "TDR217/ok_scores_of_pretrained_alone.py": "list indices must be integers or slices",
    "TDR218/ok_moved_by_hand.py": "'Tensor' object has no attribute 'logits'",
    "TDR218/ok_moved_by_joining.py": "grad can be implicitly created only for scalar outputs",
    "TDR218/ok_pretrained_shifts.py": "'Tensor' object has no attribute 'loss'",
    "TDR302/ok_data_module.py": "No module named 'lightning'",
    "TDR215/ok_a_class_called_by_its_own_name.py": "No module named 'lightning'",
    "TDR412/ok_gathered_for_metrics.py": "len() of a 0-d tensor",
    "TDR410/bad_lengths_swapped_in_fine_tuning.py": "data that could not be read does not fit",
    "TDR401/ok_spread_in_a_context_out_of_sight.py": "expected a non-empty list of Tensors",
    "TDR401/ok_uncertainty_from_dropout.py": "expected a non-empty list of Tensors",
    "TDR402/ok_deepspeed_engine.py": "No module named 'deepspeed'",
    "TDR502/bad_gan_logs.fixed.py": "KeyError: 10",  # it reads what a pass writes that the probe leaves out
    "TDR701/ok_order_of_a_phase_out_of_sight.py": "training mode is expected to be boolean",
    "TDR707/ok_each_sample_alone.py": "values that could not be read have no `backward`",
    "TDR707/ok_fitted_on_training_rows.py": "values that could not be read have no `backward`",
    "TDR708/ok_hub_split_before.py": "default_collate: batch must contain",
    "TDR708/ok_hub_training_score.py": "default_collate: batch must contain",
    "TDR716/ok_from_scratch.py": "data that could not be read does not fit",
    "TDR713/ok_fitted_for_each_model.py": "values that could not be read have no `parameters`",
    "TDR713/ok_fitted_in_folds.py": "data that could not be read does not fit",
    "TDR718/ok_patients_split_first.py": "No such data: 'the rows of sklearn.model_selection.GroupKFold.split'",
    "TDR815/bad_sharded.fixed.py": "FSDP needs a non-CPU accelerator device",
    "TDR713/ok_tokenizers_with_the_same_words.py": "list indices must be integers or slices",
    "whole/lightning_clean.py": "No module named 'pytorch_lightning'",
}


WITHOUT = "install torchvision to run this"
"""What a fixture says that ends where torchvision is absent, as on the machines of CI; its marks are for that end."""

FAILS = {"whole/accelerate_clean.py": "NestedTensorCPU"}
"""Instruments that are known to fail, by what they say: the fast path of an encoder gives nested tensors."""


@pytest.mark.usefixtures("farm")
@pytest.mark.parametrize(
    "fixture",
    [
        pytest.param(fixture, marks=[pytest.mark.xfail(raises=AssertionError)] * (name_of(fixture) in OPEN))
        for fixture in PROBED
    ],
    ids=map(name_of, PROBED),
)
def test_the_run_confirms_what_is_marked_and_nothing_else(fixture: Path, records: Records) -> None:
    probed = probe(fixture, records)
    wrong = [*_numbers_missing(probed), *chain(*map(contradictions, probed.findings))]
    wrong += [*_wrong_in_shorter_runs(fixture, probed), *_ending(fixture, probed), *_failed(fixture, probed)]
    visible = torch.cuda.is_available() or all(kind != "gpu" for kind, _ in marks(fixture))
    ends = any(WITHOUT in path.read_text(encoding="utf-8", errors="replace") for path in files_of(fixture))
    visible = visible and not (ends and find_spec("torchvision"))
    if visible:
        wrong += _marks_not_met(fixture, probed)
    assert not wrong, "\n".join([*wrong, "", "found:", *map(_told, probed.findings), "said:", *probed.said])
    if not visible:
        pytest.skip("only a machine with a GPU, or one without torchvision, shows its verdicts")


def _marks_not_met(fixture: Path, probed: Probed) -> Iterator[str]:
    verdicts: dict[Place, set[Verdict | None]] = defaultdict(set)
    for finding in probed.findings:
        site = finding.site
        verdicts[Place(site.path, site.cell or 0, site.row, finding.code)].add(finding.verdict)
    marked: set[Place] = set()
    for kind, place in marks(fixture):
        marked.add(place)
        given = verdicts.get(place, set())
        if kind == "todo-ok":
            if Verdict.CONFIRMED in given:
                yield f"{place} is right, and confirmed"
        elif kind != "todo" and given != {_meant(kind, place)}:
            yield f"{place} is marked {kind!r}, and its verdicts are {_named(given)}"
    for place, given in sorted(verdicts.items()):
        if place not in marked and given - {Verdict.REFUTED}:
            yield f"{place} is not marked, and its verdicts are {_named(given)}"


def _numbers_missing(probed: Probed) -> Iterator[str]:
    """Verdicts without the number, or the reason, that they come with."""
    for finding in probed.findings:
        numbers = [evidence.value for evidence in finding.evidence if evidence.value is not None]
        if finding.verdict in {Verdict.CONFIRMED, Verdict.REFUTED} and not numbers:
            yield f"no number is given: {_told(finding)}"
        elif finding.verdict is Verdict.UNDECIDED and not finding.evidence:
            yield f"the reason is not said: {_told(finding)}"


def _wrong_in_shorter_runs(fixture: Path, probed: Probed) -> Iterator[str]:
    """A run that ends earlier, wherever that is, refutes no bug, and confirms nothing that is right."""
    told = [(kind, place) for kind, place in marks(fixture) if kind not in {"todo", "todo-ok"}]
    marked = {place for _, place in told}
    bugs = {place for kind, place in told if kind in {"", "not-reached", "undecided"}}
    if not fixture.name.startswith("bad_") or ".fixed" in fixture.name:
        bugs = set()
    suspected = [finding for finding in probed.findings if finding.witness == "static"]
    cuts = CUTS if bugs else CUTS // 3
    for done, trace in _shorter(fixture, probed, cuts):
        judged = judge(suspected, trace, rules_for(fixture.parent.name), probed.ways)
        for finding in (*judged.judged, *judged.new):
            site = finding.site
            place = Place(site.path, site.cell or 0, site.row, finding.code)
            if finding.verdict is Verdict.REFUTED and place in bugs:
                yield f"refuted after {done} lines: {_told(finding)}"
            elif finding.verdict is Verdict.CONFIRMED and place not in marked:
                yield f"confirmed after {done} lines: {_told(finding)}"


def _shorter(fixture: Path, probed: Probed, cuts: int) -> Iterator[tuple[str, Trace]]:
    """What runs saw that ended after so many of the lines that the agent wrote, the shortest first.

    They are spread over the whole run, and end elsewhere in each fixture.
    """
    shift = zlib.crc32(fixture.name.encode()) / 2**32
    for lines in probed.runs:
        reader = Reader(fixture.name, lambda path: Path(path).relative_to(probed.folder).as_posix(), probed.placed)
        reader.run.foreseen = probed.expected
        read = 0
        for cut in sorted({round(len(lines) * (number + shift) / cuts) for number in range(cuts)} - {0}):
            trace = replace(reader.read(lines[read:cut]), _views={})  # what rules work out is of this beginning alone
            read = cut
            yield f"{cut} of {len(lines)}", trace


def _failed(fixture: Path, probed: Probed) -> Iterator[str]:
    """Instruments that failed, whatever the verdicts of such a run are."""
    known = FAILS.get(name_of(fixture), "\n")
    said = (line.decode() for lines in probed.runs for line in lines if b"an instrument failed" in line)
    yield from (each for each in said if known not in each)


def _ending(fixture: Path, probed: Probed) -> Iterator[str]:
    """A right script comes to its end, except where it needs what is not installed."""
    if fixture.name.startswith("bad_") and ".fixed" not in fixture.name:
        return
    said = "\n".join(probed.said)
    if why := ENDS_EARLY.get(name_of(fixture)):
        if why not in said:
            yield f"it did not end with {why!r}"
    elif said and fixture.parent.name != "TDR000":
        yield "a right script has an error or a warning"


def _named(verdicts: set[Verdict | None]) -> list[str]:
    return sorted(verdict.value if verdict else "none" for verdict in verdicts)


def _meant(kind: str, place: Place) -> Verdict | None:
    if "P" not in WITNESSES[place.code]:
        return None
    return Verdict.CONFIRMED if kind in ("", "probe", "gpu") else Verdict(kind)


def _told(finding: Finding) -> str:
    verdict = finding.verdict.value if finding.verdict else "no verdict"
    why = "; ".join(evidence.claim for evidence in finding.evidence)
    return f"{finding.site} {finding.code} by the {finding.witness}: {verdict}{f' ({why})' if why else ''}"

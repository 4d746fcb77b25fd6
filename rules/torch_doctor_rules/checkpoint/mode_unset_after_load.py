"""TDR607: a model that is loaded for inference and left in training mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Insert
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Escaped, Forward, Loaded, ModeSet, ModuleBuilt, OptimizerBuilt, Source, Trace
from torch_doctor_rules.evaluation.missing_eval_mode import MissingEvalMode
from torch_doctor_rules.judging.evidence import at
from torch_doctor_rules.judging.forward_evidence import answers
from torch_doctor_rules.judging.frozen_parts import changed_norms
from torch_doctor_rules.judging.passes import Passes
from torch_doctor_rules.judging.precedence import uncalled
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import is_path, message, named, sentence

if TYPE_CHECKING:
    from collections.abc import Iterator


class ModeUnsetAfterLoad(Rule):
    """Trained weights are loaded for inference, but `eval()` is never called.

    ## Why is this bad?
    New modules are in training mode, and `load_state_dict` does not change that. Dropout still drops activations, so the
    same input gives a different output each time. Batch norm normalizes with the statistics of the current batch and
    overwrites the running statistics that were loaded.

    ## Example
    ```python
    weights = copy.deepcopy(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)).state_dict())
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    model.load_state_dict(weights)
    sample = torch.tensor([[0.3, 1.2, 0.7, 0.1]])
    print(model(sample).argmax(1).item())
    ```

    ## Use instead
    ```diff
     model.load_state_dict(weights)
    +model.eval()
     sample = torch.tensor([[0.3, 1.2, 0.7, 0.1]])
    -print(model(sample).argmax(1).item())
    +with torch.no_grad():
    +    print(model(sample).argmax(1).item())
    ```

    ## How the probe confirms it
    The loaded model is called while dropout or batch norm layers are in training mode, and it is never trained. A copy of
    the model gives two different outputs for the same input. If a library loads the weights while it creates the model,
    that call counts as the load.

    ## When it is not reported
    - If the model is trained, is passed to code that is not analyzed, or has its mode set anywhere after the load.
    - If `backward()` may be called on its output.
    - For models without dropout or batch norm, even if the mode changes how many outputs they return, and for a `forward`
      that does not use these layers.
    - For forward passes on random input.
    - For batch norm of a frozen teacher (TDR125), and for passes over evaluation data (TDR401).

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html#save-load-state-dict-recommended
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
    """

    code = "TDR607"
    name = "mode-unset-after-load"
    level = Level.ERROR
    witness = "SP"
    needs_end = True
    shown_by = "forward pass of the model that is loaded here"
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.OUTPUTS})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every load into a model that runs in training mode, unless another rule reports the forward."""
        passes = trace.view(Passes)
        found = [(load, wrong) for load in trace.of(Loaded) if (wrong := _answers(passes, load))]
        reported = {each.site for each in MissingEvalMode().check(trace)} if found else set()
        if found:  # TDR125 reports these
            reported |= {each.site for each, _, _ in changed_norms(trace)}
        yield from first_per_site(
            self._report(load, wrong[0]) for load, wrong in found if not any(each.site in reported for each in wrong)
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the loaded model was called, always in evaluation mode."""
        passes = trace.view(Passes)
        for load in at(trace, finding.site, Loaded):
            if forwards := _forwards(passes, load):
                return all(each.training is False or each.sensitive is False for each in forwards)
        return False

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield both outputs for the same input, and how many forwards ran in training mode."""
        passes = trace.view(Passes)
        for load in at(trace, finding.site, Loaded):
            if forwards := _forwards(passes, load):
                yield from answers(trace, forwards, "in training mode", lambda event: event.training)
                return

    def _report(self, load: Loaded, forward: Forward) -> Finding:
        name = named(load.name, "the model")
        text = "`{name}` is loaded but never set to eval mode: dropout and batch norm distort its outputs"
        return self.finding(
            load.site,
            message(text, name=name),
            help=sentence("call `{name}.eval()` after loading the weights", name=name),
            trail=[Step(forward.site, "the model runs in training mode here")],
            edits=[Insert(load.site, f"{name}.eval()", after=True)] if is_path(name) else [],
        )


def _forwards(passes: Passes, load: Loaded) -> list[Forward]:
    """The calls of the module, or of a part of it, after the load; one where a class stands is no call in the script."""
    parts = passes.family.within((load.module,)) if load.module else frozenset()
    built = {each.site for each in passes.trace.of(ModuleBuilt)}
    return [
        each
        for each in passes.trace.of(Forward)
        if each.module in parts
        and each.index > load.index
        and each.site not in built
        and passes.trace.together(load, each)
    ]


def _answers(passes: Passes, load: Loaded) -> list[Forward]:
    """The forwards of a load that are surely inference in training mode; none where anything else may be meant."""
    trace = passes.trace
    forwards = _forwards(passes, load)
    wrong = [each for each in forwards if each.used and each.inputs.source is not Source.NOISE]
    copies = load.only and bool(load.states)  # of another model of the script, as a target network does
    if copies or not wrong or not all(each.sensitive is True and each.training is True for each in wrong):
        return []
    module = (load.module,)
    switched = any(
        passes.family.related((each.module,), module) for each in trace.of(ModeSet) if each.index > load.index
    )
    owned = any(passes.family.related(each.modules, module) for each in trace.of(OptimizerBuilt))
    unseen = any(passes.family.related(each.modules, module) for each in trace.of(Escaped) if each.index > load.index)
    if switched or owned or unseen or any(passes.goes_backward(each) or passes.training_of(each) for each in wrong):
        return []
    return [] if uncalled(trace, "eval", {load.module}, passes.family, (None, None)) else wrong

"""TDR601: a checkpoint that pickles the model's class by reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Loaded, ModuleBuilt, Saved, Trace
from torch_doctor_rules.judging.causes import models
from torch_doctor_rules.judging.checkpoint_files import is_read_whole
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class WholeModelSaved(Rule):
    """`torch.save` pickles the model object and not its state.

    ## Why is this bad?
    A pickled module holds its class by reference: the file cannot be read once the class is renamed, moved or changed,
    or where the project is not importable. Since torch 2.6 `torch.load` refuses such files unless `weights_only=False`
    allows them to run any code.

    ## Example
    ```python
    import tempfile
    from pathlib import Path

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    torch.save(model, Path(tempfile.mkdtemp()) / "model.pt")
    ```

    ## Use instead
    ```python
    import tempfile
    from pathlib import Path

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    torch.save(model.state_dict(), Path(tempfile.mkdtemp()) / "model.pt")
    ```

    ## Fix safety
    The fix saves the `state_dict()`. Where a script of the project may read the file and take the model from it,
    nothing is changed; a reader elsewhere has to build the model and load the state.

    ## How the probe confirms it
    The argument of `torch.save` is, or contains, a module.

    ## When it is not reported
    For state dicts, also in variables and attributes, for tensors and settings, for a buffer in memory that
    the same program reads (a copy), and where it is not known what is saved. The first save of one model in a file stands for
    the others.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#saving-and-loading-torch-nn-modules
    - https://docs.pytorch.org/docs/stable/generated/torch.save.html
    """

    code = "TDR601"
    name = "whole-model-saved"
    level = Level.WARNING
    witness = "SP"
    needs_end = True
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.STATE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every save of something that is or holds a module."""
        built = {event.module: event for event in trace.of(ModuleBuilt)}
        copied = {event.buffer for event in trace.of(Loaded) if event.buffer}
        whole = (event for event in trace.of(Saved) if event.modules and event.buffer not in copied)
        for saved in first_per_site(whole):
            key = next(iter(saved.names), "")
            kept = saved.names.count("") > 1 or is_read_whole(
                trace, saved
            )  # what reads it would have to be changed with it
            where = " under `{key}`" if key else ""
            yield self.finding(
                saved.site,
                message(
                    "`{what}` is saved with the model object" + where + ": a changed class makes it unreadable",
                    what=saved.what,
                    key=key,
                ),
                help="save the model's `state_dict()`",
                trail=[
                    Step(built[module].site, f"the {built[module].class_name.rpartition('.')[2]} is built here")
                    for module in saved.modules
                    if module in built
                ],
                cause=models(trace, saved.modules, saved),
                edits=[]
                if kept
                else [Wrap(saved.site, "{}.state_dict()", argument=0, key=name) for name in saved.names],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Whether the save ran, and there was no module in what it wrote."""
        return bool(at(trace, finding.site, Saved))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """What was written."""
        built = {event.module: event for event in trace.of(ModuleBuilt)}
        for saved in at(trace, finding.site, Saved)[:1]:
            classes = {built[module].class_name.rpartition(".")[2] for module in saved.modules if module in built}
            what = f" ({', '.join(sorted(classes))})" if classes else ""
            yield fact(f"the file holds {count(len(saved.modules), 'module')}{what}", len(saved.modules), "modules")

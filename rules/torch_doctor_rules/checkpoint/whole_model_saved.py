"""TDR601: a checkpoint that pickles the model object."""

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
    """`torch.save` pickles the model object instead of its `state_dict()`.

    ## Why is this bad?
    A pickled module refers to its class by name. The file can no longer be loaded after the class is renamed, moved or
    changed, or where the project cannot be imported. Since torch 2.6, `torch.load` rejects such files unless you pass
    `weights_only=False`, which lets them run arbitrary code.

    ## Example
    ```python
    from pathlib import Path

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    torch.save(model, Path(tempfile.mkdtemp()) / "model.pt")
    ```

    ## Use instead
    ```diff
     model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    -torch.save(model, Path(tempfile.mkdtemp()) / "model.pt")
    +torch.save(model.state_dict(), Path(tempfile.mkdtemp()) / "model.pt")
    ```

    ## Fix safety
    The fix saves the `state_dict()` instead. It is not offered if a script of the project may load the model object from
    the file. Code outside the project that reads the file has to create the model and load the state into it.

    ## How the probe confirms it
    At run time, the argument of `torch.save` is a module or contains one.

    ## When it is not reported
    - For state dicts, also in variables and attributes, and for tensors and settings.
    - For a buffer in memory that the same program loads again, which is a way to copy a model.
    - If it is unknown what is saved.
    - For all saves of a model in a file except the first.
    - If TDR609 reports a load of the file: it fails already.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#saving-and-loading-torch-nn-modules
    - https://docs.pytorch.org/docs/stable/generated/torch.save.html
    """

    code = "TDR601"
    name = "whole-model-saved"
    level = Level.WARNING
    witness = "SP"
    needs_end = True
    step_of = frozenset(("TDR609",))
    fix = Fix.UNSAFE
    fix_changes = frozenset({Figure.STATE})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every save of a module, or of an object that contains one."""
        built = {event.module: event for event in trace.of(ModuleBuilt)}
        copied = {event.buffer for event in trace.of(Loaded) if event.buffer}
        whole = (event for event in trace.of(Saved) if event.modules and event.buffer not in copied)
        for saved in first_per_site(whole):
            key = next(iter(saved.names), "")
            kept = saved.names.count("") > 1 or is_read_whole(
                trace, saved
            )  # the code that loads it would have to change, too
            where = " under `{key}`" if key else ""
            yield self.finding(
                saved.site,
                message(
                    "saving `{what}` pickles the model object" + where + ": loading fails if its class changes",
                    what=saved.what,
                    key=key,
                ),
                help="save the model's `state_dict()` instead",
                trail=[
                    Step(built[module].site, f"`{built[module].class_name.rpartition('.')[2]}` is created here")
                    for module in saved.modules
                    if module in built
                ],
                cause=models(trace, saved.modules, saved),
                edits=[]
                if kept
                else [Wrap(saved.site, "{}.state_dict()", argument=0, key=name) for name in saved.names],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the save ran; without a finding, it contained no module."""
        return bool(at(trace, finding.site, Saved))

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many modules the file contains."""
        built = {event.module: event for event in trace.of(ModuleBuilt)}
        for saved in at(trace, finding.site, Saved)[:1]:
            classes = {built[module].class_name.rpartition(".")[2] for module in saved.modules if module in built}
            what = f" ({', '.join(sorted(classes))})" if classes else ""
            yield fact(f"the file contains {count(len(saved.modules), 'module')}{what}", len(saved.modules), "modules")

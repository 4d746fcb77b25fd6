"""TDR605: a checkpoint for resuming, without the state of the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Rule, Step, same_place
from torch_doctor.trace import Loaded, Saved, Trace
from torch_doctor_rules.checkpoint.resume_without_optimizer.trainers import all_kept, is_resumed, left_out, trainer_of
from torch_doctor_rules.judging.causes import place
from torch_doctor_rules.judging.evidence import at, count, fact
from torch_doctor_rules.judging.subjects import CHECKPOINTS
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = ("optimizer", "scheduler", "scaler")
"""What has a state besides the model."""
PROGRESS = "epoch"
"""What the key of a checkpoint's progress is called: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html"""


class ResumeWithoutOptimizer(Rule):
    """A checkpoint for resuming lacks the state of the optimizer, the scheduler or the gradient scaler.

    ## Why is this bad?
    A checkpoint that stores the epoch, or that the training loop goes on from, is meant for resuming. Adam, and SGD with
    momentum, maintain running averages for every parameter. If only the weights are restored, these start at zero: the
    first steps are too large or point in the wrong direction, and the loss jumps. A scheduler restarts with the learning
    rate of the first epoch, and a gradient scaler has to find its scale again.

    ## Example
    ```python
    optimizer = torch.optim.Adam(model.parameters())
    folder = tempfile.mkdtemp()
    for epoch in range(3):
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x[:, :1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.save({"epoch": epoch, "model": model.state_dict()}, f"{folder}/last.pt")
    ```

    ## Use instead
    ```diff
         optimizer.step()
    -    torch.save({"epoch": epoch, "model": model.state_dict()}, f"{folder}/last.pt")
    +    state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    +    torch.save(state, f"{folder}/last.pt")
    ```

    ## How the probe confirms it
    A saved file contains the epoch and the weights of a model that is trained by an optimizer with state, and no saved file
    contains the missing state.

    ## When it is not reported
    - For files that contain only weights, unless the same loop goes on from them, or from a file of a `--resume` option.
    - For a best state that is loaded only for evaluation, after training has finished, and in scripts that do not train.
    - For optimizers without state (plain SGD), and for those that are created again in every epoch.
    - For schedulers that get their position explicitly, by `last_epoch=` or at every step.
    - If any file that the script saves contains the state.
    - For files with the epoch if another trained model of the script is in none of them, such as the discriminator of a
      saved generator: training cannot be resumed from them.
    - If it is unknown what is saved.

    Files that one loop saves are reported once.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    - https://docs.pytorch.org/docs/stable/optim.html#adjusting-optimizer-state
    """

    code = "TDR605"
    name = "resume-without-optimizer"
    level = Level.WARNING
    witness = "SP"
    voided_by = frozenset({"rates"})
    subject = CHECKPOINTS
    needs_end = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for saves of a trained model and its epoch if no file contains the remaining state."""
        found = (
            (saved, trainer_of(trace, saved))
            for saved in trace.of(Saved)
            if ((_progress(saved) and all_kept(trace)) or is_resumed(trace, saved)) and trace.went_on(saved)
        )
        known = {each.optimizer: (saved, each) for saved, each in reversed([*found]) if each is not None}
        for saved, optimizer in known.values():
            left = dict(left_out(trace, optimizer))
            if not left:
                continue
            own = {"optimizer": optimizer.name} if optimizer.name else {}
            name = optimizer.name or optimizer.class_name.rpartition(".")[2]
            words = ["`{name}`" if "optimizer" in left else "", "its scheduler", "the scaler"]
            what = " and ".join(word for word, part in zip(words, PARTS, strict=True) if part in left)
            what = what if "optimizer" in left else what.replace("its scheduler", "the scheduler of `{name}`")
            yield self.finding(
                saved.site,
                message(f"the checkpoint lacks the state of {what}: resuming starts without it", name=name),
                help="add "
                + " and ".join(
                    f'`"{part.rpartition(".")[2]}": {part}.state_dict()`' for part in (own.get(p, p) for p in left)
                )
                + ", and load the state when training resumes",
                trail=[Step(site, f"the {part} that is left out is created here") for part, site in left.items()],
                cause=place(next((scope.site for scope in saved.scope.iterations()[-1:]), saved.site)),
            )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether the save ran, and the missing state was saved after all or is not needed."""
        saved = at(trace, finding.site, Saved)
        if not saved:
            return False  # another script that was run may save the state of its own optimizer
        has = any(self._has(each, finding) for each in trace.of(Saved))
        return has or "no checkpoint with a trained model and its epoch was saved"

    def speaks_alone(self, trace: Trace, finding: Finding) -> bool:
        """Whether training went on from a file, which another run may only test, and no loop around the save was left early.

        Another file, with the state, may come in a later pass.
        """
        left = trace.run.capped if trace.run is not None else {}
        return any(event.module and not event.pretrained for event in trace.of(Loaded)) and not any(
            same_place(scope.site, loop)
            for saved in at(trace, finding.site, Saved)
            for scope in saved.scope.iterations()
            for loop in left
        )

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield the keys that the file contains."""
        having = [saved for saved in trace.of(Saved) if self._has(saved, finding)]
        for saved in having[:1] or at(trace, finding.site, Saved)[:1]:
            left = [part for part in self._left(finding) if part not in self._has(saved, finding)]
            held = f"but no state of the {' or the '.join(left)}" if left else "including the state in question"
            keys = count(len(saved.keys), "key")
            yield fact(
                f"the file contains {keys} ({', '.join(saved.keys[:6])}), {held}", len(saved.keys), "keys", saved
            )

    def _left(self, finding: Finding) -> list[str]:
        """Return the parts whose state the finding reports as missing."""
        return [part for part in PARTS if any(f"the {part} " in step.note for step in finding.trail)]

    def _has(self, saved: Saved, finding: Finding) -> list[str]:
        """Return those of the missing parts whose state is in a file."""
        return [part for part in self._left(finding) if getattr(saved, part)]


def _progress(saved: Saved) -> bool:
    return not saved.buffer and any(PROGRESS in key.lower() for key in saved.keys)

"""TDR603: a checkpoint is unpickled without limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor_rules.judging.checkpoint_files import read
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Loaded, Trace, Version

SAFE_BY_DEFAULT: Version = (2, 6)
"""Since this version `weights_only` is true unless something else is asked for."""


class UnsafeLoad(Rule):
    """`torch.load` unpickles whatever the file holds, and can run code from it.

    ## Why is this bad?
    A checkpoint is a pickle, and a pickle can call any function while it is read: whoever made the file runs code on the
    machine that loads it. With `weights_only=True` only tensors and plain containers are read. It is the default since
    torch 2.6, so that a file with other objects no longer loads there either.

    ## Example
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    torch.save({"model": model.state_dict()}, "model.pt")
    state = torch.load("model.pt")
    model.load_state_dict(state["model"])
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    torch.save({"model": model.state_dict()}, "model.pt")
    state = torch.load("model.pt", weights_only=True)
    model.load_state_dict(state["model"])
    ```

    ## How the probe confirms it
    It does not: what somebody may put into the file is not to be seen in a run.

    ## When it stays silent
    Where every torch that the project allows (`pyproject.toml`, requirements, environment or lock file, or `torch-version`
    in the configuration) is 2.6 or newer and nothing else is asked for, when the argument is a variable, and for what the
    script itself wrote into memory.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only
    """

    code = "TDR603"
    name = "unsafe-load"
    level = Level.WARNING
    witness = "S"
    fix = Fix.UNSAFE

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every file that is read without limits."""
        for loaded in read(trace):
            if loaded.weights_only is False:
                text = "`weights_only=False` unpickles whatever `{name}` holds: it can run code"
            elif loaded.by_default and trace.torch().oldest < SAFE_BY_DEFAULT:
                text = "`torch.load` of `{name}` without `weights_only=True`: before torch 2.6 it can run code"
            else:
                continue
            yield self.finding(loaded.site, message(text, name=loaded.name), help=self._help(loaded))

    def _help(self, loaded: Loaded) -> str:
        return "set `weights_only=True`" if loaded.weights_only is False else "add `weights_only=True`"

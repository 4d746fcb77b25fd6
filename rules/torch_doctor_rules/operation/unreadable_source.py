"""TDR000: a file that Python cannot parse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Finding, Level, Rule
from torch_doctor.trace import Trace, Unreadable
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnreadableSource(Rule):
    """The file, or one cell of a notebook, is not valid Python.

    ## Why is this bad?
    Nothing in it was checked, so the absence of findings means nothing. Other files, and other cells of the notebook, are
    still checked. The rule also reports a notebook that is not valid JSON, for example one that is truncated or contains
    merge conflict markers.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1
    print(model(torch.randn(2, 4)))
    ```

    ## Use instead
    ```diff
     torch.manual_seed(0)
    -model = nn.Linear(4, 1
    +model = nn.Linear(4, 1)
     print(model(torch.randn(2, 4)))
    ```

    ## How the probe confirms it
    It does not: Python cannot run a file that it cannot parse.

    ## When it is not reported
    - For IPython magics and shell commands in notebooks.
    - For files that do not mention torch. A truncated notebook is reported anyway, because it may have mentioned torch.
    - For templates (`{{ cookiecutter.name }}/train.py`).
    - For all invalid cells of a notebook except the first.
    - For files that are valid for an older Python, in a project that has several: the finding for the first one counts the
      others.

    ## References
    - https://docs.python.org/3/reference/grammar.html
    """

    code = "TDR000"
    name = "unreadable-source"
    level = Level.ERROR
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield the first syntax error of each file and each notebook."""
        told = set()
        for event in sorted(trace.of(Unreadable), key=lambda event: (event.site.cell or 0, event.site.row)):
            if event.site.path in told:
                continue
            told.add(event.site.path)
            remedy = "fix the syntax, or exclude the file"
            if event.site.cell is not None:
                what = "the cell is not valid Python"
            elif event.site.path.endswith(".ipynb"):
                what, remedy = "the notebook cannot be read", "fix the file, or exclude it"
            else:
                what = "the file is not valid Python"
            checked = "" if event.older else " and was not checked"
            if event.older:
                remedy = "port it to Python 3, or exclude the file; the rest of the file was checked"
            yield self.finding(
                event.site,
                message(what + checked + ": {reason}", reason=event.reason),
                help=remedy,
                cause="an older Python" if event.older else "",
                wide=event.older,
            )

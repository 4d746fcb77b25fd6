"""TDR001: a comment that suppresses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Comment, Figure
from torch_doctor.rule import Finding, Fix, Level, Rule
from torch_doctor.trace import SuppressionUnused, Trace
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnusedSuppression(Rule):
    """A suppression comment names a rule that reports nothing there, or one that does not exist.

    ## Why is this bad?
    The code has changed since the comment was written, or the comment is on the wrong line or misspelled. It suggests a
    problem where there is none, and if the bug comes back, the comment hides it.

    ## Example
    ```python
    for _ in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # noqa: TDR101
        optimizer.step()
    ```

    ## Use instead
    ```diff
         optimizer.zero_grad()
    -    loss.backward()  # noqa: TDR101
    +    loss.backward()
         optimizer.step()
    ```

    ## Fix safety
    The fix removes the codes and names that suppress nothing. If none is left, it also removes the reason that follows
    them. It is safe, because comments do not affect the script. An unknown name that looks like a misspelled rule name is
    left for you to correct.

    ## How the probe confirms it
    It does not: comments do not exist at run time. With `--probe`, a comment that suppresses a finding of the probe run also
    counts as used.

    ## When it is not reported
    - For comments that suppress all rules (`# noqa`, `# torch-doctor: ignore-file`), and for codes of other tools.
    - For rules that were not checked in the file because they are not selected or are ignored for it, and for rules that
      only the probe can check.
    - In files that are not valid Python.
    - With `--ignore-noqa` or `--shard`, or if the scan could not check everything.
    - Without `--probe`, for rules that the probe checks as well, if the script passes values to code that is not analyzed:
      a probe run may find what the source does not show.

    ## References
    - https://docs.python.org/3/reference/lexical_analysis.html#comments
    """

    code = "TDR001"
    name = "unused-suppression"
    level = Level.WARNING
    witness = "S"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every comment that names a rule without a finding there, or an unknown rule."""
        for event in trace.of(SuppressionUnused):
            near = next((near for _, near in event.unknown if near), "")
            names = event.names or tuple(name for name, _ in event.unknown)
            places = {f"name_{number}": name for number, name in enumerate(names)}
            listed = ", ".join(f"`{{{name}}}`" for name in places)
            where = "in this file" if event.whole_file else "here"
            text = f"unused suppression: {listed} report{'s' * (len(names) == 1)} nothing {where}"
            if not event.names:
                text = f"unused suppression: there is no rule {' or '.join(listed.split(', '))}"
            yield self.finding(
                event.site,
                message(text, **places),
                help=f"write `{near}`" if near else "remove the name" if event.instead else "remove the comment",
                edits=[] if event.instead is None else [Comment(event.site, event.instead)],
            )

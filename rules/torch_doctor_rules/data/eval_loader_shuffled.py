"""TDR702: the evaluation loader is shuffled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Keyword
from torch_doctor.rule import Finding, Fix, Level, Rule, Step
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import Trace


class EvalLoaderShuffled(Rule):
    """The validation or test loader is shuffled, so predictions are not in the order of the dataset.

    ## Why is this bad?
    The score is the same in any order. But predictions are no longer in the order of the samples, so they cannot be matched
    with file names or ids. Averages over batches differ slightly from run to run, and shuffling consumes random numbers of
    the generator that training uses.

    ## Example
    ```python
    for x, y in DataLoader(TensorDataset(torch.randn(96, 4), torch.randn(96, 1)), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    test_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=16, shuffle=True)
    with torch.no_grad():
        for x, y in test_loader:
            print(nn.functional.mse_loss(model(x), y).item())
    ```

    ## Use instead
    ```diff
         optimizer.step()
    -test_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=16, shuffle=True)
    +test_loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randn(40, 1)), batch_size=16)
     with torch.no_grad():
    ```

    ## How the probe confirms it
    It does not: the order is visible in the source, so there is nothing to measure.

    ## When it is not reported
    - If the loader is also used for training.
    - With a sampler, or if `shuffle` is a variable.
    - If it is unknown what happens to the batches.

    ## References
    - https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """

    code = "TDR702"
    name = "eval-loader-shuffled"
    level = Level.ADVICE
    witness = "S"
    fix = Fix.SAFE
    fix_changes = frozenset({Figure.BATCHES})

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every loader that is only evaluated and is shuffled."""
        loaders = trace.view(Loaders)
        for loader, forward in loaders.evaluating():
            if loader.shuffle is True and loader.explicit and loader.sampled is False:
                yield self.finding(
                    loader.site,
                    message(
                        "evaluation loader `{name}` is shuffled: predictions are not in the order of the dataset",
                        name=loaders.name_where_built(loader),
                    ),
                    help="set `shuffle=False` for evaluation",
                    trail=[Step(forward.site, "its batches are evaluated here: no `backward()` follows")],
                    edits=[Keyword(loader.site, "shuffle", otherwise="False")],
                )

"""TDR505: a logger that expects numbers receives tensors with their graphs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from torch_doctor.edits import Figure, Wrap
from torch_doctor.rule import Evidence, Finding, Fix, Level, Rule, Step
from torch_doctor.trace import Logged, Retention, Trace, claims
from torch_doctor_rules.judging.evidence import at, count, counted, fact
from torch_doctor_rules.judging.retained_graphs import retained
from torch_doctor_rules.judging.sites import first_per_site
from torch_doctor_rules.judging.wording import message, named, with_method

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = claims.LOGGED_WITHOUT_GRAPH
GROWN = 4  # calls after which a sum that keeps its graphs is told as such


class RawTensorLogged(Rule):
    """A logger that expects numbers receives the loss tensor with its graph.

    ## Why is this bad?
    A progress bar converts non-numbers to text and shows `tensor(0.6931, grad_fn=<MeanBackward0>)`. MLflow's metrics
    must be floats. A meter that sums up its inputs accumulates graphs, and memory grows with every batch.

    ## Example
    ```python
    from tqdm import tqdm

    for epoch in range(2):
        bar = tqdm(loader)
        for x, y in bar:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=loss)
    ```

    ## Use instead
    ```diff
             optimizer.step()
    -        bar.set_postfix(loss=loss)
    +        bar.set_postfix(loss=loss.item())
    ```

    ## How the probe confirms it
    The argument of the call is a tensor with a graph. A number, or a tensor without a graph, refutes the finding.

    ## When it is not reported
    - The values are numbers or detached, or were computed under `no_grad`.
    - The logger accepts tensors with one element (wandb, TensorBoard).
    - The value is formatted (`f"{loss:.4f}"`).
    - TDR501 or TDR502 reports the sum or list where it is stored.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TDR505"
    name = "raw-tensor-logged"
    level = Level.WARNING
    witness = "SP"
    fix = Fix.SAFE
    fix_changes = frozenset[Figure]()

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Every argument with a graph of a sink that keeps it, or needs a number."""
        raw = [event for event in trace.of(Logged) if event.value.graph is True and (event.keeps or event.needs_number)]
        reported = {kept.site for kept in retained(trace, *Retention)} if raw else set()
        often = Counter(event.site for event in raw)
        broke_off = trace.run is not None and trace.run.end.how not in ("end", "exit")
        for event in first_per_site(raw):
            if broke_off and often[event.site] < GROWN:
                continue  # a sum that grows would be told where it does, and has not shown yet that it is one
            if any(kept.site in reported for kept in trace.at(*event.value.retained)):
                continue
            value = named(event.value.name, "a tensor")
            number = "{}.item()" if event.value.scalar or event.needs_number else "{}.detach()"
            does = "retains it" if event.keeps else "expects a number"
            begins = [forward.site for forward in trace.at(*sorted(event.value.graph_forwards)[-1:])]
            yield self.finding(
                event.site,
                message("`{value}` is passed with its graph to `{sink}`, which " + does, value=value, sink=event.name),
                help=with_method("log the number", value),
                trail=[Step(site, "the graph is created here") for site in begins],
                edits=[Wrap(event.site, number, expected=event.value.name)] if event.value.name else [],
            )

    def reached(self, trace: Trace, finding: Finding) -> bool:
        """Whether numbers were logged there, or tensors without a graph."""
        return bool(counted(trace, finding.site, PLAIN)) and not at(trace, finding.site, Logged)

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """How often a graph was logged there."""
        raw = at(trace, finding.site, Logged)
        if raw:
            yield fact(f"logged with its graph in {count(len(raw), 'call')}", len(raw), "calls", raw[0])
        else:
            often = counted(trace, finding.site, PLAIN)
            yield fact(f"logged {count(often, 'time')}, never with a graph", often, "times")

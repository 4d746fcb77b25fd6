"""TDR717: classes have other numbers in evaluation than in training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.rule import Evidence, Finding, Level, Step, same_place
from torch_doctor_rules.data.labels_differ.numberings import compared_names, differences, numberings, place
from torch_doctor_rules.judging.comparison import Comparison, pairs
from torch_doctor_rules.judging.evidence import fact
from torch_doctor_rules.judging.loaders import Loaders
from torch_doctor_rules.judging.wording import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_doctor.trace import LabelsCompared, LoaderBuilt, PreparerBuilt, Trace
    from torch_doctor_rules.data.labels_differ.numberings import Numbering

_ANEW = "`{name}` numbers the classes again: the same number means another class than in training"
_TEXT = "`{name}` does not number classes as in training, where their names are sorted as text"
_LOOK = "look the number up in the map of classes that training uses"
UNSEEN = "a run does not show how the classes are numbered"
_ONCE = "number the classes once, from the training samples or a sorted list, and use this for evaluation, too"


class LabelsDiffer(Comparison):
    """Evaluation numbers the classes in another order than training, so the score is meaningless.

    ## Why is this bad?
    A model predicts numbers of classes. If training and evaluation assign these numbers separately, from the order in which
    their samples have the classes or from how often they have them, number 2 is one class in training and another one in
    evaluation. No error is raised. The accuracy is as low as by chance, or lower.

    The same happens if names that are numbers are sorted as text, as `ImageFolder` does: "10" comes before "2", so the number
    of the class is not the number in its name.

    ## Example
    ```python
    from collections import Counter

    def numbered(words):
        index = {word: number for number, (word, _) in enumerate(Counter(words).most_common())}
        return torch.tensor([index[word] for word in words])

    train_set = TensorDataset(torch.randn(40, 8), numbered(["pear"] * 25 + ["plum"] * 15))
    test_set = TensorDataset(torch.randn(20, 8), numbered(["plum"] * 12 + ["pear"] * 8))
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(train_set, batch_size=10, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in DataLoader(test_set, batch_size=10):
            print((model(x).argmax(dim=1) == y).float().mean().item())
    ```

    ## Use instead
    ```diff
     def numbered(words):
    -    index = {word: number for number, (word, _) in enumerate(Counter(words).most_common())}
    +    index = {"pear": 0, "plum": 1}
         return torch.tensor([index[word] for word in words])
    ```

    ## How the probe confirms it
    If both datasets have an attribute that maps names of classes to numbers, the probe compares the maps. If all names have
    the same number in both, the finding is refuted. Otherwise a run does not show how classes are numbered.

    ## When it is not reported
    - If the names are sorted before they are numbered: training and evaluation then have the same numbers, unless one of
      them lacks a class.
    - If the samples may have the same order of classes in both parts, as those that are listed folder by folder.
    - If one map or encoder is fitted on the training samples and used for both.
    - If it is unknown how the numbers are assigned, or which names there are.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    - https://scikit-learn.org/stable/common_pitfalls.html#inconsistent-preprocessing
    """

    code = "TDR717"
    name = "labels-differ"
    level = Level.ERROR
    witness = "SP"
    only_confirms = True

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for every second numbering of classes, or for two maps that differ in a run."""
        if trace.observed:
            for evaluated, _, trained, _ in pairs(trace):
                if differences(trace, evaluated, trained):
                    yield self.finding(evaluated.site, "its classes have other numbers than in training", help=_ONCE)
        else:
            yield from super().check(trace)

    def compared(self, trace: Trace) -> Iterator[tuple[int, Finding]]:
        """Yield a finding for every second numbering of classes, with its loader, and for numbers that are not looked up."""
        for found in numberings(trace):
            yield found.evaluated.loader, self._report(found)
        for compared in compared_names(trace):
            yield 0, self._by_name(*compared)

    def _report(self, found: Numbering) -> Finding:
        return self.finding(
            place(found.theirs, found.ours),
            message(_ANEW, name=found.theirs.name),
            help=_ONCE,
            trail=[
                Step(found.evaluated.site, "this loader is used for evaluation"),
                Step(found.trained.site, "this loader is used for training"),
                Step(place(found.ours, found.theirs), "the classes are numbered for training here"),
            ],
        )

    def _by_name(self, compared: LabelsCompared, trained: LoaderBuilt, ours: PreparerBuilt) -> Finding:
        return self.finding(
            compared.site,
            message(_TEXT, name=compared.name),
            help=_LOOK,
            trail=[
                Step(trained.site, "this loader is used for training"),
                Step(ours.site, "the names of the classes are here"),
            ],
        )

    def reached(self, trace: Trace, finding: Finding) -> bool | str:
        """Return whether both datasets have a map of classes, with the same numbers."""
        if finding.help == _LOOK:
            return UNSEEN
        for evaluated, trained in self._seen(trace, finding):
            return True if differences(trace, evaluated, trained) is not None else UNSEEN
        return False

    def same(self, finding: Finding, seen: Finding) -> bool:
        """Return whether both are about one loader."""
        return any(same_place(step.site, seen.site) for step in finding.trail[:1])

    def evidence(self, trace: Trace, finding: Finding) -> Iterator[Evidence]:
        """Yield how many classes have another number."""
        for evaluated, trained in self._seen(trace, finding):
            others, dataset = differences(trace, evaluated, trained), trace.view(Loaders).dataset(evaluated)
            if others is not None and dataset is not None:
                yield fact(f"{others} classes have another number than in training", others, "classes", dataset)
                return

    @staticmethod
    def _seen(trace: Trace, finding: Finding) -> Iterator[tuple[LoaderBuilt, LoaderBuilt]]:
        sites = [step.site for step in finding.trail[:2]] or [finding.site]
        for evaluated, _, trained, _ in pairs(trace):
            if same_place(evaluated.site, sites[0]) and (len(sites) == 1 or same_place(trained.site, sites[1])):
                yield evaluated, trained

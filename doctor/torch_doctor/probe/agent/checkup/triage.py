"""Which stage of a step has the first value that is not finite: batch, input, layer, loss, gradient or parameter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..instruments.copies import copied
from ..instruments.parts import tensors
from ..instruments.update.births import born_in_forward
from .batches import broken, leaves, rows
from .sampling import samples
from .telling import count, fact

if TYPE_CHECKING:
    from .plays import Seen
    from .stage import Stage


class Search:
    """The batches of the steps, in their order (None: the one that was caught), and the sample that they are from."""

    def __init__(self, stage: Stage) -> None:
        found = samples(stage, stage.left * 0.2)
        self.sample = found[0] if found and found[0].loader is stage.loader else None
        self.batches: list[Any] = self.sample.batches if self.sample is not None else [None]
        spoilt = {id(each) for each in self.batches if is_spoilt(each)}
        self.spoilt = len(spoilt)
        self.batches = sorted(self.batches, key=lambda each: id(each) not in spoilt)

    def batch(self, step: int) -> Any:
        """The batch of a step, counted from 0."""
        return self.batches[step % len(self.batches)]


def is_spoilt(batch: Any) -> bool:
    """Return whether a batch has values that are not finite, masks aside."""
    return any(broken(leaf) for _, leaf in leaves(batch)) if batch is not None else False


def kind_of(tensors_: list[Any]) -> str:
    """What is in tensors that are not finite: NaN, infinity, or both."""
    held = [each.detach() for each in tensors_ if each.is_floating_point()]
    found = {"NaN": any(each.isnan().any() for each in held), "infinity": any(each.isinf().any() for each in held)}
    return " and ".join(name for name, there in found.items() if there)


def _of_the_batch(stage: Stage, search: Search, step: int) -> tuple[str, list[dict[str, Any]]] | None:
    """The first part of the batch of a step with such values: what they are, how many, and in which samples."""
    batch = search.batch(step)
    batch = stage.batch if batch is None else batch
    for path, leaf in leaves(batch) if batch is not None else ():
        many = broken(leaf)
        if not many:
            continue
        found = [fact("stage", "batch"), fact("part of the batch", path), fact("values", kind_of([leaf]))]
        found.append(fact("values that are not finite", many, f"of {leaf.numel():,}", expected="0"))
        said = f"{kind_of([leaf])} in `{path}` of the batch ({many:,} of {leaf.numel():,} values"
        if leaf.dim() and leaf.shape[0] == rows(batch):
            own = (~leaf.detach().isfinite()).reshape(leaf.shape[0], -1).any(1).nonzero().flatten().tolist()
            found.append(fact("samples of the batch with such values", len(own)))
            index = _index(search, batch, own[0])
            if index is not None:
                found.append(fact("first such sample of the dataset", index))
            said += f" in {count(len(own), 'sample')}" + (
                "" if index is None else f", first in sample {index} of the dataset"
            )
        return f"{said})", found
    return None


def _index(search: Search, batch: Any, row: int) -> int | None:
    """The index in the dataset of a row of a batch."""
    if search.sample is None:
        return None
    place = next((place for place, each in enumerate(search.sample.batches) if each is batch), None)
    return None if place is None else search.sample.index(place, row)


def first_of(stage: Stage, search: Search, step: int, seen: Seen) -> tuple[str, list[dict[str, Any]], str] | None:
    """The first stage with such a value: batch, input, activation, loss, gradient; None where it is the update."""
    spoilt = _of_the_batch(stage, search, step)
    if spoilt is not None:
        return *spoilt, ""
    for call in seen.models:
        given = [each for each in tensors((call.given, call.keywords)) if broken(each)]
        if given:
            return (
                f"{kind_of(given)} in the input of the model",
                [fact("stage", "input"), fact("values", kind_of(given))],
                "",
            )
        layer = _layer(stage, call)
        if layer is not None:
            name, facts = layer
            kind = "nan" if "NaN" in kind_of(tensors(call.result)) else "inf"
            born = born_in_forward(stage.watch, call.called, call.given, call.keywords, kind)
            return (
                f"the output of `{name}`",
                [fact("stage", "activation"), fact("layer", name), *facts],
                _place(stage, born.site),
            )
    for score in seen.scores:
        if _any_bad(score.result):
            given = [
                each for each in tensors((score.given, score.keywords)) if each.is_floating_point() and each.numel()
            ]
            facts = [fact("largest input of the loss", float(each.detach().abs().max())) for each in given]
            return f"`{score.called}`", [fact("stage", "loss"), *facts], ""
    if any(not math.isfinite(each) for each in seen.losses):
        return "the loss", [fact("stage", "loss")], ""
    names = bad_gradients(seen)
    if names:
        return (
            f"the gradient of `{names[-1]}`",
            [fact("stage", "gradient"), fact("layers with a non-finite gradient", len(names))],
            "",
        )
    return None


def updated(parameter: str) -> tuple[str, list[dict[str, Any]], str]:
    """The first value is in what the optimizer step made of a parameter."""
    return f"the parameter {parameter} after the optimizer step", [fact("stage", "parameter")], ""


def _born(output: Any, given: Any) -> bool:
    """Whether an output has values that are not finite and do not come from what was given, as negative infinity of a mask does."""
    if any(map(broken, tensors(given))):
        return False
    masked = _any_bad(given)
    return any(
        not_finite(each.nan_to_num(nan=math.nan, posinf=math.inf) if masked else each) for each in tensors(output)
    )


def _any_bad(value: Any) -> bool:
    return any(not_finite(each) for each in tensors(value))


def _layer(stage: Stage, call: Any) -> tuple[str, list[dict[str, Any]]] | None:
    """The first part of a model whose output is not finite although what it is given is, with what that was."""
    if not _any_bad(call.result):
        return None
    found: list[tuple[str, list[dict[str, Any]]]] = []
    torch = stage.torch
    with torch.no_grad():
        own = copied(stage.watch, call.called)

        def look(name: str, given: Any, output: Any) -> None:
            if not found and _born(output, given):
                numbers = [
                    each.detach().float() for each in tensors(given) if each.is_floating_point() and each.numel()
                ]
                facts = [
                    fact(label, float(value), group=f"input of {name}")
                    for each in numbers[:1]
                    for label, value in (("least", each.min()), ("largest", each.max()), ("mean", each.mean()))
                ]
                found.append((name, facts))

        for name, part in own.named_modules():
            if name and not list(part.children()):
                part.register_forward_hook(lambda _, given, output, name=name: look(name, given, output))
        own(*call.given, **call.keywords)
    return found[0] if found else (type(call.called).__name__, [])


def _place(stage: Stage, site: int | None) -> str:
    if site is None:
        return ""
    span = stage.recorder.span(site)
    return f"{span.path}:{span.row}"


def bad_gradients(seen: Seen) -> list[str]:
    """Return the names of the parameters whose gradients are not finite."""
    return [
        name for name, (gradient, _, _) in seen.layers.items() if gradient is not None and not math.isfinite(gradient)
    ]


def not_finite(tensor: Any) -> bool:
    """Return whether a tensor of numbers has NaN or infinity in it."""
    if not tensor.is_floating_point() or tensor.is_sparse or not tensor.numel():
        return False
    return not math.isfinite(float(tensor.detach().float().sum())) and not bool(tensor.detach().isfinite().all())

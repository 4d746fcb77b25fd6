"""The page of pictures: the first batches of training and validation as the model gets them, and how their values are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import tokens
from .analysis import class_names
from .batches import is_dense, leaves
from .decoding import decoder
from .histograms import histograms, numbers, spread_values
from .pictures import is_image, is_spectrogram, is_wave, pictured, series, table, waves
from .telling import count, listed, number, plot

if TYPE_CHECKING:
    from .roles import Roles
    from .sampling import Sample
    from .stage import Stage

TEXTS = 8  # samples that are shown as text
TABLES = 2  # dimensions of a table
MASKS = 3  # dimensions of masks
PARTS = 4  # of a batch that are shown


def sheet(stage: Stage, known: Roles, training: Sample, other: Sample | None) -> list[dict[str, Any]]:
    """The figures of both sets: their inputs, then the numbers that are to be predicted.

    Inputs are those parts of a batch that a model was given. Where the script changes the batch before the model gets it, what
    the model was given in the first update is shown as well.
    """
    sets = [training] if other is None else [training, other]
    plots: list[dict[str, Any]] = []
    given = _changed(known) if training.loader is not None else None
    if given is not None:
        own = [leaf for path, leaf in known.parts if path in known.targets]
        plots += _of_part(stage, "the model's input", [(training, given)], known, _captions(training, own[:1], known))
    for path in [each for each in training.parts if each in known.inputs or not known.inputs][:PARTS]:
        views = [(each, each.parts[path][0]) for each in sets if _usable(each.parts.get(path))]
        plots += _of_part(stage, path, views, known)
    for path in known.targets:
        views = [(each, each.parts[path][0]) for each in sets if _usable(each.parts.get(path))]
        plots += _masks(stage.torch, path, views)
    if training.batches:
        texts = [text for text in _texts(training.batches[0]) if text]
        if texts:
            plots.append(plot("Text in a batch", "texts", f"the first {count(len(texts), 'text')}", texts=texts))
    for path in known.targets if known.task == "numbers" else []:
        columns = numbers(stage.torch, sets, path)
        plots += histograms(stage.torch, f"Targets in {path}", columns, [each.name for each in sets])
    return plots


def _masks(torch: Any, path: str, views: list[tuple[Sample, Any]]) -> list[dict[str, Any]]:
    """The targets of each set as pictures, where every point of a sample has one; [] where they are none."""
    drawn = []
    for sample, target in views:
        own = target.unsqueeze(1) if target.dim() == MASKS else target
        drawn.append(pictured(torch, path, own.float(), [], sample.name) if is_image(own) else None)
    return [each for each in drawn if each is not None]


def _usable(tensors: list[Any] | None) -> bool:
    return bool(tensors) and is_dense(tensors[0]) and not tensors[0].is_complex() and tensors[0].numel() > 0  # type: ignore[index]


def _changed(known: Roles) -> Any:
    """What the last model was given, where it is no part of the batch, but as many samples as it; None where it is.

    It may have other dimensions if it is pictures or matrices: spectrograms of waves, say.
    """
    batch = [leaf for path, leaf in known.parts if path in known.inputs and leaf.dim()]
    calls = known.seen.models[-1:]
    given = [each for call in calls for _, each in leaves(list(call.given)) if each.dim()]
    if not batch or not given or batch[0].is_floating_point() != given[0].is_floating_point():
        return None
    one, other = given[0], batch[0]
    if one.shape == other.shape and bool((one == other.to(one.device)).all()):
        return None
    if one.shape[0] != other.shape[0] or not is_dense(one) or one.requires_grad or not one.numel():
        return None
    return one.detach().cpu() if one.dim() == other.dim() or is_image(one) or is_spectrogram(one) else None


def _of_part(
    stage: Stage, path: str, views: list[tuple[Sample, Any]], known: Roles, labelled: list[str] | None = None
) -> list[dict[str, Any]]:
    """The figures of one part of a batch, of each set that has it; `labelled`: the labels of a batch of another order."""
    torch = stage.torch
    if not views:
        return []
    tensor, samples = views[0][1], [sample for sample, _ in views]
    alike = [(sample, each) for sample, each in views if each.dim() == tensor.dim()]
    captions = [
        _captions(sample, _labels(sample, known), known) if labelled is None else labelled for sample, _ in alike
    ]
    plots: list[dict[str, Any]] = []
    if is_image(tensor) or is_spectrogram(tensor):
        plots += [
            each
            for (sample, own), said in zip(alike, captions)
            if (each := pictured(torch, path, own, said, sample.name)) is not None
        ]
    elif is_wave(tensor) or (tensor.is_floating_point() and tensor.dim() == TABLES + 1):
        draw = waves if is_wave(tensor) else series
        plots.append(draw(path, [(sample.name, own, said) for (sample, own), said in zip(alike, captions)]))
    elif tokens.are_tokens(tensor):
        return _of_tokens(stage, path, alike)
    elif tensor.is_floating_point() and tensor.dim() == TABLES:
        plots.append(table(path, tensor, captions[0]))
    if tensor.is_floating_point() or tensor.dtype is torch.uint8:
        held = samples if path in samples[0].parts else []
        columns = numbers(torch, held, path) if tensor.dim() <= TABLES and not is_wave(tensor) else {}
        columns = columns or spread_values(torch, held or [tensor], path)
        plots += histograms(torch, f"Values of {path}", columns, [each.name for each in samples])
    return plots


def _of_tokens(stage: Stage, path: str, views: list[tuple[Sample, Any]]) -> list[dict[str, Any]]:
    """Texts of token ids of each set, and the lengths of all checked samples without their padding."""
    padding = tokens.padding(stage, [each for sample, _ in views for each in sample.parts.get(path, ())])
    plots = []
    for sample, own in views:
        decoded, texts = decoder(stage, sample), []
        for ids in own[:TEXTS].tolist():
            start, end = tokens.ends(ids, padding)
            left_out = len(ids) - (end - start)
            texts.append(decoded(ids[start:end]) + (f" … + {left_out} × padding {padding}" if left_out else ""))
        told = f"the first {count(len(texts), 'sample')} of {sample.name}, {own.shape[1]} tokens each with padding"
        plots.append(plot(f"Tokens in {path} of {sample.name}", "texts", told, texts=texts, beside=path))
    lengths = {sample.name: tokens.lengths(sample, path, padding) for sample, _ in views}
    if padding is None or not any(lengths.values()):
        return plots
    values = [stage.torch.tensor(own, dtype=stage.torch.double) for own in lengths.values()]
    shares = [
        f"{tokens.padded(sample, path, lengths[sample.name]):.0%} of the positions of {sample.name}"
        for sample, _ in views
    ]
    told = f"padding with {padding} fills {listed(shares)}"
    return [*plots, *histograms(stage.torch, f"Lengths in {path}", {"tokens of a sample": values}, list(lengths), told)]


def _labels(sample: Sample, known: Roles) -> list[Any]:
    """The targets of the first batch of a set."""
    return [each for path in known.targets for each in sample.parts.get(path, ())[:1]]


def _captions(sample: Sample, labels: list[Any], known: Roles) -> list[str]:
    """The label of each sample of a batch: the name of its class, or its number; [] where it has none."""
    if not labels or not labels[0].dim() or labels[0].numel() != labels[0].shape[0] or not is_dense(labels[0]):
        return []
    named = class_names(sample, known.classes)
    values = labels[0].reshape(-1).tolist()
    return [number(round(each, 3)) if isinstance(each, float) else named(int(each)) for each in values]


def _texts(batch: Any, deep: int = 3) -> list[str]:
    if isinstance(batch, str):
        return [batch[:300]]
    if not deep or leaves(batch, deep=0):
        return []
    if isinstance(batch, dict):
        return [text for value in list(batch.values()) for text in _texts(value, deep - 1)][:TEXTS]
    if isinstance(batch, (tuple, list)):
        return [text for value in batch[:64] for text in _texts(value, deep - 1)][:TEXTS]
    return []

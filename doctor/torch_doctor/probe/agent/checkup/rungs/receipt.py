"""What would be needed to make this run again, and whether the checkup left everything as it was."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..batches import leaves
from ..keeping import Chance
from ..loading import cores
from ..sampling import samples
from ..telling import count, fact, result

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from ..plays import Play, Seen
    from ..stage import Stage

LIBRARIES = (
    "torch",
    "numpy",
    "torchvision",
    "torchaudio",
    "transformers",
    "lightning",
    "pytorch_lightning",
    "accelerate",
    "timm",
)
PLAIN = (int, float, str, bool, type(None))
MOST = 60  # settings that are told
TRANSFORMS = ("transform", "transforms", "tfm", "augment")
"""What data sets call their transforms."""
FIRST_ROWS = 8
"""Rows of a dataset that are hashed."""
NOTED = ("lr", "weight_decay", "momentum", "betas", "eps", "nesterov", "amsgrad", "dampening")


def climb(stage: Stage) -> Generator[Play, Seen, dict[str, Any]]:
    """Collects versions, seeds, settings and hashes of the data; then compares everything with what was caught."""
    yield from ()
    differing = stage.start.differences()
    left = sum(differing.values())
    evidence = stage.catcher.seeding.facts()
    evidence.append(fact("PYTHONHASHSEED", os.environ.get("PYTHONHASHSEED")))
    evidence += _versions(stage) + _settings(stage) + _data(stage)
    for what, many in differing.items():
        evidence.append(fact(f"{what} not restored after the checkup", many, expected="0", group="restored"))
    if left:
        return result(
            "failed",
            f"{count(left, 'object')} of the script {'was' if left == 1 else 'were'} not restored after the checkup",
            evidence,
        )
    if not stage.catcher.caught:
        return result("shown", "the script reached no optimizer step, so nothing was repeated", evidence)
    points = stage.catcher.seeding.missing()
    told = "weights, optimizers and random generators are the same as before the checkup"
    return result("shown" if points else "passed", "; ".join([told, *points]), evidence)


def _versions(stage: Stage) -> list[dict[str, Any]]:
    torch = stage.torch
    found = [fact("Python", platform.python_version(), group="versions")]
    found += [
        fact(name, str(getattr(sys.modules[name], "__version__", "unknown")), group="versions")
        for name in LIBRARIES
        if name in sys.modules
    ]
    mps = getattr(torch.backends, "mps", None)
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
    return [
        *found,
        fact("machine", platform.machine(), group="hardware"),
        fact("system", platform.platform(), group="hardware"),
        fact(
            "cores",
            cores(),
            group="hardware",
        ),
        fact("GPU", gpu, group="hardware"),
        fact("MPS available", bool(mps is not None and mps.is_available()), group="hardware"),
        fact("CUDA version of torch", torch.version.cuda or "none", group="versions"),
        fact("deterministic algorithms", torch.are_deterministic_algorithms_enabled(), group="torch settings"),
        fact("threads", torch.get_num_threads(), group="torch settings"),
        fact("matrix multiplication precision", torch.get_float32_matmul_precision(), group="torch settings"),
    ]


def _settings(stage: Stage) -> list[dict[str, Any]]:
    """Optimizers, models and the script's own arguments."""
    found = [fact("arguments", " ".join(sys.argv[1:]), group="configuration")]
    for optimizer in stage.optimizers:
        group = optimizer.param_groups[0]
        told = ", ".join(f"{name}={group[name]}" for name in NOTED if name in group)
        found.append(fact("optimizer", f"{type(optimizer).__name__}({told})", group="configuration"))
    roles = stage.notes.get("roles")
    if roles is not None and roles.score is not None:
        found.append(fact("loss", roles.score.called, group="configuration"))
    model = stage.model
    if model is not None:
        parameters = sum(each.numel() for each in model.parameters())
        found.append(fact("model", f"{type(model).__name__}, {parameters:,} parameters", group="configuration"))
    for frame in reversed(stage.frames):
        for name, value in list(frame.f_locals.items()):
            if type(value).__name__ == "Namespace" and hasattr(value, "__dict__"):
                held = vars(value)
            elif name.lower() in {"config", "cfg", "hparams", "args", "params"} and isinstance(value, dict):
                held = value
            else:
                continue
            known = {each["label"] for each in found}
            settings = [
                (key, each) for key, each in held.items() if isinstance(each, PLAIN) and f"{name}.{key}" not in known
            ]
            found += [fact(f"{name}.{key}", each, group="configuration") for key, each in settings[:MOST]]
    return found


def _data(stage: Stage) -> list[dict[str, Any]]:
    """A hash of the first rows of each dataset, in its own order; of the first batch where rows have no numbers."""
    found = []
    for sample in samples(stage, stage.left * 0.5):
        dataset = getattr(sample.loader, "dataset", None)
        try:
            many = len(dataset) if dataset is not None else None
        except Exception:  # noqa: BLE001 - a length is the user's code
            many = None
        label, value = _first_rows(stage, dataset, many) or ("hash of its first batch", _digest(sample.batches[:1]))
        if "values" in stage.voided:
            label, value = "no hash: the samples are synthetic, as the data was not found", None
        group = f"data of {sample.name}"
        found += [
            fact("dataset", type(dataset).__name__, group=group),
            fact("rows", many, group=group),
            fact("batch size", getattr(sample.loader, "batch_size", None), group=group),
            fact("sampler", _sampler(sample.loader), group=group),
            fact("transforms", _transforms(dataset), group=group),
            fact(label, value, group=group),
        ]
    return found


def _sampler(loader: Any) -> str | None:
    """What chooses the rows."""
    sampler = getattr(loader, "sampler", None)
    own = getattr(getattr(loader, "batch_sampler", None), "sampler", None)
    return type(sampler or own).__name__ if sampler is not None or own is not None else None


def _transforms(dataset: Any, deep: int = 4) -> str | None:
    """The transforms of a data set by name, of that behind it where it is a part of one; None where it has none."""
    named = (getattr(dataset, name, None) for name in TRANSFORMS)
    own = next((held for held in named if callable(held) or isinstance(held, (list, tuple))), None)
    if own is None:
        inner = getattr(dataset, "dataset", None)
        return _transforms(inner, deep - 1) if inner is not None and deep else None
    several = getattr(own, "transforms", own)
    parts = several if isinstance(several, (list, tuple)) else [own]
    return ", ".join(getattr(each, "__name__", type(each).__name__) for each in parts[:MOST]) or None


def _first_rows(stage: Stage, dataset: Any, many: int | None) -> tuple[str, str | None] | None:
    """What to call the hash of the first rows, and the hash: None where a row is another one when it is read again.

    None for both where the rows cannot be read by number in the time that is left.
    """
    if not many or not isinstance(dataset, stage.torch.utils.data.Dataset):
        return None
    chance = Chance(stage.torch, ())
    limit = monotonic() + stage.left * 0.3
    digests = []
    try:
        for row in range(min(many, FIRST_ROWS)):
            digests.append(_digest(dataset[row]))
            if digests[-1] != _digest(dataset[row]):
                return "no hash: the first samples differ each time they are read", None
            if monotonic() > limit:
                return None
    except Exception:  # noqa: BLE001 - reading a row is the user's code
        return None
    finally:
        chance.restore()
    return f"hash of its first {count(len(digests), 'sample')}, in stored order", _digest(digests)


def _digest(value: Any) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(value):
        digest.update(repr(piece).encode())
    return digest.hexdigest()[:16]


def _pieces(value: Any, deep: int = 6) -> Iterator[object]:
    """What a row consists of: numbers, texts, and the contents of tensors, arrays and pictures."""
    if isinstance(value, Mapping) and deep:
        for key, each in value.items():
            yield str(key)
            yield from _pieces(each, deep - 1)
    elif isinstance(value, (tuple, list)) and deep:
        yield len(value)
        for each in value:
            yield from _pieces(each, deep - 1)
    elif isinstance(value, (*PLAIN, bytes)):
        yield value
    elif hasattr(value, "untyped_storage"):
        yield tuple(value.shape), str(value.dtype), value.detach().cpu().flatten()[:4096].tolist()
    elif callable(getattr(value, "tobytes", None)):
        yield getattr(value, "shape", getattr(value, "size", None)), value.tobytes()
    else:
        yield type(value).__name__
        yield from (tensor.tolist() for _, tensor in leaves(value))

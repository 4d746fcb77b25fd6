"""Sides of pictures and lengths of sequences that a script speaks of, and those that are usual."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SIDES = (
    32,
    224,
    64,
    28,
    128,
    256,
    299,
    96,
    512,
    112,
    48,
    84,
    16,
    227,
    300,
    100,
    120,
    160,
    80,
    40,
    20,
    24,
    36,
    56,
    72,
    150,
    180,
)
RECTANGLES = (
    (480, 640),
    (240, 320),
    (120, 160),
    (60, 80),
    (256, 128),
    (128, 64),
    (32, 128),
    (32, 100),
    (32, 256),
    (64, 256),
    (32, 320),
    (48, 192),
    (66, 200),
    (160, 320),
    (80, 160),
    (720, 1280),
    (360, 640),
    (180, 320),
    (90, 160),
    (256, 512),
    (512, 1024),
    (218, 178),
    (112, 96),
    (210, 160),
    (40, 90),
)
"""Heights and widths of pictures that are no squares: of cameras, people, lines of text, roads, faces and games."""
LENGTHS = (16, 128, 32, 64, 512, 100, 50, 10)
SIDE_WORDS = ("size", "width", "height", "resolution", "crop", "img", "image", "dim")
LENGTH_WORDS = ("len", "seq", "steps", "block", "window", "context", "max", "frames")
BATCH_WORDS = ("batch", "hidden", "embed", "vocab", "num_class", "epoch", "kernel")
WIDTHS = ("hidden_size", "out_channels", "embedding_dim", "out_features")
"""Attributes of layers: how many numbers they give for each step of a sequence."""
NO_SETTINGS = (type, ModuleType)
SMALLEST, LARGEST = 8, 1_024


class Sizes(SimpleNamespace):
    """Those of one moment: `sides`, `rectangles` (heights and widths that differ) and `lengths`, the likeliest first."""

    sides: list[int]
    rectangles: list[tuple[int, int]]
    lengths: list[int]


def sizes(namespaces: Iterable[Mapping[Any, Any]], counts: Iterable[int] = ()) -> Sizes:
    """Those that are named in these namespaces, then the usual; `counts` are lengths that layers ask for."""
    sides: list[int] = []
    lengths: list[int] = []
    pairs: list[tuple[int, int]] = []
    for namespace in namespaces:
        before = ("", 0)
        for name, value in _numbers(namespace):
            word = name.lower()
            if any(each in word for each in BATCH_WORDS) or not SMALLEST <= value <= LARGEST:
                continue
            if any(each in word for each in SIDE_WORDS):
                sides.append(value)
                if _are_sides(before[0], word) and before[1] != value:
                    pairs += [(before[1], value), (value, before[1])]
                before = word, value
            if any(each in word for each in LENGTH_WORDS):
                lengths.append(value)
    return Sizes(
        sides=[*dict.fromkeys([*sides, *SIDES])],
        rectangles=[*dict.fromkeys([*pairs, *RECTANGLES])],
        lengths=[*dict.fromkeys([*counts, *lengths, *LENGTHS])],
    )


def _are_sides(before: str, word: str) -> bool:
    """Whether two names, one behind the other, are of the two sides of a picture, or one is of both."""
    return before == word or ("height" in before and "width" in word) or ("width" in before and "height" in word)


def flattened(modules: Iterable[Any]) -> list[int]:
    """The lengths of sequences of which a linear layer takes all at once: its features over those of another layer."""
    layers = [layer for module in modules for layer in module.modules()]
    features = {count for count in (getattr(layer, "in_features", 0) for layer in layers) if isinstance(count, int)}
    widths = {getattr(layer, name, 0) for layer in layers for name in WIDTHS}
    pairs = [(each, width) for each in features for width in widths if isinstance(width, int) and width > 1]
    return sorted({each // width for each, width in pairs if each % width == 0 and 1 < each // width <= LARGEST})


def is_torchs(module: Any) -> bool:
    """Whether a module is a layer of torch itself."""
    return type(module).__module__.partition(".")[0] == "torch"


def _numbers(namespace: Mapping[Any, Any], depth: int = 1) -> Iterator[tuple[str, int]]:
    """The whole numbers under names, of a namespace and of the settings in it."""
    for name, value in list(namespace.items()):
        if not isinstance(name, str):
            continue
        if type(value) is int:
            yield name, value
        elif type(value) in (tuple, list) and value and type(value[-1]) is int:
            yield from ((name, each) for each in value[-2:] if type(each) is int)
        elif depth and isinstance(value, dict):
            yield from _numbers(value, depth - 1)
        elif depth and hasattr(value, "__dict__") and not isinstance(value, NO_SETTINGS) and not callable(value):
            yield from _numbers(vars(value), depth - 1)

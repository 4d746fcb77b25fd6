"""Made-up rows of a data set, column by column, and the features of `datasets` that describe them."""

from __future__ import annotations

import functools
import io
import random
from typing import TYPE_CHECKING, Any

from ..texts import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCE, PASSAGE = (6, 24), (60, 160)  # words
PICTURES = 32  # that are drawn; the others repeat them
TOKENS = (4, 24)


def feature(datasets: Any, kind: str) -> Any:
    """The feature of `datasets` for a column of this kind (`table` has the kinds)."""
    sort, _, about = kind.partition(":")
    value, text = datasets.Value, datasets.Value("string")
    if sort in SCALARS:
        return value(SCALARS[sort])
    made: dict[str, Callable[[], Any]] = {
        "class": lambda: datasets.ClassLabel(names=names(about)),
        "image": datasets.Image,
        "tags": lambda: datasets.Sequence(datasets.ClassLabel(names=names(about))),
        "tokens": lambda: datasets.Sequence(text),
        "translation": lambda: dict.fromkeys(about.split(","), text),
        "chat": lambda: [{"role": text, "content": text}],
        "answers": lambda: datasets.Sequence({"text": text, "answer_start": value("int32")}),
    }
    return made[sort]() if sort in made else datasets.Sequence(value("int64"))


SCALARS = {
    "text": "string",
    "long": "string",
    "id": "string",
    "words": "string",
    "int": "int64",
    "float": "float32",
    "bool": "bool",
}


def names(about: str) -> list[str]:
    """The classes that `a,b` or their number stands for."""
    return [f"class {number}" for number in range(int(about))] if about.isdecimal() else about.split(",")


def made(columns: dict[str, str], count: int, seed: str) -> dict[str, list[Any]]:
    """Values for every column, as many as `count`; the same for the same seed."""
    lengths = random.Random(f"{seed} lengths")  # noqa: S311 - made-up values
    tokens = [lengths.randint(*TOKENS) for _ in range(count)]
    found: dict[str, list[Any]] = {}
    for name, kind in columns.items():
        sort, _, about = kind.partition(":")
        draw = random.Random(f"{seed} {name}")  # noqa: S311 - made-up values
        if sort == "answers":
            found[name] = [_answers(draw, text) for text in found.get("context", ["once upon a time"] * count)]
        else:
            make = MADE[sort]
            found[name] = [make(draw, about, number, tokens[number]) for number in range(count)]
    return found


def _words(draw: random.Random, bounds: tuple[int, int]) -> str:
    return " ".join(draw.choices(VOCABULARY, k=draw.randint(*bounds)))


def _text(draw: random.Random, *_: Any) -> str:
    return _words(draw, SENTENCE).capitalize() + "."


def _passage(draw: random.Random, *_: Any) -> str:
    return _words(draw, PASSAGE).capitalize() + "."


def _class(draw: random.Random, about: str, number: int, _: int) -> int:
    count = len(names(about))
    return number % count if number < count else draw.randrange(count)


def _one_of(draw: random.Random, about: str, number: int, _: int) -> str:
    words = about.split(",")
    return words[number % len(words)] if number < len(words) else draw.choice(words)


def _tags(draw: random.Random, about: str, _: int, length: int) -> list[int]:
    return [draw.randrange(len(names(about))) for _ in range(length)]


def _translation(draw: random.Random, about: str, *_: Any) -> dict[str, str]:
    return {language: _text(draw) for language in about.split(",")}


def _chat(draw: random.Random, *_: Any) -> list[dict[str, str]]:
    return [{"role": role, "content": _text(draw)} for role in ("user", "assistant")]


def _answers(draw: random.Random, text: str) -> dict[str, list[Any]]:
    """Some words of the text, and where they are."""
    words = text.split()
    first = draw.randrange(max(1, len(words) - 3))
    answer = " ".join(words[first : first + 3])
    return {"text": [answer], "answer_start": [text.index(answer)]}


def _picture(_: random.Random, about: str, number: int, __: int) -> dict[str, Any]:
    return {"bytes": picture(about, number % PICTURES), "path": None}


@functools.cache
def picture(size: str, seed: int) -> bytes:
    """A random picture as a PNG file; `size` is `28x28` (grey) or `32x32x3`."""
    import numpy as np
    from PIL import Image

    height, width, *channels = map(int, size.split("x"))
    draw = np.random.default_rng(seed)
    small = draw.integers(0, 256, (min(height, 32), min(width, 32), *channels), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(small).resize((width, height), Image.Resampling.NEAREST).save(file, "PNG")
    return file.getvalue()


MADE: dict[str, Callable[..., Any]] = {
    "text": _text,
    "long": _passage,
    "id": lambda _draw, _about, number, _length: f"{number}",
    "int": lambda _draw, _about, number, _length: number,
    "float": lambda draw, *_: round(5 * draw.random(), 3),
    "bool": lambda _draw, _about, number, _length: bool(number % 2),
    "words": _one_of,
    "class": _class,
    "tags": _tags,
    "image": _picture,
    "tokens": lambda draw, _, __, length: draw.choices(VOCABULARY, k=length),
    "translation": _translation,
    "chat": _chat,
    "numbers": lambda draw, *_: [draw.randrange(4, 64) for _ in range(64)],
    "ones": lambda *_: [1] * 64,
}

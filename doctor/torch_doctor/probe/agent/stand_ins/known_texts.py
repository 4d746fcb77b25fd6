"""Texts that come with known data sets, or hold known vectors of words: their names say what their lines are."""

from __future__ import annotations

import os
import random
import re
from typing import TYPE_CHECKING

from .texts import VOCABULARY

if TYPE_CHECKING:
    from collections.abc import Callable

ATTRIBUTES = (
    "5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair Blurry "
    "Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male "
    "Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks Sideburns "
    "Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace Wearing_Necktie Young"
).split()
CORNERS = ("x_1", "y_1", "width", "height")
POINTS = tuple(f"{part}_{axis}" for part in ("lefteye", "righteye", "nose", "leftmouth", "rightmouth") for axis in "xy")
SPECIAL = ("unk", "<unk>", "<pad>", ".", ",")
SIZE = 300  # of vectors whose name tells none
FEW = 500  # vectors
BIRDS, PEOPLE, PARTS = 200, 100, 3


def of(name: str, count: int) -> tuple[str, str] | None:
    """The text of a file of this name, with so many rows at most, and what it is called; None where nobody knows it."""
    last, draw = os.path.basename(name).lower(), random.Random(name)  # noqa: S311 - made-up text
    if last in FILES:
        what, header, line = FILES[last]
        rows = (line(number, draw) for number in range(count))
        return "".join(f"{row}\n" for row in (*header(count), *rows)), f"{count} lines of {what}"
    if re.match(r"glove\b.*\.txt$|glove\.\w+.*\.txt$", last) or last.endswith(".vec"):
        found = re.search(r"(\d+)d\b", last)
        size = int(found[1]) if found else SIZE
        words = list(dict.fromkeys((*VOCABULARY, *SPECIAL)))[:FEW]
        lines = [" ".join([word, *(f"{draw.gauss(0, 0.4):.4f}" for _ in range(size))]) for word in words]
        first = [f"{len(words)} {size}"] if last.endswith(".vec") else []
        return "".join(f"{line}\n" for line in (*first, *lines)), f"{len(words)} random vectors of words"
    return None


def _face(number: int) -> str:
    return f"{number + 1:06}.jpg"


def _columns(names: tuple[str, ...] | list[str]) -> Callable[[int], list[str]]:
    return lambda count: [str(count), " ".join(names)]


def _none(_: int) -> list[str]:
    return []


FILES: dict[str, tuple[str, Callable[[int], list[str]], Callable[[int, random.Random], str]]] = {
    "list_attr_celeba.txt": (
        "attributes as in CelebA",
        _columns(ATTRIBUTES),
        lambda number, draw: " ".join([_face(number), *(draw.choice((" 1", "-1")) for _ in ATTRIBUTES)]),
    ),
    "list_eval_partition.txt": (
        "parts as in CelebA",
        _none,
        lambda number, _: f"{_face(number)} {number % PARTS}",
    ),
    "identity_celeba.txt": (
        "people as in CelebA",
        _none,
        lambda number, _: f"{_face(number)} {number % PEOPLE + 1}",
    ),
    "list_bbox_celeba.txt": (
        "boxes as in CelebA",
        _columns(("image_id", *CORNERS)),
        lambda number, draw: f"{_face(number)} {draw.randrange(40)} {draw.randrange(40)} 100 120",
    ),
    "list_landmarks_align_celeba.txt": (
        "points as in CelebA",
        _columns(POINTS),
        lambda number, draw: " ".join([_face(number), *(str(draw.randrange(60, 120)) for _ in POINTS)]),
    ),
    "image_class_labels.txt": (
        "classes as in CUB-200",
        _none,
        lambda number, _: f"{number + 1} {number % BIRDS + 1}",
    ),
    "train_test_split.txt": (
        "parts as in CUB-200",
        _none,
        lambda number, _: f"{number + 1} {number // BIRDS % 2}",
    ),
    "val_annotations.txt": (
        "classes and boxes as in Tiny ImageNet",
        _none,
        lambda number, _: f"val_{number}.JPEG\tn{number % BIRDS:08}\t0\t32\t44\t62",
    ),
}
"""Names of files: what they have, the lines before the rows, and a row."""

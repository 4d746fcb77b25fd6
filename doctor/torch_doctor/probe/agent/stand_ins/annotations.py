"""What is annotated in pictures, in files that are not there: boxes of objects as XML, as JSON of COCO, or as lines of numbers."""

from __future__ import annotations

import ast
import json
import os
import random
import re
from typing import TYPE_CHECKING, Any

from .source import spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .learnt import Learnt
    from .source import Sources

SIDE = 256  # of the pictures
PICTURES, OBJECTS = 64, 2  # in a file for many pictures, and on each of them
NAMES = ("person", "dog")
COCO = frozenset({"images", "annotations"})
"""Keys of a file for many pictures."""
MARKED = XML, LINES = ".xml", ".txt"
"""Suffixes of files of which there is one for each picture."""
WORDS = ("annot", "label", "anno", "xml", "bbox", "box")
"""How folders and files of annotations are called."""
OF_BOXES = ("box", "xywh", "xyxy", "yolo", "bndbox", "x_center", "xcenter", "center_x", "xmin")
OF_ALL = ("class", "name", "train", "val", "test", "label")
"""How files begin that lie beside annotations and hold the names of all classes, or the paths of pictures."""


class Annotations:
    """Makes up annotations in the form that the user's code reads."""

    def __init__(self, sources: Sources, learnt: Learnt) -> None:
        self._sources = sources
        self._learnt = learnt

    def of(self, path: str) -> tuple[str, str] | None:
        """The text of a file, and what that is in words; None where it is none of annotations."""
        ending = os.path.splitext(path)[1].lower()
        draw = random.Random(path)  # noqa: S311 - made-up boxes
        if ending == XML:
            return self._xml(path, draw), f"{OBJECTS} synthetic annotations of objects in its picture"
        if ending == ".json" and self._reads_coco():
            return self._coco(draw), f"synthetic annotations of objects in {PICTURES} pictures"
        if ending == LINES and self._reads_lists():
            return self._lists(draw), f"{PICTURES} synthetic lines, each of a picture and its boxes"
        if ending == LINES and _is_of_a_picture(path) and self._reads_boxes():
            lines = (f"{number % self._classes()} {_centred(box)}\n" for number, box in enumerate(_boxes(draw)))
            return "".join(lines), f"{OBJECTS} synthetic lines, each of a class and its box"
        return None

    def ending(self, folder: str) -> str:
        """The suffix of the annotations that lie in a folder of this name, each file for a picture; empty for other folders."""
        if not is_called_so(os.path.basename(os.path.normpath(folder))):
            return ""
        if any(_imports(node, "xml", "lxml", "xmltodict") for node in self._nodes()):
            return XML
        return LINES if self._reads_boxes() and self._spells(LINES) else ""

    def fill(self, folder: str, ending: str, count: int) -> bool:
        """Whether so many files of this suffix were written into a folder that was not there, or was empty."""
        if os.path.isdir(folder) and any(not each.startswith(".") for each in os.listdir(folder)):
            return False
        paths = [os.path.join(folder, f"{number:04}{ending}") for number in range(count)]
        made = [each[0] for path in paths if (each := self.of(path)) is not None]
        if len(made) < count:
            return False
        os.makedirs(folder, exist_ok=True)
        for path, text in zip(paths, made):  # noqa: B905 - Python 3.9 has no `strict`
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return True

    # --- forms ---

    def _classes(self) -> int:
        return max(1, min(len(NAMES), self._learnt.below(len(NAMES))))

    def _names(self) -> list[str]:
        """The names of objects, as far as it is known which ones the script has."""
        known = next((found for name in NAMES if (found := self._learnt.of("words", name))), None)
        return list(known or NAMES)

    def _xml(self, path: str, draw: random.Random) -> str:
        stem, names = os.path.splitext(os.path.basename(path))[0], self._names()
        objects = "".join(
            f"<object><name>{names[number % len(names)]}</name><pose>Unspecified</pose><truncated>0</truncated>"
            f"<difficult>0</difficult><bndbox><xmin>{x}</xmin><ymin>{y}</ymin>"
            f"<xmax>{x + width}</xmax><ymax>{y + height}</ymax></bndbox><occluded>0</occluded></object>"
            for number, (x, y, width, height) in enumerate(_boxes(draw))
        )
        return (
            f"<annotation><folder>images</folder><filename>{stem}.jpg</filename><path>{stem}.jpg</path>"
            f"<source><database>Unknown</database></source><size><width>{SIDE}</width><height>{SIDE}</height>"
            f"<depth>3</depth></size><segmented>0</segmented>{objects}</annotation>"
        )

    def _coco(self, draw: random.Random) -> str:
        classes = self._classes()
        pictures = [
            {"id": number, "file_name": f"{number:012}.jpg", "width": SIDE, "height": SIDE, "license": 1}
            for number in range(1, PICTURES + 1)
        ]
        found: list[dict[str, Any]] = []
        for each in pictures:
            for x, y, width, height in _boxes(draw):
                outline = [x, y, x + width, y, x + width, y + height, x, y + height]
                what = {"id": len(found) + 1, "image_id": each["id"], "category_id": len(found) % classes + 1}
                where = {"bbox": [x, y, width, height], "area": width * height, "iscrowd": 0, "segmentation": [outline]}
                found.append({**what, **where, "caption": f"a {NAMES[len(found) % classes]} in a street"})
        names = [
            {"id": number + 1, "name": name, "supercategory": "thing"} for number, name in enumerate(NAMES[:classes])
        ]
        return json.dumps(
            {
                "info": {},
                "licenses": [],
                "images": pictures,
                "annotations": found,
                "categories": names,
                "type": "instances",
            }
        )

    def _lists(self, draw: random.Random) -> str:
        """Lines that begin with a picture, behind which its boxes stand, each with its class."""
        return "".join(
            f"images/{number:06}.jpg "
            + " ".join(f"{x},{y},{x + width},{y + height},0" for x, y, width, height in _boxes(draw))
            + "\n"
            for number in range(PICTURES)
        )

    # --- what the user's code says of them ---

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for tree in self._sources.trees() for node in ast.walk(tree))

    def _spells(self, *words: str) -> bool:
        """Whether the code has a text that ends with one of these."""
        return any(
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(words)
            for node in self._nodes()
        )

    def _reads_coco(self) -> bool:
        keys = {
            node.slice.value
            for node in self._nodes()
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        }
        return keys >= COCO or any(_imports(node, "pycocotools") for node in self._nodes())

    def _reads_boxes(self) -> bool:
        """Whether the code speaks of boxes, and takes numbers out of lines."""
        names = {spelled(node).lower() for node in self._nodes() if isinstance(node, (ast.Name, ast.Attribute))}
        return "split" in names and any(word in name for name in names for word in OF_BOXES)

    def _reads_lists(self) -> bool:
        """Whether a function takes the parts of a line apart once more, at commas, into numbers."""
        boxes = self._reads_boxes()
        for function in (each for each in self._nodes() if isinstance(each, ast.FunctionDef)):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            splits = [node.args for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == "split"]
            between = [each.value for given in splits for each in given[:1] if isinstance(each, ast.Constant)]
            whole = any(spelled(node) == "map" and node.args and spelled(node.args[0]) == "int" for node in calls)
            numbers = whole or (boxes and any(spelled(node) in ("int", "float") for node in calls))
            if ([] in splits or " " in between) and "," in between and numbers:
                return True
        return False


def is_called_so(path: str) -> bool:
    """Whether a path has a word for annotations in it."""
    return any(word.startswith(WORDS) for word in re.split(r"[^a-z]+", path.lower()))


def _is_of_a_picture(path: str) -> bool:
    """Whether a file in a folder of annotations is none of names or paths."""
    folder, name = os.path.split(path.lower())
    return is_called_so(folder) and not name.startswith(OF_ALL)


def _boxes(draw: random.Random) -> list[tuple[int, int, int, int]]:
    """Left, top, width and height of some objects that lie in their picture."""
    half = SIDE // 2
    return [
        (
            draw.randrange(1, half),
            draw.randrange(1, half),
            draw.randrange(half // 2, half),
            draw.randrange(half // 2, half),
        )
        for _ in range(OBJECTS)
    ]


def _centred(box: tuple[int, int, int, int]) -> str:
    """The centre and the size of a box, in parts of the picture."""
    x, y, width, height = box
    return " ".join(f"{each / SIDE:.4f}" for each in (x + width / 2, y + height / 2, width, height))


def _imports(node: ast.AST, *packages: str) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
    return any(name.partition(".")[0] in packages for name in names)

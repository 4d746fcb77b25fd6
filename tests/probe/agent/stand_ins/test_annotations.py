"""What is made up of pictures with objects: annotations that agree with each other, and operations of torchvision."""

from __future__ import annotations

import importlib
import json
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import torch

from torch_doctor.probe.agent.replicas.torchvision import operations
from torch_doctor.probe.agent.stand_ins.annotations import SIDE, Annotations
from torch_doctor.probe.agent.stand_ins.batches.parts import CORNERS, Spec
from torch_doctor.probe.agent.stand_ins.learnt import Learnt
from torch_doctor.probe.agent.stand_ins.picture_code import is_mask
from torch_doctor.probe.agent.stand_ins.source import Sources

if TYPE_CHECKING:
    from pathlib import Path


def annotated(tmp_path: Path, text: str, *lessons: dict[str, Any]) -> Annotations:
    """Those for a script with this text."""
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    return Annotations(Sources(str(tmp_path), str(script)), Learnt(lessons, lambda _: None))


def test_boxes_in_xml_lie_in_their_picture(tmp_path: Path) -> None:
    made = annotated(tmp_path, "").of("data/a.xml")
    assert made is not None
    root = ET.fromstring(made[0])  # noqa: S314 - our own
    assert root.findtext("filename") == "a.jpg"
    for box in root.iter("bndbox"):
        left, top, right, bottom = (int(box.findtext(side) or "") for side in ("xmin", "ymin", "xmax", "ymax"))
        assert 0 < left < right < SIDE
        assert 0 < top < bottom < SIDE
    assert all(each[4].tag == "bndbox" for each in root.iter("object"))  # as in the files of 2007: some go by the place


@pytest.mark.parametrize("boxes", [True, False])
def test_lines_of_pictures_and_boxes_are_told_from_other_lists(tmp_path: Path, *, boxes: bool) -> None:
    name = "bboxes" if boxes else "fields"
    text = f"def read(line):\n    {name} = [[float(one) for one in each.split(',')] for each in line.split(' ')]\n"
    made = annotated(tmp_path, text).of("train.txt")
    assert (made is not None) is boxes


def test_names_are_those_that_the_script_knows(tmp_path: Path) -> None:
    made = annotated(tmp_path, "", {"kind": "words", "what": "dog", "value": ["cup", "fork"]}).of("a.xml")
    assert made is not None
    assert [each.text for each in ET.fromstring(made[0]).iter("name")] == ["cup", "fork"]  # noqa: S314 - our own


def test_what_a_file_for_many_pictures_names_is_in_it(tmp_path: Path) -> None:
    made = annotated(tmp_path, "x['images']; x['annotations']", {"kind": "range", "what": "values", "value": 1})
    text = made.of("instances.json")
    assert text is not None
    content = json.loads(text[0])
    pictures, classes = ({each["id"] for each in content[name]} for name in ("images", "categories"))
    assert {each["image_id"] for each in content["annotations"]} == pictures
    assert {each["category_id"] for each in content["annotations"]} == classes == {1}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("x['annotations']", "a.json"),
        ("line.split()", "labels/a.txt"),
        ("bbox = line.split()", "corpus/a.txt"),
        ("bbox = line.split()", "data/labels.txt"),
        ("bbox = line.split()", "data/labels/classes.txt"),
        ("def read(line): return line.split(','), list(map(int, x))", "a.txt"),
    ],
)
def test_other_files_are_none(tmp_path: Path, text: str, path: str) -> None:
    assert annotated(tmp_path, text).of(path) is None


def test_a_folder_of_annotations_is_filled_once(tmp_path: Path) -> None:
    made = annotated(tmp_path, "import xml.etree.ElementTree")
    folder = tmp_path / "data" / "Annotations"
    assert made.ending(str(folder)) == ".xml"
    assert made.ending(str(tmp_path / "data" / "images")) == ""
    assert made.fill(str(folder), ".xml", 3)
    assert len(list(folder.iterdir())) == 3
    assert not made.fill(str(folder), ".xml", 3)


def test_corners_are_in_order() -> None:
    boxes = Spec((50, 4), high=CORNERS).made(torch)
    assert (boxes[:, 2:] > boxes[:, :2]).all()


def test_operations_are_those_of_torchvision() -> None:
    pytest.importorskip("torchvision")
    importlib.import_module("torchvision.ops.roi_align")
    compiled = vars(sys.modules["torchvision.ops.roi_align"])["_roi_align"]
    plain = getattr(compiled, "__wrapped__", compiled)
    features = torch.rand(2, 3, 12, 16, requires_grad=True)
    regions = torch.tensor([[1, 5.0, 6, 50, 40], [0, 1, 2, 30, 40], [1, 0, 0, 60, 44]])
    for aligned in (False, True):
        wanted = plain(features, regions, 0.25, 3, 4, 2, aligned)
        found = operations.roi_align(features, regions, 0.25, 3, 4, 2, aligned)
        torch.testing.assert_close(found, wanted)
    none = operations.roi_align(features, regions[:0], 0.25, 3, 4, 2)
    assert none.shape == (0, 3, 3, 4)


def test_of_boxes_that_cover_each_other_the_best_is_kept() -> None:
    boxes = torch.tensor([[0, 0, 10, 10], [1, 0, 10, 10], [20, 20, 30, 30.0]])
    assert operations.nms(boxes, torch.tensor([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]
    assert operations.nms(boxes[:0], torch.zeros(0), 0.5).tolist() == []


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("data/masks/img_01.png", True),
        ("data/images/img_01_mask.png", True),
        ("road-segmentation/data/imgs", False),
        ("segmentation/labels/train/0001.png", True),
    ],
)
def test_masks_are_what_the_innermost_name_says(path: str, *, is_one: bool) -> None:
    assert is_mask(path) is is_one

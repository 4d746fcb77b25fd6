"""What models of torchvision that find objects are trained with: pictures, and for each its boxes with their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import CORNERS, MAPPING, SEQUENCE, Part, Spec
from .trying import unknown
from .wanted import Wanted

if TYPE_CHECKING:
    from .trying import Trials

TRANSFORM = "GeneralizedRCNNTransform"
"""The class of what each of these models does first."""
OBJECTS, SIDE, COLOURS = 2, 64, 3
POINTS = 17  # of a person, where the model does not tell how many it finds


def detector(module: Any) -> Any:
    """The model in a module that finds objects; None where there is none."""
    return next(
        (each for each in module.modules() if type(getattr(each, "transform", None)).__name__ == TRANSFORM), None
    )


def targets(model: Any) -> dict[str, Spec]:
    """What it takes for each picture."""
    found = {"boxes": Spec((OBJECTS, 4), high=CORNERS), "labels": Spec((OBJECTS,), "int64", 2)}
    heads = getattr(model, "roi_heads", None)
    if getattr(heads, "mask_predictor", None) is not None:
        found["masks"] = Spec((OBJECTS, SIDE, SIDE), "uint8", 2)
    points = getattr(heads, "keypoint_predictor", None)
    if points is not None:
        layer = getattr(points, "kps_score_lowres", None)
        found["keypoints"] = Spec((OBJECTS, getattr(layer, "out_channels", POINTS), 3))
    return found


def known(trials: Trials, model: Any, rows: int, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """The arguments of such a model with all known that it wants."""
    arguments, keywords = given
    pictures, *rest = arguments or (keywords.get("images"),)
    wanted = rest[0] if rest else keywords.get("targets")
    picture = Spec((COLOURS, SIDE, SIDE))
    _settle(
        trials, pictures, Spec((rows, *picture.shape)) if type(pictures) is Wanted and not _parts(pictures) else picture
    )
    each = [_target(trials, target, targets(model)) for target in _several(wanted, rows)]
    return (_listed(pictures), each or None), {}


def _several(wanted: Any, rows: int) -> list[Any]:
    """The targets of the pictures, one by one."""
    if type(wanted) is not Wanted:
        return list(wanted) if isinstance(wanted, (list, tuple)) else []
    part = wanted._node
    if type(part) is not Part:
        return []
    return [Wanted(part.part(place, SEQUENCE)) for place in range(len(part.parts) or rows)]


def _target(trials: Trials, target: Any, wants: dict[str, Spec]) -> Any:
    """What is known of a picture by now, with what is wanted."""
    if type(target) is Wanted and type(target._node) is Part:
        target = {key: Wanted(target._node.part(key, MAPPING)) for key in (*wants, *target._node.parts)}
    for key, value in target.items() if type(target) is dict else ():
        _settle(trials, value, wants.get(key, Spec((1,), "int64", 2)))
    return target


def _settle(trials: Trials, thing: Any, spec: Spec) -> None:
    for part in list(unknown(thing)):
        trials.settle(part, spec)


def _parts(wanted: Wanted) -> list[Part]:
    return list(wanted._node.parts.values()) if isinstance(wanted._node, Part) else []


def _listed(pictures: Any) -> Any:
    parts = _parts(pictures) if type(pictures) is Wanted else []
    return [Wanted(each) for each in parts] if parts else pictures

"""What is asked about a class or a function of an installed library, and how its sources answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from torch_doctor.trace.words import Kind  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from torch_doctor.static.installed import caring
    from torch_doctor.static.installed.sources import LibrarySources, Place

VERSION = 1
"""Of what answers mean: those that were kept under another one are not read."""


class Care(Struct, frozen=True, array_like=True):
    """One reason why a module behaves differently in training, or may.

    It holds as long as the parameters `leans`, each with its position, are not given. `rate`: where the one parameter is
    given, the module cares if that number is not 0.
    """

    cares: bool | None
    leans: tuple[tuple[str, int], ...] = ()
    rate: bool = False


class Answer(Struct, frozen=True, omit_defaults=True):
    """What a call of a class or function builds.

    `module`: whether it builds a module at all. `parameters`: whether that has something to train. `training`: whether it is in
    training mode when it is returned. `kind` is what its output means, `head` the attribute with its last layers and the
    place of the very last one (-1: it is that layer). `asked` are the packages that were read, with their versions.
    """

    module: bool | None = None
    parameters: bool | None = False
    training: bool | None = True
    cares: tuple[Care, ...] = ()
    kind: Kind | None = None
    head: tuple[str, int] | None = None
    asked: dict[str, str] = {}


def answer(library: LibrarySources, place: Place) -> Answer:
    """Ask the sources what a call of the class or function at a place builds."""
    from astroid import nodes  # noqa: PLC0415 - it takes longer to import than a file to scan

    from torch_doctor.static.installed import building, endings, evaluating, meanings, reader  # noqa: PLC0415 - as above

    evaluator = evaluating.Evaluator(reader.ParsedFiles(library))
    builder = building.Builder(evaluator)
    found = evaluator.reader.definition(place)
    training: bool | None = True
    given = None
    if found is not None and isinstance(found.node, nodes.FunctionDef):
        calls = found.node.nodes_of_class(nodes.Call)
        if any(isinstance(call.func, nodes.Attribute) and call.func.attrname == "eval" for call in calls):
            training = None
        frame = evaluator.asked(found.node)
        made = evaluator.returned(frame).what
        found = made.what if isinstance(made, meanings.Made) and isinstance(made.what, meanings.Defined) else None
        given = made.given if isinstance(made, meanings.Made) else None
        if found is not None:
            builder.call(frame)
    if found is None or not isinstance(found.node, nodes.ClassDef):
        return Answer()
    module = building.is_module(builder.classes(found.node))
    if module is not True:
        return Answer(module=module)
    thing = builder.build(found.node, given)
    ending = endings.Endings(evaluator, builder).of(thing)
    told = ending.kind in endings.TOLD and not ending.leans
    return Answer(
        module=True,
        parameters=builder.notes.parameters,
        training=training,
        cares=_condensed(builder.notes.cares),
        kind=ending.kind if told else None,
        head=ending.head if told else None,
    )


def _condensed(cares: dict[caring.Caring, None]) -> tuple[Care, ...]:
    """The reasons in a lasting form: one that holds whatever is given makes the others superfluous."""
    if any(care.cares is True and not care.leans for care in cares):
        return (Care(cares=True),)
    return tuple(
        Care(care.cares, tuple(sorted(care.leans)), care.rate)
        for care in cares
        if care.leans or care.cares is not False
    )

"""Models and layers of libraries: what the tables tell of them, and what the sources of the installed libraries add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from torch_doctor.static.installed.answers import Answer, Care
from torch_doctor.static.libraries.library import LibraryModel
from torch_doctor.static.tables import models, pixels
from torch_doctor.static.values import Call, Const, Default, Fact, Lib, Module, Spread, UnknownName, Value, constant

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.trace import Tri


def library_model(run: Run, name: str, call: Call | None = None) -> LibraryModel | None:
    """What is known of the module that a call of this name builds, or that a class derives from; None: it is no known builder.

    Where the sources of the library are certain, they stand; where they are not, or are not there, the tables do.
    """
    known = _with_rates(models.library_model(name), call)
    answer = run.imports.installed.builds(name)
    if answer is None or (known is None and answer.parameters is not True):
        return known
    sensitive = cares(answer, call)
    if known is None:
        return LibraryModel(sensitive, answer.training, kind=answer.kind, head=answer.head)
    sensitive = known.sensitive if sensitive is None else sensitive
    return replace(known, sensitive=sensitive, kind=answer.kind or known.kind, head=answer.head)


def _with_rates(known: LibraryModel | None, call: Call | None) -> LibraryModel | None:
    """The same with the dropout that a call asks for."""
    if known is None or not known.rates or known.sensitive is True:
        return known
    care = [Care(cares=known.sensitive, leans=(rate,), rate=True) for rate in known.rates]
    return replace(known, sensitive=cares(Answer(cares=tuple(care)), call))


def pretrained(name: str, call: Call) -> Tri:
    """Whether a builder of a library loads weights that were trained before."""
    asking = models.pretrained(name)
    if asking is None:
        return True
    given = [value for key, position in asking.items() if (value := _given(call, key, position)) is not None]
    if not given:
        return None if asking and "**" in call.keywords else False
    told = [True if isinstance(value, Lib) else None if (known := _known(value)) is None else known for value in given]
    return True if True in told else None if None in told else False


def _known(value: Value) -> Tri:
    """Whether an argument that asks for weights does; None where nobody knows."""
    return bool(value.value) if isinstance(value, Const) else None


def head_of(run: Run, name: str) -> tuple[str, int] | None:
    """Where the last layers of a library's model are: the attribute, and the place of the very last one (-1: it is that layer)."""
    known = models.classifier_head(name)
    if known is not None or not name:
        return known
    model = library_model(run, name)
    return None if model is None else model.head


def is_module(run: Run, name: str) -> Tri:
    """Whether a class of a library is a module, by its sources."""
    return run.imports.installed.is_module(name)


def cares(answer: Answer, call: Call | None) -> Tri:
    """Whether a module that is built with the arguments of a call cares about the mode; with whatever arguments, without a call."""
    found = [_cares(care, call) for care in answer.cares]
    return True if True in found else None if None in found else False


def _cares(care: Care, call: Call | None) -> Tri:
    if not care.leans:
        return care.cares
    if call is None or "**" in call.keywords or any(isinstance(value, Spread) for value in call.args):
        return None
    given = [value for name, position in care.leans if (value := _given(call, name, position)) is not None]
    if not given:
        return care.cares
    rate = constant(given[0])
    if not care.rate or not isinstance(rate, (int, float)):
        return None
    return True if rate > 0 else None if isinstance(given[0], Default) else False


def _given(call: Call, name: str, position: int) -> Value | None:
    by_name = call.keywords.get(name)
    return call.args[position] if by_name is None and 0 <= position < len(call.args) else by_name


def normalises(part: Module) -> bool:
    """Whether it is a library's model of pictures with batch norm: nothing else in those parts cares about the mode.

    The script may choose another norm, and may put any other into parts of which it does not spell the names.
    """
    chosen = not part.settings.keys().isdisjoint(("norm_layer", "**"))
    replaced = any(isinstance(name, UnknownName) for name in part.fields)
    of_library = part.cls is None and part.sensitive is True and part.layer.startswith(pixels.MODELS)
    return of_library and not chosen and not replaced and True in models.parts(part.layer).values()


def children(run: Run, of: Module) -> tuple[str, ...]:
    """The names of the children of a library's model, in order; none where the tables do not know them all."""
    head = head_of(run, of.layer) if of.cls is None and of.layer else None
    parts = models.parts(of.layer) if head is not None and normalises(of) else {}
    others = [name for name, value in of.fields.items() if isinstance(value, Module) and name not in parts]
    return tuple(parts) if head is not None and head[0] in parts and not others else ()


def normalises_as_part(part: Module) -> bool:
    """Whether it is such a part of a library's model of pictures that batch norm is in it."""
    return part.sensitive is True and models.parts(part.fact(Fact.PART_OF)).get(part.name) is True

"""Which way a figure gets better, as far as it shows how it was computed: losses and errors down, shares of hits up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from torch_doctor.static.domains.domain import Domain
from torch_doctor.static.domains.merits.merit import (
    ANSWER,
    ERROR,
    GAP,
    INFINITE,
    SHARE,
    SIGNS,
    TRUTH,
    Merit,
    transformed,
    turned,
)
from torch_doctor.static.state import per_run
from torch_doctor.static.tables import merits as table
from torch_doctor.static.tables import shapes
from torch_doctor.static.values import ARRAY, Const, Either, Making, Plain, Sequence, Tensor, Value
from torch_doctor.static.values.shapes import Returned
from torch_doctor.static.values.shapes import read_from as _read_from
from torch_doctor.static.values.symbols import LENGTH
from torch_doctor.trace import HIGHER, LOWER, Kind, Source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_doctor.static.values import Args, Symbol

_OPERATORS: Final = frozenset(("+", "-", "*", "/", "//", "**", "==", "!=", "&", "max", "min"))
_OF_ANSWERS: Final = frozenset((Kind.LOGITS, Kind.PROBABILITIES, Kind.LOG_PROBABILITIES, Kind.LABELS))
_LOSSES: Final = frozenset((shapes.LOSS, shapes.LOSSES))


class Merits(Domain["Merit | None"]):
    """The `Merit` of a value; None where nothing is known of it."""

    added: dict[int, Value] = per_run(dict)  # what the events of sums added
    totals: dict[Symbol, Value] = per_run(dict)  # sums, by their symbols
    made: dict[Symbol, tuple[str, tuple[Value, ...]]] = per_run(dict)  # results of functions that are no tensors
    unequal: set[tuple[Value, Value]] = per_run(set)  # operands of `!=`, whose record is that of `==`
    _asked: dict[Symbol, Merit | None] = per_run(dict)

    def unknown(self) -> Merit | None:
        """Nothing."""
        return None

    def join(self, left: Merit | None, right: Merit | None) -> Merit | None:
        """A figure that gets better in the same way."""
        if left is None or right is None or left.role != right.role:
            return None
        return Merit(left.role, min(left.low, right.low), max(left.high, right.high))

    def of(self, value: Value) -> Merit | None:
        """The answer for a value: a loss is known by its name, a sum by what was added."""
        if isinstance(value, Tensor):
            made = value.meta if isinstance(value.meta, Making) else None
            if made is None or not made.args or made.name in (_LOSSES | {"+"}) or not value.flow.forwards:
                return self._begun(value)
        return super().of(value)

    def _begun(self, value: Tensor) -> Merit | None:
        """A tensor that is not made of others: a loss, what a model gave, data, or a sum over steps."""
        if value.kind is Kind.LOSS and not value.flow.sums:
            return ERROR if value.origin.operation in table.NOT_NEGATIVE else Merit(LOWER)
        if value.flow.sums:
            return self._of_sums(value.flow.sums)
        if not value.flow.forwards:
            return Merit(TRUTH) if value.flow.graph is False or value.flow.source is not Source.UNKNOWN else None
        if isinstance(value.meta, Making) and value.meta.args:
            return super().of(value)
        return Merit(ANSWER) if isinstance(value.meta, Returned) or value.kind in _OF_ANSWERS else None

    def given(self, value: Value) -> Merit | None:
        """Numbers, by what was computed; a list is what its items are."""
        if isinstance(value, Const):
            return Merit(TRUTH) if isinstance(value.value, (int, float)) else None
        if isinstance(value, Sequence):
            return self._all(value.content.all())
        if isinstance(value, Plain):
            return self._of_number(value)
        return None

    def _all(self, values: Iterable[Value]) -> Merit | None:
        found = [self.of(each) for each in values]
        result = found[0] if found else None
        for each in found[1:]:
            result = self.join(result, each)
        return result

    def forwards(self, value: Value) -> frozenset[int]:
        """The `Forward` events whose results are behind a figure."""
        found: set[int] = set()
        waiting: list[object] = [value]
        seen: set[object] = set()
        while waiting:
            part = waiting.pop()
            key = part if isinstance(part, tuple) else id(part)
            if key in seen:
                continue
            seen.add(key)
            if isinstance(part, Either):
                waiting += [option for _, option in part.options]
            elif isinstance(part, Sequence):
                waiting += part.content.all()
            elif isinstance(part, (Tensor, Plain)):
                found |= part.flow.forwards
                waiting += [self.added[event] for event in part.flow.sums if event in self.added]
                waiting += [part.symbol, _read_from(part.size)] if isinstance(part, Plain) else []
            elif isinstance(part, tuple):
                waiting += self.made[part][1] if part in self.made else ()
                waiting += [self.totals[part]] if part in self.totals else ()
                waiting += [inner for inner in part if isinstance(inner, tuple)]
        return frozenset(found)

    # --- numbers ---

    def _of_number(self, value: Plain) -> Merit | None:
        array = value.size.args[0] if value.size is not None and value.size.name == ARRAY else None
        if isinstance(array, Tensor) and array.flow.forwards:
            return self.of(array)
        symbol = value.symbol
        if symbol[0] == LENGTH or (value.size is not None and value.size.name in ("size", "shape")):
            return Merit(TRUTH)
        if symbol[0] not in _OPERATORS and value.flow.sums and symbol not in self.made:
            return self._of_sums(value.flow.sums)
        read = _read_from(value.size)
        if read is not None and symbol[0] not in _OPERATORS:
            return self.of(read)
        return self._of_symbol(symbol)

    def _of_symbol(self, symbol: Symbol) -> Merit | None:
        if symbol not in self._asked:
            self._asked[symbol] = None  # for what leads back to itself
            self._asked[symbol] = self._named(symbol)
        return self._asked[symbol]

    def _named(self, symbol: Symbol) -> Merit | None:
        word = symbol[0]
        if word == LENGTH:
            return Merit(TRUTH)
        if symbol in self.made:
            return self.computed(*self.made[symbol])
        if symbol in self.totals:
            return self._of_sums(self.totals[symbol].flow.sums)
        if word == "const":
            return Merit(TRUTH) if isinstance(symbol[1], (int, float)) else None
        if word in _OPERATORS and all(isinstance(part, tuple) for part in symbol[1:]):
            return self._applied(word, [self._of_symbol(part) for part in symbol[1:]], [*map(_number, symbol[1:])])
        return None

    def _of_sums(self, events: Iterable[int]) -> Merit | None:
        """What was added up: counts that are added beside are no figures."""
        found = {each for event in events if event in self.added for each in (self.of(self.added[event]),)}
        merits = [each for each in found if each is None or each.figure]
        if not merits or None in merits or len({each.role for each in merits if each}) > 1:
            return None if merits else Merit(TRUTH) if found else None
        low = min(each.low for each in merits if each)
        return Merit(next(each.role for each in merits if each), 0.0 if low >= 0 else -INFINITE)

    # --- operations ---

    def read(self, made: Making) -> Merit | None:
        """How a tensor was made."""
        if made.name == "==" and made.args[:2] in self.unequal:
            return None
        if made.name == "either":
            return self._all(made.args)
        return self.computed(made.name, made.args)

    def computed(self, name: str, args: Args) -> Merit | None:
        """What a function or method gives for arguments, the object among them."""
        if name in table.METRICS:
            return {"share": SHARE, "gain": Merit(HIGHER), "error": ERROR}[table.METRICS[name]]
        short = name.rpartition(".")[2] or name
        sign = table.OPERATORS.get(short, short)
        if not args:
            return None
        if sign in _OPERATORS and not (sign in ("max", "min") and len(args) == 1):
            operands = args[: 1 if short in ("neg", "negative") else 2]
            return self._applied(sign, [*map(self.of, operands)], [*map(_constant, operands)])
        first = self.of(args[0])
        if first is None:
            return None
        if short in table.SAME or (short in table.AVERAGES and first.figure):
            return first
        if short in ("abs", "absolute", "square", "norm", "vector_norm") and (first.role == GAP or first.low >= 0):
            return first if first.figure else ERROR
        if first.figure:
            return transformed(short, first)
        return first if short in table.CHOOSING and first.role != GAP else None

    def _applied(self, sign: str, terms: list[Merit | None], numbers: list[float | None]) -> Merit | None:
        """What an operator gives; `numbers` are the operands that are constants."""
        if len(terms) == 1:
            return turned(terms[0]) if sign == "-" else None
        left, right = terms[0], terms[-1]
        apply = SIGNS.get(sign)
        return None if apply is None or len(terms) > 2 else apply(left, right, numbers[0], numbers[-1])


def _number(symbol: Symbol) -> float | None:
    return symbol[1] if symbol[0] == "const" and isinstance(symbol[1], (int, float)) else None


def _constant(value: Value) -> float | None:
    found = value.value if isinstance(value, Const) else None
    return float(found) if isinstance(found, (int, float)) and abs(found) < INFINITE else None

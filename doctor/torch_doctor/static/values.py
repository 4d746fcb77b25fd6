"""The abstract values: what is known of each thing a script computes with."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

from torch_doctor.static.flow import EMPTY, UNSEEN, Flow, alternatives, blend
from torch_doctor.trace import Kind, Source

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.frame import Frame
    from torch_doctor.static.tables.layers import Layer
    from torch_doctor.static.unit import Unit
    from torch_doctor.trace import Site, Tri

Symbol: TypeAlias = tuple[Any, ...]
"""Identifies an undecided value, so that the same test made twice is decided once."""

Facts: TypeAlias = frozenset[tuple[Symbol, bool]]
"""What must hold for an alternative to be the right one."""

_serial = itertools.count(1)
MAX_OPTIONS = 4


def fresh_symbol(word: str = "?") -> Symbol:
    """A symbol that equals no other."""
    return (word, next(_serial))


class Value:
    """Anything an expression can evaluate to."""

    __slots__ = ()
    flow: Flow = EMPTY


class Missing(Value):
    """No value: a variable or attribute that is not there."""

    __slots__ = ()


MISSING = Missing()


class Const(Value):
    """A value that is known exactly."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


NOTHING = Const(None)


class Plain(Value):
    """A number, string, array or setting: holds no graph and nothing that trains. Its value is not known."""

    __slots__ = ("_symbol",)

    def __init__(self, symbol: Symbol | None = None) -> None:
        self._symbol = symbol

    @property
    def symbol(self) -> Symbol:
        """What identifies it in tests."""
        if self._symbol is None:
            self._symbol = fresh_symbol()
        return self._symbol


class Unknown(Value):
    """Anything at all. `flow` is what it may carry, `holds` the objects that it may hold on to."""

    __slots__ = ("_symbol", "flow", "holds")

    def __init__(self, flow: Flow = UNSEEN, holds: frozenset[int] = frozenset(), symbol: Symbol | None = None) -> None:
        self.flow = flow
        self.holds = holds
        self._symbol = symbol

    @property
    def symbol(self) -> Symbol:
        """What identifies it in tests."""
        if self._symbol is None:
            self._symbol = fresh_symbol()
        return self._symbol


class Tensor(Value):
    """A tensor: what its numbers mean (`kind`, since `made_at`, by `made_by`), how it travelled (`trail`), its flow."""

    __slots__ = ("flow", "kind", "made_at", "made_by", "scalar", "trail")

    def __init__(
        self,
        flow: Flow = EMPTY,
        kind: Kind = Kind.UNKNOWN,
        made_at: Site | None = None,
        made_by: str = "",
        trail: tuple[tuple[Site, str], ...] = (),
        scalar: Tri = None,
    ) -> None:
        self.flow = flow
        self.kind = kind
        self.made_at = made_at
        self.made_by = made_by
        self.trail = trail
        self.scalar = scalar

    def with_flow(self, flow: Flow) -> Tensor:
        """The same tensor with another history."""
        return Tensor(flow, self.kind, self.made_at, self.made_by, self.trail, self.scalar)


class Shape(Value):
    """A tensor's size or dtype or device: plain, and equal each time it is asked for."""

    __slots__ = ()


class Either(Value):
    """One of a few values; each option says what must hold for it."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[tuple[Facts, Value], ...]) -> None:
        self.options = options

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the options
        """What any of the options may carry."""
        first, *rest = (value.flow for _, value in self.options)
        for flow in rest:
            first = alternatives(first, flow)
        return first


class Lib(Value):
    """Something of a library that is not part of the project, by its dotted name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class FunctionValue(Value):
    """A project function with the frame it closes over. `owner` is the class that defines it as a method."""

    __slots__ = ("closure", "contexts", "node", "owner", "style", "unit")

    def __init__(
        self,
        node: p.Function,
        unit: Unit,
        closure: Frame,
        owner: ClassValue | None = None,
        style: str = "",
        contexts: tuple[Value, ...] = (),
    ) -> None:
        self.node = node
        self.unit = unit
        self.closure = closure
        self.owner = owner
        self.style = style  # "", "static", "class", "property", "contextmanager"
        self.contexts = contexts  # grad-mode contexts that decorate it


class Bound(Value):
    """A project method with its object."""

    __slots__ = ("function", "self")

    def __init__(self, function: FunctionValue, self_value: Value) -> None:
        self.function = function
        self.self = self_value


class Method(Value):
    """A method, by name, of something whose class is not the project's: tensor, optimizer, module, list, unknown."""

    __slots__ = ("name", "of")

    def __init__(self, of: Value, name: str) -> None:
        self.of = of
        self.name = name


class Partial(Value):
    """A callable with some arguments already given."""

    __slots__ = ("args", "func", "keywords")

    def __init__(self, func: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.func = func
        self.args = args
        self.keywords = keywords


class Params(Value):
    """Parameters of modules: an iterable of them, or one of them (`whole` False when there may be others)."""

    __slots__ = ("modules", "named", "whole")

    def __init__(self, modules: frozenset[int], *, whole: bool = True, named: bool = False) -> None:
        self.modules = modules
        self.whole = whole
        self.named = named


class Grads(Value):
    """The `.grad` of such parameters."""

    __slots__ = ("modules",)

    def __init__(self, modules: frozenset[int]) -> None:
        self.modules = modules


class Super(Value):
    """`super()`: attributes are looked up after `cls` in the classes of `self`."""

    __slots__ = ("cls", "self")

    def __init__(self, cls: ClassValue, self_value: Value) -> None:
        self.cls = cls
        self.self = self_value


class Fields(dict[Any, Any]):
    """The state of one object, with the object's number: what is older than a call was changed by it for others to see."""

    __slots__ = ("id",)

    def __init__(self, id_: int) -> None:
        super().__init__()
        self.id = id_


class Object(Value):
    """A thing with an identity and state; `fields` is changed through the heap only. `born` is where it was made."""

    __slots__ = ("born", "fields", "id")

    def __init__(self, born: Site | None = None) -> None:
        self.id = next(_serial)
        self.fields = Fields(self.id)
        self.born = born


class ClassValue(Object):
    """A project class: its bases (project classes, library classes, unknown ones) and what its body defines (`fields`)."""

    __slots__ = ("_mro", "bases", "dataclass", "name", "node", "unit")

    def __init__(self, name: str, node: p.Class, unit: Unit, bases: tuple[Value, ...]) -> None:
        super().__init__()
        self.name = name
        self.node = node
        self.unit = unit
        self.bases = bases
        self.dataclass = False
        self._mro: tuple[Value, ...] | None = None

    def mro(self) -> tuple[Value, ...]:
        """This class and its bases in the order in which attributes are looked up."""
        if self._mro is None:
            self._mro = (self,)  # a class that inherits from itself through an error ends here
            self._mro = _linear(self)
        return self._mro

    def find(self, name: str, after: ClassValue | None = None) -> tuple[Value, ClassValue] | None:
        """The attribute `name` and the project class that defines it, looked up after `after` when it is given."""
        seen = after is None
        for cls in self.mro():
            if seen and isinstance(cls, ClassValue):
                found = cls.fields.get(name)
                if found is not None:
                    return found, cls
            if cls is after:
                seen = True
        return None

    def libraries(self, after: ClassValue | None = None) -> list[str]:
        """The dotted names of the library classes it derives from."""
        seen = after is None
        names = []
        for cls in self.mro():
            if seen and isinstance(cls, Lib):
                names.append(cls.name)
            if cls is after:
                seen = True
        return names

    def opaque_base(self) -> bool:
        """Whether some base could not be found."""
        return any(not isinstance(cls, (ClassValue, Lib)) for cls in self.mro())


def _linear(cls: ClassValue) -> tuple[Value, ...]:
    """C3 linearisation; where the classes contradict each other, depth first."""
    sequences: list[list[Value]] = [
        list(base.mro()) if isinstance(base, ClassValue) else [base] for base in cls.bases
    ] + [list(cls.bases)]
    result: list[Value] = [cls]
    while any(sequences):
        for sequence in sequences:
            if sequence and not any(_among(sequence[0], other[1:]) for other in sequences):
                head = sequence[0]
                break
        else:
            head = next(sequence[0] for sequence in sequences if sequence)
        result.append(head)
        sequences = [[item for item in sequence if not _alike(item, head)] for sequence in sequences]
    return tuple(result)


def _alike(left: Value, right: Value) -> bool:
    return left is right or (isinstance(left, Lib) and isinstance(right, Lib) and left.name == right.name)


def _among(item: Value, others: list[Value]) -> bool:
    return any(_alike(item, other) for other in others)


class Instance(Object):
    """An object of a project class that is no module."""

    __slots__ = ("cls",)

    def __init__(self, cls: ClassValue, born: Site | None = None) -> None:
        super().__init__(born)
        self.cls = cls


class Module(Object):
    """A module. `cls` is the project's class, `layer` the torch name with its `table` entry; neither: only its role is known.

    `sensitive` and `training` are what is known where its insides are not in sight. Fields beginning with "#" are not
    attributes: "#mode" (stamp, training), "#frozen", "#registered", "#initialised", "#early", "#reads_mode".
    """

    __slots__ = ("cls", "layer", "name", "sensitive", "settings", "table")

    def __init__(
        self,
        born: Site | None = None,
        *,
        cls: ClassValue | None = None,
        layer: str = "",
        table: Layer | None = None,
        sensitive: Tri = None,
        name: str = "",
    ) -> None:
        super().__init__(born)
        self.cls = cls
        self.layer = layer
        self.table = table
        self.sensitive = sensitive
        self.name = name
        self.settings: dict[str, Value] = {}

    @property
    def class_name(self) -> str:
        """The class as the user knows it."""
        return self.layer or (self.cls.name if self.cls is not None else "")


class ParameterValue(Object):
    """A leaf tensor that requires gradients: an `nn.Parameter`, or `torch.randn(..., requires_grad=True)`.

    `declared` tells that it is an `nn.Parameter`. `source` is where its data came from.
    """

    __slots__ = ("declared", "flow", "source")

    def __init__(self, born: Site | None = None, *, declared: bool, flow: Flow | None = None) -> None:
        super().__init__(born)
        self.declared = declared
        source = flow or EMPTY
        self.flow = Flow(
            True,
            source.forwards,
            source.graph_forwards,
            source.kept,
            frozenset((self.id,)),
            source.source,
            source.loader,
        )


class Optimizer(Object):
    """An optimizer with the modules whose parameters it has; `whole` False when it may have others."""

    __slots__ = ("class_name", "inner", "modules", "whole")

    def __init__(self, born: Site | None, class_name: str, modules: frozenset[int], *, whole: bool) -> None:
        super().__init__(born)
        self.class_name = class_name
        self.modules = modules
        self.whole = whole


class Tool(Object):
    """An object of a library class, by the class's dotted name; `holds` are the objects it was built with."""

    __slots__ = ("args", "holds", "keywords", "name")

    def __init__(
        self,
        born: Site | None,
        name: str,
        holds: frozenset[int] = frozenset(),
        args: tuple[Value, ...] = (),
        keywords: dict[str, Value] | None = None,
    ) -> None:
        super().__init__(born)
        self.name = name
        self.holds = holds
        self.args = args
        self.keywords = keywords or {}


class Loader(Object):
    """A data loader, or what is used as one."""

    __slots__ = ("name",)

    def __init__(self, born: Site | None = None, name: str = "") -> None:
        super().__init__(born)
        self.name = name


class Content:
    """What a sequence holds: the first items one by one, and `rest` for any number of further ones."""

    __slots__ = ("items", "rest")

    def __init__(self, items: tuple[Value, ...] = (), rest: Value | None = None) -> None:
        self.items = items
        self.rest = rest

    def all(self) -> tuple[Value, ...]:
        """Every item, the summary of the further ones included."""
        return self.items if self.rest is None else (*self.items, self.rest)


class Sequence(Object):
    """A list, tuple, set or deque (`kind`). Its content is the field "items". `function` is the function that made it."""

    __slots__ = ("bounded", "function", "kind", "sites")

    def __init__(self, kind: str, content: Content, born: Site | None = None, function: object = None) -> None:
        super().__init__(born)
        self.kind = kind
        self.fields["items"] = content
        self.bounded = False
        self.function = function
        self.sites: list[Site] = []

    @property
    def content(self) -> Content:
        """What it holds now."""
        content: Content = self.fields["items"]
        return content

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the items
        """What its items carry."""
        return blend(value.flow for value in self.content.all())


class Mapping(Object):
    """A dict: known keys are fields ("key", value); "rest" is what lies under any other key."""

    __slots__ = ("function", "sites")

    def __init__(self, born: Site | None = None, function: object = None) -> None:
        super().__init__(born)
        self.function = function
        self.sites: list[Site] = []

    def values(self) -> tuple[Value, ...]:
        """Every value in it."""
        return tuple(value for value in self.fields.values() if isinstance(value, Value))

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the values
        """What its values carry."""
        return blend(value.flow for value in self.values())


class Namespace(Object):
    """A project file that was imported; its fields are its globals."""

    __slots__ = ("unit",)

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self.unit = unit


class Context(Value):
    """A context manager that sets the grad mode; `enabled` None when that is not known. `restores`: it was already applied."""

    __slots__ = ("enabled", "name", "previous")

    def __init__(self, name: str, enabled: Tri, previous: object = None) -> None:
        self.name = name
        self.enabled = enabled
        self.previous = previous


def join(left: Any, right: Any, symbol: Symbol | None = None) -> Any:  # noqa: ANN401, C901, PLR0911 - fields hold plain flags beside values
    """What is known of something that is `left` where `symbol` holds and `right` where it does not."""
    if left is right:
        return left
    if left is MISSING:
        return right if isinstance(right, (Value, Content, tuple)) else None
    if right is MISSING:
        return left if isinstance(left, (Value, Content, tuple)) else None
    if isinstance(left, Content) and isinstance(right, Content):
        return _join_content(left, right)
    if isinstance(left, tuple) and isinstance(right, tuple):  # "#mode": a stamp and a mode
        return (max(left[0], right[0]), left[1] if left[1] == right[1] else None)
    if not isinstance(left, Value) or not isinstance(right, Value):
        return left if left == right else None
    if (
        isinstance(left, Const)
        and isinstance(right, Const)
        and left.value == right.value
        and type(left.value) is type(right.value)
    ):
        return left
    if isinstance(left, Plain) and isinstance(right, Plain):
        return left
    if (
        isinstance(left, Tensor)
        and isinstance(right, Tensor)
        and left.kind is right.kind
        and left.made_at == right.made_at
    ):
        flow = alternatives(left.flow, right.flow)
        return left if flow is left.flow else left.with_flow(flow)
    if isinstance(left, Lib) and isinstance(right, Lib) and left.name == right.name:
        return left
    if isinstance(left, FunctionValue) and isinstance(right, FunctionValue) and left.node is right.node:
        return left
    if isinstance(left, Params) and isinstance(right, Params):
        return left if left.modules == right.modules else Params(left.modules | right.modules, whole=False)
    return _options(left, right, symbol)


def _options(left: Value, right: Value, symbol: Symbol | None) -> Value:
    options: list[tuple[Facts, Value]] = []
    for value, arm in ((left, True), (right, False)):
        fact: Facts = frozenset() if symbol is None else frozenset(((symbol, arm),))
        for facts, option in value.options if isinstance(value, Either) else ((frozenset(), value),):
            new = facts | fact
            same = next((i for i, (_, known) in enumerate(options) if known is option), None)
            if same is None:
                options.append((new, option))
            else:
                options[same] = (options[same][0] & new, option)
    if len(options) == 1:
        return options[0][1]
    if len(options) > MAX_OPTIONS:
        return summary(value for _, value in options)
    return Either(tuple(options))


def summary(values: Any) -> Value:  # noqa: ANN401 - any iterable of values
    """One value that stands for all of these, when there are too many to tell apart."""
    found = list(values)
    if not found:
        return Unknown()
    if all(isinstance(value, (Const, Plain)) for value in found):
        return found[0] if len(found) == 1 else Plain()
    result = found[0]
    if len(found) <= MAX_OPTIONS:
        for value in found[1:]:
            result = join(result, value)
        return result  # type: ignore[no-any-return]  # join of two values is a value
    if all(isinstance(value, Params) for value in found):
        return Params(frozenset().union(*(value.modules for value in found)), whole=False)
    return Unknown(blend(value.flow for value in found), held(found))


def _join_content(left: Content, right: Content) -> Content:
    if len(left.items) == len(right.items):
        items = tuple(join(a, b) for a, b in zip(left.items, right.items, strict=True))
        rest = left.rest if right.rest is None else right.rest if left.rest is None else join(left.rest, right.rest)
        return Content(items, rest)
    short, long = (left, right) if len(left.items) < len(right.items) else (right, left)
    kept = tuple(join(a, b) for a, b in zip(short.items, long.items, strict=False))
    others = [*long.items[len(kept) :], *(v for v in (short.rest, long.rest) if v is not None)]
    return Content(kept, summary(others))


def held(values: Any, depth: int = 3) -> frozenset[int]:  # noqa: ANN401 - any iterable of values
    """The objects that someone who gets these values can reach: optimizers, modules and tools that hold them."""
    found: set[int] = set()
    for value in values:
        _reach(value, found, depth)
    return frozenset(found)


def _reach(value: Any, found: set[int], depth: int) -> None:  # noqa: ANN401 - fields hold plain flags beside values
    if isinstance(value, (Optimizer, Module, ParameterValue)):
        found.add(value.id)
    elif isinstance(value, (Unknown, Tool)):
        found |= value.holds
    elif isinstance(value, Params):
        found |= value.modules
    elif isinstance(value, Method):
        _reach(value.of, found, depth)
    elif depth <= 0:
        return
    elif isinstance(value, Bound):
        _reach(value.self, found, depth - 1)
    elif isinstance(value, Either):
        for _, option in value.options:
            _reach(option, found, depth - 1)
    elif isinstance(value, Sequence):
        for item in value.content.all():
            _reach(item, found, depth - 1)
    elif isinstance(value, Partial):
        for item in (value.func, *value.args, *value.keywords.values()):
            _reach(item, found, depth - 1)
    elif isinstance(value, (Mapping, Instance)):
        for item in value.fields.values():
            _reach(item, found, depth - 1)


class Stream(Value):
    """What a loop goes through: `item` for each pass, or exactly `content`; `loader` when these are a loader's batches."""

    __slots__ = ("content", "endless", "item", "loader")

    def __init__(self, item: Value, content: Content | None = None, loader: int = 0, *, endless: bool = False) -> None:
        self.item = item
        self.content = content
        self.loader = loader
        self.endless = endless

    @property
    def flow(self) -> Flow:  # type: ignore[override]  # computed from the item
        """What an item carries."""
        return self.item.flow


class Spread(Value):
    """A starred argument whose number of items is not known."""

    __slots__ = ("content",)

    def __init__(self, content: Content) -> None:
        self.content = content


def latest() -> int:
    """The number of the newest object or symbol."""
    return next(_serial)


def number(source: Source = Source.UNKNOWN) -> Tensor:
    """A tensor without a graph whose data came from `source`."""
    return Tensor(Flow(source=source))

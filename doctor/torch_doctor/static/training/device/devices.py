"""Devices and dtypes that a script names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_doctor.static import program as p
from torch_doctor.static.knowledge import Lasting
from torch_doctor.static.library import library, library_family
from torch_doctor.static.measuring import arguments
from torch_doctor.static.program.walking import walk
from torch_doctor.static.state import per_run
from torch_doctor.static.training.unresolved import elsewhere
from torch_doctor.static.values import (
    CPU,
    GPU,
    NAMED,
    NOTHING,
    Call,
    Const,
    Default,
    Either,
    Lib,
    ParameterValue,
    Plain,
    Tensor,
    Unknown,
    Value,
    fresh_symbol,
    symbol_of,
)
from torch_doctor.static.values.symbols import DEVICE, WHEREABOUTS

if TYPE_CHECKING:
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Conditions, Symbol


class Placing(Lasting):
    """Which functions and classes name devices."""

    named: dict[p.Node, bool] = per_run(dict)  # by their nodes


CURRENT = "current"
"""The GPU that the process is set to, the first where nobody has set it."""
TESTS = frozenset(("is_cuda", "is_mps", "is_cpu"))
"""What a tensor says of its device besides the device itself."""
METHODS = {"cuda": "cuda", "cpu": "cpu", "xpu": "xpu", "mps": "mps"}
"""Methods that move to a device of this type."""
_STAYS = frozenset(("share_memory", "share_memory_", "pin_memory"))
DTYPES = {
    **{name: name for name in ("float16", "bfloat16", "float32", "float64")},
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
}
"""Dtypes by their names in torch, and by those of the methods that convert to them."""


def device_of(value: Value | None) -> str:
    """The type of a device, "" where it is not known; what is one or the other is "cuda" where it may be that."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value.partition(":")[0]
    if isinstance(value, Default):
        return ""  # the user says which GPU, or that there is none: `-1`
    if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return "cuda"
    if isinstance(value, Either):
        types = {device_of(option) for _, option in value.options}
        return "cuda" if "cuda" in types else types.pop() if len(types) == 1 else ""
    symbol: Any = value.symbol if isinstance(value, Plain) else ()
    if len(symbol) == 3 and symbol[0] == "." and symbol[2] == "type":
        symbol = symbol[1]
    return str(symbol[1]) if symbol and symbol[0] == DEVICE else ""


@library_family(
    lambda name: (name.startswith("torch.cuda.") and name.endswith("is_available")) or name == "torch.cuda.device_count"
)
def available(_: Run, name: str, __: Call) -> Plain:
    """Whether there is a GPU: a test of it decides the same wherever it stands."""
    return Plain(("flag", name))


def needs_of(value: Value | None) -> Conditions:
    """What has to hold for a device to be another than the CPU, where one test chooses between both."""
    if isinstance(value, Either):
        away = [facts | needs_of(option) for facts, option in value.options if device_of(option) not in ("", CPU)]
        return away[0] if len(away) == 1 else frozenset()
    match value.symbol if isinstance(value, Plain) else ():
        case (str(word), _, frozenset(needs), *_) if word == DEVICE:
            return needs
    return frozenset()


def asks_for_gpu(symbol: object) -> bool:
    """Whether a test asks whether there is a GPU."""
    if isinstance(symbol, tuple):
        return any(map(asks_for_gpu, symbol))
    return isinstance(symbol, str) and symbol.endswith((".is_available", ".device_count"))


def lacks_gpu(symbol: Symbol, holds: bool) -> bool:  # noqa: FBT001 - a fact of a path
    """Whether a test came out as it does on a machine without a GPU, where what is sent to one stays."""
    match symbol:
        case ("not", tuple(inner)):
            return lacks_gpu(inner, not holds)
        case ("flag", _):
            return not holds and asks_for_gpu(symbol)
        case ("==", tuple(left), tuple(right)):
            types = {_type_in(left), _type_in(right)}
            chosen = _is_chosen(left) or _is_chosen(right)
            return (CPU in types and (chosen or "" in types)) if holds else chosen and types == {"cuda"}
        case ("and" | "or" as joined, *parts):
            return holds is (joined == "or") and any(
                isinstance(part, tuple) and lacks_gpu(part, holds) for part in parts
            )
    return False


def differ(left: Value, right: Value) -> bool:
    """Whether two devices are of different types, whatever machine the script runs on."""
    types = {_type_in(symbol_of(each)) for each in (left, right)}
    fixed = not any(isinstance(each, Default) or _is_chosen(symbol_of(each)) for each in (left, right))
    return fixed and "" not in types and len(types) == len((left, right))


def _type_in(symbol: Symbol) -> str:
    """The type of a device, or that a text names."""
    match symbol:
        case ("const", str(name)):
            return name.partition(":")[0]
        case (".", tuple(device), "type"):
            return _type_in(device)
        case (str(word), str(name), *_) if word == DEVICE:
            return name
    return ""


def _is_chosen(symbol: Symbol) -> bool:
    """Whether a test for a GPU has chosen this device, or its type."""
    match symbol:
        case (".", tuple(device), "type"):
            return _is_chosen(device)
        case (str(word), _, frozenset(needs), *_) if word == DEVICE:
            return bool(needs)
    return False


@library("torch.device")
def made(_: Run, __: str, call: Call) -> Plain:
    """What `torch.device` returns."""
    given = call.argument(0, "device", "type")
    name, needs = device_of(given), needs_of(given)
    unknown = symbol_of(given) if given is not None and elsewhere.chosen(given) else fresh_symbol()
    number = call.argument(1, "index")
    which = gpu_of(given) if number is None or number is NOTHING else _number(number)
    known = (needs, which) if which != CURRENT else (needs,) if needs else ()
    return Plain((DEVICE, name, *known) if name else (DEVICE, "", unknown))


def gpu_of(value: Value | None) -> str:
    """Which GPU is given as a device: its number, or CURRENT where none is named; "" where that is not known.

    The CPU, which a test chooses where there is no GPU, does not count.
    """
    if value is None or value is NOTHING:
        return CURRENT
    if isinstance(value, Either):
        found = {gpu_of(option) for _, option in value.options if device_of(option) != CPU}
        return found.pop() if len(found) == 1 else ""
    if isinstance(value, Const) and isinstance(value.value, str):
        return value.value.partition(":")[2] or CURRENT
    match value.symbol if isinstance(value, Plain) else ():
        case (str(word), str(name), *rest) if word == DEVICE and name:
            return str(rest[1]) if len(rest) > 1 else CURRENT
    return _number(value)


def _number(value: Value) -> str:
    if isinstance(value, Const) and not isinstance(value, Default) and type(value.value) is int:
        return str(value.value)
    return ""


def gpu_moved_to(method: str, call: Call) -> str:
    """Which GPU a move goes to, in the words of `gpu_of`; "" where it goes to none."""
    if moved_to(method, call)[0] != "cuda" or "**" in call.keywords:
        return ""
    return gpu_of(call.argument(0, "device"))


def dtype_of(value: Value | None) -> str:
    """A dtype by torch's name without the `torch.`, "" where it is not known."""
    return DTYPES.get(value.name.removeprefix("torch."), "") if isinstance(value, Lib) else ""


def spoken_of(run: Run, node: p.Node) -> bool:
    """Whether what is written inside a function or a class moves something, or makes it on a device."""
    known = run.of(Placing).named.get(node)
    if known is None:
        known = run.of(Placing).named[node] = any(
            (isinstance(each, p.Attribute) and each.name in ("to", "cuda"))
            or (isinstance(each, p.Call) and any(name == "device" for name, _ in each.keywords))
            for each in walk(node)
        )
    return known


def moved_to(method: str, call: Call) -> tuple[str, str]:
    """Where a move goes, and to which dtype; "" for what stays, or is not known."""
    if method != "to":
        return METHODS.get(method, ""), DTYPES.get(method, "")
    given = [*call.args, *(call.keywords[name] for name in ("device", "dtype") if name in call.keywords)]
    devices, dtypes = [device_of(value) for value in given], [dtype_of(value) for value in given]
    return next(filter(None, devices), ""), next(filter(None, dtypes), "")


def goal(method: str, call: Call) -> str | Value | None:
    """Where a move goes: CPU, GPU or NAMED, "" where that is not known, or the tensor to which it goes.

    None: it only converts, and the thing stays where it is.
    """
    if method == "type":
        return _of_type(call.argument(0, "dtype"))
    if method != "to":
        if method in METHODS:
            return CPU if method == "cpu" else GPU
        return (
            None if method in DTYPES or method in _STAYS else call.args[0] if method == "type_as" and call.args else ""
        )
    given = call.keywords.get("device", call.argument(0, "other"))
    if given is None or (isinstance(given, Lib) and given.name.startswith("torch.")):
        return None if "**" not in call.keywords else ""
    return chosen(given)


def needs_to_go(method: str, call: Call) -> Conditions:
    """What has to hold for such a move to leave the CPU."""
    return needs_of(call.keywords.get("device", call.argument(0, "other"))) if method == "to" else frozenset()


def tensor_class(value: Value | None) -> str:
    """Where tensors of a class lie, `torch.cuda.FloatTensor`: CPU or GPU; "" for what is none, a dtype among others."""
    name = value.name if isinstance(value, Lib) else value.value if isinstance(value, Const) else None
    if not isinstance(name, str) or not name.startswith("torch.") or not name.endswith("Tensor"):
        return ""
    return GPU if name.startswith("torch.cuda.") else CPU


def _of_type(given: Value | None) -> str | None:
    """Where `x.type(given)` lies: a dtype leaves it where it is."""
    if isinstance(given, Either):
        goals = {_of_type(option) for _, option in given.options}
        return GPU if GPU in goals else goals.pop() if len(goals) == 1 else ""
    if isinstance(given, Lib) and not tensor_class(given):
        return None if given.name.startswith("torch.") else ""
    return tensor_class(given)


def chosen(given: Value) -> str | Value | None:
    """What is given as a device, in the words of `goal`."""
    if elsewhere.chosen(given):
        return ""  # the CPU, perhaps
    name = device_of(given)
    if name or (isinstance(given, Const) and given.value is None):
        return CPU if name == CPU else "" if name in ("", "meta") else GPU
    if isinstance(given, Plain):
        if given.size is not None and given.size.name == "device":
            return given.size.args[0]
        if given.size is not None and given.size.name == "dtype":
            return None
        return "" if arguments.may_be_dtype(given) else NAMED
    if isinstance(given, (Tensor, ParameterValue)):
        return given
    called = str(given.symbol[-1]) if isinstance(given, Unknown) else ""  # else it may be a dtype, or a tensor
    return NAMED if any(word in called for word in ("device", "gpu", "cuda")) else ""


def asked_for(symbol: Symbol) -> bool:
    """Whether a test asks for the device of a tensor: what is moved in its arm goes back to where the others are."""
    if symbol[0] == WHEREABOUTS:
        return True
    if symbol[0] == "." and (symbol[2] in TESTS or (symbol[2] == "type" and symbol[1][::2] == (".", "device"))):
        return True
    return any(asked_for(part) for part in symbol[1:] if isinstance(part, tuple) and part)

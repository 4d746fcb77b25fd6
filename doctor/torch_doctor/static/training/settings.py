"""Switches of the whole process, where the script sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import library_family
from torch_doctor.static.tables import settings
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Call, Const, Lib, Tool, Value
from torch_doctor.trace import FiniteChecked, Seeded, SettingSet, Tri

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


def attribute_set(run: Run, holder: Lib, new: Value, node: p.Node, target: p.Attribute) -> None:
    """`torch.backends.cudnn.benchmark = True`."""
    setting = f"{canonical(holder.name)}.{target.name}"
    if setting in settings.ATTRIBUTES:
        run.emit(SettingSet, node, setting=setting, name=run.text(target), value=_truth(new))


def item_set(run: Run, holder: Lib, key: Value, new: Value, node: p.Node) -> None:
    """`os.environ["CUDA_LAUNCH_BLOCKING"] = "1"`."""
    if holder.name == "os.environ" and isinstance(key, Const) and key.value in settings.VARIABLES:
        value = str(new.value) not in ("", "0") if isinstance(new, Const) else None
        run.emit(SettingSet, node, setting=key.value, name=str(key.value), value=value)


def seeded(run: Run, func: Value, call: Call) -> None:
    """A call that gives a seed, or may do so: by whatever library, what does it or what is given says so."""
    name = func.name if isinstance(func, Lib) else call.name
    if "seed" in name.lower() or "seed" in call.name.lower() or any("seed" in each for each in call.keywords):
        run.emit(Seeded, call.node, function=name)


def checked(run: Run, func: Value, spelling: str, node: p.Node) -> None:
    """A call that tests for NaN or Inf, or may do so: what it is called says so."""
    last = (func.name if isinstance(func, Lib) else spelling).rpartition(".")[2].lower()
    if any(word in last for word in ("nan", "finite", "isinf")):
        run.emit(FiniteChecked, node, function=spelling)


@library_family({*settings.SWITCHES, *settings.CONTEXTS})
def called(run: Run, name: str, call: Call) -> Tool:
    """A function or context that switches something."""
    if name in settings.SWITCHES:
        value = call.flag(settings.SWITCHES[name], position=0)
        run.emit(SettingSet, call.node, setting=settings.ANOMALY, name=call.name, value=value)
    tool: Tool = run.own(Tool(run.site(call.node), name, args=call.args, keywords=call.keywords))
    return tool


def entered(run: Run, context: Tool, node: p.Node) -> None:
    """A context that switches something on is entered, as far as it does so for every step in it."""
    if context.name not in settings.CONTEXTS:
        return
    value: Tri = None if "schedule" in context.keywords or "**" in context.keywords else True
    enabled = context.keywords.get("enabled", context.args[0] if context.args else None)
    if enabled is not None and context.name == "torch.autograd.profiler.profile":
        value = _truth(enabled)
    run.emit(SettingSet, node, setting=settings.CONTEXTS[context.name], name=canonical(context.name), value=value)


def left(run: Run, context: Tool, node: p.Node) -> None:
    """Such a context is left."""
    setting = settings.CONTEXTS.get(context.name, settings.ANOMALY if context.name in settings.SWITCHES else "")
    if setting:
        run.emit(SettingSet, node, setting=setting, name=canonical(context.name), value=False)


def method(run: Run, context: Tool, name: str, node: p.Node) -> None:
    """`profiler.start()` and `profiler.stop()`."""
    begins = settings.BEGINNINGS.get(name)
    if begins is not None:
        (entered if begins else left)(run, context, node)


def _truth(value: Value) -> Tri:
    return bool(value.value) if isinstance(value, Const) else None

"""Switches of the whole process, where the script sets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.library import Stage, library_family
from torch_doctor.static.observer import Named, Observer, override
from torch_doctor.static.tables import settings
from torch_doctor.static.tables.canonical import canonical
from torch_doctor.static.values import Call, Const, Lib, Method, Tool, Value
from torch_doctor.trace import SettingSet, Tri

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run


class GlobalSettings(Observer, invoked=(Named(Method, settings.BEGINNINGS),)):
    """Attributes, variables, functions and contexts that switch something of the whole process."""

    writes = (SettingSet,)

    @override
    def attribute_set(self, run: Run, holder: Value, target: p.Attribute, value: Value, node: p.Node) -> None:
        """`torch.backends.cudnn.benchmark = True`."""
        setting = f"{canonical(holder.name)}.{target.name}" if isinstance(holder, Lib) else ""
        if setting in settings.ATTRIBUTES:
            run.emit(SettingSet, node, setting=setting, name=run.text(target), value=_truth(value))

    @override
    def item_set(self, run: Run, holder: Value, key: Value, value: Value, node: p.Node) -> None:
        """`os.environ["CUDA_LAUNCH_BLOCKING"] = "1"`."""
        environment = isinstance(holder, Lib) and holder.name == "os.environ"
        if environment and isinstance(key, Const) and key.value in settings.VARIABLES:
            on = str(value.value) not in ("", "0") if isinstance(value, Const) else None
            run.emit(SettingSet, node, setting=key.value, name=str(key.value), value=on)

    @override
    def opened(self, run: Run, context: Value, node: p.Node) -> None:
        """A context that switches something on is entered, as far as it does so for every step in it."""
        if not isinstance(context, Tool) or context.name not in settings.CONTEXTS:
            return
        value: Tri = None if "schedule" in context.keywords or "**" in context.keywords else True
        enabled = context.keywords.get("enabled", context.args[0] if context.args else None)
        if enabled is not None and context.name == "torch.autograd.profiler.profile":
            value = _truth(enabled)
        run.emit(SettingSet, node, setting=settings.CONTEXTS[context.name], name=canonical(context.name), value=value)

    @override
    def closed(self, run: Run, context: Value, node: p.Node) -> None:
        """Such a context is left."""
        if not isinstance(context, Tool):
            return
        setting = settings.CONTEXTS.get(context.name, settings.ANOMALY if context.name in settings.SWITCHES else "")
        if setting:
            run.emit(SettingSet, node, setting=setting, name=canonical(context.name), value=False)

    @override
    def invoked(self, run: Run, func: Value, call: Call) -> None:
        """`profiler.start()` and `profiler.stop()`."""
        begins = settings.BEGINNINGS.get(func.name) if isinstance(func, Method) else None
        if begins is not None and isinstance(func, Method):
            (self.opened if begins else self.closed)(run, func.of, call.node)


@library_family(settings.SWITCHES, stage=Stage.NOTE)
def switched(run: Run, name: str, call: Call) -> None:
    """A function that switches something."""
    if run.watches(GlobalSettings):
        value = call.flag(settings.SWITCHES[name], position=0)
        run.emit(SettingSet, call.node, setting=settings.ANOMALY, name=call.name, value=value)


def _truth(value: Value) -> Tri:
    return bool(value.value) if isinstance(value, Const) else None

"""The role of something whose making is out of sight, told by how it is used, by its annotation and by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_doctor.static import program as p
from torch_doctor.static.attributes import Attributes
from torch_doctor.static.flow import EMPTY, Flow
from torch_doctor.static.tables import layers, training
from torch_doctor.static.values import (
    Lib,
    Loader,
    Module,
    Optimizer,
    Plain,
    Tool,
    Unknown,
    Value,
    fresh_symbol,
)
from torch_doctor.trace import Source

if TYPE_CHECKING:
    from torch_doctor.static.values import FunctionValue

_MODULE_USES = frozenset(
    [
        "parameters",
        "named_parameters",
        "eval",
        "train",
        "modules",
        "named_modules",
        "children",
        "load_state_dict",
        "requires_grad_",
    ]
)
_OPTIMIZER_NAME = re.compile(r"(^|_)(optimi[sz]ers?|optim|opt)(_|$|[dg]$)|optimi[sz]er", re.IGNORECASE)
_LOADER_NAME = re.compile(
    r"loader|(^|_)(dl|batches|iterator|data_iter|train_iter|test_iter|val_iter|valid_iter)$", re.IGNORECASE
)
_SCHEDULER_NAME = re.compile(r"sched", re.IGNORECASE)
_SCALER_NAME = re.compile(r"scaler", re.IGNORECASE)
_MODEL_NAME = re.compile(r"(^|_)(model|net|network|module)(_|$)|^net[A-Z]\w*$", re.IGNORECASE)
_SETTING_NAME = re.compile(
    r"^(args|cfg|conf|config|configs|hparams|hps|params|flags|options?|settings|epochs?|device|lr|seed|path|name|mode|phase|split"
    r"|verbose|step|steps|iteration|rank|gpu|batch_size|num_\w+|n_\w+|max_\w+|min_\w+|\w+_(path|dir|size|interval|freq|rate|steps?|epochs?|file))$"
)
_PLAIN_TYPES = frozenset(f"builtins.{name}" for name in ("int", "float", "str", "bool", "bytes", "dict"))


class Roles(Attributes):
    """The part of the executor that guesses roles."""

    def named(self, value: Value, target: p.Expr, source: p.Expr) -> Value:
        """The value, given the role that its use and name tell when nothing else does."""
        if not isinstance(value, Unknown) or value.flow.forwards or not isinstance(target, (p.Name, p.Attribute)):
            return value
        if isinstance(source, (p.Attribute, p.Index, p.Name)) and not value.holds:
            return value
        return self.role(self.text(target), value) or value

    def uses_of(self, name: str) -> set[str]:
        """The attributes that the current function, or for `self.x` and globals the file, takes of a name."""
        program = self.frame.unit.program
        what = self.frame.what
        if what is None or "." in name:
            return program.uses.get(name, set())
        return what.node.uses.get(name, set())

    def role(self, name: str, value: Unknown) -> Value | None:
        """What something called `name` is; None when that stays unknown."""
        uses = self.uses_of(name)
        last = name.rpartition(".")[2]
        born = None
        if ("zero_grad" in uses or "step" in uses) and (_OPTIMIZER_NAME.search(last) or uses & {"param_groups"}):
            return self.own(Optimizer(born, "", self.with_parts(self._modules_in(value)), whole=False))
        if "step" in uses and _SCHEDULER_NAME.search(last):
            return self.own(Tool(born, "torch.optim.lr_scheduler.LRScheduler", value.holds))
        if uses & {"unscale_", "scale"} and _SCALER_NAME.search(last):
            return self.own(Tool(born, "torch.amp.GradScaler", value.holds))
        if uses & _MODULE_USES and not uses & {"fit", "predict", "step"}:
            return self.role_module(last)
        if _LOADER_NAME.search(last) and not uses & {"load", "run"}:
            return self.own(Loader(born, last))
        return None

    def _modules_in(self, value: Unknown) -> frozenset[int]:
        return frozenset(number for number in value.holds if isinstance(self.objects.get(number), Module))

    def role_module(self, name: str) -> Module:
        """A module of which nothing is known but that it is one."""
        module: Module = self.own(Module(None, name=name))
        module.fields["#mode"] = (0, None)
        return module

    def argument(self, parameter: p.Parameter, function: FunctionValue) -> Value:
        """What a parameter is when nobody says."""
        name = parameter.name
        outer = self.frame
        self.frame = self.frame_for(function)
        annotated = self._annotated(parameter)
        guessed = annotated or self.role(name, Unknown())
        uses = self.uses_of(name)
        self.frame = outer
        if guessed is not None:
            return guessed
        if _MODEL_NAME.search(name) and name in function.node.calls and not uses & {"fit", "predict"}:
            return self.role_module(name)
        if _SETTING_NAME.match(name):
            return Plain(fresh_symbol("flag"))
        return Unknown(Flow(graph=None), symbol=fresh_symbol("flag"))

    def _annotated(self, parameter: p.Parameter) -> Value | None:
        annotation = parameter.annotation
        if isinstance(annotation, p.Index):
            annotation = annotation.key if not isinstance(annotation.key, p.Display) else None
        if isinstance(annotation, p.Operation) and annotation.op == "|":
            annotation = annotation.operands[0]
        if not isinstance(annotation, (p.Name, p.Attribute)):
            return None
        found = self.evaluate(annotation)
        if not isinstance(found, Lib):
            return None
        name = layers.canonical(found.name)
        if name in _PLAIN_TYPES or name.startswith("numpy."):
            return Plain(fresh_symbol("flag"))
        if name in layers.MODULE_BASES:
            return self.role_module(parameter.name)
        if training.loader_of(name):
            return self.own(Loader(None, parameter.name))
        if name in training.OPTIMIZER_BASES or training.optimizer_of(name):
            return self.own(Optimizer(None, "", frozenset(), whole=False))
        if name == "torch.Tensor":
            return Unknown(Flow(graph=None, source=Source.UNKNOWN))
        return None

    def frame_for(self, function: FunctionValue):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a Frame
        """A frame in which a function's parameters can be looked at."""
        raise NotImplementedError


__all__ = ["EMPTY", "Roles"]

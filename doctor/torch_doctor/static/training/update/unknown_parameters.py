"""What happens to something unknown that may be a parameter of the script's modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.static.training.module import module_parts
from torch_doctor.static.training.unresolved import escaping
from torch_doctor.static.training.update import parameters
from torch_doctor.static.values import Module, ParameterValue, Unknown

if TYPE_CHECKING:
    from torch_doctor.static import program as p
    from torch_doctor.static.run import Run
    from torch_doctor.static.values import Value

STATE = frozenset(("data", "grad", "_grad", "requires_grad"))
"""The attributes of a tensor that scripts set."""


def set_on(run: Run, value: Value, name: str, new: Value, node: p.Node) -> None:
    """One of these attributes of a value is set: any parameter that it may be has another one from here on."""
    if not isinstance(value, Unknown) or not value.holds or name not in STATE:
        return
    if name == "requires_grad":
        found = module_parts.with_parts(run, value.holds)
        found = frozenset(number for number in found if isinstance(run.objects.get(number), (Module, ParameterValue)))
        parameters.set_trainable(run, found, new, node, whole=False, perhaps=True)
    else:
        escaping.hand_over(run, run.text(node), (value,), (), node)

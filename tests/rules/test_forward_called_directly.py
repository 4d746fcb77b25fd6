from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.trace import ForwardByName, Scope, ScopeKind, Site
from torch_doctor_rules.module.forward_called_directly import ForwardCalledDirectly

if TYPE_CHECKING:
    from .conftest import Script


HOOKS = "its hooks"


def named(script: Script, path: str, function: str) -> ForwardByName:
    """`net.forward(x)`, in a function of this file."""
    site = Site(path, 3, 5, 3, 19)
    scope = Scope(ScopeKind.CALL, site, Scope(ScopeKind.ROOT, site), name=function)
    return script.trace.add(ForwardByName(site=site, scope=scope, module=1, name="net", class_name="Net", skips=HOOKS))


def test_a_call_in_a_loop_is_one_finding_that_says_what_to_call(script: Script) -> None:
    net = script.model("net")
    for _ in script.loop():
        script.add(ForwardByName, "net.forward(x)", module=net, name="net", class_name="Net", skips=HOOKS)
    [finding] = script.findings(ForwardCalledDirectly)
    assert finding.message == "`net.forward` is called directly, which skips its hooks"
    assert finding.help == "call the module itself: `net(...)`"
    assert [step.note for step in finding.trail] == ["`net` is created here"]


def test_a_function_of_a_test_file_is_silent(script: Script) -> None:
    named(script, "tests/test_net.py", "test_shape")
    assert script.findings(ForwardCalledDirectly) == []


def test_a_function_that_is_called_test_is_no_test(script: Script) -> None:
    named(script, "train.py", "test")
    assert len(script.findings(ForwardCalledDirectly)) == 1

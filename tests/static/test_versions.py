"""Tests of which torch is there: what they decide is meant for one or the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.scan import Options, scan
from torch_doctor_rules.device.outdated_api import OutdatedApi

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD = """
import importlib.metadata, inspect, operator, re, sys
from distutils.version import LooseVersion
from importlib.util import find_spec

import numpy as np
import torch
from helpers import compare, compare_version, greater_or_equal, installed, requires
from packaging.specifiers import SpecifierSet
from packaging.version import Version

v = torch.__version__
major, minor = v.split(".")[:2]
first, *rest = [int(part) for part in v.split(".")[:2]]
new = compare("torch", operator.ge, "2.4.0")
flag = len(sys.argv) > 1


class Chosen:
    def __init__(self, text):
        self.new = tuple(map(int, text.split(".")[:2])) > (2, 3)


def at_least(wanted):
    return tuple(map(int, v.split(".")[:2])) >= tuple(map(int, wanted.split(".")))


"""
ASKING = [
    *("v.split('.')[0] > '1'", "int(v.split('.')[0]) > 1", "tuple(int(x) for x in v.split('.')[:2]) > (2, 3)"),
    *(
        "tuple(map(int, v.split('.')[:2])) > (2, 3)",
        "list(map(int, v.split('.')))[0] > 2",
        "(major, minor) > ('2', '3')",
    ),
    *("first > 2", "int(major) > 2 or int(minor) > 3", "float('.'.join(v.split('.')[:2])) > 2.3", "first * 100 > 203"),
    *(r"int(re.match(r'(\\d+)', v).group(1)) > 1", "re.sub('[a-z+].*', '', v) > '2.3'", "{'torch': v}['torch'] > '2'"),
    *(
        "Chosen(v).new",
        "at_least('2.4')",
        "LooseVersion(v) > '2.3'",
        "Version(v).release[:2] > (2, 3)",
        "max(first, 1) > 1",
    ),
    *("Version(v) in SpecifierSet('>=2.4')", "SpecifierSet('>=2.4').contains(v)", "any(v.startswith(x) for x in '23')"),
    *("new", "new and flag", "bool(new)", "all([new, flag])", "requires('torch>=2.4')", "greater_or_equal('2.4')"),
    *(
        "installed('torch') > (2, 3)",
        "find_spec('torch.amp.grad_scaler') is not None",
        "'GradScaler' in dir(torch.amp)",
    ),
    *("'GradScaler' in torch.amp.__dict__", "callable(getattr(torch.amp, 'GradScaler', None))", "not (v < '2.4')"),
    *("'device' in inspect.signature(torch.GradScaler).parameters", "importlib.metadata.version('torch') > '2.3'"),
    "np.array(list(map(int, v.split('.'))))[0] > 1",
]
NOT_ASKING = ["flag", "'--new' in sys.argv", "installed('cuda')", "torch.cuda.is_available()", "requires('apex')"]


@pytest.fixture
def said(write: Callable[..., Path]) -> Callable[[str], bool]:
    """Whether what warns today is reported in the arm that a test does not lead to."""

    def reported(test: str) -> bool:
        arms = f"if {test}:\n    s = torch.amp.GradScaler('cuda')\nelse:\n    s = torch.cuda.amp.GradScaler()\n"
        report = scan(Options(paths=(write("train.py", HEAD + arms),), rules=(OutdatedApi(),)))
        assert report.errors == []
        return bool(report.findings)

    return reported


@pytest.mark.parametrize("test", ASKING)
def test_an_arm_for_another_torch_is_meant_for_it(test: str, said: Callable[[str], bool]) -> None:
    assert not said(test)


@pytest.mark.parametrize("test", NOT_ASKING)
def test_an_arm_that_something_else_decides_is_for_every_torch(test: str, said: Callable[[str], bool]) -> None:
    assert said(test)

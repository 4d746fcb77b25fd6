"""The question whether a project has plain classes with a `forward` parses few files."""

from __future__ import annotations

import pytest

from torch_doctor.static.observers.module.named_forwards import has_plain_forward

BODY = "    def forward(self):\n        pass\n"


@pytest.mark.parametrize(
    "line",
    [
        "class A:",
        "class  A :",
        "class A():",
        "class A(object):",
        "class A( object ):",
        "class A(metaclass=M):",
        "class A(object, metaclass=M):",
        "class A(\n    object,\n):",
        "class A(  # of its own\n):",
        "class A \\\n    :",
        "class A(\\\n    ):",
        "class \\\n  A:",
        "class A(**options):",
        "class Ä:",
    ],
)
def test_classes_without_bases_are_found(line: str) -> None:
    assert has_plain_forward(f"import torch\n{line}\n{BODY}")


@pytest.mark.parametrize(
    "text",
    [
        f"class A(nn.Module):\n{BODY}",
        f"class A(Base, object):\n{BODY}",
        f"class A:\n{BODY}    __call__ = forward\n    def __call__(self):\n        pass\n",
        "class A:\n    def backward(self):\n        pass\n",
        "class A(:\n",
    ],
)
def test_other_classes_are_none(text: str) -> None:
    assert not has_plain_forward(text)

"""Templates of a new rule: its module, fixtures and test, and a package if there is none."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.24"]
build-backend = "hatchling.build"

[project]
name = "$project"
version = "0.1"
description = "More rules for torch-doctor"
requires-python = ">=3.10"
dependencies = ["torch-doctor"]

[project.entry-points."torch_doctor.rules"]
$letters = "$package:rules"

[tool.hatch.build.targets.wheel]
packages = ["src/$package"]

[tool.pytest.ini_options]
pythonpath = ["src"]
testpaths = ["tests"]
"""

_PACKAGE = '''\
"""More rules for torch-doctor. Any module of this package can define rules."""

from collections.abc import Iterator

from torch_doctor.rule import Rule, rules_in


def rules() -> Iterator[type[Rule]]:
    """Return all rules of this package, for its entry point."""
    return rules_in(__name__)
'''

_RULE = '''\
"""$code: describe the bug here."""

from collections.abc import Iterator

from torch_doctor.rule import Finding, Level, Rule
from torch_doctor.trace import Backward, Trace


class $class_name(Rule):
    """Describe the bug in one sentence. For now, the rule reports every `backward()`.

    ## Why is this bad?
    Describe the consequences here.

    ## Example
    ```python
    loss = model(torch.randn(8, 4)).mean()
    loss.backward()
    ```

    ## Use instead
    ```diff
     loss = model(torch.randn(8, 4)).mean()
    -loss.backward()
    ```

    ## When it is not reported
    Describe here what the rule cannot know.
    """

    code = "$code"
    name = "$name"
    level = Level.WARNING
    witness = "S"

    def check(self, trace: Trace) -> Iterator[Finding]:
        """Yield a finding for each event that shows the bug."""
        for event in trace.of(Backward):
            loss = f"`{event.name}`" if event.name else "the loss"
            message = f"`backward()` is called on {loss}"
            yield self.finding(event.site, message, help="describe here what to do")
'''

_BAD = """\
import torch
from torch import nn

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 2)).square().mean()
    loss.backward()  # $code
    optimizer.step()
"""

_OK = """\
import torch
from torch import nn

model = nn.Linear(2, 1)
model.eval()
with torch.no_grad():
    print(model(torch.randn(4, 2)))
"""

_TEST = '''\
"""Tests of $code: its fixtures and the examples on its page."""

from pathlib import Path

import pytest
from torch_doctor.testing import wrong_in, wrong_on_page

from $package import rules

RULES = [rule for rule in rules() if rule.code == "$code"]
FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "$code").iterdir())


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.name)
def test_what_is_marked_is_reported_and_nothing_else(fixture: Path) -> None:
    assert wrong_in(fixture, RULES) == []


def test_the_example_fires_and_what_to_use_instead_does_not() -> None:
    assert wrong_on_page("$code", RULES) == []
'''


def rule_files(code: str, name: str, package: str, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the path and content of each file of a rule; `folder` has the modules of its `package`."""
    words = {"code": code, "name": name, "package": package}
    class_name = "".join(part.capitalize() for part in name.split("-"))
    yield f"{folder}/{name.replace('-', '_')}.py", Template(_RULE).substitute(words, class_name=class_name)
    yield f"fixtures/{code}/bad_training.py", Template(_BAD).substitute(words)
    yield f"fixtures/{code}/ok_evaluation.py", _OK
    yield f"tests/test_{code.lower()}.py", Template(_TEST).substitute(words)


def pack_files(letters: str) -> Iterator[tuple[str, str]]:
    """Yield the path and content of each file of a pack without rules; `letters` is the prefix of its codes."""
    package = package_of(letters)
    words = {"project": package.replace("_", "-"), "package": package, "letters": letters}
    yield "pyproject.toml", Template(_PYPROJECT).substitute(words)
    yield f"src/{package}/__init__.py", _PACKAGE


def package_of(letters: str) -> str:
    """Return the name of the package of a new pack."""
    return f"torch_doctor_{letters}"

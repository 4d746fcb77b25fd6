"""Where a dotted name of a library is defined, by the imports of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.static.installed.conftest import SITE
from torch_doctor.static.installed.sources import LibrarySources

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NET = "import torch\nclass Net(torch.nn.Module): ...\n"


@pytest.fixture
def found(environment: Path) -> Callable[[str], str | None]:
    """The module and the name of a definition."""

    def find(name: str) -> str | None:
        place = LibrarySources((environment / SITE,)).find(name)
        return None if place is None else f"{place.module}:{place.name}"

    return find


@pytest.mark.parametrize(
    "initial",
    [
        "from .nets.deep import Net\n",
        "from nets_lib.nets import deep\nfrom .nets.deep import Net as Net\n",
        "from .nets import *\n",
        "from .nets.deep import *\n",
        "import sys\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .nets.deep import Net\nelse:\n    lazy()\n",
        "def __getattr__(name):\n    return load(name)\n",
        "try:\n    from .nets.deep import Net\nexcept ImportError:\n    pass\n",
        "from .nets.deep import Net as _Net\nNet = _Net\n",
    ],
)
def test_a_class_is_found_through_the_package(
    install: Callable[..., None], found: Callable[[str], str | None], initial: str
) -> None:
    install("nets_lib/nets/deep.py", NET)
    install("nets_lib/nets/__init__.py", "from .deep import *\n")
    install("nets_lib/__init__.py", initial)
    assert found("nets_lib.Net") == "nets_lib.nets.deep:Net"


def test_of_two_that_nobody_chooses_between_neither_is_taken(
    install: Callable[..., None], found: Callable[[str], str | None]
) -> None:
    install("nets_lib/one.py", NET)
    install("nets_lib/two.py", NET)
    install("nets_lib/__init__.py", "import importlib\n")
    assert found("nets_lib.Net") is None


def test_a_file_that_knows_nothing_of_torch_is_not_taken(
    install: Callable[..., None], found: Callable[[str], str | None]
) -> None:
    install("nets_lib/one.py", NET)
    install("nets_lib/mxnet/two.py", "class Net: ...\n")
    install("nets_lib/__init__.py", "import importlib\n")
    assert found("nets_lib.Net") == "nets_lib.one:Net"


def test_files_that_import_each_other_come_to_an_end(
    install: Callable[..., None], found: Callable[[str], str | None]
) -> None:
    install("nets_lib/one.py", "from .two import Net\n")
    install("nets_lib/two.py", "from .one import Net\n")
    assert found("nets_lib.one.Net") is None


@pytest.mark.parametrize("name", ["nets_lib", "nets_lib.nothing", "absent.Net", "nets_lib.broken.Net"])
def test_what_is_not_there_is_not_found(
    install: Callable[..., None], found: Callable[[str], str | None], name: str
) -> None:
    install("nets_lib/one.py", NET)
    install("nets_lib/broken.py", "class Net(:\n")
    assert found(name) is None

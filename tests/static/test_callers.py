"""Which scripts may call what a file defines."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_doctor.static.callers import may_import

TRAIN, RUN = Path("/code/project/train.py"), Path("/code/project/run.py")


@pytest.mark.parametrize(
    "source",
    [
        "import train\n",
        "import os, train as t\n",
        "from train import main\n",
        "from . import train\n",
        "from project.train import main\n",
        "from project import (\n    evaluate,\n    train,\n)\n",
        "from project import evaluate, \\\n    train\n",
        "def run():\n    from train import main\n    main()\n",
        "import project\nproject.train.main()\n",
        "import project as p\np . train.main()\n",
        "from code import project as p  # here\np.train.main()\n",
        "import importlib\nimportlib.import_module('train').main()\n",
        "import runpy\nrunpy.run_path('train.py')\n",
    ],
)
def test_an_import_in_any_form_is_one(source: str) -> None:
    assert may_import(source.encode(), RUN, TRAIN)


@pytest.mark.parametrize(
    "source",
    [
        "import torch\nmodel.train()\n",
        "import training\nfrom training import main\n",
        "from vision.train import main\n",
        "from . import model\nfrom .vision.train import main\n",
        "from .. import train\n",
        "import torch\nself.train.main()\n",
        "import vision\nvision.train.main()\n",
        "import project\nproject.vision.train.main()\n",
        "# from train import main is what the other script does\nimport torch  # to train\nmain()\n",
        "def train(model):\n    model.train()\n    return main(model)\n",
        "parser.add_argument('--train')\nmain()\n",
    ],
)
def test_the_same_word_elsewhere_is_none(source: str) -> None:
    assert not may_import(source.encode(), RUN, TRAIN)


@pytest.mark.parametrize("source", ["import project\n", "from project.train import main\n", "from . import train\n"])
def test_a_package_is_imported_with_each_of_its_parts(source: str) -> None:
    assert may_import(source.encode(), RUN, Path("/code/project/__init__.py"))

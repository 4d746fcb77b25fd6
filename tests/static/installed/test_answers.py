"""What the sources of a library tell of the modules that it builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.static.installed.answers import Care
from torch_doctor.trace.words import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_doctor.static.installed.answers import Answer

CARES = (Care(cares=True),)


def cares_with(answer: Answer | None) -> set[tuple[bool | None, tuple[str, ...]]]:
    assert answer is not None
    return {(care.cares, tuple(name for name, _ in care.leans)) for care in answer.cares}


@pytest.mark.parametrize(
    ("body", "cares"),
    [
        ("self.norm = nn.BatchNorm2d(8)", {(True, ())}),
        ("self.drop = nn.Dropout(0.5)", {(True, ())}),
        ("self.drop = nn.Dropout(0.0)", set()),
        ("self.norm = nn.LayerNorm(8)", set()),
        ("self.drop = nn.Dropout(rate)", {(True, ("rate",))}),
        ("self.drop = nn.Dropout(zero)", {(False, ("zero",))}),
        ("self.layers = nn.Sequential(nn.Linear(8, 8), nn.Dropout(rate), nn.ReLU())", {(True, ("rate",))}),
        ("self.drop = nn.Dropout(rate) if rate > 0 else nn.Identity()", {(True, ("rate",))}),
        ("if zero:\n            self.drop = nn.Dropout(0.5)", {(False, ("zero",))}),
        ("self.drop = nn.Dropout(settings.rate)", {(None, ())}),
        ("self.norm = norm_layer(8)", {(True, ("norm_layer",))}),
        (
            "self.layers = nn.ModuleList()\n        for _ in range(3):\n            self.layers.append(self.block())",
            {(True, ())},
        ),
        ("self.inner = Inner(drop=rate)", {(True, ("rate",))}),
        ("self.inner = Inner()", set()),
        ("self.inner = elsewhere.build(8)", {(None, ())}),
    ],
)
def test_a_constructor_tells_what_cares_about_the_mode(
    install: Callable[..., None], builds: Callable[[str], Answer | None], body: str, cares: set[object]
) -> None:
    install(
        "nets_lib/deep.py",
        f"""
        import elsewhere
        from torch import nn

        class Inner(nn.Module):
            def __init__(self, drop=0.0):
                super().__init__()
                self.drop = nn.Dropout(drop)

        class Net(nn.Module):
            def __init__(self, rate=0.1, zero=0.0, norm_layer=nn.BatchNorm2d, settings=None):
                super().__init__()
                {body.replace("        ", "                ")}
                self.head = nn.Linear(8, 2)

            def block(self):
                return nn.BatchNorm1d(8)
        """,
    )
    assert cares_with(builds("nets_lib.deep.Net")) == cares


def test_a_class_is_a_module_by_bases_in_other_files(
    install: Callable[..., None], builds: Callable[[str], Answer | None]
) -> None:
    install(
        "nets_lib/base.py",
        """
        import torch.nn as tnn

        class Base(tnn.Module):
            def __init__(self):
                super().__init__()
                self.drop = tnn.Dropout()
        """,
    )
    install("nets_lib/middle.py", "from .base import Base\nclass Middle(Base): ...\n")
    install(
        "nets_lib/deep.py",
        "import torch\nfrom . import middle\nclass Net(middle.Middle):\n    def __init__(self):\n        super().__init__()\n",
    )
    answer = builds("nets_lib.deep.Net")
    assert answer is not None
    assert answer.cares == CARES


def test_a_class_of_another_sort_is_no_module(
    install: Callable[..., None], builds: Callable[[str], Answer | None]
) -> None:
    install("nets_lib/data.py", "import torch\nclass Rows(torch.utils.data.Dataset): ...\nclass Log:\n    pass\n")
    assert [builds(f"nets_lib.data.{name}") for name in ("Rows", "Log")] == [None, None]


def test_dropout_by_function_counts_with_its_rate(
    install: Callable[..., None], builds: Callable[[str], Answer | None]
) -> None:
    install(
        "nets_lib/graph.py",
        """
        import torch
        import torch.nn.functional as F

        class Attention(torch.nn.Module):
            def __init__(self, width, dropout=0.0):
                super().__init__()
                self.dropout = dropout
                self.weight = torch.nn.Parameter(torch.empty(width))

            def message(self, x):
                return F.dropout(x * self.weight, p=self.dropout, training=self.training)
        """,
    )
    answer = builds("nets_lib.graph.Attention")
    assert answer is not None
    assert answer.cares == (Care(cares=False, leans=(("dropout", 1),), rate=True),)
    assert answer.parameters is True


def test_a_factory_builds_what_it_returns(install: Callable[..., None], builds: Callable[[str], Answer | None]) -> None:
    install(
        "nets_lib/deep.py",
        """
        from torch import nn
        from .loading import load

        class Net(nn.Module):
            def __init__(self, block, widths, norm_layer=None, classes=10):
                super().__init__()
                if norm_layer is None:
                    norm_layer = nn.BatchNorm2d
                self.norm = norm_layer(8)
                self.fc = nn.Linear(8, classes)

            def forward(self, x):
                x = self.norm(x)
                return self.fc(x)

        def _net(block, widths, weights, **kwargs):
            model = Net(block, widths, **kwargs)
            if weights is not None:
                model.load_state_dict(weights.get_state_dict())
            return model

        def net18(*, weights=None, **kwargs):
            return _net(None, [2, 2], weights, **kwargs)
        """,
    )
    answer = builds("nets_lib.deep.net18")
    assert cares_with(answer) == {(True, ("norm_layer",))}
    assert answer is not None
    assert (answer.kind, answer.head, answer.training) == (Kind.LOGITS, ("fc", -1), True)


def test_a_factory_that_evaluates_leaves_the_mode_open(
    install: Callable[..., None], builds: Callable[[str], Answer | None]
) -> None:
    install(
        "nets_lib/deep.py",
        """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 2)

        def net(pretrained=False):
            model = Net()
            if pretrained:
                model.eval()
            return model
        """,
    )
    answer = builds("nets_lib.deep.net")
    assert answer is not None
    assert answer.training is None


@pytest.mark.parametrize(
    ("forward", "kind", "head"),
    [
        ("return self.fc(x)", Kind.LOGITS, ("fc", -1)),
        ("return F.log_softmax(self.fc(x), dim=1)", Kind.LOG_PROBABILITIES, None),
        ("x = self.fc(x)\n        return x.softmax(-1)", Kind.PROBABILITIES, None),
        ("return self.classifier(x)", Kind.BOUNDED, ("classifier", 2)),
        ("return self.drop(self.fc(x)).squeeze(1)", Kind.LOGITS, ("fc", -1)),
        ("return self.last(x)", Kind.LOGITS, ("fc", -1)),
        ("if self.training:\n            return self.fc(x), x\n        return self.fc(x)", None, None),
        ("x = self.fc(x)\n        if self.scale:\n            x = x.sigmoid()\n        return x", None, None),
        ("return self.switch(x)", None, None),
        ("return {'logits': self.fc(x)}", None, None),
        ("return x @ self.fc.weight", None, None),
    ],
)
def test_forward_tells_what_it_ends_with(
    install: Callable[..., None],
    builds: Callable[[str], Answer | None],
    forward: str,
    kind: Kind | None,
    head: tuple[str, int] | None,
) -> None:
    install(
        "nets_lib/deep.py",
        f"""
        import torch.nn.functional as F
        from torch import nn

        class Net(nn.Module):
            def __init__(self, scale=True, scores=True):
                super().__init__()
                self.scale = unknown(scale)
                self.fc = nn.Linear(8, 2)
                self.drop = nn.Dropout(0.1)
                self.classifier = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2), nn.Sigmoid())
                self.switch = nn.Linear(8, 2) if scores else nn.Sigmoid()

            def last(self, x):
                return self.fc(x)

            def forward(self, x):
                {forward.replace("        ", "                ")}
        """,
    )
    answer = builds("nets_lib.deep.Net")
    assert answer is not None
    assert (answer.kind, answer.head) == (kind, head)


def test_a_library_that_builds_without_end_is_given_up(
    install: Callable[..., None], builds: Callable[[str], Answer | None]
) -> None:
    install(
        "nets_lib/deep.py",
        """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, depth, width=1):
                super().__init__()
                self.left = Net(depth - 1, width * 2)
                self.right = Net(depth - 1, width * 3)
                self.fc = nn.Linear(8, 2)
        """,
    )
    assert builds("nets_lib.deep.Net") is not None

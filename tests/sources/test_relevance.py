"""Which files can matter, from their bytes."""

from __future__ import annotations

import pytest

from torch_doctor.sources.relevance import matters


@pytest.mark.parametrize(
    "raw",
    [
        b"import torch",
        b"from pytorch_lightning import x",
        b"import accelerate",
        b'"timm"',
        "import torch".encode("utf-16"),
    ],
)
def test_files_that_mention_a_training_library_matter(raw: bytes) -> None:
    assert matters(raw)


@pytest.mark.parametrize("raw", [b"", b"import numpy", b"print 'python 2'", b"\0\0\0\0"])
def test_other_files_do_not(raw: bytes) -> None:
    assert not matters(raw)

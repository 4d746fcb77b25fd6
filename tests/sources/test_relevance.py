"""Which files can matter, from their bytes."""

from __future__ import annotations

import pytest

from torch_doctor.sources.relevance import matters, no_json


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


@pytest.mark.parametrize(
    "raw",
    [
        b'{"cells": [{"cell_type": "code", "source": ["import num',
        b'{"cells": [\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n]}\n',
        b"<<<<<<< HEAD\n{}\n",
        b"# %%\nimport numpy\n",
        b"[]",
    ],
)
def test_notebooks_that_are_plainly_broken_may_have_mentioned_one(raw: bytes) -> None:
    assert no_json(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'\xef\xbb\xbf {"cells": []} \n',
        b'{"cells": [{"source": "<<<<<<< HEAD"}]}',
        b"",
        b" \n" * 9000,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    ],
)
def test_notebooks_and_what_stands_for_them_are_not_broken(raw: bytes) -> None:
    assert not no_json(raw)

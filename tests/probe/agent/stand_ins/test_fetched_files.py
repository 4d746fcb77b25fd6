"""What a script fetches is a made-up file of the kind that its address names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("farm", "records")

FETCHES = """
import gzip
import io
import os
import tarfile
import zipfile
from urllib.request import urlopen, urlretrieve
import gdown
import requests
import torch
import wget

answer = requests.get("https://example.org/tiny.txt", timeout=3)
answer.raise_for_status()
assert answer.status_code == 200 and len(answer.text.split()) > 100
assert requests.get("https://example.org/rows.json").json()
assert zipfile.ZipFile(io.BytesIO(requests.Session().get("https://example.org/a.zip", stream=True).content)).namelist()
assert urlopen("https://example.org/words.txt").read().decode()
urlretrieve("https://example.org/data.tar.gz", "data/data.tar.gz")
tarfile.open("data/data.tar.gz").extractall("data")
urlretrieve("https://example.org/cat.jpg", "cat.jpg")
assert os.path.getsize("cat.jpg") and gzip.decompress(urlopen("https://example.org/a.txt.gz").read())
assert os.path.exists(wget.download("https://example.org/names.txt"))
assert zipfile.is_zipfile(gdown.download("https://drive.google.com/uc?id=1", "data.zip", quiet=False))
torch.hub.download_url_to_file("https://example.org/more.txt", "more.txt")
assert open("more.txt").read()
"""


def test_a_file_of_each_kind_is_made_up_and_told(run: Any, write: Callable[..., Any]) -> None:
    write("train.py", FETCHES)
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "fails" not in err
    assert "refused" not in err
    assert "a synthetic file of this type instead of `https://example.org/tiny.txt`" in err


STARTS_FROM = """
import pickle
from urllib.request import urlretrieve

import torch
from torch import nn

model = nn.Linear(4, 2)
{reads}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
CHECKPOINTS = {
    "fetched": """
def checkpoint(path):
    return torch.load(path)

urlretrieve("https://example.org/base.pt", "base.pt")
model.load_state_dict(checkpoint("base.pt"))
""",
    "left with a server": 'model.load_state_dict(torch.load("pointer.pt")["model"])',
    "read by another library": """
state = pickle.load(open("base.pkl", "rb"))
model.load_state_dict(state["model"])
""",
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_a_checkpoint_that_is_none_leaves_random_weights(kind: str, run: Any, write: Callable[..., Any]) -> None:
    write("pointer.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n")
    write("train.py", STARTS_FROM.format(reads=CHECKPOINTS[kind]))
    err = run("scan", "train.py", "--probe", "--isolated").err
    assert "reached 2 optimizer steps" in err, err
    assert "random weights instead of" in err


def test_a_checkpoint_that_is_broken_fails(run: Any, write: Callable[..., Any]) -> None:
    write("base.pt", "neither here nor there")
    write("train.py", STARTS_FROM.format(reads='model.load_state_dict(torch.load("base.pt"))'))
    assert "did not reach its training loop" in run("scan", "train.py", "--probe", "--isolated").err

"""Which versions of torch a project asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from torch_doctor.sources.pins import pinned, versions
from torch_doctor.trace import ANY, Versions

if TYPE_CHECKING:
    from pathlib import Path

NEWEST = ANY.newest
V1_7 = Versions((1, 7), (1, 7))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "numpy\ntorch==1.7.1\n", Versions((1, 7), (1, 7))),
        ("requirements.txt", "torch>=2.6  # for safe loading\n", Versions((2, 6), NEWEST)),
        ("requirements-gpu.txt", "torch==2.1.0+cu118 --hash=sha256:00\n", Versions((2, 1), (2, 1))),
        ("requirements.txt", "torch==0.4.1.post2\n", Versions((0, 4), (0, 4))),
        ("requirements.txt", "torch\n", ANY),
        ("requirements.txt", "torchvision==0.9\ntorch-geometric>=2.6\n", ANY),
        ("requirements.txt", "torch @ https://example.org/whl/torch-2.4.1-cp311.whl\n", Versions((2, 4), (2, 4))),
        ("environment.yml", "dependencies:\n  - python=3.8\n  - pytorch=1.10\n", Versions((1, 10), (1, 10))),
        ("environment.yml", "dependencies:\n  - pip:\n    - torch>=2.2,<2.5\n", Versions((2, 2), (2, 4))),
        ("environment.yaml", "dependencies:\n  - conda-forge::pytorch==2.3.1=cpu\n", Versions((2, 3), (2, 3))),
        ("environment.yml", "dependencies:\n- pytorch=1.4.0=py3.7_cuda10.1.243_0\n", Versions((1, 4), (1, 4))),
        ("environment.yml", "channels:\n  - pytorch\ndependencies:\n  - pytorch=0.4.1\n", Versions((0, 4), (0, 4))),
        ("environment.yml", "dependencies:\n- pytorch=1.6\nchannels:\n- pytorch\n- nvidia\n", Versions((1, 6), (1, 6))),
        ("environment.yml", "name: pytorch\nchannels: [pytorch]\ndependencies: [python=3.8, pytorch=1.7]\n", V1_7),
        ("environment.yml", "channels:\n  - pytorch\ndependencies:\n  - pip:\n    - torch==1.7.1+cu110\n", V1_7),
        ("environment.yml", "channels:\n- pytorch\ndependencies:\n- pytorch::pytorch=1.7.*=*cuda*\n", V1_7),
        ("environment.yml", 'dependencies:\n  - "pytorch>=1.0,<2"  # no compile\n', Versions((1, 0), (1, 13))),
        ("environment.yml", "dependencies:\n  - pytorch >=1.7,<1.8\n", V1_7),
        ("environment.yml", "dependencies:\n  - pytorch 1.7.1 py3.8_cuda11.0.221_cudnn8.0.5_0\n", V1_7),
        ("environment.yml", "dependencies:\n  - pytorch 1.7.*\n", V1_7),
        ("environment.yml", "dependencies:\n  - pytorch=1.7|1.8\n", Versions((1, 7), (1, 8))),
        ("environment.yml", "dependencies:\n  - conda-forge/linux-64::pytorch-gpu=1.7.1=cuda112py38\n", V1_7),
        ("environment.yml", "dependencies:\n  - pytorch[version='>=1.7,<1.8']\n", V1_7),
        ("environment.yml", "dependencies:\n  - pip:\n    - torch @ https://a.org/torch-1.7.1-cp38.whl\n", V1_7),
        ("my_env.yaml", "channels:\n  - pytorch\ndependencies:\n  - pytorch==1.7.1=py3.8_cpu_0\n", V1_7),
        ("environment.yml", "channels:\n  - pytorch\ndependencies:\n  - pytorch\n  - pytorch-cuda=11.8\n", ANY),
        ("environment.yml", "channels:\n  - pytorch\ndependencies:\n  - pytorch=*=*cuda*\n", ANY),
        ("environment.yml", "channels:\n  - pytorch\ndependencies:\n  - python=3.8\n", ANY),
        ("requirements.txt", "# platform: linux-64\npytorch=1.4.0=py3.7_cuda10.1.243_0\n", Versions((1, 4), (1, 4))),
        ("requirements.txt", "torch==1.7.1=pypi_0\n", Versions((1, 7), (1, 7))),
        ("requirements.txt", "pytorch=1.8\n", Versions((1, 8), (1, 8))),
        ("requirements.txt", "torchvision=0.5.0=py37_cu101\n", ANY),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=1.8,<3"]\n', Versions((1, 8), NEWEST)),
        ("pyproject.toml", '[project.optional-dependencies]\ntrain = ["torch~=2.7"]\n', Versions((2, 7), NEWEST)),
        ("pyproject.toml", '[dependency-groups]\ndev = ["torch==2.9.*"]\n', Versions((2, 9), (2, 9))),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^1.9"\n', Versions((1, 9), (1, 13))),
        (
            "pyproject.toml",
            '[tool.poetry.group.t.dependencies]\ntorch = {version = "~2.5"}\n',
            Versions((2, 5), (2, 5)),
        ),
        ("setup.cfg", "[options]\ninstall_requires =\n  numpy\n  torch>=2.0\n", Versions((2, 0), NEWEST)),
        ("setup.py", "setup(install_requires=['torch>=1.5,<1.9', 'tqdm'])\n", Versions((1, 5), (1, 8))),
        ("Pipfile", '[packages]\ntorch = "==1.6.0"\n', Versions((1, 6), (1, 6))),
        ("uv.lock", '[[package]]\nname = "torch"\nversion = "2.8.0+cpu"\n', Versions((2, 8), (2, 8))),
        ("poetry.lock", '[[package]]\nname = "torch"\nversion = "1.13.1"\n', Versions((1, 13), (1, 13))),
        ("Pipfile.lock", '{"default": {"torch": {"version": "==2.0.1"}}}', Versions((2, 0), (2, 0))),
        ("pyproject.toml", "[project\n", ANY),
        ("Pipfile.lock", "[1", ANY),
        ("setup.py", "setup(", ANY),
        ("requirements.txt", "torch=>2\n", ANY),
    ],
)
def test_pins_are_read_from_where_people_write_them(tmp_path: Path, name: str, text: str, expected: Versions) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert pinned(tmp_path, tmp_path) == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_files_that_powershell_writes_are_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==1.7.1\nnumpy\n", encoding=encoding)
    assert pinned(tmp_path, tmp_path) == V1_7


def test_a_lock_file_says_what_is_installed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch"]\n', encoding="utf-8")
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "torch"\nversion = "2.7.1"\n', encoding="utf-8")
    assert pinned(tmp_path, tmp_path) == Versions((2, 7), (2, 7))


def test_what_one_of_several_files_allows_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n", encoding="utf-8")
    (tmp_path / "requirements-old.txt").write_text("torch==1.13.1\n", encoding="utf-8")
    assert pinned(tmp_path, tmp_path) == Versions((1, 13), (2, 8))


def test_the_nearest_folder_that_says_something_decides(tmp_path: Path) -> None:
    inner = tmp_path / "examples" / "vision"
    inner.mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("torch>=2.6\n", encoding="utf-8")
    (inner.parent / "requirements.txt").write_text("torch>=1.4\n", encoding="utf-8")
    assert pinned(inner, tmp_path).oldest == (1, 4)
    assert pinned(tmp_path, tmp_path).oldest == (2, 6)
    assert pinned(inner, inner) == ANY


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2.4", Versions((2, 4), NEWEST)), (">=2.1,<2.6", Versions((2, 1), (2, 5))), ("==1.*", Versions((1, 0), (1, 13)))],
)
def test_a_setting_is_a_version_and_all_newer_ones_or_a_range(text: str, expected: Versions) -> None:
    assert versions(text) == expected


@pytest.mark.parametrize("text", ["", "new", ">2,<1"])
def test_a_setting_that_means_no_version_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="version"):
        versions(text)

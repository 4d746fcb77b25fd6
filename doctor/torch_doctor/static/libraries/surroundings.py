"""Packages for files, settings, terminals and machines, which touch no model."""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library
from torch_doctor.static.tables import words

LIBRARY = Library(
    harmless=words(
        """
        tabulate prettytable termcolor colorama psutil pynvml GPUtil yaml toml ruamel requests gdown boto3 s3fs fsspec
        kaggle kagglehub IPython ipywidgets google easydict addict yacs omegaconf ml_collections munch attr attrs
        pydantic simple_parsing configargparse docopt loguru six packaging typing_extensions
        """
    ),
    plain=("yaml",),
)

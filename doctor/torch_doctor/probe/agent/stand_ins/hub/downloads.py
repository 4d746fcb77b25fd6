"""Files that a script fetches from the hub by itself: refused, with a line that says which."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after

if TYPE_CHECKING:
    from types import ModuleType

    from ..source import Sources
    from ..told import Teller


def prepare(sources: Sources, teller: Teller) -> None:
    """Patches `huggingface_hub` where it defines what it fetches by; the package itself imports that late."""
    for module, name in (("file_download", "hf_hub_download"), ("_snapshot_download", "snapshot_download")):
        after(f"huggingface_hub.{module}", functools.partial(_patch, sources, teller, name))


def _patch(sources: Sources, teller: Teller, name: str, module: ModuleType) -> None:
    fetch = getattr(module, name, None)
    if fetch is not None:
        setattr(module, name, _refused(fetch, sources, teller))


def _refused(fetch: Any, sources: Sources, teller: Teller) -> Any:
    @functools.wraps(fetch)
    def fetched(*arguments: Any, **keywords: Any) -> Any:
        try:
            return fetch(*arguments, **keywords)
        except OSError:
            if sources.called_by_user():
                given = [*arguments, *(keywords.get(key) for key in ("repo_id", "filename"))]
                what = "/".join(str(each) for each in given if isinstance(each, str))
                teller.missing(what, f"the script fetches {what} from the Hugging Face hub: fetch it first")
            raise

    return fetched

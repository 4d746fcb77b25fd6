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
    """Patches `huggingface_hub` when it is imported."""
    after("huggingface_hub", functools.partial(_patch, sources, teller))


def _patch(sources: Sources, teller: Teller, module: ModuleType) -> None:
    library: Any = module
    for name in ("hf_hub_download", "snapshot_download"):
        fetch = getattr(library, name, None)
        if fetch is not None:
            setattr(library, name, _refused(fetch, sources, teller))


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

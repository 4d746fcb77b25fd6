"""Files that a script fetches from the hub by itself: refused, with a line that says which."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ...imports import after
from ..stand_in import StandIn

if TYPE_CHECKING:
    from types import ModuleType


class Downloads(StandIn):
    """Refuses files of the hub, and says which."""

    replaces = "the probe downloads nothing"

    def prepare(self) -> None:
        """Patches `huggingface_hub` where it defines what it fetches by; the package itself imports that late."""
        for module, name in (("file_download", "hf_hub_download"), ("_snapshot_download", "snapshot_download")):
            after(f"huggingface_hub.{module}", functools.partial(_patch, self, name))


def _patch(stand_in: StandIn, name: str, module: ModuleType) -> None:
    fetch = getattr(module, name, None)
    if fetch is not None:
        setattr(module, name, _refused(fetch, stand_in))


def _refused(fetch: Any, stand_in: StandIn) -> Any:
    @functools.wraps(fetch)
    def fetched(*arguments: Any, **keywords: Any) -> Any:
        try:
            return fetch(*arguments, **keywords)
        except OSError:
            if stand_in.sources.called_by_user():
                given = [*arguments, *(keywords.get(key) for key in ("repo_id", "filename"))]
                what = "/".join(str(each) for each in given if isinstance(each, str))
                stand_in.teller.missing(
                    what, f"the script downloads {what} from the Hugging Face Hub: download it first"
                )
            raise

    return fetched

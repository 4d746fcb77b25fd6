"""Files beside others that were made up, without which the script gives up: an earlier attempt has shown it."""

from __future__ import annotations

import functools
import os
import pathlib
from typing import TYPE_CHECKING, Any

from . import picture_code, told
from .annotations import Annotations
from .pictures import SIDE, picture
from .stand_in import Setting, StandIn

if TYPE_CHECKING:
    from collections.abc import Callable


class AskedFiles(StandIn):
    """Makes up pictures, masks and annotations where the script asks whether they are there."""

    replaces = "file not found"
    voids = (told.FILES, told.VALUES)
    installed_after = ("Files", "PictureFolders")

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._annotations = Annotations(self.sources, self.learnt)

    def prepare(self) -> None:
        """Patches what asks, in an attempt that has learnt of such files."""
        if "there" in self.learnt.kinds():
            path: Any = pathlib.Path
            for owner, name in ((os.path, "isfile"), (os.path, "exists"), (path, "is_file"), (path, "exists")):
                setattr(owner, name, self._answering(getattr(owner, name)))

    def _answering(self, ask: Callable[..., bool]) -> Any:
        @functools.wraps(ask)
        def asked(path: Any, *arguments: Any, **keywords: Any) -> bool:
            if ask(path, *arguments, **keywords):
                return True
            name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
            return isinstance(name, str) and self.sources.called_by_user() and self._made(name)

        return asked

    def _made(self, path: str) -> bool:
        """Whether a file was made up at this place."""
        folder, name = os.path.split(path)
        suffix = os.path.splitext(name)[1]
        if self.learnt.of("there", folder) != suffix:
            return False
        annotated = self._annotations.of(path)
        if annotated is None and suffix.lower() not in picture_code.READABLE:
            return False
        if annotated is not None:
            content, how = annotated[0].encode(), "synthetic annotations under the requested names"
        else:
            sort = "mask" if picture_code.is_mask(path) else "picture"
            content = picture(len(name) % 8, suffix.lower(), mask=sort == "mask")
            how = f"random {sort}s {SIDE}×{SIDE} under the requested names"
        os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        self.tell(folder, how)
        return True

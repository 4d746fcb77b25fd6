"""Files that a script fetches: made up, of the kind that their address names."""

from __future__ import annotations

import functools
import gzip
import io
import json
import os
import sys
import types
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .. import imports
from . import picture_code, told
from .answers import TEXT, Requests, Response, tarred, zipped
from .fallbacks import has_fallback, importing_frame, is_only_asking
from .files import Files
from .pictures import picture
from .stand_in import Setting, StandIn

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

READERS = (
    "numpy",
    "pandas",
    "PIL",
    "imageio",
    "skimage",
    "torch",
    "requests",
    "urllib",
    "http",
    "contextlib",
    "wget",
    "gdown",
)
"""Libraries through which the user's code fetches; what others fetch is theirs to miss."""
ROWS = [{"text": "a made-up row", "label": number % 2} for number in range(64)]
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2")
FETCHING = ("requests", "wget", "gdown")


class FetchedFiles(StandIn):
    """Makes up what is fetched by requests, urllib, wget, gdown and torch."""

    replaces = "the probe downloads nothing"
    voids = (told.FILES, told.VALUES)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._files = Files(setting)

    def prepare(self) -> None:
        """Patches what fetches, and finds it where it is not installed."""
        imports.after("urllib.request", self._patch_urllib)
        imports.after("requests.sessions", self._patch_requests)
        imports.after("wget", self._patch_wget)
        imports.after("gdown", self._patch_gdown)
        imports.after("torchvision.datasets.utils", self._patch_vision)
        imports.where_absent(self._find)

    def with_torch(self, torch: Any) -> None:
        """Patches what torch fetches files by."""
        fetch = torch.hub.download_url_to_file

        @functools.wraps(fetch)
        def fetched(url: str, dst: Any, *arguments: Any, **keywords: Any) -> None:
            if not self._asked():
                fetch(url, dst, *arguments, **keywords)
                return
            self.into(url, dst)

        torch.hub.download_url_to_file = fetched

    # --- what is made up ---

    def content(self, address: str) -> bytes:
        """What an address would give."""
        name = os.path.basename(urlsplit(address).path) or "index.html"
        self.tell(address, "a synthetic file of this type")
        return self._bytes(name)

    def into(self, address: str, path: Any) -> None:
        """Writes what an address would give."""
        content = self.content(address if os.path.splitext(urlsplit(address).path)[1] else os.fspath(path))
        folder = os.path.dirname(os.fspath(path))
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def _bytes(self, name: str) -> bytes:
        lowered = name.lower()
        stem, ending = os.path.splitext(lowered)
        if lowered.endswith(ARCHIVES) or ending == ".zip":
            return zipped() if ending == ".zip" else tarred(lowered)
        if ending == ".gz":
            return gzip.compress(self._bytes(stem))
        if ending in picture_code.READABLE:
            return picture(len(name))
        made = os.path.join("torch-doctor", "fetched", lowered)
        if self._files.make(made):
            with open(made, "rb") as file:
                return file.read()
        return (json.dumps(ROWS) if ending == ".json" else TEXT).encode()

    def _asked(self) -> bool:
        """Whether the user's code fetches, itself or through what reads files."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if self.sources.is_users(frame.f_code.co_filename):
                return True
            if name.partition(".")[0] not in READERS and "torch_doctor" not in name:
                return False
            frame = frame.f_back
        return False

    # --- who fetches ---

    def _patch_urllib(self, module: types.ModuleType) -> None:
        library: Any = module
        opened, retrieved = library.urlopen, library.urlretrieve

        @functools.wraps(opened)
        def urlopen(url: Any, *arguments: Any, **keywords: Any) -> Any:
            address = getattr(url, "full_url", url)
            if not self._asked() or str(address).startswith("file:"):
                return opened(url, *arguments, **keywords)
            return Response(self.content(str(address)), str(address))

        @functools.wraps(retrieved)
        def urlretrieve(url: str, filename: Any = None, *arguments: Any, **keywords: Any) -> Any:
            if not self._asked():
                return retrieved(url, filename, *arguments, **keywords)
            path = filename or os.path.join("torch-doctor", os.path.basename(urlsplit(url).path) or "file")
            self.into(url, path)
            return path, {}

        library.urlopen, library.urlretrieve = urlopen, urlretrieve

    def _patch_requests(self, module: types.ModuleType) -> None:
        library: Any = module
        request = library.Session.request

        @functools.wraps(request)
        def requested(this: Any, method: str, url: Any, *arguments: Any, **keywords: Any) -> Any:
            if not self._asked():
                return request(this, method, url, *arguments, **keywords)
            content = self.content(str(url))
            response = library.Response()
            response.status_code, response.reason, response.url, response.encoding = 200, "OK", str(url), "utf-8"
            response._content, response._content_consumed = content, True
            response.raw = io.BytesIO(content)
            response.headers["content-length"] = str(len(content))
            return response

        library.Session.request = requested

    def _patch_wget(self, module: types.ModuleType) -> None:
        library: Any = module
        library.download = self._download

    def _download(self, url: str, out: Any = None, *_: Any, **__: Any) -> str:
        """As `wget.download`."""
        name = os.path.basename(urlsplit(url).path) or "download.wget"
        path = name if out is None else os.path.join(out, name) if os.path.isdir(out) else out
        self.into(url, path)
        return str(path)

    def _patch_gdown(self, module: types.ModuleType) -> None:
        library: Any = module
        for name in ("download", "cached_download"):
            setattr(library, name, self._drive)
        library.download_folder = self._drive_folder

    def _drive(self, url: Any = None, output: Any = None, *_: Any, id: Any = None, **__: Any) -> str:  # noqa: A002
        """As `gdown.download`."""
        path = str(output or "download.zip")
        path = os.path.join(path, "download.zip") if path.endswith(os.sep) or os.path.isdir(path) else path
        self.into(str(url or id), path)
        return path

    def _drive_folder(self, url: Any = None, output: Any = None, *_: Any, **__: Any) -> list[str]:
        """As `gdown.download_folder`: a folder without files."""
        self.tell(str(url), "an empty folder")
        os.makedirs(str(output or "download"), exist_ok=True)
        return []

    def _patch_vision(self, module: types.ModuleType) -> None:
        library: Any = module

        fetch = library.download_url

        @functools.wraps(fetch)
        def download_url(url: str, root: Any, filename: Any = None, *arguments: Any, **keywords: Any) -> None:
            if self._asked():
                self.into(url, os.path.join(os.path.expanduser(root), filename or os.path.basename(url)))
            else:
                fetch(url, root, filename, *arguments, **keywords)

        library.download_url = download_url

    def _find(self, name: str) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top not in FETCHING:
            return None
        if name != top:
            return imports.spec_of(name, self._made) if isinstance(sys.modules.get(top), FetchingLibrary) else None
        frame = importing_frame()
        users = frame is not None and self.sources.is_users(frame.f_code.co_filename)
        if not users or is_only_asking() or has_fallback(self.sources, frame):
            return None
        return imports.spec_of(name, self._made)

    def _made(self, name: str) -> types.ModuleType:
        module: Any = FetchingLibrary(name)
        module.__path__ = []
        if name.startswith("requests"):
            errors = types.SimpleNamespace(**{each: type(each, (OSError,), {}) for each in ERRORS})
            vars(module).update(Session=functools.partial(Requests, self.content), exceptions=errors, **vars(errors))
            vars(module).update(
                {each: getattr(Requests(self.content), each) for each in ("get", "post", "head", "request")}
            )
        else:
            {"wget": self._patch_wget, "gdown": self._patch_gdown}.get(name, lambda _: None)(module)
        return module  # type: ignore[no-any-return]


ERRORS = ("RequestException", "HTTPError", "ConnectionError", "Timeout", "ConnectTimeout", "ReadTimeout")


class FetchingLibrary(types.ModuleType):
    """A library that fetches."""

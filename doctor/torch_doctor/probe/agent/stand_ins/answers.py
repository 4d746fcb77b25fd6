"""What servers answer: made-up contents, and archives of them."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = "a made-up line of text, and another word\n" * 500


class Response(io.BytesIO):
    """What a server answers."""

    status = code = status_code = 200
    ok, reason, encoding = True, "OK", "utf-8"

    def __init__(self, content: bytes, address: str) -> None:
        super().__init__(content)
        self.content, self.url = content, address
        self.headers = {"content-length": str(len(content)), "Content-Length": str(len(content))}
        self.raw = self

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """What the content says."""
        return json.loads(self.content)

    def iter_content(self, chunk_size: int = 1024, *_: Any, **__: Any) -> Any:
        """The content in pieces."""
        return (self.content[place : place + chunk_size] for place in range(0, len(self.content), chunk_size))

    def iter_lines(self, *_: Any, **__: Any) -> Any:
        """The lines of the content."""
        return iter(self.content.splitlines())

    def raise_for_status(self) -> None:
        """Nothing: it was found."""

    def getcode(self) -> int:
        """That it was found."""
        return 200

    def geturl(self) -> str:
        """The address."""
        return self.url

    def info(self) -> Any:
        """The headers."""
        return self.headers


class Requests:
    """A `requests.Session` that connects to nobody."""

    def __init__(self, content: Callable[[str], bytes]) -> None:
        self._content = content
        self.headers: dict[str, str] = {}
        self.cookies: dict[str, str] = {}

    def get(self, url: Any, *_: Any, **__: Any) -> Response:
        """What the address would give."""
        return Response(self._content(str(url)), str(url))

    post = head = get

    def request(self, _: str, url: Any, *__: Any, **___: Any) -> Response:
        """What the address would give."""
        return self.get(url)

    def mount(self, *_: Any) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def __enter__(self) -> Requests:
        return self

    def __exit__(self, *_: object) -> None: ...


def zipped() -> bytes:
    """A zip archive of one text."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("README.txt", TEXT)
    return held.getvalue()


def tarred(name: str) -> bytes:
    """A tar archive of one text, compressed as its name says."""
    held = io.BytesIO()
    form: Any = "w:bz2" if name.endswith("bz2") else "w" if name.endswith(".tar") else "w:gz"
    with tarfile.open(fileobj=held, mode=form) as archive:
        entry = tarfile.TarInfo("README.txt")
        entry.size = len(TEXT)
        archive.addfile(entry, io.BytesIO(TEXT.encode()))
    return held.getvalue()

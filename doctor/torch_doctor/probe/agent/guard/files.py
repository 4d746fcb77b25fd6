"""Sends `open` and what `os` does to files through the overlay."""

from __future__ import annotations

import builtins
import errno
import functools
import io
import os
from typing import TYPE_CHECKING, Any

from . import real
from .entries import FolderEntries

if TYPE_CHECKING:
    from collections.abc import Callable

    from .overlay import Overlay

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

READERS = ("stat", "lstat", "access", "readlink", "statvfs", "getxattr", "listxattr", "pathconf", "chdir")
CHANGERS = ("chmod", "chown", "lchown", "utime", "truncate", "setxattr", "removexattr")
OF_DESCRIPTORS = {"fchmod": "chmod", "fchown": "chown"}
REMOVERS = ("remove", "unlink", "rmdir")
MAKERS = ("mkdir", "mkfifo", "mknod")


class FileReplacements:
    """The replacements, each named as what it replaces; `replacements` pairs every original with its own."""

    def __init__(self, overlay: Overlay) -> None:
        self.overlay = overlay

    def replacements(self) -> list[tuple[Any, Callable[..., Any]]]:
        """Returns (function of the standard library, what stands for it) for all that this platform has."""
        made: dict[str, Callable[..., Any]] = {
            "open": self.open_descriptor,
            "listdir": self.listdir,
            "scandir": self.scandir,
            "getcwd": self.getcwd,
            "getcwdb": self.getcwdb,
            "chdir": self.chdir,
            "fchdir": self.fchdir,
            "rename": self.rename,
            "replace": self.replace,
            "link": self.link,
            "symlink": self.symlink,
        }
        made.update({name: functools.partial(self._read, name) for name in READERS if name not in made})
        made.update({name: functools.partial(self._change, name) for name in CHANGERS})
        made.update({name: functools.partial(self._change, by_path) for name, by_path in OF_DESCRIPTORS.items()})
        made.update({name: functools.partial(self._remove, name) for name in REMOVERS})
        made.update({name: functools.partial(self._make, name) for name in MAKERS})
        pairs: list[tuple[Any, Callable[..., Any]]] = [(real.open_file, self.open)]
        for name, replacement in made.items():
            if name in real.functions:
                pairs.append((real.functions[name], Guarded(real.functions[name], replacement, self.overlay)))
        return pairs

    def install(self) -> list[tuple[Any, Callable[..., Any]]]:
        """Replaces the functions in `builtins`, `io` and `os`, and returns what `replacements` does."""
        pairs = self.replacements()
        names = {id(value): name for name, value in real.functions.items()}
        builtins.open = self.open
        io.open = self.open
        for original, replacement in pairs[1:]:
            setattr(os, names[id(original)], replacement)
        for set_name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks", "supports_effective_ids"):
            known = getattr(os, set_name)
            known.update(replacement for original, replacement in pairs if original in known)
        return pairs

    # --- files ---

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,  # noqa: FBT001, FBT002
        opener: Callable[[Any, int], int] | None = None,
    ) -> Any:
        """`open`, in the overlay."""
        if isinstance(file, int) or real.is_inside() or not isinstance(mode, str):
            return real.open_file(file, mode, buffering, encoding, errors, newline, closefd, opener)

        def through(path: Any, flags: int) -> int:
            if opener is None:
                return self.open_descriptor(path, flags, 0o666)
            with real.outside():  # what it opens need not be `path`: that of a temporary file is its folder
                return opener(path, flags)

        changes = opener is not None or any(letter in mode for letter in "wax+")
        if not changes and not self.overlay.touched and not self.overlay.moved:
            return real.open_file(file, mode, buffering, encoding, errors, newline, closefd)
        with real.inside():  # the audit of `open` names the path that the script gave
            return real.open_file(file, mode, buffering, encoding, errors, newline, closefd, through)

    def open_descriptor(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        """`os.open`, in the overlay."""
        spelled = self._text(path, dir_fd)
        overlay = self.overlay
        if not flags & WRITING:
            return int(_named(path, real.functions["open"], overlay.seen(spelled), flags, mode))
        there = overlay.exists(spelled)
        if there and flags & os.O_CREAT and flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if not there and not flags & os.O_CREAT:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if overlay.is_folder(spelled):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        upper = overlay.own(spelled, keep=not flags & os.O_TRUNC)
        with real.inside():
            return int(_named(path, real.functions["open"], upper, flags, mode))

    # --- folders ---

    def listdir(self, path: Any = ".") -> list[Any]:
        """`os.listdir` of the merged folder."""
        if isinstance(path, int):
            return list(real.functions["listdir"](path))
        spelled = self._text(path)
        if not self.overlay.is_merged(spelled):
            return list(real.functions["listdir"](_like(path, self.overlay.seen(spelled))))
        names = self.overlay.names(spelled)
        return [os.fsencode(name) for name in names] if isinstance(path, bytes) else names

    def scandir(self, path: Any = ".") -> Any:
        """`os.scandir` of the merged folder."""
        if isinstance(path, int):
            return real.functions["scandir"](path)
        spelled = self._text(path)
        if not self.overlay.is_merged(spelled):
            return real.functions["scandir"](_like(path, self.overlay.seen(spelled)))
        return FolderEntries(self.overlay, spelled, as_bytes=isinstance(path, bytes))

    def getcwd(self) -> str:
        """The working directory as the script knows it."""
        return self.overlay.cwd

    def getcwdb(self) -> bytes:
        """As `getcwd`, in bytes."""
        return os.fsencode(self.overlay.cwd)

    def chdir(self, path: Any) -> None:
        """`os.chdir`; into a folder of the mirror where the disk has none."""
        spelled = real.call("readlink", f"/proc/self/fd/{path}") if isinstance(path, int) else self._text(path)
        overlay = self.overlay
        absolute = overlay.absolute(spelled, follow=True)
        with real.inside():
            on_disk = os.path.isdir(absolute) and not overlay.is_hidden(absolute)
            seen = absolute if on_disk else overlay.seen(absolute)
            real.functions["chdir"](seen)
        overlay.cwd = overlay.original(absolute)
        overlay.moved = seen != absolute

    fchdir = chdir

    # --- names ---

    def rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        """`os.rename`: a copy in the mirror, and the old name is gone from the view."""
        source, target, overlay = self._text(src, src_dir_fd), self._text(dst, dst_dir_fd), self.overlay
        if not overlay.exists(source):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), src, None, dst)
        if overlay.absolute(source) == overlay.absolute(target):
            return
        if overlay.is_folder(source):
            if overlay.is_folder(target) and overlay.names(target):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), src, None, dst)
            overlay.copy_tree(source, target)
        elif overlay.is_folder(target):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), src, None, dst)
        else:
            old = overlay.own(source, keep=True)
            new = overlay.entry(target)
            with real.inside():
                real.functions["replace"](old, new)
        overlay.remove(source)

    replace = rename

    def link(
        self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None, **_: Any
    ) -> None:
        """`os.link`, by a copy: the two names part when one is written."""
        source, target, overlay = self._text(src, src_dir_fd), self._text(dst, dst_dir_fd), self.overlay
        if overlay.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), src, None, dst)
        with real.inside():
            real.copy_file(overlay.seen(source), overlay.entry(target))

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:  # noqa: FBT001, FBT002
        """`os.symlink`, to where the script's file really is."""
        target, overlay = self._text(dst, dir_fd), self.overlay
        if overlay.exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), src, None, dst)
        leads_to = overlay.seen(overlay.absolute(os.path.join(os.path.dirname(target), self._text(src))))
        with real.inside():
            real.functions["symlink"](leads_to, overlay.entry(target), target_is_directory)

    # --- the rest, by what it does to its path ---

    def _text(self, path: Any, dir_fd: int | None = None) -> str:
        """A path as the script means it; a folder that is open may be that of the mirror."""
        spelled = os.fsdecode(path)
        if not spelled:  # the empty path is no folder, and nothing is there
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if dir_fd is not None and not os.path.isabs(spelled):
            spelled = os.path.join(self.overlay.original(real.call("readlink", f"/proc/self/fd/{dir_fd}")), spelled)
        return spelled

    def _read(self, name: str, path: Any, *arguments: Any, dir_fd: int | None = None, **keywords: Any) -> Any:
        if isinstance(path, int) or not os.fspath(path):
            return real.functions[name](path, *arguments, **keywords)
        return real.functions[name](_like(path, self.overlay.seen(self._text(path, dir_fd))), *arguments, **keywords)

    def _change(self, name: str, path: Any, *arguments: Any, dir_fd: int | None = None, **keywords: Any) -> Any:
        spelled = real.path_of(path) if isinstance(path, int) else self._text(path, dir_fd)
        if isinstance(path, int) and (not spelled or self.overlay.is_free(spelled)):
            return real.functions[name](path, *arguments, **keywords)
        if not self.overlay.exists(spelled):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        upper = self.overlay.own(spelled, keep=True)
        with real.inside():
            return real.functions[name](upper, *arguments, **keywords)

    def _remove(self, name: str, path: Any, *, dir_fd: int | None = None) -> None:
        spelled, overlay = self._text(path, dir_fd), self.overlay
        code = 0
        with real.inside():
            seen = overlay.seen(spelled)
            folder = os.path.isdir(seen) and not os.path.islink(seen)
            there = os.path.lexists(seen)
        if not there:
            code = errno.ENOENT
        elif name == "rmdir":
            code = errno.ENOTDIR if not folder else errno.ENOTEMPTY if overlay.names(spelled) else 0
        elif folder:
            code = errno.EISDIR
        if code:
            raise OSError(code, os.strerror(code), path)
        overlay.remove(spelled)

    def _make(self, name: str, path: Any, *arguments: Any, dir_fd: int | None = None, **keywords: Any) -> None:
        spelled = self._text(path, dir_fd)
        if self.overlay.exists(spelled):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        upper = self.overlay.entry(spelled)
        with real.inside():
            real.functions[name](upper, *arguments, **keywords)


def _like(path: Any, spelled: str) -> Any:
    return os.fsencode(spelled) if isinstance(path, bytes) else spelled


def _named(path: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls `function`, with the script's own name for the path in what it raises."""
    try:
        return function(*arguments)
    except OSError as error:
        error.filename = path
        raise


class Guarded:
    """The replacement of a built-in function; while the guard itself is at work it is the original.

    Not a function: what a class holds (`stat = os.stat`) must not become a method of it.
    """

    def __init__(self, original: Any, replacement: Callable[..., Any], overlay: Overlay) -> None:
        functools.update_wrapper(self, original)
        self._original = original
        self._replacement = replacement
        self._overlay = overlay

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What was replaced, in the overlay; its errors name the file as the script does."""
        if real.is_inside():
            return self._original(*arguments, **keywords)
        try:
            return self._replacement(*arguments, **keywords)
        except OSError as error:
            if isinstance(error.filename, str):
                error.filename = self._overlay.original(error.filename)
            raise

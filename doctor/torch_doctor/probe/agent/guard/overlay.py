"""Where the script's files really are: what it writes goes to a scratch folder, what it deletes is only remembered.

The overlay is a folder that mirrors the paths written to (`<root>/home/me/run/model.pt`). A path that is read is looked up
there first, then among the remembered deletions, then on the disk.
"""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from . import real
from .deleted import Deleted

if TYPE_CHECKING:
    from .refusal import Refusals

LARGEST_COPY = 512 * 1024 * 1024  # bytes of one file that is opened for changing; more is refused
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "stdout", "stderr", "fd")
FREE = (*(f"/dev/{name}" for name in DEVICES), "/proc/self")


class Overlay:
    """One view of the file system: `root` is the mirror, paths below `scratch` are left as they are.

    It is `shared` where several processes run the script: what one of them writes, the others read.
    """

    def __init__(self, scratch: str, cwd: str, refusals: Refusals, *, shared: bool = False) -> None:
        with real.inside():
            self.scratch = os.path.realpath(scratch)
        self.root = os.path.join(self.scratch, "overlay")
        self.cwd = cwd  # as the script sees it; the real one may be a folder of the mirror
        self.moved = False  # the real working directory is not `cwd`
        self._touched = False
        self._mark = os.path.join(self.scratch, "touched") if shared else ""
        self._hidden = Deleted(os.path.join(self.scratch, "deleted") if shared else "")
        self._folders: dict[str, str] = {}
        self._refusals = refusals
        real.call("makedirs", self.root, exist_ok=True)

    @property
    def touched(self) -> bool:
        """Whether anything was written or deleted so far, by any of the processes; else everything is read from the disk."""
        if self._mark and not self._touched:
            self._touched = real.lexists(self._mark)
        return self._touched

    def _touch(self) -> None:
        if self._mark and not self._touched:
            real.call("close", real.call("open", self._mark, os.O_WRONLY | os.O_CREAT, 0o600))
        self._touched = True

    # --- paths ---

    def absolute(self, path: str, *, follow: bool = False) -> str:
        """Returns the one spelling of `path`: links in its folders are resolved, and with `follow` a link that it is."""
        whole = os.path.normpath(os.path.join(self.cwd, path))
        folder, name = os.path.split(whole)
        known = self._folders.get(folder)
        if known is None:
            with real.inside():
                known = os.path.realpath(folder)
            self._folders[folder] = known
        whole = os.path.join(known, name)
        if follow and not self.touched_at(whole):
            with real.inside():
                whole = os.path.realpath(whole)
        return whole

    def place(self, absolute: str) -> str:
        """Returns where `absolute` is in the mirror, whether or not something is there."""
        drive, tail = os.path.splitdrive(absolute)
        return os.path.join(self.root, drive.rstrip(":").lstrip("/\\"), tail.lstrip("/\\"))

    def original(self, path: str) -> str:
        """The script's name for a path of the mirror; any other path is returned as it is."""
        return path[len(self.root) :] if path.startswith(self.root + os.sep) else path

    def is_free(self, absolute: str) -> bool:
        """Whether things below this path happen for real: the scratch folder, and devices that keep nothing."""
        return any(absolute == free or absolute.startswith(free + "/") for free in (self.scratch, *FREE))

    def touched_at(self, absolute: str) -> bool:
        """Whether something was written at this very path."""
        return self.touched and real.lexists(self.place(absolute))

    def is_hidden(self, absolute: str) -> bool:
        """Whether what the disk has here was deleted by the script, itself or with a folder above it."""
        if not self._hidden:
            return False
        while absolute not in self._hidden:
            above = os.path.dirname(absolute)
            if above == absolute:
                return False
            absolute = above
        return True

    # --- reading ---

    def seen(self, path: str) -> str:
        """Returns the path to use for reading `path`. What the script deleted is a path of the mirror that is not there."""
        if not self.touched and not self.moved:
            return path
        absolute = self.absolute(path)
        if self.is_free(absolute):
            return absolute
        if self.touched_at(absolute) or self.is_hidden(absolute):
            return self.place(absolute)
        return absolute if self.moved else path

    def exists(self, path: str) -> bool:
        """Whether the script finds something at `path`."""
        with real.inside():
            return os.path.lexists(self.seen(path))

    def is_folder(self, path: str) -> bool:
        """Whether the script finds a folder at `path`."""
        with real.inside():
            return os.path.isdir(self.seen(path))

    def names(self, path: str) -> list[str]:
        """The names in the folder `path`: those of the mirror and those of the disk that were not deleted."""
        absolute = self.absolute(path, follow=True)
        found: dict[str, None] = {}
        upper = self.place(absolute)
        with real.inside():
            layers = [upper] if os.path.isdir(upper) else []
            if not self.is_hidden(absolute) and os.path.isdir(absolute):
                layers.append(absolute)
        if not layers:
            return list(real.call("listdir", self.seen(path)))  # raises what the script expects
        for layer in layers:
            for name in real.call("listdir", layer):
                if layer == upper or not self.is_hidden(os.path.join(absolute, name)):
                    found[name] = None
        return list(found)

    def is_merged(self, path: str) -> bool:
        """Whether the names in the folder `path` are not just those on the disk."""
        if not self.touched and not self.moved:
            return False
        absolute = self.absolute(path, follow=True)
        if self.is_free(absolute):
            return False
        with real.inside():
            written = os.path.isdir(self.place(absolute))
        return written or self.is_hidden(absolute) or any(os.path.dirname(path) == absolute for path in self._hidden)

    # --- writing ---

    def own(self, path: str, *, keep: bool) -> str:
        """Returns the path of the mirror to write `path` at; with `keep` it holds what the script finds there now.

        Raises:
            FileNotFoundError: the folder that it would be in is not there.
            RefusedError: the file on the disk is larger than `LARGEST_COPY`.
        """
        absolute = self.absolute(path, follow=True)
        if self.is_free(absolute):
            return absolute
        upper = self._made_room(absolute, path)
        with real.inside():
            if os.path.islink(upper) and not self._leads_inside(upper):
                target = os.path.realpath(upper)
                os.unlink(upper)
                self._copy(target, upper) if keep else None
            elif keep and not os.path.lexists(upper) and not self.is_hidden(absolute):
                self._copy(absolute, upper)
        self._touch()
        return upper

    def entry(self, path: str) -> str:
        """Returns the path of the mirror for a new link or name at `path`, which may not be there; raises as `own` does."""
        absolute = self.absolute(path)
        if self.is_free(absolute):
            return absolute
        upper = self._made_room(absolute, path)
        self._touch()
        return upper

    def remove(self, path: str) -> None:
        """Takes `path`, a file, link or folder with all that it holds, out of the view; the disk keeps it."""
        absolute = self.absolute(path)
        upper = absolute if self.is_free(absolute) else self.place(absolute)
        with real.inside():
            if os.path.isdir(upper) and not os.path.islink(upper):
                real.remove_tree(upper)
            elif os.path.lexists(upper):
                os.unlink(upper)
            if upper != absolute and os.path.lexists(absolute):
                self._hidden.add(absolute)
                self._touch()

    def copy_tree(self, source: str, target: str) -> None:
        """Copies the folder `source` as the script sees it to `target` in the mirror."""
        upper = self.entry(target)
        real.call("makedirs", upper, exist_ok=True)
        for name in self.names(source):
            inner, copy = os.path.join(source, name), os.path.join(target, name)
            if self.is_folder(inner):
                self.copy_tree(inner, copy)
            else:
                with real.inside():
                    self._copy(self.seen(inner), self.entry(copy))

    def _made_room(self, absolute: str, path: str) -> str:
        folder = os.path.dirname(absolute)
        if not self.is_folder(folder):
            code = errno.ENOTDIR if self.exists(folder) else errno.ENOENT
            raise OSError(code, os.strerror(code), path)
        upper = self.place(absolute)
        with real.inside():
            os.makedirs(os.path.dirname(upper), exist_ok=True)
            real_folder = os.path.realpath(os.path.dirname(upper))
        if not (real_folder + os.sep).startswith(
            self.scratch + os.sep
        ):  # through a link of the script to a folder on the disk
            return self._made_room(os.path.join(real_folder, os.path.basename(upper)), path)
        return upper

    def _leads_inside(self, upper: str) -> bool:
        return os.path.realpath(upper).startswith(self.scratch + os.sep)

    def _copy(self, source: str, target: str) -> None:
        if os.path.isdir(source):
            os.makedirs(target, exist_ok=True)
        elif os.path.exists(source):
            if not os.path.isfile(source):
                msg = f"changing {source}: it is not a regular file"
                raise self._refusals.refuse(msg)
            if os.path.getsize(source) > LARGEST_COPY:
                msg = f"changing {source}: it is too large to copy"
                raise self._refusals.refuse(msg)
            real.copy_file(source, target)
            shutil.copymode(source, target)

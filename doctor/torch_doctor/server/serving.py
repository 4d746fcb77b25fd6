"""Serves one editor, from beginning to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_doctor.server.editor import Editor
from torch_doctor.server.features import listen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_doctor.rule import Rule
    from torch_doctor.server.looking import Settings


def serve(settings: Settings, rules: Sequence[Rule]) -> bool:
    """Serve an editor on stdin and stdout until it leaves; whether it said so before."""
    editor = Editor(settings, rules)
    listen(editor)
    try:
        editor.start_io()
    finally:
        editor.end()
    return editor.left

"""Remembers the fixes of findings, so that nobody has to read syntax trees to show what was shown before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from torch_doctor.cache import Storage, digest
from torch_doctor.rule import Finding
from torch_doctor.scan.remembering import key_of

if TYPE_CHECKING:
    from torch_doctor.scan.options import Options, Report


class Proposals:
    """The fixes that were worked out for the findings of a report, in these files, with these options."""

    def __init__(self, report: Report, options: Options) -> None:
        self._storage = Storage(options.cache) if options.cache is not None and options.probe is None else None
        if self._storage is not None:
            texts = [(name, source.text) for name, source in sorted(report.sources.items())]
            findings = msgspec.msgpack.encode(report.findings)
            fixable = [(rule.code, rule.fix.value) for rule in options.rules]  # as the configuration wants it
            told = (key_of(options), fixable, findings, texts)
            self._key = f"fixes {digest(repr(told).encode('utf-8', 'surrogatepass')).hex()}"

    def get(self) -> list[Finding] | None:
        """The findings with their fixes; None if these were not worked out before."""
        raw = None if self._storage is None else self._storage.get(self._key)
        try:
            return None if raw is None else msgspec.msgpack.decode(raw, type=list[Finding])
        except msgspec.MsgspecError:
            return None

    def put(self, findings: list[Finding]) -> None:
        """Keep findings with their fixes."""
        if self._storage is not None:
            self._storage.put({self._key: msgspec.msgpack.encode(findings)})

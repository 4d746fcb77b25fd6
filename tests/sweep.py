"""How much of the long sweeps is done: a systematic part by default, all of it where `TORCH_DOCTOR_SWEEP` is set."""

from __future__ import annotations

import os

WHOLE = bool(os.environ.get("TORCH_DOCTOR_SWEEP"))

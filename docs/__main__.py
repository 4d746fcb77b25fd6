"""`python -m docs` builds the site in `build/docs/site`, or in the folder `site` below another one."""

from __future__ import annotations

import sys
from pathlib import Path

from docs.building import HERE, build

try:
    site = build(Path(*sys.argv[1:]) if sys.argv[1:] else HERE.parent / "build/docs")
except RuntimeError as error:
    sys.exit(str(error))
sys.stdout.write(f"The site is in {site}\n")

"""What the sources of installed libraries tell: which classes are modules, whether they care about the mode, how they end.

Nothing is imported or run. `environment.py` finds the libraries of the interpreter that would run a project's scripts,
`sources.py` where a dotted name is defined. astroid parses that file alone; `building.py` follows the constructor with the
defaults of its parameters, `endings.py` the end of `forward`. The answers are kept on the disk (`keeping.py`).
"""

"""Views of a trace, evidence and wording: what several rules share, and what is too long for the module of one."""

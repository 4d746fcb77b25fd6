"""The part of the probe that runs inside the user's interpreter: standard library and torch only.

It is started as a folder (`python …/agent --plan FILE --fd N`) and loads itself under a name of its own, so that
torch-doctor need not be installed there and nothing of it shadows what the user imports.
"""

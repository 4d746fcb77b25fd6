"""Small copies of libraries that are not installed. They need torch, so they are imported when a script imports theirs.

Only torchvision and Pillow have one, because many runs need it. Of 44 scripts, each from another public repository, 28 import
them. Without the copy, 7 of these 28 take another number of optimizer steps, and 11 fixtures get another verdict. Copies of gym,
torchaudio and torchtext changed 1, 0 and 0 of the 44 scripts and no fixture, and were removed: their names are placeholders
inferred from their use, as those of any other package that is not installed.
"""

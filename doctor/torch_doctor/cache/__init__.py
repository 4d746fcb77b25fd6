"""What scans remember of one another: a store on the disk, and how it is known that nothing has changed."""

from torch_doctor.cache.fingerprint import of_code, of_files, of_packages
from torch_doctor.cache.storage import FOLDER, Storage, clean
from torch_doctor.cache.tree import Tree, digest, listed, look, now, unchanged

__all__ = [
    "FOLDER",
    "Storage",
    "Tree",
    "clean",
    "digest",
    "listed",
    "look",
    "now",
    "of_code",
    "of_files",
    "of_packages",
    "unchanged",
]

"""Pictures: what reads, changes and draws them.

Sources: https://pillow.readthedocs.io/en/stable/reference/Image.html and
https://docs.opencv.org/4.x/d4/da8/group__imgcodecs.html.
"""

from __future__ import annotations

from torch_doctor.static.libraries.library import Library, members
from torch_doctor.static.tables import words
from torch_doctor.static.tables.reading import ChannelFunctions

LIBRARY = Library(
    harmless=words("PIL cv2 skimage imageio imgaug nibabel pycocotools"),
    plain=words("PIL cv2"),
    picture_readers=words(
        "cv2.imread cv2.imdecode imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread"
    ),
    pictures=("PIL.Image.open",),
    picture_functions=(
        *members("cv2", "resize cvtColor flip rotate copyMakeBorder transpose warpAffine"),
        "PIL.Image.fromarray",
    ),
    channels=ChannelFunctions(
        orders={
            **dict.fromkeys(words("cv2.imread cv2.imdecode"), "BGR"),
            **dict.fromkeys(
                words("PIL.Image.open imageio.imread imageio.v2.imread imageio.v3.imread skimage.io.imread"), "RGB"
            ),
        },
        flags={"cv2.IMREAD_COLOR": "BGR", "cv2.IMREAD_COLOR_BGR": "BGR", "cv2.IMREAD_COLOR_RGB": "RGB"},
        conversions=("cv2.cvtColor",),
        signs=("cv2.COLOR_BGR2RGB",),
        swaps=words("cv2.COLOR_BGR2RGB cv2.COLOR_RGB2BGR"),
        keeping=(*members("cv2", "resize flip rotate copyMakeBorder transpose warpAffine"), "PIL.Image.fromarray"),
    ),
)

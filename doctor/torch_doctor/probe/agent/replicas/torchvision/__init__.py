"""torchvision and Pillow where they are not installed: pictures, transforms, data sets and models by their names."""

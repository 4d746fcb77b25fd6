"""The network, in a file of its own."""

import torch
import torch.nn.functional as F
from torch import nn


class PictureNet(nn.Module):
    def __init__(self, width=64, classes=10):  #: init
        super().__init__()  #: super
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.blocks = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(3)])  #: blocks
        self.dropout = nn.Dropout(0.3)
        self.head = nn.Linear(width, classes)  #: head
        self.register_buffer("scale", torch.full((width, 1, 1), 2.0))  #: scale

    def forward(self, images):
        x = F.relu(self.norm(self.stem(images)))
        offset = torch.full((x.shape[1], 1, 1), 0.1, device=x.device)  #: offset
        x = x * self.scale + offset
        for block in self.blocks:
            x = x + F.relu(block(x))
        x = F.dropout(x, 0.1, training=self.training)  #: functional-dropout
        x = self.dropout(x.mean(dim=(2, 3)))  #: pooled
        return self.head(x)  #: output

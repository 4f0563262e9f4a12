"""Images and texts of the papers' kind, read from folders that the user downloaded.

`rsna`: the RSNA Pediatric Bone Age radiographs; the target is the age in months.
`houses`: the Houses dataset of Ahmed and Moustafa (2016); the target is the price.
`text`: any texts with numbers to predict from them.

Pretrained weights come from the network, when a feature extractor is first made.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from math import isqrt
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from ._runs import require

ROOMS = ("frontal", "bathroom", "bedroom", "kitchen")
LANGUAGE_MODEL = "distilbert-base-uncased"
# Of the channels that ImageNet's networks were trained on.
MEAN, STD = np.float32([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
_CHUNK = 64


class Download(NamedTuple):
    """How to use a data set.

    `find` maps the folder to the rows' files or texts, and targets, or exits with what
    is wrong with the folder; `read` maps files or texts to X.
    """

    find: Callable
    read: Callable
    feature_extractor: Callable
    packages: dict


def downloaded_task(name, folder):
    """Loader and feature extractor of a data set, once all that they need is there.

    Parameters
    ----------
    name : str
        One of `DOWNLOADS`.
    folder : Path

    Returns
    -------
    load : callable
        Returns X and y.
    feature_extractor : callable

    Raises
    ------
    SystemExit
        If a package, the folder, a file, a column, a number or an image is missing;
        the message names it.
    """
    DOWNLOADS[name].find(folder)
    for module, package in DOWNLOADS[name].packages.items():
        require(module, package)
    return partial(load, name, folder), DOWNLOADS[name].feature_extractor


@lru_cache(maxsize=1)  # a process runs several splits; thousands of images take minutes
def load(name, folder):
    """X and y of a data set."""
    rows, y = DOWNLOADS[name].find(folder)
    return DOWNLOADS[name].read(rows), y


def find_rsna(folder):
    """Images (n, 1) and ages of ``boneage-training-dataset.csv`` and the folder of that name."""
    ids, y = _read_csv(folder, "boneage-training-dataset.csv", "id", "boneage")
    images = folder / "boneage-training-dataset"
    # Some archives have the folder twice, one in the other.
    images = images / images.name if (images / images.name).is_dir() else images
    return _existing([[images / f"{name}.png"] for name in ids]), y


def find_houses(folder):
    """Images (n, 4), ``i_frontal.jpg`` and so on, and prices, line i of ``HousesInfo.txt``."""
    path = _file(folder, "HousesInfo.txt")
    try:
        table = np.loadtxt(path, ndmin=2)
    except ValueError as error:
        raise SystemExit(f"{path} cannot be read as a table of numbers: {error}") from None
    if table.shape[1] != 5 or not np.isfinite(table).all():
        raise SystemExit(
            f"{path} must have five numbers a line: bedrooms, bathrooms, area, zip code, price."
        )
    numbers = range(1, len(table) + 1)
    return _existing([[folder / f"{i}_{room}.jpg" for room in ROOMS] for i in numbers]), table[:, 4]


def find_texts(folder):
    """Texts and targets: the columns ``text`` and ``target`` of ``texts.csv``."""
    return _read_csv(folder, "texts.csv", "text", "target")


def read_images(paths, size=112, mode="RGB"):
    """Images as ImageNet's networks take them.

    Parameters
    ----------
    paths : list of list of Path
        The images of each row; four make a montage, two by two in their order.
    size : int, default=112
        Height and width, whatever the proportions were. ResNet takes any; its usual
        224 would need four times the memory. RSNA's 12,611 images are 1.9 GB at 112,
        and `fit`, in float64, takes 11 times what its rows have here: 19 GB in all
        for a run of the protocol, 76 GB at 224. The script has two runs at a time.
    mode : {"RGB", "L"}, default="RGB"
        "L" reads grey values, which make all three channels.

    Returns
    -------
    X : float32 ndarray of shape (n, 3, size, size)
        A montage of odd size is one pixel smaller.
    """
    k = isqrt(len(paths[0]))
    part = size // k
    X = np.empty((len(paths), 3, k * part, k * part), dtype=np.float32)
    for x, images in zip(X, paths, strict=True):
        for i, path in enumerate(images):
            top, left = part * (i // k), part * (i % k)
            x[:, top : top + part, left : left + part] = _read_image(path, part, mode)
    return X


def _read_image(path, size, mode):
    try:
        with require("PIL.Image", "pillow").open(path) as image:
            pixels = np.asarray(image.convert(mode).resize((size, size)).convert("RGB"))
    except OSError as error:
        raise SystemExit(f"{path} cannot be read as an image: {error}") from None
    return ((pixels / np.float32(255) - MEAN) / STD).transpose(2, 0, 1)


def read_texts(texts, n_tokens=128):
    """Token ids (n, n_tokens) of the language model; texts are cut or padded."""
    tokenizer = require("transformers", "transformers").AutoTokenizer.from_pretrained(
        LANGUAGE_MODEL
    )
    tokens = tokenizer(texts, padding="max_length", truncation=True, max_length=n_tokens)
    return np.asarray(tokens["input_ids"])


class Chunked(nn.Module):
    """A network that evaluates few rows at once: estimators hand it thousands."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, X):
        if self.training:
            return self.network(X)
        return torch.cat([self.network(chunk) for chunk in X.split(_CHUNK)])


class MeanOfTokens(nn.Module):
    """A language model's last hidden states, averaged over the tokens that are no padding."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, X):
        ids = X.long()
        mask = (ids != self.model.config.pad_token_id).long()
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        mask = mask.unsqueeze(-1)
        return (states * mask).sum(1) / mask.sum(1).clamp(min=1)


def image_extractor():
    """ResNet-18, trained on ImageNet, without its last layer."""
    network = require("torchvision", "torchvision").models.resnet18(weights="IMAGENET1K_V1")
    network.fc = nn.Identity()
    return Chunked(network)


def text_extractor():
    """DistilBERT, averaged over the tokens."""
    model = require("transformers", "transformers").AutoModel.from_pretrained(LANGUAGE_MODEL)
    return Chunked(MeanOfTokens(model))


def _file(folder, name):
    if not folder.is_dir():
        raise SystemExit(f"There is no folder {folder}.")
    if not (folder / name).is_file():
        raise SystemExit(f"The folder {folder} has no file {name}.")
    return folder / name


def _read_csv(folder, name, text, target):
    """Two columns: text exactly as it stands in the file, as a list, and finite numbers."""
    path = _file(folder, name)
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # pandas' and the decoder's errors are ValueErrors
        raise SystemExit(f"{path} cannot be read as CSV: {error}") from None
    for column in (text, target):
        if column not in table:
            raise SystemExit(f"{path} has no column {column!r}.")
    if not isinstance(table.index, pd.RangeIndex):
        raise SystemExit(f"{path} has rows with more values than the first line has names.")
    if table.empty:
        raise SystemExit(f"{path} has no rows.")
    numbers = pd.to_numeric(table[target], errors="coerce").to_numpy(dtype=np.float64)
    if len(wrong := np.flatnonzero(~np.isfinite(numbers))):
        raise SystemExit(f"{path} has no number in column {target!r} of data row {wrong[0] + 1}.")
    return table[text].tolist(), numbers


def _existing(paths):
    missing = [path for images in paths for path in images if not path.is_file()]
    if missing:
        raise SystemExit(f"{len(missing)} images are missing, the first of them {missing[0]}.")
    return paths


_OF_IMAGES = {"PIL.Image": "pillow", "torchvision": "torchvision"}
_OF_TEXTS = {"transformers": "transformers"}
DOWNLOADS = {
    "rsna": Download(find_rsna, partial(read_images, mode="L"), image_extractor, _OF_IMAGES),
    "houses": Download(find_houses, read_images, image_extractor, _OF_IMAGES),
    "text": Download(find_texts, read_texts, text_extractor, _OF_TEXTS),
}

"""Downloaded data sets: the right target for the right image or text, and clear errors."""

import json
import pickle
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

BENCHMARKS = Path(__file__).parents[1]
if not (BENCHMARKS / "paper").exists():
    pytest.skip("the benchmarks are not part of this installation", allow_module_level=True)
pytest.importorskip("pandas")
pytest.importorskip("matplotlib.pyplot")
Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.usefixtures("paper_alone")

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
ROOMS = ("frontal", "bathroom", "bedroom", "kitchen")
COLOURS = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 0)]


@pytest.fixture
def downloads():
    from paper import _downloads

    _downloads.load.cache_clear()
    return _downloads


class TinyResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 8, stride=8)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 1000)

    def forward(self, x):
        return self.fc(self.norm(self.convolution(x)).mean((2, 3)))


class TinyLanguageModel(nn.Module):
    """Every state depends on all tokens that the mask lets through."""

    def __init__(self):
        super().__init__()
        self.config = SimpleNamespace(pad_token_id=0)
        self.embedding = nn.Embedding(100, 8)

    def forward(self, input_ids, attention_mask):
        z = self.embedding(input_ids)
        attended = z * attention_mask.unsqueeze(-1)
        return SimpleNamespace(last_hidden_state=z + attended.sum(1, keepdim=True))


def tiny_tokenizer(texts, padding, truncation, max_length):
    """Tokens are the words' lengths."""
    assert (padding, truncation) == ("max_length", True)
    ids = [[len(word) for word in text.split()][:max_length] for text in texts]
    return {"input_ids": [row + [0] * (max_length - len(row)) for row in ids]}


@pytest.fixture
def made_packages(monkeypatch):
    """Stand-ins for torchvision and transformers; the names of the weights asked for."""
    asked = []

    def made(result):
        def make(name=None, weights=None):
            asked.append(name or weights)
            return result()

        return make

    torchvision, transformers = ModuleType("torchvision"), ModuleType("transformers")
    torchvision.models = SimpleNamespace(resnet18=made(TinyResNet))
    transformers.AutoModel = SimpleNamespace(from_pretrained=made(TinyLanguageModel))
    transformers.AutoTokenizer = SimpleNamespace(from_pretrained=made(lambda: tiny_tokenizer))
    monkeypatch.setitem(sys.modules, "torchvision", torchvision)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    return asked


def write_rsna(folder, greys):
    """Image of id 100 - i has grey value i and is 2 i months old."""
    images = folder / "boneage-training-dataset"
    images.mkdir(parents=True)
    for grey in greys:
        Image.new("L", (30, 20), grey).save(images / f"{100 - grey}.png")
    lines = ["id,boneage,male", *(f"{100 - grey},{2 * grey},False" for grey in greys)]
    (folder / "boneage-training-dataset.csv").write_text("\n".join(lines))


def write_houses(folder, shades):
    """Price of a house is 1000 times its shade; each room has a color of its own."""
    for i, shade in enumerate(shades, start=1):
        for room, color in zip(ROOMS, COLOURS, strict=True):
            color = tuple(shade * channel // 250 for channel in color)
            Image.new("RGB", (40, 30), color).save(folder / f"{i}_{room}.jpg")
    lines = [f"3 2.5 1800 92000  {1000 * shade}" for shade in shades]
    (folder / "HousesInfo.txt").write_text("\n".join(lines) + "\n")


def write_texts(folder, n_words):
    lines = ["text,target", *(f"{'word ' * n},{n}" for n in n_words)]
    (folder / "texts.csv").write_text("\n".join(lines))


WRITERS = {"rsna": write_rsna, "houses": write_houses, "text": write_texts}


def normalized(color):
    return ((np.array(color) / 255 - MEAN) / STD)[:, None, None]


@pytest.mark.parametrize("nested", [False, True])
def test_radiographs_and_ages(tmp_path, downloads, nested):
    greys = [17, 3, 60]
    write_rsna(tmp_path, greys)
    if nested:
        images = tmp_path / "boneage-training-dataset"
        images.rename(tmp_path / "moved")
        images.mkdir()
        (tmp_path / "moved").rename(images / images.name)
    X, y = downloads.load("rsna", tmp_path)
    assert X.shape == (3, 3, 112, 112)
    assert X.dtype == np.float32
    assert_array_equal(y, [34, 6, 120])
    for x, grey in zip(X, greys, strict=True):
        assert_allclose(x, np.broadcast_to(normalized([grey] * 3), x.shape), rtol=1e-5)


def test_colored_radiographs_are_read_as_grey(tmp_path, downloads):
    write_rsna(tmp_path, [5])
    Image.new("RGB", (30, 20), (200, 30, 90)).save(tmp_path / "boneage-training-dataset/95.png")
    X, _ = downloads.load("rsna", tmp_path)
    grey = X[0, :, 0, 0] * STD + MEAN
    assert_allclose(grey, grey[0], rtol=1e-5)


def test_images_keep_their_orientation(tmp_path, downloads):
    pixels = np.zeros((40, 60), dtype=np.uint8)
    pixels[:20, 30:] = 255
    Image.fromarray(pixels).save(tmp_path / "corner.png")
    (x,) = downloads.read_images([[tmp_path / "corner.png"]], size=8, mode="L")
    lit = np.zeros((8, 8), dtype=bool)
    lit[:4, 4:] = True
    assert_array_equal(x[0] > 0, lit)


def test_montages_of_houses_and_prices(tmp_path, downloads):
    shades = [250 - 10 * i for i in range(12)]  # house 10 stands behind 9, not behind 1
    write_houses(tmp_path, shades)
    X, y = downloads.load("houses", tmp_path)
    assert X.shape == (12, 3, 112, 112)
    assert_array_equal(y, 1000 * np.array(shades))
    corners = [np.s_[:, :56, :56], np.s_[:, :56, 56:], np.s_[:, 56:, :56], np.s_[:, 56:, 56:]]
    for x, shade in zip(X, shades, strict=True):
        for corner, color in zip(corners, COLOURS, strict=True):
            expected = normalized(np.array(color) * shade // 250)
            # JPEG loses a few grey levels.
            assert_allclose(x[corner], np.broadcast_to(expected, (3, 56, 56)), atol=0.08)


@pytest.mark.usefixtures("made_packages")
def test_texts_are_cut_or_padded(tmp_path, downloads):
    long = " ".join(["abc"] * 200)
    (tmp_path / "texts.csv").write_text(f'text,target\n"a, bb",1\nNA,-2.5\n007,1e3\n{long},4\n')
    assert downloads.find_texts(tmp_path)[0] == ["a, bb", "NA", "007", long]
    X, y = downloads.load("text", tmp_path)
    assert X.shape == (4, 128)
    assert_array_equal(X[0], [2, 2, *[0] * 126])
    assert_array_equal(X[1:3, :2], [[2, 0], [3, 0]])
    assert (X[3] == 3).all()
    assert_array_equal(y, [1, -2.5, 1000, 4])


def test_padding_does_not_count(downloads, made_packages):
    extractor = downloads.text_extractor().double().eval()
    assert made_packages == ["distilbert-base-uncased"]
    ids = torch.tensor([[7.0, 8.0, 9.0]], dtype=torch.float64)
    padded = torch.cat([ids, torch.zeros(1, 5, dtype=torch.float64)], 1)
    features = extractor(ids)
    tokens = extractor.network.model.embedding(ids.long())
    torch.testing.assert_close(features, tokens.mean(1) + tokens.sum(1))
    torch.testing.assert_close(extractor(padded), features)
    assert extractor(torch.zeros(2, 5)).isfinite().all()


def test_image_extractor_is_resnet_without_its_last_layer(downloads, made_packages):
    extractor = downloads.image_extractor()
    assert made_packages == ["IMAGENET1K_V1"]
    assert isinstance(extractor.network.fc, nn.Identity)
    assert extractor(torch.zeros(2, 3, 16, 16)).shape == (2, 8)


def test_evaluation_is_in_chunks(downloads):
    seen = []

    class Spy(nn.Module):
        def forward(self, x):
            seen.append(len(x))
            return 2 * x

    X = torch.arange(150.0)[:, None]
    network = downloads.Chunked(Spy())
    torch.testing.assert_close(network.eval()(X), 2 * X)
    assert seen == [64, 64, 22]
    network.train()(X)
    assert seen[3:] == [150]


def spoil(folder, name, content):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("dataset", "name", "content", "message"),
    [
        ("rsna", "boneage-training-dataset.csv", None, "no file boneage-training-dataset.csv"),
        ("rsna", "boneage-training-dataset.csv", b"id,age\n1,2\n", "no column 'boneage'"),
        (
            "rsna",
            "boneage-training-dataset.csv",
            b"id,boneage\n98,old\n",
            "'boneage' of data row 1",
        ),
        ("rsna", "boneage-training-dataset.csv", b"id,boneage\n", "has no rows"),
        ("rsna", "boneage-training-dataset.csv", b"", "cannot be read as CSV"),
        ("rsna", "boneage-training-dataset/98.png", None, "1 images are missing.*98.png"),
        ("houses", "HousesInfo.txt", None, "no file HousesInfo.txt"),
        ("houses", "HousesInfo.txt", b"1 2 3 4\n", "HousesInfo.txt must have five numbers"),
        ("houses", "HousesInfo.txt", b"1 2 3 4 nan\n", "must have five numbers"),
        ("houses", "HousesInfo.txt", b"1 2 3 4 5\n1 2\n", "HousesInfo.txt cannot be read"),
        ("houses", "2_kitchen.jpg", None, "2_kitchen.jpg"),
        ("text", "texts.csv", None, "no file texts.csv"),
        ("text", "texts.csv", b"target\n1\n", "no column 'text'"),
        ("text", "texts.csv", b"text,target\na,1\nb\n", "'target' of data row 2"),
        ("text", "texts.csv", b"text,target\na,inf\n", "'target' of data row 1"),
        ("text", "texts.csv", b"text,target\na, b,1\n", "more values than the first line"),
        ("text", "texts.csv", b"text,target\n\xff,1\n", "cannot be read as CSV"),
    ],
)
@pytest.mark.usefixtures("made_packages")
def test_errors_name_what_is_wrong(tmp_path, downloads, dataset, name, content, message):
    WRITERS[dataset](tmp_path, [1, 2])
    downloads.downloaded_task(dataset, tmp_path)
    spoil(tmp_path, name, content)
    with pytest.raises(SystemExit, match=message):
        downloads.downloaded_task(dataset, tmp_path)


@pytest.mark.parametrize("dataset", WRITERS)
@pytest.mark.usefixtures("made_packages")
def test_missing_folder(tmp_path, downloads, dataset):
    with pytest.raises(SystemExit, match=r"There is no folder .*nowhere"):
        downloads.downloaded_task(dataset, tmp_path / "nowhere")


def test_broken_image_is_named(tmp_path, downloads):
    write_houses(tmp_path, [1, 2])
    spoil(tmp_path, "2_bedroom.jpg", b"no image")
    with pytest.raises(SystemExit, match=r"2_bedroom.jpg cannot be read as an image"):
        downloads.load("houses", tmp_path)


@pytest.mark.parametrize(
    ("dataset", "module", "package"),
    [
        ("rsna", "torchvision", "torchvision"),
        ("houses", "PIL.Image", "pillow"),
        ("text", "transformers", "transformers"),
    ],
)
@pytest.mark.usefixtures("made_packages")
def test_missing_package_is_named(tmp_path, monkeypatch, downloads, dataset, module, package):
    WRITERS[dataset](tmp_path, [1, 2])
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit, match=f"pip install {package}`"):
        downloads.downloaded_task(dataset, tmp_path)


@pytest.mark.usefixtures("made_packages")
def test_loader_reaches_other_processes_and_reads_once(tmp_path, downloads):
    write_rsna(tmp_path, [1, 2])
    load, extractor = pickle.loads(pickle.dumps(downloads.downloaded_task("rsna", tmp_path)))
    X, y = load()
    assert_array_equal(y, [2, 4])
    assert load()[0] is X
    assert extractor is downloads.image_extractor


def fine_tune(monkeypatch, folder, *options):
    """Run the script in this process; the path of its results."""
    from paper import finetuning

    results = folder / "results.jsonl"
    command = ["finetuning", "--quick", "--splits", "1", *options]
    command += ["--results", str(results), "--output", str(folder / "output")]
    monkeypatch.setattr(sys, "argv", command)
    finetuning.main()
    return results


@pytest.mark.parametrize("dataset", WRITERS)
@pytest.mark.usefixtures("made_packages", "downloads")
def test_fine_tuning_takes_a_downloaded_set(tmp_path, monkeypatch, dataset):
    from paper import _runs, finetuning

    monkeypatch.setitem(_runs.QUICK, "max_iter", 40)
    values = np.random.default_rng(0).permutation(np.linspace(5, 95, 40).astype(int))
    WRITERS[dataset](tmp_path, values.tolist())
    results = fine_tune(monkeypatch, tmp_path, "--dataset", dataset, "--folder", str(tmp_path))
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert sorted(line["head"] for line in lines) == sorted(finetuning.HEADS)
    assert {line["task"] for line in lines} == {dataset}
    _, y = finetuning.downloaded_task(dataset, tmp_path)[0]()
    # Targets are all but written on the images and texts.
    assert min(line["rmse"] for line in lines) < 0.5 * y.std()
    assert dataset in (tmp_path / "output" / "finetuning.inc").read_text()


@pytest.mark.parametrize("options", [["--dataset", "houses"], ["--folder", "."]])
def test_dataset_and_folder_need_each_other(tmp_path, monkeypatch, capsys, options):
    with pytest.raises(SystemExit):
        fine_tune(monkeypatch, tmp_path, *options)
    assert "--dataset and --folder need each other" in capsys.readouterr().err


@pytest.mark.usefixtures("made_packages")
def test_nothing_runs_where_the_folder_is_missing(tmp_path, monkeypatch):
    options = ["--tasks", "diabetes", "--dataset", "houses", "--folder", str(tmp_path / "nowhere")]
    with pytest.raises(SystemExit, match="nowhere"):
        fine_tune(monkeypatch, tmp_path, *options)
    assert not (tmp_path / "results.jsonl").exists()

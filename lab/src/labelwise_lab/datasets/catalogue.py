"""Facts about the data sets: where they are published, how their files are called, their checksums
and class names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from . import cifar, medmnist


@dataclass(frozen=True)
class Remote:
    """A published file: its place below the data directory, where to get it, and its checksum (as
    published or computed from the original).
    """

    path: str
    url: str | None = None
    checksum: str | None = None
    content: str | None = None
    """SHA-256 of what is compressed in it: many copies were compressed again."""

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class Entry:
    """A data set: its files by role (``train images`` …), other folders in which they may be, and
    its class names.
    """

    title: str
    home: str
    license: str
    files: dict[str, Remote]
    folders: tuple[str, ...]
    """Folders below the data directory, the first being the one that downloads go to."""
    class_names: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    """Columns of a table that are not features."""


_IDX = {
    "train images": "train-images-idx3-ubyte.gz",
    "train labels": "train-labels-idx1-ubyte.gz",
    "test images": "t10k-images-idx3-ubyte.gz",
    "test labels": "t10k-labels-idx1-ubyte.gz",
}
_DIGITS = tuple("0123456789")
_CLOTHES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
_KANA = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")
# SHA-256 of each of the four files, and of what is compressed in it where that is known.
_MNIST = """
440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6 ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
"""  # noqa: E501
_FASHION_MNIST = """
3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84 c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888
a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845 bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9
346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073 5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b
67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5 0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34
"""  # noqa: E501
_KMNIST = """
51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4 -
e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17 -
edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5 76fbd229ce87db80dd281af5e6670de4ad0e42fb30a7bd643972994c47c1f42e
20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c a11dc742be8e781a40a92f53d6a4957e7b7d36df2faa097659131ebfd8fd60c6
"""  # noqa: E501


def _idx(
    name: str,
    title: str,
    home: str,
    license: str,
    url: str,
    checksums: str,
    class_names: tuple[str, ...],
) -> Entry:
    files = {}
    for (role, file), line in zip(_IDX.items(), checksums.split("\n")[1:5], strict=True):
        packed, content = line.split()
        files[role] = Remote(
            f"{title}/raw/{file}",
            f"{url}/{file}",
            f"sha256:{packed}",
            None if content == "-" else content,
        )
    return Entry(title, home, license, files, (f"{title}/raw", title, name), class_names)


IDX = {
    "mnist": _idx(
        "mnist",
        "MNIST",
        "http://yann.lecun.com/exdb/mnist",
        "CC BY-SA 3.0",
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        _MNIST,
        _DIGITS,
    ),
    "fashion-mnist": _idx(
        "fashion-mnist",
        "FashionMNIST",
        "https://github.com/zalandoresearch/fashion-mnist",
        "MIT",
        "https://fashion-mnist.s3.eu-central-1.amazonaws.com",
        _FASHION_MNIST,
        _CLOTHES,
    ),
    "kmnist": _idx(
        "kmnist",
        "KMNIST",
        "https://codh.rois.ac.jp/kmnist",
        "CC BY-SA 4.0",
        "https://codh.rois.ac.jp/kmnist/dataset/kmnist",
        _KMNIST,
        _KANA,
    ),
}

CIFAR10 = Entry(
    "CIFAR-10",
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    "research use, cite the report",
    {
        "archive": Remote(
            "cifar-10-binary.tar.gz",
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        )
    },
    (
        "cifar-10-batches-bin",
        "cifar10/cifar-10-batches-bin",
    ),
    cifar.CLASS_NAMES,
)

_SVHN = "http://ufldl.stanford.edu/housenumbers"
SVHN = Entry(
    "SVHN (cropped digits)",
    _SVHN,
    "non-commercial use",
    {
        "train": Remote(
            "svhn/train_32x32.mat",
            f"{_SVHN}/train_32x32.mat",
            "sha256:435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
        ),
        "test": Remote(
            "svhn/test_32x32.mat",
            f"{_SVHN}/test_32x32.mat",
            "sha256:cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
        ),
    },
    ("svhn", "SVHN", "."),
    _DIGITS,
)

# No checksum of the training file is published: whoever downloads it has to give one.
_CIFAR102 = (
    "https://github.com/modestyachts/cifar-10.2/raw/521467a52ad494b78ff9c70051099c0d9ba74d40"
)
CIFAR102 = Entry(
    "CIFAR-10.2",
    "https://github.com/modestyachts/cifar-10.2",
    "not stated; images from 80 Million Tiny Images",
    {
        "train": Remote("cifar-10.2/cifar102_train.npz", f"{_CIFAR102}/cifar102_train.npz"),
        "test": Remote(
            "cifar-10.2/cifar102_test.npz",
            f"{_CIFAR102}/cifar102_test.npz",
            "sha256:e4fd6462bd5141ed293acd52ea570952f65d1bfd4ec9b068f87742f75a7a632e",
        ),
    },
    ("cifar-10.2", "cifar102", "."),
    cifar.CLASS_NAMES,
)

CIFAR10H = Entry(
    "CIFAR-10H human votes",
    "https://github.com/jcpeterson/cifar-10h",
    "CC BY-NC-SA 4.0",
    {
        "counts": Remote(
            "cifar-10h/cifar10h-counts.npy",
            "https://github.com/jcpeterson/cifar-10h/raw/597cbc5f07266c9405b830ee4a53463539124c4f/data/cifar10h-counts.npy",
        )
    },
    ("cifar-10h", "cifar-10h/data", "cifar10h", "."),
    cifar.CLASS_NAMES,
)


def _medmnist(name: str, checksum: str, license: str = "CC BY 4.0") -> Entry:
    file = Remote(
        f"medmnist/{name}.npz",
        f"https://zenodo.org/records/10519652/files/{name}.npz?download=1",
        checksum,
    )
    return Entry(
        f"{name.removesuffix('mnist').capitalize()}MNIST",
        "https://medmnist.com",
        license,
        {"all": file},
        ("medmnist", "medical", "."),
        medmnist.CLASS_NAMES[name],
    )


MEDMNIST = {
    "pathmnist": _medmnist("pathmnist", "md5:a8b06965200029087d5bd730944a56c1"),
    "dermamnist": _medmnist("dermamnist", "md5:0744692d530f8e62ec473284d019b0c7", "CC BY-NC 4.0"),
    "octmnist": _medmnist("octmnist", "md5:c68d92d5b585d8d81f7112f81e2d0842"),
    "pneumoniamnist": _medmnist("pneumoniamnist", "md5:28209eda62fecd6e6a2d98b1501bb15f"),
    "retinamnist": _medmnist(
        "retinamnist", "sha256:254915f5f0a2074665c4676356824cf4ef4a3bcab233894b4bafcaf48962bd69"
    ),
    "breastmnist": _medmnist("breastmnist", "md5:750601b1f35ba3300ea97c75c52ff8f6"),
    "bloodmnist": _medmnist("bloodmnist", "md5:7053d0359d879ad8a5505303e11de1dc"),
    "tissuemnist": _medmnist("tissuemnist", "md5:ebe78ee8b05294063de985d821c1c34b"),
    "organamnist": _medmnist("organamnist", "md5:68e3f8846a6bd62f0c9bf841c0d9eacc"),
    "organcmnist": _medmnist("organcmnist", "md5:b9ceb9546e10131b32923c5bbeaea2b1"),
    "organsmnist": _medmnist("organsmnist", "md5:9ab87b696fb54e2a387ebe992d6ed5f1"),
}

# UCI's tables as ARFF files, from a collection of Weka's conversions.
_ARFF = "https://raw.githubusercontent.com/renatopp/arff-datasets/c59f172882592bb58982cc54d2d3c8a2b57e9b73/classification"


def _arff(title: str, uci: str, name: str, sha256: str, class_names: tuple[str, ...] = ()) -> Entry:
    file = Remote(f"medical/{name}.arff", f"{_ARFF}/{name}.arff", f"sha256:{sha256}")
    return Entry(
        title,
        f"https://archive.ics.uci.edu/dataset/{uci}",
        "CC BY 4.0",
        {"all": file},
        ("medical", "."),
        class_names,
    )


TABLES = {
    "dermatology": _arff(
        "Dermatology",
        "33/dermatology",
        "dermatology",
        "0d1c4236e524b90cc570c7c545c2c01d4043a3bba9ca0824b838e919771025ad",
        (
            "psoriasis",
            "seborrheic dermatitis",
            "lichen planus",
            "pityriasis rosea",
            "chronic dermatitis",
            "pityriasis rubra pilaris",
        ),
    ),
    "cardiotocography": Entry(
        "Cardiotocography",
        "https://archive.ics.uci.edu/dataset/193/cardiotocography",
        "CC BY 4.0",
        {"all": Remote("medical/cardiotocography.csv")},
        ("medical", "."),
        (
            "calm sleep",
            "REM sleep",
            "calm vigilance",
            "active vigilance",
            "shift pattern",
            "accelerative-decelerative",
            "decelerative",
            "largely decelerative",
            "flat-sinusoidal",
            "suspect",
        ),
        # V1 to V3 say which recording and when, V4 repeats V5, and V26 to V35 are the ten classes
        # themselves as 0 and 1.
        ("V1", "V2", "V3", "V4", *(f"V{i}" for i in range(26, 36))),
    ),
    "arrhythmia": _arff(
        "Arrhythmia",
        "5/arrhythmia",
        "arrhythmia",
        "cf145317a39d4110dff2060f307de96bec7eb4f42a5c0efe25438682e8a5fcfc",
        (
            "normal",
            "ischemic changes",
            "old anterior infarction",
            "old inferior infarction",
            "sinus tachycardia",
            "sinus bradycardia",
            "ventricular premature contraction",
            "supraventricular premature contraction",
            "left bundle branch block",
            "right bundle branch block",
            "left ventricular hypertrophy",
            "atrial fibrillation or flutter",
            "other",
        ),
    ),
    "hypothyroid": _arff(
        "Hypothyroid",
        "102/thyroid+disease",
        "hypothyroid",
        "dd2e5172f863bf0e5e8042c3acccd85e2c0e68a3ba2656353782522709fd927d",
    ),
    "column3c": _arff(
        "Vertebral column, 3 classes",
        "212/vertebral+column",
        "column3C",
        "cf768854cf4cf42b3a3b792a239a81ebfd4fbfafc25fbe2a19d15b3f73249879",
    ),
}

ENTRIES = {**IDX, "cifar10": CIFAR10, "svhn": SVHN, "cifar10.2": CIFAR102, **MEDMNIST, **TABLES}
"""Every data set that is read from files, by the name that `load` takes."""

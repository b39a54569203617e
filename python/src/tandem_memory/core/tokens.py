"""Tokens: an estimate of what a text costs a model, by integer arithmetic on code points.

A tokenizer seldom cuts between neighbours that often meet, so every pair of neighbours costs
something: much where a word starts, little inside a frequent pair of letters. A code point's class
is its Latin letter or its row of `SCRIPTS`; two classes give the cost, and the sum is rounded up
once. The costs are fitted to Qwen3's tokenizer by `benchmarks/token_estimate.py`, which also
publishes the error. Classes are explicit ranges, because word classes and Unicode tables differ
between languages and between their versions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .messages import Message
from .values import JsonObject, canonical_json

__all__ = ["IMAGE_TOKENS", "estimate_text", "estimate_tokens", "estimate_tools"]

IMAGE_TOKENS = 576
"""Tokens of an image, whose size in bytes says nothing: the 24 x 24 patches of LLaVA-1.5 (arXiv
2310.03744). Gemma 3 takes 256; a model that scales with the picture may take thousands.
"""

MESSAGE_TOKENS = 5
"""`<|im_start|>role\\n` and `<|im_end|>\\n`, by Qwen3's chat template, as are the three below."""

CALL_TOKENS = 4
"""`\\n<tool_call>\\n` and `</tool_call>` around the JSON of a call, which ends the line."""

RESULT_TOKENS = 4
"""`<tool_response>\\n` and `\\n</tool_response>` around a tool's result."""

TOOLS_TOKENS = 82
"""The instructions around the tools' schemas, in a system message of their own."""

SCRIPTS = """\
  0  37  62   3  28  letter lower 61-7A
 17   5 111  57  68  letter upper 41-5A
  6  50  57  13  69  space  space 20
 54  57  55  50  50  space  tab 9
  5  78  50  87  45  break  line-end A D
 86 199 196 195 157  other  digits 30-39
  3  22  88  20  42  other  stops 21 2C 2E 3A 3B 3F
 29  48  30  23  37  other  brackets 28 29 3C 3E 5B 5D 7B 7D
 43  56  31  61  11  other  quotes 22 27 60
  1  84 107  14  77  other  joiners 2D 2F 5C 5F 7C
  1  25  68  63  72  other  signs 23-26 2A 2B 3D 40 5E 7E
 77  64  84  25 122  other  unseen 0-8 B C E-1F 7F-9F 200B-200F 202A-202E 2060-206F FE00-FE0F FEFF
 64 229  45 144 193  letter Latin-1 AA B5 BA C0-D6 D8-F6 F8-FF
  0  54 134 127  47  letter Latin-A 100-17F
  4 247  85   1 111  letter Latin-B 180-2FF 2C60-2C7F A720-A7FF
204 300 247  11 159  letter Latin-add 1E00-1EFF
 80  80  80   1  80  letter combining 300-36F
103  78 106  97 101  letter Greek 370-3FF
150 175 148 132 150  letter Greek-ext 1F00-1FFF
 10 154 204 152 137  letter Cyrillic 430-44F
 87 125 106  80 102  letter Cyr-caps 410-42F
 91 248  72 204  77  letter Cyr-uk 401 404 406 407 451 454 456 457 490 491
134 186  42 203  66  letter Cyr-ext 400 402 403 405 408-40F 450 452 453 455 458-48F 492-52F
111 122  89  80  80  letter Armenian 530-58F
 50  17  63  80 141  letter Hebrew 590-5FF
 28  77 160 137 236  letter Arabic 620-64A
 67  80  80 103  80  letter Arab-marks 64B-65F 670
190 157  74 161  63  other  Arab-punct 600-61F 660-66F 6D4-6DC 6DD-6ED 6F0-6F9
113  66  68 144 124  letter Arabic-ext 671-6D3 6EE 6EF 6FA-77F FB50-FDFF FE70-FEFE
105 133 124 103 150  letter Devanagari 904-939 958-961 972-97F
129 150 148 101 150  letter Deva-marks 900-903 93A-957 962-963
169 207 150 159 166  other  Deva-punct 964-971
106 201 158 150 148  letter Bengali 980-9FF
193 171 151 150 151  letter Gurmukhi A00-A7F
179 159 157 150 150  letter Gujarati A80-AFF
150 150 150 150 150  letter Oriya B00-B7F
114 174 139 150 162  letter Tamil B80-BFF
170 151 154 150 149  letter Telugu C00-C7F
156 151 152 150 149  letter Kannada C80-CFF
146 176 156 150 145  letter Malayalam D00-D7F
170 182 151 150 148  letter Sinhala D80-DFF
 34 151  89 105  98  letter Thai E00-E30 E32 E33 E40-E46
123 150 150  50 150  letter Thai-marks E31 E34-E3F E47-E7F
130 177 149 150 172  letter Lao E80-EFF
136 153 147 150 150  letter Tibetan F00-FFF
161 170 147 150 150  letter Myanmar 1000-109F
105 155 147 150 150  letter Georgian 10A0-10FF 1C90-1CBF 2D00-2D2F
113 150 151 150 150  letter Ethiopic 1200-139F
123 164 145 150 150  letter Khmer 1780-17FF
 41  90  47  96  40  other  marks A0-A9 AB-B4 B6-B9 BB-BF D7 F7 2010-2029 202F-205F
 62  81  46 150 126  other  arrows,-boxes 2190-21FF 2500-257F
171 282 132 150 119  other  symbols 2070-218F 2200-24FF 2580-2BFF
159 233 188  93  85  other  CJK-marks 3000-303F FE10-FE1F FE30-FE4F FF00-FFEF
 12 199 159 115 118  other  Hiragana 3040-309F
 38 168 242 123 129  other  Katakana 30A0-30FF 31F0-31FF
 85  20  92  23 148  other  Hangul AC00-D7A3
130 150 130 150 126  other  Jamo 1100-11FF 3130-318F
 99 144 124 159  72  other  Han 4E00-9FFF
150 150 150 150 150  other  Han-rare 3400-4DBF F900-FAFF
121 250 249 250 159  other  flags 1F1E6-1F1FF
 99 261 265 250 170  other  emoji 1F000-1F1E5 1F200-1FAFF
235 250 250 250 247  other  far 10000-1EFFF 1FB00-1FFFF
 45 138  51  88  69  other  Common-Han
150 150 150 150 147  other  the-rest
"""
"""Hundredths of a token that a code point costs after one of its own class, after a space, after a
line end (or as the first), after a letter, and after anything else; what it is to the one that
follows; its class's name and code points. The last two classes are `COMMON_HAN` and the rest.
"""

LETTER_PAIRS = """\
9726071301542628608159072102990649110705270401323394
6388013918085898230375077299138599225574244340340888
0700050007126238120007103155062448093106064176530502
4604530214001096530731027998212148930984968658440551
3039040621089479784698490435263009050435140205090495
0655605407034998077335194780078172104936074644689072
9999929906340010314800197204055233080398089166432177
1002970404733807149602692104094159380207979588479944
3606070632104691958792082105051647340907980685366322
2322997967444698894626352569645461682966698176393252
7291013872640305798184605055930149962244989591649467
1257670306095802159898052112300100111935030247430732
2108265306889396228267090896120840970991769992734477
4980060734100606649854050479694995450805907180990199
1025073490089687546644860504050314074539071606020530
2303461607409107632648100698080966051612049251991988
6541664645513140513459037257664151514975033352485643
0698402206060889129801190805055833050804671235400587
8755209806870068268395589898400528480813099704990700
6800122208537106039766230479060950112881889406830992
0518041010010789537036210059982856095906978377580397
7000287410625050907827684098653033988354979543319898
7277463003252911054761054706053746360663105310290014
0150873702593893053452350162260427343502583542520349
7899002473173498013600064808290477860365439800278003
9488197511574689964296005236998431485683389885610090
"""
"""Hundredths of a token of a Latin letter after another: two digits for a to z in the first's row,
of either case. A capital after a small letter starts a word, and so is no pair.
"""

COMMON_HAN = """\
的是一不了我有书用在人这本中看个以可很到和为自得多使文能言来要生时你好子语内作上就定理对感也件大
他容于会成么数过说如当都还化读下们没小后所者更地国心觉买出什方学翻实合面提事但想而样那置明字应喜
您行最性己些家情现前点何欢同然动常其完真之让正或孩给与法爱私語知里它开意解包果发分着境加入并配通
将译例全重此认保经式因只器从起去活种太部第回她道代新确环无写管供体力相非由年天工关比教名每值受目
女持型故间错选示儿组物候单次宝基期直参集问类設特几需指必建日月程该已设主安长存望場路利高外许信思
"""
"""The Han characters that the corpus uses most; they seldom cost more than a token."""

KINDS = ("space", "break", "letter", "other")
LETTERS = 52  # a class each; the rows after the first two follow
LINE_END = 54
BEYOND = re.compile("[\U00020000-\U0010ffff]")  # costs what U+1FFFF does


class Row(NamedTuple):
    """A row of `SCRIPTS`."""

    costs: list[int]
    kind: str
    spans: list[str]


def read_row(line: str) -> Row:
    words = line.split()
    return Row([int(word) for word in words[:5]], words[5], words[7:])


ROWS = [read_row(line) for line in SCRIPTS.splitlines()]
PAIRS = LETTER_PAIRS.splitlines()


def read_classes() -> bytes:
    """Return the class of each code point up to U+1FFFF."""
    rest = LETTERS + len(ROWS) - 3
    classes = bytearray([rest]) * 0x20000
    for number, row in enumerate(ROWS[2:], LETTERS):
        for span in row.spans:
            first, _, last = span.partition("-")
            for code in range(int(first, 16), int(last or first, 16) + 1):
                classes[code] = number
    for letter in range(26):
        classes[ord("a") + letter] = letter
        classes[ord("A") + letter] = letter + 26
    for char in COMMON_HAN.replace("\n", ""):
        classes[ord(char)] = rest - 1
    return bytes(classes)


def read_costs() -> list[list[int]]:
    """Return the hundredths of a token of each class (inner) after each class (outer)."""
    classes = range(LETTERS + len(ROWS) - 2)
    return [[pair_cost(before, number) for number in classes] for before in classes]


def pair_cost(before: int, number: int) -> int:
    first, second = row_of(before), row_of(number)
    if is_pair(before, number):
        column = number % 26 * 2
        return second.costs[0] + int(PAIRS[before % 26][column : column + 2])
    return second.costs[0 if first is second else 1 + KINDS.index(first.kind)]


def is_pair(before: int, number: int) -> bool:
    return before < LETTERS and number < LETTERS and not before < 26 <= number


def row_of(number: int) -> Row:
    return ROWS[number // 26 if number < LETTERS else number - LETTERS + 2]


CLASSES = read_classes()
COSTS = read_costs()


def estimate_text(text: str) -> int:
    """Return about how many tokens `text` is, within a few percent of Qwen3's own count.

    It is never less for a longer text, and what two texts cost apart and joined differs by a few
    tokens at most. A lone surrogate counts as U+FFFD.
    """
    classes = BEYOND.sub("\U0001ffff", text).translate(CLASSES).encode("latin-1")
    cost = 0
    before = LINE_END
    for number in classes:
        cost += COSTS[before][number]
        before = number
    return -(-cost // 100)


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens `message` takes in the prompt, as it is sent.

    Counted are the template, content, images, and the calls' names and arguments; not `thinking`,
    which isn't sent back, nor any field that no template shows. The three tokens that open the
    answer belong to no message.
    """
    count = MESSAGE_TOKENS + estimate_text(message["content"])
    count += IMAGE_TOKENS * len(message.get("images", ()))
    if message["role"] == "tool":
        count += RESULT_TOKENS
    for call in message.get("tool_calls", ()):
        function = call["function"]
        sent = canonical_json({"name": function["name"], "arguments": function["arguments"]})
        count += CALL_TOKENS + estimate_text(sent)
    return count


def estimate_tools(tools: Sequence[JsonObject]) -> int:
    """Return about how many tokens the tools' schemas take in the prompt (none take 0)."""
    if not tools:
        return 0
    return TOOLS_TOKENS + sum(estimate_text(canonical_json(tool)) for tool in tools)

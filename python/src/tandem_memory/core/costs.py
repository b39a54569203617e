"""Costs: what a text costs, by integer arithmetic on code points, for each group of scripts.

A tokenizer seldom cuts between neighbours that often meet, so every pair of neighbours costs
something: much where a word starts, little inside a frequent pair of letters. A code point's class
is its Latin letter or its row of `SCRIPTS`; two classes give the cost. The costs are fitted to
Qwen3's tokenizer by `benchmarks/token_estimate.py`, which also publishes the error. Classes are
explicit ranges, because word classes and Unicode tables differ between languages and between their
versions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["GROUPS", "text_costs"]

GROUPS = ("Latin", "signs", "CJK", "other")
"""The groups of scripts by which a tokenizer may differ from Qwen3's; costs come as one of each."""

SCRIPTS = """\
  0  42  50   3  32  letter small-letters 61-7A
 18   5 106  41  73  letter capitals 41-5A
  2  50  72  10  77  space  space 20
 61  61  60  50  50  space  tab 9
  1  57  50  95  53  break  line-end A D
 81 197 159 196 171  other  digits 30-39
  3   8  74  19  37  other  stops 21 2C 2E 3A 3B 3F
 16  44  11  23  53  other  brackets 28 29 3C 3E 5B 5D 7B 7D
 37  50  13  64  13  other  quotes 22 27 60
  1  82  83  10  79  other  joiners 2D 2F 5C 5F 7C
  0  28  55  48  74  other  signs 23-26 2A 2B 3D 40 5E 7E
 69  50  86  27 101  other  unseen 0-8 B C E-1F 7F-9F 200B-200F 202A-202E 2060-206F FE00-FE0F FEFF
 69 290 121 151 223  letter Latin-1 AA B5 BA C0-D6 D8-F6 F8-FF
  0  87  48 252  19  letter Latin-A 100-103 108-117 11A-11D 120-12F 132-140 145-159 160-178 17D-17F
 89  32 114  92  94  letter Polish 104-107 118 119 141-144 15A-15D 179-17C
  0  90 198  44 153  letter Turkish 11E 11F 130 131 15E 15F
  0 327  95   2 117  letter Latin-B 180-2FF 2C60-2C7F A720-A7FF
306 400 400   2 175  letter Latin-additional 1E00-1EFF
 80  80  80   0  80  letter combining 300-36F
103  81  97  97 111  letter Greek 370-3FF
150 175 148 133 150  letter Greek-extended 1F00-1FFF
  2  84 114  36  10  letter Cyrillic-vowels 430 435 438 43E 443
321 149 135  14 119  letter more-vowels 44B 44D-44F
  2 111 152   6 218  letter Cyrillic-consonants 431-434 436 437 439-43D 43F-442 444-449 44C
 80  80  80 379  80  letter hard-sign 44A
 56 235 211  77 165  letter Cyrillic-capitals 410-42F
 72 397 105 302  79  letter Ukrainian 401 404 406 407 451 454 456 457 490 491
178 308   0 364  53  letter Cyrillic-rest 400 402 403 405 408-40F 450 452 453 455 458-48F 492-52F
112 122  88  80  80  letter Armenian 530-58F
 49  20  57  80 135  letter Hebrew 590-5FF
 27  83 152 127 217  letter Arabic 620-64A
 74  80  80  94  80  letter Arabic-marks 64B-65F 670
219 169  70 171  54  other  Arabic-punct 600-61F 660-66F 6D4-6DC 6DD-6ED 6F0-6F9
115  69  73 145 128  letter Arabic-extended 671-6D3 6EE 6EF 6FA-77F FB50-FDFF FE70-FEFE
106 138 122 105 153  letter Devanagari 904-939 958-961 972-97F
121 150 148  99 150  letter Devanagari-marks 900-903 93A-957 962-963
172 201 150 160 167  other  Devanagari-punct 964-971
106 204 151 150 149  letter Bengali 980-9FF
194 172 151 150 151  letter Gurmukhi A00-A7F
180 160 157 150 150  letter Gujarati A80-AFF
150 150 150 150 150  letter Oriya B00-B7F
114 180 133 150 165  letter Tamil B80-BFF
171 151 155 150 149  letter Telugu C00-C7F
156 153 151 150 150  letter Kannada C80-CFF
146 176 156 150 145  letter Malayalam D00-D7F
170 183 151 150 148  letter Sinhala D80-DFF
 35 159  91 110  80  letter Thai E00-E30 E32 E33 E40-E46
113 150 150  45 150  letter Thai-marks E31 E34-E3F E47-E7F
130 178 149 150 173  letter Lao E80-EFF
136 153 147 150 150  letter Tibetan F00-FFF
162 171 147 150 150  letter Myanmar 1000-109F
105 155 147 150 150  letter Georgian 10A0-10FF 1C90-1CBF 2D00-2D2F
112 150 151 150 150  letter Ethiopic 1200-139F
123 165 144 150 150  letter Khmer 1780-17FF
 23  78   0  81  17  other  marks A0-A9 AB-B4 B6-B9 BB-BF D7 F7 2010-2029 202F-205F
 66  74  44 150 112  other  arrows-boxes 2190-21FF 2500-257F
171 254 115 150 175  other  symbols 2070-218F 2200-24FF 2580-2BFF
157 223 177  73  89  other  CJK-marks 3000-303F FE10-FE1F FE30-FE4F FF00-FFEF
 12 165 141  92 117  other  Hiragana 3040-309F
 39 162 211 107 140  other  Katakana 30A0-30FF 31F0-31FF
 84  17  88  42 144  other  Hangul AC00-D7A3
140 150 137 150 129  other  Jamo 1100-11FF 3130-318F
 76 137 156 153  82  other  Han 4E00-9FFF
150 150 150 150 150  other  rare-Han 3400-4DBF F900-FAFF
 84 250 251 250 176  other  flags 1F1E6-1F1FF
 99 233 287 250 174  other  emoji 1F000-1F1E5 1F200-1FAFF
241 250 250 250 248  other  far 10000-1EFFF 1FB00-1FFFF
 47 125  62  71  65  other  common-Han
150 150 150 150 147  other  the-rest
"""
"""Hundredths of a token that a code point costs after one of its own class, after a space, after a
line end (or as the first), after a letter, and after anything else; what it is to the one that
follows; its class's name and code points. The last two classes are `COMMON_HAN` and the rest.
"""

LETTER_PAIRS = """\
9829071003573273268173062300990592100604110322115993
3070015013298497601931067898059999050783098172520885
1610085106488427043206086645052658102606068295720534
5807350127570794531136087096230087770691944276140521
3336040534079193844696500339350811050434340506090392
0943605907029798066035158878079448149937079381957255
9498969007470108265200438905187994060399229697400099
3403992404987242259708733113084071380506989293767945
3707060215086191967990211703041586431106950697319724
1405999456017795767736298641567166983683118391809771
5898020368892115809094975144940052956368989282839285
2492990207109401089697058700240131110730230489730815
2305425104969697215596110799200985970681679791744486
4576050630060511619460290473555795000603917699990196
0716071781069178725044800502190331063722050309090513
2209260807747010458618081098080789052909059483982899
6083868244997090519051127379928375585876035952297678
0497644006080774139502290505045833120507542358270598
7168179804860061297681439699101574270713139804991000
6700110108989804029983161100051086090955759808930796
0743120216023192619054130045991391086606939681610592
6000728209776749559459853692386978999287939667717593
7999577608759310049257031717125837490833006032880052
0380899502944895035476390467440493538906264187302768
9095125458979893019470333310371191970562939800819403
9494705811899854958598004523980078923671631597913590
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


def read_groups() -> list[int]:
    """Return the group of each class, as an index of `GROUPS`."""
    rows = map(row_of, range(LETTERS + len(ROWS) - 2))
    return [*map(group_of, [*rows][:-2]), GROUPS.index("CJK"), GROUPS.index("other")]


def group_of(row: Row) -> int:
    first = int(row.spans[0].partition("-")[0], 16)
    if first < 0x370:  # before Greek
        return GROUPS.index("signs" if row.kind == "other" else "Latin")
    is_cjk = 0x1100 <= first < 0x1200 or 0x3000 <= first < 0x10000
    return GROUPS.index("CJK" if is_cjk else "other")


CLASSES = read_classes()
COSTS = read_costs()
GROUP = read_groups()


def text_costs(text: str) -> list[int]:
    """Return the hundredths of a token that `text` costs, for each of `GROUPS`."""
    classes = BEYOND.sub("\U0001ffff", text).translate(CLASSES).encode("latin-1")
    costs = [0] * len(GROUPS)
    before = LINE_END
    for number in classes:
        costs[GROUP[number]] += COSTS[before][number]
        before = number
    return costs

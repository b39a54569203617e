/**
 * Tokens: an estimate of what a text costs a model, by integer arithmetic on code points.
 *
 * A tokenizer seldom cuts between neighbours that often meet, so every pair of neighbours costs
 * something: much where a word starts, little inside a frequent pair of letters. A code point's
 * class is its Latin letter or its row of `SCRIPTS`; two classes give the cost, and the sum is
 * rounded up once. The costs are fitted to Qwen3's tokenizer by `benchmarks/token_estimate.py`,
 * which also publishes the error. Classes are explicit ranges, because word classes and Unicode tables
 * differ between languages and between their versions.
 */

import type { Message } from "./messages.ts";
import type { JsonObject } from "./values.ts";
import { canonicalJson } from "./values.ts";

/**
 * Tokens of an image, whose size in bytes says nothing: the 24 x 24 patches of LLaVA-1.5 (arXiv
 * 2310.03744). Gemma 3 takes 256; a model that scales with the picture may take thousands.
 */
export const IMAGE_TOKENS = 576;

/** `<|im_start|>role\n` and `<|im_end|>\n`, by Qwen3's chat template, as are the three below. */
const MESSAGE_TOKENS = 5;

/** `\n<tool_call>\n` and `\n</tool_call>` around the JSON of a call. */
const CALL_TOKENS = 5;

/** `<tool_response>\n` and `\n</tool_response>` around a tool's result. */
const RESULT_TOKENS = 4;

/** The instructions around the tools' schemas. */
const TOOLS_TOKENS = 92;

/**
 * Hundredths of a token that a code point costs after one of its own class, after a space, after a
 * line end (or as the first), after a letter, and after anything else; what it is to the one that
 * follows; its class's name and code points. The last two classes are `COMMON_HAN` and all the rest.
 */
const SCRIPTS = `\
  0  25  32   0  27  letter lower 61-7A
  7   0  93  60  61  letter upper 41-5A
  1  57  82  40  79  space  space 20
 46  50  87  50  37  space  tab 9
 26  41  50 118  52  break  line-end A D
 88 153 187 193 168  other  digits 30-39
  0  63   1  55  33  other  stops 21 2C 2E 3A 3B 3F
  9  54  34  48  44  other  brackets 28 29 3C 3E 5B 5D 7B 7D
 42  47  29  84  24  other  quotes 22 27 60
  0  24  91  45  50  other  joiners 2D 2F 5C 5F 7C
  1  11  73  88  77  other  signs 23-26 2A 2B 3D 40 5E 7E
 84  31  47  97  51  other  unseen 0-8 B C E-1F 7F-9F 200B-200F 202A-202E 2060-206F FE00-FE0F FEFF
106 218 131 135 222  letter Latin-1 AA B5 BA C0-D6 D8-F6 F8-FF
  0   0 108 152  98  letter Latin-A 100-17F
  0   0  79   0  81  letter Latin-B 180-2FF 2C60-2C7F A720-A7FF
226 300 230   4 209  letter Latin-add 1E00-1EFF
 80  80  80   0  80  letter combining 300-36F
106  39  75  80  86  letter Greek 370-3FF
150 150 150 150 150  letter Greek-ext 1F00-1FFF
 16  78 125 126 250  letter Cyrillic 430-44F
 99  79  96  43 120  letter Cyr-caps 410-42F
 55 227  82 240  33  letter Cyr-uk 401 404 406 407 451 454 456 457 490 491
  0  67  42 250  87  letter Cyr-ext 400 402 403 405 408-40F 450 452 453 455 458-48F 492-52F
108 109  80  80  80  letter Armenian 530-58F
 46   0  38  80  95  letter Hebrew 590-5FF
 32  30  99 150 160  letter Arabic 620-64A
 58  80  80 107  80  letter Arab-marks 64B-65F 670
114 193 141 217  72  other  Arab-punct 600-61F 660-66F 6D4-6DC 6DD-6ED 6F0-6F9
154  90  51  97 138  letter Arabic-ext 671-6D3 6EE 6EF 6FA-77F FB50-FDFF FE70-FEFE
102 110 125 107 131  letter Devanagari 904-939 958-961 972-97F
118 150 150  96 150  letter Deva-marks 900-903 93A-957 962-963
202 200 150 196 209  other  Deva-punct 964-971
110 159 104 150  61  letter Bengali 980-9FF
182 177 150 150 152  letter Gurmukhi A00-A7F
168 176 152 150 150  letter Gujarati A80-AFF
150 150 150 150 150  letter Oriya B00-B7F
113 152 122 150 149  letter Tamil B80-BFF
166 148 146 150 150  letter Telugu C00-C7F
152 162 144 150 150  letter Kannada C80-CFF
139 183 158 150 131  letter Malayalam D00-D7F
170 145 146 150 161  letter Sinhala D80-DFF
 46 116  97  44  61  letter Thai E00-E30 E32 E33 E40-E46
 84 150 150  81 150  letter Thai-marks E31 E34-E3F E47-E7F
128 178 146 150 151  letter Lao E80-EFF
136 148 153 150 150  letter Tibetan F00-FFF
159 166 157 150 150  letter Myanmar 1000-109F
 90 222 147 150 150  letter Georgian 10A0-10FF 1C90-1CBF 2D00-2D2F
112 147 143 150 150  letter Ethiopic 1200-139F
120 171 154 150 150  letter Khmer 1780-17FF
 64  77  20  86  21  other  marks A0-A9 AB-B4 B6-B9 BB-BF D7 F7 2010-2029 202F-205F
 53  88  45 150 130  other  arrows,-boxes 2190-21FF 2500-257F
204 275 227 150 115  other  symbols 2070-218F 2200-24FF 2580-2BFF
 91 251 154 116  82  other  CJK-marks 3000-303F FE10-FE1F FE30-FE4F FF00-FFEF
 18 173  88 152 120  other  Hiragana 3040-309F
 58 174 106 151  26  other  Katakana 30A0-30FF 31F0-31FF
 77  15 115 216 145  other  Hangul AC00-D7A3
186 150 180 150 179  other  Jamo 1100-11FF 3130-318F
 73 108 145 109  87  other  Han 4E00-9FFF
150 150 150 150 150  other  Han-rare 3400-4DBF F900-FAFF
128 250 247 250 157  other  flags 1F1E6-1F1FF
122 259 262 250 194  other  emoji 1F000-1F1E5 1F200-1FAFF
278 250 250 250 256  other  far 10000-1EFFF 1FB00-1FFFF
 48 145  49 158  51  other  Common-Han
150 150 150 150 142  other  the-rest
`;

/**
 * Hundredths of a token of a Latin letter after another: two digits for a to z in the first's row,
 * of either case. A capital after a small letter starts a word, and so is no pair.
 */
const LETTER_PAIRS = `\
9925000046230087299900002000992099061800260004001183
1499005603087399111399000006139963410042001321560055
0449000000655736110300004399025232000000005490760003
3300760010700099570027540070254394304878329880292825
2331000003202899990099401239750400081810730006000099
3400930000007999009948145500009953009911004160482562
9999999900905200139869349900007099000071244899349968
2300749706993367009921993600027836002102999999629971
2900000006000999999999120800000057071600990057002000
6972739959008299993799171786335246821799379040325765
7412170942430017417399665386997745990038999999407846
1200990000009900329968204854402801000021260099580099
2464160000995299309951000099000036990999289918780092
1361000019310000509938000024743399990003451453990099
0000010771007995600007341800330099002000003600672149
1770770006552700629966000099000044061300020027991399
9946515360625884415252002846926985377556005562492565
2599144400070052101000470005002016370005280599340019
4700227304841721299299429057450000000004019936990005
5268100002669900009939180000111178003381819900000099
0000000013003299739999020049993499001200996599510099
3700104700642076483896940099314656938060729968519981
3299392511033700047999006400015849883946635400590020
0156065864536594006047350051000533567208084763000021
1799004585340099006180000121000064400025999900341800
9699099926519999995099115799997143989973749999390099
`;

/** The Han characters that the corpus uses most; they seldom cost more than a token. */
const COMMON_HAN = `\
的用是使一在不有以可言件定内中化了文个翻能容要和我您成数语理置自你提合人到本这为生下多方更如时上
性应行于作配出供译例保包字大将加器訳过地会动好設很来明国间境入得并对通新目管動最式場建或重什果们
所全服点程法组型务他它前同分持么还环必示面参存与取选書发子語小装也看当设意含步工解何现没声实确名
向指代集需体请辞由第就关機安开典者高利户后其项都感宣书常特基该外比完路此店房関认错模序构接部说格
変档酒码展支编正从度插際実改些期而页但无态觉心类私种检测相只情力际函问进知整時列非任手扩默位信想
`;

const KINDS = ["space", "break", "letter", "other"];
const LETTERS = 52; // a class each; the rows after the first two follow
const LINE_END = 54;
const LAST = 0x1ffff; // what lies beyond costs the same

/** A row of `SCRIPTS`. */
interface Row {
  costs: number[];
  kind: string;
  spans: string[];
}

function readRow(line: string): Row {
  const words = line.trim().split(/ +/);
  return { costs: words.slice(0, 5).map(Number), kind: words[5] ?? "", spans: words.slice(7) };
}

const ROWS = SCRIPTS.trimEnd().split("\n").map(readRow);
const PAIRS = LETTER_PAIRS.trimEnd().split("\n");

/** Return the class of each code point up to U+1FFFF. */
function readClasses(): Uint8Array {
  const rest = LETTERS + ROWS.length - 3;
  const classes = new Uint8Array(LAST + 1).fill(rest);
  ROWS.slice(2).forEach((row, number) => {
    for (const span of row.spans) {
      const [first = "", last = first] = span.split("-");
      classes.fill(LETTERS + number, Number.parseInt(first, 16), Number.parseInt(last, 16) + 1);
    }
  });
  for (let letter = 0; letter < 26; letter++) {
    classes[0x61 + letter] = letter;
    classes[0x41 + letter] = letter + 26;
  }
  for (const char of COMMON_HAN.replaceAll("\n", "")) classes[char.charCodeAt(0)] = rest - 1;
  return classes;
}

/** Return the hundredths of a token of each class (inner) after each class (outer). */
function readCosts(): Uint16Array[] {
  const count = LETTERS + ROWS.length - 2;
  return Array.from({ length: count }, (_, before) =>
    Uint16Array.from({ length: count }, (_, number) => pairCost(before, number)),
  );
}

function pairCost(before: number, number: number): number {
  const [first, second] = [rowOf(before), rowOf(number)];
  if (before < LETTERS && number < LETTERS && !(before < 26 && number >= 26)) {
    const column = (number % 26) * 2;
    return (second.costs[0] ?? 0) + Number(PAIRS[before % 26]?.slice(column, column + 2));
  }
  return second.costs[first === second ? 0 : 1 + KINDS.indexOf(first.kind)] ?? 0;
}

function rowOf(number: number): Row {
  return ROWS[number < LETTERS ? Math.floor(number / 26) : number - LETTERS + 2] as Row;
}

const CLASSES = readClasses();
const COSTS = readCosts();

/**
 * Return about how many tokens `text` is, within a few percent of Qwen3's own count.
 *
 * It is never less for a longer text, and what two texts cost apart and joined differs by a few
 * tokens at most. A lone surrogate counts as U+FFFD.
 */
export function estimateText(text: string): number {
  let cost = 0;
  let before = LINE_END;
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i) as number;
    if (code > 0xffff) i++;
    const number = CLASSES[Math.min(code, LAST)] as number;
    cost += COSTS[before]?.[number] as number;
    before = number;
  }
  return Math.ceil(cost / 100);
}

/**
 * Return about how many tokens `message` takes in the prompt, as it is sent.
 *
 * Counted are the template, content, images, and the calls' names and arguments; not `thinking`,
 * which isn't sent back, nor any field that no template shows. The three tokens that open the
 * answer belong to no message.
 */
export function estimateTokens(message: Message): number {
  let count = MESSAGE_TOKENS + estimateText(message.content);
  count += IMAGE_TOKENS * (message.images ?? []).length;
  if (message.role === "tool") count += RESULT_TOKENS;
  for (const { function: called } of message.tool_calls ?? []) {
    const sent = canonicalJson({ name: called.name, arguments: called.arguments });
    count += CALL_TOKENS + estimateText(sent);
  }
  return count;
}

/** Return about how many tokens the tools' schemas take in the prompt (none take 0). */
export function estimateTools(tools: readonly JsonObject[]): number {
  if (tools.length === 0) return 0;
  return tools.reduce((sum, tool) => sum + 1 + estimateText(canonicalJson(tool)), TOOLS_TOKENS);
}

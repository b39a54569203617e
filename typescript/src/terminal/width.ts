/**
 * How wide a text stands in a terminal: Chinese, Japanese, Korean and emoji take two columns.
 *
 * The ranges are those of Unicode 16's East Asian Width and general category, simplified; the
 * tables that come with a language differ by its version, and both languages must print the same.
 */

type Range = readonly [first: number, last: number];

// biome-ignore format: a table
const WIDE: readonly Range[] = [
    [0x1100, 0x115F], [0x231A, 0x231B], [0x2329, 0x232A], [0x23E9, 0x23EC], [0x23F0, 0x23F0],
    [0x23F3, 0x23F3], [0x25FD, 0x25FE], [0x2614, 0x2615], [0x2648, 0x2653], [0x267F, 0x267F],
    [0x2693, 0x2693], [0x26A1, 0x26A1], [0x26AA, 0x26AB], [0x26BD, 0x26BE], [0x26C4, 0x26C5],
    [0x26CE, 0x26CE], [0x26D4, 0x26D4], [0x26EA, 0x26EA], [0x26F2, 0x26F3], [0x26F5, 0x26F5],
    [0x26FA, 0x26FA], [0x26FD, 0x26FD], [0x2705, 0x2705], [0x270A, 0x270B], [0x2728, 0x2728],
    [0x274C, 0x274C], [0x274E, 0x274E], [0x2753, 0x2755], [0x2757, 0x2757], [0x2795, 0x2797],
    [0x27B0, 0x27B0], [0x27BF, 0x27BF], [0x2B1B, 0x2B1C], [0x2B50, 0x2B50], [0x2B55, 0x2B55],
    [0x2E80, 0x303E], [0x3041, 0xA4CF], [0xA960, 0xA97F], [0xAC00, 0xD7A3], [0xF900, 0xFAFF],
    [0xFE10, 0xFE19], [0xFE30, 0xFE6F], [0xFF01, 0xFF60], [0xFFE0, 0xFFE6], [0x16FE0, 0x18DFF],
    [0x1AFF0, 0x1B2FF], [0x1F004, 0x1F004], [0x1F0CF, 0x1F0CF], [0x1F18E, 0x1F18E],
    [0x1F191, 0x1F19A], [0x1F200, 0x1F320], [0x1F32D, 0x1F335], [0x1F337, 0x1F37C],
    [0x1F37E, 0x1F393], [0x1F3A0, 0x1F3CA], [0x1F3CF, 0x1F3D3], [0x1F3E0, 0x1F3F0],
    [0x1F3F4, 0x1F3F4], [0x1F3F8, 0x1F43E], [0x1F440, 0x1F440], [0x1F442, 0x1F4FC],
    [0x1F4FF, 0x1F53D], [0x1F54B, 0x1F54E], [0x1F550, 0x1F567], [0x1F57A, 0x1F57A],
    [0x1F595, 0x1F596], [0x1F5A4, 0x1F5A4], [0x1F5FB, 0x1F64F], [0x1F680, 0x1F6C5],
    [0x1F6CC, 0x1F6CC], [0x1F6D0, 0x1F6D2], [0x1F6D5, 0x1F6D7], [0x1F6DC, 0x1F6DF],
    [0x1F6EB, 0x1F6EC], [0x1F6F4, 0x1F6FC], [0x1F7E0, 0x1F7EB], [0x1F7F0, 0x1F7F0],
    [0x1F90C, 0x1F93A], [0x1F93C, 0x1F945], [0x1F947, 0x1F9FF], [0x1FA70, 0x1FAFF],
    [0x20000, 0x3FFFD],
];
/** Marks that stand on the character before them, and what is not seen at all. */
// biome-ignore format: a table
const NARROWEST: readonly Range[] = [
    [0x0300, 0x036F], [0x0483, 0x0489], [0x0591, 0x05BD], [0x0610, 0x061A], [0x064B, 0x065F],
    [0x0670, 0x0670], [0x06D6, 0x06DC], [0x06DF, 0x06E4], [0x0900, 0x0902], [0x093A, 0x093A],
    [0x093C, 0x093C], [0x0941, 0x0948], [0x094D, 0x094D], [0x0951, 0x0957], [0x0E31, 0x0E31],
    [0x0E34, 0x0E3A], [0x0E47, 0x0E4E], [0x1160, 0x11FF], [0x1AB0, 0x1AFF], [0x1DC0, 0x1DFF],
    [0x200B, 0x200F], [0x202A, 0x202E], [0x2060, 0x206F], [0x20D0, 0x20F0], [0x302A, 0x302D],
    [0x3099, 0x309A], [0xFE00, 0xFE0F], [0xFE20, 0xFE2F], [0xFEFF, 0xFEFF], [0xE0000, 0xE0FFF],
];

/** Return how many columns `text` takes. */
export function width(text: string): number {
  return points(text).reduce((total, point) => total + charWidth(point), 0);
}

/** Return `text`, or where it is wider than `columns` its beginning and three dots. */
export function clip(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = "";
  let room = columns - 3;
  for (const point of points(text)) {
    room -= charWidth(point);
    if (room < 0) break;
    kept += String.fromCodePoint(point);
  }
  return `${kept}...`;
}

/** Return `text` filled up with spaces to `columns`; `right` puts it at the right end. */
export function pad(text: string, columns: number, { right = false } = {}): string {
  const space = " ".repeat(columns - width(text));
  return right ? space + text : text + space;
}

/** Return `text` with each run of spaces, line ends and control characters as one space. */
export function oneLine(text: string): string {
  const spaced = points(text).map((point) =>
    isControl(point) ? " " : String.fromCodePoint(point),
  );
  return spaced
    .join("")
    .split(" ")
    .filter((word) => word !== "")
    .join(" ");
}

/**
 * Return `text` without control characters but tabs and line ends.
 *
 * A model's words must not move the cursor, set the window's title, or answer for the terminal.
 */
export function visible(text: string): string {
  return Array.from(text)
    .filter((char) => "\t\n".includes(char) || !points(char).some(isControl))
    .join("");
}

function points(text: string): number[] {
  return Array.from(text, (char) => char.codePointAt(0) ?? 0);
}

function isControl(point: number): boolean {
  return point < 0x20 || (0x7f <= point && point < 0xa0) || (0x2028 <= point && point <= 0x2029);
}

function charWidth(point: number): number {
  if (point < 0x300) return 1;
  if (holds(NARROWEST, point)) return 0;
  return holds(WIDE, point) ? 2 : 1;
}

function holds(ranges: readonly Range[], point: number): boolean {
  return ranges.some(([first, last]) => first <= point && point <= last);
}

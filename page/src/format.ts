// How numbers are written: the same rules as labelwise/_format.py, both tested against tests/number_cases.json.
// The shortest digits that restore a number are rounded half away from zero; what is rounded to zero has no sign.

type Maybe = number | null | undefined;

function digitsOf(x: number): { whole: bigint; power: number } {
  const [mantissa = "0", power = "0"] = Math.abs(x).toExponential().split("e");
  const [first = "0", rest = ""] = mantissa.split(".");
  return { whole: BigInt(first + rest), power: Number(power) - rest.length };
}

/** |x| · 10^shift as the whole number of units of the last decimal. */
function unitsOf(x: number, decimals: number, shift = 0): bigint {
  const { whole, power } = digitsOf(x);
  const by = power + shift + decimals;
  if (by >= 0) return whole * 10n ** BigInt(by);
  const unit = 10n ** BigInt(-by);
  return (2n * whole + unit) / (2n * unit);
}

function written(units: bigint, decimals: number, negative: boolean): string {
  const digits = units.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
  const sign = negative && units !== 0n ? "-" : "";
  return sign + whole + (decimals > 0 ? "." + digits.slice(-decimals) : "");
}

function special(x: Maybe): string | null {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (Number.isFinite(x)) return null;
  return x > 0 ? "inf" : "-inf";
}

export function fixed(x: Maybe, decimals: number): string {
  return special(x) ?? written(unitsOf(Number(x), decimals), decimals, Number(x) < 0);
}

export function count(x: Maybe): string {
  return fixed(x, 0);
}

/** A share in percent; what is rounded to 0 or 100 % says so, unless it is exactly that. */
export function percent(x: Maybe, decimals = 1): string {
  const missing = special(x);
  if (missing !== null) return missing;
  const share = Number(x);
  const units = unitsOf(share, decimals, 2);
  const hundred = 100n * 10n ** BigInt(decimals);
  let text = written(units, decimals, share < 0);
  if (units === 0n) {
    if (share === 0) text = "0";
    else if (share > 0) text = `< ${written(1n, decimals, false)}`;
    else text = `> ${written(1n, decimals, true)}`;
  }
  if (units === hundred && share > 0) {
    text = share < 1 - 1e-14 ? `> ${written(hundred - 1n, decimals, false)}` : "100";
  }
  return text + "\u00a0%";
}

export const whole = (x: Maybe): string => percent(x, 0);
export const pointsOf = (x: Maybe): string => points(x, 0);
export const thousandths = (x: Maybe): string => fixed(x, 3);
export const hundredths = (x: Maybe): string => fixed(x, 2);

/** A difference of shares in percentage points, without the word. */
export function points(x: Maybe, decimals = 1): string {
  return special(x) ?? written(unitsOf(Number(x), decimals, 2), decimals, Number(x) < 0);
}

/** An amount with so many significant digits, never coarser than whole. */
export function number(x: Maybe, digits = 3): string {
  const missing = special(x);
  if (missing !== null) return missing;
  const value = Number(x);
  if (value === 0) return "0";
  const { whole, power } = digitsOf(value);
  const decimals = digits - power - whole.toString().length;
  const units = unitsOf(value, decimals);
  const leading = units.toString().length - 1 - decimals;
  if (Math.abs(value) >= 1e9 || leading < -4) {
    return trimmed(written(units, decimals + leading, value < 0)) + "e" + leading;
  }
  return trimmed(decimals < 0 ? count(value) : written(units, decimals, value < 0));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function plural(n: number, word: string): string {
  return `${count(n)} ${word}${n === 1 ? "" : "s"}`;
}

/** Letters for members: a … z, then aa, ab … */
export function letter(i: number): string {
  const last = String.fromCharCode(97 + (i % 26));
  return i < 26 ? last : letter(Math.floor(i / 26) - 1) + last;
}

/** A name inside a text; one that is read from right to left is marked, so that what is around it keeps its order. */
export function isolated(name: string): string {
  return /[\u0590-\u08ff\ufb1d-\ufefc]/.test(name) ? `\u2068${name}\u2069` : name;
}

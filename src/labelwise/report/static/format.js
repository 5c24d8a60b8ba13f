// How numbers are written on the page. The same rules as in labelwise/_format.py; both are tested against tests/number_cases.json.
// The shortest digits that restore a number are rounded half away from zero; a number that is rounded to zero has no sign.

/** The digits of a finite number: it is ± whole · 10^power. @param {number} x @returns {{whole: bigint, power: number}} */
function digitsOf(x) {
  const [mantissa, power] = Math.abs(x).toExponential().split("e");
  const [first, rest = ""] = mantissa.split(".");
  return { whole: BigInt(first + rest), power: Number(power) - rest.length };
}

/** |x| · 10^shift with so many decimals, as the whole number of units of the last one. @param {number} x @param {number} decimals @param {number} [shift] */
function unitsOf(x, decimals, shift = 0) {
  const { whole, power } = digitsOf(x);
  const by = power + shift + decimals;
  if (by >= 0) return whole * 10n ** BigInt(by);
  const unit = 10n ** BigInt(-by);
  return (2n * whole + unit) / (2n * unit); // half away from zero
}

/** Units of the last decimal as text, thousands separated. @param {bigint} units @param {number} decimals @param {boolean} negative */
function written(units, decimals, negative) {
  const digits = units.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
  return (negative && units !== 0n ? "-" : "") + whole + (decimals > 0 ? "." + digits.slice(-decimals) : "");
}

/** What is written for a number that is missing or infinite. @param {number | null | undefined} x @returns {string | null} */
function special(x) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  return Number.isFinite(x) ? null : x > 0 ? "inf" : "-inf";
}

/** A number with so many decimals. @param {number | null | undefined} x @param {number} decimals */
function fixed(x, decimals) {
  return special(x) ?? written(unitsOf(Number(x), decimals), decimals, Number(x) < 0);
}

/** A whole number. @param {number | null | undefined} x */
function count(x) {
  return fixed(x, 0);
}

/** A share in percent; what is rounded to 0 or 100 % says so, unless it is exactly that. @param {number | null | undefined} x */
function percent(x, decimals = 1) {
  const missing = special(x);
  if (missing !== null) return missing;
  const share = Number(x);
  const units = unitsOf(share, decimals, 2);
  const hundred = 100n * 10n ** BigInt(decimals);
  let text = written(units, decimals, share < 0);
  if (units === 0n) text = share === 0 ? "0" : share > 0 ? `< ${written(1n, decimals, false)}` : `> ${written(1n, decimals, true)}`;
  if (units === hundred && share > 0) text = share < 1 - 1e-14 ? `> ${written(hundred - 1n, decimals, false)}` : "100";
  return text + "\u00a0%";
}

/** A difference of two shares in percentage points, without the word. @param {number | null | undefined} x */
function points(x, decimals = 1) {
  return special(x) ?? written(unitsOf(Number(x), decimals, 2), decimals, Number(x) < 0);
}

/** An amount with so many significant digits, but never coarser than whole; as a power of ten from a billion on and below 0.0001. @param {number | null | undefined} x */
function number(x, digits = 3) {
  const missing = special(x);
  if (missing !== null) return missing;
  const value = Number(x);
  if (value === 0) return "0";
  const { whole, power } = digitsOf(value);
  const decimals = digits - power - whole.toString().length;
  const units = unitsOf(value, decimals);
  const leading = units.toString().length - 1 - decimals; // the power of ten of the first digit, after rounding
  if (value >= 1e9 || value <= -1e9 || leading < -4) return trimmed(written(units, decimals + leading, value < 0)) + "e" + leading;
  return trimmed(decimals < 0 ? count(value) : written(units, decimals, value < 0));
}

/** Without zeros at the end that say nothing. @param {string} text */
function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

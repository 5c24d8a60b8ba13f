const Z = 1.959963984540054;

/** Wilson's 95 % interval of a share; n may be an effective number of cases. */
export function wilson(share: number, n: number): [number, number] {
  if (!(n > 0)) return [NaN, NaN];
  const z2 = (Z * Z) / n;
  const middle = share + z2 / 2;
  const half = Z * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n));
  const low = (middle - half) / (1 + z2);
  const high = (middle + half) / (1 + z2);
  return [share === 0 ? 0 : Math.max(low, 0), share === 1 ? 1 : Math.min(high, 1)];
}

// Members of any case out of a .npy or .npz file, by File.slice: only the bytes of that case are read.

import { inflate } from "./columns";

export interface StoredArray {
  name: string;
  data: Blob;
  shape: number[];
  dtype: string;
}

const TYPES: Record<string, number> = { "<f4": 4, "<f8": 8, "<f2": 2 };
const LARGEST_INFLATED = 400_000_000;

/** The header of a .npy file. */
export async function readHeader(name: string, blob: Blob): Promise<StoredArray> {
  const head = new DataView(await blob.slice(0, 12).arrayBuffer());
  if (head.byteLength < 12 || head.getUint32(0) !== 0x934e554d)
    throw new Error(`${name} is not a NumPy array`);
  const major = head.getUint8(6);
  const [start, length] =
    major === 1 ? [10, head.getUint16(8, true)] : [12, head.getUint32(8, true)];
  if (length > 100_000) throw new Error(`${name} has a damaged header`);
  const text = await blob.slice(start, start + length).text();
  const dtype = /'descr':\s*'([^']+)'/.exec(text)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(text)?.[1];
  const shape = /'shape':\s*\(([^)]*)\)/.exec(text)?.[1];
  if (dtype === undefined || order === undefined || shape === undefined)
    throw new Error(`${name} has a damaged header`);
  if (order === "True")
    throw new Error(`${name} is in Fortran order; save it with numpy.ascontiguousarray`);
  const sizes = shape
    .split(",")
    .map((x) => x.trim())
    .filter((x) => x !== "")
    .map(Number);
  const data = blob.slice(start + length);
  const size = TYPES[dtype];
  const wanted = sizes.reduce((a, b) => a * b, size ?? 0);
  if (size !== undefined && data.size < wanted)
    throw new Error(`${name} ends too early: ${data.size} of ${wanted} bytes`);
  return { name, data, shape: sizes, dtype };
}

/** The entries of a zip file, by its directory at the end. */
export async function readZip(file: Blob): Promise<{ name: string; blob: () => Promise<Blob> }[]> {
  const tail = await file.slice(Math.max(file.size - 66_000, 0)).arrayBuffer();
  const view = new DataView(tail);
  let end = tail.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("the file has no directory; it is damaged or not complete");
  let count = view.getUint16(end + 10, true);
  let size = view.getUint32(end + 12, true);
  let start = view.getUint32(end + 16, true);
  if (start === 0xffffffff || count === 0xffff) {
    const at = Number(view.getBigUint64(end - 20 + 8, true));
    const wide = new DataView(await file.slice(at, at + 56).arrayBuffer());
    count = Number(wide.getBigUint64(32, true));
    size = Number(wide.getBigUint64(40, true));
    start = Number(wide.getBigUint64(48, true));
  }
  const directory = new DataView(await file.slice(start, start + size).arrayBuffer());
  const entries: { name: string; blob: () => Promise<Blob> }[] = [];
  for (let at = 0; entries.length < count && at + 46 <= directory.byteLength;) {
    if (directory.getUint32(at, true) !== 0x02014b50)
      throw new Error("the directory of the file is damaged");
    const method = directory.getUint16(at + 10, true);
    let stored = directory.getUint32(at + 20, true);
    let full = directory.getUint32(at + 24, true);
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((x) =>
      directory.getUint16(at + x, true),
    );
    let offset = directory.getUint32(at + 42, true);
    const name = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, nameLength));
    let extra = at + 46 + nameLength;
    const extraEnd = extra + extraLength;
    while (extra + 4 <= extraEnd) {
      const [id, length] = [directory.getUint16(extra, true), directory.getUint16(extra + 2, true)];
      if (id === 1) {
        let field = extra + 4;
        const next = () => {
          field += 8;
          return Number(directory.getBigUint64(field - 8, true));
        };
        if (full === 0xffffffff) full = next();
        if (stored === 0xffffffff) stored = next();
        if (offset === 0xffffffff) offset = next();
      }
      extra += 4 + length;
    }
    entries.push({ name, blob: () => entry(file, name, method, offset, stored, full) });
    at = extraEnd + commentLength;
  }
  return entries;
}

async function entry(
  file: Blob,
  name: string,
  method: number,
  offset: number,
  stored: number,
  full: number,
): Promise<Blob> {
  const head = new DataView(await file.slice(offset, offset + 30).arrayBuffer());
  if (head.byteLength < 30 || head.getUint32(0, true) !== 0x04034b50)
    throw new Error(`${name} in the file is damaged`);
  const start = offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const raw = file.slice(start, start + stored);
  if (method === 0) return raw;
  if (method !== 8) throw new Error(`${name} is compressed in an unknown way`);
  if (full > LARGEST_INFLATED)
    throw new Error(`${name} is compressed and large; save it with numpy.savez`);
  return new Blob([await inflate(new Uint8Array(await raw.arrayBuffer()), "deflate-raw")]);
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

export function isReadable(array: StoredArray): boolean {
  return TYPES[array.dtype] !== undefined;
}

/** The K numbers of case `row` of member `j`; the array is (members, cases, classes). */
export async function slice(array: StoredArray, j: number, row: number): Promise<Float64Array> {
  const [, n, k] = array.shape;
  const size = TYPES[array.dtype];
  const start = (j * n + row) * k * size;
  const buffer = await array.data.slice(start, start + k * size).arrayBuffer();
  if (array.dtype === "<f4") return Float64Array.from(new Float32Array(buffer));
  if (array.dtype === "<f8") return new Float64Array(buffer);
  return Float64Array.from(new Uint16Array(buffer), half);
}

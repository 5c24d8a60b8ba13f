// Stored arrays: base64 of zlib of little-endian numbers, inflated when first used.

import type { Codes } from "./types";

type Source = Uint8Array<ArrayBuffer>;

const fromBase64 = (Uint8Array as unknown as { fromBase64?: (text: string) => Source }).fromBase64;

export function bytesOf(base64: string): Source {
  if (fromBase64) return fromBase64.call(Uint8Array, base64.trim());
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

export async function inflate(
  bytes: Source,
  format: CompressionFormat = "deflate",
): Promise<Source> {
  const { readable, writable } = new DecompressionStream(format);
  const writer = writable.getWriter();
  const found = new Response(readable).arrayBuffer();
  const [buffer] = await Promise.all([found, writer.write(bytes), writer.close()]);
  return new Uint8Array(buffer);
}

/** The text of a data element, which is then removed: it is not needed twice. */
export function takeText(name: string): string | null {
  const element = document.getElementById("data-" + name);
  if (!element) return null;
  const text = element.textContent ?? "";
  element.remove();
  return text;
}

export async function bytesNamed(name: string): Promise<Source | null> {
  const text = takeText(name);
  return text === null ? null : inflate(bytesOf(text));
}

export function asNumbers(bytes: Source, dtype: string): Codes | Float32Array | Float64Array {
  const { buffer, byteOffset, byteLength } = bytes;
  if (dtype === "u1") return bytes;
  if (dtype === "u2") return new Uint16Array(buffer, byteOffset, byteLength / 2);
  if (dtype === "u4") return new Uint32Array(buffer, byteOffset, byteLength / 4);
  if (dtype === "f4") return new Float32Array(buffer, byteOffset, byteLength / 4);
  if (dtype === "f8") return new Float64Array(buffer, byteOffset, byteLength / 8);
  throw new Error(`unknown type of numbers: ${dtype}`);
}

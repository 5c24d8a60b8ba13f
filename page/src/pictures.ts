// Images: thumbnails of the file, or dropped ones by name.

import { signal } from "@preact/signals-core";
import { bytesOf, takeText } from "./columns";
import { block, meta, nameOfRow } from "./data";
import { positionOf } from "./members";
import type { Codes } from "./types";

let lines: string[] | null = null;
const urls = new Map<number, string>();
export const droppedImages = signal<Map<string, File>>(new Map());
const fileUrls = new Map<File, string>();
const TYPES: Record<string, string> = {
  iVBOR: "image/png",
  UklGR: "image/webp",
  "/9j/4": "image/jpeg",
};

export const hasPictures = () => meta.images !== null || droppedImages.value.size > 0;

/** The address of a row's picture, or null. */
export function pictureOf(row: number): string | null {
  const file = droppedImages.value.get(stem(nameOfRow(row)));
  if (file !== undefined) {
    let url = fileUrls.get(file);
    if (url === undefined) fileUrls.set(file, (url = URL.createObjectURL(file)));
    return url;
  }
  const rows = block("images.rows") as Codes | null;
  if (!rows) return null;
  const at = positionOf(row, rows);
  if (at < 0) return null;
  const known = urls.get(at);
  if (known !== undefined) return known;
  lines ??= (takeText("images") ?? "").trim().split("\n");
  const text = lines[at] ?? "";
  const type = TYPES[text.slice(0, 5)] ?? "image/png";
  const url = URL.createObjectURL(new Blob([bytesOf(text)], { type }));
  urls.set(at, url);
  return url;
}

/** The name of a file without folders and ending. */
export function stem(name: string): string {
  const base = name.split(/[/\\]/).pop() ?? name;
  return base.replace(/\.(png|jpe?g|webp|gif|bmp|avif|svg)$/i, "");
}

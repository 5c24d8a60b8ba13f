// Build the app and its style into the package; `--check` compares with the committed files instead.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const LARGEST = 130_000; // bytes
const folder = new URL("../src/labelwise/report/static/", import.meta.url);
const source = (name) => new URL(`src/${name}`, import.meta.url).pathname;
const common = {
  absWorkingDir: new URL(".", import.meta.url).pathname,
  bundle: true,
  minify: true,
  write: false,
  charset: "utf8",
  legalComments: "none",
};
const app = await build({
  ...common,
  entryPoints: [source("main.tsx")],
  format: "iife",
  target: "es2022",
  tsconfigRaw: "{}",
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: [source("jsx.ts")],
});
const style = await build({ ...common, entryPoints: [source("style.css")] });
const files = { "app.js": app, "style.css": style };
for (const [name, { outputFiles }] of Object.entries(files)) {
  const { text, contents } = outputFiles[0];
  if (/<\/(script|style)/.test(text)) throw new Error(`${name} would end its own element`);
  if (contents.length > LARGEST)
    throw new Error(`${name} has ${contents.length} bytes; at most ${LARGEST}`);
  const target = new URL(name, folder);
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (readFileSync(target, "utf-8") !== text)
    throw new Error(
      `${name} is not what page/src builds; run \`npm run build\` in page/ and commit`,
    );
  console.log(`${name}: ${contents.length} bytes`);
}

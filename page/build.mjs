// Bundle the app into the package; `--check` compares with the committed file instead.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = new URL("../src/labelwise/report/static/app.js", import.meta.url);
const LARGEST = 150_000; // bytes
const result = await build({
  entryPoints: [new URL("src/main.tsx", import.meta.url).pathname],
  absWorkingDir: new URL(".", import.meta.url).pathname,
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  tsconfigRaw: "{}",
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: [new URL("src/jsx.ts", import.meta.url).pathname],
});
const text = result.outputFiles[0].text;
if (text.includes("</script")) throw new Error("the bundle would end its own script element");
if (text.length > LARGEST) throw new Error(`app.js has ${text.length} bytes; at most ${LARGEST}`);
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf-8") !== text) {
    throw new Error("app.js is not what page/src builds; run `npm run build` in page/ and commit");
  }
} else writeFileSync(target, text);
console.log(`app.js: ${text.length} bytes`);

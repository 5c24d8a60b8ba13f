// Bundle the modules that need no page, then run the tests of node against them.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

const folder = mkdtempSync(join(tmpdir(), "labelwise-page-"));
const modules = join(folder, "modules.mjs");
await build({
  entryPoints: [new URL("modules.ts", import.meta.url).pathname],
  bundle: true,
  format: "esm",
  outfile: modules,
  tsconfigRaw: "{}",
});
const tests = new URL("page.test.mjs", import.meta.url).pathname;
const { status } = spawnSync(process.execPath, ["--test", tests], {
  stdio: "inherit",
  env: { ...process.env, LABELWISE_MODULES: modules },
});
rmSync(folder, { recursive: true });
process.exit(status ?? 1);

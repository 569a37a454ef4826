// Builds the page: `node build.mjs` into python/sylvan/web/static, `node build.mjs --test` the tests.
import { copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { build } from "esbuild";

if (process.argv.includes("--test")) {
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((name) => `test/${name}`),
    bundle: true,
    platform: "node",
    format: "esm",
    outdir: "out/test",
    outExtension: { ".js": ".mjs" },
  });
} else {
  const out = "../python/sylvan/web/static";
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await build({
    entryPoints: [
      { in: "src/main.ts", out: "app" },
      { in: "src/style.css", out: "app" },
    ],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "eof",
    outdir: out,
  });
  for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${out}/${name}`);
}

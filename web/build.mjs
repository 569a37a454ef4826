// Builds the page and the widget: `node build.mjs` into python/sylvan/web/static,
// `node build.mjs --test` the tests.
import { copyFile, mkdir, readdir, readFile, rm } from "node:fs/promises";
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
  // The same parts for notebooks: one module, with the styles for its shadow root as a text.
  const styles = (await readFile(`${out}/app.css`, "utf8"))
    .replace(/:root(\[[^\]]*\])?/g, (_, when) => (when ? `:host(${when})` : ":host"))
    .replace(/(^|\})body\{/g, "$1.widget{")
    .replaceAll("@media(max-width", "@container (max-width") // of the cell, not of the window
    .concat(".widget{container-type:inline-size;min-height:0;padding:10px 0;border-radius:8px}");
  await build({
    entryPoints: [{ in: "src/widget.ts", out: "widget" }],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "eof",
    define: { STYLES: JSON.stringify(styles) },
    outdir: out,
  });
  for (const name of ["index.html", "icon.svg"]) await copyFile(`src/${name}`, `${out}/${name}`);
}

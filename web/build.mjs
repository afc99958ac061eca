// Makes what `make web` puts into web/vendor: what others have written, and the console as it is built into the binary.
//
//     node web/build.mjs
//
// - vendor/modules: modules of others as a browser loads them, for `serve.mjs`, `tsc` and tests. A browser does not know what `preact` in
//   `import { h } from "preact"` means, and a page that forbids inline scripts cannot tell it: names of packages become paths.
// - vendor/uplot: the same for reports, which are one file and have no modules.
// - vendor/console: the console, with these modules, as one file: docs/dev/console.md says why.

import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const from = (file) => path.join(here, "node_modules", file);
const to = (file) => path.join(here, "vendor", file);

/** The module's own file, and what is imported by that name. */
const MODULES = {
  "preact": "preact/dist/preact.mjs",
  "preact/hooks": "preact/hooks/dist/hooks.mjs",
  "@preact/signals-core": "@preact/signals-core/dist/signals-core.module.js",
  "@preact/signals": "@preact/signals/dist/signals.module.js",
  "htm": "htm/dist/htm.module.js",
};

const fileOf = (name) => `${name.replace("@preact/", "").replace("preact/", "")}.js`;

/** With paths for the names of packages, and without the address of a map that is not copied. */
function rewritten(source, file) {
  const known = source.replaceAll(/(\bfrom\s*|\bimport\s*)(["'])([^"'.][^"']*)\2/g, (_, before, quote, name) => {
    if (!(name in MODULES)) throw new Error(`${file} imports ${name}, which is not copied`);
    return `${before}${quote}./${fileOf(name)}${quote}`;
  });
  return known.replaceAll(/\/\/# sourceMappingURL=.*\n?/g, "");
}

const license = (name) => `${name}\n\n${readFileSync(from(`${name}/LICENSE`), "utf8")}\n`;

function copyModules() {
  for (const [name, file] of Object.entries(MODULES)) {
    writeFileSync(to(`modules/${fileOf(name)}`), rewritten(readFileSync(from(file), "utf8"), file));
    const isDefault = name === "htm" ? `export { default } from "${name}";\n` : "";
    writeFileSync(to(`modules/${fileOf(name).replace(".js", ".d.ts")}`), `${isDefault}export * from "${name}";\n`);
  }
  // A script of the old kind becomes a module by one line. It is a third as long as the package's own module.
  writeFileSync(to("modules/uplot.js"), `${readFileSync(from("uplot/dist/uPlot.iife.min.js"), "utf8")}\nexport default uPlot;\n`);
  writeFileSync(to("modules/uplot.d.ts"), `export { default } from "uplot";\n`);
  for (const file of ["uPlot.min.css", "uPlot.iife.min.js"]) copyFileSync(from(`uplot/dist/${file}`), to(`uplot/${file}`));
  copyFileSync(from("uplot/LICENSE"), to("uplot/LICENSE"));
}

/** FNV-1a of 64 bits over the console's scripts, which the binary's build compares: so it knows that it has the console of these sources. */
function fingerprint() {
  const folder = path.join(here, "console");
  const files = readdirSync(folder, { recursive: true }).map(String).filter((name) => name.endsWith(".js")).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  let hash = 0xcbf29ce484222325n;
  for (const file of files) {
    for (const byte of Buffer.concat([Buffer.from(`${file}\n`), readFileSync(path.join(folder, file))])) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash.toString(16).padStart(16, "0");
}

async function buildConsole() {
  await build({
    entryPoints: [path.join(here, "console/main.js")],
    outfile: to("console/main.js"),
    bundle: true,
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
  writeFileSync(to("console/LICENSES.txt"), ["preact", "@preact/signals", "@preact/signals-core", "htm", "uplot"].map(license).join("\n"));
  writeFileSync(to("console/SOURCES"), fingerprint());
}

for (const folder of ["modules", "uplot", "console"]) {
  rmSync(to(folder), { recursive: true, force: true });
  mkdirSync(to(folder), { recursive: true });
}
copyModules();
await buildConsole();

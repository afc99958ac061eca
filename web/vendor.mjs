// Copies what others have written into web/vendor, as modules that a browser loads as they are: `make web` runs it.
//
// A browser does not know what `preact` in `import { h } from "preact"` means, and a page that forbids inline scripts cannot tell it. So
// names of packages become paths beside each other. For `tsc` each module gets a description, which names the package's own.

import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

const license = (name) => `/*! ${name}\n\n${readFileSync(from(`${name}/LICENSE`), "utf8").replaceAll("*/", "* /")}*/\n`;

rmSync(to("modules"), { recursive: true, force: true });
for (const folder of ["uplot", "modules"]) mkdirSync(to(folder), { recursive: true });

for (const [name, file] of Object.entries(MODULES)) {
  writeFileSync(to(`modules/${fileOf(name)}`), rewritten(readFileSync(from(file), "utf8"), file));
  const isDefault = name === "htm" ? `export { default } from "${name}";\n` : "";
  writeFileSync(to(`modules/${fileOf(name).replace(".js", ".d.ts")}`), `${isDefault}export * from "${name}";\n`);
}
// A script of the old kind becomes a module by one line. It is a third as long as the package's own module.
writeFileSync(to("modules/uplot.js"), `${readFileSync(from("uplot/dist/uPlot.iife.min.js"), "utf8")}\nexport default uPlot;\n`);
writeFileSync(to("modules/uplot.d.ts"), `export { default } from "uplot";\n`);
copyFileSync(from("uplot/dist/uPlot.min.css"), to("modules/uplot.css"));
writeFileSync(to("modules/LICENSES.txt"), ["preact", "@preact/signals", "@preact/signals-core", "htm", "uplot"].map(license).join("\n"));

// The same for reports, which are one file and have no modules.
for (const file of ["uPlot.min.css", "uPlot.iife.min.js"]) copyFileSync(from(`uplot/dist/${file}`), to(`uplot/${file}`));
copyFileSync(from("uplot/LICENSE"), to("uplot/LICENSE"));

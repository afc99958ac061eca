// The console in a real browser, with a broker of its own.
//
//     node main.mjs BINARY [SCREENSHOTS] [PATTERN]
//
// With the word `smoke` as the pattern, the scenarios that smoke.mjs names.
// With WARREN_WEB=web the console is what that folder has, and not what the binary has.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { perform } from "./entry.mjs";
import { compare } from "./intents.mjs";
import { SMOKE, patternOf } from "./smoke.mjs";

const [binary, screenshots, only] = process.argv.slice(2);
if (!binary) {
  console.error("usage: main.mjs BINARY [SCREENSHOTS or -] [PATTERN]");
  process.exit(2);
}
const isSmoke = only === "smoke";
await perform({ binary, screenshots, only: isSmoke ? patternOf(SMOKE) : only }, async (harness, broker) => {
  await harness.open();
  const all = readdirSync(fileURLToPath(new URL(".", import.meta.url))).filter((name) => name.startsWith("test_")).sort();
  const areas = isSmoke ? all.filter((area) => area in SMOKE) : all;
  for (const area of areas) {
    console.log(`# ${area}`);
    try {
      await (await import(`./${area}`)).default(harness, broker);
    } catch (error) {
      // What an area needs before its scenarios could not be had; the others have their turn.
      harness.miss(error);
    }
  }
  if (isSmoke) {
    const absent = Object.values(SMOKE).flat().filter((name) => !harness.names.has(name));
    for (const name of absent) console.log(`not ok smoke.mjs names a scenario that does not exist: ${name}`);
    harness.failed += absent.length;
  }
  // With a choice of scenarios areas may leave out others.
  if (only) return;
  const { missing, said } = compare(harness.names);
  for (const one of missing) console.log(`not ok intents.mjs names a scenario that does not exist: ${one}`);
  harness.failed += missing.length;
  console.log(said);
});

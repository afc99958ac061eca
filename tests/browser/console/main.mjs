// The console in a real browser, with a broker of its own.
//
//     node main.mjs BINARY [SCREENSHOTS] [PATTERN]
//
// With WARREN_WEB=web the console is what that folder has, and not what the binary has.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Broker } from "./broker.mjs";
import { Harness } from "./harness.mjs";

const [binary, screenshots, only] = process.argv.slice(2);
if (!binary) {
  console.error("usage: main.mjs BINARY [SCREENSHOTS or -] [PATTERN]");
  process.exit(2);
}
const broker = await Broker.start(binary);
const harness = new Harness({ broker, screenshots: screenshots === "-" ? undefined : screenshots, only });
const end = async (status) => {
  await harness.close();
  await broker.remove();
  process.exit(status);
};
process.on("SIGTERM", () => void end(1));
process.on("SIGINT", () => void end(1));
try {
  await harness.open();
  const areas = readdirSync(fileURLToPath(new URL(".", import.meta.url))).filter((name) => name.startsWith("test_")).sort();
  for (const area of areas) {
    console.log(`# ${area}`);
    try {
      await (await import(`./${area}`)).default(harness, broker);
    } catch (error) {
      // What an area needs before its scenarios could not be had; the others have their turn.
      console.log(`not ok: ${error.stack ?? error}`);
      harness.failed += 1;
    }
  }
} catch (error) {
  console.log(`not ok: ${error.stack ?? error}`);
  harness.failed += 1;
}
console.log(`${harness.passed} passed, ${harness.failed} failed`);
await end(harness.failed === 0 ? 0 : 1);

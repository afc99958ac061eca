// What a program of scenarios begins and ends with: a broker and a browser of its own, which are removed however it ends, and the count of what passed.

import { Broker } from "./broker.mjs";
import { Harness } from "./harness.mjs";

/**
 * Runs scenarios, and ends the process.
 * @param {{ binary: string, screenshots?: string, only?: string }} options `screenshots`: a folder, or `-` for none
 * @param {(harness: Harness, broker: Broker) => Promise<void>} play opens the browser, and goes through them
 */
export async function perform({ binary, screenshots, only }, play) {
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
    await play(harness, broker);
  } catch (error) {
    harness.miss(error);
  }
  console.log(`${harness.passed} passed, ${harness.failed} failed`);
  await end(harness.failed === 0 ? 0 : 1);
}

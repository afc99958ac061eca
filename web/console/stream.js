// Answers that go on: lines of JSON, as they come.

import { send } from "./api.js";

/**
 * Reads an answer line by line until it ends or is ended.
 * @param {string} path
 * @param {(line: any) => void} onLine
 * @param {AbortSignal} signal
 */
export async function readLines(path, onLine, signal) {
  const response = await send("GET", path, { signal, isLong: true });
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  signal.addEventListener("abort", () => void reader.cancel().catch(() => undefined), { once: true });
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (text + piece.value).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") onLine(JSON.parse(line));
  }
  if (text.trim() !== "") onLine(JSON.parse(text));
}

// Serves the console's files as they are on the disk, and passes everything else on to a broker: for those who work on the console.
//
//     node web/serve.mjs [http://localhost:15672] [8080]

import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer, request } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

const web = path.dirname(fileURLToPath(import.meta.url));
const broker = new URL(process.argv[2] ?? "http://localhost:15672");
const port = Number(process.argv[3] ?? 8080);
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html" };
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** The page, as the broker makes it, but with the files as they are. */
const page = () => readFileSync(path.join(web, "console/page.html"), "utf8").replaceAll("{assets}", "/static/dev/").replaceAll("{base}", "/");

createServer((asked, answer) => {
  const { pathname } = new URL(asked.url ?? "/", "http://localhost");
  if (pathname === "/") return void answer.writeHead(200, { "content-type": "text/html; charset=utf-8", "content-security-policy": POLICY }).end(page());
  const file = path.join(web, pathname.replace(/^\/static\/[^/]+\//, ""));
  if (pathname.startsWith("/static/") && file.startsWith(web) && existsSync(file)) {
    answer.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "text/plain", "cache-control": "no-store" });
    return void createReadStream(file).pipe(answer);
  }
  const passed = request(new URL(asked.url ?? "/", broker), { method: asked.method, headers: asked.headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  passed.on("error", () => answer.writeHead(502).end());
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}, with the API of ${broker}`));

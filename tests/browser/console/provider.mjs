// A provider of OAuth 2 for tests: whoever says a name is that user. What it issues, and for how long, the tests say.

import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const encoded = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

export class Provider {
  /** @param {Record<string, string>} scopes of users, by their names */
  constructor(scopes) {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    Object.assign(this, { scopes, privateKey, publicKey, lifeS: 600, codes: new Map(), refreshed: 0, secrets: [] });
  }

  async start(port = 0) {
    this.server = createServer((asked, answer) => void this.answer(asked, answer).catch((error) => answer.writeHead(500).end(String(error))));
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  stop() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  signed(claims) {
    const body = `${encoded({ alg: "RS256", kid: "own", typ: "JWT" })}.${encoded(claims)}`;
    return `${body}.${createSign("RSA-SHA256").update(body).sign(this.privateKey, "base64url")}`;
  }

  tokens(user, nonce) {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.url, aud: "warren", sub: user, iat: now, exp: now + this.lifeS };
    return {
      token_type: "bearer", expires_in: this.lifeS, access_token: this.signed({ ...claims, scope: this.scopes[user] ?? "" }),
      id_token: this.signed({ ...claims, nonce }), ...(this.refreshes ? { refresh_token: `again ${user}` } : {}),
    };
  }

  async answer(asked, answer) {
    const { pathname, searchParams: query } = new URL(asked.url, this.url);
    const json = (value, status = 200) => answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    const own = (path) => `${this.url}${path}`;
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return json({ issuer: this.url, authorization_endpoint: own("/authorize"), token_endpoint: own("/token"), jwks_uri: own("/keys") });
      case "/keys":
        return json({ keys: [{ ...this.publicKey.export({ format: "jwk" }), kid: "own", alg: "RS256", use: "sig" }] });
      case "/authorize": {
        const hidden = [...query].map(([name, value]) => `<input type="hidden" name="${name}" value="${value.replaceAll('"', "&quot;")}">`).join("");
        return answer.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>Provider</title><link rel="icon" href="data:,"><h1>The provider</h1><form action="/approve"><label>Who <input name="who"></label>${hidden}<button>Sign in</button></form>`);
      }
      case "/approve": {
        const code = randomUUID();
        this.codes.set(code, { user: query.get("who"), nonce: query.get("nonce"), challenge: query.get("code_challenge") });
        const back = new URL(query.get("redirect_uri"));
        back.search = new URLSearchParams({ code, state: query.get("state") }).toString();
        return answer.writeHead(302, { location: back.toString() }).end();
      }
      case "/token": {
        const pieces = [];
        for await (const piece of asked) pieces.push(piece);
        const form = new URLSearchParams(Buffer.concat(pieces).toString());
        this.secrets.push(form.get("client_secret"));
        if (form.get("grant_type") === "refresh_token") {
          this.refreshed += 1;
          return json(this.tokens(form.get("refresh_token").replace("again ", "")));
        }
        const known = this.codes.get(form.get("code"));
        const isOwn = known && createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url") === known.challenge;
        return isOwn ? json(this.tokens(known.user, known.nonce)) : json({ error: "invalid_grant" }, 400);
      }
      default:
        return answer.writeHead(200, { "content-type": "text/html" }).end('<!doctype html><title>Provider</title><link rel="icon" href="data:,"><h1>The provider</h1>');
    }
  }
}

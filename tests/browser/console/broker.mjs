// A broker of the tests' own, on free ports, which they may stop, start, kill and keep waiting.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";

const START_TIMEOUT_MS = 30_000;

/** A port that is free now. @returns {Promise<number>} */
export const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port"))));
    });
  });

/** Calls until it gives something that is true. */
export async function until(what, check, timeoutMs = START_TIMEOUT_MS) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Broker {
  constructor(binary, ports, settings) {
    this.binary = binary;
    [this.port, this.managementPort] = ports;
    this.url = `http://127.0.0.1:${this.managementPort}`;
    this.folder = mkdtempSync(path.join(os.tmpdir(), "warren-console-"));
    this.settings = { "listeners.tcp.default": `127.0.0.1:${this.port}`, "management.tcp.ip": "127.0.0.1", "management.tcp.port": this.managementPort, "warren.prometheus.enabled": "false", collect_statistics_interval: 1000, ...settings };
    this.children = new Set();
  }

  static async start(binary, settings = {}) {
    const broker = new Broker(binary, [await freePort(), await freePort()], settings);
    await broker.start();
    return broker;
  }

  /** Three nodes of one cluster, which has a leader. */
  static async startCluster(binary) {
    const ports = await Promise.all(Array.from({ length: 9 }, freePort));
    const names = [1, 2, 3].map((number) => `hare${number}@localhost`);
    const nodes = names.map((name, index) => {
      const settings = { "warren.node_name": name, "warren.cluster.secret": "carrots", "warren.cluster.listener": `127.0.0.1:${ports[index]}`, "warren.cluster.advertise": `127.0.0.1:${ports[index]}` };
      names.forEach((peer, place) => {
        settings[`warren.cluster.peers.${place + 1}`] = `${peer}=127.0.0.1:${ports[place]}`;
        settings[`cluster_formation.classic_config.nodes.${place + 1}`] = peer;
      });
      return new Broker(binary, [ports[3 + index], ports[6 + index]], settings);
    });
    await Promise.all(nodes.map((node) => node.start()));
    return nodes;
  }

  /** Two nodes that might be in one cluster, and know nothing of each other; and where others find the first. */
  static async startStrangers(binary) {
    const ports = await Promise.all(Array.from({ length: 6 }, freePort));
    const nodes = [0, 1].map((index) => {
      const address = `127.0.0.1:${ports[index]}`;
      const settings = { "warren.node_name": `hare${index + 1}@localhost`, "warren.cluster.secret": "carrots", "warren.cluster.listener": address, "warren.cluster.advertise": address };
      return new Broker(binary, [ports[2 + index], ports[4 + index]], settings);
    });
    await Promise.all(nodes.map((node) => node.start()));
    return { nodes, address: `127.0.0.1:${ports[0]}` };
  }

  async start() {
    const words = Object.entries(this.settings).map(([key, value]) => `--set=${key}=${value}`);
    const log = openSync(path.join(this.folder, "log"), "a");
    this.process = spawn(this.binary, ["serve", "--data-dir", path.join(this.folder, "data"), ...words], { stdio: ["ignore", log, log] });
    // While the console is worked on: its files as they are, and not those that the binary has.
    if (process.env.WARREN_WEB && !this.server) {
      const port = await freePort();
      const words = [path.join(process.env.WARREN_WEB, "serve.mjs"), this.url, port];
      this.server = spawn(process.execPath, words.map(String), { stdio: "ignore" });
      this.url = `http://127.0.0.1:${port}`;
    }
    await until("the broker starts", () => fetch(`${this.url}/api/index.html`).then((answer) => answer.ok, () => false));
  }

  /** Ends it, by SIGTERM or another signal. */
  async stop(signal = "SIGTERM") {
    if (!this.process) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill(signal);
    await ended;
    this.process = undefined;
  }

  /** Has it run, whatever was done to it. */
  async ensure() {
    if (this.process) this.wake();
    else await this.start();
  }

  /** While it sleeps, it answers nothing. */
  sleep() {
    this.process.kill("SIGSTOP");
  }

  wake() {
    this.process.kill("SIGCONT");
  }

  /** A request of the API, as the administrator. */
  async api(method, path, body) {
    const headers = { authorization: `Basic ${Buffer.from("guest:guest").toString("base64")}`, "content-type": "application/json" };
    const answer = await fetch(`${this.url}${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path} → ${answer.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** A load by `warren perf`, which runs until it is ended. */
  load(...options) {
    return this.loadIn("/", ...options);
  }

  loadIn(vhost, ...options) {
    const child = spawn(this.binary, ["perf", "--uri", `amqp://127.0.0.1:${this.port}/${segment(vhost)}`, ...options], { stdio: "ignore" });
    this.children.add(child);
    return { end: () => new Promise((resolve) => (child.exitCode === null ? (child.once("exit", resolve), child.kill("SIGTERM")) : resolve(undefined))) };
  }

  async remove() {
    for (const child of this.children) child.kill("SIGKILL");
    this.server?.kill("SIGKILL");
    this.process?.kill("SIGCONT");
    await this.stop("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A name as one segment of a path. */
export const segment = encodeURIComponent;

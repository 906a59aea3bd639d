// A real gateway, a scripted model and a browser for the tests of the console.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

export const PROGRAM = process.env.FOREWORD_PROGRAM;
const MODEL = process.env.SCRIPTED_MODEL;
/** Directory with files of the console that the command does not contain yet; for development. */
const ASSETS = process.env.CONSOLE_ASSETS;
const BROWSER = process.env.CHROMIUM ?? "/usr/bin/chromium";

const run = promisify(execFile);

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Waits until a function returns something true. */
export async function until(what, check, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`gave up waiting: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A model that answers as a test scripts it. */
export class Model {
  static async start() {
    const model = new Model();
    model.child = spawn(MODEL, [], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: model.child.stdout });
    const first = await new Promise((resolve) => lines.once("line", resolve));
    model.url = JSON.parse(first).url;
    return model;
  }

  answer(...answers) {
    for (const answer of answers) this.child.stdin.write(`${JSON.stringify(answer)}\n`);
  }

  stop() {
    this.child.stdin.end();
  }
}

/** A gateway with directories of its own. */
export class Gateway {
  static async start(settings = {}) {
    const gateway = new Gateway();
    gateway.directory = settings.directory ?? mkdtempSync(join(tmpdir(), "foreword-console-"));
    // Fails if there is one: the directory is removed at the end.
    if (settings.directory) mkdirSync(settings.directory);
    gateway.home = join(gateway.directory, "home");
    gateway.data = join(gateway.directory, "data");
    gateway.project = join(gateway.directory, settings.project ?? "project");
    mkdirSync(gateway.home);
    mkdirSync(gateway.project);
    mkdirSync(join(gateway.project, ".git"));
    gateway.port = await freePort();
    gateway.url = `http://127.0.0.1:${gateway.port}`;
    gateway.env = {
      PATH: process.env.PATH,
      HOME: gateway.home,
      FOREWORD_HOME: gateway.home,
      FOREWORD_DATA: gateway.data,
    };
    const configuration = settings.model
      ? `[model]\ndefault = "scripted/one"\n\n[providers.scripted]\nkind = "openai_compatible"\nbase_url = "${settings.model.url}"\n`
      : "";
    writeFileSync(join(gateway.home, "config.toml"), (settings.configuration ?? "") + configuration);
    await gateway.launch();
    return gateway;
  }

  async launch() {
    this.child = spawn(PROGRAM, ["serve", "--listen", `127.0.0.1:${this.port}`], {
      env: this.env,
      cwd: this.directory,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.log = "";
    this.child.stderr.on("data", (data) => (this.log += data));
    this.child.stdout.on("data", (data) => (this.log += data));
    await until(`the gateway starts:\n${this.log}`, async () => {
      if (this.child.exitCode !== null) throw new Error(`the gateway ended:\n${this.log}`);
      return fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false);
    });
  }

  /** Stops the process, by default in the hard way. */
  async kill(signal = "SIGKILL") {
    if (this.child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill(signal);
    await ended;
  }

  async stop() {
    await this.kill("SIGTERM");
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Runs `foreword` and returns its standard output. */
  async command(...words) {
    const options = words.at(-1)?.input !== undefined ? words.pop() : {};
    const running = run(PROGRAM, words, { env: this.env, cwd: this.directory, maxBuffer: 64 << 20 });
    if (options.input !== undefined) running.child.stdin.write(options.input);
    running.child.stdin.end();
    return (await running).stdout;
  }

  get token() {
    return readFileSync(join(this.data, "owner.token"), "utf8").trim();
  }

  async createToken(name, ...flags) {
    return (await this.command("token", "create", name, ...flags)).trim();
  }

  /** Calls a method with the owner's token, or another one. */
  async call(method, params, token = this.token) {
    const answer = await fetch(`${this.url}/rpc`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = await answer.json();
    if (error) throw Object.assign(new Error(`${method}: ${error.message}`), { rpc: error });
    return result;
  }
}

/** A browser whose pages fail a test on errors in the console, blocked content and requests to other hosts. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "foreword-browser-"));
    const args = [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ];
    // Files that do not come from the gateway count as files of another network.
    if (ASSETS) args.push("--disable-features=LocalNetworkAccessChecks");
    browser.browser = await chromium.launch({ executablePath: BROWSER, headless: true, args });
    return browser;
  }

  async stop() {
    await this.browser.close();
    rmSync(this.profile, { recursive: true, force: true });
  }

  /** Opens a window with its own cookies and storage. */
  async open(gateway, options = {}) {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    context.setDefaultTimeout(15_000);
    const window = new Window(context, gateway);
    return window;
  }
}

export class Window {
  constructor(context, gateway) {
    this.context = context;
    this.gateway = gateway;
    this.problems = [];
    /** Problems that the running test expects, such as failed requests of a stopped gateway. */
    this.expected = [];
  }

  async page(path = "#/") {
    const page = await this.context.newPage();
    const { gateway } = this;
    page.on("console", (message) => {
      if (message.type() === "error") this.problem(`console: ${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => this.problem(`page: ${String(error.stack).slice(0, 400)}`));
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol.startsWith("http") && host !== new URL(gateway.url).host) this.problem(`request to ${request.url()}`);
    });
    page.on("websocket", (socket) => {
      if (new URL(socket.url()).host !== new URL(gateway.url).host) this.problem(`socket to ${socket.url()}`);
    });
    if (ASSETS) await page.route(`${gateway.url}/console/**`, serveAssets);
    await page.goto(`${gateway.url}/console/${path}`);
    return page;
  }

  problem(text) {
    if (!this.problems.includes(text) && !this.expected.some((pattern) => pattern.test(text))) this.problems.push(text);
  }

  /** Opens a page that is signed in with a code of the command. */
  async signedIn(path) {
    const url = (await this.gateway.command("console", "--print")).trim();
    const page = await this.page(url.slice(url.indexOf("#")));
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    if (path) {
      await page.evaluate((hash) => (document.location.hash = hash), path);
    }
    return page;
  }

  /** Opens a page that is signed in with a token. */
  async signedInWith(token, path = "#/") {
    const page = await this.page(path);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    return page;
  }

  async close() {
    await this.context.close();
    if (this.problems.length > 0) throw new Error(`the browser reported:\n${this.problems.join("\n")}`);
  }
}

async function serveAssets(route) {
  const { pathname } = new URL(route.request().url());
  const name = pathname.replace(/^\/console\//, "") || "index.html";
  if (route.request().method() !== "GET") return route.continue();
  const index = await route.fetch({ url: new URL("/console/", route.request().url()).href });
  const types = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
  const headers = { ...index.headers(), "content-type": types[name.split(".").pop()] ?? "text/plain" };
  delete headers["content-length"];
  return route.fulfill({ headers, body: readFileSync(join(ASSETS, name)) });
}

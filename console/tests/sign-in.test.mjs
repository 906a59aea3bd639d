// Sign-in, sessions, and what a page of another origin can do with them.
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { Browser, Gateway, until } from "./harness.mjs";

let gateway;
let browser;

before(async () => {
  gateway = await Gateway.start();
  browser = await Browser.start();
  await gateway.command("workspace", "create", "demo");
});
after(async () => {
  await browser?.stop();
  await gateway?.stop();
});

const session = (body, headers = {}) =>
  fetch(`${gateway.url}/console/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

async function code() {
  const url = (await gateway.command("console", "--print")).trim();
  return url.slice(url.indexOf("#code=") + 6);
}

/** Signs in without a browser and returns the cookie. */
async function cookie() {
  const answer = await session({ token: gateway.token });
  assert.equal(answer.status, 200);
  return answer.headers.get("set-cookie").split(";")[0];
}

describe("sign-in", () => {
  test("the command's address signs in once and leaves no code behind", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    assert.ok(!page.url().includes("code="), page.url());
    await page.getByRole("treeitem", { name: "AGENTS.md" }).waitFor();
    await page.getByRole("heading", { name: "demo" }).waitFor();
    const [kept] = await window.context.cookies();
    assert.deepEqual([kept.httpOnly, kept.sameSite, kept.path, kept.domain], [true, "Strict", "/", "127.0.0.1"]);
    assert.ok(Math.abs(kept.expires - Date.now() / 1000 - 12 * 3600) < 120);
    await window.close();
  });

  test("a used, expired or invented code shows the field for a token", async () => {
    const window = await browser.open(gateway);
    window.expected.push(/401/);
    const used = await code();
    assert.equal((await session({ code: used })).status, 200);
    const page = await window.page(`#code=${used}`);
    await page.getByRole("alert").filter({ hasText: "used or older than a minute" }).waitFor();
    await page.getByLabel("Token").fill("fwt_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: "the token is unknown" }).waitFor();
    await page.getByLabel("Token").fill(gateway.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("tree", { name: "Workspace tree" }).waitFor();
    await window.close();
  });

  test("signing out closes the session and the open tabs", async () => {
    const window = await browser.open(gateway);
    window.expected.push(/401/);
    const first = await window.signedIn();
    const second = await window.page("#/");
    await second.getByRole("button", { name: "Sign out" }).waitFor();
    await first.getByRole("button", { name: "Sign out" }).click();
    await first.getByLabel("Token").waitFor();
    await second.getByLabel("Token").waitFor();
    assert.equal((await window.context.cookies()).length, 0);
    await window.close();
  });

  test("a revoked token ends open tabs", async () => {
    const token = await gateway.createToken("guest", "--role", "reader");
    const window = await browser.open(gateway);
    window.expected.push(/401/);
    const page = await window.signedInWith(token);
    await page.getByRole("treeitem", { name: "AGENTS.md" }).waitFor();
    await gateway.command("token", "revoke", "guest");
    await page.getByLabel("Token").waitFor();
    await window.close();
  });

  test("wrong sign-ins are limited and a correct one is not", async () => {
    const statuses = [];
    for (let attempt = 0; attempt < 14; attempt += 1) statuses.push((await session({ code: "0".repeat(32) })).status);
    assert.ok(statuses.includes(401) && statuses.at(-1) === 429, statuses.join());
    const refused = await session({ token: "wrong" });
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    assert.equal((await session({ code: await code() })).status, 200);
    for (const body of [{}, { code: "a", token: "b" }, { other: 1 }, 7]) assert.equal((await session(body)).status, 400);
  });

  test("sign-ins and wrong codes are in the audit log", async () => {
    const kinds = await until("the counts are written", async () => {
      const { entries } = await gateway.call("audit/list", { limit: 500 });
      const found = entries.map((entry) => entry.event.kind);
      return found.includes("console_session") && found.includes("authentication_failed") && found;
    });
    assert.ok(kinds.length > 0);
  });
});

describe("other origins", () => {
  test("the cookie works only with the origin of this host", async () => {
    const Cookie = await cookie();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "workspace/list", params: {} });
    const call = (headers) => fetch(`${gateway.url}/rpc`, { method: "POST", body, headers: { Cookie, ...headers } });
    assert.equal((await call({ Origin: gateway.url })).status, 200);
    const others = [`http://localhost:${gateway.port}`, "http://127.0.0.1:1", gateway.url.replace("http", "https"), "null"];
    for (const Origin of [undefined, ...others]) {
      assert.equal((await call(Origin ? { Origin } : {})).status, 403, Origin);
    }
    const out = await fetch(`${gateway.url}/console/logout`, { method: "POST", headers: { Cookie, Origin: others[0] } });
    assert.equal(out.status, 403);
    assert.equal((await call({ Origin: gateway.url })).status, 200);
  });

  test("a name that was rebound to this machine is refused", async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = { Host: "evil.example", Origin: "http://evil.example" };
      const asked = request(`${gateway.url}/console/`, { headers }, (answer) => resolve(answer.statusCode));
      asked.on("error", reject);
      asked.end();
    });
    assert.equal(status, 403);
  });

  test("another page cannot frame, call or sign in", async () => {
    const window = await browser.open(gateway);
    window.expected.push(/./);
    await window.signedIn();
    const page = await window.context.newPage();
    // The same machine under another name: the same site, but another origin.
    await page.goto(`http://localhost:${gateway.port}/`);
    const outcome = await page.evaluate(async (url) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "workspace/list", params: {} });
      const called = await fetch(`${url}/rpc`, { method: "POST", body, credentials: "include" }).then(() => "ok", () => "blocked");
      const socket = await new Promise((resolve) => {
        const opened = new WebSocket(`${url.replace("http", "ws")}/rpc`, "foreword.v1");
        opened.onopen = () => resolve("ok");
        opened.onerror = () => resolve("blocked");
      });
      return { called, socket };
    }, gateway.url).catch((error) => ({ called: String(error), socket: "blocked" }));
    assert.notEqual(outcome.called, "ok");
    assert.equal(outcome.socket, "blocked");
    await window.context.close();
  });

  test("pages have the policy, and unknown files are missing", async () => {
    const index = await fetch(`${gateway.url}/console/`);
    const policy = index.headers.get("content-security-policy");
    assert.equal(
      policy,
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assert.equal(index.headers.get("cache-control"), "no-store");
    const script = /src="\.\/(assets\/[^"]+)"/.exec(await index.text())[1];
    const asset = await fetch(`${gateway.url}/console/${script}`);
    assert.match(asset.headers.get("cache-control"), /immutable/);
    assert.match(asset.headers.get("content-type"), /javascript/);
    assert.equal((await fetch(`${gateway.url}/console/assets/missing.js`)).status, 404);
    assert.equal((await fetch(`${gateway.url}/console/../Cargo.toml`)).status, 404);
    const moved = await fetch(`${gateway.url}/console`, { redirect: "manual" });
    assert.deepEqual([moved.status, moved.headers.get("location")], [308, "/console/"]);
  });
});

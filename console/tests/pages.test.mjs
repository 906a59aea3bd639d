// Every page: reached by its link, usable by keyboard and screen reader, on a wide and a narrow screen, light and dark.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Browser, Gateway, Model } from "./harness.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let model;
let gateway;
let browser;
let pages;
let workspace;

before(async () => {
  model = await Model.start();
  gateway = await Gateway.start({ model });
  browser = await Browser.start();
  writeFileSync(join(gateway.project, "AGENTS.md"), "# Project\n\nUse tabs.\n");
  const made = await gateway.call("workspace/create", { name: "demo", root_path: gateway.project });
  workspace = made.workspace.id;
  const scope = { workspace_id: workspace };
  const { folder } = await gateway.call("thread/folder/create", { ...scope, name: "payments" });
  await gateway.call("thread/agents_doc/save", { ...scope, content: "# Root\n\nBe brief.\n" });
  await gateway.call("thread/agents_doc/save", { ...scope, folder_id: folder.id, content: "# Payments\n" });
  await gateway.call("thread/agents_doc/save", { ...scope, folder_id: folder.id, content: "# Payments\n\nAmounts are in cents.\n" });
  const { thread } = await gateway.call("thread/create", { ...scope, folder_id: folder.id, title: "Refunds", mode: "agent" });
  const call = { id: "call_1", name: "read_file", arguments: { path: "AGENTS.md" } };
  model.answer({ text: "Reading.", calls: [call] }, { text: "## Done\n\nAll **good**." });
  const { turn } = await gateway.call("turn/start", { ...scope, thread_id: thread.id, input: "Check it" });
  for (let status = "running"; status === "running"; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    status = (await gateway.call("turn/get", { ...scope, turn_id: turn.id })).turn.status;
  }
  const start = `#/w/${workspace}`;
  pages = [
    [`${start}`, "demo"],
    [`${start}/doc/${folder.id}`, "payments / AGENTS.md"],
    [`${start}/doc/${folder.id}@1`, "History"],
    [`${start}/effective/${folder.id}`, "Effective document"],
    [`${start}/thread/${thread.id}`, "Refunds"],
    [`${start}/thread-effective/${thread.id}`, "Effective document"],
    [`${start}/turn/${turn.id}`, "Turn 1"],
    [`${start}/prompt/${thread.id}`, "Prompt"],
    [`${start}/approvals`, "Approvals"],
    [`${start}/compare`, "Compare agents"],
    [`${start}/map`, "Map"],
    [`${start}/search`, "Search"],
    ["#/tokens", "Tokens"],
    ["#/audit", "Audit"],
    ["#/gateway", "Gateway"],
    ["#/keys", "Keys"],
    ["#/nonsense/%zz", "No such page"],
  ];
});
after(async () => {
  await browser?.stop();
  await gateway?.stop();
  model?.stop();
});

async function open(page, hash, heading) {
  await page.evaluate((it) => (document.location.hash = it), hash);
  await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
  await page.waitForFunction(() => !document.querySelector("#main .loading"));
}

async function violations(page) {
  // Playwright evaluates the script in the page without adding an element, so the policy allows it.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    // The editor's own scrolling area is reached through its text.
    window.axe.run(document, { rules: { "scrollable-region-focusable": { enabled: true } } }),
  );
  const serious = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  return serious.map((it) => `${it.id}: ${it.nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

describe("every page", () => {
  for (const colorScheme of ["light", "dark"]) {
    test(`has no serious accessibility problem (${colorScheme})`, async () => {
      const window = await browser.open(gateway, { colorScheme });
      const page = await window.signedIn();
      for (const [hash, heading] of pages) {
        await open(page, hash, heading);
        assert.deepEqual(await violations(page), [], `${hash} (${heading})`);
      }
      await window.close();
    });
  }

  test("fits a phone of 400 pixels, with the tree behind the menu", async () => {
    const window = await browser.open(gateway, { viewport: { width: 400, height: 800 } });
    const page = await window.signedIn();
    const tree = page.getByRole("tree", { name: "Workspace tree" });
    assert.equal(await tree.isVisible(), false);
    await page.getByRole("button", { name: "Menu" }).click();
    await page.getByRole("treeitem", { name: "payments" }).click();
    await page.getByRole("textbox", { name: "AGENTS.md editor" }).waitFor();
    assert.equal(await tree.isVisible(), false);
    for (const [hash, heading] of pages) {
      await open(page, hash, heading);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 400, `${hash} is ${width} pixels wide`);
    }
    assert.deepEqual(await violations(page), []);
    await window.close();
  });

  test("has no problem before the sign-in", async () => {
    const window = await browser.open(gateway);
    const page = await window.page("#/");
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await violations(page), []);
    await window.close();
  });
});

describe("palette and search", () => {
  test("the palette finds a thread by keyboard alone", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    await page.getByRole("treeitem", { name: "payments" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("refu");
    await page.getByRole("option", { name: /Refunds/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Refunds" }).waitFor();
    await window.close();
  });

  test("the search finds words in documents", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn(`#/w/${workspace}/search`);
    await page.getByLabel("Words in titles and documents").fill("cents amounts");
    await page.getByText("Amounts are in cents.").waitFor();
    await window.close();
  });
});

describe("administration", () => {
  test("a token is created, works, and is revoked", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn("#/tokens");
    await page.getByLabel("Name", { exact: true }).fill("deploy");
    await page.getByLabel("Role").selectOption("editor");
    await page.getByRole("button", { name: "Create" }).click();
    const secret = await page.locator(".secret code").textContent();
    assert.equal((await gateway.call("initialize", {}, secret)).role, "editor");
    await page.getByRole("button", { name: "Revoke deploy" }).click();
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByText(/^revoked /).waitFor();
    await assert.rejects(gateway.call("initialize", {}, secret));
    await page.getByRole("link", { name: "Audit" }).click();
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await page.locator("td", { hasText: "console session" }).first().waitFor();
    await page.locator("td", { hasText: "token revoked" }).first().waitFor();
    await window.close();
  });

  test("a workspace is created, renamed and archived", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.getByLabel("Name of the workspace").fill("second");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "second" }).waitFor();
    await page.getByRole("link", { name: "Gateway", exact: true }).click();
    await page.getByRole("button", { name: "Archive second" }).click();
    await page.getByRole("button", { name: "Archive workspace" }).click();
    await page.getByRole("button", { name: "Bring back second" }).click();
    await page.getByRole("button", { name: "Archive second" }).waitFor();
    await window.close();
  });

  test("a token of one workspace sees that one only", async () => {
    await gateway.call("workspace/create", { name: "other" });
    const token = await gateway.createToken("bound", "--role", "owner", "--workspace", "demo");
    const window = await browser.open(gateway);
    const page = await window.signedInWith(token);
    await page.getByRole("treeitem", { name: "payments" }).waitFor();
    const options = await page.locator("#workspace option").allTextContents();
    assert.deepEqual(options, ["demo"]);
    await window.close();
  });
});

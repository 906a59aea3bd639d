// Text from others: names, documents, tool output and model output that try to become markup.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser, Gateway, Model } from "./harness.mjs";

let model;
let gateway;
let browser;
let workspace;

const ATTACKS = [
  `<script>window.attacked = 1</script>`,
  `<img src=x onerror="window.attacked = 2">`,
  `"><svg onload="window.attacked = 3">`,
  `[click](javascript:window.attacked=4)`,
  `<a href="javascript:window.attacked=5">a</a>`,
  `{@html "<script>window.attacked=6</script>"}`,
  `<style>@import url(https://evil.example/x.css)</style>`,
  `![image](https://evil.example/pixel.png)`,
  `<iframe srcdoc="<script>parent.attacked=7</script>"></iframe>`,
];
const ALL = ATTACKS.join("\n\n");

before(async () => {
  model = await Model.start();
  gateway = await Gateway.start({ model });
  browser = await Browser.start();
  writeFileSync(join(gateway.project, "evil.txt"), ALL);
  ({ workspace } = await gateway.call("workspace/create", { name: ATTACKS[0], root_path: gateway.project }));
});
after(async () => {
  await browser?.stop();
  await gateway?.stop();
  model?.stop();
});

/** Fails if anything of a page became markup that is not its own. */
async function check(page) {
  assert.equal(await page.evaluate(() => window.attacked), undefined);
  assert.equal(await page.locator("iframe, img, script:not([src]), a[href^=javascript]").count(), 0);
}

test("names are text everywhere", async () => {
  const workspace_id = workspace.id;
  for (const name of ATTACKS) {
    // Folders cannot have a slash in their name, because it separates them in paths.
    await gateway.call("thread/folder/create", { workspace_id, name: name.replaceAll("/", "\u2215") });
    await gateway.call("thread/create", { workspace_id, title: name });
  }
  const window = await browser.open(gateway);
  const page = await window.signedIn();
  await page.getByRole("treeitem", { name: ATTACKS[1] }).first().waitFor();
  await check(page);
  for (const name of ["map", "search", "compare"]) {
    await page.evaluate((hash) => (document.location.hash = hash), `#/w/${workspace_id}/${name}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await check(page);
  }
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").last().fill("script");
  await page.getByRole("listbox", { name: "Matches" }).getByRole("option").first().waitFor();
  await check(page);
  await window.close();
});

test("documents and their history are text", async () => {
  await gateway.call("thread/agents_doc/save", { workspace_id: workspace.id, content: ALL });
  const window = await browser.open(gateway);
  const page = await window.signedIn(`#/w/${workspace.id}/doc/root`);
  await page.getByRole("textbox", { name: "AGENTS.md editor" }).filter({ hasText: "onerror" }).waitFor();
  await check(page);
  await page.getByRole("button", { name: "History" }).click();
  await page.locator("ins", { hasText: "onerror" }).first().waitFor();
  await check(page);
  await page.evaluate((hash) => (document.location.hash = hash), `#/w/${workspace.id}/effective/root`);
  await page.locator("pre", { hasText: "onerror" }).waitFor();
  await check(page);
  await window.close();
});

test("the output of models and tools is text", async () => {
  const { thread } = await gateway.call("thread/create", { workspace_id: workspace.id, title: "talk", mode: "agent" });
  const read = { id: "call_1", name: "read_file", arguments: { path: "evil.txt" } };
  const write = { id: "call_2", name: "write_file", arguments: { path: "<img src=x onerror=attacked=8>.txt", content: ALL } };
  model.answer({ text: ALL, calls: [read] }, { calls: [write] }, { text: `${ALL}\n\nfinished` });
  const window = await browser.open(gateway);
  const page = await window.signedIn(`#/w/${workspace.id}/thread/${thread.id}`);
  await page.getByRole("textbox", { name: "Message" }).fill(ALL);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Deny" }).waitFor();
  await page.locator("details.call summary").first().click();
  await check(page);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.locator(".said", { hasText: "finished" }).waitFor();
  await check(page);
  await page.getByRole("link", { name: "Prompt" }).click();
  await page.getByRole("button", { name: "Whole text" }).click();
  await page.locator("pre", { hasText: "onerror" }).first().waitFor();
  await check(page);
  await window.close();
});

test("hidden characters of names are visible", async () => {
  const title = "safe\u202Etxt.exe";
  await gateway.call("thread/create", { workspace_id: workspace.id, title }).catch(() => undefined);
  const window = await browser.open(gateway);
  const page = await window.signedIn();
  const { threads } = await gateway.call("thread/list", { workspace_id: workspace.id, limit: 100 });
  // The gateway may refuse such a name. If it does not, the tree shows what it is.
  if (threads.some((thread) => thread.title === title)) {
    await page.getByRole("treeitem", { name: "safe⟨U+202E⟩txt.exe" }).waitFor();
  }
  await window.close();
});

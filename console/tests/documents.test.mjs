// The tree and the editor: saves, conflicts, history, live changes, and everything that must not lose text.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, Gateway, until } from "./harness.mjs";

let gateway;
let browser;
let workspace;

before(async () => {
  gateway = await Gateway.start();
  browser = await Browser.start();
  ({ workspace } = await gateway.call("workspace/create", { name: "demo" }));
});
after(async () => {
  await browser?.stop();
  await gateway?.stop();
});

let numbers = 0;

/** Makes a folder with a document and returns its id and address. */
async function folder(text) {
  const name = `folder ${(numbers += 1)}`;
  const params = { workspace_id: workspace.id, name };
  const { folder: made } = await gateway.call("thread/folder/create", params);
  if (text !== undefined) await save(made.id, text);
  return { id: made.id, name, hash: `#/w/${workspace.id}/doc/${made.id}` };
}

const save = (folder_id, content, expected_version) =>
  gateway.call("thread/agents_doc/save", { workspace_id: workspace.id, folder_id, content, expected_version });

async function content(folder_id) {
  const { explicit } = await gateway.call("thread/agents_doc/get", { workspace_id: workspace.id, folder_id });
  return explicit?.content;
}

const editor = (page) => page.getByRole("textbox", { name: "AGENTS.md editor" });
const status = (page, text) => page.getByRole("status").filter({ hasText: text }).waitFor();

/** Types at the end of the text. */
async function type(page, text) {
  await editor(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText(text);
}

describe("editor", () => {
  test("typed text is saved after a pause", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    await page.getByRole("treeitem", { name: "AGENTS.md" }).click();
    await editor(page).waitFor();
    await type(page, "# Root\n\nBe brief.\n");
    await status(page, "Saved");
    assert.equal(await content(undefined), "# Root\n\nBe brief.\n");
    await window.close();
  });

  test("a change elsewhere appears without a reload", async () => {
    const place = await folder("one\n");
    const window = await browser.open(gateway);
    const page = await window.signedIn(place.hash);
    await editor(page).filter({ hasText: "one" }).waitFor();
    await save(place.id, "two\n");
    await editor(page).filter({ hasText: "two" }).waitFor();
    await window.close();
  });

  for (const [choice, expected] of [
    ["Reload remote", "ONE\ntwo\nthree\nfour\n"],
    ["Overwrite remote", "one\ntwo\nthree\nfour\nmine\n"],
    ["Merge", "ONE\ntwo\nthree\nfour\nmine\n"],
  ]) {
    test(`conflict: ${choice}`, async () => {
      const place = await folder("one\ntwo\nthree\nfour\n");
      const window = await browser.open(gateway);
      const page = await window.signedIn(place.hash);
      await editor(page).filter({ hasText: "four" }).waitFor();
      await type(page, "mine\n");
      // Saved before the pause after typing is over.
      await save(place.id, "ONE\ntwo\nthree\nfour\n");
      await status(page, "Conflict");
      const panel = page.getByRole("region", { name: "Two edits of one document" });
      await panel.locator("ins", { hasText: "mine" }).waitFor();
      await panel.locator("del", { hasText: "one" }).waitFor();
      await page.getByRole("button", { name: choice }).click();
      await status(page, "Saved");
      await until(`the gateway has the result of ${choice}`, async () => (await content(place.id)) === expected);
      if (choice === "Reload remote") {
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "one\ntwo\nthree\nfour\nmine\n");
      }
      await window.close();
    });
  }

  test("two tabs editing one document lose nothing", async () => {
    const place = await folder("start\n");
    const window = await browser.open(gateway);
    const first = await window.signedIn(place.hash);
    const second = await window.page(place.hash);
    await editor(first).filter({ hasText: "start" }).waitFor();
    await editor(second).filter({ hasText: "start" }).waitFor();
    await type(first, "from the first\n");
    await type(second, "from the second\n");
    await until("one of them is saved, the other in conflict", async () => {
      const texts = await Promise.all([first, second].map((page) => page.getByRole("status").textContent()));
      return texts.some((text) => text.includes("Conflict"));
    });
    const loser = (await first.getByRole("status").textContent()).includes("Conflict") ? first : second;
    await loser.getByRole("button", { name: "Merge" }).click();
    await status(loser, "Both texts are between the marks");
    await editor(loser).click();
    await loser.keyboard.press("Control+s");
    await status(loser, "Saved");
    const text = await content(place.id);
    assert.ok(text.includes("from the first") && text.includes("from the second"), text);
    await window.close();
  });

  test("text typed while the gateway restarts is saved", async () => {
    const place = await folder("before\n");
    const window = await browser.open(gateway);
    window.expected.push(/ERR_|401|WebSocket|Failed to load/);
    const page = await window.signedIn(place.hash);
    await editor(page).filter({ hasText: "before" }).waitFor();
    await type(page, "during\n");
    await gateway.kill();
    await type(page, "after\n");
    await status(page, "Offline");
    await gateway.launch();
    // The session ended with the process. Signing in again brings the page and its text back.
    await page.getByLabel("Token").fill(gateway.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await editor(page).filter({ hasText: "after" }).waitFor();
    await status(page, "Saved");
    await until("the text is saved", async () => (await content(place.id)) === "before\nduring\nafter\n");
    await window.close();
  });

  test("a draft survives a closed tab without a gateway", async () => {
    const place = await folder("kept\n");
    const window = await browser.open(gateway);
    window.expected.push(/ERR_|401|WebSocket|Failed to load/);
    const page = await window.signedIn(place.hash);
    await editor(page).filter({ hasText: "kept" }).waitFor();
    await gateway.kill();
    await type(page, "typed offline\n");
    await status(page, "Offline");
    await page.close({ runBeforeUnload: true });
    await gateway.launch();
    const again = await window.signedInWith(gateway.token, place.hash);
    await status(again, "Saved");
    assert.equal(await content(place.id), "kept\ntyped offline\n");
    await window.close();
  });

  test("a reader sees the text and cannot change it", async () => {
    const place = await folder("for readers\n");
    const token = await gateway.createToken("viewer", "--role", "reader");
    const window = await browser.open(gateway);
    const page = await window.signedInWith(token, place.hash);
    await editor(page).filter({ hasText: "for readers" }).waitFor();
    await type(page, "no");
    assert.ok(!(await editor(page).textContent()).includes("no"));
    assert.equal(await page.getByRole("button", { name: "New folder" }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "Tokens" }).count(), 0);
    await window.close();
  });

  test("storage that fails is reported and saves still work", async () => {
    const place = await folder("full\n");
    const window = await browser.open(gateway);
    await window.context.addInitScript(() => {
      IDBObjectStore.prototype.put = function () {
        throw new DOMException("no space", "QuotaExceededError");
      };
    });
    const page = await window.signedIn(place.hash);
    await editor(page).filter({ hasText: "full" }).waitFor();
    await type(page, "more\n");
    await page.getByRole("alert").filter({ hasText: "cannot be kept in this browser" }).waitFor();
    await status(page, "Saved");
    assert.equal(await content(place.id), "full\nmore\n");
    await window.close();
  });
});

describe("history", () => {
  test("versions are compared and restored", async () => {
    const place = await folder("first\n");
    await save(place.id, "second\n");
    await save(place.id, "third\n");
    const window = await browser.open(gateway);
    const page = await window.signedIn(place.hash);
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.locator("ins", { hasText: "third" }).waitFor();
    await page.getByRole("button", { name: "Version 1" }).click();
    await page.locator("ins", { hasText: "first" }).waitFor();
    await page.getByRole("button", { name: "Restore", exact: true }).click();
    await page.getByRole("button", { name: "Version 4" }).waitFor();
    assert.equal(await content(place.id), "first\n");
    await window.close();
  });

  test("a link to a version shows that version", async () => {
    const place = await folder("old text\n");
    await save(place.id, "new text\n");
    const window = await browser.open(gateway);
    const page = await window.signedIn(`${place.hash}@1`);
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.locator("ins", { hasText: "old text" }).waitFor();
    await window.close();
  });
});

describe("tree", () => {
  test("folders and threads are created, renamed, moved and removed by keyboard", async () => {
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    const tree = page.getByRole("tree", { name: "Workspace tree" });
    await tree.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Control+Shift+F");
    await page.getByLabel("Name of the folder").fill("Alpha");
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem", { name: "Alpha" }).waitFor();
    await tree.focus();
    await page.keyboard.press("Control+Shift+E");
    await page.getByLabel("Title of the thread").fill("Talk");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Talk" }).waitFor();
    const talk = page.getByRole("treeitem", { name: "Talk" });
    assert.equal(await talk.getAttribute("aria-level"), "2");
    await tree.focus();
    await page.keyboard.press("F2");
    await page.getByLabel("Title of the thread").fill("Speech");
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem", { name: "Speech" }).waitFor();
    await tree.focus();
    await page.keyboard.press("Control+x");
    await page.keyboard.press("Home");
    await page.keyboard.press("Control+v");
    const speech = page.getByRole("treeitem", { name: "Speech" });
    await until("the thread is at the root", async () => (await speech.getAttribute("aria-level")) === "1");
    await speech.click();
    await tree.focus();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Archive thread" }).click();
    await speech.waitFor({ state: "detached" });
    await window.close();
  });

  test("drag and drop moves a thread into a folder", async () => {
    const place = await folder();
    const params = { workspace_id: workspace.id, title: "Dragged" };
    await gateway.call("thread/create", params);
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    await page.getByRole("treeitem", { name: "Dragged" }).dragTo(page.getByRole("treeitem", { name: place.name, exact: true }));
    await until("the thread is in the folder", async () => {
      const { threads } = await gateway.call("thread/list", { workspace_id: workspace.id, folder_id: place.id, limit: 10 });
      return threads.length === 1;
    });
    await window.close();
  });

  test("the filter shows matches with their folders", async () => {
    const place = await folder("x\n");
    const params = { workspace_id: workspace.id, title: "Needle in the hay", folder_id: place.id };
    await gateway.call("thread/create", params);
    const window = await browser.open(gateway);
    const page = await window.signedIn();
    await page.getByLabel("Filter the tree").fill("needle");
    await page.getByRole("treeitem", { name: "Needle in the hay" }).waitFor();
    await page.getByRole("treeitem", { name: place.name, exact: true }).waitFor();
    assert.equal(await page.getByRole("treeitem", { name: "Dragged" }).count(), 0);
    await window.close();
  });
});

// Turns: streaming, tools, approvals, stopping, the timeline and the prompt.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Browser, Gateway, Model, until } from "./harness.mjs";

let model;
let gateway;
let browser;
let workspace;

before(async () => {
  model = await Model.start();
  gateway = await Gateway.start({ model });
  browser = await Browser.start();
  writeFileSync(join(gateway.project, "AGENTS.md"), "# Project\n\nUse tabs.\n");
  writeFileSync(join(gateway.project, "notes.txt"), "one\ntwo\n");
  const params = { name: "demo", root_path: gateway.project };
  ({ workspace } = await gateway.call("workspace/create", params));
  await gateway.call("thread/agents_doc/save", { workspace_id: workspace.id, content: "# Team\n\nBe brief.\n" });
});
after(async () => {
  await browser?.stop();
  await gateway?.stop();
  model?.stop();
});

async function thread(title, mode = "agent") {
  const { thread } = await gateway.call("thread/create", { workspace_id: workspace.id, title, mode });
  return { ...thread, hash: `#/w/${workspace.id}/thread/${thread.id}` };
}

async function send(page, text) {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

describe("turns", () => {
  test("an answer appears piece by piece, as formatted text", async () => {
    const talk = await thread("Stream");
    const text = "# Title\n\n**Bold** and `code` ".repeat(6) + "the end";
    model.answer({ text, deltas: 30, pause_ms: 60 });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Hello?");
    const busy = page.locator(".said[aria-busy=true]");
    await busy.waitFor();
    const early = await busy.textContent();
    assert.ok(!early.includes("the end"));
    await page.locator(".said", { hasText: "the end" }).waitFor();
    await page.locator(".said strong", { hasText: "Bold" }).first().waitFor();
    await page.getByText("completed").waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "");
    await window.close();
  });

  test("another tab follows the turn", async () => {
    const talk = await thread("Two tabs");
    model.answer({ text: "first half, second half", deltas: 6, pause_ms: 150 });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    const other = await window.page(talk.hash);
    await other.getByRole("heading", { name: "Two tabs" }).waitFor();
    await send(page, "Go");
    await other.locator(".said", { hasText: "second half" }).waitFor();
    await window.close();
  });

  test("a write waits for approval with its change and runs when allowed", async () => {
    const talk = await thread("Write");
    const call = { id: "call_1", name: "write_file", arguments: { path: "made.txt", content: "made by the model\n" } };
    model.answer({ text: "I will write.", calls: [call] }, { text: "Written." });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Write a file");
    await page.getByRole("link", { name: "Approvals" }).click();
    await page.getByRole("heading", { name: "Approvals" }).waitFor();
    await page.locator("ins", { hasText: "made by the model" }).waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("No call waits for a decision").waitFor();
    await page.getByRole("treeitem", { name: "Write" }).click();
    await page.locator(".said", { hasText: "Written." }).waitFor();
    await page.locator(".call", { hasText: "write_file" }).waitFor();
    await window.close();
  });

  test("a denied write is reported to the model", async () => {
    const talk = await thread("Deny");
    const call = { id: "call_1", name: "write_file", arguments: { path: "never.txt", content: "x" } };
    model.answer({ calls: [call] }, { text: "Then not." });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Write it");
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator(".said", { hasText: "Then not." }).waitFor();
    await page.locator(".call.failed").waitFor();
    await window.close();
  });

  test("a running turn can be stopped", async () => {
    const talk = await thread("Stop");
    model.answer({ text: "word ".repeat(400), deltas: 400, pause_ms: 100 });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Count");
    await page.locator(".said", { hasText: "word word" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".tag.cancelled").waitFor();
    await window.close();
  });

  test("five megabytes in one answer leave the page usable", async () => {
    const talk = await thread("Long");
    model.answer({ text: `start ${"lorem ipsum ".repeat(430_000)} end of it`, deltas: 200 });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Talk");
    await page.getByRole("button", { name: /Show more/ }).waitFor({ timeout: 60_000 });
    const started = Date.now();
    await page.getByRole("treeitem", { name: "AGENTS.md" }).click();
    await page.getByRole("textbox", { name: "AGENTS.md editor" }).waitFor();
    assert.ok(Date.now() - started < 10_000);
    await window.close();
  });

  test("the timeline shows rounds, tools and tokens", async () => {
    const talk = await thread("Timeline");
    const call = { id: "call_1", name: "read_file", arguments: { path: "notes.txt" } };
    model.answer({ text: "Reading.", calls: [call] }, { text: "Two lines." });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "How many lines?");
    await page.locator(".said", { hasText: "Two lines." }).waitFor();
    await page.getByRole("link", { name: "Turn 1" }).click();
    await page.getByRole("heading", { name: "Turn 1" }).waitFor();
    for (const name of ["Round 1", "read_file", "Round 2"]) await page.locator("td", { hasText: name }).first().waitFor();
    await page.getByText(/AGENTS\.md/).first().waitFor();
    await window.close();
  });

  test("the prompt shows its sections and the cause of a changed prefix", async () => {
    const talk = await thread("Prompt");
    model.answer({ text: "Yes." });
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Ready?");
    await page.getByText("completed").waitFor();
    await page.getByRole("link", { name: "Prompt" }).click();
    await page.getByRole("heading", { name: "Prompt", exact: true }).waitFor();
    await page.getByRole("button", { name: /tokens/ }).first().waitFor();
    const { explicit } = await gateway.call("thread/agents_doc/get", { workspace_id: workspace.id });
    const content = `${explicit.content}Be polite.\n`;
    await gateway.call("thread/agents_doc/save", { workspace_id: workspace.id, content });
    await page.getByText(/first difference in/).waitFor();
    await page.getByRole("button", { name: "Whole text" }).click();
    await page.getByText("Be polite.").first().waitFor();
    await window.close();
  });

  test("an editor reads turns and cannot start any", async () => {
    const talk = await thread("Editors");
    const token = await gateway.createToken("ed", "--role", "editor");
    const window = await browser.open(gateway);
    const page = await window.signedInWith(token, talk.hash);
    await page.getByText("Your role is editor").waitFor();
    assert.equal(await page.getByRole("button", { name: "Send" }).count(), 0);
    await window.close();
  });

  test("the stream continues after a lost connection", async () => {
    const talk = await thread("Reconnect");
    model.answer({ text: Array.from({ length: 60 }, (_, index) => `piece ${index}`).join(", "), deltas: 60, pause_ms: 100 });
    const window = await browser.open(gateway);
    await window.context.addInitScript(() => {
      const Original = WebSocket;
      window.sockets = [];
      window.WebSocket = class extends Original {
        constructor(...given) {
          super(...given);
          window.sockets.push(this);
        }
      };
    });
    const page = await window.signedIn(talk.hash);
    await send(page, "Count");
    await page.locator(".said", { hasText: "piece 5" }).waitFor();
    await page.evaluate(() => window.sockets.at(-1).close());
    await page.locator(".said", { hasText: "piece 59" }).waitFor();
    const text = await page.locator(".said").textContent();
    for (let index = 0; index < 60; index += 1) assert.equal(text.split(`piece ${index},`).length, index < 59 ? 2 : 1);
    await window.close();
  });

  test("an unanswerable turn shows the reason", async () => {
    const talk = await thread("Failure");
    const window = await browser.open(gateway);
    const page = await window.signedIn(talk.hash);
    await send(page, "Anyone?");
    await page.locator(".tag.failed").waitFor();
    await page.locator(".turn .problem").waitFor();
    await until("the turn ended", async () => {
      const { turns } = await gateway.call("turn/list", { workspace_id: workspace.id, thread_id: talk.id });
      return turns[0].status === "failed";
    });
    await window.close();
  });
});

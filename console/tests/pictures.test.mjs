// Pictures for the docs: `UPDATE_DOCS=1 cargo xtask test --console -- pictures`. `PICTURES_HOME` names a directory to create, which
// the pictures show.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Browser, Gateway, Model } from "./harness.mjs";

const FOLDER = new URL("../../docs/pictures/", import.meta.url).pathname;
const isWanted = process.env.UPDATE_DOCS === "1";

describe("pictures", { skip: !isWanted && "UPDATE_DOCS is not set" }, () => {
  let model;
  let gateway;
  let browser;
  let ids;

  before(async () => {
    model = await Model.start();
    gateway = await Gateway.start({ model, project: "shop", directory: process.env.PICTURES_HOME });
    browser = await Browser.start();
    ids = await fill();
  });
  after(async () => {
    await browser?.stop();
    await gateway?.stop();
    model?.stop();
  });

  async function fill() {
    writeFileSync(join(gateway.project, "AGENTS.md"), "# Shop\n\nUse pnpm, never npm. Run `pnpm test` before you finish.\n");
    mkdirSync(join(gateway.project, "payments"));
    writeFileSync(join(gateway.project, "payments", "AGENTS.md"), "# Payments\n\nAmounts are integers in cents.\n");
    writeFileSync(join(gateway.project, "CLAUDE.md"), "# For Claude\n\n@AGENTS.md\n");
    const { workspace } = await gateway.call("workspace/create", { name: "shop", root_path: gateway.project });
    const scope = { workspace_id: workspace.id };
    const folder = async (name, parent_folder_id) =>
      (await gateway.call("thread/folder/create", { ...scope, name, parent_folder_id })).folder.id;
    const save = (folder_id, content) => gateway.call("thread/agents_doc/save", { ...scope, folder_id, content });
    const thread = async (title, folder_id) =>
      (await gateway.call("thread/create", { ...scope, title, folder_id, mode: "agent" })).thread.id;
    const billing = await folder("billing");
    const refunds = await folder("refunds", billing);
    await folder("design");
    const search = await folder("search");
    await save(undefined, "# Shop\n\nAnswer briefly, in the language of the question.\n\n- TypeScript, strict. No `any`.\n- Every bug gets a test that fails without its fix.\n");
    await save(billing, "# Billing\n\nAmounts are numbers.\n");
    await save(billing, "# Billing\n\nAmounts are integers in cents. Never use floats for money.\n");
    await save(
      billing,
      "# Billing\n\nAmounts are integers in cents. Never use floats for money.\n\n## Before a change\n\n1. Read `docs/ledger.md`.\n2. Write the test first.\n3. Ask **Ines** before you touch a migration.\n",
    );
    await save(search, " ");
    const talk = await thread("Round refunds to cents", refunds);
    await thread("Why was invoice 1043 paid twice?", billing);
    await thread("Plan for the autumn release");
    const read = { id: "call_1", name: "read_file", arguments: { path: "payments/AGENTS.md" } };
    model.answer(
      { text: "I read the rules of this folder first.", calls: [read] },
      { text: "Refunds are rounded **half to even**, in cents:\n\n- `round_cents(12.345)` gives `1234`\n- the sum of the parts always equals the whole" },
    );
    const { turn } = await gateway.call("turn/start", { ...scope, thread_id: talk, input: "How are refunds rounded?" });
    await ended(scope, turn.id);
    return { workspace: workspace.id, scope, billing, refunds, talk, turn: turn.id };
  }

  async function ended(scope, turn_id) {
    for (let status = "running"; status === "running"; ) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      status = (await gateway.call("turn/get", { ...scope, turn_id })).turn.status;
    }
  }

  async function draw(name, hash, prepare, options) {
    const window = await browser.open(gateway, { viewport: { width: 1180, height: 720 }, ...options });
    const page = await window.signedIn();
    await page.getByRole("heading", { name: "shop" }).waitFor();
    await page.evaluate((it) => (document.location.hash = it), hash);
    await prepare(page);
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(FOLDER, `console-${name}.png`), caret: "initial" });
    await window.close();
  }

  const editor = (page) => page.getByRole("textbox", { name: "AGENTS.md editor" });

  test("editor", () =>
    draw("editor", `#/w/${ids.workspace}/doc/${ids.billing}`, (page) => editor(page).filter({ hasText: "Ines" }).waitFor()));

  test("dark", () =>
    draw("dark", `#/w/${ids.workspace}/doc/${ids.billing}`, (page) => editor(page).filter({ hasText: "Ines" }).waitFor(), { colorScheme: "dark" }));

  test("conflict", () =>
    draw("conflict", `#/w/${ids.workspace}/doc/${ids.refunds}`, async (page) => {
      const save = (content) => gateway.call("thread/agents_doc/save", { ...ids.scope, folder_id: ids.refunds, content });
      await save("# Refunds\n\nRound half to even.\nLog every refund.\n");
      await editor(page).filter({ hasText: "Log every" }).waitFor();
      await editor(page).click();
      await page.keyboard.press("Control+End");
      await page.keyboard.insertText("Refunds above 500 need a second person.\n");
      await save("# Refunds\n\nRound half to even, in cents.\nLog every refund.\n");
      await page.getByRole("button", { name: "Merge" }).waitFor();
    }));

  test("history", () =>
    draw("history", `#/w/${ids.workspace}/history/${ids.billing}`, (page) => page.locator("ins").first().waitFor()));

  test("prompt", () =>
    draw("prompt", `#/w/${ids.workspace}/prompt/${ids.talk}`, (page) => page.getByText("Compared with the last turn").waitFor()));

  test("turn", () =>
    draw("turn", `#/w/${ids.workspace}/turn/${ids.turn}`, (page) => page.getByRole("heading", { name: "Timeline" }).waitFor()));

  test("compare", () =>
    draw("compare", `#/w/${ids.workspace}/compare`, (page) => page.getByRole("heading", { name: "Differences" }).waitFor()));

  test("map", () => draw("map", `#/w/${ids.workspace}/map`, (page) => page.locator("svg.treemap").waitFor()));

  test("thread with an approval", async () => {
    const call = { id: "call_9", name: "write_file", arguments: { path: "payments/round.ts", content: "export const cents = (value: number) => Math.round(value * 100);\n" } };
    model.answer({ text: "I add the function.", calls: [call] }, { text: "Done." });
    await draw("approval", `#/w/${ids.workspace}/thread/${ids.talk}`, async (page) => {
      await page.getByRole("textbox", { name: "Message" }).fill("Add a function for it");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("button", { name: "Allow" }).waitFor();
    });
    const { turns } = await gateway.call("turn/list", { ...ids.scope, thread_id: ids.talk });
    await gateway.call("turn/cancel", { ...ids.scope, turn_id: turns[0].id });
  });

  test("phone", () =>
    draw("phone", `#/w/${ids.workspace}/thread/${ids.talk}`, (page) => page.locator(".said").last().waitFor(), { viewport: { width: 400, height: 720 } }));
});

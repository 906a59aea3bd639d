import { describe, expect, test } from "vitest";
import { AUTOSAVE_AFTER, Editing, type EditingRequest } from "./editing";

const LIMIT = 65_536;

function doc(content: string, version: number) {
  return { content, version };
}

/** Returns an editor whose document is loaded. */
function loaded(content = "base\n", version = 3): Editing {
  const editing = new Editing(LIMIT);
  const request = editing.poll(0);
  editing.fetched(request?.number ?? 0, version === 0 ? undefined : doc(content, version), 0);
  return editing;
}

function save(editing: Editing, now: number): Extract<EditingRequest, { call: "save" }> {
  const request = editing.poll(now);
  if (request?.call !== "save") throw new Error(`no save but ${JSON.stringify(request)}`);
  return request;
}

describe("saving", () => {
  test("a pause after typing saves once with the last text", () => {
    const editing = loaded();
    editing.edit("a", 1_000);
    editing.edit("ab", 1_500);
    expect(editing.poll(1_500 + AUTOSAVE_AFTER - 1)).toBeUndefined();
    expect(editing.wakeAt).toBe(1_500 + AUTOSAVE_AFTER);
    const request = save(editing, 1_500 + AUTOSAVE_AFTER);
    expect(request).toMatchObject({ content: "ab", expectedVersion: 3, reason: "autosave" });
    editing.saved(request.number, doc("ab", 4), 2_300);
    expect(editing.status).toEqual({ kind: "saved" });
    expect(editing.isSettled).toBe(true);
  });

  test("text typed during a save is saved afterwards", () => {
    const editing = loaded();
    editing.edit("a", 0);
    const first = save(editing, 700);
    editing.edit("ab", 800);
    editing.saved(first.number, doc("a", 4), 900);
    expect(editing.text).toBe("ab");
    expect(save(editing, 1_500)).toMatchObject({ content: "ab", expectedVersion: 4 });
  });

  test("a refused save waits for another text", () => {
    const editing = loaded();
    editing.edit("a", 0);
    const request = save(editing, 700);
    const failure = { message: "no", isTransient: false, isOutcomeUnknown: false };
    editing.failed(request.number, failure, 700);
    expect(editing.status).toEqual({ kind: "failed", message: "no" });
    expect(editing.poll(1e9)).toBeUndefined();
    editing.edit("ab", 1e9);
    expect(editing.poll(1e9 + AUTOSAVE_AFTER)?.call).toBe("save");
  });

  test("a text that is too long is kept and not sent", () => {
    const editing = loaded();
    editing.edit("€".repeat(LIMIT / 3 + 1), 0);
    expect(editing.status).toEqual({ kind: "too_long", bytes: LIMIT + 2 });
    expect(editing.poll(1e9)).toBeUndefined();
  });
});

describe("conflicts", () => {
  function inConflict(): Editing {
    const editing = loaded("one\ntwo\nthree\nfour\n", 3);
    editing.edit("ONE\ntwo\nthree\nfour\n", 0);
    const request = save(editing, 700);
    editing.conflicted(request.number, doc("one\ntwo\nthree\nFOUR\n", 4), 800);
    expect(editing.status).toEqual({ kind: "conflict" });
    expect(editing.poll(1e9)).toBeUndefined();
    return editing;
  }

  test("the gateway's text replaces the user's only on request", () => {
    const editing = inConflict();
    expect(editing.text).toContain("ONE");
    expect(editing.takeRemote()).toBe("ONE\ntwo\nthree\nfour\n");
    expect(editing.text).toBe("one\ntwo\nthree\nFOUR\n");
    expect(editing.status).toEqual({ kind: "saved" });
  });

  test("overwriting saves over the gateway's version", () => {
    const editing = inConflict();
    editing.overwriteRemote(900);
    expect(save(editing, 900)).toMatchObject({ expectedVersion: 4, reason: "manual" });
  });

  test("a clean merge is saved with both edits", () => {
    const editing = inConflict();
    editing.takeMerge(900);
    expect(save(editing, 900)).toMatchObject({ content: "ONE\ntwo\nthree\nFOUR\n", expectedVersion: 4 });
  });

  test("a merge with marks is saved once they are gone", () => {
    const editing = loaded("one\n", 1);
    editing.edit("mine\n", 0);
    editing.conflicted(save(editing, 700).number, doc("theirs\n", 2), 700);
    editing.takeMerge(800);
    expect(editing.status).toEqual({ kind: "unmerged" });
    expect(editing.poll(1e9)).toBeUndefined();
    editing.edit("both\n", 1e9);
    expect(save(editing, 1e9 + AUTOSAVE_AFTER)).toMatchObject({ content: "both\n", expectedVersion: 2 });
  });

  test("an archived document is a conflict as well", () => {
    const editing = loaded();
    editing.edit("mine", 0);
    editing.conflicted(save(editing, 700).number, undefined, 700);
    expect(editing.remote).toEqual({ text: "", version: 0 });
    editing.overwriteRemote(800);
    expect(save(editing, 800)).toMatchObject({ expectedVersion: 0 });
  });
});

describe("announcements", () => {
  test("a change elsewhere replaces an unedited text", () => {
    const editing = loaded();
    const epoch = editing.epoch;
    editing.remoteChanged(4);
    const request = editing.poll(0);
    expect(request?.call).toBe("fetch");
    editing.fetched(request?.number ?? 0, doc("theirs", 4), 0);
    expect(editing.text).toBe("theirs");
    expect(editing.epoch).toBe(epoch + 1);
  });

  test("a change elsewhere never replaces typed text", () => {
    const editing = loaded();
    editing.edit("mine", 0);
    editing.remoteChanged(4);
    const request = editing.poll(0);
    editing.fetched(request?.number ?? 0, doc("theirs", 4), 0);
    expect(editing.text).toBe("mine");
    expect(editing.status).toEqual({ kind: "conflict" });
  });

  test("the announcement of an own save is not fetched", () => {
    const editing = loaded();
    editing.edit("mine", 0);
    const request = save(editing, 700);
    editing.remoteChanged(4);
    editing.saved(request.number, doc("mine", 4), 800);
    expect(editing.poll(1e9)).toBeUndefined();
  });
});

describe("lost connections", () => {
  test("a save without an answer that succeeded is no conflict", () => {
    const editing = loaded();
    editing.edit("mine", 0);
    const request = save(editing, 700);
    editing.disconnected();
    editing.edit("mine too", 900);
    expect(editing.status).toEqual({ kind: "offline" });
    editing.reconnected(1_000);
    editing.saved(request.number, doc("mine", 4), 1_000);
    const fetch = editing.poll(1_000);
    editing.fetched(fetch?.number ?? 0, doc("mine", 4), 1_100);
    expect(save(editing, 2_000)).toMatchObject({ content: "mine too", expectedVersion: 4 });
  });

  test("a draft of an earlier visit is compared before it is saved", () => {
    const editing = new Editing(LIMIT, { baseVersion: 3, baseText: "base\n", text: "mine\n" });
    expect(editing.text).toBe("mine\n");
    const fetch = editing.poll(0);
    expect(fetch?.call).toBe("fetch");
    editing.fetched(fetch?.number ?? 0, doc("theirs\n", 4), 0);
    expect(editing.status).toEqual({ kind: "conflict" });
  });

  test("drafts follow the unsaved text", () => {
    const editing = loaded();
    expect(editing.takeDraftChange()).toBeUndefined();
    editing.edit("mine", 0);
    expect(editing.takeDraftChange()).toEqual({ baseVersion: 3, baseText: "base\n", text: "mine" });
    expect(editing.takeDraftChange()).toBeUndefined();
    editing.saved(save(editing, 700).number, doc("mine", 4), 700);
    expect(editing.takeDraftChange()).toBeNull();
  });
});

test("random orders of events lose no typed text", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  for (let run = 0; run < 300; run += 1) {
    // The gateway: a version and a text, changed by saves and by another editor.
    let remote = { content: "start\n", version: 1 };
    const editing = new Editing(LIMIT);
    const waiting: EditingRequest[] = [];
    let now = 0;
    let typed = 0;
    let last = "";
    const answer = () => {
      const request = waiting.shift();
      if (!request) return;
      if (request.call === "fetch") editing.fetched(request.number, remote, now);
      else if (request.expectedVersion !== remote.version) editing.conflicted(request.number, remote, now);
      else {
        remote = { content: request.content, version: remote.version + 1 };
        editing.saved(request.number, remote, now);
      }
    };
    for (let step = 0; step < 60; step += 1) {
      now += random(500);
      const before = editing.text;
      switch (random(7)) {
        case 0:
          last = `${editing.text}typed ${typed++}\n`;
          editing.edit(last, now);
          break;
        case 1:
          remote = { content: `${remote.content}other ${step}\n`, version: remote.version + 1 };
          editing.remoteChanged(remote.version);
          break;
        case 2:
          // The gateway executes the requests that reached it, and the answers are lost.
          if (random(2) === 0) answer();
          waiting.length = 0;
          editing.disconnected();
          break;
        case 3:
          editing.reconnected(now);
          break;
        default:
          answer();
      }
      const request = editing.poll(now);
      if (request) waiting.push(request);
      if (before !== editing.text && editing.text !== last) {
        // Only a text that the gateway has may be replaced without a choice of the user.
        expect(before === remote.content || remote.content.startsWith(before) || before === "").toBe(true);
      }
      if (editing.status.kind === "conflict") editing.takeMerge(now);
    }
    editing.disconnected();
    editing.reconnected(now);
    for (let step = 0; step < 40 && !editing.isSettled; step += 1) {
      now += 10_000;
      const request = editing.poll(now);
      if (request) {
        waiting.length = 0;
        waiting.push(request);
        answer();
      }
      if (editing.status.kind === "conflict") editing.takeMerge(now);
      if (editing.status.kind === "unmerged") editing.save(now);
    }
    expect(editing.isSettled).toBe(true);
    for (let number = 0; number < typed; number += 1) expect(remote.content).toContain(`typed ${number}\n`);
  }
});

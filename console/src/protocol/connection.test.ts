import { beforeEach, expect, test, vi } from "vitest";
import { Connection, type Link, type Surroundings } from "./connection";
import { ConnectionLost, RpcError } from "./errors";

class FakeSocket {
  static readonly OPEN = 1;
  readyState = 0;
  sent: { id: number; method: string }[] = [];
  onopen: (() => void) | undefined;
  onmessage: ((event: { data: string }) => void) | undefined;
  onclose: ((event: { code: number }) => void) | undefined;

  send(text: string) {
    this.sent.push(JSON.parse(text));
  }
  open() {
    this.readyState = 1;
    this.onopen?.();
  }
  answer(id: number, body: object) {
    this.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", id, ...body }) });
  }
  close(code = 1006) {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

let sockets: FakeSocket[];
let links: Link[];
let retries: { task: () => void; pause: number }[];
let session: () => Promise<boolean>;
let connection: Connection;

beforeEach(() => {
  vi.stubGlobal("WebSocket", FakeSocket);
  sockets = [];
  links = [];
  retries = [];
  session = () => Promise.resolve(true);
  const around: Surroundings = {
    open() {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    isSignedIn: () => session(),
    later(task, pause) {
      retries.push({ task, pause });
      return () => undefined;
    },
  };
  const events = { link: (link: Link) => void links.push(link), connected: () => undefined, notification: () => undefined };
  connection = new Connection(events, around);
});

async function connected(): Promise<FakeSocket> {
  connection.connect();
  await vi.waitFor(() => expect(sockets.length).toBeGreaterThan(0));
  const socket = sockets.at(-1)!;
  socket.open();
  socket.answer(socket.sent[0]!.id, { result: { role: "owner" } });
  await vi.waitFor(() => expect(links.at(-1)).toBe("online"));
  return socket;
}

test("answers reach their calls in any order", async () => {
  const socket = await connected();
  const first = connection.call("workspace/list", {});
  const second = connection.call("token/list", {});
  const [one, two] = socket.sent.slice(-2);
  socket.answer(two!.id, { result: { tokens: [] } });
  socket.answer(one!.id, { error: { code: -32003, message: "no", data: { kind: "forbidden" } } });
  expect(await second).toEqual({ tokens: [] });
  await expect(first).rejects.toBeInstanceOf(RpcError);
});

test("a lost connection rejects waiting calls and connects again", async () => {
  const socket = await connected();
  const call = connection.call("workspace/list", {});
  socket.close();
  await expect(call).rejects.toBeInstanceOf(ConnectionLost);
  expect(links.at(-1)).toBe("offline");
  retries.at(-1)!.task();
  await vi.waitFor(() => expect(sockets).toHaveLength(2));
});

test("pauses between attempts grow to a longest one", async () => {
  session = () => Promise.reject(new Error("no gateway"));
  connection.connect();
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    await vi.waitFor(() => expect(retries).toHaveLength(attempt));
    retries.at(-1)!.task();
  }
  const pauses = retries.map((retry) => retry.pause);
  expect(pauses[0]).toBeLessThan(300);
  expect(pauses[7]).toBeGreaterThanOrEqual(5_000);
  expect(pauses[7]).toBeLessThanOrEqual(6_500);
});

test("without a session no connection is tried", async () => {
  session = () => Promise.resolve(false);
  connection.connect();
  await vi.waitFor(() => expect(links.at(-1)).toBe("signed_out"));
  expect(sockets).toHaveLength(0);
});

test("an invalid session is not retried", async () => {
  const socket = await connected();
  socket.close(1008);
  expect(links.at(-1)).toBe("signed_out");
  expect(retries).toHaveLength(0);
});

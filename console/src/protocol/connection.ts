import { ConnectionLost, RpcError } from "./errors";
import type { ErrorObject, InitializeResult, Methods, Notifications } from "./types";

/** State of the connection. */
export type Link = "connecting" | "online" | "offline" | "signed_out";

export type AnyNotification = {
  [Name in keyof Notifications]: { method: Name; params: Notifications[Name] };
}[keyof Notifications];

/** Receiver of everything that a connection reports. */
export interface ConnectionEvents {
  link(link: Link, reason?: string): void;
  connected(hello: InitializeResult): void;
  notification(notification: AnyNotification): void;
}

/** Parts of the browser that a connection needs; tests replace them. */
export interface Surroundings {
  open(): WebSocket;
  /** Returns true if the browser has a session. Fails without a gateway. */
  isSignedIn(): Promise<boolean>;
  later(task: () => void, milliseconds: number): () => void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Close code of a session or token that is no longer valid. */
const NO_LONGER_VALID = 1008;
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 5_000;
/** Attempts to reconnect are spread, so that the tabs of a team do not reach a restarted gateway in one moment. */
const SPREAD = 0.3;

/** A WebSocket connection to the gateway that reconnects until it is closed or the session ends. */
export class Connection {
  #socket: WebSocket | undefined;
  #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #failures = 0;
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;
  #isOpening = false;
  readonly #events: ConnectionEvents;
  readonly #around: Surroundings;

  constructor(events: ConnectionEvents, around: Surroundings = browser) {
    this.#events = events;
    this.#around = around;
  }

  /** Connects. Does nothing while a connection exists or is being made. */
  connect(): void {
    if (this.#socket || this.#isClosed || this.#isOpening) return;
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#isOpening = true;
    this.#events.link("connecting");
    // A refused upgrade and an unreachable gateway look the same to a page, so it asks for the session first.
    this.#around
      .isSignedIn()
      .then(
        (isSignedIn) => {
          this.#isOpening = false;
          if (this.#isClosed) return;
          if (isSignedIn) this.#open();
          else this.#events.link("signed_out");
        },
        () => {
          this.#isOpening = false;
          if (this.#isClosed) return;
          this.#events.link("offline");
          this.#retry();
        },
      );
  }

  #open(): void {
    const socket = this.#around.open();
    this.#socket = socket;
    socket.onopen = () => void this.#greet(socket);
    socket.onmessage = (event) => this.#receive(String(event.data));
    socket.onclose = (event) => this.#lost(socket, event.code);
  }

  /** Closes the connection for good. */
  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#socket?.close();
  }

  /** Calls a method. Rejected with an `RpcError` or, if the outcome is unknown, with a `ConnectionLost`. */
  call<Name extends keyof Methods>(
    method: Name,
    params: Methods[Name]["params"],
  ): Promise<Methods[Name]["result"]> {
    const socket = this.#socket;
    if (!socket || socket.readyState !== WebSocket.OPEN) return Promise.reject(new ConnectionLost());
    const id = this.#nextId++;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: unknown) => void, reject });
      socket.send(text);
    });
  }

  async #greet(socket: WebSocket): Promise<void> {
    try {
      const client = { name: "console", version: __VERSION__ };
      const hello = await this.call("initialize", { client });
      if (socket !== this.#socket) return;
      this.#failures = 0;
      this.#events.link("online");
      this.#events.connected(hello);
    } catch {
      socket.close();
    }
  }

  #receive(text: string): void {
    const message = JSON.parse(text) as {
      id?: number;
      method?: string;
      params?: unknown;
      result?: unknown;
      error?: ErrorObject;
    };
    if (message.method !== undefined) {
      this.#events.notification(message as unknown as AnyNotification);
      return;
    }
    const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (!waiting || message.id === undefined) return;
    this.#waiting.delete(message.id);
    if (message.error) waiting.reject(new RpcError(message.error));
    else waiting.resolve(message.result);
  }

  #lost(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const call of waiting) call.reject(new ConnectionLost());
    if (this.#isClosed) return;
    this.#events.link("offline");
    if (code === NO_LONGER_VALID) {
      this.#events.link("signed_out", "the session has ended");
      return;
    }
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed || this.#socket || this.#cancelRetry) return;
    this.#failures += 1;
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(this.#failures - 1, 16), LONGEST_PAUSE);
    const spread = pause * (1 + SPREAD * Math.random());
    this.#cancelRetry = this.#around.later(() => {
      this.#cancelRetry = undefined;
      this.connect();
    }, spread);
  }
}

/** Returns the address of a path of this gateway, also behind a proxy that adds a path. */
export function address(path: string): URL {
  return new URL(`../${path}`, new URL("./", document.location.href));
}

/** Returns true if the browser has a session, and renews its cookie. */
export async function checkSession(): Promise<boolean> {
  const answer = await fetch(address("console/check"), { method: "POST" });
  // Refused because of the host or origin: the sign-in shows the reason.
  if (answer.status === 403) return false;
  if (!answer.ok) throw new Error(`the gateway answered with ${answer.status}`);
  return ((await answer.json()) as { signed_in: boolean }).signed_in;
}

const browser: Surroundings = {
  open() {
    const url = address("rpc");
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return new WebSocket(url, "foreword.v1");
  },
  isSignedIn: checkSession,
  later(task, milliseconds) {
    const timer = setTimeout(task, milliseconds);
    return () => clearTimeout(timer);
  },
};

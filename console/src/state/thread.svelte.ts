/** An open thread: its turns, and the watched running ones. */
import { describe } from "../protocol/errors";
import type { Thread, Turn, TurnApproval, TurnGetResult } from "../protocol/types";
import { session, type SessionEvent } from "./session.svelte";
import { WatchedTurn, type TurnItem } from "./turn";

/** Turns per page. */
const PAGE = 20;
/** Milliseconds between polls of a turn that runs on another gateway and sends no pieces here. */
const POLL_EVERY = 1_000;

/** A turn as it is shown. */
export interface TurnShown {
  turn: Turn;
  items: TurnItem[];
  delegated: Turn[];
  approvals: TurnApproval[];
  retrying: string | undefined;
}

export class OpenThread {
  readonly workspace: string;
  readonly id: string;
  thread = $state.raw<Thread | undefined>();
  turns = $state.raw<Turn[]>([]);
  hasOlder = $state(false);
  problem = $state<string | undefined>();
  isLoaded = $state(false);
  /** Grows with every change of a watched turn, which is not reactive. */
  version = $state(0);

  #watched = new Map<string, WatchedTurn>();
  #unlisten: () => void;
  #poll: ReturnType<typeof setInterval> | undefined;
  #drawing: number | undefined;
  #isClosed = false;

  constructor(workspace: string, id: string) {
    this.workspace = workspace;
    this.id = id;
    this.#unlisten = session.listen((event) => this.#heard(event));
    void this.load();
  }

  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    clearInterval(this.#poll);
    if (this.#drawing !== undefined) cancelAnimationFrame(this.#drawing);
  }

  get running(): Turn | undefined {
    void this.version;
    return this.turns.find((turn) => (this.#watched.get(turn.id)?.turn ?? turn).status === "running");
  }

  /** Returns a turn as it is shown. The result is a new value for every version, so that views notice changes. */
  view(turn: Turn): TurnShown {
    void this.version;
    const watched = this.#watched.get(turn.id);
    if (!watched) {
      const items: TurnItem[] = [{ kind: "asked", key: "asked", text: turn.input }];
      return { turn, items, delegated: [], approvals: [], retrying: undefined };
    }
    const { items, delegated, approvals, retrying } = watched;
    return { turn: watched.turn, items, delegated, approvals, retrying };
  }

  async load(): Promise<void> {
    const scope = { workspace_id: this.workspace, thread_id: this.id };
    try {
      const [{ thread }, { turns }] = await Promise.all([
        session.call("thread/get", scope),
        session.call("turn/list", { ...scope, limit: PAGE }),
      ]);
      if (this.#isClosed) return;
      this.thread = thread;
      const known = new Set(turns.map((turn) => turn.id));
      const older = this.turns.filter((turn) => !known.has(turn.id));
      this.turns = [...older, ...turns.reverse()];
      this.hasOlder = (this.turns[0]?.ordinal ?? 1) > 1;
      this.problem = undefined;
      await Promise.all(turns.map((turn) => this.#loadTurn(turn)));
    } catch (error) {
      this.problem = describe(error);
    } finally {
      this.isLoaded = true;
    }
  }

  async loadOlder(): Promise<void> {
    const before = this.turns[0]?.ordinal;
    const params = { workspace_id: this.workspace, thread_id: this.id, limit: PAGE, before };
    try {
      const { turns } = await session.call("turn/list", params);
      this.turns = [...turns.reverse(), ...this.turns];
      this.hasOlder = turns.length > 0 && (this.turns[0]?.ordinal ?? 1) > 1;
      await Promise.all(turns.map((turn) => this.#loadTurn(turn)));
    } catch (error) {
      this.problem = describe(error);
    }
  }

  async send(input: string): Promise<void> {
    const params = { workspace_id: this.workspace, thread_id: this.id, input };
    const { turn } = await session.call("turn/start", params);
    this.#add(turn);
    await this.#loadTurn(turn);
  }

  async stop(): Promise<void> {
    const { running } = this;
    if (!running) return;
    await session.call("turn/cancel", { workspace_id: this.workspace, turn_id: running.id });
  }

  #add(turn: Turn): void {
    if (!this.turns.some((it) => it.id === turn.id)) this.turns = [...this.turns, turn];
  }

  async #loadTurn(turn: Turn): Promise<void> {
    const watched = this.#watched.get(turn.id) ?? new WatchedTurn(turn);
    this.#watched.set(turn.id, watched);
    if (watched.isRunning) await this.#watch(watched);
    await this.#refresh(watched);
  }

  async #watch(watched: WatchedTurn): Promise<void> {
    const params = { workspace_id: this.workspace, turn_id: watched.turn.id };
    try {
      const result = await session.call("turn/watch", params);
      watched.watched(result);
      if (result.next_index === undefined && watched.isRunning) this.#pollSoon();
      this.#changed();
    } catch (error) {
      this.problem = describe(error);
    }
  }

  /** Loads the steps that are not known yet. */
  async #refresh(watched: WatchedTurn): Promise<void> {
    const scope = { workspace_id: this.workspace, turn_id: watched.turn.id };
    try {
      // The last known step may have been replaced by its stored form, so it is loaded again.
      let after: number | undefined = Math.max(0, watched.steps.length - 1);
      while (after !== undefined) {
        const result: TurnGetResult = await session.call("turn/get", { ...scope, after: after || undefined });
        if (this.#isClosed) return;
        watched.got(result, after);
        after = result.next;
      }
      this.turns = this.turns.map((turn) => (turn.id === watched.turn.id ? watched.turn : turn));
      this.#changed();
    } catch (error) {
      this.problem = describe(error);
    }
  }

  #pollSoon(): void {
    this.#poll ??= setInterval(() => {
      const running = [...this.#watched.values()].filter((it) => it.isRunning);
      if (running.length === 0) {
        clearInterval(this.#poll);
        this.#poll = undefined;
      } else if (session.isOnline) {
        for (const watched of running) void this.#watch(watched).then(() => this.#refresh(watched));
      }
    }, POLL_EVERY);
  }

  #heard(event: SessionEvent): void {
    if (event.kind === "disconnected") {
      for (const watched of this.#watched.values()) watched.disconnected();
      return;
    }
    if (event.kind === "reconnected") {
      void this.load();
      return;
    }
    const { method, params } = event.notification;
    if (method === "turn/delta") {
      const watched = this.#watched.get(params.turn_id);
      if (!watched) return;
      if (!watched.delta(params)) void this.#watch(watched);
      this.#changed();
      return;
    }
    if (method === "turn/retrying") {
      const watched = this.#watched.get(params.turn_id);
      if (!watched) return;
      watched.retrying = params.message;
      this.#changed();
      return;
    }
    if (!("thread_id" in params) || !("turn_id" in params)) return;
    if (method === "turn/started" && params.thread_id === this.id) {
      if (!this.#watched.has(params.turn_id)) void this.#found(params.turn_id);
      return;
    }
    // A delegated turn is part of the turn that delegated it.
    const watched =
      this.#watched.get(params.turn_id) ??
      [...this.#watched.values()].find((it) => it.delegated.some((turn) => turn.id === params.turn_id)) ??
      (method === "turn/started" && params.parent_turn_id ? this.#watched.get(params.parent_turn_id) : undefined);
    if (watched) void this.#refresh(watched);
  }

  async #found(turnId: string): Promise<void> {
    try {
      const { turn } = await session.call("turn/get", { workspace_id: this.workspace, turn_id: turnId });
      this.#add(turn);
      await this.#loadTurn(turn);
    } catch (error) {
      this.problem = describe(error);
    }
  }

  /** Shows the new state with the next frame. A fast model sends more pieces than a screen can show. */
  #changed(): void {
    this.#drawing ??= requestAnimationFrame(() => {
      this.#drawing = undefined;
      this.version += 1;
    });
  }
}

/** The signed-in session: connection, workspaces, the tree of the open workspace, and its subscription. */
import { Connection, address, checkSession, type AnyNotification, type Link } from "../protocol/connection";
import { RpcError, describe } from "../protocol/errors";
import {
  ROLE_OF_METHOD,
  type InitializeResult,
  type Methods,
  type Role,
  type Workspace,
} from "../protocol/types";
import { notices } from "./notices.svelte";
import { Tree } from "./tree";

/** Characters of a document that reach a prompt. */
export const PROMPT_CHARACTERS = 16_000;
/** Threads per folder in the first answer. The others are loaded when their place is scrolled into view. */
const FIRST_THREADS = 200;
/** Threads per page. */
const PAGE = 1_000;
/** Milliseconds during which changes that need the whole tree are collected. */
const RELOAD_AFTER = 150;
/** Milliseconds between renewals of the cookie while the page is visible. A call on the connection cannot renew it. */
const RENEW_EVERY = 60 * 60 * 1_000;

const ROLES: Role[] = ["reader", "editor", "operator", "owner"];

export type SessionEvent =
  | { kind: "notification"; notification: AnyNotification }
  /** The connection is back. Everything shown may be old. */
  | { kind: "reconnected" }
  | { kind: "disconnected" };

export class Session {
  link = $state<Link>("connecting");
  reason = $state<string | undefined>();
  hello = $state.raw<InitializeResult | undefined>();
  workspaces = $state.raw<Workspace[]>([]);
  areWorkspacesLoaded = $state(false);
  workspaceId = $state<string | undefined>();
  tree = $state.raw(new Tree(PROMPT_CHARACTERS));
  /** Grows with every change of the tree, whose maps are not reactive. */
  treeVersion = $state(0);
  isTreeLoaded = $state(false);
  treeProblem = $state<string | undefined>();

  #connection: Connection | undefined;
  #listeners = new Set<(event: SessionEvent) => void>();
  #seq = 0;
  #reloading: ReturnType<typeof setTimeout> | undefined;
  #renewing: ReturnType<typeof setInterval> | undefined;
  #loadingMore = new Set<string>();

  start(): void {
    this.#connection ??= new Connection({
      link: (link, reason) => this.#linked(link, reason),
      connected: (hello) => void this.#connected(hello),
      notification: (notification) => this.#notified(notification),
    });
    this.#connection.connect();
    this.#renewing ??= setInterval(() => void this.#renew(), RENEW_EVERY);
  }

  /** Connects now instead of after the pause. */
  reconnect(): void {
    this.#connection?.connect();
  }

  /** Ends the session and forgets what was loaded. */
  async signOut(): Promise<void> {
    await fetch(address("console/logout"), { method: "POST" }).catch(() => undefined);
    this.#stop();
    this.link = "signed_out";
    this.reason = undefined;
  }

  #stop(): void {
    this.#connection?.close();
    this.#connection = undefined;
    clearInterval(this.#renewing);
    this.#renewing = undefined;
    this.hello = undefined;
    this.workspaces = [];
    this.areWorkspacesLoaded = false;
    this.workspaceId = undefined;
    this.#clearTree();
  }

  get workspace(): Workspace | undefined {
    return this.workspaces.find((workspace) => workspace.id === this.workspaceId);
  }

  get isOnline(): boolean {
    return this.link === "online";
  }

  has(method: string): boolean {
    return this.hello?.capabilities.methods.includes(method) ?? false;
  }

  /** Returns true if the caller's role allows a method. */
  may(method: keyof Methods): boolean {
    const role = this.hello?.role;
    return role !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(ROLE_OF_METHOD[method]);
  }

  call<Name extends keyof Methods>(
    method: Name,
    params: Methods[Name]["params"],
  ): Promise<Methods[Name]["result"]> {
    if (!this.#connection) return Promise.reject(new Error("not signed in"));
    return this.#connection.call(method, params);
  }

  /** Calls a listener for every event until the returned function is called. */
  listen(listener: (event: SessionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(event: SessionEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  #linked(link: Link, reason: string | undefined): void {
    const was = this.link;
    this.link = link;
    if (reason !== undefined || link === "online") this.reason = reason;
    if (was === "online" && link !== "online") this.#emit({ kind: "disconnected" });
    if (link === "signed_out") this.#stop();
  }

  async #connected(hello: InitializeResult): Promise<void> {
    const before = this.hello;
    this.hello = hello;
    // Another database: nothing that was loaded is true any more.
    const isOther = before !== undefined && before.instance !== hello.instance;
    try {
      await this.loadWorkspaces();
      if (this.workspaceId !== undefined && !isOther && this.isTreeLoaded) {
        await this.#subscribe(this.workspaceId);
      } else if (this.workspaceId !== undefined) {
        const { workspaceId } = this;
        this.workspaceId = undefined;
        await this.openWorkspace(workspaceId);
      }
    } catch (error) {
      this.treeProblem = describe(error);
    }
    // The connection may be gone again by now. Listeners that took it for restored would never notice.
    if (this.isOnline && this.hello === hello) this.#emit({ kind: "reconnected" });
  }

  async loadWorkspaces(): Promise<void> {
    const { workspaces } = await this.call("workspace/list", {});
    this.workspaces = workspaces;
    this.areWorkspacesLoaded = true;
  }

  /** Shows another workspace. */
  async openWorkspace(workspaceId: string): Promise<void> {
    if (this.workspaceId === workspaceId) return;
    const before = this.workspaceId;
    this.workspaceId = workspaceId;
    this.#clearTree();
    if (!this.isOnline) return;
    try {
      if (before !== undefined) await this.call("events/unsubscribe", { workspace_id: before });
      await this.#loadTree(workspaceId);
      await this.#subscribe(workspaceId);
    } catch (error) {
      if (this.workspaceId === workspaceId) this.treeProblem = describe(error);
    }
  }

  async reloadTree(): Promise<void> {
    if (this.workspaceId !== undefined) await this.#loadTree(this.workspaceId);
  }

  /** Loads the next threads of a folder. */
  async loadMore(folderId: string | undefined): Promise<void> {
    const { workspaceId, tree } = this;
    const key = folderId ?? "";
    if (workspaceId === undefined || this.#loadingMore.has(key)) return;
    this.#loadingMore.add(key);
    try {
      const after = tree.lastThread(folderId);
      const params = { workspace_id: workspaceId, folder_id: folderId, after, limit: PAGE };
      const page = await this.call("thread/list", params);
      if (tree !== this.tree) return;
      tree.addPage(folderId, page.threads, page.next === undefined);
      this.treeVersion += 1;
    } catch (error) {
      notices.problem(describe(error));
    } finally {
      this.#loadingMore.delete(key);
    }
  }

  #clearTree(): void {
    this.tree = new Tree(PROMPT_CHARACTERS);
    this.treeVersion += 1;
    this.isTreeLoaded = false;
    this.treeProblem = undefined;
    this.#seq = 0;
  }

  async #loadTree(workspaceId: string): Promise<void> {
    const params = { workspace_id: workspaceId, thread_limit: FIRST_THREADS };
    const result = await this.call("thread/tree", params);
    if (this.workspaceId !== workspaceId) return;
    const tree = new Tree(PROMPT_CHARACTERS);
    tree.load(result);
    this.tree = tree;
    this.treeVersion += 1;
    this.isTreeLoaded = true;
    this.treeProblem = undefined;
    this.#seq = Math.max(this.#seq, result.seq);
  }

  async #subscribe(workspaceId: string): Promise<void> {
    const subscribe = () => this.call("events/subscribe", { workspace_id: workspaceId, since: this.#seq });
    try {
      await subscribe();
    } catch (error) {
      if (!(error instanceof RpcError) || error.kind !== "log_pruned") throw error;
      this.#seq = 0;
      await this.#loadTree(workspaceId);
      await subscribe();
    }
  }

  #notified(notification: AnyNotification): void {
    const params = notification.params as { seq?: number; workspace_id?: string };
    if (params.seq !== undefined && params.workspace_id === this.workspaceId) {
      this.#seq = Math.max(this.#seq, params.seq);
    }
    if (params.workspace_id === this.workspaceId) {
      if (notification.method === "thread/tree/changed") void this.#treeChanged(notification.params);
      if (notification.method === "thread/agents_doc/changed") {
        this.tree.putDocument(notification.params.folder_id, notification.params.summary);
        this.treeVersion += 1;
      }
    }
    this.#emit({ kind: "notification", notification });
  }

  async #treeChanged(change: { reason: string; thread_id?: string }): Promise<void> {
    if (change.reason === "agents_doc") return;
    if (change.reason.startsWith("workspace_")) {
      await this.loadWorkspaces().catch(() => undefined);
      return;
    }
    const { tree, workspaceId } = this;
    if (!change.reason.startsWith("thread_") || !change.thread_id || workspaceId === undefined) {
      this.#reloadSoon();
      return;
    }
    // One thread at a time: in a workspace with a hundred thousand of them, loading all again would take longer than the
    // time until the next change.
    try {
      const params = { workspace_id: workspaceId, thread_id: change.thread_id };
      const { thread } = await this.call("thread/get", params);
      if (tree !== this.tree) return;
      tree.putThread(thread);
      this.treeVersion += 1;
    } catch {
      this.#reloadSoon();
    }
  }

  #reloadSoon(): void {
    this.#reloading ??= setTimeout(() => {
      this.#reloading = undefined;
      this.reloadTree().catch((error: unknown) => (this.treeProblem = describe(error)));
    }, RELOAD_AFTER);
  }

  async #renew(): Promise<void> {
    if (document.visibilityState !== "visible" || !this.isOnline) return;
    await checkSession().catch(() => undefined);
  }
}

export const session = new Session();

/** Pending approvals of all threads of the open workspace. */
import { describe } from "../protocol/errors";
import type { Turn, TurnApproval } from "../protocol/types";
import { session } from "./session.svelte";

export interface PendingApproval {
  /** Turn that a person started. */
  turn: Turn;
  approval: TurnApproval;
}

/** Newest turns among which running ones are looked for. */
const TURNS = 200;

class Approvals {
  #byTurn = $state.raw(new Map<string, PendingApproval[]>());
  problem = $state<string | undefined>();
  isLoaded = $state(false);

  get pending(): PendingApproval[] {
    const all = [...this.#byTurn.values()].flat();
    return all.sort((a, b) => (a.approval.requested_at < b.approval.requested_at ? -1 : 1));
  }

  /** Keeps the list up to date until the returned function is called. */
  follow(): () => void {
    const { workspaceId } = session;
    this.#byTurn = new Map();
    this.isLoaded = false;
    if (workspaceId === undefined) return () => undefined;
    if (session.isOnline) void this.#load(workspaceId);
    return session.listen((event) => {
      if (event.kind === "reconnected") void this.#load(workspaceId);
      if (event.kind !== "notification") return;
      const { method, params } = event.notification;
      if (!("turn_id" in params) || !("workspace_id" in params) || params.workspace_id !== workspaceId) return;
      if (method === "turn/approval_requested") void this.#refresh(workspaceId, params.turn_id);
      if (method === "turn/approval_decided") this.#remove((it) => it.approval.call_id === params.call_id);
      if (method === "turn/completed" || method === "turn/failed" || method === "turn/cancelled") {
        this.#remove((it) => (it.approval.turn_id ?? it.turn.id) === params.turn_id || it.turn.id === params.turn_id);
      }
    });
  }

  async #load(workspaceId: string): Promise<void> {
    try {
      const { turns } = await session.call("turn/list", { workspace_id: workspaceId, limit: TURNS });
      const running = turns.filter((turn) => turn.status === "running");
      this.#byTurn = new Map();
      await Promise.all(running.map((turn) => this.#refresh(workspaceId, turn.id)));
      this.problem = undefined;
      this.isLoaded = true;
    } catch (error) {
      this.problem = describe(error);
    }
  }

  async #refresh(workspaceId: string, turnId: string): Promise<void> {
    try {
      const found = await session.call("turn/get", { workspace_id: workspaceId, turn_id: turnId });
      // The parent lists the approvals of its delegated turns as well, and names them.
      if (found.turn.parent_turn_id !== undefined) return await this.#refresh(workspaceId, found.turn.parent_turn_id);
      const pending = found.approvals.map((approval) => ({ turn: found.turn, approval }));
      const next = new Map(this.#byTurn);
      if (pending.length > 0) next.set(turnId, pending);
      else next.delete(turnId);
      this.#byTurn = next;
    } catch {
      // The turn may have ended, or its workspace may be out of reach. The next event tries again.
    }
  }

  #remove(isGone: (pending: PendingApproval) => boolean): void {
    const next = new Map<string, PendingApproval[]>();
    for (const [turnId, pending] of this.#byTurn) {
      const left = pending.filter((it) => !isGone(it));
      if (left.length > 0) next.set(turnId, left);
    }
    this.#byTurn = next;
  }

  /** Sends a decision. The digest makes the gateway refuse it if something else would run by now. */
  async decide({ turn, approval }: PendingApproval, allow: boolean): Promise<void> {
    await session.call("turn/approve", {
      workspace_id: turn.workspace_id,
      turn_id: approval.turn_id ?? turn.id,
      call_id: approval.call_id,
      allow,
      digest: approval.digest,
    });
    this.#remove((it) => it.approval.call_id === approval.call_id && it.turn.id === turn.id);
  }
}

export const approvals = new Approvals();

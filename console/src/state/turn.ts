/** State machine of a watched turn: its steps, its streamed text and its pending approvals. */
import type {
  ToolCall,
  Turn,
  TurnApproval,
  TurnDelta,
  TurnGetResult,
  TurnReminder,
  TurnStep,
  TurnToolResult,
  TurnWatchResult,
} from "../protocol/types";

export type CallState = "waiting" | "running" | "done" | "failed" | "abandoned";

export type TurnItem =
  | { kind: "asked" | "said" | "saying"; key: string; text: string }
  | { kind: "call"; key: string; call: ToolCall; state: CallState; result: TurnToolResult | undefined }
  | { kind: "reminder"; key: string; reminder: TurnReminder };

export class WatchedTurn {
  turn: Turn;
  steps: TurnStep[] = [];
  approvals: TurnApproval[] = [];
  decided: TurnApproval[] = [];
  delegated: Turn[] = [];
  retrying: string | undefined;
  #text = "";
  #nextIndex: number | undefined;
  #early = new Map<number, string>();

  constructor(turn: Turn) {
    this.turn = turn;
  }

  get isRunning(): boolean {
    return this.turn.status === "running";
  }

  /** Takes the answer so far. Deltas that arrived before it are added behind it. */
  watched(result: TurnWatchResult): void {
    this.turn = result.turn;
    this.#text = result.text;
    this.#nextIndex = result.next_index;
    this.approvals = result.approvals ?? this.approvals;
    this.delegated = result.delegated ?? this.delegated;
    this.#takeEarly();
  }

  /** Takes a page of steps. `after` is the number of steps that the request skipped. */
  got(result: TurnGetResult, after: number): void {
    this.turn = result.turn;
    this.steps = [...this.steps.slice(0, after), ...result.steps];
    this.approvals = result.approvals;
    const known = new Set((result.decided ?? []).map((it) => it.call_id));
    this.decided = [...this.decided.filter((it) => !known.has(it.call_id)), ...(result.decided ?? [])];
    this.delegated = result.delegated ?? [];
  }

  /** Adds a piece of the answer. Returns false if pieces before it are missing. */
  delta(delta: TurnDelta): boolean {
    if (this.#nextIndex === undefined || delta.index > this.#nextIndex) {
      this.#early.set(delta.index, delta.text);
      return this.#nextIndex === undefined;
    }
    this.retrying = undefined;
    if (delta.index === this.#nextIndex) {
      this.#text += delta.text;
      this.#nextIndex += 1;
      this.#takeEarly();
    }
    return true;
  }

  /** Forgets what the lost connection promised to send. */
  disconnected(): void {
    this.#nextIndex = undefined;
    this.#early.clear();
  }

  get items(): TurnItem[] {
    const items: TurnItem[] = [{ kind: "asked", key: "asked", text: this.turn.input }];
    const results = new Map<string, TurnToolResult>();
    for (const step of this.steps) for (const result of step.results ?? []) results.set(result.call_id, result);
    let said = "";
    this.steps.forEach((step, index) => {
      // The first message is the input, which the turn has as well, with reminders before the first answer.
      if (step.role === "assistant" && step.text) {
        said += step.text;
        items.push({ kind: "said", key: `said/${index}`, text: step.text });
      }
      for (const call of step.calls ?? []) {
        const result = results.get(call.call_id);
        items.push({ kind: "call", key: call.call_id, call, state: this.#stateOf(call, result), result });
        for (const [number, reminder] of (result?.reminders ?? []).entries()) {
          items.push({ kind: "reminder", key: `${call.call_id}/${number}`, reminder });
        }
      }
      for (const [number, reminder] of (step.reminders ?? []).entries()) {
        items.push({ kind: "reminder", key: `${index}/${number}`, reminder });
      }
    });
    const streamed = this.#rest(said);
    if (streamed !== "") {
      items.push({ kind: this.isRunning ? "saying" : "said", key: "saying", text: streamed });
    }
    return items;
  }

  /** Returns the text that no stored step contains yet. */
  #rest(said: string): string {
    const whole = this.isRunning ? this.#text : (this.turn.answer ?? this.#text);
    if (said === "") return whole;
    return whole.startsWith(said) ? whole.slice(said.length) : "";
  }

  #stateOf(call: ToolCall, result: TurnToolResult | undefined): CallState {
    if (result) return result.is_error ? "failed" : "done";
    if (!this.isRunning) return "abandoned";
    return this.approvals.some((it) => it.call_id === call.call_id) ? "waiting" : "running";
  }

  #takeEarly(): void {
    while (this.#nextIndex !== undefined) {
      const text = this.#early.get(this.#nextIndex);
      if (text === undefined) break;
      this.#early.delete(this.#nextIndex);
      this.#text += text;
      this.#nextIndex += 1;
    }
    for (const index of this.#early.keys()) {
      if (index < (this.#nextIndex ?? 0)) this.#early.delete(index);
    }
  }
}

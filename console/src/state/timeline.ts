/** Rounds and tool calls of a turn in time. */
import type { ExplainedRound, ToolCall, Turn, TurnStep } from "../protocol/types";

export interface Span {
  key: string;
  kind: "model" | "tools";
  label: string;
  /** Milliseconds since the start of the turn. */
  from: number;
  to: number;
  calls: ToolCall[];
  round: ExplainedRound | undefined;
}

/**
 * Returns the spans of a turn. A message is stored when it is complete, so a span lasts from the previous message to its own.
 */
export function spans(turn: Turn, steps: TurnStep[], rounds: ExplainedRound[], now: number): Span[] {
  const start = Date.parse(turn.created_at);
  const found: Span[] = [];
  let position = 0;
  let round = 0;
  let calls: ToolCall[] = [];
  // Clocks of two gateways may differ, and no span may end before it starts.
  const at = (time: string) => Math.max(position, Date.parse(time) - start);
  steps.forEach((step, index) => {
    if (step.role === "assistant") {
      round += 1;
      const to = at(step.created_at);
      const own = rounds.find((it) => it.round === round);
      calls = step.calls ?? [];
      found.push({ key: `model/${index}`, kind: "model", label: `Round ${round}`, from: position, to, calls, round: own });
      position = to;
    } else if ((step.results ?? []).length > 0) {
      const to = at(step.created_at);
      const names = calls.map((call) => call.tool).join(", ");
      found.push({ key: `tools/${index}`, kind: "tools", label: names || "tools", from: position, to, calls, round: undefined });
      position = to;
    }
  });
  const end = turn.finished_at ? Date.parse(turn.finished_at) - start : now - start;
  if (turn.status === "running" && end > position) {
    const isTool = found.at(-1)?.kind === "model" && calls.length > 0;
    const label = isTool ? calls.map((call) => call.tool).join(", ") : `Round ${round + 1}`;
    found.push({ key: "running", kind: isTool ? "tools" : "model", label, from: position, to: end, calls: [], round: undefined });
  }
  return found;
}

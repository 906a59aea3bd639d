import type { ErrorObject } from "./types";

/** Refusal of a call by the gateway. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: ErrorObject["data"];

  constructor(error: ErrorObject) {
    super(error.message);
    this.name = "RpcError";
    this.code = error.code;
    this.data = error.data;
  }

  get kind(): string | undefined {
    return this.data?.kind;
  }
}

/** Loss of the connection while a call was waiting for its answer. The call may have succeeded. */
export class ConnectionLost extends Error {
  constructor() {
    super("the connection to the gateway was lost");
    this.name = "ConnectionLost";
  }
}

/** Returns an error as a sentence for people, with the gateway's advice. */
export function describe(error: unknown): string {
  if (error instanceof RpcError) {
    const hint = error.data?.hint;
    return hint ? `${error.message}. ${hint}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Returns true if the same call may succeed later without a change. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  if (!(error instanceof RpcError)) return false;
  return ["internal_error", "rate_limited", "limit_reached"].includes(error.kind ?? "");
}

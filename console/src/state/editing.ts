/**
 * State machine for editing one document: saves, drafts and conflicts with other editors.
 *
 * It holds no connection and reads no clock. Its owner feeds it the user's edits, the gateway's answers and announcements,
 * and the time; `poll` returns the next request. At most one request is in flight, and requests are numbered, so that a late
 * answer to an abandoned one is not mistaken for the answer to the next.
 *
 * The text only changes when the user edits it, when the user resolves a conflict, or while it equals the base. So nothing
 * that was typed is lost.
 */
import { hasMarks, merge } from "./merge";

/** Milliseconds between the last edit and an automatic save. */
export const AUTOSAVE_AFTER = 700;
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 5_000;

export type SaveReason = "manual" | "autosave";

/** Text and version of a scope. Version 0 means that there is no document. */
export interface KnownText {
  text: string;
  version: number;
}

export type EditingRequest =
  | { number: number; call: "fetch" }
  | { number: number; call: "save"; content: string; expectedVersion: number; reason: SaveReason };

export type EditingStatus =
  | { kind: "loading" | "saved" | "unsaved" | "saving" | "offline" | "conflict" | "unmerged" }
  | { kind: "too_long"; bytes: number }
  | { kind: "failed"; message: string };

/** An unconfirmed text and the text it derives from. */
export interface Draft {
  baseVersion: number;
  baseText: string;
  text: string;
}

export interface Failure {
  message: string;
  isTransient: boolean;
  /** True if the request may have succeeded. */
  isOutcomeUnknown: boolean;
}

interface Problem {
  of: "save" | "fetch";
  message: string;
  attempts: number;
  retriesAt: number | undefined;
}

type Announced = { kind: "version"; version: number } | { kind: "archived" } | { kind: "anything" };

/** Returns a text as the gateway stores it: with line feeds only. */
export function normalise(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

function known(document: { content: string; version: number } | undefined): KnownText {
  return document ? { text: document.content, version: document.version } : { text: "", version: 0 };
}

export class Editing {
  #text = "";
  #epoch = 0;
  #base: KnownText = { text: "", version: 0 };
  #remote: KnownText | undefined;
  #isLoaded = false;
  #isOffline = false;
  #isMarked = false;
  #inFlight: { number: number; saved?: string } | undefined;
  #lastRequest = 0;
  /** Text of a save without an answer: it may have succeeded. */
  #unconfirmed: string | undefined;
  #announced: Announced | undefined = { kind: "anything" };
  #due: { at: number; reason: SaveReason } | undefined;
  #problem: Problem | undefined;
  #reportedDraft: Draft | undefined;
  #measured: { text: string; bytes: number } | undefined;
  readonly #maxBytes: number;

  /** Starts before the document is loaded, with the draft of an earlier visit if there is one. */
  constructor(maxBytes: number, draft?: Draft) {
    this.#maxBytes = maxBytes;
    if (draft) {
      this.#base = { text: draft.baseText, version: draft.baseVersion };
      this.#text = draft.text;
      this.#isMarked = hasMarks(draft.text) && !hasMarks(draft.baseText);
      // The earlier visit may have sent this text right before its end.
      this.#unconfirmed = draft.text;
      this.#reportedDraft = draft;
    }
  }

  get text(): string {
    return this.#text;
  }

  /** Counter that grows whenever the text changes other than by `edit`. A view must then show the text again. */
  get epoch(): number {
    return this.#epoch;
  }

  get base(): KnownText {
    return this.#base;
  }

  /** The gateway's text during a conflict; version 0 if the document was archived. */
  get remote(): KnownText | undefined {
    return this.#remote;
  }

  get hasUnsaved(): boolean {
    return normalise(this.#text) !== this.#base.text;
  }

  get isSettled(): boolean {
    return !this.#inFlight && !this.#remote && !this.hasUnsaved && this.#unconfirmed === undefined;
  }

  get status(): EditingStatus {
    // A conflict comes first, because only the user can end it; being offline before failures, because it explains them.
    if (this.#remote) return { kind: "conflict" };
    if (this.#isOffline) return { kind: "offline" };
    if (this.#inFlight?.saved !== undefined) return { kind: "saving" };
    if (this.#problem) return { kind: "failed", message: this.#problem.message };
    if (!this.#isLoaded) return { kind: "loading" };
    if (this.#isMarked) return { kind: "unmerged" };
    const bytes = this.#bytes();
    if (bytes > this.#maxBytes) return { kind: "too_long", bytes };
    return { kind: this.hasUnsaved ? "unsaved" : "saved" };
  }

  /** Replaces the text after an edit of the user. */
  edit(text: string, now: number): void {
    // A view may report the text that it was just given. Such an echo must not schedule a save.
    if (text === this.#text) return;
    this.#text = text;
    if (this.#isMarked) this.#isMarked = hasMarks(text);
    if (this.#remote && normalise(text) === this.#remote.text) {
      this.#base = this.#remote;
      this.#remote = undefined;
    }
    if (!this.hasUnsaved) this.#dropFailedSave();
    this.#due = { at: now + AUTOSAVE_AFTER, reason: "autosave" };
    // A permanent failure belongs to the previous text, so the new one deserves another attempt.
    if (this.#problem && this.#problem.retriesAt === undefined) this.#problem = undefined;
  }

  /** Brings a scheduled save forward, because the user leaves the document. */
  leave(now: number): void {
    if (this.hasUnsaved && (!this.#due || this.#due.at > now)) {
      this.#due = { at: now, reason: this.#due?.reason ?? "autosave" };
    }
  }

  /** Saves now, even after a failure or with conflict markers in the text. */
  save(now: number): void {
    this.#isMarked = false;
    this.#problem = undefined;
    if (this.hasUnsaved) this.#due = { at: now, reason: "manual" };
  }

  /** Returns the next request. */
  poll(now: number): EditingRequest | undefined {
    if (this.#isOffline || this.#inFlight) return undefined;
    // An announced change is fetched first: a save with an outdated base would only be answered with a conflict.
    if (this.#announced) {
      if (this.#mustWait("fetch", now)) return undefined;
      this.#announced = undefined;
      const number = ++this.#lastRequest;
      this.#inFlight = { number };
      return { number, call: "fetch" };
    }
    if (this.#mustWait("save", now)) return undefined;
    const due = this.#due;
    if (!due || due.at > now || !this.#maySave()) return undefined;
    this.#due = undefined;
    const number = ++this.#lastRequest;
    this.#inFlight = { number, saved: this.#text };
    return {
      number,
      call: "save",
      content: this.#text,
      expectedVersion: this.#base.version,
      reason: due.reason,
    };
  }

  /** Time of the next `poll` if nothing happens before. */
  get wakeAt(): number | undefined {
    if (this.#isOffline || this.#inFlight) return undefined;
    if (this.#announced) return this.#problem?.of === "fetch" ? this.#problem.retriesAt : undefined;
    if (!this.#due || !this.#maySave()) return undefined;
    if (this.#problem?.of !== "save") return this.#due.at;
    return this.#problem.retriesAt === undefined
      ? undefined
      : Math.max(this.#problem.retriesAt, this.#due.at);
  }

  saved(number: number, document: { content: string; version: number }, now: number): void {
    const sent = this.#takeSave(number);
    if (sent === undefined) return;
    this.#problem = undefined;
    this.#unconfirmed = undefined;
    this.#base = known(document);
    if (this.#text === sent) this.#replace(document.content);
    this.#dropAnnounced();
    this.#reschedule(now);
  }

  /** Reports that the document was saved elsewhere first. */
  conflicted(number: number, current: { content: string; version: number } | undefined, now: number): void {
    if (this.#takeSave(number) === undefined) return;
    this.#problem = undefined;
    this.#compare(known(current), now);
    this.#dropAnnounced();
  }

  fetched(number: number, document: { content: string; version: number } | undefined, now: number): void {
    if (this.#inFlight?.number !== number || this.#inFlight.saved !== undefined) return;
    this.#inFlight = undefined;
    if (this.#problem?.of === "fetch") this.#problem = undefined;
    this.#isLoaded = true;
    this.#compare(known(document), now);
    this.#dropAnnounced();
  }

  /** Reports a failed request other than a conflict. An unsaved text stays scheduled. */
  failed(number: number, failure: Failure, now: number): void {
    if (this.#inFlight?.number !== number) return;
    const { saved } = this.#inFlight;
    this.#inFlight = undefined;
    const of = saved === undefined ? "fetch" : "save";
    if (saved === undefined) {
      this.#announced = { kind: "anything" };
    } else {
      if (failure.isOutcomeUnknown) {
        // If this save did succeed, the next one would conflict with our own text, so fetch first.
        this.#unconfirmed = saved;
        this.#announced = { kind: "anything" };
      }
      this.#due ??= { at: now, reason: "autosave" };
    }
    const attempts = (this.#problem?.of === of ? this.#problem.attempts : 0) + 1;
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(attempts - 1, 16), LONGEST_PAUSE);
    const retriesAt = failure.isTransient ? now + pause : undefined;
    this.#problem = { of, message: failure.message, attempts, retriesAt };
  }

  /** Reports an announced change. `undefined` means that the document was archived. */
  remoteChanged(version: number | undefined): void {
    if (this.#announced?.kind !== "anything") {
      this.#announced = version === undefined ? { kind: "archived" } : { kind: "version", version };
    }
    // The answer to a request in flight may bring this version, so the announcement is judged after it.
    if (!this.#inFlight) this.#dropAnnounced();
  }

  /** Reports the loss of the connection. The request in flight is abandoned. */
  disconnected(): void {
    this.#isOffline = true;
    const inFlight = this.#inFlight;
    this.#inFlight = undefined;
    if (!inFlight) return;
    if (inFlight.saved !== undefined) this.#unconfirmed = inFlight.saved;
    else this.#announced = { kind: "anything" };
  }

  /** Reports a new connection. The document is fetched before anything is saved. */
  reconnected(now: number): void {
    this.#isOffline = false;
    this.#announced = { kind: "anything" };
    this.#problem = undefined;
    this.#reschedule(now);
  }

  /** Resolves the conflict with the gateway's text and returns the discarded one. */
  takeRemote(): string | undefined {
    if (!this.#remote) return undefined;
    const given = this.#text;
    this.#base = this.#remote;
    this.#remote = undefined;
    this.#text = this.#base.text;
    this.#epoch += 1;
    this.#due = undefined;
    this.#isMarked = false;
    this.#dropFailedSave();
    return given;
  }

  /** Resolves the conflict with the user's text. */
  overwriteRemote(now: number): void {
    if (!this.#remote) return;
    this.#base = this.#remote;
    this.#remote = undefined;
    this.#dropFailedSave();
    this.#due = { at: now, reason: "manual" };
  }

  /** Resolves the conflict with both texts. A merge with markers is saved once the user has removed them. */
  takeMerge(now: number): void {
    if (!this.#remote) return;
    const merged = merge(this.#base.text, normalise(this.#text), this.#remote.text);
    this.#base = this.#remote;
    this.#remote = undefined;
    this.#dropFailedSave();
    this.#isMarked ||= !merged.isClean;
    this.#replace(merged.text);
    this.#due = this.hasUnsaved ? { at: now, reason: "manual" } : undefined;
  }

  /** Returns the change to make to the stored draft since the last call: a draft, or `null` to delete it. */
  takeDraftChange(): Draft | null | undefined {
    const draft = this.hasUnsaved
      ? { baseVersion: this.#base.version, baseText: this.#base.text, text: this.#text }
      : undefined;
    const reported = this.#reportedDraft;
    const isReported =
      draft === reported ||
      (draft?.text === reported?.text &&
        draft?.baseVersion === reported?.baseVersion &&
        draft?.baseText === reported?.baseText);
    if (isReported) return undefined;
    this.#reportedDraft = draft;
    return draft ?? null;
  }

  /** Reconciles the gateway's document with the base and the user's text. */
  #compare(remote: KnownText, now: number): void {
    const exists = remote.version !== 0;
    const text = normalise(this.#text);
    if (exists && this.#unconfirmed !== undefined && normalise(this.#unconfirmed) === remote.text) {
      // The unanswered save did succeed, so later edits are based on it.
      this.#unconfirmed = undefined;
      this.#base = remote;
      this.#problem = undefined;
      this.#remote = undefined;
    } else if (!this.hasUnsaved || (exists && text === remote.text)) {
      // The user has nothing to lose here.
      this.#unconfirmed = undefined;
      this.#replace(remote.text);
      this.#base = remote;
      this.#remote = undefined;
      this.#isMarked = false;
      this.#dropFailedSave();
    } else if (remote.text === this.#base.text && exists === (this.#base.version !== 0)) {
      // Only the version has moved on, for example because someone reverted a change. The edits still apply.
      this.#base = remote;
      this.#remote = undefined;
    } else {
      this.#unconfirmed = undefined;
      this.#remote = remote;
    }
    this.#reschedule(now);
  }

  #takeSave(number: number): string | undefined {
    if (this.#inFlight?.number !== number) return undefined;
    const { saved } = this.#inFlight;
    if (saved !== undefined) this.#inFlight = undefined;
    return saved;
  }

  #dropFailedSave(): void {
    if (this.#problem?.of === "save") this.#problem = undefined;
  }

  #reschedule(now: number): void {
    if (!this.hasUnsaved) this.#due = undefined;
    else this.#due ??= { at: now, reason: "autosave" };
  }

  #dropAnnounced(): void {
    const latest = this.#remote ?? this.#base;
    const announced = this.#announced;
    if (announced?.kind === "version" && announced.version <= latest.version) this.#announced = undefined;
    if (announced?.kind === "archived" && latest.version === 0) this.#announced = undefined;
  }

  #mustWait(of: "save" | "fetch", now: number): boolean {
    if (this.#problem?.of !== of) return false;
    return this.#problem.retriesAt === undefined || this.#problem.retriesAt > now;
  }

  #maySave(): boolean {
    return (
      this.#isLoaded &&
      !this.#remote &&
      this.hasUnsaved &&
      !this.#isMarked &&
      this.#bytes() <= this.#maxBytes
    );
  }

  #bytes(): number {
    // A UTF-16 unit has at most three bytes, so a short text need not be encoded after every key.
    if (this.#text.length * 3 <= this.#maxBytes) return this.#text.length;
    if (this.#measured?.text !== this.#text) {
      const bytes = new TextEncoder().encode(normalise(this.#text)).length;
      this.#measured = { text: this.#text, bytes };
    }
    return this.#measured.bytes;
  }

  #replace(text: string): void {
    if (this.#text === text) return;
    this.#text = text;
    this.#epoch += 1;
  }
}

/** An open document: connects the state machine of editing to the gateway, the clock and the browser's storage. */
import { ConnectionLost, RpcError, describe, isTransient } from "../protocol/errors";
import type { ResolvedDocument, Warning } from "../protocol/types";
import { drafts, type Place } from "./drafts";
import { Editing, type Draft, type EditingRequest, type EditingStatus, type KnownText } from "./editing";
import { session, type SessionEvent } from "./session.svelte";

export class OpenDocument {
  readonly workspace: string;
  readonly folder: string | undefined;
  text = $state.raw("");
  /** Counter of texts from elsewhere; -1 before there is one. */
  epoch = $state(-1);
  status = $state.raw<EditingStatus>({ kind: "loading" });
  base = $state.raw<KnownText>({ text: "", version: 0 });
  remote = $state.raw<KnownText | undefined>();
  inherited = $state.raw<ResolvedDocument | undefined>();
  warnings = $state.raw<Warning[]>([]);
  /** Reason why unsaved text cannot be kept in this browser. */
  draftProblem = $state<string | undefined>();

  #editing: Editing | undefined;
  #place: Place;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unlisten: () => void;
  #isClosed = false;
  /** Newest change of the draft that is not written yet. */
  #unwritten: Draft | null | undefined;
  #isWriting = false;

  constructor(workspace: string, folder: string | undefined) {
    this.workspace = workspace;
    this.folder = folder;
    this.#place = { instance: session.hello?.instance ?? "", workspace, folder };
    this.#unlisten = session.listen((event) => this.#heard(event));
    void this.#open();
    void this.#loadInherited();
  }

  async #open(): Promise<void> {
    let draft;
    try {
      draft = await drafts.load(this.#place);
    } catch (error) {
      this.draftProblem = describe(error);
    }
    if (this.#isClosed) return;
    const limit = session.hello?.capabilities.max_document_bytes ?? 65_536;
    this.#editing = new Editing(limit, draft);
    if (!session.isOnline) this.#editing.disconnected();
    this.#proceed();
  }

  get hasUnsaved(): boolean {
    return this.#editing !== undefined && !this.#editing.isSettled;
  }

  edit(text: string): void {
    this.#input((editing) => editing.edit(text, Date.now()));
  }

  save(): void {
    this.#input((editing) => editing.save(Date.now()));
  }

  leave(): void {
    this.#input((editing) => editing.leave(Date.now()));
  }

  /** Takes the gateway's text and returns the discarded one. */
  reloadRemote(): string | undefined {
    let given: string | undefined;
    this.#input((editing) => (given = editing.takeRemote()));
    return given;
  }

  overwriteRemote(): void {
    this.#input((editing) => editing.overwriteRemote(Date.now()));
  }

  merge(): void {
    this.#input((editing) => editing.takeMerge(Date.now()));
  }

  close(): void {
    this.leave();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#unlisten();
  }

  #heard(event: SessionEvent): void {
    if (event.kind === "disconnected") this.#input((editing) => editing.disconnected());
    else if (event.kind === "reconnected") {
      this.#input((editing) => {
        editing.disconnected();
        editing.reconnected(Date.now());
      });
      void this.#loadInherited();
    } else if (event.notification.method === "thread/agents_doc/changed") {
      const { params } = event.notification;
      if (params.workspace_id !== this.workspace) return;
      if (params.folder_id === this.folder) {
        this.#input((editing) => editing.remoteChanged(params.summary?.version));
      } else {
        void this.#loadInherited();
      }
    } else if (event.notification.method === "thread/tree/changed") {
      if (event.notification.params.reason.startsWith("folder_")) void this.#loadInherited();
    }
  }

  #input(change: (editing: Editing) => void): void {
    if (!this.#editing || this.#isClosed) return;
    change(this.#editing);
    this.#proceed();
  }

  /** Keeps the draft, sends requests, sets the timer and shows the new state. */
  #proceed(): void {
    const editing = this.#editing;
    if (!editing) return;
    // The draft comes first: if the browser crashes during a request, the text is kept.
    this.#keepDraft(editing);
    for (let request = editing.poll(Date.now()); request; request = editing.poll(Date.now())) {
      void this.#send(editing, request);
    }
    clearTimeout(this.#timer);
    const at = editing.wakeAt;
    if (at !== undefined && !this.#isClosed) {
      this.#timer = setTimeout(() => this.#proceed(), Math.max(0, at - Date.now()));
    }
    this.text = editing.text;
    this.epoch = editing.epoch;
    this.status = editing.status;
    this.base = editing.base;
    this.remote = editing.remote;
  }

  #keepDraft(editing: Editing): void {
    const change = editing.takeDraftChange();
    if (change === undefined) return;
    this.#unwritten = change;
    if (!this.#isWriting) void this.#writeDrafts();
  }

  /** Writes one draft after the other. Changes during a write are written once, with the newest text. */
  async #writeDrafts(): Promise<void> {
    this.#isWriting = true;
    while (this.#unwritten !== undefined) {
      const change = this.#unwritten;
      this.#unwritten = undefined;
      try {
        await drafts.keep(this.#place, change);
        this.draftProblem = undefined;
      } catch (error) {
        this.draftProblem = describe(error);
      }
    }
    this.#isWriting = false;
  }

  async #send(editing: Editing, request: EditingRequest): Promise<void> {
    const scope = { workspace_id: this.workspace, folder_id: this.folder };
    try {
      if (request.call === "fetch") {
        const { explicit } = await session.call("thread/agents_doc/get", scope);
        editing.fetched(request.number, explicit, Date.now());
      } else {
        const { doc, warnings } = await session.call("thread/agents_doc/save", {
          ...scope,
          content: request.content,
          expected_version: request.expectedVersion,
          save_reason: request.reason,
        });
        this.warnings = warnings;
        editing.saved(request.number, doc, Date.now());
      }
    } catch (error) {
      if (error instanceof RpcError && error.kind === "version_conflict") {
        editing.conflicted(request.number, error.data?.current, Date.now());
      } else {
        const isTemporary = isTransient(error);
        const isOutcomeUnknown = error instanceof ConnectionLost;
        const failure = { message: describe(error), isTransient: isTemporary, isOutcomeUnknown };
        editing.failed(request.number, failure, Date.now());
      }
    }
    // A page that was left still has to delete its draft after the last save.
    if (this.#isClosed) this.#keepDraft(editing);
    else this.#proceed();
  }

  /** Loads the document that would apply without an own one. */
  async #loadInherited(): Promise<void> {
    const { folder, workspace } = this;
    if (folder === undefined || !session.isOnline) return;
    try {
      const parent = session.tree.folder(folder)?.parent_folder_id;
      const params = { workspace_id: workspace, folder_id: parent };
      const { effective } = await session.call("thread/agents_doc/resolve_for_folder", params);
      if (!this.#isClosed) this.inherited = effective;
    } catch {
      // The pane beside the editor keeps what it shows; the tree reports problems of the connection.
    }
  }
}

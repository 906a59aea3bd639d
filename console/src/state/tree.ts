/** The tree of one workspace: folders, documents, and threads as far as they are loaded. */
import type {
  DocumentSummary,
  Folder,
  Thread,
  ThreadSummary,
  ThreadTreeResult,
} from "../protocol/types";

/** Key of the workspace root among folders. */
export const ROOT = "";

/** Kind of document at a scope. */
export type Badge = "own" | "draft" | "inherited";

export type Row = { key: string; level: number; position: number; siblings: number } & (
  | { kind: "folder"; folder: Folder; isOpen: boolean; badge: Badge | undefined; isOver: boolean }
  | { kind: "document"; folderId: string | undefined; summary: DocumentSummary | undefined; isOver: boolean }
  | { kind: "thread"; thread: ThreadSummary }
  | { kind: "more"; folderId: string | undefined; count: number }
);

type Unplaced = Row extends infer One ? (One extends Row ? Omit<One, "position" | "siblings"> : never) : never;

export class Tree {
  #folders = new Map<string, Folder>();
  #children = new Map<string, Folder[]>();
  #threads = new Map<string, ThreadSummary[]>();
  #placeOf = new Map<string, string>();
  #documents = new Map<string, DocumentSummary>();
  /** Numbers of threads that are not loaded, by folder. */
  #more = new Map<string, number>();
  readonly #budget: number;

  /** `budget` is the number of characters of a document that reach a prompt. */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Replaces everything. */
  load(result: ThreadTreeResult): void {
    this.#folders = new Map(result.folders.map((folder) => [folder.id, folder]));
    this.#sortFolders();
    const places = new Map(result.placements.map((it) => [it.thread_id, it.folder_id]));
    this.#threads = new Map();
    this.#placeOf = new Map();
    for (const thread of result.threads) this.#place(thread, places.get(thread.id) ?? ROOT);
    this.#documents = new Map(result.agents_docs.map((it) => [it.folder_id ?? ROOT, it]));
    this.#more = new Map((result.more ?? []).map((it) => [it.folder_id ?? ROOT, it.threads]));
  }

  /** Adds a page of `thread/list`. `isLast` is true if no page follows. */
  addPage(folderId: string | undefined, threads: ThreadSummary[], isLast: boolean): void {
    const key = folderId ?? ROOT;
    let added = 0;
    for (const thread of threads) {
      if (this.#placeOf.has(thread.id)) continue;
      this.#place(thread, key);
      added += 1;
    }
    const left = (this.#more.get(key) ?? 0) - added;
    if (isLast || left <= 0) this.#more.delete(key);
    else this.#more.set(key, left);
  }

  /** Returns the id after which the next page of a folder starts. */
  lastThread(folderId: string | undefined): string | undefined {
    return this.#threads.get(folderId ?? ROOT)?.at(-1)?.id;
  }

  /** Adds, renames or moves a thread. One that is archived is removed. */
  putThread(thread: Thread): void {
    this.removeThread(thread.id);
    if (thread.archived_at !== undefined) return;
    const { id, title, mode, created_at, updated_at, parent_thread_id, parent_turn_id } = thread;
    const summary = { id, title, mode, created_at, updated_at, parent_thread_id, parent_turn_id };
    this.#place(summary, thread.folder_id ?? ROOT);
  }

  removeThread(id: string): void {
    const place = this.#placeOf.get(id);
    if (place === undefined) return;
    this.#placeOf.delete(id);
    const left = this.#threads.get(place)?.filter((thread) => thread.id !== id) ?? [];
    this.#threads.set(place, left);
  }

  putDocument(folderId: string | undefined, summary: DocumentSummary | undefined): void {
    if (summary) this.#documents.set(folderId ?? ROOT, summary);
    else this.#documents.delete(folderId ?? ROOT);
  }

  folder(id: string): Folder | undefined {
    return this.#folders.get(id);
  }

  thread(id: string): ThreadSummary | undefined {
    const place = this.#placeOf.get(id);
    return place === undefined ? undefined : this.#threads.get(place)?.find((thread) => thread.id === id);
  }

  folderOfThread(id: string): string | undefined {
    return this.#placeOf.get(id) || undefined;
  }

  document(folderId: string | undefined): DocumentSummary | undefined {
    return this.#documents.get(folderId ?? ROOT);
  }

  get folders(): Iterable<Folder> {
    return this.#folders.values();
  }

  get threads(): ThreadSummary[] {
    return [...this.#threads.values()].flat();
  }

  get documents(): DocumentSummary[] {
    return [...this.#documents.values()];
  }

  childFolders(id: string | undefined): Folder[] {
    return this.#children.get(id ?? ROOT) ?? [];
  }

  /** Returns the number of threads directly in a folder, loaded or not. */
  threadCount(id: string | undefined): number {
    return (this.#threads.get(id ?? ROOT)?.length ?? 0) + (this.#more.get(id ?? ROOT) ?? 0);
  }

  /** Returns the folders from the root down to a folder, with it. */
  path(id: string | undefined): Folder[] {
    const path: Folder[] = [];
    // Bounded by the number of folders: a moved folder may be seen inside itself until the tree is loaded again.
    for (let next = id; next && path.length <= this.#folders.size; ) {
      const folder = this.#folders.get(next);
      if (!folder) break;
      path.unshift(folder);
      next = folder.parent_folder_id;
    }
    return path;
  }

  /** Returns the nearest active document of a folder and the folder that holds it. */
  effective(id: string | undefined): { summary: DocumentSummary; folderId: string | undefined } | undefined {
    const scopes: (string | undefined)[] = [undefined, ...this.path(id).map((folder) => folder.id)];
    for (const folderId of scopes.reverse()) {
      const summary = this.document(folderId);
      if (summary?.status === "active") return { summary, folderId };
    }
    return undefined;
  }

  isOver(summary: DocumentSummary | undefined): boolean {
    return (summary?.char_count ?? 0) > this.#budget;
  }

  badge(id: string | undefined): Badge | undefined {
    const own = this.document(id);
    if (own) return own.status === "draft" ? "draft" : "own";
    return this.effective(id) ? "inherited" : undefined;
  }

  /** Returns the visible rows. A filter shows every match with the folders above it. */
  rows(open: ReadonlySet<string>, filter = ""): Row[] {
    const wanted = filter.trim().toLowerCase();
    const rows: Row[] = [];
    if (wanted === "") this.#list(undefined, 1, open, rows);
    else this.#filter(undefined, 1, wanted, rows);
    return rows;
  }

  #list(folderId: string | undefined, level: number, open: ReadonlySet<string>, rows: Row[]): void {
    const own = this.#ownRows(folderId, level);
    let position = 0;
    const siblings = own.length;
    for (const row of own) {
      position += 1;
      if (row.kind === "folder") {
        const isOpen = open.has(row.folder.id);
        rows.push({ ...row, isOpen, position, siblings });
        if (isOpen) this.#list(row.folder.id, level + 1, open, rows);
      } else {
        rows.push({ ...row, position, siblings });
      }
    }
  }

  #filter(folderId: string | undefined, level: number, wanted: string, rows: Row[]): boolean {
    const matches: Row[] = [];
    for (const row of this.#ownRows(folderId, level)) {
      const place = { position: 0, siblings: 0 };
      if (row.kind === "folder") {
        const below: Row[] = [];
        const isFound = this.#filter(row.folder.id, level + 1, wanted, below);
        if (isFound || row.folder.name.toLowerCase().includes(wanted)) {
          matches.push({ ...row, isOpen: true, ...place }, ...below);
        }
      } else if (row.kind === "thread" && row.thread.title.toLowerCase().includes(wanted)) {
        matches.push({ ...row, ...place });
      } else if (row.kind === "more") {
        // Threads that are not loaded may match as well.
        matches.push({ ...row, ...place });
      }
    }
    const own = matches.filter((row) => row.level === level);
    own.forEach((row, index) => Object.assign(row, { position: index + 1, siblings: own.length }));
    rows.push(...matches);
    return matches.some((row) => row.kind !== "more");
  }

  #ownRows(folderId: string | undefined, level: number): Unplaced[] {
    const key = folderId ?? ROOT;
    const rows: Unplaced[] = [];
    const summary = this.#documents.get(key);
    if (summary || folderId === undefined) {
      rows.push({ kind: "document", key: `document/${key}`, level, folderId, summary, isOver: this.isOver(summary) });
    }
    for (const folder of this.childFolders(folderId)) {
      const own = this.#documents.get(folder.id);
      rows.push({
        kind: "folder",
        key: `folder/${folder.id}`,
        level,
        folder,
        isOpen: false,
        badge: this.badge(folder.id),
        isOver: this.isOver(own),
      });
    }
    for (const thread of this.#threads.get(key) ?? []) {
      rows.push({ kind: "thread", key: `thread/${thread.id}`, level, thread });
    }
    const count = this.#more.get(key);
    if (count) rows.push({ kind: "more", key: `more/${key}`, level, folderId, count });
    return rows;
  }

  #place(thread: ThreadSummary, key: string): void {
    this.#placeOf.set(thread.id, key);
    const threads = this.#threads.get(key);
    if (!threads) this.#threads.set(key, [thread]);
    // Ids sort by time. A page or a new thread usually belongs to the end.
    else if ((threads.at(-1)?.id ?? "") < thread.id) threads.push(thread);
    else {
      const index = threads.findIndex((other) => other.id > thread.id);
      threads.splice(index === -1 ? threads.length : index, 0, thread);
    }
  }

  #sortFolders(): void {
    this.#children = new Map();
    for (const folder of this.#folders.values()) {
      const key = folder.parent_folder_id ?? ROOT;
      const siblings = this.#children.get(key);
      if (siblings) siblings.push(folder);
      else this.#children.set(key, [folder]);
    }
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    for (const siblings of this.#children.values()) siblings.sort((a, b) => compare(a.name, b.name));
  }
}

/** State of the tree as it is shown: open folders, filter, the active row, and a row on its way to another folder. */
import type { Route } from "./route";
import { session } from "./session.svelte";
import type { Row } from "./tree";

export interface Moved {
  kind: "folder" | "thread";
  id: string;
  name: string;
}

export class TreeView {
  filter = $state("");
  open = $state.raw<ReadonlySet<string>>(new Set());
  active = $state<string | undefined>();
  carried = $state.raw<Moved | undefined>();

  rows = $derived.by((): Row[] => {
    void session.treeVersion;
    return session.tree.rows(this.open, this.filter);
  });
  #indexes = $derived(new Map(this.rows.map((row, index) => [row.key, index])));

  get activeIndex(): number {
    return this.active === undefined ? -1 : (this.#indexes.get(this.active) ?? -1);
  }

  get activeRow(): Row | undefined {
    return this.rows[this.activeIndex];
  }

  get canRename(): boolean {
    return this.activeRow?.kind === "folder" || this.activeRow?.kind === "thread";
  }

  get canRemove(): boolean {
    const row = this.activeRow;
    return row?.kind === "folder" || row?.kind === "thread" || (row?.kind === "document" && !!row.summary);
  }

  expand(folderId: string): void {
    const path = session.tree.path(folderId).map((folder) => folder.id);
    this.open = new Set([...this.open, ...path, folderId]);
  }

  collapse(folderId: string): void {
    const open = new Set(this.open);
    open.delete(folderId);
    this.open = open;
  }

  toggle(folderId: string): void {
    if (this.open.has(folderId)) this.collapse(folderId);
    else this.expand(folderId);
  }

  /** Makes the row of a page the active one and opens the folders above it. */
  reveal(route: Route): void {
    const { tree } = session;
    if (route.page === "thread" || route.page === "prompt" || route.page === "thread-effective") {
      const folder = tree.folderOfThread(route.thread);
      if (folder) this.expand(folder);
      this.active = `thread/${route.thread}`;
    } else if (route.page === "doc" || route.page === "history" || route.page === "effective") {
      if (route.folder === undefined) this.active = "document/";
      else {
        // A click on a folder's document must not move the selection to the folder.
        this.expand(route.folder);
        if (this.active !== `document/${route.folder}`) this.active = `folder/${route.folder}`;
      }
    }
  }
}

/** Returns the part of a row that can be moved. */
export function movable(row: Row): Moved | undefined {
  if (row.kind === "folder") return { kind: "folder", id: row.folder.id, name: row.folder.name };
  if (row.kind === "thread") return { kind: "thread", id: row.thread.id, name: row.thread.title };
  return undefined;
}

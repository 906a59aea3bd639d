/** Unsaved texts, kept in the browser until the gateway has confirmed them. */
import type { Draft } from "./editing";

const DATABASE = "foreword-console";
const STORE = "drafts";

/** Place of a document: the gateway's database, the workspace and the folder. */
export interface Place {
  instance: string;
  workspace: string;
  folder: string | undefined;
}

function key(place: Place): string {
  return [place.instance, place.workspace, place.folder ?? "root"].join("/");
}

function done<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
  });
}

export class Drafts {
  #database: Promise<IDBDatabase> | undefined;

  #open(): Promise<IDBDatabase> {
    this.#database ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => void request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("the browser's storage failed"));
    });
    // A failure may be temporary, such as a full disk, so the next call tries again.
    this.#database.catch(() => (this.#database = undefined));
    return this.#database;
  }

  async load(place: Place): Promise<Draft | undefined> {
    const database = await this.#open();
    const found: unknown = await done(database.transaction(STORE).objectStore(STORE).get(key(place)));
    return isDraft(found) ? found : undefined;
  }

  /** Stores a draft, or deletes it if it is `null`. Resolves once the browser has written it. */
  async keep(place: Place, draft: Draft | null): Promise<void> {
    const database = await this.#open();
    // Strict: the text must survive a crash of the browser, and drafts are small.
    const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
    const store = transaction.objectStore(STORE);
    if (draft) store.put(draft, key(place));
    else store.delete(key(place));
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser's storage failed"));
    });
  }

  /** Returns the folders of a workspace with a draft; `undefined` stands for the workspace root. */
  async folders(instance: string, workspace: string): Promise<(string | undefined)[]> {
    const database = await this.#open();
    const keys = await done(database.transaction(STORE).objectStore(STORE).getAllKeys());
    const start = `${instance}/${workspace}/`;
    const own = keys.filter((it): it is string => typeof it === "string" && it.startsWith(start));
    return own.map((it) => it.slice(start.length)).map((it) => (it === "root" ? undefined : it));
  }
}

function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null) return false;
  const draft = value as Partial<Draft>;
  return (
    typeof draft.text === "string" &&
    typeof draft.baseText === "string" &&
    typeof draft.baseVersion === "number"
  );
}

export const drafts = new Drafts();

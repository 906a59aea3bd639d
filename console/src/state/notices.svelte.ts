/** Short messages about what just happened. */
export interface Notice {
  id: number;
  kind: "done" | "problem";
  text: string;
}

/** Milliseconds for which a message about a success is shown. Problems stay until they are closed. */
const SHOWN_FOR = 6_000;
const MOST = 4;

class Notices {
  all = $state<Notice[]>([]);
  #next = 1;

  done(text: string): void {
    const id = this.#add("done", text);
    setTimeout(() => this.close(id), SHOWN_FOR);
  }

  problem(text: string): void {
    this.#add("problem", text);
  }

  close(id: number): void {
    this.all = this.all.filter((notice) => notice.id !== id);
  }

  #add(kind: Notice["kind"], text: string): number {
    const id = this.#next++;
    // The same problem again is not news.
    this.all = [...this.all.filter((notice) => notice.text !== text), { id, kind, text }].slice(-MOST);
    return id;
  }
}

export const notices = new Notices();

/** Addresses of pages, kept in the fragment so that the gateway needs no routes of its own. */

export type Route =
  | { page: "home" }
  | { page: "doc"; workspace: string; folder: string | undefined; version?: number }
  | { page: "history"; workspace: string; folder: string | undefined; version?: number; from?: number }
  | { page: "effective"; workspace: string; folder: string | undefined }
  | { page: "thread"; workspace: string; thread: string }
  | { page: "thread-effective"; workspace: string; thread: string }
  | { page: "turn"; workspace: string; turn: string }
  | { page: "prompt"; workspace: string; thread: string }
  | { page: "approvals"; workspace: string }
  | { page: "compare"; workspace: string }
  | { page: "map"; workspace: string }
  | { page: "search"; workspace: string }
  | { page: "workspace"; workspace: string }
  | { page: "tokens" | "audit" | "gateway" | "keys" }
  | { page: "unknown"; hash: string };

/** Name of the workspace root in an address. */
const ROOT = "root";

const IN_WORKSPACE = ["approvals", "compare", "map", "search"] as const;
const OUTSIDE = ["tokens", "audit", "gateway", "keys"] as const;

function number(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,15}$/.test(text) ? Number(text) : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the page for a fragment such as `#/w/ID/doc/root@3`. */
export function parse(hash: string): Route {
  const unknown: Route = { page: "unknown", hash };
  const parts = hash.replace(/^#\/?/, "").split("/").filter((part) => part !== "").map(decode);
  const [first, workspace, page, subject = ROOT] = parts;
  if (first === undefined) return { page: "home" };
  const outside = OUTSIDE.find((name) => name === first);
  if (outside) return { page: outside };
  if (first !== "w" || workspace === undefined) return unknown;
  if (page === undefined) return { page: "workspace", workspace };
  const inside = IN_WORKSPACE.find((name) => name === page);
  if (inside) return { page: inside, workspace };
  const [name = ROOT, versions] = subject.split("@");
  const folder = name === ROOT ? undefined : name;
  const [from, to] = (versions ?? "").includes("..") ? (versions ?? "").split("..") : [undefined, versions];
  switch (page) {
    case "doc": {
      const version = number(versions);
      return version ? { page: "doc", workspace, folder, version } : { page: "doc", workspace, folder };
    }
    case "history":
      return { page: "history", workspace, folder, version: number(to), from: number(from) };
    case "effective":
      return { page: "effective", workspace, folder };
    case "thread":
    case "thread-effective":
      return parts[3] ? { page, workspace, thread: subject } : unknown;
    case "prompt":
      return parts[3] ? { page, workspace, thread: subject } : unknown;
    case "turn":
      return parts[3] ? { page, workspace, turn: subject } : unknown;
    default:
      return unknown;
  }
}

/** Returns the fragment of a page. */
export function link(route: Route): string {
  const scope = (folder: string | undefined) => encodeURIComponent(folder ?? ROOT);
  switch (route.page) {
    case "home":
      return "#/";
    case "unknown":
      return route.hash;
    case "tokens":
    case "audit":
    case "gateway":
    case "keys":
      return `#/${route.page}`;
    default: {
      const start = `#/w/${encodeURIComponent(route.workspace)}`;
      switch (route.page) {
        case "workspace":
          return start;
        case "doc":
          return `${start}/doc/${scope(route.folder)}${route.version ? `@${route.version}` : ""}`;
        case "history": {
          const from = route.from ? `${route.from}..` : "";
          return `${start}/history/${scope(route.folder)}${route.version ? `@${from}${route.version}` : ""}`;
        }
        case "effective":
          return `${start}/effective/${scope(route.folder)}`;
        case "thread":
        case "thread-effective":
        case "prompt":
          return `${start}/${route.page}/${encodeURIComponent(route.thread)}`;
        case "turn":
          return `${start}/turn/${encodeURIComponent(route.turn)}`;
        default:
          return `${start}/${route.page}`;
      }
    }
  }
}

/** Returns the workspace of a page; `undefined` for pages about the whole gateway. */
export function workspaceOf(route: Route): string | undefined {
  return "workspace" in route ? route.workspace : undefined;
}

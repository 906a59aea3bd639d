import { link, parse, type Route } from "./route";

class Router {
  route = $state.raw<Route>(parse(document.location.hash));

  constructor() {
    window.addEventListener("hashchange", () => (this.route = parse(document.location.hash)));
  }

  go(route: Route): void {
    document.location.hash = link(route);
  }

  /** Goes to a page without an entry in the browser's history. */
  replace(route: Route): void {
    window.history.replaceState(null, "", link(route));
    this.route = route;
  }
}

export const router = new Router();

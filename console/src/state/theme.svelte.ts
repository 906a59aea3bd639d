/** Light, dark, or the choice of the system. */
export type Theme = "system" | "light" | "dark";

const KEY = "foreword-theme";

function stored(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return found === "light" || found === "dark" ? found : "system";
  } catch {
    // Storage may be forbidden. The system's choice is good enough then.
    return "system";
  }
}

class Appearance {
  theme = $state<Theme>(stored());

  choose(theme: Theme): void {
    this.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The choice lasts as long as the page.
    }
    applyTheme();
  }

  toggle(): void {
    const isDark =
      this.theme === "dark" ||
      (this.theme === "system" && window.matchMedia("(prefers-color-scheme: dark)").matches);
    this.choose(isDark ? "light" : "dark");
  }
}

export const appearance = new Appearance();

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = appearance.theme;
}

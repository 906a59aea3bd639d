import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";

/** Collects the licenses of the bundled packages into one file, as they require. */
function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle(_, bundle) {
      const packages = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const module of chunk.moduleIds) {
          const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
          if (name) packages.add(name);
        }
      }
      // Svelte's plugin shortens its runtime's paths, so it may be missing from the ids.
      packages.add("svelte");
      const texts = [...packages].sort().map((name) => {
        const folder = join("node_modules", name);
        const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
        const text = file ? readFileSync(join(folder, file), "utf8").trim() : `License: ${license}`;
        return `${name} ${version}\n\n${text}\n`;
      });
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: texts.join("\n----\n\n") });
    },
  };
}

const { version } = JSON.parse(readFileSync("package.json", "utf8"));

export default defineConfig({
  define: { __VERSION__: JSON.stringify(version) },
  // Relative, so that the console also works behind a proxy that adds a path.
  base: "./",
  plugins: [svelte(), licenses()],
  build: {
    outDir: "../crates/console/assets",
    emptyOutDir: true,
    target: "es2022",
    // The polyfill would be an inline script in old browsers, which the policy blocks.
    modulePreload: { polyfill: false },
    // Small images would become data URLs and be loaded with every page.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

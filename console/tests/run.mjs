// Runs the tests in a browser: all of them, or those whose names contain an argument.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

const patterns = process.argv.slice(2).map((name) => `--test-name-pattern=${name}`);
const files = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.mjs"));
// One file at a time: each starts a browser, and a machine with two cores has no use for more.
const flags = ["--test", "--test-concurrency=1", "--test-reporter=spec", ...patterns];
const { status } = spawnSync(process.execPath, [...flags, ...files.map((name) => `tests/${name}`)], { stdio: "inherit" });
process.exit(status ?? 1);

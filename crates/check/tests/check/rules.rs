//! Findings of each rule, and the cases that it leaves alone.

use crate::support::Project;

#[test]
fn a_tidy_project_has_no_findings() {
    let project = Project::new(&[
        ("AGENTS.md", "# Rules\n\nRun `make check`. Sources are in `src/main.rs`; see [docs](docs/a.md).\n"),
        ("CLAUDE.md", "@AGENTS.md\n"),
        ("GEMINI.md", "@AGENTS.md\n"),
        ("Makefile", "check:\n\ttrue\n"),
        ("src/main.rs", ""),
        ("docs/a.md", ""),
    ]);
    assert_eq!(project.findings(&[]), Vec::<String>::new());
    let report = project.report(&[]);
    assert_eq!(report.findings.len(), 0, "{:?}", report.findings);
    let files: Vec<_> =
        report.files.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(files, ["AGENTS.md", "CLAUDE.md", "GEMINI.md"]);
    let agents: Vec<_> = report.files[0].agents.iter().map(|reader| reader.agent).collect();
    assert!(agents.contains(&"codex") && agents.contains(&"claude-code"), "{agents:?}");
}

#[test]
fn text_past_a_limit_is_lost() {
    let project = Project::new(&[
        ("AGENTS.md", &"x\n".repeat(17_000)),
        ("sub/AGENTS.md", "nearer\n"),
        ("sub/x.rs", ""),
    ]);
    assert_eq!(
        project.findings(&["codex"]),
        [
            "FW002 AGENTS.md:16385 Codex silently drops the last 1,232 of 34,000 bytes when started in the root and one \
             other directory (it reads 32,768 bytes of project files)",
            "FW002 sub/AGENTS.md:1 Codex silently drops all 7 bytes when started in `sub` (it reads 32,768 bytes of \
             project files)",
        ]
    );
    let report = project.report(&["codex", "pi"]);
    let losses: Vec<_> =
        report.files.iter().flat_map(|file| &file.agents).map(|reader| reader.lost_bytes).collect();
    assert_eq!(losses, [1_232, 0, 7, 0]);
    assert_eq!(report.findings.iter().filter(|finding| finding.agents == ["codex"]).count(), 2);
}

#[test]
fn unread_files() {
    let project = Project::new(&[
        ("AGENTS.md", "x\n"),
        ("AGENTS.override.md", "y\n"),
        ("CONTEXT.md", "a page for people\n"),
    ]);
    assert_eq!(project.findings(&["codex"]), ["FW001 AGENTS.md Codex does not read it in any directory"]);
    assert_eq!(project.findings(&["opencode"]), Vec::<String>::new(), "CONTEXT.md may be anything");
    assert!(project.of_rule("FW001").is_empty(), "somebody reads each");
}

#[test]
fn letter_case_matters() {
    // Some agents look for `agents.md` as it is written.
    let project =
        Project::new(&[("aGENTS.md", "x\n"), ("docs/claude.md", "a page\n"), ("sub/Agents.MD", "y\n")]);
    let found = project.of_rule("FW024");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0]
            .starts_with("aGENTS.md names are read as they are written, so only GitHub Copilot CLI reads it")
    );
    assert!(found[1].ends_with("rename it to `AGENTS.md`"), "{found:?}");
}

#[test]
fn a_blank_file_hides_another() {
    let project = Project::new(&[("AGENTS.md", " \n"), ("CLAUDE.md", "x\n")]);
    let found = project.of_rule("FW003");
    assert_eq!(
        found,
        [
            "AGENTS.md it is blank, and still keeps agents from `CLAUDE.md`: opencode, pi, Kilo Code and Continue do not read that"
        ]
    );
}

#[test]
fn agents_that_read_nothing_are_named() {
    let project = Project::new(&[("CLAUDE.md", "x\n")]);
    let found = project.of_rule("FW004");
    assert!(
        found
            .iter()
            .any(|found| found.contains("Gemini CLI reads nothing in this tree: it looks for `GEMINI.md`"))
    );
    assert!(!found.iter().any(|found| found.contains("Claude")), "{found:?}");
    let others = Project::new(&[("AGENTS.md", "x\n"), ("CLAUDE.md", "x\n")]).report(&["gemini-cli"]);
    assert_eq!(others.findings.len(), 1, "what others read is there: {others:?}");
    assert!(
        Project::new(&[("src/x.rs", "")]).report(&[]).findings.is_empty(),
        "where there is nothing at all"
    );
}

#[test]
fn imports_that_lead_nowhere() {
    let project = Project::new(&[
        (
            "CLAUDE.md",
            "@gone.md and @alice, @types/node\n\n`@code.md`\n\n@docs @./docs.md\n\nSee @there.md.\n",
        ),
        ("there.md", "x\n"),
        ("docs.md/x", ""),
        ("sub/CLAUDE.md", "@CLAUDE.md\n@../there.md\n@../../outside.md @../../secret\n"),
    ]);
    let found = project.findings(&["claude-code"]);
    assert_eq!(
        found,
        [
            "FW005 CLAUDE.md:1 `@gone.md` leads nowhere: there is no `gone.md`",
            "FW005 CLAUDE.md:5 `@./docs.md` is a directory, and only files are imported",
            "FW005 CLAUDE.md:7 Claude Code takes the punctuation behind `@there.md.` for a part of the path, and imports nothing",
            "FW005 sub/CLAUDE.md:1 `@CLAUDE.md` imports the file that it is in",
            "FW006 sub/CLAUDE.md:2 Claude Code does not import `@../there.md` when started in `sub`: it leads outside",
            "FW006 sub/CLAUDE.md:3 Claude Code does not import `@../../outside.md` when started in `sub`: it leads outside",
            "FW006 sub/CLAUDE.md:3 Claude Code does not import `@../../secret` when started in `sub`: it leads outside",
        ]
    );
}

#[test]
fn globs_that_match_nothing() {
    let project = Project::new(&[
        ("AGENTS.md", "x\n"),
        ("src/a.ts", ""),
        (".claude/rules/one.md", "---\npaths:\n  - \"src/**/*.ts\"\n  - \"lib/**\"\n---\nText\n"),
        (".claude/rules/two.md", "---\npaths: \"**/*.rs, src/*.{ts,tsx}\"\n---\nText\n"),
        (".claude/rules/none.md", "---\npaths: \"a/**, b/**, c/**, d/**\"\n---\nText\n"),
        ("web/AGENTS.md", "---\napplies_to: [\"*.css\"]\n---\nText\n"),
        ("style.css", ""),
    ]);
    assert_eq!(
        project.of_rule("FW007"),
        [
            ".claude/rules/none.md:2 no file below the root matches `a/**`, `b/**`, `c/**` or 1 more, so the rule never applies",
            ".claude/rules/one.md:4 no file below the root matches `lib/**`",
            ".claude/rules/two.md:2 no file below the root matches `**/*.rs`",
            "web/AGENTS.md:2 no file below `web` matches `*.css`, so the rule never applies",
        ]
    );
}

#[test]
fn front_matter_that_cannot_be_followed() {
    let project = Project::new(&[
        ("AGENTS.md", "---\napplies_to: 5\n---\nText\n"),
        (".claude/rules/a.md", "---\npaths: [\n---\nText\n"),
        (".claude/rules/b.md", "---\npaths: x\nText\n"),
        (".github/instructions/c.instructions.md", "---\napplyTo: '['\n---\nText\n"),
    ]);
    let found = project.of_rule("FW018");
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].starts_with(".claude/rules/a.md:"), "{found:?}");
    assert!(found[1].ends_with("no line `---` ends its front matter"), "{found:?}");
    assert!(found[2].contains("is not a glob"), "{found:?}");
    assert!(found[3].starts_with("AGENTS.md:2 "), "{found:?}");
}

#[test]
fn missing_paths() {
    let project = Project::new(&[
        (
            "AGENTS.md",
            "Look at `src/gone.rs` and `src/main.rs:3`, `deep/inner.rs`, `built/x.js` and `src/missing/`.\n\n\
             For example `a/b.rs`. Do not touch `c/d.rs`. [page](docs/gone.md) [web](https://x/y.md)\n\n\
             Create `new/file.rs`.\n\n```\nno/code.rs\n```\n",
        ),
        ("src/main.rs", ""),
        ("src/deep/inner.rs", ""),
        (".gitignore", "built/\n"),
        ("sub/AGENTS.md", "See `src/main.rs`.\n\n[page](gone.md) [up](../src/main.rs)\n"),
    ]);
    assert_eq!(
        project.of_rule("FW008"),
        [
            "AGENTS.md:1 `src/gone.rs` does not exist",
            "AGENTS.md:1 `src/missing/` does not exist",
            "AGENTS.md:3 `docs/gone.md` does not exist",
            "sub/AGENTS.md:3 `gone.md` does not exist",
        ]
    );
    let project = Project::new(&[("AGENTS.md", "Read [this](docs/gone.md) first.\n")]);
    assert_eq!(project.of_rule("FW008"), ["AGENTS.md:1 `docs/gone.md` does not exist"]);
}

#[test]
fn commands_that_cannot_work() {
    let project = Project::new(&[
        (
            "AGENTS.md",
            "Run `npm run build`, `npm run gone`, `npm run deep` and `make lint`.\n\n```sh\nmake check\njust test\njust gone\n\
             cd web\nmake other\n```\n\nNever run `npm run denied`.\n",
        ),
        ("package.json", r#"{"scripts": {"build": "x"}}"#),
        ("web/package.json", r#"{"scripts": {"deep": "x"}}"#),
        ("Makefile", "check:\n\ttrue\n"),
        ("justfile", "test:\n  true\n"),
    ]);
    assert_eq!(
        project.of_rule("FW009"),
        [
            "AGENTS.md:1 `Makefile` has no target `lint`",
            "AGENTS.md:1 no package.json has a script `gone`",
            "AGENTS.md:6 `justfile` has no recipe `gone`",
        ]
    );
}

#[test]
fn paragraphs_at_two_levels() {
    // The copies differ in wrapping and in the sign of the list item, as copies between files usually do.
    let long = "Every public function has a test that fails without it, and every bug that was mended has one that names it.";
    let project = Project::new(&[
        ("AGENTS.md", &format!("# Top\n\n{long}\n\n- {long} And more of it.\n")),
        ("sub/AGENTS.md", &format!("{}\n\n* {long} And more of it.\n", long.replace(' ', "\n"))),
        ("sub/CLAUDE.md", long),
        ("other/AGENTS.md", "Short.\n"),
    ]);
    let found = project.of_rule("FW010");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        found[0],
        "sub/AGENTS.md:1 this paragraph and 1 more are also in `AGENTS.md`, line 3, which is read with it"
    );
}

#[test]
fn shadowed_files_are_reported_and_counted() {
    let project = Project::new(&[
        ("AGENTS.md", "Root.\n"),
        ("CLAUDE.md", "@AGENTS.md\n"),
        ("packages/one/AGENTS.md", "One.\n"),
        ("packages/two/AGENTS.md", "Two.\n"),
        ("packages/two/CLAUDE.md", "@AGENTS.md\n"),
        ("packages/three/AGENTS.md", "Three.\n"),
        ("packages/four/AGENTS.md", "   \n"),
    ]);
    project.link("packages/three/CLAUDE.md", "AGENTS.md");
    let found = project.of_rule("FW026");
    assert_eq!(found.len(), 1, "{found:?}");
    let start = "packages/one/AGENTS.md Claude Code does not read it when started here, because `CLAUDE.md` above it comes first";
    assert!(found[0].starts_with(start), "{found:?}");
    let report = project.report(&[]);
    let of = |name: &str| {
        let file = report.files.iter().find(|file| file.path.ends_with(name)).unwrap();
        file.agents
            .iter()
            .find(|reader| reader.agent == "claude-code")
            .map(|reader| (reader.when, reader.lost_bytes))
    };
    assert_eq!(of("packages/one/AGENTS.md"), Some((check::CoverageTime::Never, 0)));
    assert_eq!(of("packages/two/AGENTS.md"), Some((check::CoverageTime::Start, 0)));
    // Started further down, Claude Code does not follow the root's import, because it leads out of the working
    // directory. The whole text counts as lost there.
    let root = project.root.join("AGENTS.md");
    let file = report.files.iter().find(|file| file.path == root).unwrap();
    let claude = file.agents.iter().find(|reader| reader.agent == "claude-code").unwrap();
    assert_eq!((claude.when, claude.lost_bytes), (check::CoverageTime::Start, 6));
    let beside = Project::new(&[("AGENTS.md", "One.\n"), ("CLAUDE.md", "Another.\n")]).of_rule("FW026");
    assert!(beside[0].contains("because `CLAUDE.md` beside it comes first"), "{beside:?}");
}

#[test]
fn fallback_names_are_read() {
    let project = Project::new(&[
        ("AGENTS.md", "x\n"),
        (".gemini/settings.json", r#"{"context": {"fileName": ["AGENTS.md", "GEMINI.md"]}}"#),
    ]);
    let report = project.report(&["gemini-cli"]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(report.files[0].agents[0].agent, "gemini-cli");
}

#[test]
fn directories_contradict_parents_unless_they_are_packages() {
    let files = [("AGENTS.md", "Run `npm install`, then `jest`.\n"), ("web/AGENTS.md", "`yarn install`\n")];
    let project = Project::new(&files);
    assert_eq!(
        project.of_rule("FW011"),
        ["web/AGENTS.md:1 it says to use `yarn`, but `AGENTS.md` says `npm`"]
    );
    let own = [&files[..], &[("web/package.json", "{}")]].concat();
    assert!(Project::new(&own).of_rule("FW011").is_empty());
    // No agent reads files of two sibling directories together.
    let apart = [("api/AGENTS.md", "`npm install`\n"), ("web/AGENTS.md", "`yarn install`\n")];
    assert!(Project::new(&apart).of_rule("FW011").is_empty());
}

#[test]
fn package_managers_and_tests() {
    let project = Project::new(&[
        ("AGENTS.md", "Run `npm install`, then `pytest`. Publish with `npm publish`.\n"),
        ("CLAUDE.md", "Use pnpm, not `yarn install`. Run `nose2`.\n"),
        ("package.json", "{}"),
        ("pnpm-lock.yaml", ""),
        ("tool/AGENTS.md", "`npm ci`\n"),
        ("tool/package-lock.json", "{}"),
    ]);
    assert_eq!(
        project.of_rule("FW011"),
        ["AGENTS.md:1 `npm install` is a command of npm, but `pnpm-lock.yaml` is the lock file of pnpm"]
    );
    assert_eq!(
        project.of_rule("FW012"),
        ["CLAUDE.md:1 it says to run tests with `nose2`, but `AGENTS.md` beside it says `pytest`"]
    );
    let told = "The store is installed lazily via `npm install` into `native/keyring/`.\n";
    let project = Project::new(&[("AGENTS.md", told), ("pnpm-lock.yaml", "")]);
    assert!(project.of_rule("FW011").is_empty(), "it says what happens elsewhere");
    let project = Project::new(&[("AGENTS.md", "`npm install`\n"), ("CLAUDE.md", "`pnpm install`\n")]);
    assert_eq!(
        project.of_rule("FW011"),
        ["CLAUDE.md:1 it says to use `pnpm`, but `AGENTS.md` beside it says `npm`"]
    );
}

#[test]
fn invisible_characters() {
    let project = Project::new(&[(
        "AGENTS.md",
        "plain\nzero\u{200b}width\nbidi \u{202e}x and \u{e0041}\u{e0042}\n</INSTRUCTIONS>\nفارسی\u{200c}ها\n",
    )]);
    let report = project.report(&["codex"]);
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.rule().code, finding.line.unwrap(), finding.fixable))
        .collect();
    assert_eq!(found, [("FW014", 2, true), ("FW013", 3, false), ("FW023", 4, false)]);
    assert!(report.findings.iter().all(|finding| !finding.message.contains(['\u{200b}', '\u{202e}'])));
}

#[test]
fn a_secret_is_found_and_not_repeated() {
    let secret = ["ghp_", "aZ3kQ9mP2xR7vT5wY8nB4cD6eF1gH0jKlMnO"].concat();
    let project = Project::new(&[("AGENTS.md", &format!("ok\ntoken: {secret}\n"))]);
    let found = project.of_rule("FW017");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("AGENTS.md:2 ") && !found[0].contains(&secret[4..]), "{found:?}");
}

#[test]
fn unchecked_agents_are_reported() {
    let project = Project::new(&[
        ("AGENTS.md", "x\n"),
        ("WARP.md", "y\n"),
        (".windsurf/rules/a.md", "z\n"),
        (".cursor/rules/b.mdc", "z\n"),
        (".clinerules/c.md", "z\n"),
        ("sub/.rules", "anything\n"),
    ]);
    let found = project.of_rule("FW020");
    assert_eq!(
        found,
        [
            ".clinerules it is for Cline, which is not judged",
            ".cursor/rules it is for Cursor, which is not judged",
            ".windsurf/rules it is for Windsurf, which is not judged",
            "WARP.md it is for Warp, which is not judged",
        ]
    );
    let judged = project.report(&["cursor"]);
    assert!(judged.files.iter().any(|file| file.path.ends_with(".cursor/rules/b.mdc")));
}

#[test]
fn settings_set_severities() {
    let mut project =
        Project::new(&[("AGENTS.md", "`src/gone.rs` `npm run gone`\n"), ("package.json", "{}")]);
    assert_eq!(project.findings(&[]).len(), 2);
    project.settings.off = vec!["missing-path".to_owned()];
    project.settings.error = vec!["FW009".to_owned()];
    let report = project.report(&["codex"]);
    assert_eq!(report.findings.len(), 1);
    assert_eq!(report.count(check::Severity::Error), 1);
    project.settings.ignore = vec!["AGENTS.md".to_owned()];
    assert_eq!(project.report(&[]).findings, []);
}

#[test]
fn a_subtree_is_checked_as_part_of_its_project() {
    let mut project = Project::new(&[
        ("AGENTS.md", "Root.\n"),
        ("web/AGENTS.md", "See `lib/there.rs` and `lib/gone.rs`; run `npm run build` or `npm run gone`.\n"),
        ("web/package.json", "{}"),
        ("core/lib/there.rs", ""),
        ("core/package.json", r#"{"scripts": {"build": "x"}}"#),
    ]);
    let whole = project.findings(&["codex"]);
    project.directory = project.root.join("web");
    assert_eq!(project.findings(&["codex"]), whole);
    assert_eq!(
        whole,
        [
            "FW008 web/AGENTS.md:1 `lib/gone.rs` does not exist",
            "FW009 web/AGENTS.md:1 no package.json has a script `gone`",
        ]
    );
}

#[test]
fn broken_links_are_reported_whatever_their_form() {
    let project = Project::new(&[
        (
            "AGENTS.md",
            "[a](style.md) ![b](b.png) [c](docs/c%20d.md#x) [d](./guide) [e](api.html) [f](url)\n\n[g]\n\n[g]: ./g.md\n",
        ),
        ("docs/guide.md", ""),
        ("sub/AGENTS.md", "[up](../gone.md) [far](../../outside.md) [site](/x.md) [module](./a.js)\n"),
        ("sub/a.ts", ""),
        ("api.md", ""),
        ("templates/AGENTS.md", "[there](elsewhere.md)\n"),
    ]);
    assert_eq!(
        project.of_rule("FW008"),
        [
            "AGENTS.md:1 `./guide` does not exist",
            "AGENTS.md:1 `b.png` does not exist",
            "AGENTS.md:1 `docs/c d.md` does not exist",
            "AGENTS.md:1 `style.md` does not exist",
            "AGENTS.md:3 `./g.md` does not exist",
            "sub/AGENTS.md:1 `../gone.md` does not exist",
        ]
    );
}

#[test]
fn paths_that_may_mean_something_else_are_skipped() {
    let project = Project::new(&[
        (
            "AGENTS.md",
            "Settings are in `.continue/settings.json`. Import `./src/index.js`. Skills are in `skill-name/SKILL.md`.\n\n\
             `app/parser.py` → `tests/test_parser.py`\n\nThe client is in `client/src/main.rs` of \
             [theirs](https://github.com/a/b).\n\nSee `parts/inner/main.c` and `express/lib/router.js`.\n",
        ),
        ("src/index.ts", ""),
        ("tests/x", ""),
        ("skill-names/x", ""),
        ("client/x", ""),
        (".gitmodules", "[submodule \"p\"]\n\tpath = parts/inner\n\turl = x\n"),
        ("parts/x", ""),
    ]);
    assert_eq!(project.of_rule("FW008"), Vec::<String>::new());
}

#[test]
fn sparse_checkouts_miss_no_paths() {
    let project = Project::new(&[("AGENTS.md", "See `src/gone.rs`.\n"), ("src/x.rs", "")]);
    assert_eq!(project.of_rule("FW008").len(), 1);
    project.write(".git/info/sparse-checkout", "docs\n");
    assert_eq!(project.of_rule("FW008"), Vec::<String>::new());
}

#[test]
fn a_pointer_to_the_read_file_loses_nothing() {
    let pointer = Project::new(&[("AGENTS.md", "Read @CLAUDE.md\n"), ("CLAUDE.md", "Rules.\n")]);
    assert_eq!(pointer.of_rule("FW026"), Vec::<String>::new());
    let text = format!("See @CLAUDE.md first.\n\n{}", "More rules of our own.\n".repeat(30));
    let circle = Project::new(&[("AGENTS.md", &text), ("CLAUDE.md", "Rules.\n")]).of_rule("FW026");
    assert!(circle[0].ends_with("comes first, which it names already: move its text there"), "{circle:?}");
    let both = Project::new(&[("AGENTS.md", "One.\n"), ("CLAUDE.md", "Two.\n")]).of_rule("FW026");
    assert!(both[0].ends_with("to which you can add the line `@AGENTS.md`"), "{both:?}");
    let below = Project::new(&[("a/AGENTS.md", "One.\n"), ("CLAUDE.md", "Two.\n")]).of_rule("FW026");
    assert!(below[0].contains("`foreword sync` puts a CLAUDE.md beside it"), "{below:?}");
}

#[test]
fn folders_of_skills_are_no_start_directories() {
    let project = Project::new(&[
        ("AGENTS.md", "Root.\n"),
        ("CLAUDE.md", "Root too.\n"),
        ("skills/release/SKILL.md", "---\nname: release\n---\n"),
        ("skills/release/AGENTS.md", "For the skill.\n"),
        (".claude/projects/x/AGENT.md", "A plan.\n"),
    ]);
    let report = project.report(&["claude-code", "codex"]);
    assert!(report.files.iter().all(|file| !file.path.starts_with(project.root.join("skills"))));
    let found = project.findings(&["claude-code", "codex"]);
    assert!(found.iter().all(|found| !found.contains("skills/")), "{found:?}");
    assert_eq!(project.of_rule("FW020"), Vec::<String>::new(), "a plan in a hidden folder is not for Amp");
}

#[test]
fn linked_files_are_checked_once() {
    let project =
        Project::new(&[("rules/one.md", "@gone.md `src/gone.rs`\n"), ("src/x", ""), ("AGENTS.md", "x\n")]);
    std::fs::create_dir_all(project.root.join(".claude/rules")).unwrap();
    project.link(".claude/rules/one.md", "../../rules/one.md");
    project.link(".claude/rules/two.md", "../../rules/one.md");
    let found = project.findings(&["claude-code"]);
    assert_eq!(found.iter().filter(|found| found.starts_with("FW008")).count(), 1, "{found:?}");
    assert_eq!(found.iter().filter(|found| found.starts_with("FW005")).count(), 1, "{found:?}");
}

#[test]
fn comments_suppress_findings_near_them() {
    let project = Project::new(&[
        (
            "AGENTS.md",
            "`src/a.rs` <!-- foreword-ignore FW008 -->\n<!-- foreword-ignore missing-path: it comes later -->\n`src/b.rs`\n\n\
             `src/c.rs` <!-- foreword-ignore FW009 FW999 -->\n",
        ),
        ("src/x.rs", ""),
    ]);
    let report = project.report(&["codex"]);
    assert_eq!(project.of_rule("FW008"), ["AGENTS.md:5 `src/c.rs` does not exist"]);
    assert_eq!(report.suppressed, 2);
    assert_eq!(report.notes, ["`AGENTS.md`, line 5: foreword-ignore names `FW999`, which is not a rule"]);
}

#[test]
fn a_baseline_hides_known_findings_only() {
    let project = Project::new(&[("AGENTS.md", "`src/a.rs`\n`src/b.rs`\n"), ("src/x.rs", "")]);
    let baseline = check::Baseline::of(&project.report(&["codex"]));
    let baseline = check::Baseline::parse(&baseline.to_text().unwrap()).unwrap();
    assert_eq!(baseline.len(), 2);
    // Lines move, one finding is fixed, and one is new.
    project.write("AGENTS.md", "New.\n\n`src/b.rs`\n`src/c.rs`\n");
    let mut report = project.report(&["codex"]);
    assert_eq!(baseline.apply(&mut report), (1, 1));
    let messages: Vec<&str> = report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["`src/c.rs` does not exist"]);
    assert!(check::Baseline::parse("{}").is_err() && check::Baseline::parse("[").is_err());
    let newer = check::Baseline::parse(r#"{"foreword_baseline": 2, "findings": []}"#).unwrap_err();
    assert!(newer.to_string().contains("version 2"), "{newer}");
}

#[test]
fn rules_can_be_chosen() {
    let project = Project::new(&[
        ("AGENTS.md", "`src/a.rs` `npm run gone`\n"),
        ("src/x.rs", ""),
        ("package.json", "{}"),
    ]);
    let found = |select: &[&str], ignore: &[&str]| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings = check::CheckSettings { off: vec!["FW009".to_owned()], ..Default::default() };
        let choice = check::RuleChoice { select: names(select), ignore: names(ignore) };
        let policy =
            check::CheckPolicy::new(&settings, &["codex".to_owned()]).unwrap().choose(&choice).unwrap();
        let request = check::CheckRequest { directory: &project.root, config: &Default::default(), policy };
        let report = check::check(request).unwrap();
        report.findings.iter().map(|finding| finding.rule().code).collect::<Vec<_>>()
    };
    assert_eq!(found(&[], &[]), ["FW008"]);
    assert_eq!(found(&["missing-command"], &[]), ["FW009"], "selected although the settings disable it");
    assert_eq!(found(&["FW008", "FW009"], &["FW008"]), ["FW009"]);
    let unknown = check::RuleChoice { select: vec!["FW0O8".to_owned()], ..Default::default() };
    let error = check::CheckPolicy::new(&Default::default(), &[]).unwrap().choose(&unknown).unwrap_err();
    assert_eq!(error.to_string(), "there is no rule `FW0O8` (in --select)");
}

#[test]
fn equal_findings_about_files_form_groups() {
    let project = Project::new(&[
        ("CLAUDE.md", "x\n"),
        ("a/AGENTS.md", "1\n"),
        ("b/AGENTS.md", "2\n"),
        ("c/AGENTS.md", "3\n"),
    ]);
    let report = project.report(&["claude-code", "codex"]);
    let groups = report.groups();
    assert_eq!((report.findings.len(), groups.len(), groups[0].others.len()), (3, 1, 2));
    assert_eq!(check::format::json(&report)["summary"]["repeated"][0]["count"], 3);
    let annotations = check::format::github(&report, &project.root);
    assert_eq!(annotations.lines().count(), 1);
    assert!(annotations.contains("; the same in b/AGENTS.md and c/AGENTS.md (http"), "{annotations}");
}

#[test]
fn guards_that_are_never_enforced() {
    let project = Project::new(&[(
        "AGENTS.md",
        "A. <!-- guard: allow command \"npm *\" -->\nB. <!-- guard: deny write \"../x\" -->\n\
         C. <!-- guard: deny command \"npm *\" -->\n`<!-- guard: allow -->`\n",
    )]);
    let broken = "AGENTS.md:1 this guard is not enforced: `allow` is not possible: a guard can only restrict";
    assert_eq!(project.of_rule("FW027"), [broken]);
    let idle = "AGENTS.md:2 this guard never matches: paths are compared without `.` and `..`";
    assert_eq!(project.of_rule("FW028"), [idle]);
}

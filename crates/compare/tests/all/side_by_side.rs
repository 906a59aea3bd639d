//! Files, losses and sentences of a comparison.

use compare::{CompareRequest, Compared, compare, markdown};
use instructions::{CODEX, FileSettings, HomeDirectories, Outcome, PROFILES, Profile, ProjectBounds};
use protocol::{BlockRole, ComparedFile, ReadingTime};

use crate::support::Fixture;

fn compared(fixture: &Fixture, cwd: &str, reading: Option<&str>, agents: &[&str]) -> Compared {
    let agents: Vec<&'static Profile> = match agents {
        [] => PROFILES.to_vec(),
        names => names.iter().map(|name| Profile::find(name).unwrap()).collect(),
    };
    let homes = HomeDirectories::find(Some(fixture.path("home")), |_| None);
    let settings = FileSettings {
        homes,
        bounds: ProjectBounds::Workspace(fixture.path("repo")),
        ..FileSettings::default()
    };
    let cwd = fixture.path(cwd);
    let reading = reading.map(|file| fixture.path(file));
    let request =
        CompareRequest { cwd: &cwd, reading: reading.as_deref(), agents: &agents, settings: &settings };
    compare(&request).unwrap()
}

/// Path below the fixture, outcome and time of an agent's files.
fn files(fixture: &Fixture, compared: &Compared, agent: &str) -> Vec<(String, Outcome, ReadingTime)> {
    let root = fixture.path("repo").to_string_lossy().into_owned() + "/";
    let agent = compared.comparison.agents.iter().find(|known| known.agent == agent).unwrap();
    let shown = |file: &ComparedFile| (file.path.replacen(&root, "", 1), file.outcome, file.when);
    agent.files.iter().map(shown).collect()
}

fn read(fixture: &Fixture, compared: &Compared, agent: &str, when: ReadingTime) -> Vec<String> {
    let files = files(fixture, compared, agent).into_iter();
    let is_read = |(_, outcome, time): &(String, Outcome, ReadingTime)| {
        matches!(outcome, Outcome::Used | Outcome::Truncated) && *time == when
    };
    files.filter(is_read).map(|(path, ..)| path).collect()
}

#[track_caller]
fn says(compared: &Compared, sentence: &str) {
    let differences = &compared.comparison.differences;
    assert!(differences.iter().any(|known| known == sentence), "{sentence:?} is not in {differences:#?}");
}

#[test]
fn losses_are_reported_in_bytes() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/AGENTS.md * 45984
        repo/a/AGENTS.md * 800
        ",
    );
    let compared = compared(&fixture, "repo/a", None, &["codex", "opencode", "gemini-cli"]);
    says(&compared, "Codex drops the last 13,216 bytes of AGENTS.md");
    says(&compared, "Codex drops all 800 bytes of a/AGENTS.md, which no longer fits");
    says(&compared, "opencode puts the nearest file first");
    says(&compared, "Gemini CLI reads nothing here");
    says(&compared, "Codex puts the files into a user message, the others into the system prompt");
    let [codex, opencode, gemini] = compared.comparison.agents.as_slice() else { panic!() };
    assert_eq!((codex.bytes, codex.lost_bytes, codex.role), (32_768, 14_016, Some(BlockRole::User)));
    assert_eq!((opencode.bytes, opencode.lost_bytes), (46_784, 0));
    assert_eq!((gemini.bytes, gemini.tokens, gemini.version.as_deref()), (0, 0, Some("0.61.0")));
    let cut = &codex.files[0];
    assert_eq!((cut.outcome, cut.bytes, cut.kept_bytes), (Outcome::Truncated, 45_984, 32_768));
    assert!(cut.tokens > 0 && cut.tokens == codex.tokens);
    let dropped = &codex.files[1];
    assert_eq!((dropped.outcome, dropped.bytes, dropped.kept_bytes), (Outcome::OverBudget, 800, 0));
    assert_eq!(dropped.role, None);
}

#[test]
fn names_read_by_some_agents() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/AGENTS.md = A
        repo/CLAUDE.md = C
        repo/AGENTS.override.md = \\n
        ",
    );
    let compared = compared(&fixture, "repo", None, &["codex", "claude-code", "pi", "qwen-code"]);
    says(&compared, "Codex reads nothing here");
    says(&compared, "Claude Code does not read AGENTS.md, because CLAUDE.md comes first");
    says(&compared, "pi does not read AGENTS.md or CLAUDE.md, because AGENTS.override.md comes first");
    says(&compared, "Qwen Code does not read CLAUDE.md");
    let codex = files(&fixture, &compared, "codex");
    let start = ReadingTime::Start;
    assert!(codex.contains(&("AGENTS.override.md".to_owned(), Outcome::Blank, start)), "{codex:?}");
    assert!(codex.contains(&("AGENTS.md".to_owned(), Outcome::Shadowed, start)), "{codex:?}");
    assert!(codex.contains(&("CLAUDE.md".to_owned(), Outcome::Ignored, start)), "{codex:?}");
}

#[test]
fn equal_files_are_described_as_equal() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/AGENTS.md = A
        repo/CLAUDE.md = @AGENTS.md\\n
        repo/GEMINI.md -> AGENTS.md
        ",
    );
    let compared = compared(&fixture, "repo", None, &["codex", "claude-code", "gemini-cli", "copilot"]);
    says(&compared, "CLAUDE.md only imports AGENTS.md");
    says(&compared, "GEMINI.md links to AGENTS.md");
    says(&compared, "GitHub Copilot CLI gets AGENTS.md twice, once where it is imported");
    let differences = &compared.comparison.differences;
    assert!(!differences.iter().any(|sentence| sentence.contains("not read")), "{differences:#?}");
    assert_eq!(read(&fixture, &compared, "claude-code", ReadingTime::Start), ["CLAUDE.md", "AGENTS.md"]);
}

// Recorded from the real agents, while a tool of each read `sub/deep/x.txt`.
#[test]
fn reading_below_adds_files() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/AGENTS.md = root
        repo/sub/AGENTS.md = A
        repo/sub/CLAUDE.md = C
        repo/sub/CLAUDE.local.md = L
        repo/sub/.claude/CLAUDE.md = D
        repo/sub/.claude/rules/r.md = R
        repo/sub/GEMINI.md = G
        repo/sub/deep/AGENTS.md = AA
        repo/sub/deep/CLAUDE.md = CC
        repo/sub/deep/GEMINI.md = GG
        ",
    );
    let compared = compared(&fixture, "repo", Some("repo/sub/deep/x.txt"), &[]);
    let read = |agent: &str| read(&fixture, &compared, agent, ReadingTime::Reading);
    assert_eq!(read("goose"), ["sub/AGENTS.md", "sub/deep/AGENTS.md"]);
    for agent in ["codex", "pi", "qwen-code", "zed", "kimi"] {
        assert!(read(agent).is_empty(), "{agent}: {:?}", read(agent));
    }
    assert_eq!(
        read("claude-code"),
        [
            "sub/CLAUDE.md",
            "sub/.claude/CLAUDE.md",
            "sub/CLAUDE.local.md",
            "sub/.claude/rules/r.md",
            "sub/deep/CLAUDE.md"
        ]
    );
    assert_eq!(read("gemini-cli"), ["sub/GEMINI.md", "sub/deep/GEMINI.md"]);
    assert_eq!(read("opencode"), ["sub/deep/AGENTS.md", "sub/AGENTS.md"]);
    assert_eq!(
        read("copilot"),
        [
            "sub/deep/AGENTS.md",
            "sub/deep/CLAUDE.md",
            "sub/deep/GEMINI.md",
            "sub/AGENTS.md",
            "sub/CLAUDE.md",
            "sub/.claude/CLAUDE.md",
            "sub/GEMINI.md",
            "sub/.claude/rules/r.md"
        ]
    );
    assert_eq!(read("foreword"), ["sub/AGENTS.md", "sub/deep/AGENTS.md"]);
    let codex = files(&fixture, &compared, "codex");
    assert!(
        codex.contains(&("sub/AGENTS.md".to_owned(), Outcome::Ignored, ReadingTime::Reading)),
        "{codex:?}"
    );
    says(
        &compared,
        "when a tool reads sub/deep/x.txt, opencode, Kilo Code and opencode 2 get sub/deep/AGENTS.md and sub/AGENTS.md",
    );
    says(
        &compared,
        "when a tool reads sub/deep/x.txt, Codex, Qwen Code, pi, Cline, Droid, Grok, Kimi Code, Continue, Zed, \
         Amp, Antigravity, Devin, Junie, aider and pi 0.73.1 get nothing more",
    );
}

// Recorded from Claude Code, which reads AGENTS.md only where no file with its own names is in use.
#[test]
fn a_substitute_name_also_counts_below() {
    for (root, sub, brought) in [
        ("AGENTS.md", &["AGENTS.md"][..], &["sub/AGENTS.md"][..]),
        ("x", &["AGENTS.md"], &["sub/AGENTS.md"]),
        ("x", &["AGENTS.md", "deep/CLAUDE.md"], &["sub/deep/CLAUDE.md", "sub/AGENTS.md"]),
        ("x", &["AGENTS.md", "CLAUDE.md"], &["sub/CLAUDE.md"]),
        ("x", &["AGENTS.md", "CLAUDE.local.md"], &["sub/CLAUDE.local.md"]),
        ("x", &["AGENTS.md", ".claude/rules/r.md"], &["sub/.claude/rules/r.md", "sub/AGENTS.md"]),
        ("CLAUDE.md", &["AGENTS.md"], &[]),
        ("CLAUDE.local.md", &["AGENTS.md"], &[]),
        (".claude/CLAUDE.md", &["AGENTS.md"], &[]),
    ] {
        let mut lines = format!("repo/.git/\nrepo/{root} = root\n");
        for name in sub {
            lines.push_str(&format!("repo/sub/{name} = {name}\n"));
        }
        let fixture = Fixture::new(&lines);
        let compared = compared(&fixture, "repo", Some("repo/sub/deep/x.txt"), &["claude-code"]);
        let read = read(&fixture, &compared, "claude-code", ReadingTime::Reading);
        assert_eq!(read, brought, "{lines}");
    }
}

#[test]
fn reading_beside_the_working_directory_adds_nothing() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/a/x
        repo/b/CLAUDE.md = B
        repo/b/GEMINI.md = B
        repo/b/AGENTS.md = B
        ",
    );
    let agents = ["claude-code", "gemini-cli", "opencode", "copilot"];
    let compared = compared(&fixture, "repo/a", Some("repo/b/x"), &agents);
    for agent in agents {
        let read = read(&fixture, &compared, agent, ReadingTime::Reading);
        assert!(read.is_empty(), "{agent}: {read:?}");
    }
}

#[test]
fn rules_wait_for_a_matching_path() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/.claude/rules/ts.md = ---\\npaths: src/**/*.ts\\n---\\nTypes!
        repo/.claude/rules/py.md = ---\\npaths: '**/*.py'\\n---\\nSnakes!
        repo/.qwen/rules/ts.md = ---\\npaths: src/**/*.ts\\n---\\nTypes!
        repo/AGENTS.md = A
        repo/src/a.ts
        ",
    );
    let agents = ["claude-code", "qwen-code", "copilot"];
    let compared = compared(&fixture, "repo", Some("repo/src/a.ts"), &agents);
    let read = |agent| read(&fixture, &compared, agent, ReadingTime::Reading);
    assert_eq!(read("claude-code"), [".claude/rules/ts.md"]);
    assert_eq!(read("qwen-code"), [".qwen/rules/ts.md"]);
    assert_eq!(read("copilot"), [".claude/rules/ts.md"]);
    let waits = (".claude/rules/py.md".to_owned(), Outcome::NotApplicable, ReadingTime::Reading);
    assert!(files(&fixture, &compared, "claude-code").contains(&waits));
}

#[test]
fn files_added_to_a_result_are_cut() {
    // Claude Code cuts files that a tool brings in at 40,000 characters, while Gemini CLI passes them on whole.
    let fixture = Fixture::new("repo/.git/\nrepo/sub/CLAUDE.md * 40960\nrepo/sub/GEMINI.md * 40960");
    let compared = compared(&fixture, "repo", Some("repo/sub/x"), &["claude-code", "gemini-cli"]);
    let [claude, gemini] = compared.comparison.agents.as_slice() else { panic!() };
    assert_eq!((claude.bytes, claude.lost_bytes), (40_000, 960));
    assert_eq!(claude.files[0].outcome, Outcome::Truncated);
    assert_eq!((gemini.bytes, gemini.lost_bytes), (40_960, 0));
    says(&compared, "Claude Code drops the last 960 bytes of sub/CLAUDE.md");
}

#[test]
fn your_own_files_have_their_own_role() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/GEMINI.md = G
        home/.gemini/GEMINI.md = mine
        home/.codex/AGENTS.md = mine
        ",
    );
    let compared = compared(&fixture, "repo", None, &["gemini-cli", "codex"]);
    let roles: Vec<_> = compared.comparison.agents[0].files.iter().map(|file| file.role).collect();
    assert_eq!(roles, [Some(BlockRole::System), Some(BlockRole::User)]);
    says(&compared, "Codex reads only your own files here");
}

#[test]
fn traps_and_broken_settings_are_reported() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/GEMINI.md |
        repo/AGENTS.md = A
        home/.codex/config.toml = broken =
        ",
    );
    let compared = compared(&fixture, "repo", None, &["codex", "gemini-cli", "pi"]);
    says(&compared, "GEMINI.md is a FIFO and keeps Gemini CLI waiting for ever");
    assert_eq!(compared.refusals.len(), 1);
    assert_eq!(compared.refusals[0].0, &CODEX);
    assert!(compared.comparison.agents[0].files.is_empty());
    assert!(compared.comparison.differences[0].contains("config.toml"));
}

#[test]
fn markdown_keeps_names_in_their_cells() {
    let fixture = Fixture::new("repo/.git/\nrepo/AGENTS.md * 40000");
    // The bar would begin another cell, the line break another row, and the backtick would end the inline code.
    let odd = fixture.path("repo/a|b\n`c`");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("AGENTS.md"), "A").unwrap();
    let compared = compared(&fixture, "repo/a|b\n`c`", None, &["codex", "opencode"]);
    let text = markdown(&compared.comparison, &compared.base);
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 4 + 4, "{text}");
    assert!(text.contains("| codex | 0.166.0 | user | 1 | 32,768 |"), "{text}");
    assert!(text.contains("cut (32,768 of 40,000)"), "{text}");
    for row in &table[4..] {
        let cells = row.replace("\\|", "").matches('|').count();
        assert_eq!(cells, 4, "{row}");
    }
}

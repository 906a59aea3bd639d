//! Surprising behavior observed in the real agents, each in the smallest tree that shows it.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use std::path::{Path, PathBuf};

use instructions::{FileSettings, HomeDirectories, Outcome, Profile, Request, Resolution, survey};
use serde_json::{Value, json};
use support::Tree;

/// Resolves a repository with these files for an agent started in `cwd`.
struct Seen {
    _tree: Tree,
    parent: PathBuf,
}

impl Seen {
    fn new(files: &Value) -> Self {
        let tree = Tree::new();
        let parent = tree.directory("");
        tree.directory("home");
        tree.fill(&parent, &json!({ "repo/.git": { "git": true }, "repo/a/b/x.txt": "" }));
        tree.fill(&parent, files);
        Self { _tree: tree, parent }
    }

    fn by(&self, agent: &str, cwd: &str) -> Resolution {
        let homes = HomeDirectories::find(Some(self.parent.join("home")), |_| None);
        let settings = FileSettings { homes, ..FileSettings::of(Profile::find(agent).unwrap()) };
        survey(&Request { cwd: &self.parent.join(cwd), settings: &settings }).unwrap()
    }

    /// Returns the included files of the repository in order.
    fn files(&self, agent: &str, cwd: &str) -> Vec<String> {
        let repository = self.parent.join("repo");
        let shown =
            |path: &Path| path.strip_prefix(&repository).unwrap_or(path).to_string_lossy().into_owned();
        self.by(agent, cwd).files.iter().map(|file| shown(&file.path)).collect()
    }
}

fn text(resolution: &Resolution) -> &str {
    resolution.text.as_deref().unwrap_or_default()
}

#[test]
fn two_names_of_one_file_are_two_files_to_some() {
    for (name, agent, number) in [
        ("CLAUDE.md", "claude-code", 2),
        ("QWEN.md", "qwen-code", 2),
        ("GEMINI.md", "gemini-cli", 1),
        ("AGENTS.md", "foreword", 1),
    ] {
        let seen = Seen::new(&json!({ format!("repo/{name}"): "MARK\n" }));
        let repository = seen.parent.join("repo");
        // A hard link has two paths and one inode, which shows how an agent recognizes a file that it has read before.
        std::fs::hard_link(repository.join(name), repository.join("a").join(name)).unwrap();
        assert_eq!(seen.files(agent, "repo/a").len(), number, "{agent}");
    }
}

#[test]
fn a_next_line_character_is_a_text_to_some() {
    for (name, agent, is_read) in [
        ("CLAUDE.md", "claude-code", true),
        ("GEMINI.md", "gemini-cli", true),
        ("QWEN.md", "qwen-code", true),
        ("AGENTS.md", "codex", false),
    ] {
        // U+0085 is white space for Rust but not for JavaScript, so a file with nothing else is blank only for an agent
        // written in Rust.
        let seen = Seen::new(&json!({ format!("repo/{name}"): "\u{85}" }));
        assert_eq!(!seen.files(agent, "repo").is_empty(), is_read, "{agent}");
    }
}

#[test]
fn gemini_takes_a_backslash_for_a_slash() {
    let seen = Seen::new(&json!({ "repo/GEMINI.md": "ROOT\n", "repo/a\\x/GEMINI.md": "LOST\n" }));
    // The agent takes the backslash for a slash and looks in a directory `a/x`, which does not exist.
    assert_eq!(seen.files("gemini-cli", "repo/a\\x"), ["GEMINI.md"]);
    let resolution = seen.by("gemini-cli", "repo/a\\x");
    let lost = |outcome: Outcome| outcome == Outcome::Ignored;
    assert!(
        resolution.decisions.iter().any(|decision| lost(decision.outcome)
            && decision.detail().is_some_and(|why| why.contains("backslash")))
    );
    assert_eq!(seen.files("qwen-code", "repo/a\\x").len(), 0);
}

#[test]
fn claude_code_moves_main_files_to_their_first_import() {
    let seen = Seen::new(&json!({
        "repo/CLAUDE.md": "R @CLAUDE.local.md @a/b/CLAUDE.md\n",
        "repo/CLAUDE.local.md": "LOCAL\n",
        "repo/a/CLAUDE.md": "A\n",
        "repo/a/b/CLAUDE.md": "B @x.md\n",
        "repo/a/b/x.md": "X\n",
    }));
    assert_eq!(
        seen.files("claude-code", "repo"),
        ["CLAUDE.md", "CLAUDE.local.md", "a/b/CLAUDE.md", "a/b/x.md"]
    );
    let resolution = seen.by("claude-code", "repo");
    let called = format!(
        "Contents of {} (project instructions, checked into the codebase)",
        seen.parent.join("repo/CLAUDE.local.md").display()
    );
    assert!(text(&resolution).contains(&called), "{}", text(&resolution));
    // For an agent started further down, imports from above lead out of the working directory.
    let below = ["CLAUDE.md", "a/b/CLAUDE.md", "a/b/x.md", "CLAUDE.local.md", "a/CLAUDE.md"];
    assert_eq!(seen.files("claude-code", "repo/a/b"), below);
    // A private file keeps its label if no other file imports it.
    assert!(
        text(&seen.by("claude-code", "repo/a/b"))
            .contains("CLAUDE.local.md (user's private project instructions")
    );
}

#[test]
fn imports_of_your_own_file_are_labelled_yours() {
    let seen = Seen::new(&json!({ "home/.claude/CLAUDE.md": "H @{R}/CLAUDE.md\n", "repo/CLAUDE.md": "R\n" }));
    let resolution = seen.by("claude-code", "repo");
    let called = format!(
        "Contents of {} (user's private global instructions for all projects)",
        seen.parent.join("repo/CLAUDE.md").display()
    );
    assert!(text(&resolution).contains(&called), "{}", text(&resolution));
    assert_eq!(text(&resolution).matches("\nR").count(), 1, "{}", text(&resolution));
}

#[test]
fn front_matter_of_any_length_is_stripped() {
    // Our own limit for front matter is far smaller, and must not apply to text that the agent removes unparsed.
    let header = format!("---\nx: {}\n---\nMARK\n", "y".repeat(100_000));
    let seen = Seen::new(&json!({ "repo/CLAUDE.md": header }));
    let resolution = seen.by("claude-code", "repo");
    assert!(text(&resolution).contains("MARK") && !text(&resolution).contains("yyyy"));
}

#[test]
fn a_zero_byte_behind_an_import_costs_claude_code_everything() {
    let files = json!({ "home/.claude/CLAUDE.md": "OWN\n", "repo/CLAUDE.md": "R\n", "repo/a/CLAUDE.md": "A @x.md\0\n" });
    let seen = Seen::new(&files);
    assert_eq!(seen.by("claude-code", "repo/a").blocks.len(), 0);
    let resolution = seen.by("claude-code", "repo/a");
    let lost = resolution.decisions.iter().filter(|decision| decision.outcome == Outcome::Unreadable);
    assert_eq!(lost.count(), 3);
    assert_eq!(seen.files("claude-code", "repo").len(), 2);
    // A zero byte that is not part of an import does no harm.
    let seen = Seen::new(&json!({ "repo/CLAUDE.md": "R\0 x\n" }));
    assert_eq!(seen.files("claude-code", "repo"), ["CLAUDE.md"]);
}

#[test]
fn claude_code_ignores_imports_in_image_texts() {
    let files =
        json!({ "repo/CLAUDE.md": "![@j.md](z) [x @i.md](y)\n", "repo/i.md": "I\n", "repo/j.md": "J\n" });
    assert_eq!(Seen::new(&files).files("claude-code", "repo"), ["CLAUDE.md", "i.md"]);
}

#[test]
fn encodings_of_imports_differ_between_agents() {
    let marked = |name: &str| json!({ format!("repo/{name}"): "R @a.md\n", "repo/a.md": "\u{feff}A\n" });
    for (name, agent, kept) in [
        ("GEMINI.md", "gemini-cli", true),
        ("QWEN.md", "qwen-code", true),
        ("CLAUDE.md", "claude-code", false),
    ] {
        let seen = Seen::new(&marked(name));
        assert_eq!(text(&seen.by(agent, "repo")).contains("\u{feff}A"), kept, "{agent}");
    }
    // The base64 encodes `A`, a byte that is not UTF-8, and a line end.
    let files = json!({ "repo/AGENTS.md": "R @a.md\n", "repo/GEMINI.md": "R @a.md\n", "repo/a.md": { "base64": "Qf8K" } });
    let seen = Seen::new(&files);
    let copilot = seen.by("copilot", "repo");
    assert!(
        text(&copilot).contains("R @a.md\n") && !text(&copilot).contains("A\u{fffd}"),
        "{}",
        text(&copilot)
    );
    assert!(text(&seen.by("gemini-cli", "repo")).contains("A\u{fffd}"));
}

#[test]
fn copilot_reads_linked_rules_once_and_strips_hidden_characters() {
    let seen = Seen::new(&json!({
        "repo/docs/rule.md": "MARK\u{200b}ED\u{202e}\n",
        "repo/.claude/rules/a.md": { "symlink": "{R}/docs/rule.md" },
        "repo/.claude/rules/b.md": { "symlink": "{R}/docs/rule.md" },
        "repo/.github/instructions/c.instructions.md": { "symlink": "{R}/docs/rule.md" },
        "repo/.claude/rules/copy.md": "MARK\u{200b}ED\u{202e}\n",
        "repo/AGENTS.md": "MAIN\n",
        "repo/.claude/rules/main.md": { "symlink": "{R}/AGENTS.md" },
    }));
    let resolution = seen.by("copilot", "repo");
    // Three links lead to one rule, which is read once. The copy is another file and is read as well.
    assert_eq!(text(&resolution).matches("MARKED").count(), 2, "{}", text(&resolution));
    assert!(!text(&resolution).contains(['\u{200b}', '\u{202e}']));
    assert_eq!(text(&resolution).matches("MAIN").count(), 2, "a main file is none of the rules");
}

#[test]
fn only_copilot_reads_nothing_inside_git() {
    let seen = Seen::new(&json!({ "repo/AGENTS.md": "ROOT\n", "repo/.git/x/y": "" }));
    assert_eq!(seen.files("copilot", "repo/.git/x").len(), 0);
    for agent in ["codex", "pi", "opencode"] {
        assert_eq!(seen.files(agent, "repo/.git/x"), ["AGENTS.md"], "{agent}");
    }
}

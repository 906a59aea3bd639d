//! Agents in use, and the losses of each.

use compare::{here, sentence};
use instructions::{FileSettings, HomeDirectories, Profile, Request};

use crate::support::Fixture;

fn lines(fixture: &Fixture, cwd: &str) -> Vec<String> {
    let homes = HomeDirectories::find(Some(fixture.path("home")), |_| None);
    let settings = FileSettings { homes, ..FileSettings::default() };
    let cwd = fixture.path(cwd);
    let ours = instructions::survey(&Request { cwd: &cwd, settings: &settings }).unwrap();
    let line = |profile: &'static Profile| {
        format!("{} {}", profile.agent.title, sentence(profile, &ours, &settings))
    };
    here(&ours, &settings).into_iter().map(line).collect()
}

#[test]
fn agents_without_traces_are_omitted() {
    let fixture = Fixture::new("repo/.git/\nrepo/AGENTS.md = A\nhome/");
    assert!(lines(&fixture, "repo").is_empty());
}

#[test]
fn losses_of_each_agent() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/AGENTS.md * 45984
        repo/CLAUDE.md = @AGENTS.md\\n
        home/.codex/
        home/.gemini/
        home/.pi/agent/
        ",
    );
    assert_eq!(
        lines(&fixture, "repo"),
        [
            "Codex loses the last 13,216 bytes of AGENTS.md",
            "Claude Code reads CLAUDE.md, which only imports AGENTS.md; loses nothing",
            "Gemini CLI reads nothing here, and so loses 45,984 bytes",
            "pi loses nothing",
        ]
    );
}

#[test]
fn links_and_copies_replace_their_equals() {
    let fixture = Fixture::new(
        "
        repo/.git/
        repo/AGENTS.md = A
        repo/GEMINI.md -> AGENTS.md
        repo/sub/AGENTS.md = B
        repo/sub/GEMINI.md = B
        repo/sub/.claude/
        repo/CLAUDE.md = mine
        ",
    );
    assert_eq!(
        lines(&fixture, "repo/sub"),
        [
            "Claude Code does not read AGENTS.md or sub/AGENTS.md (2 bytes)",
            "Gemini CLI reads GEMINI.md, which links to AGENTS.md; reads sub/GEMINI.md, which equals sub/AGENTS.md; \
             loses nothing",
        ]
    );
}

#[test]
fn an_agent_that_would_not_start_is_reported() {
    let fixture = Fixture::new("repo/.git/\nrepo/AGENTS.md = A\nhome/.codex/config.toml = broken =");
    let [line] = lines(&fixture, "repo").try_into().unwrap();
    assert!(line.starts_with("Codex would not start here: ") && line.contains("config.toml"), "{line}");
}

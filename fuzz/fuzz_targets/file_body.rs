//! Any bytes as the text of an AGENTS.md file, by every profile with a wrapper of ours and with any limit.
#![no_main]

use std::path::Path;

use arbitrary::Arbitrary;
use instructions::profile::{Rendering, UnsafeText};
use instructions::{
    CODEX, FOREWORD, FileSettings, HomeDirectories, Outcome, PROFILES, Profile, Request, Resolution,
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    limit: Option<u16>,
    files: Option<u8>,
    home: Option<&'a [u8]>,
    root: &'a [u8],
    leaf: &'a [u8],
}

/// The tags that a text must not be able to open or close.
const TAGS: &[&str] = &["agents_md", "agents_context", "system-reminder", "instructions"];

fuzz_target!(|input: Input<'_>| {
    let directory = tempfile::tempdir().expect("a directory");
    let top = directory.path().canonicalize().expect("a path");
    let root = top.join("r");
    let cwd = top.join("r/d");
    let home = top.join("h");
    for directory in [&cwd, &home, &root.join(".git")] {
        std::fs::create_dir_all(directory).expect("a directory");
    }
    std::fs::write(root.join("AGENTS.md"), input.root).expect("a file");
    std::fs::write(cwd.join("AGENTS.md"), input.leaf).expect("a file");
    // Something to import, which goes on importing.
    std::fs::write(root.join("i"), input.leaf).expect("a file");
    std::fs::write(cwd.join("i"), input.root).expect("a file");
    if let Some(text) = input.home {
        std::fs::write(home.join("AGENTS.md"), text).expect("a file");
    }
    let settings = FileSettings::default().with(|agents| {
        agents.initial.max_bytes = input.limit.map(u64::from);
        agents.initial.max_files = input.files.map(u64::from);
    });
    let homes = HomeDirectories::of_user(Some(top.clone()));
    let homes = homes.with(&FOREWORD, &home).with(&CODEX, &home);
    // What the forms of other agents promise is held against recordings of them.
    let wrapped = PROFILES.iter().filter(|profile| !matches!(profile.render.form, Rendering::Forms(_)));
    for profile in wrapped.copied() {
        let settings = FileSettings { profile, homes: homes.clone(), ..settings.clone() };
        let request = Request { cwd: &cwd, settings: &settings };
        let found = instructions::resolve(&request, None).expect("an answer");
        check(profile, &settings, &cwd, &found);
        let surveyed = instructions::survey(&request).expect("an answer");
        assert_eq!(surveyed.text, found.text, "a survey finds the same text");
    }
});

fn check(profile: &Profile, settings: &FileSettings, cwd: &Path, found: &Resolution) {
    let limit = settings.max_bytes();
    let project = || found.files.iter().filter(|file| file.limited);
    let kept: u64 = project().map(|file| file.kept_bytes).sum();
    assert!(kept <= limit, "{}: {kept} of {limit} bytes", profile.name);
    if let Some(limit) = settings.max_files() {
        let whole = project().filter(|file| file.kept_bytes > 0).count() as u64;
        assert!(whole <= limit, "{}: {whole} of {limit} files", profile.name);
    }
    for file in &found.files {
        assert!(file.kept_bytes <= file.bytes);
        assert_eq!(file.truncated, file.kept_bytes < file.bytes);
        let outcome = found.decisions.iter().find(|decision| decision.path == file.path).map(|it| it.outcome);
        let expected = match (file.truncated, file.kept_bytes) {
            (false, _) => &[Outcome::Used][..],
            (true, 0) => &[Outcome::OverBudget, Outcome::Truncated],
            (true, _) => &[Outcome::Truncated],
        };
        assert!(outcome.is_some_and(|outcome| expected.contains(&outcome)), "{outcome:?} {file:?}");
    }
    let Some(text) = &found.text else {
        assert!(found.files.is_empty() && found.blocks.is_empty());
        return;
    };
    let (opening, closing) = match profile.render.form {
        Rendering::AgentsContext => {
            ("<agents_context scope=\"initial\">\n".to_owned(), "\n</agents_context>")
        }
        Rendering::Instructions => {
            let place =
                if project().next().is_some() { format!(" for {}", cwd.display()) } else { String::new() };
            (format!("# AGENTS.md instructions{place}\n\n<INSTRUCTIONS>\n"), "\n</INSTRUCTIONS>")
        }
        Rendering::Forms(_) => return,
    };
    let body = text.strip_prefix(opening.as_str()).and_then(|rest| rest.strip_suffix(closing));
    let body = body.unwrap_or_else(|| panic!("{}: no wrapper around {text:?}", profile.name));
    if profile.text.unsafe_text == UnsafeText::MadeHarmless {
        assert!(!has_tag(body), "a tag of ours in {body:?}");
    }
}

/// Looks for a tag in another way than the code that removes them: by the name, then backwards.
fn has_tag(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    TAGS.iter().any(|tag| {
        lower.match_indices(tag).any(|(position, _)| {
            let ends = lower[position + tag.len()..].chars().next();
            let is_longer = ends.is_some_and(|next| next.is_ascii_alphanumeric() || "_-".contains(next));
            let before = lower[..position].trim_end_matches(|c: char| c.is_ascii_whitespace());
            let before = before.strip_suffix('/').unwrap_or(before);
            !is_longer && before.trim_end_matches(|c: char| c.is_ascii_whitespace()).ends_with('<')
        })
    })
}

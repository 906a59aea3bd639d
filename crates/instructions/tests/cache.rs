//! A cached answer equals a fresh one, whatever happened in between.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its files has failed")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use instructions::{
    CODELIA, CODEX, Cache, FOREWORD, FileSettings, HomeDirectories, Profile, Request, resolve,
};

/// Longer than the time that a file must be at rest before the cache trusts it.
const SETTLING: Duration = Duration::from_millis(2_100);

/// A change to a project between two resolutions of `project/a/b`.
type Event = (&'static str, fn(&Path));

const EVENTS: &[Event] = &[
    ("nothing", |_| {}),
    ("a file is changed to the same size", |at| {
        fs::write(at.join("project/a/AGENTS.md"), "in A\n").unwrap();
    }),
    ("a file is replaced", |at| {
        fs::write(at.join("new"), "new\n").unwrap();
        fs::rename(at.join("new"), at.join("project/AGENTS.md")).unwrap();
    }),
    ("a file goes", |at| fs::remove_file(at.join("project/a/AGENTS.md")).unwrap()),
    ("a file appears", |at| fs::write(at.join("project/a/b/AGENTS.md"), "new\n").unwrap()),
    ("an override appears", |at| fs::write(at.join("project/a/AGENTS.override.md"), "over\n").unwrap()),
    ("a local file appears", |at| fs::write(at.join("project/a/AGENTS.local.md"), "local\n").unwrap()),
    ("a nearer marker appears", |at| fs::create_dir(at.join("project/a/.git")).unwrap()),
    ("the marker goes", |at| fs::remove_dir(at.join("project/.git")).unwrap()),
    ("a link leads elsewhere", |at| {
        fs::remove_file(at.join("project/linked")).unwrap();
        symlink("other-target", at.join("project/linked")).unwrap();
    }),
    ("what a link leads to changes", |at| fs::write(at.join("project/target"), "changed\n").unwrap()),
    ("what a dangling link names appears", |at| fs::write(at.join("project/nowhere"), "here\n").unwrap()),
    ("an imported file changes", |at| fs::write(at.join("project/docs/style.md"), "other\n").unwrap()),
    ("an imported file goes", |at| fs::remove_file(at.join("project/docs/style.md")).unwrap()),
    ("what an import names appears", |at| fs::write(at.join("project/docs/later.md"), "later\n").unwrap()),
    ("what an import leads to changes", |at| fs::write(at.join("project/docs/target.md"), "b\n").unwrap()),
    ("a rule comes to match", |at| {
        fs::write(at.join("project/AGENTS.override.md"), "---\napplies_to: a/**\n---\nrule\n").unwrap();
    }),
    ("a home file appears", |at| fs::write(at.join("home/AGENTS.override.md"), "mine\n").unwrap()),
    ("the home file goes", |at| fs::remove_file(at.join("home/AGENTS.md")).unwrap()),
    ("the home directory goes", |at| fs::remove_dir_all(at.join("home")).unwrap()),
    ("a file becomes a directory", |at| {
        fs::remove_file(at.join("project/AGENTS.md")).unwrap();
        fs::create_dir(at.join("project/AGENTS.md")).unwrap();
    }),
    ("permissions change", |at| {
        fs::set_permissions(at.join("project/AGENTS.md"), fs::Permissions::from_mode(0o000)).unwrap();
    }),
    ("a directory above is swapped", |at| {
        fs::rename(at.join("project/a"), at.join("project/was")).unwrap();
        fs::create_dir_all(at.join("project/a/b")).unwrap();
    }),
    ("the agent's settings appear", |at| {
        fs::write(at.join("codex/config.toml"), "project_doc_max_bytes = 3\n").unwrap();
    }),
    ("the working directory goes", |at| fs::remove_dir_all(at.join("project/a/b")).unwrap()),
    ("the working directory becomes a file", |at| {
        fs::remove_dir_all(at.join("project/a/b")).unwrap();
        fs::write(at.join("project/a/b"), "").unwrap();
    }),
];

fn lay_out(at: &Path) {
    fs::create_dir_all(at.join("project/a/b")).unwrap();
    fs::create_dir_all(at.join("project/.git")).unwrap();
    fs::create_dir_all(at.join("home")).unwrap();
    fs::create_dir_all(at.join("codex")).unwrap();
    fs::write(at.join("home/AGENTS.md"), "home\n").unwrap();
    fs::write(at.join("project/AGENTS.md"), "root @docs/style.md @docs/later.md @docs/linked.md\n").unwrap();
    fs::write(at.join("project/AGENTS.override.md"), "---\napplies_to: b/**\n---\nrule\n").unwrap();
    fs::create_dir(at.join("project/docs")).unwrap();
    fs::write(at.join("project/docs/style.md"), "style\n").unwrap();
    fs::write(at.join("project/docs/target.md"), "a\n").unwrap();
    symlink("target.md", at.join("project/docs/linked.md")).unwrap();
    fs::write(at.join("project/a/AGENTS.md"), "in a\n").unwrap();
    fs::write(at.join("project/target"), "target\n").unwrap();
    fs::write(at.join("project/other-target"), "other target\n").unwrap();
    symlink("target", at.join("project/linked")).unwrap();
    symlink("../linked", at.join("project/a/AGENTS.local.md.link")).unwrap();
    symlink("linked", at.join("project/AGENTS.local.md")).unwrap();
    symlink("../../nowhere", at.join("project/a/b/AGENTS.local.md")).unwrap();
}

/// Answers as text, so that errors are compared as well.
fn answer(profile: &'static Profile, at: &Path, cache: Option<&Cache>) -> String {
    let homes = HomeDirectories::default().with(&FOREWORD, at.join("home")).with(&CODEX, at.join("codex"));
    let settings = FileSettings { homes, ..FileSettings::of(profile) };
    let cwd = at.join("project/a/b");
    let request = Request { cwd: &cwd, settings: &settings };
    match resolve(&request, cache) {
        Ok(resolution) => serde_json::to_string_pretty(&*resolution).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_cached_answer_is_never_stale() {
    let directory = tempfile::tempdir().unwrap();
    let places: Vec<PathBuf> =
        (0..EVENTS.len()).map(|index| directory.path().join(index.to_string())).collect();
    places.iter().for_each(|place| lay_out(place));
    let profiles = [&FOREWORD, &CODEX, &CODELIA];
    let cache = Cache::new();
    // The first resolution reads files that were just written. The cache must not trust those later.
    for profile in profiles {
        places.iter().for_each(|place| drop(answer(profile, place, Some(&cache))));
    }
    std::thread::sleep(SETTLING);
    for _ in 0..2 {
        for profile in profiles {
            for place in &places {
                assert_eq!(answer(profile, place, Some(&cache)), answer(profile, place, None));
            }
        }
    }
    for (place, (event, happen)) in places.iter().zip(EVENTS) {
        let before = answer(&FOREWORD, place, None);
        happen(place);
        for profile in profiles {
            let fresh = answer(profile, place, None);
            assert_eq!(answer(profile, place, Some(&cache)), fresh, "{}: {event}", profile.name);
            assert_eq!(answer(profile, place, Some(&cache)), fresh, "{}, again: {event}", profile.name);
        }
        // Every other event must change the answer, or it tests nothing.
        let unseen = ["nothing", "permissions change", "the agent's settings appear"];
        assert_eq!(answer(&FOREWORD, place, None) == before, unseen.contains(event), "{event}");
    }
}

#[test]
fn an_unchanged_answer_is_shared() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join(".git")).unwrap();
    fs::write(directory.path().join("AGENTS.md"), "text\n").unwrap();
    std::thread::sleep(SETTLING);
    let settings = FileSettings::default();
    let request = Request { cwd: directory.path(), settings: &settings };
    let cache = Cache::new();
    let first = resolve(&request, Some(&cache)).unwrap();
    assert!(Arc::ptr_eq(&first, &resolve(&request, Some(&cache)).unwrap()));
    // Other settings are another request, although all files are the same.
    let limited = FileSettings::default().with(|agents| agents.initial.max_bytes = Some(2));
    let other = resolve(&Request { settings: &limited, ..request }, Some(&cache)).unwrap();
    assert_ne!(first.text, other.text);
}

/// Threads that share a cache while files change never see a mixture or a stale state.
#[test]
fn threads_share_a_cache() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("AGENTS.md");
    fs::create_dir(directory.path().join(".git")).unwrap();
    fs::write(&file, "0").unwrap();
    let cache = Cache::new();
    let settings = FileSettings::default();
    let request = Request { cwd: directory.path(), settings: &settings };
    // A rename replaces the file atomically, so each thread must see the text of this round, and no other. The changes
    // follow each other within one tick of the clock, which is the hardest case for the cache.
    for round in 1..200 {
        fs::write(directory.path().join("new"), round.to_string()).unwrap();
        fs::rename(directory.path().join("new"), &file).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let text = resolve(&request, Some(&cache)).unwrap().text.clone().unwrap();
                    assert!(text.contains(&format!("\n{round}\n")), "{text}");
                });
            }
        });
    }
}

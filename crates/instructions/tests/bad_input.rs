//! Any input on disk or in the settings leads to a decision or a clear error, never to a panic or a hang.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use instructions::{
    CLAUDE_CODE, CODELIA, CODEX, DiagnosticCode, FOREWORD, FileSettings, HomeDirectories, Outcome,
    ProjectBounds, Request, Resolution, ResolveError, SettingsError, resolve, survey,
};
use serde_json::json;
use support::Tree;

fn ask(cwd: &Path, settings: &FileSettings) -> Result<Resolution, ResolveError> {
    let request = Request { cwd, settings };
    // A survey considers many more names. It explains the result and must never change it.
    let lean = resolve(&request, None)?;
    let full = survey(&request)?;
    assert_eq!(lean.text, full.text, "a survey finds the same text");
    Ok(full)
}

fn fate(resolution: &Resolution, name: &str) -> Vec<Outcome> {
    resolution
        .decisions
        .iter()
        .filter(|decision| decision.path.ends_with(name) && decision.outcome != Outcome::Absent)
        .map(|decision| decision.outcome)
        .collect()
}

fn project(tree: &Tree, files: serde_json::Value) -> PathBuf {
    let root = tree.directory("root");
    tree.fill(&root, &json!({ ".git": { "dir": true } }));
    tree.fill(&root, &files);
    root
}

#[test]
fn pipes_devices_loops_and_directories_are_passed_over() {
    let tree = Tree::new();
    let root = project(
        &tree,
        json!({
            "a/AGENTS.md": { "fifo": true },
            "a/b/AGENTS.md": { "dir": true },
            "a/b/c/AGENTS.md": { "symlink": "AGENTS.md" },
            "a/b/c/d/AGENTS.md": { "symlink": "/dev/zero" },
            "a/b/c/d/e/AGENTS.md": { "symlink": "nowhere" },
            "a/b/c/d/e/f/AGENTS.md": "leaf",
        }),
    );
    let found = ask(&root.join("a/b/c/d/e/f"), &FileSettings::default()).unwrap();
    assert_eq!(fate(&found, "a/AGENTS.md"), [Outcome::NotAFile]);
    assert_eq!(fate(&found, "b/AGENTS.md"), [Outcome::NotAFile]);
    assert_eq!(fate(&found, "c/AGENTS.md"), [Outcome::Unreadable]);
    assert_eq!(fate(&found, "d/AGENTS.md"), [Outcome::OutsideRoot]);
    assert_eq!(fate(&found, "e/AGENTS.md"), [Outcome::NotAFile]);
    assert_eq!(fate(&found, "f/AGENTS.md"), [Outcome::Used]);
}

#[test]
fn a_dangling_link_is_reported_and_hides_nothing() {
    let tree = Tree::new();
    let root = project(
        &tree,
        json!({
            "AGENTS.override.md": { "symlink": "nowhere.md" },
            "AGENTS.md": "root",
            "AGENTS.local.md": { "symlink": "/no/where" },
        }),
    );
    let about = |profile| {
        let settings = FileSettings::of(profile);
        let request = Request { cwd: &root, settings: &settings };
        let found = survey(&request).unwrap();
        assert_eq!(fate(&found, "root/AGENTS.md"), [Outcome::Used]);
        found
    };
    let found = about(&FOREWORD);
    let reasons: Vec<(Outcome, String)> = found
        .decisions
        .iter()
        .filter(|decision| decision.outcome != Outcome::Used)
        .map(|decision| (decision.outcome, decision.detail().unwrap_or_default()))
        .collect();
    let detail =
        |target| format!("it is a link to {target}, which leads nowhere; fix the link, or remove it");
    assert_eq!(
        reasons,
        [(Outcome::NotAFile, detail("nowhere.md")), (Outcome::NotAFile, detail("/no/where"))]
    );
    assert_eq!(fate(&about(&CODEX), "AGENTS.override.md"), []);
    fs::remove_file(root.join("AGENTS.override.md")).unwrap();
    fs::rename(root.join("AGENTS.md"), root.join("kept.md")).unwrap();
    symlink("AGENTS.override.md", root.join("AGENTS.md")).unwrap();
    let settings = FileSettings::of(&CODELIA);
    let request = Request { cwd: &root, settings: &settings };
    assert_eq!(fate(&survey(&request).unwrap(), "root/AGENTS.md"), [Outcome::NotAFile]);
}

#[test]
fn unreadable_files_cost_only_themselves() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root", "a/AGENTS.md": "leaf" }));
    fs::set_permissions(root.join("AGENTS.md"), fs::Permissions::from_mode(0o0)).unwrap();
    let found = ask(&root.join("a"), &FileSettings::default()).unwrap();
    // The superuser can read every file, so this test only works for other users.
    let expected = if fs::read(root.join("AGENTS.md")).is_ok() { Outcome::Used } else { Outcome::Unreadable };
    assert_eq!(fate(&found, "root/AGENTS.md"), [expected]);
    assert!(found.text.unwrap().contains("leaf"));
}

#[test]
fn a_directory_that_does_not_exist_is_an_error() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "file": "x" }));
    let missing = ask(&root.join("missing"), &FileSettings::default()).unwrap_err();
    assert!(matches!(missing, ResolveError::Directory { .. }), "{missing}");
    let file = ask(&root.join("file"), &FileSettings::default()).unwrap_err();
    assert!(matches!(file, ResolveError::NotADirectory { .. }), "{file}");
}

#[test]
fn names_that_are_not_utf8_are_read() {
    let tree = Tree::new();
    let root = project(&tree, json!({}));
    let odd = root.join(OsStr::from_bytes(b"od\xffd\n"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("AGENTS.md"), "odd").unwrap();
    let text = ask(&odd, &FileSettings::default()).unwrap().text.unwrap();
    assert!(text.contains("od\u{fffd}d\\n/AGENTS.md\nodd"), "{text}");
}

#[test]
fn a_very_deep_directory_is_an_error_or_an_answer() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root" }));
    let reachable = root.join("d/".repeat(1_000));
    fs::create_dir_all(&reachable).unwrap();
    assert!(ask(&reachable, &FileSettings::default()).unwrap().text.is_some());
    // The path is longer than the system allows, so the directory cannot even be named in a system call.
    let too_deep = root.join("d/".repeat(10_000));
    assert!(matches!(ask(&too_deep, &FileSettings::default()), Err(ResolveError::Directory { .. })));
}

#[test]
fn a_directory_with_many_entries_is_resolved() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root", "agents.MD": "other case" }));
    for number in 0..20_000 {
        fs::File::create(root.join(format!("entry{number}"))).unwrap();
    }
    let found = ask(&root, &FileSettings::default()).unwrap();
    assert_eq!(fate(&found, "agents.MD"), [Outcome::Ignored]);
}

#[test]
fn a_dangling_marker_is_reported_and_does_not_count() {
    let tree = Tree::new();
    let root = tree.directory("root");
    symlink("nowhere", root.join(".git")).unwrap();
    tree.fill(&root, &json!({ "AGENTS.md": "root", "a/AGENTS.md": "a" }));
    let found = ask(&root.join("a"), &FileSettings::default()).unwrap();
    assert_eq!(found.root, None);
    assert!(found.diagnostics.iter().any(|diagnostic| diagnostic.code == DiagnosticCode::DanglingMarker));
}

#[test]
fn contradicting_settings_are_errors() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root" }));
    let with = |settings: FileSettings| match ask(&root, &settings) {
        Err(ResolveError::Settings(error)) => error,
        other => panic!("{other:?}"),
    };
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let fallback = with(FileSettings::default().with(|agents| agents.fallback_filenames = names(&["../x"])));
    assert_eq!(fallback, SettingsError::FallbackName { name: "../x".into() });
    let marker = with(FileSettings::default().with(|agents| agents.root.markers = names(&["/etc"])));
    assert_eq!(marker, SettingsError::Marker { name: "/etc".into() });
    let elsewhere = with(
        FileSettings::default()
            .with(|agents| agents.root.project_root_override = Some("/somewhere/else".into())),
    );
    assert!(matches!(elsewhere, SettingsError::RootElsewhere { .. }));
}

#[test]
fn a_growing_file_is_read_within_bounds() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "start\n" }));
    let path = root.join("AGENTS.md");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write as _;
            let mut file = fs::File::options().append(true).open(&path).unwrap();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                file.write_all(b"more and more and more\n").unwrap();
            }
        });
        // The scheduler decides if a read meets a write, so one attempt would prove little.
        for _ in 0..200 {
            let settings = FileSettings::default();
            let found = resolve(&Request { cwd: &root, settings: &settings }, None).unwrap();
            assert!(found.files[0].kept_bytes <= 32_768);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_huge_file_costs_no_more_than_the_limit() {
    let tree = Tree::new();
    let root = project(&tree, json!({}));
    let file = fs::File::create(root.join("AGENTS.md")).unwrap();
    // A sparse file: it takes no space on disk, but reading all of it would take minutes.
    file.set_len(10 * 1024 * 1024 * 1024).unwrap();
    let started = std::time::Instant::now();
    let found = ask(&root, &FileSettings::default()).unwrap();
    assert_eq!(found.files[0].bytes, 10 * 1024 * 1024 * 1024);
    assert!(found.files[0].kept_bytes <= 32_768);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "it was not read whole");
}

#[test]
fn a_mark_does_not_deny_unread_headings() {
    let tree = Tree::new();
    let filler = "text\n".repeat(40_000);
    // The files are larger than what is read of them, so headings near their end are unknown and must not be denied.
    let marks = |text: String| {
        let root = project(&tree, json!({ "AGENTS.md": text }));
        let text = ask(&root, &FileSettings::default()).unwrap().text.unwrap();
        let mark = text.lines().find(|line| line.starts_with("[foreword: ")).unwrap().to_owned();
        mark.replace(&*root.to_string_lossy(), "{R}")
    };
    assert_eq!(
        marks(format!("{filler}# Late\n")),
        "[foreword: 32765 of 200007 bytes shown; omitted headings: none in what was read; the last 101703 bytes were \
         not looked at. Read {R}/AGENTS.md for the rest.]"
    );
    assert_eq!(
        marks(format!("{}# Early\n{filler}# Late\n", &filler[..40_000])),
        "[foreword: 32765 of 240015 bytes shown; omitted headings: Early; the last 141711 bytes were not looked at. \
         Read {R}/AGENTS.md for the rest.]"
    );
    assert_eq!(
        marks(format!("{}# Early\n", &filler[..40_000])),
        "[foreword: 32765 of 40008 bytes shown; omitted headings: Early. Read {R}/AGENTS.md for the rest.]"
    );
}

#[test]
fn a_dropped_file_names_the_limit() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root", "a/AGENTS.md": "leaf" }));
    let detail = |settings: FileSettings| {
        let found = ask(&root.join("a"), &settings).unwrap();
        let left_out = found.decisions.iter().find(|decision| decision.outcome == Outcome::OverBudget);
        left_out.and_then(|decision| decision.detail()).unwrap_or_default()
    };
    let files = detail(FileSettings::default().with(|agents| agents.initial.max_files = Some(1)));
    assert!(files.ends_with("raise agents.initial.max_files"), "{files}");
    let bytes = detail(FileSettings::default().with(|agents| agents.initial.max_bytes = Some(4)));
    assert!(bytes.ends_with("raise agents.initial.max_bytes"), "{bytes}");
}

/// Returns the advice of each profile, with the agent's own names of settings.
#[test]
fn advice_names_the_settings_of_the_agent_in_question() {
    let tree = Tree::new();
    let root = project(
        &tree,
        json!({
            "AGENTS.md": "root root", "a/AGENTS.md": "leaf leaf", "a/b/AGENTS.md": "l", "c/CLAUDE.md": "c",
            "CLAUDE.md": { "symlink": "AGENTS.md" }, "a/GEMINI.md": { "symlink": "../AGENTS.md" },
        }),
    );
    fs::write(root.parent().unwrap().join("AGENTS.md"), "above").unwrap();
    let detail = |profile, cwd: &str, bytes: u64, name: &str| {
        let settings = FileSettings::of(profile).with(|agents| agents.initial.max_bytes = Some(bytes));
        let cwd = root.join(cwd);
        let request = Request { cwd: &cwd, settings: &settings };
        let found = survey(&request).unwrap();
        let path = instructions::path::normalise(Path::new(name), &root);
        let decision = found.decisions.into_iter().find(|decision| decision.path == path);
        decision.unwrap().detail().unwrap_or_default()
    };
    let ends = |detail: String, end: &str| assert!(detail.ends_with(end), "{detail}");
    ends(detail(&CODEX, "a", 9, "a/AGENTS.md"), "or raise project_doc_max_bytes in Codex's config.toml");
    ends(detail(&CODEX, "a", 12, "a/AGENTS.md"), "or raise project_doc_max_bytes in Codex's config.toml");
    ends(detail(&CODEX, "a", 0, "a/AGENTS.md"), "(project_doc_max_bytes in Codex's config.toml)");
    ends(
        detail(&CODEX, "", 99, "../AGENTS.md"),
        "give a marker further up (project_root_markers in Codex's config.toml) if it should count",
    );
    ends(
        detail(&FOREWORD, "", 99, "../AGENTS.md"),
        "give --root, or a marker further up, if it should count",
    );
    ends(
        detail(&CODELIA, "a/b", 12, "a/AGENTS.md"),
        "it does not fit into what is left of the limit of 12 bytes; shorten the files, or raise agents.initial.max_bytes",
    );
    ends(
        detail(&CODELIA, "a/b", 12, "a/b/AGENTS.md"),
        "a file before it does not fit into the limit of 12 bytes, and reading stops there; shorten the files, or raise \
         agents.initial.max_bytes",
    );
    ends(detail(&FOREWORD, "", 99, "CLAUDE.md"), "it is the same file as AGENTS.md, which is read");
    let same = detail(&FOREWORD, "a", 99, "a/GEMINI.md");
    ends(same, &format!("it is the same file as {}/AGENTS.md, which is read", root.display()));
    ends(
        detail(&FOREWORD, "c", 99, "c/CLAUDE.md"),
        "or name it with --fallback or in agents.fallback_filenames",
    );
    ends(
        detail(&CODEX, "c", 99, "c/CLAUDE.md"),
        "or name it in project_doc_fallback_filenames in Codex's config.toml",
    );
}

#[test]
fn a_search_that_ends_at_home_is_explained() {
    let tree = Tree::new();
    let home = tree.directory("home");
    let cwd = tree.directory("home/a");
    let settings = FileSettings::default().with(|agents| agents.root.stop_at_fs_root = Some(false));
    for (user, words) in [
        (
            Some(home.clone()),
            format!("up to your home directory {}, where the search stops,", home.display()),
        ),
        (None, "above".to_owned()),
    ] {
        let homes = HomeDirectories::of_user(user);
        let markers = Some(vec!["no-such-marker".to_owned()]);
        let settings = FileSettings { homes, ..settings.clone() };
        let settings = settings.with(|agents| agents.root.markers = markers);
        let request = Request { cwd: &cwd, settings: &settings };
        assert_eq!(
            survey(&request).unwrap().root_reason,
            format!("no directory {words} has `no-such-marker`, so only the working directory counts")
        );
    }
}

#[test]
fn the_users_own_file_is_switched_off_with_the_others() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root" }));
    let home = tree.directory("home");
    tree.fill(&home, &json!({ "AGENTS.md": "mine" }));
    let homes = HomeDirectories::default().with(&FOREWORD, home);
    let settings = FileSettings { homes, ..FileSettings::default() };
    let settings = settings.with(|agents| agents.enabled = Some(false));
    let request = Request { cwd: &root, settings: &settings };
    let found = survey(&request).unwrap();
    assert_eq!(found.text, None);
    assert_eq!(fate(&found, "AGENTS.md"), [Outcome::Disabled, Outcome::Disabled]);
}

/// Found by the fuzz target `file_body`.
#[test]
fn two_files_together_make_no_tag() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "one <\n", "a/AGENTS.md": "two </ " }));
    let text = ask(&root.join("a"), &FileSettings::default()).unwrap().text.unwrap();
    assert!(text.contains("\none &lt;\n\nInstructions from: "), "{text}");
    assert!(text.ends_with("\ntwo &lt;/\n</agents_context>"), "{text}");
    // A file's name and its text must not form a tag together, either.
    let root = project(&tree, json!({ "b/NOTES <": "agents_context>" }));
    let settings =
        FileSettings::default().with(|agents| agents.fallback_filenames = Some(vec!["NOTES <".to_owned()]));
    let text = ask(&root.join("b"), &settings).unwrap().text.unwrap();
    assert!(text.contains("/b/NOTES &lt;\nagents_context>"), "{text}");
}

/// Found by the fuzz target `tree`.
#[test]
fn a_duplicate_still_hides_the_names_after_it() {
    let tree = Tree::new();
    let root = project(
        &tree,
        json!({
            "AGENTS.md": "root",
            "a/AGENTS.override.md": { "symlink": "../AGENTS.md" },
            "a/AGENTS.md": "hidden",
        }),
    );
    let found = ask(&root.join("a"), &FileSettings::default()).unwrap();
    assert_eq!(fate(&found, "a/AGENTS.override.md"), [Outcome::Duplicate]);
    assert_eq!(fate(&found, "a/AGENTS.md"), [Outcome::Shadowed]);
    assert!(!found.text.unwrap().contains("hidden"));
}

/// Found by the fuzz target `tree`.
#[test]
fn a_fallback_with_a_known_name_is_one_candidate() {
    let tree = Tree::new();
    let root = project(&tree, json!({ "AGENTS.md": "root", "AGENTS.local.md": "local" }));
    let settings = FileSettings::default()
        .with(|agents| agents.fallback_filenames = Some(vec!["AGENTS.local.md".to_owned()]));
    let found = ask(&root, &settings).unwrap();
    assert_eq!(fate(&found, "AGENTS.local.md"), [Outcome::Used]);
}

// Otherwise FOREWORD_HOME=~/.foreword would make the home directory a project, and everything in it a part of it.
#[test]
fn own_configuration_marks_no_project() {
    let tree = Tree::new();
    let home = tree.directory("home");
    let cwd = tree.directory("home/work/a");
    tree.directory("home/.foreword");
    fs::write(home.join("AGENTS.md"), "private notes").unwrap();
    fs::write(cwd.join("AGENTS.md"), "work").unwrap();
    std::os::unix::fs::symlink(home.join(".foreword"), tree.directory("home/work").join(".foreword"))
        .unwrap();
    let root = |own: Option<PathBuf>| {
        let homes = HomeDirectories::of_user(Some(home.clone()));
        let homes = match own {
            Some(own) => homes.with(&FOREWORD, own),
            None => homes,
        };
        let settings = FileSettings { homes, ..FileSettings::default() };
        resolve(&Request { cwd: &cwd, settings: &settings }, None).unwrap().root.clone()
    };
    assert_eq!(root(Some(home.join(".foreword"))), None);
    // In a project, the same name is a marker.
    assert_eq!(root(None), Some(home.join("work")));
    assert_eq!(root(Some(home.join(".config/foreword"))), Some(home.join("work")));
}

#[test]
fn nothing_above_a_workspace_counts() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("workspace/a/b")).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    for place in [".", "workspace", "workspace/a"] {
        fs::write(root.join(place).join("AGENTS.md"), place).unwrap();
    }
    let cwd = root.join("workspace/a/b");
    let resolved = |bounds: ProjectBounds, profile: &'static instructions::Profile| {
        let settings = FileSettings { bounds, ..FileSettings::of(profile) };
        let request = Request { cwd: &cwd, settings: &settings };
        let resolution = resolve(&request, None).unwrap();
        (resolution.root.clone(), resolution.files.len())
    };
    for profile in [&FOREWORD, &CODEX, &instructions::CODELIA] {
        assert_eq!(resolved(ProjectBounds::None, profile), (Some(root.to_owned()), 3));
        let workspace = root.join("workspace");
        let bounds = ProjectBounds::Workspace(workspace.clone());
        assert_eq!(resolved(bounds, profile), (Some(workspace), 2));
        assert_eq!(resolved(ProjectBounds::HomeOnly, profile), (None, 0));
    }
    // Inside a workspace the nearest marker decides, as outside of one.
    fs::create_dir(root.join("workspace/a/.git")).unwrap();
    let bounds = || ProjectBounds::Workspace(root.join("workspace"));
    assert_eq!(resolved(bounds(), &FOREWORD), (Some(root.join("workspace/a")), 1));
    assert_eq!(resolved(bounds(), &CODEX), (Some(root.join("workspace/a")), 1));
    fs::remove_dir(root.join("workspace/a/.git")).unwrap();
    fs::remove_dir(root.join(".git")).unwrap();
    assert_eq!(resolved(bounds(), &FOREWORD), (Some(root.join("workspace")), 2));
    assert_eq!(resolved(bounds(), &CODEX), (None, 0), "without a marker only the working directory counts");
}

#[test]
fn no_profile_reads_outside_a_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let workspace = root.join("workspace");
    let cwd = workspace.join("a/b");
    fs::create_dir_all(&cwd).unwrap();
    fs::write(root.join("secret.md"), "secret").unwrap();
    // Every known name exists above the workspace, at its top and in the working directory, so that each profile has
    // something to read outside.
    for place in [root, &workspace, &cwd] {
        for name in instructions::PROFILES.iter().flat_map(|profile| profile.known_names()) {
            let path = place.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = format!("{} @{}/secret.md\n@../../../secret.md\n", path.display(), root.display());
            fs::write(path, text).unwrap();
        }
    }
    for marker in [None, Some(root.join(".git")), Some(workspace.join(".git"))] {
        if let Some(marker) = marker {
            fs::create_dir_all(marker.join("objects")).unwrap();
            fs::create_dir_all(marker.join("refs")).unwrap();
            fs::write(marker.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        for profile in instructions::PROFILES {
            let bounds = ProjectBounds::Workspace(workspace.clone());
            let settings = FileSettings { bounds, ..FileSettings::of(profile) };
            let resolution = resolve(&Request { cwd: &cwd, settings: &settings }, None).unwrap();
            let reads_something = profile.known_names().next().is_some();
            let is_read = resolution.files.iter().any(|file| file.path.starts_with(&cwd));
            assert_eq!(is_read, reads_something, "{}", profile.name);
            for file in &resolution.files {
                assert!(file.path.starts_with(&workspace), "{}: {}", profile.name, file.path.display());
            }
        }
    }
}

/// Two symlinks to their own directory make 2^32 paths through it.
#[test]
fn circular_links_are_followed_once() {
    let tree = Tree::new();
    let root = project(
        &tree,
        json!({
            ".claude/rules/a": { "symlink": "." },
            ".claude/rules/b": { "symlink": "." },
            ".claude/rules/c": { "symlink": ".." },
            ".claude/rules/rule.md": "RULE",
            ".github/instructions/a": { "symlink": "." },
            ".github/instructions/b": { "symlink": "." },
            "CLAUDE.md": "hi",
        }),
    );
    let found = ask(&root, &FileSettings::of(&CLAUDE_CODE)).unwrap();
    assert_eq!(found.text.unwrap().matches("RULE").count(), 1);
    for profile in instructions::PROFILES {
        ask(&root, &FileSettings::of(profile)).unwrap();
    }
}

/// The work per mention must not depend on the number of mentions before it.
#[test]
fn a_file_of_many_mentions_is_read_once() {
    let tree = Tree::new();
    let words: String = (0..200_000).map(|number| format!(" @a{number}.md")).collect();
    for (name, profile) in [
        ("GEMINI.md", "gemini-cli"),
        ("CLAUDE.md", "claude-code"),
        ("QWEN.md", "qwen-code"),
        ("AGENTS.md", "copilot"),
    ] {
        let root = project(&tree, json!({ name: format!("x{words}") }));
        let settings = FileSettings::of(instructions::Profile::find(profile).unwrap());
        let found = ask(&root, &settings).unwrap();
        let enough =
            |diagnostic: &instructions::Diagnostic| diagnostic.code == DiagnosticCode::TooManyImports;
        assert!(found.diagnostics.iter().any(enough), "{profile}");
        fs::remove_file(root.join(name)).unwrap();
    }
}

//! Each file is announced once, when the agent first touches its scope.

use std::fs;
use std::path::Path;

use instructions::{CODELIA, Delivery, Reminder};

use crate::project::Project;

#[test]
fn start_files_are_not_announced() {
    let project = Project::new(&[("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session("a"));
    assert!(resolver.resolve(&project.root.join("a/x.rs")).unwrap().is_empty());
    assert!(resolver.resolve(Path::new("y.rs")).unwrap().is_empty(), "relative to the working directory");
    let found = resolver.resolve(&project.root.join("b/c/d/new.rs")).unwrap();
    assert_eq!(project.names(&found), ["b/AGENTS.md"]);
}

#[test]
fn announced_again_until_confirmed_and_then_never() {
    let project = Project::new(&[("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/x");
    for _ in 0..2 {
        let announcement = resolver.resolve(&target).unwrap();
        assert_eq!(project.names(&announcement), ["b/AGENTS.md"]);
        drop(announcement);
    }
    resolver.resolve(&target).unwrap().confirm();
    assert!(resolver.resolve(&target).unwrap().is_empty());
    assert!(resolver.session().covered_dirs.contains(&project.root.join("b")));
}

#[test]
fn parallel_calls_announce_a_file_once() {
    let project = Project::new(&[("b/AGENTS.md", "b"), ("b/c/AGENTS.md", "c")]);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/c/x");
    // Calls of one round run concurrently. The pause keeps each announcement pending while the others resolve the same
    // path.
    let announced: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let announcement = resolver.resolve(&target).unwrap();
                    let count = announcement.resolved().files.len();
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    announcement.confirm();
                    count
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(announced, 2);
}

#[test]
fn changed_text_is_announced_but_a_touch_is_not() {
    let project = Project::new(&[("AGENTS.md", "one")]);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("x");
    let file = fs::File::options().write(true).open(project.root.join("AGENTS.md")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert!(resolver.resolve(&target).unwrap().is_empty());
    project.write("AGENTS.md", "two");
    assert_eq!(project.names(&resolver.resolve(&target).unwrap()), ["AGENTS.md"]);
}

#[test]
fn the_specification_announces_a_touched_file() {
    let mut project = Project::new(&[("AGENTS.md", "one")]);
    project.settings.profile = &CODELIA;
    let resolver = project.resolver(project.session(""));
    let file = fs::File::options().write(true).open(project.root.join("AGENTS.md")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(project.names(&resolver.resolve(Path::new("x")).unwrap()), ["AGENTS.md"]);
}

// Only the beginning of a large file is read and hashed. A change after that shows only in its size or time.
#[test]
fn a_change_beyond_what_is_read_is_announced() {
    let large = "x\n".repeat(100_000);
    let project = Project::new(&[("AGENTS.md", &large), ("a/AGENTS.md", &large), ("b/AGENTS.md", &large)]);
    let touch = |path: &str, seconds: u64| {
        let file = fs::File::options().write(true).open(project.root.join(path)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
    };
    ["AGENTS.md", "a/AGENTS.md", "b/AGENTS.md"].iter().for_each(|path| touch(path, 1));
    let resolver = project.resolver(project.session(""));
    for target in ["a/x", "b/x"] {
        resolver.resolve(Path::new(target)).unwrap().confirm();
    }
    assert!(project.difference(&resolver.session(), "").is_empty());
    project.write("AGENTS.md", &format!("{large}more"));
    touch("AGENTS.md", 1);
    project.write("a/AGENTS.md", &format!("{}y\n", &large[..large.len() - 2]));
    touch("a/AGENTS.md", 2);
    assert!(!project.difference(&resolver.session(), "").is_empty());
    let found = resolver.resolve(Path::new("a/x")).unwrap();
    assert_eq!(project.names(&found), ["AGENTS.md", "a/AGENTS.md"]);
    found.confirm();
    assert!(resolver.resolve(Path::new("a/x")).unwrap().is_empty(), "no more than once");
    assert!(resolver.resolve(Path::new("b/x")).unwrap().is_empty());
}

#[test]
fn removed_and_overridden_files_are_announced() {
    let project = Project::new(&[("AGENTS.md", "root"), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session("b"));
    let target = project.root.join("b/x");
    fs::remove_file(project.root.join("AGENTS.md")).unwrap();
    project.write("b/AGENTS.override.md", "override");
    let announcement = resolver.resolve(&target).unwrap();
    assert_eq!(project.names(&announcement), ["b/AGENTS.override.md", "-AGENTS.md", "-b/AGENTS.md"]);
    let text = announcement.reminder().unwrap().render();
    let path = |name: &str| project.root.join(name).display().to_string();
    let replaced = format!("- {} (replaced by {})\n", path("b/AGENTS.md"), path("b/AGENTS.override.md"));
    assert!(
        text.contains(&format!("- {} (deleted)\n", path("AGENTS.md"))) && text.contains(&replaced),
        "{text}"
    );
    assert!(text.contains("\nIts text follows; it applies to this scope.\n"), "{text}");
    announcement.confirm();
    assert!(resolver.resolve(&target).unwrap().is_empty());
}

#[test]
fn files_over_the_limit_come_with_the_next_call() {
    let mut project = Project::new(&[("a/AGENTS.md", "1"), ("a/b/AGENTS.md", "2"), ("a/b/c/AGENTS.md", "3")]);
    project.settings.agents.resolver.max_files_per_resolve = Some(2);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("a/b/c/x");
    let first = resolver.resolve(&target).unwrap();
    assert_eq!(project.names(&first), ["a/b/AGENTS.md", "a/b/c/AGENTS.md"], "the nearest ones");
    assert_eq!(first.left_over(), 1);
    first.confirm();
    let second = resolver.resolve(&target).unwrap();
    assert_eq!((project.names(&second), second.left_over()), (vec!["a/AGENTS.md".to_owned()], 0));
    // The specification begins at the root.
    project.settings.profile = &CODELIA;
    let resolver = project.resolver(project.session(""));
    assert_eq!(project.names(&resolver.resolve(&target).unwrap()), ["a/AGENTS.md", "a/b/AGENTS.md"]);
}

#[test]
fn a_changed_file_is_announced_as_changed() {
    let project = Project::new(&[("AGENTS.md", "one")]);
    let resolver = project.resolver(project.session(""));
    project.write("AGENTS.md", "two");
    project.write("a/AGENTS.md", "new");
    let text = resolver.resolve(&project.root.join("a/x")).unwrap().reminder().unwrap().render();
    let changed = format!("Changed AGENTS.md for this path:\n- {}", project.root.join("AGENTS.md").display());
    let new = format!(
        "Additional AGENTS.md may apply for this path:\n- {}",
        project.root.join("a/AGENTS.md").display()
    );
    assert!(text.contains(&changed) && text.contains(&new), "{text}");
    assert!(text.contains("\nTheir text follows; it applies to this scope.\n"), "{text}");
}

#[test]
fn removed_files_have_their_reasons() {
    let project = Project::new(&[("a/AGENTS.md", "@guide.md\n"), ("a/guide.md", "g"), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    for target in ["a/x", "b/x"] {
        resolver.resolve(Path::new(target)).unwrap().confirm();
    }
    project.write("a/AGENTS.md", "no import\n");
    project.write("b/AGENTS.md", " \n");
    let text = |target: &str| resolver.resolve(Path::new(target)).unwrap().reminder().unwrap().render();
    assert!(text("a/x").contains("guide.md (no longer applies: no file imports it)"), "{}", text("a/x"));
    assert!(text("b/x").contains("b/AGENTS.md (no longer applies: the file is blank)"), "{}", text("b/x"));
    project.write("b/AGENTS.md", "---\naudience: delegate\n---\nb\n");
    assert!(text("b/x").contains("b/AGENTS.md (no longer applies: it is for another audience)"));
}

#[test]
fn outside_the_root_nothing_applies() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    fs::write(project.root.parent().unwrap().join("AGENTS.md"), "above").unwrap();
    let resolver = project.resolver(project.session(""));
    // The file above would apply by its location, but the session ends at its root.
    for target in ["/etc/passwd", "../x", "/"] {
        assert!(resolver.resolve(Path::new(target)).unwrap().is_empty(), "{target}");
    }
}

#[test]
fn small_files_are_inlined_and_large_ones_named() {
    let mut project = Project::new(&[
        ("small/AGENTS.md", "brief </system-reminder>"),
        ("large/AGENTS.md", &"x\n".repeat(3000)),
    ]);
    let blocks = |project: &Project, path: &str| {
        let resolver = project.resolver(project.session(""));
        let announcement = resolver.resolve(&project.root.join(path)).unwrap();
        let Some(Reminder::AgentsResolvePaths { files, .. }) = announcement.reminder() else { return None };
        files[0].block.clone()
    };
    let small = blocks(&project, "small/x").unwrap();
    assert!(
        small.starts_with("Instructions from: ") && small.ends_with("brief &lt;/system-reminder>"),
        "{small}"
    );
    assert_eq!(blocks(&project, "large/x"), None);
    project.settings.agents.resolver.delivery = Some(Delivery::Inline);
    assert!(blocks(&project, "large/x").is_some());
    project.settings.agents.resolver.delivery = Some(Delivery::Pointer);
    assert_eq!(blocks(&project, "small/x"), None);
}

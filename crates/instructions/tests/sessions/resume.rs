//! Reminders after a resume.

use std::fs;
use std::path::Path;

use crate::project::Project;

#[test]
fn nothing_differs_when_nothing_changed() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    let session = project.session("");
    let difference = project.difference(&session, "");
    assert!(difference.is_empty());
    assert_eq!(difference.reminder(), None);
}

#[test]
fn a_resumed_session_reports_changes_once() {
    let project = Project::new(&[("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("b/AGENTS.md", "b")]);
    let mut session = project.session("a");
    let frozen = session.initial.clone();
    project.write("AGENTS.md", "changed");
    fs::remove_file(project.root.join("a/AGENTS.md")).unwrap();
    let difference = project.difference(&session, "b");
    let text = difference.reminder().unwrap().render().replace(&*project.root.to_string_lossy(), "{R}");
    let lines: Vec<&str> = text.lines().map(|line| line.split("(mtime").next().unwrap()).collect();
    assert_eq!(
        lines[1..],
        [
            "Session resumed with context changes:",
            "- cwd: {R}/a -> {R}/b",
            "Re-check AGENTS.md for current scope:",
            "- {R}/a/AGENTS.md (deleted)",
            "- {R}/AGENTS.md ",
            "- {R}/b/AGENTS.md ",
            "Their text follows; it applies to this scope.",
            "",
            "Instructions from: {R}/AGENTS.md",
            "changed",
            "",
            "Instructions from: {R}/b/AGENTS.md",
            "b",
            "</system-reminder>"
        ]
    );
    difference.confirm(&mut session);
    assert!(project.difference(&session, "b").is_empty(), "no more than once");
    assert_eq!(session.initial, frozen, "the start stays as it was");
}

#[test]
fn a_resumed_session_reports_changes_in_visited_directories() {
    let files = [("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("b/AGENTS.md", "b"), ("c/AGENTS.md", "c")];
    let project = Project::new(&files);
    let resolver = project.resolver(project.session(""));
    for target in ["a/x", "b/x", "c/x"] {
        resolver.resolve(Path::new(target)).unwrap().confirm();
    }
    let mut session = resolver.session();
    assert!(project.difference(&session, "").is_empty());
    project.write("a/AGENTS.md", "changed");
    // The override replaces a file that the session has, so the same reminder contains an addition and a removal.
    project.write("b/AGENTS.override.md", "another wins");
    let difference = project.difference(&session, "");
    let text = difference.reminder().unwrap().render().replace(&*project.root.to_string_lossy(), "{R}");
    let lines: Vec<&str> = text.lines().skip(3).map(|line| line.split("(mtime").next().unwrap()).collect();
    assert_eq!(
        lines[..4],
        [
            "- {R}/b/AGENTS.md (replaced by {R}/b/AGENTS.override.md)",
            "- {R}/a/AGENTS.md ",
            "- {R}/b/AGENTS.override.md ",
            "Their text follows; it applies to this scope."
        ]
    );
    difference.confirm(&mut session);
    assert!(project.difference(&session, "").is_empty(), "no more than once");
}

#[test]
fn files_above_a_new_root_are_withdrawn() {
    let mut project = Project::new(&[("AGENTS.md", "@more.md\n"), ("more.md", "m"), ("a/AGENTS.md", "a")]);
    let mut session = project.session("a");
    project.settings.agents.root.project_root_override = Some(project.root.join("a"));
    let difference = project.difference(&session, "a");
    let text = difference.reminder().unwrap().render().replace(&*project.root.to_string_lossy(), "{R}");
    assert_eq!(
        text.lines().collect::<Vec<_>>()[1..],
        [
            "Session resumed with context changes:",
            "- root: {R} -> {R}/a",
            "Re-check AGENTS.md for current scope:",
            "- {R}/AGENTS.md (no longer applies: outside the project root)",
            "- {R}/more.md (no longer applies: outside the project root)",
            "</system-reminder>"
        ]
    );
    difference.confirm(&mut session);
    assert!(project.difference(&session, "a").is_empty(), "no more than once");
    // Moving the root back brings the files back.
    project.settings.agents.root.project_root_override = None;
    let names: Vec<_> =
        project.difference(&session, "a").resolved().files.into_iter().map(|file| file.path).collect();
    assert_eq!(names, [project.root.join("AGENTS.md"), project.root.join("more.md")]);
}

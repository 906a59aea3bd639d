//! Imported files and rules in a session.

use std::fs;
use std::path::{Path, PathBuf};

use instructions::{Delivery, InlineBudget, Purpose};

use crate::project::{Project, read};

#[test]
fn an_import_appears_and_disappears_with_its_importer() {
    let project = Project::new(&[
        ("b/AGENTS.md", "In b: @../guides/style.md\n"),
        ("guides/style.md", "Style.\n"),
        ("shared/AGENTS.md", "In shared.\n"),
    ]);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/x.rs");
    let announcement = resolver.resolve(&target).unwrap();
    assert_eq!(project.names(&announcement), ["b/AGENTS.md", "guides/style.md"]);
    let text = announcement.reminder().unwrap().render();
    assert!(text.contains("b/AGENTS.md\nIn b: @../guides/style.md\n\nInstructions from: "), "{text}");
    announcement.confirm();
    assert!(resolver.resolve(&target).unwrap().is_empty());
    let session = resolver.session();
    assert!(!session.covered_dirs.contains(&project.root.join("shared")), "its own file is still news");
    assert!(project.difference(&session, "").is_empty());
    assert_eq!(
        project.names(&resolver.resolve(&project.root.join("shared/x")).unwrap()),
        ["shared/AGENTS.md"]
    );

    project.write("guides/style.md", "Another style.\n");
    assert_eq!(project.names(&resolver.resolve(&target).unwrap()), ["guides/style.md"]);
    let difference = project.difference(&session, "");
    assert_eq!(difference.resolved().files.len(), 1);
    assert!(difference.reminder().unwrap().render().contains("Another style."));

    project.write("b/AGENTS.md", "In b.\n");
    let announcement = resolver.resolve(&target).unwrap();
    assert_eq!(project.names(&announcement), ["b/AGENTS.md", "-guides/style.md"]);
    assert_eq!(project.difference(&session, "").removed(), [project.root.join("guides/style.md")]);
}

#[test]
fn imports_of_the_start_are_compared_on_resume() {
    let project =
        Project::new(&[("AGENTS.md", "@docs/a.md\n"), ("docs/a.md", "A.\n"), ("docs/AGENTS.md", "Docs.\n")]);
    let session = project.session("");
    assert!(project.difference(&session, "").is_empty(), "nobody has been in docs");
    assert_eq!(session.initial.files, [project.root.join("AGENTS.md"), project.root.join("docs/a.md")]);
    project.write("docs/a.md", "B.\n");
    let difference = project.difference(&session, "");
    let names: Vec<PathBuf> = difference.resolved().files.into_iter().map(|file| file.path).collect();
    assert_eq!(names, [project.root.join("docs/a.md")]);
    let mut told = session.clone();
    difference.confirm(&mut told);
    assert!(project.difference(&told, "").is_empty());
    project.write("AGENTS.md", "Nothing more.\n");
    assert_eq!(project.difference(&told, "").removed(), [project.root.join("docs/a.md")]);
    let text = serde_json::to_vec(&session).unwrap();
    assert_eq!(instructions::parse_session(&text).unwrap(), session);
}

#[test]
fn an_edit_waits_for_imports_and_rules() {
    let mut project = Project::new(&[
        ("b/AGENTS.md", "@big.md\n"),
        ("b/big.md", &"line\n".repeat(2_000)),
        ("AGENTS.local.md", "---\napplies_to: \"*.rs\"\n---\nFor Rust.\n"),
    ]);
    // With pointers, nothing has been delivered as text when the write comes, so everything has to be awaited.
    project.settings.agents.resolver.delivery = Some(Delivery::Pointer);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/x.rs");
    resolver.resolve(&target).unwrap().confirm();
    let write =
        |target: &Path| resolver.resolve_for([target], Purpose::Write, &mut InlineBudget::default()).unwrap();
    let awaited = write(&target);
    assert_eq!(project.names(&awaited), ["AGENTS.local.md", "b/AGENTS.md", "b/big.md"]);
    assert!(awaited.blocks_write());
    drop(awaited);
    // Reading a file completely delivers it, even if it applies because of an import or a rule.
    assert!(
        resolver.mark_read(read(&project.root.join("b/big.md"), &"line\n".repeat(2_000))).unwrap().is_some()
    );
    let rule = "---\napplies_to: \"*.rs\"\n---\nFor Rust.\n";
    assert!(resolver.mark_read(read(&project.root.join("AGENTS.local.md"), rule)).unwrap().is_some());
    assert_eq!(project.names(&write(&target)), ["b/AGENTS.md"]);
    assert!(!write(&project.root.join("x.txt")).blocks_write());
}

#[test]
fn a_matching_rule_is_announced_once_for_good() {
    let project = Project::new(&[
        ("AGENTS.md", "Root. @rules/sql.md\n"),
        ("AGENTS.local.md", "---\napplies_to: [\"*.ts\", web/**]\n---\nFor the web. @rules/more.md\n"),
        ("rules/sql.md", "---\napplies_to: \"**/*.sql\"\n---\nFor SQL.\n"),
        ("rules/more.md", "More.\n"),
    ]);
    let session = project.session("");
    assert_eq!(session.initial.files, [project.root.join("AGENTS.md")]);
    let resolver = project.resolver(session);
    let names = |path: &str| project.names(&resolver.resolve(&project.root.join(path)).unwrap());
    assert_eq!(names("x.rs"), Vec::<String>::new());
    assert_eq!(names("db/new.sql"), ["rules/sql.md"]);
    resolver.resolve(&project.root.join("src/a.ts")).unwrap().confirm();
    let loaded: Vec<PathBuf> = resolver.session().loaded_versions.into_keys().collect();
    let expected = ["AGENTS.local.md", "AGENTS.md", "rules/more.md"].map(|name| project.root.join(name));
    assert_eq!(loaded, expected);
    assert_eq!(names("x.rs"), Vec::<String>::new(), "it still holds for what it was told of");
    assert_eq!(names("web"), Vec::<String>::new());
    let session = resolver.session();
    assert!(project.difference(&session, "").is_empty());

    project.write("AGENTS.local.md", "---\napplies_to: \"*.ts\"\n---\nOtherwise. @rules/more.md\n");
    assert_eq!(names("x.rs"), Vec::<String>::new());
    assert_eq!(names("b.ts"), ["AGENTS.local.md"]);
    let difference = project.difference(&session, "");
    assert_eq!(difference.resolved().files.len(), 1, "a resumed session hears of it wherever it is");
    assert_eq!(difference.removed(), [] as [PathBuf; 0]);
    fs::remove_file(project.root.join("AGENTS.local.md")).unwrap();
    assert_eq!(names("x.rs"), ["-AGENTS.local.md", "-rules/more.md"]);
}

#[test]
fn user_rules_are_announced() {
    let mut project = Project::new(&[("AGENTS.md", "Root.\n")]);
    let home = project.tree.directory("home");
    fs::write(home.join("AGENTS.md"), "---\napplies_to: \"*.py\"\n---\nMine for Python.\n").unwrap();
    project.settings.homes = instructions::HomeDirectories::default().with(&instructions::FOREWORD, &home);
    let resolver = project.resolver(project.session(""));
    assert!(resolver.resolve(Path::new("x.rs")).unwrap().is_empty());
    let announcement = resolver.resolve(Path::new("x.py")).unwrap();
    assert!(announcement.reminder().unwrap().render().contains("\nMine for Python.\n"));
    announcement.confirm();
    assert!(resolver.resolve(Path::new("y.py")).unwrap().is_empty());
    assert!(resolver.resolve(Path::new("x.rs")).unwrap().is_empty());
    assert!(project.difference(&resolver.session(), "").is_empty());
}

// The user's own directory may be inside the project. Announcing its file must not leave other files of the directory
// for a second reminder.
#[test]
fn a_home_inside_the_project_is_reported() {
    let mut project = Project::new(&[]);
    let home = project.root.join("home");
    project.settings.homes = instructions::HomeDirectories::default().with(&instructions::FOREWORD, &home);
    let mut session = project.session("");
    project.write("home/AGENTS.md", "Mine.\n");
    project.write("home/AGENTS.local.md", "Mine, too.\n");
    let difference = project.difference(&session, "");
    assert_eq!(difference.resolved().files.len(), 2);
    difference.confirm(&mut session);
    assert!(project.difference(&session, "").is_empty());
}

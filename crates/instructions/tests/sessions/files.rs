//! Sessions that are kept in a file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use instructions::{AgentsInitial, FileSettings, Session, SessionFile, SessionFileError};
use serde_json::json;

use crate::project::Project;

#[test]
fn sessions_survive_a_file() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    let path = project.root.join("session.json");
    let session = project.session("");
    {
        let file = SessionFile::lock(&path).unwrap();
        assert_eq!(file.read().unwrap(), None);
        file.write(&session).unwrap();
    }
    assert_eq!(SessionFile::lock(&path).unwrap().read().unwrap(), Some(session));
    assert!(!SessionFile::lock_path(&path).exists(), "nothing is left behind");
}

// The lock file is removed with the lock, so a waiting process can obtain the lock of a file that no longer exists.
#[test]
fn a_session_has_one_holder_while_locks_change() {
    let project = Project::new(&[]);
    let path = project.root.join("session.json");
    let counter = project.root.join("counter");
    fs::write(&counter, "0").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let _locked = SessionFile::lock(&path).unwrap();
                    let number: u32 = fs::read_to_string(&counter).unwrap().parse().unwrap();
                    fs::write(&counter, (number + 1).to_string()).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&counter).unwrap(), "400");
    // Somebody's link is not ours to take away.
    std::os::unix::fs::symlink(&counter, SessionFile::lock_path(&path)).unwrap();
    drop(SessionFile::try_lock(&path).unwrap().unwrap());
    assert!(SessionFile::lock_path(&path).is_symlink());
}

#[test]
fn a_session_survives_a_non_utf8_directory() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    let odd = project.root.join(OsStr::from_bytes(b"od\xffd 100%"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("AGENTS.md"), "odd").unwrap();
    let session = Session::start(&project.request(&odd), None).unwrap().0;
    assert_eq!(session.loaded_versions.len(), 2);
    let text = serde_json::to_string(&session).unwrap();
    assert!(text.contains(&format!("\"cwd\":\"bytes:{}/od%ffd 100%25\"", project.root.display())), "{text}");
    assert!(text.contains(&format!("\"root\":\"{}\"", project.root.display())), "{text}");
    let file = SessionFile::lock(&project.root.join("session.json")).unwrap();
    file.write(&session).unwrap();
    assert_eq!(file.read().unwrap(), Some(session));
}

#[test]
fn a_session_keeps_its_settings() {
    let mut project = Project::new(&[("a/NOTES.md", "notes"), ("b/NOTES.md", "notes")]);
    let plain = serde_json::to_value(project.session("")).unwrap();
    assert!(plain.get("settings").is_none(), "nothing was given: {plain}");
    assert_eq!(serde_json::from_value::<Session>(plain).unwrap(), project.session(""));
    project.settings.agents.fallback_filenames = Some(vec!["NOTES.md".to_owned()]);
    let session = project.session("");
    let stored = serde_json::to_value(&session).unwrap();
    assert_eq!(stored["settings"], json!({ "fallbackFilenames": ["NOTES.md"] }));
    assert_eq!(serde_json::from_value::<Session>(stored.clone()).unwrap(), session);
    // As older versions wrote it.
    let mut older = stored;
    older["settings"] = json!({ "fallback_filenames": ["NOTES.md"], "max_bytes": 7, "max_files": 2 });
    let mut expected = session.clone();
    expected.settings.initial = AgentsInitial { max_files: Some(2), max_bytes: Some(7) };
    assert_eq!(serde_json::from_value::<Session>(older).unwrap(), expected);
    project.settings = FileSettings::default();
    let found = project.resolver(session).resolve(&project.root.join("a/x")).unwrap();
    assert_eq!(project.names(&found), ["a/NOTES.md"]);
}

#[test]
fn uncommitted_changes_leave_the_session_unchanged() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    let file = SessionFile::lock(&project.root.join("session.json")).unwrap();
    drop(file.prepare(&project.session("")).unwrap());
    assert_eq!(file.read().unwrap(), None);
    let names = fs::read_dir(&project.root).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(
        names.filter(|name| name.to_string_lossy().starts_with("session.json.")).count(),
        1,
        "the lock"
    );
}

#[test]
fn broken_session_files_are_named_and_left_alone() {
    let project = Project::new(&[]);
    let path = project.root.join("session.json");
    for text in ["", "{", "[]", "{\"schema\":1}", "{\"schema\":\"x\"}"] {
        fs::write(&path, text).unwrap();
        let error = SessionFile::lock(&path).unwrap().read().unwrap_err();
        assert!(matches!(error, SessionFileError::Malformed { .. }), "{text}: {error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(&path, b"\xff").unwrap();
    assert!(matches!(SessionFile::peek(&path), Err(SessionFileError::Malformed { .. })));
    assert!(matches!(SessionFile::peek(&project.root), Err(SessionFileError::Malformed { .. })));
    fs::write(&path, "{\"schema\":2}").unwrap();
    let error = SessionFile::lock(&path).unwrap().read().unwrap_err();
    assert!(matches!(error, SessionFileError::Schema { found: 2, .. }), "{error}");
}

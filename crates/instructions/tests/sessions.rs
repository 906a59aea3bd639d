//! Sessions: a frozen start, files announced once as an agent moves, and what a resumed session is told.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::{
    AgentsInitial, Announcement, CODELIA, Cache, ContentHash, Delivery, FileRead, FileReader, FileSettings,
    InlineRoom, Purpose, Reminder, Request, Resolver, ResumeDifference, Session, SessionFile,
    SessionFileError, Told,
};
use serde_json::json;
use support::Tree;

/// A project with files on several levels.
struct Project {
    _tree: Tree,
    root: PathBuf,
    settings: FileSettings,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Tree::new();
        let root = tree.directory("root");
        tree.fill(&root, &json!({ ".git": { "dir": true } }));
        let project = Self { _tree: tree, root, settings: FileSettings::default() };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn request<'a>(&'a self, cwd: &'a Path) -> Request<'a> {
        Request { cwd, settings: &self.settings }
    }

    fn session(&self, cwd: &str) -> Session {
        let cwd = self.root.join(cwd);
        fs::create_dir_all(&cwd).unwrap();
        Session::start(&self.request(&cwd), None).unwrap().0
    }

    fn resolver(&self, session: Session) -> Resolver {
        Resolver::new(session, self.settings.clone(), Arc::new(Cache::new()))
    }

    fn names(&self, announcement: &Announcement) -> Vec<String> {
        let relative = |path: &Path| path.strip_prefix(&self.root).unwrap().to_string_lossy().into_owned();
        let files = announcement.resolved().files.into_iter().map(|file| relative(&file.path));
        let removed = announcement.removed().iter().map(|path| format!("-{}", relative(path)));
        files.chain(removed).collect()
    }

    fn difference(&self, session: &Session, cwd: &str) -> ResumeDifference {
        let cwd = self.root.join(cwd);
        ResumeDifference::find(session, &self.request(&cwd), FileReader::Present, None).unwrap()
    }
}

fn read(path: &Path, text: &str) -> FileRead {
    FileRead { path: path.to_owned(), sha256: ContentHash::of(text), version: None }
}

#[test]
fn what_the_start_carried_is_not_announced() {
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
fn a_changed_text_is_announced_and_a_touched_file_is_not() {
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

/// Only so much of a large file is read; what changes beyond that shows in its size and time.
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
    assert!(text.contains("AGENTS.md (removed: no longer applies)"), "{text}");
    announcement.confirm();
    assert!(resolver.resolve(&target).unwrap().is_empty());
}

#[test]
fn at_most_so_many_at_once_and_the_rest_next_time() {
    let mut project = Project::new(&[("a/AGENTS.md", "1"), ("a/b/AGENTS.md", "2"), ("a/b/c/AGENTS.md", "3")]);
    project.settings.agents.resolver.max_files_per_resolve = Some(2);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("a/b/c/x");
    let first = resolver.resolve(&target).unwrap();
    assert_eq!(project.names(&first), ["a/AGENTS.md", "a/b/AGENTS.md"]);
    assert_eq!(first.left_over(), 1);
    first.confirm();
    let second = resolver.resolve(&target).unwrap();
    assert_eq!((project.names(&second), second.left_over()), (vec!["a/b/c/AGENTS.md".to_owned()], 0));
}

#[test]
fn outside_the_root_nothing_applies() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    fs::write(project.root.parent().unwrap().join("AGENTS.md"), "above").unwrap();
    let resolver = project.resolver(project.session(""));
    for target in ["/etc/passwd", "../x", "/"] {
        assert!(resolver.resolve(Path::new(target)).unwrap().is_empty(), "{target}");
    }
}

#[test]
fn small_files_come_with_their_text_and_large_ones_as_paths() {
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

/// The texts of a reminder's files; none for one that is only pointed to.
fn texts(announcement: &Announcement) -> Vec<Option<String>> {
    match announcement.reminder() {
        Some(Reminder::AgentsResolvePaths { files, .. }) => {
            files.into_iter().map(|file| file.block).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn a_file_that_was_only_pointed_to_is_delivered_before_a_write() {
    let project = Project::new(&[("a/AGENTS.md", &"x\n".repeat(3000))]);
    let resolver = project.resolver(project.session(""));
    let (file, target) = (project.root.join("a/AGENTS.md"), project.root.join("a/x"));
    let write =
        || resolver.resolve_for([target.as_path()], Purpose::Write, &mut InlineRoom::default()).unwrap();
    let pointer = resolver.resolve(&target).unwrap();
    assert_eq!(texts(&pointer), [None]);
    // Both calls may stand in one message; the pointer does not count for the write.
    let text = write();
    assert!(text.is_awaited() && texts(&text)[0].as_ref().is_some_and(|text| text.contains("x\nx")));
    drop(text);
    pointer.confirm();
    assert!(resolver.session().announced.contains(&file));
    assert!(resolver.resolve(&target).unwrap().is_empty(), "announced once");
    let stored = serde_json::to_string(&resolver.session()).unwrap();
    assert_eq!(serde_json::from_str::<Session>(&stored).unwrap(), resolver.session());
    let text = write();
    assert_eq!(project.names(&text), ["a/AGENTS.md"]);
    text.confirm();
    assert!(resolver.session().announced.is_empty());
    assert!(!write().is_awaited() && write().is_empty());
}

#[test]
fn reading_the_whole_file_delivers_it() {
    let text = "x\n".repeat(3000);
    let project = Project::new(&[("a/AGENTS.md", &text), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let file = project.root.join("a/AGENTS.md");
    let waits = || {
        let room = &mut InlineRoom::default();
        resolver.resolve_for([project.root.join("a/x").as_path()], Purpose::Write, room).unwrap().is_awaited()
    };
    resolver.resolve(&file).unwrap().confirm();
    assert_eq!(resolver.mark_read(read(&project.root.join("a/x"), "x")).unwrap(), None);
    assert!(resolver.mark_read(read(&file, "another text")).unwrap().is_some() && waits());
    let marked = resolver.mark_read(read(&file, &text)).unwrap().unwrap();
    assert!(!waits());
    resolver.keep_delivered([Told::Read(&read(&file, &text))]);
    assert!(!waits(), "the result is still in the request");
    resolver.keep_delivered([]);
    assert!(waits(), "it has left the request");
    resolver.keep_delivered([Told::Read(&marked)]);
    assert!(!waits(), "it is back");
    resolver.keep_delivered([]);
    // A call that reads a file brings its text itself.
    let reading = resolver.resolve(&project.root.join("b/AGENTS.md")).unwrap();
    assert_eq!(texts(&reading), [None]);
}

#[test]
fn where_nothing_can_read_every_text_comes_as_far_as_a_message_has_room() {
    let large = format!("{}\n# Last\n", "line of text\n".repeat(1_800));
    let mut project =
        Project::new(&[("AGENTS.md", "root"), ("a/AGENTS.md", &large), ("a/b/AGENTS.md", &large)]);
    project.settings.agents.resolver.delivery = Some(Delivery::Pointer);
    let session = project.session("");
    let resolver = project.resolver(session.clone()).with_reader(FileReader::Absent);
    let target = project.root.join("a/b/x");
    let found = resolver.resolve(&target).unwrap();
    let [Some(far), Some(near)] = &texts(&found)[..] else { panic!("{:?}", texts(&found)) };
    assert!(near.ends_with("# Last") && far.contains("omitted headings: Last. Read "), "nearest first");
    assert!(far.len() + near.len() < 33_500);
    found.confirm();
    assert!(resolver.session().announced.is_empty(), "what was cut counts as delivered");

    let cwd = project.root.join("a/b");
    let request = project.request(&cwd);
    let difference = ResumeDifference::find(&session, &request, FileReader::Absent, None).unwrap();
    let Some(Reminder::SessionResumeDiff { files, .. }) = difference.reminder() else {
        panic!("no reminder")
    };
    assert!(files.len() == 2 && files.iter().all(|file| file.block.is_some()));
    let pointers = project.difference(&session, "a/b");
    let Some(Reminder::SessionResumeDiff { files, .. }) = pointers.reminder() else { panic!("no reminder") };
    assert!(files.len() == 2 && files.iter().all(|file| file.block.is_none()), "as the setting says");
    let mut session = session;
    pointers.confirm(&mut session);
    assert_eq!(session.announced.len(), 2);
}

#[test]
fn what_has_no_room_in_one_message_comes_with_the_next() {
    let large = "line of text\n".repeat(3_000);
    let project = Project::new(&[("a/AGENTS.md", &large), ("a/b/AGENTS.md", &large)]);
    let resolver = project.resolver(project.session("")).with_reader(FileReader::Absent);
    let target = project.root.join("a/b/x");
    for (name, left_over) in [("a/b/AGENTS.md", 1), ("a/AGENTS.md", 0)] {
        let found = resolver.resolve(&target).unwrap();
        assert_eq!((project.names(&found), found.left_over()), (vec![name.to_owned()], left_over));
        found.confirm();
    }
    assert!(resolver.resolve(&target).unwrap().is_empty());
}

#[test]
fn what_left_the_request_is_announced_again() {
    let project = Project::new(&[("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let tell = |path: &str| {
        let announcement = resolver.resolve(&project.root.join(path)).unwrap();
        let reminder = announcement.reminder();
        announcement.confirm();
        reminder
    };
    let (first, second) = (tell("a/x").unwrap(), tell("b/x").unwrap());
    resolver.keep_delivered([&first, &second].map(Told::Reminder));
    assert_eq!((tell("a/x"), tell("b/x")), (None, None));
    resolver.keep_delivered([Told::Reminder(&second)]);
    // Where a summary could not be made, turns are left out for once, and are back in the next request.
    resolver.keep_delivered([&first, &second].map(Told::Reminder));
    assert_eq!((tell("a/x"), tell("b/x")), (None, None));
    resolver.keep_delivered([Told::Reminder(&second)]);
    assert_eq!((tell("a/x"), tell("b/x")), (Some(first), None));
}

#[test]
fn a_change_that_left_the_request_is_told_again_and_the_frozen_start_is_not() {
    let project = Project::new(&[("AGENTS.md", "one"), ("a/AGENTS.md", "a")]);
    let resolver = project.resolver(project.session("a"));
    let told = || {
        let announcement = resolver.resolve(&project.root.join("a/x")).unwrap();
        let told = project.names(&announcement);
        announcement.confirm();
        told
    };
    resolver.keep_delivered([]);
    assert_eq!(told(), [""; 0]);
    project.write("AGENTS.md", "two");
    std::fs::remove_file(project.root.join("a/AGENTS.md")).unwrap();
    assert_eq!(told(), ["AGENTS.md", "-a/AGENTS.md"]);
    assert_eq!(told(), [""; 0]);
    resolver.keep_delivered([]);
    assert_eq!(told(), ["AGENTS.md", "-a/AGENTS.md"]);
}

#[test]
fn files_are_awaited_until_every_answer_about_them_is_confirmed() {
    let project = Project::new(&[("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/x");
    let first = resolver.resolve(&target).unwrap();
    let second = resolver.resolve(&target).unwrap();
    assert!(first.is_awaited() && second.is_awaited() && second.is_empty());
    first.confirm();
    assert!(!resolver.resolve(&target).unwrap().is_awaited());
}

#[test]
fn a_file_left_out_by_the_limit_is_announced_when_the_agent_comes_near() {
    let mut project = Project::new(&[("AGENTS.md", "root root root"), ("a/AGENTS.md", "leaf")]);
    project.settings.agents.initial.max_bytes = Some(4);
    let session = project.session("a");
    assert!(session.initial.text.as_ref().unwrap().contains("0 of 14 bytes shown"));
    let resolver = project.resolver(session);
    assert_eq!(project.names(&resolver.resolve(&project.root.join("a/x")).unwrap()), ["AGENTS.md"]);
}

#[test]
fn nothing_differs_when_nothing_changed() {
    let project = Project::new(&[("AGENTS.md", "root")]);
    let session = project.session("");
    let difference = project.difference(&session, "");
    assert!(difference.is_empty());
    assert_eq!(difference.reminder(), None);
}

#[test]
fn a_resumed_session_is_told_once_what_changed() {
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
            "- {R}/AGENTS.md ",
            "- {R}/b/AGENTS.md ",
            "- {R}/a/AGENTS.md (removed: no longer applies)",
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
fn a_resumed_session_is_told_what_changed_where_it_had_been() {
    let files = [("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("b/AGENTS.md", "b"), ("c/AGENTS.md", "c")];
    let project = Project::new(&files);
    let resolver = project.resolver(project.session(""));
    for target in ["a/x", "b/x", "c/x"] {
        resolver.resolve(Path::new(target)).unwrap().confirm();
    }
    let mut session = resolver.session();
    assert!(project.difference(&session, "").is_empty());
    project.write("a/AGENTS.md", "changed");
    project.write("b/AGENTS.override.md", "another wins");
    let difference = project.difference(&session, "");
    let text = difference.reminder().unwrap().render().replace(&*project.root.to_string_lossy(), "{R}");
    let lines: Vec<&str> = text.lines().skip(3).map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(
        lines[..4],
        [
            "- {R}/a/AGENTS.md (mtime",
            "- {R}/b/AGENTS.override.md (mtime",
            "- {R}/b/AGENTS.md (removed",
            "Their text follows; it applies to this scope."
        ]
    );
    difference.confirm(&mut session);
    assert!(project.difference(&session, "").is_empty(), "no more than once");
}

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
}

#[test]
fn a_session_in_a_directory_that_is_not_utf8_survives_a_file() {
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
fn a_session_goes_on_with_the_settings_that_decide_what_applies() {
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
fn what_is_not_committed_leaves_the_session_as_it_was() {
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

#[test]
fn an_import_comes_with_the_file_that_names_it_and_goes_with_it() {
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
    project.settings.agents.resolver.delivery = Some(Delivery::Pointer);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/x.rs");
    resolver.resolve(&target).unwrap().confirm();
    let write =
        |target: &Path| resolver.resolve_for([target], Purpose::Write, &mut InlineRoom::default()).unwrap();
    let awaited = write(&target);
    assert_eq!(project.names(&awaited), ["AGENTS.local.md", "b/AGENTS.md", "b/big.md"]);
    assert!(awaited.is_awaited());
    drop(awaited);
    // Reading one of them whole delivers it, wherever it is.
    assert!(
        resolver.mark_read(read(&project.root.join("b/big.md"), &"line\n".repeat(2_000))).unwrap().is_some()
    );
    let rule = "---\napplies_to: \"*.rs\"\n---\nFor Rust.\n";
    assert!(resolver.mark_read(read(&project.root.join("AGENTS.local.md"), rule)).unwrap().is_some());
    assert_eq!(project.names(&write(&target)), ["b/AGENTS.md"]);
    assert!(!write(&project.root.join("x.txt")).is_awaited());
}

#[test]
fn a_rule_is_told_of_when_a_path_matches_and_not_taken_back() {
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
fn the_users_own_rules_are_told_of_too() {
    let mut project = Project::new(&[("AGENTS.md", "Root.\n")]);
    let home = project._tree.directory("home");
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

/// The user's own directory may be one of the project's: what is told of its file must not make others there news.
#[test]
fn a_home_inside_the_project_is_told_of_at_once() {
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

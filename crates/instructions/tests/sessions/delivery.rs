//! Conditions under which the text of an announced file counts as delivered.

use instructions::{
    DeliveredText, Delivery, FileReader, InlineBudget, Purpose, Reminder, ResumeDifference, Session,
};

use crate::project::{Project, read, texts};

#[test]
fn an_announced_file_is_delivered_before_a_write() {
    let project = Project::new(&[("a/AGENTS.md", &"x\n".repeat(3000))]);
    let resolver = project.resolver(project.session(""));
    let file = project.root.join("a/AGENTS.md");
    let target = project.root.join("a/x");
    let write =
        || resolver.resolve_for([target.as_path()], Purpose::Write, &mut InlineBudget::default()).unwrap();
    let pointer = resolver.resolve(&target).unwrap();
    assert_eq!(texts(&pointer), [None]);
    // One message may contain both calls. The pointer is not enough for the write, which needs the text.
    let text = write();
    assert!(text.blocks_write() && texts(&text)[0].as_ref().is_some_and(|text| text.contains("x\nx")));
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
    assert!(!write().blocks_write() && write().is_empty());
}

#[test]
fn reading_the_whole_file_delivers_it() {
    let text = "x\n".repeat(3000);
    let project = Project::new(&[("a/AGENTS.md", &text), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let file = project.root.join("a/AGENTS.md");
    let waits = || {
        let room = &mut InlineBudget::default();
        resolver
            .resolve_for([project.root.join("a/x").as_path()], Purpose::Write, room)
            .unwrap()
            .blocks_write()
    };
    resolver.resolve(&file).unwrap().confirm();
    assert_eq!(resolver.mark_read(read(&project.root.join("a/x"), "x")).unwrap(), None);
    assert!(resolver.mark_read(read(&file, "another text")).unwrap().is_some() && waits());
    let marked = resolver.mark_read(read(&file, &text)).unwrap().unwrap();
    assert!(!waits());
    resolver.retain_delivered([DeliveredText::Read(&read(&file, &text))]);
    assert!(!waits(), "the result is still in the request");
    resolver.retain_delivered([]);
    assert!(waits(), "it has left the request");
    resolver.retain_delivered([DeliveredText::Read(&marked)]);
    assert!(!waits(), "it is back");
    resolver.retain_delivered([]);
    // The call reads the file itself, so the reminder need not repeat its text.
    let reading = resolver.resolve(&project.root.join("b/AGENTS.md")).unwrap();
    assert_eq!(texts(&reading), [None]);
}

#[test]
fn without_a_reader_texts_come_inline_up_to_the_limit() {
    let large = format!("{}\n# Last\n", "line of text\n".repeat(1_800));
    let mut project =
        Project::new(&[("AGENTS.md", "root"), ("a/AGENTS.md", &large), ("a/b/AGENTS.md", &large)]);
    // The setting asks for paths, but without a reader the model could not follow them.
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
fn text_over_the_limit_comes_with_the_next_message() {
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
fn text_dropped_from_the_request_is_reannounced() {
    let project = Project::new(&[("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let tell = |path: &str| {
        let announcement = resolver.resolve(&project.root.join(path)).unwrap();
        let reminder = announcement.reminder();
        announcement.confirm();
        reminder
    };
    let first = tell("a/x").unwrap();
    let second = tell("b/x").unwrap();
    resolver.retain_delivered([&first, &second].map(DeliveredText::Reminder));
    assert_eq!((tell("a/x"), tell("b/x")), (None, None));
    resolver.retain_delivered([DeliveredText::Reminder(&second)]);
    // If a summary fails, turns are left out of one request and are back in the next one.
    resolver.retain_delivered([&first, &second].map(DeliveredText::Reminder));
    assert_eq!((tell("a/x"), tell("b/x")), (None, None));
    resolver.retain_delivered([DeliveredText::Reminder(&second)]);
    assert_eq!((tell("a/x"), tell("b/x")), (Some(first), None));
}

#[test]
fn dropped_changes_are_resent_but_the_frozen_start_is_not() {
    let project = Project::new(&[("AGENTS.md", "one"), ("a/AGENTS.md", "a")]);
    let resolver = project.resolver(project.session("a"));
    let told = || {
        let announcement = resolver.resolve(&project.root.join("a/x")).unwrap();
        let told = project.names(&announcement);
        announcement.confirm();
        told
    };
    resolver.retain_delivered([]);
    assert_eq!(told(), [""; 0]);
    project.write("AGENTS.md", "two");
    std::fs::remove_file(project.root.join("a/AGENTS.md")).unwrap();
    assert_eq!(told(), ["AGENTS.md", "-a/AGENTS.md"]);
    assert_eq!(told(), [""; 0]);
    resolver.retain_delivered([]);
    assert_eq!(told(), ["AGENTS.md", "-a/AGENTS.md"]);
}

#[test]
fn files_are_awaited_until_every_answer_about_them_is_confirmed() {
    let project = Project::new(&[("b/AGENTS.md", "b")]);
    let resolver = project.resolver(project.session(""));
    let target = project.root.join("b/x");
    let first = resolver.resolve(&target).unwrap();
    let second = resolver.resolve(&target).unwrap();
    assert!(first.blocks_write() && second.blocks_write() && second.is_empty());
    first.confirm();
    assert!(!resolver.resolve(&target).unwrap().blocks_write());
}

#[test]
fn a_file_over_the_limit_is_announced_nearby() {
    let mut project = Project::new(&[("AGENTS.md", "root root root"), ("a/AGENTS.md", "leaf")]);
    project.settings.agents.initial.max_bytes = Some(4);
    let session = project.session("a");
    assert!(session.initial.text.as_ref().unwrap().contains("0 of 14 bytes shown"));
    let resolver = project.resolver(session);
    assert_eq!(project.names(&resolver.resolve(&project.root.join("a/x")).unwrap()), ["AGENTS.md"]);
}

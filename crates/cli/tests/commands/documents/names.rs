//! Threads and turns as people name them.

use scripted_model::Answer;

use crate::commands::turns::starting::Talk;
use crate::support::Machine;

#[test]
fn threads_and_turns_are_named_by_title_number_and_last() {
    let talk = Talk::new("chat");
    let run = |words: &str| talk.machine.run(words);
    let err = run("turn show last").failed(2);
    assert!(err.starts_with("error: the workspace has no turns yet\n"), "{err}");
    let other = run("thread create Other --mode chat").word();
    for (thread, text) in [("Talk", "one"), ("Talk", "two"), ("Other", "three")] {
        talk.model.answer(Answer::text(&format!("to {text}")));
        assert_eq!(run(&format!("turn start {thread} {text}")).done(), format!("to {text}\n"));
    }
    let shows = |words: &str, text: &str| {
        let shown = run(words).done();
        assert!(shown.contains(&format!("to {text}")), "{words}: {shown}");
    };
    shows("turn show last", "three");
    shows("turn show 1", "three");
    shows("turn show 2 --thread Talk", "two");
    shows("turn show last --thread Talk", "two");
    shows(&format!("turn show 1 --thread {other}"), "three");
    let id = talk.newest();
    // An id without its last character still has a single match, like an abbreviated commit hash.
    shows(&format!("turn show {}", &id[..id.len() - 1]), "two");
    assert_eq!(run("turn list last --format json").object()["turns"].as_array().unwrap().len(), 1);
    let err = run("turn show 7 --thread Talk").failed(2);
    assert_eq!(err, "error: turn 7 not found in thread `Talk`; its turns are 1 to 2\n");
    let err = run("turn show first").failed(2);
    assert!(err.starts_with("error: there is no turn `first`\n"), "{err}");
    let err = run("turn list Takl").failed(2);
    assert!(err.starts_with("error: there is no thread `Takl`\nhint: did you mean `Talk`?\n"), "{err}");
    // Titles may repeat; paths distinguish them.
    run("folder create a").done();
    run("thread create Talk --folder a").done();
    let err = run("thread get Talk").done();
    assert!(err.contains(&talk.thread), "at the root its title is its path: {err}");
    assert!(!run("thread get a/Talk").done().contains(&talk.thread));
}

#[test]
fn missing_turns_are_reported() {
    let (machine, _server) = Machine::with_workspace();
    let thread = machine.run("thread create Talk").word();
    machine.check(&format!("turn list {thread}"), "NUMBER  ID  STATUS  MODEL  BEGAN  QUESTION\n", "");
    machine.check(&format!("thread history {thread}"), "", "no questions were asked yet\n");
    for words in ["show", "explain", "cancel"] {
        let error = machine.run(&format!("turn {words} {thread}")).failed(2);
        assert!(error.contains("hint: list turns with `foreword turn list THREAD`\n"), "{words}: {error}");
        machine.run(&format!("turn {words} nonsense")).failed(2);
    }
}

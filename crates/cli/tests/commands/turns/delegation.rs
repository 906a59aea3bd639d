//! Delegated turns, as shown by `turn start` and `turn watch`.

use scripted_model::Answer;
use serde_json::json;

use super::starting::{Talk, ended, lines};
use crate::support::eventually;

fn answer_with_a_write(talk: &Talk) {
    talk.model.answer(Answer::empty().tool_call("1", "delegate", &json!({ "goal": "Write b." }).to_string()));
    let write = json!({ "path": "b", "content": "y" }).to_string();
    talk.model.answer(Answer::empty().tool_call("1", "write_file", &write));
    talk.model.answer(Answer::text("Written."));
    talk.model.answer(Answer::text("Done."));
}

#[test]
fn progress_and_questions_of_delegated_turns_are_shown_and_answered() {
    let talk = Talk::new("agent");
    answer_with_a_write(&talk);
    let said = talk.ask("'Let it be written.' --allow-writes");
    for line in [
        "delegated 1: Write b.\n",
        "allowed write_file ",
        "delegated 1: tool write_file ok\n",
        "delegated 1: done\n",
        "tool delegate",
    ] {
        assert!(said.err.contains(line), "{line}: {}", said.err);
    }
    assert_eq!(said.done(), "Done.\n");
    assert_eq!(std::fs::read_to_string(talk.machine.project().join("b")).unwrap(), "y");
    let explained = talk.machine.run("turn explain last").done();
    assert!(explained.contains("delegated\n") && explained.contains("completed"), "{explained}");
    assert!(explained.contains("Write b."), "{explained}");
}

#[test]
fn unattended_delegated_writes_are_denied() {
    let talk = Talk::new("agent");
    answer_with_a_write(&talk);
    let said = talk.ask("'Let it be written.' --format json");
    let events = lines(&said.out);
    let is = |method: &str| events.iter().filter(|event| event["event"] == method).count();
    let begun = events.iter().filter(|event| event["event"] == "turn/started");
    let delegated = begun.filter(|event| event.get("parent_turn_id").is_some()).count();
    assert_eq!((delegated, is("turn/approval_decided"), is("turn/completed")), (1, 1, 2), "{events:#?}");
    assert!(!talk.machine.project().join("b").exists());
}

/// The note names `turn approve TURN CALL` with the parent's turn, the only one that its watcher knows.
#[test]
fn a_parent_turn_decides_delegated_calls() {
    let talk = Talk::new("agent");
    answer_with_a_write(&talk);
    let child = talk.begin("'Let it be written.' --wait");
    let turn = talk.newest();
    let call = eventually("the question", || {
        let shown = talk.machine.run(&format!("turn show {turn} --format json")).object();
        shown["approvals"][0]["call_id"].as_str().map(str::to_owned)
    });
    assert_eq!(talk.machine.run(&format!("turn approve {turn} {call}")).done(), "allowed\n");
    assert_eq!(ended(child).done(), "Done.\n");
    assert_eq!(std::fs::read_to_string(talk.machine.project().join("b")).unwrap(), "y");
}

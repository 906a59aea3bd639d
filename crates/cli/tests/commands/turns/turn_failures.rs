//! Turns that cannot begin, fail, or are cut off.

use scripted_model::Answer;

use super::starting::{Talk, ended, lines};
use crate::support::{Machine, eventually};

#[test]
fn a_missing_model_has_a_hint() {
    let (machine, _server) = Machine::with_workspace();
    let thread = machine.run("thread create Talk").word();
    let error = machine.run(&format!("turn start {thread} Hi")).failed(3);
    assert!(error.starts_with("error: ") && error.contains("model") && error.contains("\nhint: "), "{error}");
    // Each printed command can be pasted, and the commands of the last line together.
    let pasted = |line: &str| -> String {
        let pieces = line.split('`').skip(1).step_by(2).filter(|piece| piece.contains(" = "));
        pieces.map(|piece| format!("{piece}\n")).collect()
    };
    let settings: Vec<String> = error.lines().map(pasted).filter(|text| !text.is_empty()).collect();
    assert_eq!(settings.len(), 3, "{error}");
    // A hint with a typo in a setting is worse than none, so each suggestion is written to the file and
    // read back.
    for text in settings {
        machine.write("home/config.toml", &text);
        let model = text.lines().next().and_then(|line| line.split('"').nth(1)).unwrap();
        assert!(machine.run("config").done().contains(model), "{text}");
    }
    let error = machine.run(&format!("turn start {thread} Hi --format json")).error(3);
    assert_eq!(error["data"]["kind"], "provider_failed", "{error}");
    assert!(error["hint"].is_string() && !error["message"].as_str().unwrap().contains("hint:"), "{error}");
}

#[test]
fn a_missing_key_is_reported_before_a_turn() {
    let machine = Machine::new();
    machine.write("home/config.toml", "[model]\ndefault = 'anthropic/claude-test'\n");
    let _server = machine.serve();
    machine.run("workspace create demo").done();
    machine.run("thread create Talk").done();
    machine.check_code(
        "turn start Talk Hi",
        3,
        "",
        "error: provider `anthropic`: there is no key: ANTHROPIC_API_KEY is not set\n\
         hint: set ANTHROPIC_API_KEY where the gateway runs, and start the gateway again\n",
    );
    machine.check_code(
        "turn start Talk Hi --model openai/gpt-test",
        3,
        "",
        "error: provider `openai`: there is no key: OPENAI_API_KEY is not set\n\
         hint: set OPENAI_API_KEY where the gateway runs, and start the gateway again\n",
    );
    // A failed turn would stay in the thread's history. A problem of the configuration must not leave one
    // there.
    assert_eq!(machine.run("turn list Talk --format json").object()["turns"], serde_json::json!([]));
}

#[test]
fn a_provider_that_fails_is_an_error_with_its_hint() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::wrong_key());
    let error = talk.ask("Hi").failed(3);
    assert!(error.contains("error: provider `anthropic`: HTTP 401: "), "{error}");
    assert!(error.contains("\nhint: there is no key; set ANTHROPIC_API_KEY\n"), "{error}");
    assert!(!error.contains("tokens:") && !error.contains("ask again"), "{error}");
    let shown = talk.machine.run(&format!("turn show {}", talk.newest())).done();
    assert!(!shown.contains("\ntokens"), "{shown}");
    talk.model.answer(Answer::wrong_key());
    let said = talk.ask("Hi --format json");
    assert_eq!(said.code, Some(3));
    let last = lines(&said.out).pop().unwrap();
    assert_eq!((&last["event"], &last["turn"]["status"]), (&"turn/failed".into(), &"failed".into()));
    assert!(said.err.starts_with(r#"{"error":{"#), "{}", said.err);
}

#[test]
fn an_interrupted_answer_is_printed_up_to_the_interruption() {
    let talk = Talk::new("chat");
    // Every attempt breaks off, since the provider is asked again after such a failure.
    talk.model.answer_by(|_| Answer::text("Once upon a time").in_deltas(4).cut_after_events(4));
    let said = talk.ask("'Tell a story.'");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.starts_with("Once") && said.out.ends_with('\n'), "{said:?}");
    assert!(said.err.contains("error: "), "{}", said.err);
    assert!(said.err.ends_with("\nhint: the same question may succeed later: ask again\n"), "{}", said.err);
}

#[test]
fn a_turn_of_a_killed_gateway_fails() {
    let mut talk = Talk::new("agent");
    talk.machine.write("project/a.txt", "text\n");
    talk.model.answer(Answer::text("Let me look.").tool_call("call_1", "read_file", r#"{"path":"a.txt"}"#));
    talk.model.answer(Answer::text(&"and so on ".repeat(50)).in_deltas(50).stall_after_events(10));
    let child = talk.begin("Hi");
    eventually("the second round", || (talk.model.requests().len() == 2).then_some(()));
    let turn = talk.newest();
    talk.server.take().unwrap().kill();
    talk.server = Some(talk.machine.serve());
    // Before its lease expires, the turn must not be considered dead.
    let error = eventually("the turn to be failed", || {
        let turn = talk.machine.run(&format!("turn show {turn} --format json")).object()["turn"].clone();
        (turn["status"] == "failed").then(|| turn["error"].clone())
    });
    assert_eq!((&error["kind"], &error["retryable"]), (&"interrupted".into(), &true.into()), "{error}");
    // The client has reconnected and is informed.
    let said = ended(child);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.ends_with("error: the gateway that ran this turn is gone\nhint: the same question may succeed later: ask again\n"), "{}", said.err);
    talk.model.answer(Answer::text("Here again."));
    assert_eq!(talk.ask("'Still there?'").done(), "Here again.\n");
    // Text of a failed turn is shown but not sent again.
    assert!(talk.machine.run(&format!("turn show {turn}")).done().contains("Let me look."));
    assert!(!talk.model.requests().last().unwrap().body.to_string().contains("Let me look."));
}

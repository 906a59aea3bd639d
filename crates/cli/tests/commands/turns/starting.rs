//! `foreword turn`, on a real gateway that asks a scripted model over HTTP.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;

use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::support::{Machine, Said, Server, eventually, finish, signal, start};

/// A machine with a gateway, a model to ask, a workspace with a directory, and a thread in it.
pub(crate) struct Talk {
    pub(crate) machine: Machine,
    pub(crate) model: ScriptedModel,
    pub(crate) thread: String,
    pub(crate) server: Option<Server>,
    _runtime: Runtime,
}

impl Talk {
    pub(crate) fn new(mode: &str) -> Self {
        Self::with(mode, "")
    }

    pub(crate) fn with(mode: &str, settings: &str) -> Self {
        let machine = Machine::new();
        let runtime = Runtime::new().unwrap();
        let model = runtime.block_on(ScriptedModel::start()).unwrap();
        let url = model.base_url(Wire::Anthropic);
        machine.write(
            "home/config.toml",
            format!(
                "[model]\ndefault = 'anthropic/claude-test'\n[providers.anthropic]\nbase_url = '{url}'\n{settings}"
            ),
        );
        let server = machine.serve();
        machine.run("workspace create demo --root .").done();
        let thread = machine.run(&format!("thread create Talk --mode {mode}")).word();
        Self { machine, model, thread, server: Some(server), _runtime: runtime }
    }

    #[track_caller]
    pub(crate) fn ask(&self, words: &str) -> Said {
        self.machine.run(&format!("turn start {} {words}", self.thread))
    }

    pub(crate) fn begin(&self, words: &str) -> Child {
        start(self.machine.command(&format!("turn start {} {words}", self.thread)))
    }

    /// The newest turn of the thread, once there is one.
    pub(crate) fn newest(&self) -> String {
        eventually("a turn", || {
            let turns = self.machine.run(&format!("turn list {} --format json", self.thread)).object();
            turns["turns"][0]["id"].as_str().map(str::to_owned)
        })
    }
}

/// Returns the exit code and output of a command that was started earlier.
#[track_caller]
pub(super) fn ended(mut child: Child) -> Said {
    let status = eventually("the command to end", || child.try_wait().unwrap());
    // The pipes are read after the end, which is safe only because these outputs fit into a pipe's buffer.
    let read = |mut pipe: Box<dyn std::io::Read>| {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    };
    let out = read(Box::new(child.stdout.take().unwrap()));
    let err = read(Box::new(child.stderr.take().unwrap()));
    Said { code: status.code(), out, err }
}

pub(super) fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_streamed_answer_ends_with_one_newline() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::text("Hello,\n\nworld.\n\n").in_deltas(5));
    let said = talk.ask("'Say hello.'");
    assert_eq!(said.err, "turn 1, tokens: 100 in, 20 out (5 reasoning), 60 cached\n");
    assert_eq!(said.done(), "Hello,\n\nworld.\n");
    let request = &talk.model.requests()[0];
    assert_eq!(request.body["model"], "claude-test");
    assert!(request.body["messages"].to_string().contains("Say hello."), "{}", request.body);
}

#[test]
fn the_question_can_come_from_standard_input() {
    let talk = Talk::new("chat");
    for words in ["", "-"] {
        talk.model.answer(Answer::text("Read."));
        let said = talk.machine.run_with(&format!("turn start {} {words}", talk.thread), "What is\nthis?\n");
        assert_eq!(said.done(), "Read.\n");
        let body = talk.model.requests().last().unwrap().body["messages"].to_string();
        // The line end of the piped text is dropped, since `echo` adds it and it is no part of the question.
        assert!(body.contains(r"What is\nthis?") && !body.contains(r"this?\n\"), "{body}");
    }
    let error = talk.ask("").failed(2);
    assert!(error.starts_with("error: there is nothing to ask\nhint: "), "{error}");
}

#[test]
fn another_model_can_be_named() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::text("Yes."));
    talk.ask("Really? --model anthropic/other").done();
    assert_eq!(talk.model.requests()[0].body["model"], "other");
    talk.machine.check_code(
        "turn start Talk Really? --model nobody/x",
        2,
        "",
        "error: provider `nobody`: there is no such provider\nhint: there are anthropic, openai\n",
    );
    talk.machine.check_code(
        "turn start Talk Really? --model other",
        2,
        "",
        "error: \"other\" is not a model\nhint: write provider/model, such as anthropic/claude-opus-5\n\
         hint: the providers configured here are anthropic, openai\n\
         hint: without --model, anthropic/claude-test is asked (model.default)\n",
    );
}

#[test]
fn json_output_has_one_event_per_line() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::text("Hello, world.").in_deltas(3));
    let said = talk.ask("Hi --format json");
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let events = lines(&said.out);
    let texts: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "turn/delta")
        .map(|event| event["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts.concat(), "Hello, world.");
    assert!(texts.len() > 1, "{texts:?}");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["event"], &last["turn"]["answer"]),
        (&"turn/completed".into(), &"Hello, world.".into())
    );
    assert_eq!(events.iter().filter(|event| event["event"] == "turn/completed").count(), 1);
}

#[test]
fn reading_files_brings_their_instructions() {
    let talk = Talk::new("agent");
    talk.machine.write("project/billing/notes.txt", "four\n");
    // The file lies below the working directory, so it is not part of the start. Only reading a file beside
    // it may deliver it.
    talk.machine.write("project/billing/AGENTS.md", "Money is in cents.\n");
    talk.model.answer(Answer::text("Let me look.").tool_call(
        "call_1",
        "read_file",
        r#"{"path":"billing/notes.txt"}"#,
    ));
    talk.model.answer(Answer::text("It says four."));
    let said = talk.ask("'What do the notes say?'");
    assert!(said.err.contains("tool read_file billing/notes.txt ok\n"), "{}", said.err);
    let reminder = said.err.lines().find(|line| line.starts_with("reminder agents.resolve.paths  "));
    assert!(reminder.is_some_and(|line| line.contains("billing/AGENTS.md")), "{}", said.err);
    assert_eq!(said.err.matches("reminder ").count(), 1, "{}", said.err);
    assert_eq!(said.done(), "Let me look.\n\nIt says four.\n");
}

#[test]
fn a_tool_is_printed_before_its_reminders() {
    let talk = Talk::new("agent");
    let mut answer = Answer::empty();
    for name in ["a", "b"] {
        talk.machine.write(format!("project/{name}/notes.txt"), "four\n");
        talk.machine.write(format!("project/{name}/AGENTS.md"), "Money is in cents.\n");
        let arguments = format!(r#"{{"path":"{name}/notes.txt"}}"#);
        answer = answer.tool_call(&format!("call_{name}"), "read_file", &arguments);
    }
    talk.model.answer(answer);
    // Some models give every call the same id.
    talk.model.answer(Answer::empty().tool_call("call_b", "list_dir", r#"{"path":"a"}"#));
    talk.model.answer(Answer::text("Twice four."));
    let said = talk.ask("'What do the notes say?'");
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(
        lines[..5],
        [
            "tool read_file a/notes.txt ok",
            "reminder agents.resolve.paths  a/AGENTS.md",
            "tool read_file b/notes.txt ok",
            "reminder agents.resolve.paths  b/AGENTS.md",
            "tool list_dir a ok",
        ],
        "{}",
        said.err
    );
    assert_eq!(said.done(), "Twice four.\n");
}

#[test]
fn a_thread_has_a_session_once_a_turn_has_completed() {
    let talk = Talk::new("agent");
    talk.machine.write("project/AGENTS.md", "Be brief.\n");
    let none = "the thread has no session: it gets one with its first completed turn, where its workspace has a \
                directory\n";
    talk.machine.check_code("thread session Talk", 1, "", none);
    talk.model.answer(Answer::text("Yes."));
    talk.ask("Hi").done();
    let shown = talk.machine.tidy(&talk.machine.run("thread session Talk").done());
    assert!(shown.contains("cwd      ~/project\n") && shown.contains("\nAGENTS.md "), "{shown}");
    assert!(shown.contains("at the start"), "{shown}");
    let object = talk.machine.run("thread session Talk --format json").object();
    assert_eq!(object["session"]["thread_id"], talk.thread.as_str());
}

#[test]
fn a_failed_tool_is_reported() {
    let talk = Talk::new("agent");
    talk.model.answer(Answer::empty().tool_call("call_1", "read_file", r#"{"path":"absent"}"#));
    talk.model.answer(Answer::text("There is none."));
    let said = talk.ask("Read.");
    assert!(said.err.contains("tool read_file absent failed\n"), "{}", said.err);
    assert_eq!(said.done(), "There is none.\n");
}

const WRITE: &str = r#"{"path":"made.txt","content":"one\ntwo\n"}"#;

#[test]
fn a_flag_answers_what_asks() {
    let talk = Talk::new("agent");
    let file = talk.machine.project().join("made.txt");
    for (flag, word, written) in [("--deny-writes", "refused", false), ("--allow-writes", "allowed", true)] {
        talk.model.answer(Answer::empty().tool_call("call_1", "write_file", WRITE));
        talk.model.answer(Answer::text("Done."));
        let said = talk.ask(&format!("'Write it.' {flag}"));
        let line = format!("{word} write_file {} ({flag})\n", file.display());
        assert!(said.err.contains(&line), "{}", said.err);
        // A denied call did not run, so it did not fail.
        let outcome = if written { "ok" } else { "denied" };
        assert!(said.err.contains(&format!("tool write_file made.txt {outcome}\n")), "{}", said.err);
        assert_eq!(said.done(), "Done.\n");
        for words in ["turn show last", "turn explain last"] {
            let shown = talk.machine.run(words).done();
            assert!(shown.contains(&format!("write_file {outcome}  (")), "{words}: {shown}");
            let verb = if written { "allowed" } else { "denied" };
            assert!(shown.contains(&format!("{verb} by {flag} of owner at ")), "{words}: {shown}");
        }
        assert_eq!(file.exists(), written);
    }
    let said = talk.ask("Hi --allow-writes --deny-writes");
    assert_eq!(said.code, Some(2));
}

#[test]
fn without_a_terminal_another_command_answers_what_asks() {
    let talk = Talk::new("agent");
    let file = talk.machine.project().join("made.txt");
    talk.model.answer(Answer::empty().tool_call("call_1", "write_file", WRITE));
    talk.model.answer(Answer::text("Done."));
    let child = talk.begin("'Write it.' --wait");
    let turn = talk.newest();
    let shown = eventually("the question", || {
        let text = talk.machine.run(&format!("turn show {turn}")).done();
        text.contains("waits for a decision").then_some(text)
    });
    assert!(shown.contains(&format!("  call_1  write_file {}\n", file.display())), "{shown}");
    let whole = "  diff:\n  │ --- /dev/null\n  │ +++ made.txt\n  │ @@ -0,0 +1,2 @@\n  │ +one\n  │ +two\n";
    let short = |text: &str| text.replace(&file.display().to_string(), "made.txt");
    assert!(!file.exists());
    // A wrong digest stands for a call that changed after it was shown. An approval covers only what a person has seen.
    let said = talk.machine.run(&format!("turn approve {turn} call_1 --digest {}", "0".repeat(64)));
    assert!(said.err.contains("is not what was decided about"), "{}", said.err);
    assert_eq!(said.code, Some(2));
    let unknown = talk.machine.run(&format!("turn approve {turn} nope")).failed(2);
    assert!(unknown.ends_with("hint: pending calls: `call_1`\n"), "{unknown}");
    let approved = talk.machine.run(&format!("turn approve {turn} call_1"));
    let digest = approved.err.rsplit_once("digest: ").unwrap().1.trim().to_owned();
    assert!(short(&approved.err).contains(whole), "{}", approved.err);
    assert_eq!(approved.done(), "allowed\n");
    let said = ended(child);
    let command = format!("turn approve {turn} call_1 --digest {digest}` allows it");
    assert!(said.err.contains(&command), "{}", said.err);
    assert!(short(&said.err).contains(whole) && said.err.contains("(new file)\n"), "{}", said.err);
    assert_eq!(said.done(), "Done.\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    // No client is waiting any more.
    let said = talk.machine.run(&format!("turn approve {turn} call_1 --deny"));
    assert_eq!(said.code, Some(2), "{said:?}");
    let unknown = talk.machine.run(&format!("turn approve {turn} nope")).failed(2);
    assert!(unknown.ends_with("hint: no call of this turn waits for a decision\n"), "{unknown}");
}

#[test]
fn a_turn_can_be_watched_from_elsewhere() {
    let talk = Talk::new("agent");
    let call = r#"{"path":"a.txt","content":"x"}"#;
    talk.model.answer(Answer::text("I write it.").tool_call("call_1", "write_file", call));
    talk.model.answer(Answer::text("It is written."));
    let asking = talk.begin("Write. --wait");
    let turn = talk.newest();
    let shown = format!("turn show {turn} --format json");
    eventually("a question", || {
        let turn = talk.machine.run(&shown).object();
        turn["approvals"].as_array().is_some_and(|open| !open.is_empty()).then_some(())
    });
    // The pending approval holds the turn open, so that the second command certainly joins in the middle of it.
    let mut watching = start(talk.machine.command(&format!("turn watch {turn}")));
    let mut out = BufReader::new(watching.stdout.take().unwrap());
    let mut text = String::new();
    // Earlier text is printed immediately.
    while !text.contains("I write it.") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    talk.machine.run(&format!("turn approve {turn} call_1")).done();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(text, "I write it.\n\nIt is written.\n");
    assert_eq!(eventually("its end", || watching.try_wait().unwrap()).code(), Some(0));
    assert_eq!(ended(asking).done(), text);

    // One that has ended is shown, and one that is not there is an error.
    assert_eq!(talk.machine.run(&format!("turn watch {turn}")).done(), text);
    talk.machine.run("turn watch 0190b6a5-0000-7000-8000-000000000000").failed(2);
}

#[test]
fn without_a_terminal_pending_calls_are_denied_immediately() {
    let talk = Talk::new("agent");
    talk.model.answer(Answer::empty().tool_call("call_1", "write_file", WRITE));
    talk.model.answer(Answer::text("Then not."));
    let said = talk.ask("'Write it.'");
    assert!(
        said.err.contains("denied, because nobody is at a terminal to be asked; --wait lets"),
        "{}",
        said.err
    );
    assert_eq!(said.done(), "Then not.\n");
    assert!(!talk.machine.project().join("made.txt").exists());
    let shown = talk.machine.run("turn show last").done();
    assert!(shown.contains(": nobody was there to be asked, for owner\n"), "{shown}");
    // The log must distinguish this from a person's refusal, because nothing was decided here.
    let audited = talk.machine.run("audit").done();
    assert!(audited.contains(", because nobody was there to be asked"), "{audited}");
}

#[test]
fn long_results_are_shown_in_part_or_whole() {
    let talk = Talk::new("agent");
    // Twelve lines exceed the excerpt only slightly: an off-by-one error in its length would show here.
    let lines: String = (1..=12).map(|number| format!("line {number}\n")).collect();
    talk.machine.write("project/long.txt", lines);
    talk.model.answer(Answer::empty().tool_call("call_1", "read_file", r#"{"path": "long.txt"}"#));
    talk.model.answer(Answer::text("Long."));
    talk.ask("'Read it.'").done();
    let shown = talk.machine.run("turn show last").done();
    assert!(shown.contains(" lines more\n") && !shown.contains("line 12"), "{shown}");
    let whole = talk.machine.run("turn show last --full").done();
    assert!(!whole.contains("more\n") && whole.contains("line 12\n"), "{whole}");
    assert!(whole.contains("  calls read_file long.txt  (call_1)\n    path: long.txt\n"), "{whole}");
}

#[test]
fn readers_see_turns_but_start_none() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::text("Yes."));
    talk.ask("Really?").done();
    let secret = talk.machine.run("token create guest --role reader").word();
    let as_reader = |words: &str| {
        let mut command = talk.machine.command(words);
        command.env("FOREWORD_TOKEN", &secret);
        finish(command, b"")
    };
    for words in [
        "prompt show Talk",
        "prompt sections Talk",
        "prompt manifest Talk",
        "prompt diff Talk --since 1",
        "turn list Talk",
        "turn show last",
        "turn explain last",
        "thread history Talk",
        "thread session Talk",
    ] {
        assert_eq!(as_reader(words).code, Some(0), "{words}: {:?}", as_reader(words));
    }
    let error = as_reader("turn start Talk Really?").failed(3);
    assert_eq!(
        error,
        "error: `turn/start` needs the role operator, this token has reader\n\
         hint: use a token with a stronger role, or ask an owner for one\n"
    );
}

#[test]
fn ctrl_c_stops_the_turn_and_waits_for_its_end() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::text("Once upon a time").in_deltas(4).stall_after_events(4));
    let mut child = talk.begin("'Tell a story.'");
    let mut first = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"Once");
    signal(child.id(), "INT");
    let said = ended(child);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.ends_with('\n'), "{said:?}");
    assert!(said.err.starts_with("stopping the turn (once more to leave at once)\n"), "{}", said.err);
    assert!(said.err.contains("the turn was cancelled\n"), "{}", said.err);
    let turn = talk.newest();
    assert_eq!(talk.machine.run(&format!("turn cancel {turn}")).done(), "cancelled\n");
    // Cancelling must also close the request. A provider would otherwise go on generating an answer that is
    // paid for and dropped.
    eventually("the model to be left alone", || (talk.model.abandoned() == 1).then_some(()));
}

#[test]
fn a_turn_can_be_cancelled_by_another_command() {
    let talk = Talk::new("chat");
    talk.model.answer(Answer::silence());
    let child = talk.begin("Hi");
    eventually("the model to be asked", || (talk.model.requests().len() == 1).then_some(()));
    let turn = talk.newest();
    // Else the next question would get the silence.
    eventually("the model to be asked", || (talk.model.remaining() == 0).then_some(()));
    assert_eq!(talk.machine.run(&format!("turn cancel {turn}")).done(), "cancelled\n");
    let said = ended(child);
    assert_eq!((said.code, said.out.as_str()), (Some(3), ""));
    assert!(said.err.contains("the turn was cancelled\n"), "{}", said.err);
    talk.model.answer(Answer::text("Yes."));
    talk.ask("'Still there?'").done();
    let said = talk.machine.run(&format!("turn cancel {}", talk.newest()));
    assert_eq!((said.code, said.out.as_str()), (Some(1), "completed\n"), "{said:?}");
}

#[test]
fn a_turn_survives_its_client() {
    let talk = Talk::new("chat");
    let (answer, release) = Answer::text("Slowly but surely.").in_deltas(8).held_after_events(4);
    talk.model.answer(answer);
    let mut child = talk.begin("Hi");
    let turn = talk.newest();
    // A turn belongs to the gateway and not to the connection that started it, so a closed laptop does not
    // lose an answer.
    child.kill().unwrap();
    child.wait().unwrap();
    release.now();
    let answer = eventually("the answer", || {
        let turn = talk.machine.run(&format!("turn show {turn} --format json")).object()["turn"].clone();
        (turn["status"] == "completed").then(|| turn["answer"].clone())
    });
    assert_eq!(answer, "Slowly but surely.");
}

#[test]
fn an_unread_turn_continues() {
    let talk = Talk::new("chat");
    // The pieces arrive slowly enough for the closed pipe to be noticed while the answer is still on its way.
    let pause = std::time::Duration::from_millis(50);
    for format in ["text", "json"] {
        talk.model.answer(Answer::text("Slowly but surely.").in_deltas(8).drip(pause));
        let mut child = talk.begin(&format!("Hi --format {format}"));
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 1]).unwrap();
        drop(stdout);
        let status = eventually("the command to end", || child.try_wait().unwrap());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(status.code(), Some(0), "{err}");
        let turn = talk.newest();
        assert_eq!(err.matches("standard output was closed; the turn continues").count(), 1, "{err}");
        for words in [format!("turn show {turn}` has"), format!("turn cancel {turn}` stops")] {
            assert!(err.contains(&words), "{err}");
        }
        eventually("the answer", || {
            let turn = talk.machine.run(&format!("turn show {turn} --format json")).object()["turn"].clone();
            (turn["status"] == "completed").then(|| assert_eq!(turn["answer"], "Slowly but surely."))
        });
    }
}

#[test]
fn a_waiting_turn_can_be_left() {
    let talk = Talk::with("chat", "[turns]\nwhen_busy = 'queue'\n");
    // A command that reports that it is waiting.
    let waiting = || {
        let mut child = talk.begin("Hi");
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert_eq!(line, "waiting for the running turn of this thread to end\n");
        (child, stderr)
    };
    talk.model.answer(Answer::silence());
    let first = talk.begin("Hi");
    let turn = talk.newest();
    eventually("the model to be asked", || (talk.model.remaining() == 0).then_some(()));
    let (mut child, _stderr) = waiting();
    talk.model.answer(Answer::text("Now."));
    assert_eq!(talk.machine.run(&format!("turn cancel {turn}")).done(), "cancelled\n");
    assert_eq!(ended(first).code, Some(3));
    let mut answer = String::new();
    child.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert_eq!((child.wait().unwrap().code(), answer.as_str()), (Some(0), "Now.\n"));

    talk.model.answer(Answer::silence());
    let mut first = talk.begin("Hi");
    eventually("the model to be asked", || (talk.model.remaining() == 0).then_some(()));
    let (mut child, mut stderr) = waiting();
    // A queued command has no turn to cancel yet. The interrupt must only withdraw its own request and
    // leave the running turn alone.
    signal(child.id(), "INT");
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "error: stopped before the turn began\n");
    assert_eq!(child.wait().unwrap().code(), Some(3));
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn memories_can_be_listed_and_shown() {
    let talk = Talk::new("agent");
    talk.machine.run_with("doc save", "Answer briefly.\n").done();
    talk.machine.write("project/AGENTS.md", "Use British spelling.\n");
    // Twenty lines are more than `turn show` prints of a result, so the view has to abbreviate them.
    let long: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    talk.machine.write("project/notes.txt", long);
    talk.model.answer(Answer::text("Let me look.").tool_call(
        "call_1",
        "read_file",
        r#"{"path":"notes.txt"}"#,
    ));
    talk.model.answer(Answer::text("Twenty lines."));
    talk.ask("'How many lines?'").done();
    talk.model.answer(Answer::wrong_key());
    assert_eq!(talk.ask("'And\nnow?'").code, Some(3));

    let thread = &talk.thread;
    let listed = talk.machine.run(&format!("turn list {thread}")).done();
    let rows: Vec<&str> = listed.lines().collect();
    assert!(rows[0].starts_with("NUMBER  ID"), "{listed}");
    assert!(
        rows[1].starts_with('2') && rows[1].contains("failed") && rows[1].ends_with("And now?"),
        "{listed}"
    );
    assert!(rows[2].starts_with('1') && rows[2].contains("anthropic/claude-test"), "{listed}");
    let one = talk.machine.run(&format!("turn list {thread} --limit 1 --format json")).object();
    assert_eq!(one["turns"].as_array().unwrap().len(), 1);
    assert_eq!(talk.machine.run(&format!("turn list {thread} --limit 0")).code, Some(2));
    let turns = talk.machine.run(&format!("turn list {thread} --format json")).object()["turns"].clone();
    let first = turns[1]["id"].as_str().unwrap();

    let text = talk.machine.run(&format!("turn show {first}")).done();
    for part in [
        "status    completed\n",
        "model     anthropic/claude-test\n",
        "tokens    ",
        "\nuser\n  How many lines?\n",
        "\nmodel\n  Let me look.\n  calls read_file notes.txt  (call_1)\n",
        "\ntools\n  read_file ok  (call_1)\n    line 1\n",
        "    … 12 lines more\n",
        "\nmodel\n  Twenty lines.\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let object = talk.machine.run(&format!("turn show {first} --format json")).object();
    assert_eq!(object["turn"]["answer"], "Let me look.\n\nTwenty lines.");

    let text = talk.machine.run(&format!("turn explain {first}")).done();
    for part in [
        "completed, 2 rounds\nHow many lines?\n",
        "\nsections\n",
        " tokens\n",
        "\nsources\n",
        "document / version 1 sha256 ",
        "\nfiles\n",
        "AGENTS.md  at the start",
        "\nhooks\n",
        "\ntools\n  read_file ok  (call_1)\n",
        "\nrounds\n  1   ",
        "\n      mode      agent\n      tools     read_file, ",
        " (choice: auto)\n      hidden    memory: memory_search, ",
        "\n      called    read_file ok  (call_1)\n",
        "\n      tokens    100 in, 20 out (5 reasoning), 60 cached\n  2   the manifest of round 1\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let object = talk.machine.run(&format!("turn explain {first} --format json")).object();
    assert_eq!(object["explanation"]["rounds"].as_array().unwrap().len(), 2);

    let text = talk.machine.run(&format!("thread history {thread}")).done();
    assert!(text.starts_with("> How many lines?\n\n"), "{text}");
    assert!(text.contains("Twenty lines.\n\n> And\n> now?\n\n(failed: "), "{text}");
    let object = talk.machine.run(&format!("thread history {thread} --format json")).object();
    assert_eq!(object["turns"][0]["id"], turns[1]["id"]);
    assert_eq!(object["turns"].as_array().unwrap().len(), 2);
}

//! Pending calls at a terminal: how they are shown, and the effect of the answers.

use std::io::{Read as _, Write as _};
use std::process::Child;
use std::sync::{Arc, Mutex};

use scripted_model::Answer;
use serde_json::json;

use super::starting::Talk;
use crate::support::{eventually, start};

/// A command at a terminal of 24 rows and 80 columns, and what it has shown.
struct Terminal {
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
    /// Length of the output that was already examined.
    seen: usize,
}

impl Terminal {
    /// Starts a turn on a terminal. `None` if the machine lacks `script`, which provides the terminal.
    fn new(talk: &Talk, words: &str) -> Option<Self> {
        let has_script = std::process::Command::new("script").arg("--version").output().is_ok();
        if !has_script {
            return None;
        }
        let script = format!(
            "script -qec 'stty rows 24 columns 80 -echo; \"$foreword\" turn start {} {words}' /dev/null",
            talk.thread
        );
        let mut command = talk.machine.shell(&script);
        command.env("TERM", "dumb").stdin(std::process::Stdio::piped());
        let mut child = start(command);
        let shown = Arc::<Mutex<Vec<u8>>>::default();
        let mut out = child.stdout.take().unwrap();
        let kept = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                kept.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Some(Self { child, shown, seen: 0 })
    }

    /// Returns the output since the last call, up to and including a text.
    #[track_caller]
    fn until(&mut self, text: &str) -> String {
        let (seen, screen) = eventually(text, || {
            let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).replace('\r', "");
            let end = self.seen + shown.get(self.seen..)?.find(text)? + text.len();
            Some((end, shown[self.seen..end].to_owned()))
        });
        self.seen = seen;
        screen
    }

    /// Returns the output that was not examined yet.
    fn unseen(&self) -> String {
        let shown = String::from_utf8_lossy(&self.shown.lock().unwrap()).replace('\r', "");
        shown.get(self.seen..).unwrap_or_default().to_owned()
    }

    fn type_line(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const QUESTION: &str = "allow it? y yes, N no, v view all again, a all of this tool in this turn: ";

fn write(path: &str, content: &str) -> Answer {
    let arguments = json!({ "path": path, "content": content }).to_string();
    Answer::empty().tool_call("call_1", "write_file", &arguments)
}

#[test]
fn a_long_write_is_paged_before_approval() {
    let talk = Talk::new("agent");
    let old: String = (1..=62).map(|number| format!("old {number}\n")).collect();
    let file = talk.machine.write("project/a.txt", &old);
    talk.model.answer(write("a.txt", "allow it? y\n\u{1b}[2J\u{202e}new\n"));
    talk.model.answer(Answer::text("Done."));
    let Some(mut terminal) = Terminal::new(&talk, "Write.") else { return };
    let first = terminal.until("n no: ");
    let lines: Vec<&str> = first.trim_start().lines().collect();
    assert_eq!(lines[0], "write_file asks (permissions.write = ask)", "{first}");
    assert!(first.contains("(replaces 62 lines)\n"), "{first}");
    assert!(first.contains("\n  │ -old 1\n") && !first.contains("old 60"), "{first}");
    assert_eq!(lines.len(), 23, "a page fits on the screen: {first}");
    // A yes before everything was shown only shows more.
    terminal.type_line("y");
    let second = terminal.until("n no: ");
    assert!(second.contains("  │ -old 22\n"), "{second}");
    terminal.type_line("v");
    let rest = terminal.until(QUESTION);
    assert!(
        rest.contains("  │ -old 62\n  │ +allow it? y\n  │ +\\u{1b}[2J\\u{202e}new\n  digest: "),
        "{rest}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), old);
    terminal.type_line("y");
    terminal.until("Done.");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("allow it?"));
}

#[test]
fn allowing_a_tool_still_shows_later_calls() {
    let talk = Talk::new("agent");
    talk.model.answer(write("one.txt", "1\n"));
    talk.model.answer(write("two.txt", "2\n"));
    talk.model.answer(Answer::text("Done."));
    let Some(mut terminal) = Terminal::new(&talk, "Write.") else { return };
    let first = terminal.until(QUESTION);
    assert!(first.contains("/one.txt (new file)\n") && first.contains("  │ +1\n"), "{first}");
    terminal.type_line("a");
    let second = terminal.until("Done.");
    assert!(second.contains("/two.txt (new file)\n") && second.contains("  │ +2\n"), "{second}");
    assert!(second.contains("\nstanding: allowed with all calls of write_file in this turn\n"), "{second}");
    assert!(talk.machine.project().join("two.txt").exists());
    let explained = talk.machine.run(&format!("turn explain {}", talk.newest())).done();
    // Among the decisions and in its round; the first call was asked about.
    assert_eq!(explained.matches(" (standing)\n").count(), 2, "{explained}");
    assert!(explained.contains("allowed by owner at "), "{explained}");
}

#[test]
fn anything_but_a_yes_is_a_no() {
    let talk = Talk::new("agent");
    talk.model.answer(write("one.txt", "1\n"));
    talk.model.answer(Answer::text("Then not."));
    let Some(mut terminal) = Terminal::new(&talk, "Write.") else { return };
    terminal.until(QUESTION);
    terminal.type_line("yess");
    terminal.until("Then not.");
    assert!(!talk.machine.project().join("one.txt").exists());
}

/// Two of three agents ask at the same time; the third one ends meanwhile.
#[test]
fn delegated_calls_are_labeled_and_approved_separately() {
    let talk = Talk::new("agent");
    talk.model.answer_by(|request| {
        let body = request.body.to_string();
        if body.contains("All-three.") {
            if body.contains("Write b.") {
                return Answer::text("Done.");
            }
            let delegate = |goal: &str| json!({ "goal": goal }).to_string();
            return Answer::empty()
                .tool_call("1", "delegate", &delegate("Write b."))
                .tool_call("2", "delegate", &delegate("Write c."))
                .tool_call("3", "delegate", &delegate("Rest."));
        }
        if body.contains("Rest.") || body.contains("\"w1\"") {
            return Answer::text("So be it.");
        }
        let path = if body.contains("Write b.") { "b.txt" } else { "c.txt" };
        let write = json!({ "path": path, "content": "x\n" }).to_string();
        Answer::empty().tool_call("w1", "write_file", &write)
    });
    let Some(mut terminal) = Terminal::new(&talk, "All-three.") else { return };
    let asks = " asks: write_file (permissions.write = ask)\n  task: Write ";
    let mut questions = Vec::new();
    for _ in 0..2 {
        let asked = terminal.until(asks);
        let header = asked.lines().rev().nth(1).unwrap();
        let asker = header.split(" asks: ").next().unwrap().to_owned();
        let task = terminal.until("\n");
        let rest = terminal.until("a all of this tool by ");
        assert!(rest.contains("(new file)\n"), "{rest}");
        assert_eq!(terminal.until(": "), format!("{asker}: "));
        if questions.is_empty() {
            let turn = talk.newest();
            eventually("the end of the third", || {
                let shown = talk.machine.run(&format!("turn show {turn} --format json")).object();
                let delegated = shown["delegated"].as_array()?.iter();
                delegated.filter(|it| it["status"] == "completed").count().checked_sub(1)
            });
            // Nothing is printed behind the open question.
            assert_eq!(terminal.unseen(), "");
        }
        questions.push((asker, task));
        terminal.type_line("a");
    }
    questions.sort_by(|one, other| one.1.cmp(&other.1));
    assert_ne!(questions[0].0, questions[1].0);
    assert_eq!([&questions[0].1, &questions[1].1], ["b.\n", "c.\n"]);
    let rest = terminal.until("Done.");
    assert!(rest.contains(": done\n"), "{rest}");
}

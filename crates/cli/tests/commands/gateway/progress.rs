//! The sign of life on a terminal, and none anywhere else.

use std::io::Read as _;
use std::time::Duration;

use scripted_model::Answer;

use crate::commands::turns::starting::Talk;
use crate::support::{Machine, finish, start};

/// Returns a command's output on a terminal of this kind. `None` without `script`, which provides the terminal.
fn shown(machine: &Machine, terminal: &str, words: &str) -> Option<String> {
    let script = format!(
        "command -v script >/dev/null || exit 99; \
         script -qec 'stty rows 24 columns 60; \"$foreword\" --color never {words}' /dev/null"
    );
    let mut command = machine.shell(&script);
    command.env("TERM", terminal);
    let said = finish(command, b"");
    (said.code != Some(99)).then_some(said.out)
}

/// A terminal shows the last that was written over a line, which an erased one starts anew.
fn left_on_screen(shown: &str) -> Vec<&str> {
    shown.lines().map(|line| line.rsplit("\u{1b}[2K").next().unwrap_or_default().trim_end()).collect()
}

#[test]
fn a_terminal_shows_progress_while_a_model_is_silent() {
    let talk = Talk::new("chat");
    // The model delays its answer long enough for the progress line to appear.
    talk.model.answer_by(|_| {
        std::thread::sleep(Duration::from_millis(2_500));
        Answer::text("Hello.")
    });
    let Some(drawn) = shown(&talk.machine, "xterm", "turn start Talk Hi") else { return };
    assert!(drawn.contains("waiting for the model ("), "{drawn:?}");
    let left = left_on_screen(&drawn);
    assert_eq!(left[0], "Hello.", "nothing of it is left: {drawn:?}");
    assert!(!left.iter().any(|line| line.contains("waiting")), "{left:?}");
    // A terminal that cannot go back in its line, programs and pipes get the answer alone.
    for (terminal, words) in [("dumb", "turn start Talk Hi"), ("xterm", "turn start Talk Hi --format json")] {
        let drawn = shown(&talk.machine, terminal, words).unwrap();
        assert!(!drawn.contains("waiting") && !drawn.contains('\u{1b}'), "{terminal}: {drawn:?}");
    }
    let mut child = start(talk.machine.command("turn start Talk Hi"));
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    child.wait().unwrap();
    assert!(err.starts_with("turn 4, tokens: "), "{err:?}");
}

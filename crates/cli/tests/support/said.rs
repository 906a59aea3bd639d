//! Output and exit code of a command.

use std::io::{Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use serde_json::Value;

use super::PATIENCE;

/// A command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// Exit code. `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The data of a command that did what it was asked.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// The one word that a command printed.
    #[track_caller]
    pub(crate) fn word(self) -> String {
        let out = self.done();
        let word = out.trim_end().to_owned();
        assert!(!word.contains(char::is_whitespace), "not one word: {out:?}");
        word
    }

    /// Returns the error output of a failed command, which printed no data.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        self.err
    }

    /// Returns the single JSON object of a command that printed nothing else.
    #[track_caller]
    pub(crate) fn object(&self) -> Value {
        assert_eq!(self.err, "", "{self:?}");
        object(&self.out)
    }

    /// The error that a command printed for programs, and no data.
    #[track_caller]
    pub(crate) fn error(&self, code: i32) -> Value {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        object(&self.err)["error"].clone()
    }
}

#[track_caller]
fn object(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "not one line: {text:?}");
    let value: Value = serde_json::from_str(text).expect(text);
    assert!(value.is_object(), "not an object: {text}");
    value
}

/// Starts a command with pipes to it.
#[track_caller]
pub(crate) fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("start the command")
}

/// Runs a command to its end with something to read; one that does not end fails the test.
#[track_caller]
pub(crate) fn finish(command: Command, input: &[u8]) -> Said {
    let mut child = start(command);
    let mut stdin = child.stdin.take().expect("standard input");
    let out = collect(child.stdout.take().expect("standard output"));
    let err = collect(child.stderr.take().expect("standard error"));
    // Small input fits into the pipe, so a command that does not read it does not block.
    let _ = stdin.write_all(input);
    drop(stdin);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait for the command") {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("did not end: {}", err.join().expect("read"));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    Said { code: status.code(), out: out.join().expect("read"), err: err.join().expect("read") }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8(bytes).expect("UTF-8")
    })
}

//! A machine of its own: a user's home, a data directory, a working directory, and nothing else in the environment.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::{Client, Target};
use tempfile::TempDir;

use super::{Said, Server, finish};

pub(crate) const FOREWORD: &str = env!("CARGO_BIN_EXE_foreword");

/// Gone, with everything on it, when dropped.
pub(crate) struct Machine {
    directory: TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("foreword-test-").tempdir().expect("a directory");
        // If the system's temporary directory is a link, the binary sees its target.
        let machine = Self { directory };
        std::fs::create_dir(machine.project()).expect("a working directory");
        machine
    }

    /// One with a gateway and a workspace `demo`.
    pub(crate) fn with_workspace() -> (Self, Server) {
        let machine = Self::new();
        let server = machine.serve();
        machine.run("workspace create demo").done();
        (machine, server)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("the machine's directory")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.root().join("data")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// Writes a file; relative paths are below the machine's root.
    pub(crate) fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, text).expect("write");
        path
    }

    /// Writes a shell script that can be run by its path.
    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, format!("#!/bin/sh\nset -e\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("make executable");
        path
    }

    /// `foreword` with these words, which are split at spaces; `'a b'` is one word.
    pub(crate) fn command(&self, words: &str) -> Command {
        self.command_of(Path::new(FOREWORD), words)
    }

    /// The same with another copy of the binary.
    pub(crate) fn command_of(&self, program: &Path, words: &str) -> Command {
        let mut command = Command::new(program);
        command.args(split(words));
        self.prepare(&mut command);
        command
    }

    /// Another program on the same machine; it finds the binary as `$foreword`.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        self.prepare(&mut command);
        command
    }

    fn prepare(&self, command: &mut Command) {
        command.env_clear().current_dir(self.project());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root()).env("foreword", FOREWORD);
        command.env("FOREWORD_HOME", self.home()).env("FOREWORD_DATA", self.data());
    }

    /// Runs `foreword` with nothing to read.
    #[track_caller]
    pub(crate) fn run(&self, words: &str) -> Said {
        self.run_with(words, "")
    }

    /// Runs `foreword` with something to read.
    #[track_caller]
    pub(crate) fn run_with(&self, words: &str, input: impl AsRef<[u8]>) -> Said {
        finish(self.command(words), input.as_ref())
    }

    /// The same text with what differs from run to run replaced: `ID`, `TIME`, and `~` for the machine's root.
    pub(crate) fn tidy(&self, text: &str) -> String {
        let text = text.replace(&self.root().display().to_string(), "~");
        replace(&replace(&text, ID, "ID"), TIME, "TIME")
    }

    /// Runs `foreword` and checks its complete, normalized output.
    #[track_caller]
    pub(crate) fn check(&self, words: &str, out: &str, err: &str) {
        self.check_code(words, 0, out, err);
    }

    /// The same with another exit code.
    #[track_caller]
    pub(crate) fn check_code(&self, words: &str, code: i32, out: &str, err: &str) {
        let said = self.run(words);
        let tidied = Said { out: self.tidy(&said.out), err: self.tidy(&said.err), ..said };
        assert_eq!(tidied, Said { code: Some(code), out: out.to_owned(), err: err.to_owned() });
    }

    /// A gateway on this machine.
    #[track_caller]
    pub(crate) fn serve(&self) -> Server {
        self.serve_with("")
    }

    /// A gateway with more flags.
    #[track_caller]
    pub(crate) fn serve_with(&self, flags: &str) -> Server {
        Server::start(self, self.command(&format!("serve --listen 127.0.0.1:0 {flags}")))
    }

    /// Returns the target for a client in this process.
    pub(crate) fn target(&self) -> Target {
        Target::Local { data: self.data() }
    }

    /// A client in this process.
    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.target()).await.expect("connect")
    }
}

const ID: &str = "########-####-7###-####-############";
const TIME: &str = "####-##-##T##:##:##.###Z";

/// Replaces text that matches a pattern, in which `#` stands for a hexadecimal digit.
fn replace(text: &str, pattern: &str, by: &str) -> String {
    let fits = |start: usize| {
        text.get(start..start + pattern.len()).is_some_and(|part| {
            part.bytes().zip(pattern.bytes()).all(|(byte, shape)| match shape {
                b'#' => byte.is_ascii_hexdigit(),
                shape => byte == shape,
            })
        })
    };
    let mut result = String::new();
    let mut rest = 0;
    for (start, _) in text.char_indices() {
        if start >= rest && fits(start) {
            result.push_str(&text[rest..start]);
            result.push_str(by);
            rest = start + pattern.len();
        }
    }
    result + &text[rest..]
}

fn split(words: &str) -> Vec<String> {
    words
        .split('\'')
        .enumerate()
        .flat_map(|(index, part)| match index % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

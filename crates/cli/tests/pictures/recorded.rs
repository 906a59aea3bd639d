//! The session of the README: three commands in a small project, and all they print.

use crate::support::{Machine, finish};

const COMMANDS: &[&str] =
    &["explain services/billing", "show services/billing", "prompt sections --cwd services/billing"];

/// The project: every outcome that a reader meets first.
const FILES: &[(&str, &str)] = &[
    (".git/HEAD", ""),
    ("AGENTS.md", "# Shop\n\nUse British spelling. Run `make check` before you finish.\n"),
    ("services/AGENTS.md", "Services are written in Go.\n"),
    ("services/billing/AGENTS.override.md", "Money is in cents, never a float.\n"),
    ("services/billing/AGENTS.md", "Money is a decimal with two digits.\n"),
];

/// Text of the terminal with its colors.
pub(super) fn session() -> String {
    let machine = Machine::new();
    for (path, text) in FILES {
        machine.write(format!("shop/{path}"), text);
    }
    // As the gateway makes them at its first start.
    machine.serve().stop("TERM");
    let mut session = String::new();
    for words in COMMANDS {
        let mut command = machine.command(&format!("{words} --color always"));
        command.current_dir(machine.root().join("shop"));
        let said = finish(command, b"");
        session.push_str(&format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1mforeword {words}\u{1b}[0m\n"));
        // The temporary directory is replaced by a fixed one, so that the picture is the same on every
        // machine.
        let text =
            format!("{}{}", said.err, said.out).replace(&machine.root().display().to_string(), "/home/ada");
        session.push_str(text.trim_end());
        session.push_str("\n\n");
    }
    session.trim_end().to_owned() + "\n"
}

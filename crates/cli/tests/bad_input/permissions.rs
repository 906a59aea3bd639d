//! Files that an ordinary user may not read or write. Root may do everything, so if the tests run as root, the commands run as
//! another user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use test_sandbox::OTHER_USER;

use super::{FAILED, complains, is_no_accident};
use crate::support::{FOREWORD, Machine, Said, finish};

/// A machine of an ordinary user.
struct Ordinary {
    machine: Machine,
    program: PathBuf,
}

impl Ordinary {
    fn new() -> Self {
        let machine = Machine::new();
        machine.write("home/config.toml", "[gateway]\nlisten = '127.0.0.1:0'\n");
        machine.write("project/.git/HEAD", "");
        machine.write("project/AGENTS.md", "Be brief.\n");
        machine.write("project/billing/AGENTS.md", "Round up.\n");
        // The data directory exists in advance, because the tests below change its owner and mode.
        fs::create_dir(machine.data()).unwrap();
        fs::set_permissions(machine.data(), Permissions::from_mode(0o700)).unwrap();
        // The build directory may be inaccessible to the other user.
        let program = machine.root().join("foreword");
        fs::hard_link(FOREWORD, &program).or_else(|_| fs::copy(FOREWORD, &program).map(|_| ())).unwrap();
        let ordinary = Self { machine, program };
        for path in ["", "home", "home/config.toml", "data", "project"] {
            ordinary.give(path, OTHER_USER);
        }
        for path in ["project/AGENTS.md", "project/billing", "project/billing/AGENTS.md"] {
            ordinary.give(path, OTHER_USER);
        }
        ordinary
    }

    fn is_root() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// Only root can give something away, and only then is the user another.
    fn give(&self, path: &str, user: u32) {
        if Self::is_root() {
            chown(self.machine.root().join(path), Some(user), Some(user)).unwrap();
        }
    }

    fn run(&self, words: &str) -> Said {
        let mut command = self.machine.command_of(&self.program, words);
        if Self::is_root() {
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        let said = finish(command, b"");
        Said { err: self.machine.tidy(&said.err), out: self.machine.tidy(&said.out), ..said }
    }

    /// Runs each row while something has another mode.
    #[track_caller]
    fn while_mode(&self, path: &str, mode: u32, rows: &[(&str, &str)]) {
        let path = self.machine.root().join(path);
        let before = path.metadata().unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        for (words, expected) in rows {
            complains(&self.run(words), FAILED, words, expected);
        }
        // The mode is restored after the rows, since the next call runs on the same machine and the
        // temporary directory could not be removed otherwise.
        fs::set_permissions(&path, before).unwrap();
    }
}

#[test]
fn a_configuration_or_a_home_that_cannot_be_read() {
    let user = Ordinary::new();
    let expected = "cannot read the configuration file ~/home/config.toml: Permission denied";
    let rows = ["explain", "show", "config", "status", "serve", "init", "workspace list"];
    let rows = rows.map(|words| (words, expected));
    user.while_mode("home/config.toml", 0o000, &rows);
    user.while_mode("home", 0o000, &rows);
    user.machine.write("project/.foreword/config.toml", "");
    user.give("project/.foreword", OTHER_USER);
    user.while_mode(
        "project/.foreword",
        0o000,
        &[(
            "explain",
            "cannot read the configuration file ~/project/.foreword/config.toml: Permission denied",
        )],
    );
    // The doctor is the one command that must still run, since it is what users try when nothing else
    // works. It reports the unreadable file as a failed check.
    let doctor = {
        let config = user.machine.home().join("config.toml");
        fs::set_permissions(&config, Permissions::from_mode(0o000)).unwrap();
        user.run("doctor")
    };
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.out.contains(expected), "{doctor:?}");
}

#[test]
fn an_inaccessible_or_foreign_data_directory_is_refused() {
    let user = Ordinary::new();
    let lock = "could not read ~/data/gateway.lock: Permission denied";
    user.while_mode(
        "data",
        0o000,
        &[
            ("status", lock),
            ("doc get", lock),
            ("init", lock),
            ("backup ../copy.db", "could not read the database ~/data/foreword.db: Permission denied"),
        ],
    );
    if !Ordinary::is_root() {
        return;
    }
    user.give("data", 0);
    // A directory of another user is refused whatever its mode: that user could read the owner token, or
    // replace the database while the gateway runs.
    for mode in [0o700, 0o755, 0o777] {
        fs::set_permissions(user.machine.data(), Permissions::from_mode(mode)).unwrap();
        let said = user.run("serve");
        complains(&said, FAILED, "serve", "the data directory ~/data belongs to another user");
        complains(&said, FAILED, "serve", "hint: name a directory of your own with --data");
    }
    fs::set_permissions(user.machine.data(), Permissions::from_mode(0o700)).unwrap();
    let doctor = user.run("doctor");
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.out.contains("fail  data: could not read ~/data: Permission denied"), "{doctor:?}");
}

#[test]
fn project_files_that_cannot_be_read_or_written() {
    let user = Ordinary::new();
    let file = user.machine.project().join("billing/AGENTS.md");
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    // The rest is still read, and the missing part is reported once.
    let said = user.run("show billing");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("Be brief.") && !said.out.contains("Round up."), "{said:?}");
    assert!(
        said.err.starts_with("warning: billing/AGENTS.md: it cannot be read: Permission denied"),
        "{said:?}"
    );
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
    assert_eq!(user.run("explain billing --check").code, Some(1));
    let codex = user.run("explain billing --profile codex");
    assert!(codex.out.contains("nothing applies, because a file or directory cannot be read"), "{codex:?}");
    for words in
        ["show billing", "explain billing", "resolve --session s.json billing", "session show s.json"]
    {
        is_no_accident(&user.run(words), words);
    }
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();

    user.while_mode("project/billing", 0o000, &[("init billing", "could not look into ~/project/billing: ")]);
    // The manifest gives `init` something to propose. Without it the command would stop before the write
    // that this test is about.
    fs::remove_file(user.machine.project().join("AGENTS.md")).unwrap();
    user.machine.write("project/go.mod", "module x\n\ngo 1.24\n");
    fs::set_permissions(user.machine.project(), Permissions::from_mode(0o555)).unwrap();
    let said = user.run("init --yes");
    assert_eq!(said.code, Some(FAILED), "{said:?}");
    assert!(said.err.contains("\nerror: could not write ~/project/AGENTS.md: Permission denied"), "{said:?}");
    user.while_mode(
        "project",
        0o555,
        &[
            ("resolve --session new.json --cwd . billing", "could not lock new.json.lock: Permission denied"),
            ("schema out", "could not create out: Permission denied"),
            ("man out", "could not create out: Permission denied"),
        ],
    );
}

//! macOS: a profile for `sandbox-exec` with the same intent as the confinement on Linux. It has not been tested on a Mac yet.

#[cfg(target_os = "macos")]
use std::ffi::OsString;
use std::path::Path;

use crate::CommandRequest;
#[cfg(target_os = "macos")]
use crate::launch::{Launch, SHELL};
use crate::system_directories::MACOS;

/// Path of the sandbox tool. It is not searched for on `PATH`, which may be under the control of others.
#[cfg(target_os = "macos")]
const PROGRAM: &str = "/usr/bin/sandbox-exec";

/// Devices that every program expects.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty"];

#[cfg(target_os = "macos")]
pub(crate) fn launch(request: &CommandRequest) -> Launch {
    let mut environment = request.environment.clone();
    let temporary = || OsString::from(request.temporary.clone());
    environment.extend([("HOME".into(), temporary()), ("TMPDIR".into(), temporary())]);
    Launch {
        program: PROGRAM.into(),
        arguments: vec![
            "-p".into(),
            profile(request).into(),
            SHELL.into(),
            "-c".into(),
            request.text.clone().into(),
        ],
        environment,
        directory: request.cwd.path().into(),
        says_when_it_begins: false,
        time: request.limits.time,
        held: None,
    }
}

#[cfg(target_os = "macos")]
pub(crate) fn attempt() -> Result<(), String> {
    let tried = std::process::Command::new(PROGRAM)
        .args(["-p", "(version 1)(deny default)(allow process*)(allow file-read*)", "/usr/bin/true"])
        .status();
    match tried {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{PROGRAM} failed: {status}")),
        Err(error) => Err(format!("{PROGRAM}: {error}")),
    }
}

/// Returns the profile. Everything is denied by default, and the last matching rule wins.
fn profile(request: &CommandRequest) -> String {
    let mut rules = vec!["(version 1)".to_owned(), "(deny default)".to_owned()];
    let mut rule = |action: &str, operations: &str, kind: &str, path: &Path| {
        rules.push(format!("({action} {operations} ({kind} {}))", quoted(path)));
    };
    for row in MACOS {
        rule("allow", "file-read*", "subpath", Path::new(row.path));
    }
    for path in DEVICES {
        rule("allow", "file-write-data", "literal", Path::new(path));
    }
    for path in &request.readable {
        rule("allow", "file-read*", "subpath", path);
    }
    let root = request.root.path();
    for path in request.writable.iter().chain([&request.temporary, &root]) {
        rule("allow", "file-read* file-write*", "subpath", path);
    }
    for path in &request.protected {
        rule("deny", "file-write*", "subpath", path);
        // Renaming a parent directory would move a protected file away from the path of its rule.
        for directory in path.ancestors().skip(1).take_while(|above| above.starts_with(&root)) {
            rule("deny", "file-write-unlink", "literal", directory);
        }
    }
    for path in &request.hidden {
        rule("deny", "file-read* file-write*", "subpath", path);
    }
    rules.push("(allow file-read-metadata (literal \"/\"))".to_owned());
    rules.push("(allow process-exec process-fork)".to_owned());
    rules.push("(allow signal (target same-sandbox))".to_owned());
    rules.push("(allow sysctl-read)".to_owned());
    rules.push("(deny network*)".to_owned());
    rules.join("\n")
}

/// Quotes a path for the profile language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Directory, ResourceLimits, SandboxLevel};

    #[test]
    fn denials_come_after_the_rules_that_allow() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let request = CommandRequest {
            level: SandboxLevel::Confined,
            root: Directory::look(&root).unwrap(),
            cwd: Directory::look(&root).unwrap(),
            temporary: "/private/tmp/foreword".into(),
            readable: vec!["/Users/a \"b\"".into()],
            writable: Vec::new(),
            hidden: vec![root.join("data")],
            protected: vec![root.join("a/AGENTS.md")],
            environment: Vec::new(),
            text: String::new(),
            limits: ResourceLimits::default(),
        };
        let profile = profile(&request);
        let position = |text: String| profile.find(&text).unwrap_or_else(|| panic!("{text}\n{profile}"));
        let shown = root.display();
        let allowed = position(format!("(allow file-read* file-write* (subpath \"{shown}\"))"));
        assert!(allowed < position(format!("(deny file-write* (subpath \"{shown}/a/AGENTS.md\"))")));
        assert!(allowed < position(format!("(deny file-write-unlink (literal \"{shown}/a\"))")));
        assert!(allowed < position(format!("(deny file-read* file-write* (subpath \"{shown}/data\"))")));
        position("(allow file-read* (subpath \"/Users/a \\\"b\\\"\"))".to_owned());
        assert!(profile.starts_with("(version 1)\n(deny default)\n") && profile.ends_with("(deny network*)"));
    }
}

//! Whatever is in the place of an instruction file, an import or an agent's settings: every command about agents ends, and there
//! is a decision about each.

use std::os::unix::fs::symlink;
use std::path::Path;

use instructions::PROFILES;
use serde_json::json;

use crate::support::Machine;

/// Kinds of entries under the name of an instruction file.
type Kind = (&'static str, fn(&Path));

const KINDS: &[Kind] = &[
    ("a link to itself", |path| symlink(path.file_name().unwrap(), path).unwrap()),
    ("a link that leads nowhere", |path| symlink("nowhere.md", path).unwrap()),
    ("a link that leads outside", |path| {
        let project = path.ancestors().find(|above| above.ends_with("project")).unwrap();
        symlink(project.parent().unwrap().join("outside.md"), path).unwrap();
    }),
    // Reading `/dev/zero` never ends and a pipe without a writer blocks in `open`. Both must be recognized
    // by their file type before any byte is read.
    ("a link to a device", |path| symlink("/dev/zero", path).unwrap()),
    ("a pipe", |path| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }),
    ("a directory", |path| std::fs::create_dir(path).unwrap()),
    ("nothing in it", |path| std::fs::write(path, "").unwrap()),
    ("40 KB", |path| std::fs::write(path, "0123456789abcde\n".repeat(2_500)).unwrap()),
    ("200 KB", |path| std::fs::write(path, "0123456789abcde\n".repeat(12_500)).unwrap()),
    ("UTF-16", |path| {
        let units = "\u{feff}Use tabs.\n".encode_utf16().flat_map(u16::to_le_bytes);
        std::fs::write(path, units.collect::<Vec<u8>>()).unwrap();
    }),
    // Control characters, NUL and invalid UTF-8 in one file: none of them may reach a terminal or stop the
    // command.
    ("zero bytes", |path| std::fs::write(path, b"a\0b \x1b[31m \xff\n").unwrap()),
    ("front matter that is no YAML", |path| {
        std::fs::write(path, "---\napplies_to: [\npaths: {\n\t- x\n---\nText\n").unwrap();
    }),
    ("imports of what is no file", |path| {
        let own = path.file_name().unwrap().to_str().unwrap();
        let text = format!("@. @.. @./ @docs @pipe.md @zero.md @{own} @two.md @../outside.md @nope.md\n");
        std::fs::write(path, text).unwrap();
    }),
];

/// A project in which every name that any agent reads is of one kind, in the root, and in directories with odd names.
fn project(make: fn(&Path)) -> Machine {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("project/.git/objects/x", "");
    machine.write("project/.git/refs/x", "");
    machine.write("project/docs/x.md", "x\n");
    machine.write("outside.md", "OUTSIDE\n");
    machine.write("project/one.md", "@two.md\n");
    machine.write("project/two.md", "@one.md\n");
    let root = machine.project();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe.md"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    symlink("/dev/zero", root.join("zero.md")).unwrap();
    // A line break, quotes and markup in a directory's name can break line-based output, shell hints and
    // HTML pages, so every kind of file is placed below such names as well.
    for directory in [root.clone(), root.join("new\nline"), root.join("quo\"te's `<b>`")] {
        for name in PROFILES.iter().flat_map(|profile| profile.known_names()) {
            let path = directory.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            // Several profiles know the same names. `exists` would follow a dangling link and report it as
            // missing, so that the second profile failed to create it again.
            if path.symlink_metadata().is_err() {
                make(&path);
            }
        }
    }
    machine
}

#[test]
fn every_file_has_a_decision_for_every_agent() {
    for (kind, make) in KINDS {
        let machine = project(*make);
        let root = machine.project();
        for profile in PROFILES {
            let words = format!("explain --all --format json --profile {}", profile.name);
            let said = machine.run(&words);
            // Code 1 is allowed: an agent that would refuse to start on such a file is reported as a
            // finding.
            assert!(matches!(said.code, Some(0 | 1)), "{kind}: {words}: {said:?}");
            let object: serde_json::Value = serde_json::from_str(&said.out).unwrap();
            // On case-insensitive file systems, a file in other letters matches too.
            let decided = |name: &str| {
                let path = root.join(name).to_str().unwrap().to_lowercase();
                let mut decisions = object["decisions"].as_array().unwrap().iter();
                decisions.any(|decision| decision["path"].as_str().unwrap().to_lowercase() == path)
            };
            for name in profile.main_names() {
                assert!(decided(name), "{kind}: {} says nothing of {name}: {}", profile.name, said.out);
            }
        }
    }
}

#[test]
fn every_command_ends_on_any_files() {
    for (kind, make) in KINDS {
        let machine = project(*make);
        let input = json!({
            "hook_event_name": "PostToolUse", "session_id": "s", "cwd": machine.project(), "tool_name": "Bash",
            "tool_input": { "command": "cat new\nline/x quo\"te's/x docs/x.md" },
        });
        for words in
            ["check", "check --format sarif", "check --format github", "compare", "compare --markdown"]
                .into_iter()
                .chain(["compare --reading docs/x.md", "map", "map --agent claude-code --html map.html"])
                .chain([
                    "explain",
                    "show",
                    "sync --dry-run",
                    "sync --check",
                    "hook claude-code",
                    "hook gemini-cli",
                ])
        {
            let said = machine.run_with(words, input.to_string());
            // Wrong usage would be 2, a program that was ended by a signal has no code.
            assert!(matches!(said.code, Some(0 | 1 | 3)), "{kind}: {words}: {said:?}");
            assert!(!said.err.contains("panicked"), "{kind}: {words}: {}", said.err);
            // Nothing of the names can begin a line of its own.
            assert!(!said.out.lines().any(|line| line.starts_with("line/")), "{kind}: {words}: {}", said.out);
        }
    }
}

/// Whatever an agent's settings are, they are as they were after every command that looks at them, and after those that would
/// change them and cannot.
#[test]
fn settings_that_cannot_be_understood_are_never_damaged() {
    for text in [
        "{",
        "{ \"hooks\": 1 \"x\": 2 }",
        "// only a comment\n",
        "{ /* open",
        "[1, 2]",
        "\u{feff}{ \"a\": 1 } trailing",
        "{\"context\": {\"fileName\": {\"a\": 1}}, \"hooks\": \"x\"}",
        "{\"context\": 5, \"hooks\": 7}",
        "a\0b",
    ] {
        let machine = project(|path| std::fs::write(path, "x\n").unwrap());
        let is_object = serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object());
        // The settings belong to other programs and often contain work that exists nowhere else. Even
        // `--undo` must not write a file that it could not parse.
        let files = [
            ".claude/settings.json",
            ".gemini/settings.json",
            ".qwen/settings.json",
            "project/.gemini/settings.json",
            "project/.qwen/settings.json",
            "project/.claude/settings.json",
            "project/opencode.json",
        ];
        let paths: Vec<_> = files.iter().map(|file| machine.write(file, text)).collect();
        for words in ["compare", "check", "map --agent gemini-cli", "explain", "sync", "sync --undo"]
            .into_iter()
            .chain(["install claude-code", "install gemini-cli", "install qwen-code --scope project"])
            .chain(["install opencode --scope project", "install gemini-cli --undo"])
        {
            // Values that are neither hooks nor lists of names are preserved as they are.
            if is_object && words.contains("opencode") {
                continue;
            }
            let said = machine.run(words);
            assert!(matches!(said.code, Some(0 | 1 | 3)), "{text:?}: {words}: {said:?}");
            let is_blank = text.starts_with("//");
            for path in &paths {
                let now = std::fs::read_to_string(path).unwrap();
                // A blank text is an empty object, to which something can be added; its comment stays.
                assert!(now == text || is_blank && now.contains("// only a comment"), "{words}: {now:?}");
            }
        }
    }
}

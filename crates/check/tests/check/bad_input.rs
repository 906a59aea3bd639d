//! Hostile and unusual trees: the check neither panics nor blocks, and reports each problem.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::Project;

#[test]
fn pipes_sockets_directories_and_circles_are_traps() {
    let project = Project::new(&[("CLAUDE.md/x", ""), ("sub/x", "")]);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, project.root.join("AGENTS.md"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(project.root.join("sub/AGENTS.md")).unwrap();
    // A pipe without a writer blocks its reader forever, so this test would hang if the check opened it.
    project.link("GEMINI.md", "GEMINI.md");
    let found = project.of_rule("FW019");
    assert_eq!(
        found,
        [
            "AGENTS.md it is a pipe and no file; opencode, Qwen Code and pi wait for it forever when they start",
            "CLAUDE.md it is a directory and no file, and no agent reads it",
            "GEMINI.md it is a link that leads back to itself; Gemini CLI ends there",
            "sub/AGENTS.md it is a socket and no file; no agent can read it",
        ]
    );
}

#[test]
fn imports_of_directories_pipes_devices_and_cycles() {
    let project = Project::new(&[
        ("CLAUDE.md", "@dir.md\n@pipe.md\n@a.md\n@null.md\n"),
        ("dir.md/x", ""),
        ("a.md", "@b.md\n"),
        ("b.md", "@a.md\n"),
    ]);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, project.root.join("pipe.md"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    project.link("null.md", "/dev/null");
    let found = project.of_rule("FW005");
    assert_eq!(
        found,
        [
            "CLAUDE.md:1 `@dir.md` is a directory, and only files are imported",
            "CLAUDE.md:2 `@pipe.md` is a pipe or a device, and only files are imported",
            "CLAUDE.md:4 `@null.md` is a pipe or a device, and only files are imported",
        ]
    );
}

#[test]
fn links_that_lead_outside_or_nowhere() {
    let project = Project::new(&[("real/AGENTS.md", "x\n")]);
    // Agents follow such a link, but the check must not read the text, which belongs to another project.
    let outside = project.root.parent().unwrap().join("outside.md");
    std::fs::write(&outside, "secret plans: ghp_\n").unwrap();
    project.link("AGENTS.md", &outside);
    project.link("CLAUDE.md", "gone.md");
    project.link("GEMINI.md", "real/AGENTS.md");
    assert_eq!(
        project.of_rule("FW015"),
        ["AGENTS.md it is a link that leads out of the project; copy the file into it"]
    );
    let report = project.report(&[]);
    let row = report.files.iter().find(|file| file.path.ends_with("project/AGENTS.md")).unwrap();
    let readers: Vec<_> = row.agents.iter().map(|reader| reader.agent).collect();
    assert!(readers.contains(&"codex") && !readers.contains(&"foreword"), "{readers:?}");
    assert_eq!(project.of_rule("FW016"), ["CLAUDE.md it is a link to `gone.md`, which is not there"]);
}

#[test]
fn other_encodings() {
    let project = Project::new(&[]);
    let utf16: Vec<u8> = "\u{feff}Use tabs.\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    project.write("AGENTS.md", utf16);
    project.write("CLAUDE.md", b"a\nb\xff\n");
    project.write("GEMINI.md", b"a\0b\n");
    let report = project.report(&[]);
    let found: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.rule().code == "FW021")
        .map(|finding| (finding.path.file_name().unwrap().to_str().unwrap(), finding.line, finding.fixable))
        .collect();
    assert_eq!(
        found,
        [("AGENTS.md", None, true), ("CLAUDE.md", Some(2), false), ("GEMINI.md", Some(1), false)]
    );
}

#[test]
fn names_with_anything_in_them() {
    let project = Project::new(&[]);
    // Each of these names would break a workflow command, a URI or a terminal if it were written as it is.
    for name in ["a\nb", "\"quoted\"", "::error::x", "ü,%", "\u{202e}x"] {
        project.write(&format!("{name}/AGENTS.md"), "`src/gone.rs`\n");
    }
    let odd = project.root.join(OsStr::from_bytes(b"\xff\xfe"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("AGENTS.md"), "`src/gone.rs`\n").unwrap();
    let report = project.report(&[]);
    let missing = report.findings.iter().filter(|finding| finding.rule().code == "FW008");
    assert_eq!(missing.count(), 6);
    let annotations = check::format::github(&report, &report.root);
    assert_eq!(annotations.lines().count(), report.findings.len(), "one line each");
    assert!(annotations.lines().all(|line| line.starts_with("::warning ") || line.starts_with("::notice ")));
    serde_json::to_string(&check::format::sarif(&report, "1")).unwrap();
}

#[test]
fn large_and_hostile_texts() {
    let project = Project::new(&[
        // Each text provokes a different kind of cost: one long line, unclosed brackets, deep nesting, recursive YAML
        // anchors, and long runs of one character.
        ("AGENTS.md", &"x".repeat(200_000)),
        ("a/AGENTS.md", &"`a/b.rs` @c.md [".repeat(3_000)),
        ("b/AGENTS.md", &"- ".repeat(40_000)),
        ("c/AGENTS.md", &format!("---\n{}---\n", "a: &a [*a]\n".repeat(1_000))),
        (".claude/rules/x.md", &format!("---\npaths: {}\n---\n", "[".repeat(10_000))),
        ("d/AGENTS.md", &"\u{200b}".repeat(40_000)),
        ("e/AGENTS.md", &"> ".repeat(20_000)),
        ("f/AGENTS.md", &"`".repeat(40_000)),
    ]);
    let report = project.report(&[]);
    let hidden = report.findings.iter().filter(|finding| finding.path.ends_with("d/AGENTS.md"));
    assert!(hidden.count() < 10);
}

#[test]
fn unreadable_files_and_directories() {
    if rustix::process::geteuid().is_root() {
        // The superuser can read every file.
        return;
    }
    let project = Project::new(&[("AGENTS.md", "x\n"), ("sub/AGENTS.md", "x\n")]);
    // The permissions of the directory are restored below, because the temporary directory could not be removed
    // otherwise.
    let forbid = |path: &str| {
        std::fs::set_permissions(project.root.join(path), std::fs::Permissions::from_mode(0o000)).unwrap();
    };
    forbid("AGENTS.md");
    forbid("sub");
    let found = project.of_rule("FW022");
    std::fs::set_permissions(project.root.join("sub"), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert!(found.iter().any(|found| found.starts_with("AGENTS.md it cannot be read")), "{found:?}");
    assert!(found.iter().any(|found| found.contains("a part of the tree")), "{found:?}");
}

#[test]
fn settings_that_an_agent_does_not_start_with() {
    let project = Project::new(&[("AGENTS.md", "x\n"), (".codex/config.toml", "a = 1\nb = [\n")]);
    let found = project.of_rule("FW025");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("Codex does not start here once the project is trusted"), "{found:?}");
}

#[test]
fn fixes_change_only_invisible_characters() {
    let project = Project::new(&[("AGENTS.md", "\u{feff}zero\u{200b}width \u{202e}x\r\nفارسی\u{200c}ها\n")]);
    let utf16: Vec<u8> = "\u{feff}Use\u{200b} tabs.\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    project.write("CLAUDE.md", utf16);
    std::fs::set_permissions(project.root.join("AGENTS.md"), std::fs::Permissions::from_mode(0o640)).unwrap();
    project.link("GEMINI.md", "AGENTS.md");
    let (fixed, errors) = check::fix(&project.report(&[]));
    assert!(errors.is_empty());
    let fixed: Vec<_> = fixed.iter().map(|fixed| fixed.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(fixed, ["AGENTS.md", "CLAUDE.md"]);
    let read = |name: &str| std::fs::read_to_string(project.root.join(name)).unwrap();
    assert_eq!(read("AGENTS.md"), "\u{feff}zerowidth \u{202e}x\r\nفارسی\u{200c}ها\n");
    assert_eq!(read("CLAUDE.md"), "Use tabs.\n");
    let mode = project.root.join("AGENTS.md").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(project.root.join("GEMINI.md").symlink_metadata().unwrap().is_symlink());
    assert!(check::fix(&project.report(&[])).0.is_empty(), "once is enough");
}

#[test]
fn fixes_leave_code_and_other_files_alone() {
    let project = Project::new(&[
        (
            "CLAUDE.md",
            "@x.md @y.py\nMongolian \u{1820}\u{180e}\u{1820}, \u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\n",
        ),
        ("x.md", "te\u{200b}xt `co\u{200b}de`\n\n```\nco\u{200b}de\n```\n"),
        ("y.py", "a = \"\u{200b}\"\n"),
    ]);
    let before = |name: &str| std::fs::read_to_string(project.root.join(name)).unwrap();
    let claude = before("CLAUDE.md");
    let program = before("y.py");
    let (fixed, errors) = check::fix(&project.report(&[]));
    assert!(errors.is_empty());
    assert_eq!(fixed.len(), 1, "{fixed:?}");
    assert_eq!((before("CLAUDE.md"), before("y.py")), (claude, program));
    assert_eq!(before("x.md"), "text `co\u{200b}de`\n\n```\nco\u{200b}de\n```\n");
    let hidden = project.of_rule("FW013");
    assert!(hidden.is_empty(), "a flag hides nothing: {hidden:?}");
    // Tag characters that do not spell a flag hide text.
    project.write("CLAUDE.md", "\u{1f3f4}\u{e0075}\u{e0073}\u{e007f}\n");
    assert_eq!(project.of_rule("FW013").len(), 1);
}

#[test]
fn fixes_skip_hard_links_and_text_resembling_utf16() {
    let project = Project::new(&[("AGENTS.md", "te\u{200b}xt\n")]);
    std::fs::hard_link(project.root.join("AGENTS.md"), project.root.join("other.md")).unwrap();
    let (fixed, errors) = check::fix(&project.report(&[]));
    assert!(fixed.is_empty());
    assert!(errors[0].to_string().contains("hard link"), "{errors:?}");
    let utf32: Vec<u8> = "\u{feff}text\n".chars().flat_map(|it| u32::from(it).to_le_bytes()).collect();
    let project = Project::new(&[]);
    project.write("AGENTS.md", &utf32);
    assert!(check::fix(&project.report(&[])).0.is_empty());
    assert_eq!(std::fs::read(project.root.join("AGENTS.md")).unwrap(), utf32);
}

// The lookup for one piece must not depend on the number of pieces before it: a quadratic search would take minutes
// for these 40,000 lines.
#[test]
fn texts_with_very_many_pieces_terminate() {
    let lines = |line: &dyn Fn(usize) -> String| (0..40_000).map(line).collect::<String>();
    let project = Project::new(&[
        ("AGENTS.md", &lines(&|number| format!("@a{number}.md\n"))),
        ("a/AGENTS.md", &lines(&|number| format!(" @a{number}.md"))),
        ("b/AGENTS.md", &lines(&|number| format!("```sh\nnpm run x{number}\nmake y{number}\n```\n"))),
        ("c/AGENTS.md", &"`a` ".repeat(100_000)),
        ("package.json", r#"{ "scripts": { "x": "y" } }"#),
        ("Makefile", &lines(&|number| format!("target{number}:\n\ttrue\n"))),
        (".claude/rules/x.md", &format!("---\npaths: [{}]\n---\nx\n", "\"src/**\", ".repeat(5_000))),
    ]);
    project.report(&[]);
}

#[test]
fn json_settings_are_checked_as_by_the_agent() {
    let project = Project::new(&[
        ("AGENTS.md", "x\n"),
        (".gemini/settings.json", "{\n  // fine\n  \"a\": 1,\n}\n"),
        (".qwen/settings.json", "{"),
    ]);
    let found = project.of_rule("FW025");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(".gemini/settings.json:4 Gemini CLI does not start here"), "{found:?}");
}

//! What a repository says about itself, each thing with the file that says it.

/// What a line of the proposal is about, in the order in which it lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Language,
    Build,
    Test,
    Lint,
}

/// Words of a script, target or command, and what they are about. The first row with one of the words counts.
const WORDS: &[(Subject, &[&str])] = &[
    (
        Subject::Lint,
        &[
            "lint",
            "clippy",
            "fmt",
            "format",
            "typecheck",
            "tsc",
            "eslint",
            "prettier",
            "biome",
            "ruff",
            "mypy",
            "black",
            "flake8",
            "pyright",
            "vet",
            "golangci-lint",
            "gofmt",
            "shellcheck",
            "pre-commit",
        ],
    ),
    (Subject::Test, &["test", "tests", "check", "pytest", "nextest", "tox", "nox", "vitest", "jest"]),
    (Subject::Build, &["build", "compile"]),
];

impl Subject {
    /// What a script, target or command is about, if it is about anything the proposal lists.
    pub(super) fn of(command: &str) -> Option<Self> {
        let has = |wanted: &[&str]| {
            command.split([' ', ':', '/']).any(|word| wanted.contains(&word.trim_start_matches('-')))
        };
        WORDS.iter().find(|(_, words)| has(words)).map(|(subject, _)| *subject)
    }

    fn heading(self) -> &'static str {
        match self {
            Self::Language => "Languages",
            Self::Build => "Build",
            Self::Test => "Test and check",
            Self::Lint => "Lint and format",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) subject: Subject,
    /// A language with its version, or a command.
    pub(super) text: String,
    /// The file that says so, from the root.
    pub(super) file: String,
}

impl Finding {
    pub(super) fn new(subject: Subject, text: impl Into<String>, file: &str) -> Self {
        Self { subject, text: text.into(), file: file.to_owned() }
    }
}

/// The proposal; none where nothing was found. A command that two files name is listed once, with the first.
pub(super) fn proposal(title: &str, findings: &[Finding]) -> Option<String> {
    let mut text = format!("# {title}\n");
    let mut listed: Vec<&str> = Vec::new();
    for subject in [Subject::Language, Subject::Build, Subject::Test, Subject::Lint] {
        let mut is_first = true;
        for finding in findings.iter().filter(|finding| finding.subject == subject) {
            if listed.contains(&finding.text.as_str()) {
                continue;
            }
            listed.push(&finding.text);
            if is_first {
                text.push_str(&format!("\n## {}\n\n", subject.heading()));
                is_first = false;
            }
            let quote = if subject == Subject::Language { "" } else { "`" };
            text.push_str(&format!("- {quote}{}{quote} ({})\n", finding.text, finding.file));
        }
    }
    (!listed.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_about_what_its_words_say() {
        for (command, subject) in [
            ("cargo clippy --all-targets", Some(Subject::Lint)),
            ("test:unit", Some(Subject::Test)),
            ("npm run build", Some(Subject::Build)),
            ("cargo test --doc", Some(Subject::Test)),
            ("cargo fmt --check", Some(Subject::Lint)),
            ("apt-get install clang", None),
            ("latest", None),
        ] {
            assert_eq!(Subject::of(command), subject, "{command}");
        }
    }

    #[test]
    fn what_two_files_say_is_listed_once_and_nothing_gives_nothing() {
        let findings = [
            Finding::new(Subject::Test, "cargo test", "Cargo.toml"),
            Finding::new(Subject::Language, "Rust", "Cargo.toml"),
            Finding::new(Subject::Test, "cargo test", ".github/workflows/ci.yml"),
        ];
        let text = "# demo\n\n## Languages\n\n- Rust (Cargo.toml)\n\n## Test and check\n\n- `cargo test` (Cargo.toml)\n";
        assert_eq!(proposal("demo", &findings).as_deref(), Some(text));
        assert_eq!(proposal("demo", &[]), None);
    }
}

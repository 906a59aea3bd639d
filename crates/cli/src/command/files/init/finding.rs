//! Facts about a repository, each with the file that states it.

/// Subject of a line of the proposal, in the order of the sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Language,
    Build,
    Test,
    Lint,
}

/// Words of a script, target or command and their subject. The first row that contains one of the words wins.
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
    /// Returns the subject of a script, target or command, if the proposal lists it.
    pub(super) fn of(command: &str) -> Option<Self> {
        let has = |wanted: &[&str]| {
            // Words are compared as a whole, so that `latest` is not taken for a test and `format-version` not for a
            // formatter.
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
    /// Language with its version, or command.
    pub(super) text: String,
    /// Path of the file that states it, relative to the root.
    pub(super) file: String,
}

impl Finding {
    pub(super) fn new(subject: Subject, text: impl Into<String>, file: &str) -> Self {
        Self { subject, text: text.into(), file: file.to_owned() }
    }
}

/// Formats the proposal. `None` if nothing was found. A command in two files is listed once, with the first file.
pub(super) fn proposal(title: &str, findings: &[Finding]) -> Option<String> {
    let mut text = format!("# {title}\n");
    let mut listed: Vec<&str> = Vec::new();
    for subject in [Subject::Language, Subject::Build, Subject::Test, Subject::Lint] {
        let mut is_first = true;
        for finding in findings.iter().filter(|finding| finding.subject == subject) {
            // CI files usually repeat the commands of a manifest, which comes first and is listed as the source.
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
    fn the_words_of_a_command_determine_its_subject() {
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
    fn duplicates_are_listed_once() {
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

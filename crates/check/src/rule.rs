//! The rules as data: code, settings, docs and every output read this one table.

use serde::Serialize;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing needs to be done.
    Info,
    /// Probably not what was meant.
    Warning,
    /// Text is lost, or somebody is at risk.
    Error,
}

impl Severity {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Which rule, for code; people see [`Rule::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table says what each is")]
pub enum RuleId {
    UnreadFile,
    LostText,
    BlankFileHides,
    AgentReadsNothing,
    BrokenImport,
    EscapingImport,
    GlobMatchesNothing,
    MissingPath,
    MissingCommand,
    RepeatedParagraph,
    PackageManagers,
    TestCommands,
    HiddenText,
    InvisibleCharacter,
    LinkOutside,
    LinkToNothing,
    LikelySecret,
    InvalidFrontMatter,
    Trap,
    NotJudged,
    Encoding,
    Unreadable,
    WrapperTag,
    LetterCase,
    AgentRefuses,
    ShadowedFile,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// For code.
    pub id: RuleId,
    /// Stable: `FW` and three digits.
    pub code: &'static str,
    /// Stable: a few words with hyphens.
    pub name: &'static str,
    /// Unless settings say otherwise.
    pub severity: Severity,
    /// What is found.
    pub what: &'static str,
    /// Why that matters.
    pub why: &'static str,
    /// What to do.
    pub mend: &'static str,
    /// What `--fix` does, where it does something.
    pub fix: Option<&'static str>,
}

impl RuleId {
    /// Its row.
    pub fn rule(self) -> &'static Rule {
        // The rows are in the order of the variants, which a test holds.
        &RULES[self as usize]
    }
}

impl Rule {
    /// A rule by its code or its name, in any letter case.
    pub fn find(named: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| {
            rule.code.eq_ignore_ascii_case(named.trim()) || rule.name.eq_ignore_ascii_case(named.trim())
        })
    }
}

/// Every rule, by code.
pub static RULES: &[Rule] = &[
    Rule {
        id: RuleId::UnreadFile,
        code: "FW001",
        name: "unread-file",
        severity: Severity::Warning,
        what: "A file that looks like instructions for agents, and that none of the agents reads in any directory.",
        why: "Somebody wrote it for agents, and believes that they follow it.",
        mend: "Give it the name that your agents read, import it from a file that they read, or remove it. \
               `foreword explain` in its directory says why it is not read.",
        fix: None,
    },
    Rule {
        id: RuleId::LostText,
        code: "FW002",
        name: "lost-text",
        severity: Severity::Error,
        what: "An agent drops a file, or the end of it, because the files of a directory are larger together than its limit.",
        why: "Codex cuts at 32,768 bytes for all project files together and says nothing, neither to you nor to its model. \
              What is furthest down is lost first, which is often what matters most in that directory.",
        mend: "Shorten the files, move what only some directories need into them, or raise the agent's limit \
               (Codex: `project_doc_max_bytes`).",
        fix: None,
    },
    Rule {
        id: RuleId::BlankFileHides,
        code: "FW003",
        name: "blank-file-hides",
        severity: Severity::Warning,
        what: "A file of only white space that keeps an agent from reading another one beside it.",
        why: "Some agents take the first name that is there, whatever is in it, and read no other.",
        mend: "Remove the blank file, or write into it what the other one says.",
        fix: None,
    },
    Rule {
        id: RuleId::AgentReadsNothing,
        code: "FW004",
        name: "agent-reads-nothing",
        severity: Severity::Info,
        what: "An agent finds no instruction file anywhere in the tree, though others do.",
        why: "Whoever works with that agent gets none of the instructions.",
        mend: "Add a file of the name that it reads which imports or links to the one there is, or leave the agent out with \
               `--agent` or `check.agents`.",
        fix: None,
    },
    Rule {
        id: RuleId::BrokenImport,
        code: "FW005",
        name: "broken-import",
        severity: Severity::Error,
        what: "An import (`@path`) that leads to nothing, to something that is no file, or to the file itself, or that is too \
               many imports deep.",
        why: "Agents leave the words as they are and say nothing: what should have been imported is not there.",
        mend: "Correct the path: it counts from the directory of the file that has it. Put it into backticks if it is no import.",
        fix: None,
    },
    Rule {
        id: RuleId::EscapingImport,
        code: "FW006",
        name: "escaping-import",
        severity: Severity::Warning,
        what: "An import that leads to where an agent does not follow it: out of the project, or, for Claude Code, out of the \
               directory it was started in.",
        why: "The same line works for one agent and is silently dropped by another.",
        mend: "Copy the file into the project, or move the import to a file further up.",
        fix: None,
    },
    Rule {
        id: RuleId::GlobMatchesNothing,
        code: "FW007",
        name: "glob-matches-nothing",
        severity: Severity::Warning,
        what: "A rule's glob that no file of the tree matches.",
        why: "The rule never applies: what it is about was moved or renamed, or the glob is misspelt.",
        mend: "Correct the glob, or remove the rule. Globs count from the directory that the rule belongs to.",
        fix: None,
    },
    Rule {
        id: RuleId::MissingPath,
        code: "FW008",
        name: "missing-path",
        severity: Severity::Warning,
        what: "A path in backticks or in a link that does not exist: neither from the file's directory nor from the root, nor at \
               the end of any path of the tree. Paths that version control ignores, placeholders and examples are left alone.",
        why: "An agent looks for it, finds nothing, and guesses.",
        mend: "Correct the path, or remove the sentence.",
        fix: None,
    },
    Rule {
        id: RuleId::MissingCommand,
        code: "FW009",
        name: "missing-command",
        severity: Severity::Warning,
        what: "A command that cannot work: a script that no package.json has, a target that the Makefile does not have, a recipe \
               that the justfile does not have.",
        why: "An agent runs it, fails, and makes up another one.",
        mend: "Name the script, target or recipe as it is called now.",
        fix: None,
    },
    Rule {
        id: RuleId::RepeatedParagraph,
        code: "FW010",
        name: "repeated-paragraph",
        severity: Severity::Warning,
        what: "A paragraph that a file further up has, too, so that an agent reads it twice.",
        why: "It costs room twice, and one day only one of the two is changed.",
        mend: "Keep it in the file further up.",
        fix: None,
    },
    Rule {
        id: RuleId::PackageManagers,
        code: "FW011",
        name: "package-managers",
        severity: Severity::Warning,
        what: "Commands of a package manager that the lock file contradicts, or of two that contradict each other.",
        why: "The wrong one ignores the lock file, installs other versions, and leaves a second lock file behind.",
        mend: "Name one package manager, the one whose lock file is there.",
        fix: None,
    },
    Rule {
        id: RuleId::TestCommands,
        code: "FW012",
        name: "test-commands",
        severity: Severity::Warning,
        what: "Two instruction files of one directory that run its tests with different tools.",
        why: "Which agent is used decides which tests are run.",
        mend: "Say it in one file, and import that from the other.",
        fix: None,
    },
    Rule {
        id: RuleId::HiddenText,
        code: "FW013",
        name: "hidden-text",
        severity: Severity::Error,
        what: "Characters that carry text which people cannot see, or that reorder what they see: tag characters, \
               bidirectional controls, supplementary variation selectors.",
        why: "A model reads what a reviewer does not. This is how instructions are smuggled in.",
        mend: "Find out who wrote them, then remove them.",
        fix: None,
    },
    Rule {
        id: RuleId::InvisibleCharacter,
        code: "FW014",
        name: "invisible-character",
        severity: Severity::Warning,
        what: "An invisible character where it has no use, such as a zero-width space between Latin letters.",
        why: "It splits words that people read as one: a command that is copied with it fails.",
        mend: "Remove it.",
        fix: Some("removes the character"),
    },
    Rule {
        id: RuleId::LinkOutside,
        code: "FW015",
        name: "link-outside",
        severity: Severity::Warning,
        what: "An instruction file that is a link to something outside of the project.",
        why: "Others do not have what it leads to, and most agents read it wherever it leads.",
        mend: "Copy the file into the project.",
        fix: None,
    },
    Rule {
        id: RuleId::LinkToNothing,
        code: "FW016",
        name: "link-to-nothing",
        severity: Severity::Error,
        what: "An instruction file that is a link which leads nowhere.",
        why: "Agents pass over it, and read nothing instead.",
        mend: "Mend the link, or remove it.",
        fix: None,
    },
    Rule {
        id: RuleId::LikelySecret,
        code: "FW017",
        name: "likely-secret",
        severity: Severity::Error,
        what: "Something that has the form of a key, a token or a password. Placeholders are left alone.",
        why: "Instruction files are sent to model providers with every request, and are in the repository's history.",
        mend: "Revoke it first; then remove it, and name the variable that holds it instead.",
        fix: None,
    },
    Rule {
        id: RuleId::InvalidFrontMatter,
        code: "FW018",
        name: "invalid-front-matter",
        severity: Severity::Error,
        what: "Front matter that is not YAML, or whose keys have values that nobody can follow.",
        why: "An agent drops the file, or applies it everywhere.",
        mend: "Correct it. A glob that begins with `*` needs quotes.",
        fix: None,
    },
    Rule {
        id: RuleId::Trap,
        code: "FW019",
        name: "trap",
        severity: Severity::Error,
        what: "Something of an instruction file's name that is no file: a pipe, a device, a socket, a directory, or a link that \
               leads back to itself.",
        why: "Several agents wait for a pipe forever when they start, and a circle of links ends one of them.",
        mend: "Remove it, or give it another name.",
        fix: None,
    },
    Rule {
        id: RuleId::NotJudged,
        code: "FW020",
        name: "not-judged",
        severity: Severity::Info,
        what: "Files of agents whose rules are not known here, or were not asked for.",
        why: "Nothing is said about what those agents read, so that silence is not taken for praise.",
        mend: "Nothing. `--agent` judges Cursor, Zed and Goose by their documentation.",
        fix: None,
    },
    Rule {
        id: RuleId::Encoding,
        code: "FW021",
        name: "encoding",
        severity: Severity::Warning,
        what: "A file that is not UTF-8 text: UTF-16, zero bytes, or bytes that mean nothing.",
        why: "Agents take every file for UTF-8: UTF-16 arrives as rubbish, other bytes as replacement characters.",
        mend: "Save it as UTF-8.",
        fix: Some("rewrites UTF-16 that has a byte order mark as UTF-8"),
    },
    Rule {
        id: RuleId::Unreadable,
        code: "FW022",
        name: "unreadable",
        severity: Severity::Error,
        what: "An instruction file or a directory that cannot be read.",
        why: "Codex loses every project file when one of them cannot be read.",
        mend: "Correct its permissions.",
        fix: None,
    },
    Rule {
        id: RuleId::WrapperTag,
        code: "FW023",
        name: "wrapper-tag",
        severity: Severity::Warning,
        what: "A tag like those that agents put around instructions, such as `</INSTRUCTIONS>` or `<system-reminder>`.",
        why: "No agent escapes it at the start: text behind it looks as if it were not from a file.",
        mend: "Write it in another way, such as without its brackets.",
        fix: None,
    },
    Rule {
        id: RuleId::LetterCase,
        code: "FW024",
        name: "letter-case",
        severity: Severity::Warning,
        what: "A file that is called like an instruction file but for its letter case, so that most agents do not read it.",
        why: "It works on machines whose file systems do not tell letters apart, and nowhere else.",
        mend: "Rename it.",
        fix: None,
    },
    Rule {
        id: RuleId::AgentRefuses,
        code: "FW025",
        name: "agent-refuses",
        severity: Severity::Error,
        what: "A settings file in the project with which an agent does not start.",
        why: "Everybody who trusts the project has an agent that does not start in it.",
        mend: "Correct the settings file.",
        fix: None,
    },
    Rule {
        id: RuleId::ShadowedFile,
        code: "FW026",
        name: "shadowed-file",
        severity: Severity::Warning,
        what: "A file that an agent would read in its directory, but for a file of another name there or above.",
        why: "Claude Code reads AGENTS.md only where there is no CLAUDE.md with a text in the directory that it is started in or \
              above: one CLAUDE.md in the root hides every AGENTS.md of the tree from it, and it says nothing.",
        mend: "Put a CLAUDE.md beside the file which imports or links to it; `foreword sync` does that for the whole tree.",
        fix: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_complete() {
        for (index, rule) in RULES.iter().enumerate() {
            assert_eq!(rule.code, format!("FW{:03}", index + 1));
            assert_eq!(rule.id as usize, index, "{}", rule.code);
            assert!(rule.name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'));
            for text in [rule.what, rule.why, rule.mend] {
                assert!(text.ends_with('.') && !text.contains("  "), "{}: {text}", rule.code);
            }
        }
        assert_eq!(RULES.last().map(|rule| rule.id), Some(RuleId::ShadowedFile));
    }

    #[test]
    fn rules_are_found_by_code_and_name() {
        assert_eq!(Rule::find("fw008").map(|rule| rule.name), Some("missing-path"));
        assert_eq!(Rule::find("Missing-Path").map(|rule| rule.code), Some("FW008"));
        assert!(Rule::find("FW999").is_none());
    }
}

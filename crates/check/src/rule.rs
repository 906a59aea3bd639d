//! Table of all rules, used by code, settings, docs and every output.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information; no action needed.
    Info,
    /// Probably a mistake.
    Warning,
    /// Text is lost, or there is a security risk.
    Error,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Identifier of a rule in code; users see [`CheckRule::code`].
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
    BrokenGuard,
    IdleGuard,
}

/// Definition of a rule.
#[derive(Debug)]
pub struct CheckRule {
    pub id: RuleId,
    /// Stable code: `FW` and three digits.
    pub code: &'static str,
    /// Stable name: a few words with hyphens.
    pub name: &'static str,
    /// Default severity.
    pub severity: Severity,
    /// Description of the finding.
    pub summary: &'static str,
    /// Reason why it matters.
    pub rationale: &'static str,
    /// Advice.
    pub advice: &'static str,
    /// Effect of `--fix`; `None` if there is none.
    pub fix: Option<&'static str>,
}

impl RuleId {
    /// Returns the definition of the rule.
    pub fn rule(self) -> &'static CheckRule {
        // The table is in the order of the variants, which a test checks.
        &RULES[self as usize]
    }
}

/// Pages of the rules, by code.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/rules");

impl CheckRule {
    /// Returns the address of the page about the rule.
    pub fn url(&self) -> String {
        format!("{PAGES}/{}.md", self.code)
    }

    /// Returns a rule by its code or name, ignoring letter case.
    pub fn find(named: &str) -> Option<&'static CheckRule> {
        RULES.iter().find(|rule| {
            rule.code.eq_ignore_ascii_case(named.trim()) || rule.name.eq_ignore_ascii_case(named.trim())
        })
    }
}

/// All rules, by code.
pub static RULES: &[CheckRule] = &[
    CheckRule {
        id: RuleId::UnreadFile,
        code: "FW001",
        name: "unread-file",
        severity: Severity::Warning,
        summary: "A file that looks like instructions but that no agent reads in any directory.",
        rationale: "Its author believes that agents follow it.",
        advice: "Give it a name that your agents read, import it from a file that they read, or remove it. \
               `foreword explain` in its directory shows the reason.",
        fix: None,
    },
    CheckRule {
        id: RuleId::LostText,
        code: "FW002",
        name: "lost-text",
        severity: Severity::Error,
        summary: "An agent drops a file or the end of it, because the files of a directory together exceed its limit.",
        rationale: "Codex cuts all project files together at 32,768 bytes without a message to you or its model. \
              The most specific file is lost first, which often matters most in that directory.",
        advice: "Shorten the files, move what only some directories need into them, or raise the agent's limit \
               (Codex: `project_doc_max_bytes`).",
        fix: None,
    },
    CheckRule {
        id: RuleId::BlankFileHides,
        code: "FW003",
        name: "blank-file-hides",
        severity: Severity::Warning,
        summary: "A file with only white space that keeps an agent from reading another file beside it.",
        rationale: "Some agents take the first name that exists, regardless of its content, and read no other.",
        advice: "Remove the blank file, or copy the other one into it.",
        fix: None,
    },
    CheckRule {
        id: RuleId::AgentReadsNothing,
        code: "FW004",
        name: "agent-reads-nothing",
        severity: Severity::Info,
        summary: "An agent finds no instruction file anywhere in the tree, though others do.",
        rationale: "Users of that agent get none of the instructions.",
        advice: "Add a file with a name that it reads and that imports or links to the existing one, or exclude the agent with \
               `--agent` or `check.agents`.",
        fix: None,
    },
    CheckRule {
        id: RuleId::BrokenImport,
        code: "FW005",
        name: "broken-import",
        severity: Severity::Error,
        summary: "An import (`@path`) of a missing file, of something that is not a file, or of the file itself, or a chain of \
               imports that is too long.",
        rationale: "Agents keep the words and report nothing, so the imported text is missing.",
        advice: "Correct the path, which is relative to the directory of the file. Put it into backticks if it is not an import.",
        fix: None,
    },
    CheckRule {
        id: RuleId::EscapingImport,
        code: "FW006",
        name: "escaping-import",
        severity: Severity::Warning,
        summary: "An import that an agent does not follow because it leads out of the project or, for Claude Code, out of the \
               directory in which it was started.",
        rationale: "The same line works for one agent and is silently dropped by another.",
        advice: "Copy the file into the project, or move the import to a file further up.",
        fix: None,
    },
    CheckRule {
        id: RuleId::GlobMatchesNothing,
        code: "FW007",
        name: "glob-matches-nothing",
        severity: Severity::Warning,
        summary: "A rule's glob that matches no file of the tree.",
        rationale: "The rule never applies: its files were moved or renamed, or the glob is misspelt.",
        advice: "Correct the glob, or remove the rule. Globs are relative to the directory that the rule belongs to.",
        fix: None,
    },
    CheckRule {
        id: RuleId::MissingPath,
        code: "FW008",
        name: "missing-path",
        severity: Severity::Warning,
        summary: "A link to a file that does not exist, or a path in backticks that does not exist: neither relative to the file's \
               directory or the root, nor as the end of any path of the tree. Paths ignored by version control, placeholders, \
               examples and files of other projects are skipped.",
        rationale: "An agent looks for it, finds nothing, and guesses.",
        advice: "Correct the path, or remove the sentence.",
        fix: None,
    },
    CheckRule {
        id: RuleId::MissingCommand,
        code: "FW009",
        name: "missing-command",
        severity: Severity::Warning,
        summary: "A command that cannot work: a script that is in no package.json, a target that is not in the Makefile, or a recipe \
               that is not in the justfile.",
        rationale: "An agent runs it, fails, and invents another one.",
        advice: "Use the current name of the script, target or recipe.",
        fix: None,
    },
    CheckRule {
        id: RuleId::RepeatedParagraph,
        code: "FW010",
        name: "repeated-paragraph",
        severity: Severity::Warning,
        summary: "A paragraph that is also in a file further up, so that an agent reads it twice.",
        rationale: "It uses space twice, and sooner or later only one copy is updated.",
        advice: "Keep it in the file further up.",
        fix: None,
    },
    CheckRule {
        id: RuleId::PackageManagers,
        code: "FW011",
        name: "package-managers",
        severity: Severity::Warning,
        summary: "Commands of a package manager that contradict the lock file, or of two package managers that contradict each other.",
        rationale: "The wrong one ignores the lock file, installs other versions, and leaves a second lock file behind.",
        advice: "Name one package manager: the one whose lock file exists.",
        fix: None,
    },
    CheckRule {
        id: RuleId::TestCommands,
        code: "FW012",
        name: "test-commands",
        severity: Severity::Warning,
        summary: "Two instruction files of one directory that run its tests with different tools.",
        rationale: "The choice of agent decides which tests run.",
        advice: "Describe it in one file, and import that file from the other.",
        fix: None,
    },
    CheckRule {
        id: RuleId::HiddenText,
        code: "FW013",
        name: "hidden-text",
        severity: Severity::Error,
        summary: "Characters that carry text invisible to people, or that reorder visible text: tag characters, \
               bidirectional controls, supplementary variation selectors.",
        rationale: "A model reads text that a reviewer does not see. This is a way to smuggle in instructions.",
        advice: "Find their origin, then remove them.",
        fix: None,
    },
    CheckRule {
        id: RuleId::InvisibleCharacter,
        code: "FW014",
        name: "invisible-character",
        severity: Severity::Warning,
        summary: "An invisible character where it has no use, such as a zero-width space between Latin letters.",
        rationale: "It splits words that people read as one. A command copied with it fails.",
        advice: "Remove it.",
        fix: Some("removes the character"),
    },
    CheckRule {
        id: RuleId::LinkOutside,
        code: "FW015",
        name: "link-outside",
        severity: Severity::Warning,
        summary: "An instruction file that is a link to a target outside the project.",
        rationale: "Other people do not have its target, and most agents follow it anywhere.",
        advice: "Copy the file into the project.",
        fix: None,
    },
    CheckRule {
        id: RuleId::LinkToNothing,
        code: "FW016",
        name: "link-to-nothing",
        severity: Severity::Error,
        summary: "An instruction file that is a dangling link.",
        rationale: "Agents skip it and read nothing instead.",
        advice: "Fix the link, or remove it.",
        fix: None,
    },
    CheckRule {
        id: RuleId::LikelySecret,
        code: "FW017",
        name: "likely-secret",
        severity: Severity::Error,
        summary: "Text in the form of a key, a token or a password. Placeholders are skipped.",
        rationale: "Instruction files are sent to model providers with every request, and are in the repository's history.",
        advice: "Revoke it first. Then remove it, and name the variable that holds it instead.",
        fix: None,
    },
    CheckRule {
        id: RuleId::InvalidFrontMatter,
        code: "FW018",
        name: "invalid-front-matter",
        severity: Severity::Error,
        summary: "Front matter that is not YAML, or whose keys have invalid values.",
        rationale: "An agent drops the file, or applies it everywhere.",
        advice: "Correct it. A glob that begins with `*` needs quotes.",
        fix: None,
    },
    CheckRule {
        id: RuleId::Trap,
        code: "FW019",
        name: "trap",
        severity: Severity::Error,
        summary: "Something with an instruction file's name that is not a file: a pipe, a device, a socket, a directory, or a link \
               that leads back to itself.",
        rationale: "Several agents wait for a pipe forever when they start, and a circle of links ends one of them.",
        advice: "Remove it, or give it another name.",
        fix: None,
    },
    CheckRule {
        id: RuleId::NotJudged,
        code: "FW020",
        name: "not-judged",
        severity: Severity::Info,
        summary: "Files of agents whose rules are unknown, or that were not selected.",
        rationale: "A clean result does not cover what those agents read.",
        advice: "Nothing. `--agent` checks Cursor, Zed and Goose by their documentation.",
        fix: None,
    },
    CheckRule {
        id: RuleId::Encoding,
        code: "FW021",
        name: "encoding",
        severity: Severity::Warning,
        summary: "A file that is not UTF-8 text: UTF-16, zero bytes, or invalid bytes.",
        rationale: "Agents read every file as UTF-8. UTF-16 arrives as garbage, invalid bytes as replacement characters.",
        advice: "Save it as UTF-8.",
        fix: Some("rewrites UTF-16 that has a byte order mark as UTF-8"),
    },
    CheckRule {
        id: RuleId::Unreadable,
        code: "FW022",
        name: "unreadable",
        severity: Severity::Error,
        summary: "An instruction file or a directory that cannot be read.",
        rationale: "Codex loses every project file when one of them cannot be read.",
        advice: "Correct its permissions.",
        fix: None,
    },
    CheckRule {
        id: RuleId::WrapperTag,
        code: "FW023",
        name: "wrapper-tag",
        severity: Severity::Warning,
        summary: "A tag similar to those that agents put around instructions, such as `</INSTRUCTIONS>` or `<system-reminder>`.",
        rationale: "No agent escapes it at startup, so text behind it does not look like part of a file.",
        advice: "Write it differently, for example without its brackets.",
        fix: None,
    },
    CheckRule {
        id: RuleId::LetterCase,
        code: "FW024",
        name: "letter-case",
        severity: Severity::Warning,
        summary: "A file whose name differs from that of an instruction file only in letter case, so that most agents do not read it.",
        rationale: "It works only on file systems that ignore letter case.",
        advice: "Rename it.",
        fix: None,
    },
    CheckRule {
        id: RuleId::AgentRefuses,
        code: "FW025",
        name: "agent-refuses",
        severity: Severity::Error,
        summary: "A settings file in the project with which an agent does not start.",
        rationale: "For everyone who trusts the project, the agent does not start in it.",
        advice: "Correct the settings file.",
        fix: None,
    },
    CheckRule {
        id: RuleId::ShadowedFile,
        code: "FW026",
        name: "shadowed-file",
        severity: Severity::Warning,
        summary: "A file that an agent does not read in its directory, because of a file with another name there or above.",
        rationale: "Claude Code reads AGENTS.md only if there is no CLAUDE.md with text in the directory in which it is started or \
              above. One CLAUDE.md in the root silently hides every AGENTS.md of the tree from it.",
        advice: "If a CLAUDE.md with text is beside the file, add the line `@AGENTS.md` to it. Otherwise `foreword sync` puts a CLAUDE.md \
               beside it that links to it, for the whole tree.",
        fix: None,
    },
    CheckRule {
        id: RuleId::BrokenGuard,
        code: "FW027",
        name: "broken-guard",
        severity: Severity::Error,
        summary: "A guard that does not parse, such as one with `allow`.",
        rationale: "It is not enforced, although its author relies on it.",
        advice: "Write `<!-- guard: deny command \"npm *\" -->`, with `deny` or `ask`, and `command`, `write` or `read`.",
        fix: None,
    },
    CheckRule {
        id: RuleId::IdleGuard,
        code: "FW028",
        name: "idle-guard",
        severity: Severity::Warning,
        summary: "A guard that can never match a call.",
        rationale: "Commands are compared word by word after the shell line was split, and globs are relative to the file's directory.",
        advice: "Write a pattern for one simple command, or a path below the file's directory.",
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
            for text in [rule.summary, rule.rationale, rule.advice] {
                assert!(text.ends_with('.') && !text.contains("  "), "{}: {text}", rule.code);
            }
        }
        assert_eq!(RULES.last().map(|rule| rule.id), Some(RuleId::IdleGuard));
    }

    #[test]
    fn rules_are_found_by_code_and_name() {
        assert_eq!(CheckRule::find("fw008").map(|rule| rule.name), Some("missing-path"));
        assert_eq!(CheckRule::find("Missing-Path").map(|rule| rule.code), Some("FW008"));
        assert!(CheckRule::find("FW999").is_none());
    }
}

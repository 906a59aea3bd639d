//! Sentences whose paths need not exist in the project.

use crate::markdown::{Markdown, Piece, Within};
use crate::shell::{denies, is_example};

/// Words of sentences about other places than the project: its users, other repositories, published packages.
const ELSEWHERE: &[&str] = &[
    "user's",
    "users'",
    "user-global",
    "(user)",
    "(project)",
    "(global)",
    "consumer",
    "customer",
    "downstream",
    "upstream",
    "their project",
    "their own",
    "your project",
    "your own",
    "your app",
    "target project",
    "host project",
    "at runtime",
    "tarball",
    "inside the container",
    "in the container",
    "other repo",
    "another repo",
    "separate repo",
    "s3://",
    "planned",
    "proposed",
    "in the future",
    "not yet",
];
/// Hosts of repositories. A sentence that links to one is about the files there.
const HOSTS: &[&str] = &["github.com/", "gitlab.com/", "bitbucket.org/", "codeberg.org/"];
/// Arrows between paths: one file is renamed, generated or mirrored as the other.
const ARROWS: &[&str] = &["→", "->", "=>", "⇒", "➜", "⟶", "←", "<-", "↔", "<->", "⇄"];

/// Returns true if a path in a code span is claimed to exist in the project.
pub(super) fn claims(markdown: &Markdown, span: &Piece) -> bool {
    // The target of a link is checked instead of its words.
    if span.within == Within::Link {
        return false;
    }
    let sentence = markdown.sentence(span.line, &span.text);
    let around = [&sentence, markdown.heading(span.line), markdown.introduction(span.line)];
    let is_elsewhere = |text: &str| {
        let small = text.to_lowercase();
        ELSEWHERE.iter().any(|word| small.contains(word))
    };
    !denies(&sentence)
        && !around.iter().any(|text| is_example(text) || is_elsewhere(text))
        && !HOSTS.iter().any(|host| sentence.contains(host))
        && !is_mapped(&markdown.around(span.line), &span.text)
}

/// Returns true if an arrow joins a code span with another one.
fn is_mapped(line: &str, span: &str) -> bool {
    let written = format!("`{span}`");
    let Some(at) = line.find(&written) else { return false };
    let before = line[..at].trim_end();
    let after = line[at + written.len()..].trim_start();
    let follows = ARROWS
        .iter()
        .any(|arrow| before.strip_suffix(arrow).is_some_and(|before| before.trim_end().ends_with('`')));
    let leads = ARROWS
        .iter()
        .any(|arrow| after.strip_prefix(arrow).is_some_and(|after| after.trim_start().starts_with('`')));
    follows || leads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(text: &str) -> Vec<String> {
        let markdown = Markdown::parse(text);
        markdown.spans.iter().filter(|span| claims(&markdown, span)).map(|span| span.text.clone()).collect()
    }

    #[test]
    fn sentences_about_other_places_claim_nothing() {
        for text in [
            "Tests mirror sources: `app/cli/parser.py` → `tests/cli/test_parser.py`.",
            "[`docs/drive/x.md`](https://github.com/a/b) is elsewhere.",
            "It is in [a/b](https://github.com/a/b) (`skills/x.md`).",
            "Settings are in `config/app.json` (project).",
            "The user's `src/app.ts` is loaded.",
        ] {
            assert_eq!(claimed(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn plain_sentences_claim_their_paths() {
        assert_eq!(claimed("Prices are in `src/prices.ts`."), ["src/prices.ts"]);
        assert_eq!(claimed("Routes → `src/routes.ts`"), ["src/routes.ts"], "an arrow behind a word");
    }
}

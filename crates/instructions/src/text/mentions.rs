//! Import syntaxes of other agents.

use std::collections::HashSet;
use std::ops::Range;

use crate::profile::ImportSyntax;
use crate::text::marked::{self, Dialect, Kind, Token};
use crate::text::transform::without_comment;

/// An import in a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Range that begins with the `@`.
    pub(crate) range: Range<usize>,
    /// Path after the `@`.
    pub(crate) path: String,
}

/// Finds the imports of a text, in order.
pub(crate) fn find(text: &str, syntax: ImportSyntax) -> Vec<Mention> {
    if !text.contains('@') {
        return Vec::new();
    }
    match syntax {
        // The `references` module handles this syntax.
        ImportSyntax::Words => Vec::new(),
        ImportSyntax::SpacedOutsideBackticks => outside(spaced(text), &backticked(text)),
        ImportSyntax::SpacedOutsideMarkdownCode => outside(spaced(text), &markdown_code(text)),
        ImportSyntax::Punctuated => outside(punctuated(text), &code_by_lines(text)),
        ImportSyntax::NamesAfterSpace => names_after_space(text),
        ImportSyntax::MarkdownText => in_markdown_text(text),
    }
}

/// Returns true for the white space of most agents' parsers.
fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

/// Finds every `@` after white space, with the text up to the next white space.
fn spaced(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('@').map(|found| at + found) {
        if text[..start].chars().next_back().is_some_and(|before| !is_space(before)) {
            at = start + 1;
            continue;
        }
        let rest = &text[start + 1..];
        let path = &rest[..rest.find(is_space).unwrap_or(rest.len())];
        let end = start + 1 + path.len();
        if path.starts_with(|first: char| matches!(first, '.' | '/') || first.is_ascii_alphabetic()) {
            mentions.push(Mention { range: start..end, path: path.to_owned() });
        }
        at = end;
    }
    mentions
}

/// Finds every `@` that is not part of a mail address, with the text up to white space or a quote.
fn punctuated(text: &str) -> Vec<Mention> {
    let is_in_address = |before: char| before.is_alphanumeric() || "._%+-".contains(before);
    let mut mentions = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('@').map(|found| at + found) {
        at = start + 1;
        if text[..start].chars().next_back().is_some_and(is_in_address) || text[at..].starts_with('@') {
            continue;
        }
        let rest = &text[at..];
        let end = rest.find(|letter: char| letter.is_whitespace() || "`\"'<>".contains(letter));
        let word = &rest[..end.unwrap_or(rest.len())];
        let path = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}']);
        at += word.len();
        let name = path.rsplit('/').next().unwrap_or_default();
        let has_extension = name.rfind('.').is_some_and(|dot| dot > 0 && dot + 1 < name.len());
        if has_extension && !path.starts_with('/') {
            mentions.push(Mention { range: start..start + 1 + path.len(), path: path.to_owned() });
        }
    }
    mentions
}

/// Returns the code of a text found line by line: a fence ends with the next line that begins with its mark.
fn code_by_lines(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let marks = ["```", "~~~"];
        let mark = marks.into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                code_in_line(text, start..end, &mut ranges);
                start = end;
                continue;
            }
            _ => {}
        }
        ranges.push(start..end);
        start = end;
    }
    ranges
}

fn code_in_line(text: &str, line: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let run_at = |at: usize| bytes[at..line.end].iter().take_while(|byte| **byte == b'`').count();
    let mut at = line.start;
    while let Some(start) = bytes[at..line.end].iter().position(|byte| *byte == b'`').map(|found| at + found)
    {
        let length = run_at(start);
        let mut end = start + length;
        // Find the next run of the same length, or the end of the line.
        while end < line.end {
            let run = run_at(end);
            end += run.max(1);
            if run == length {
                break;
            }
        }
        ranges.push(start..end);
        at = end;
    }
}

/// Finds every `@` after white space, with the part after it that looks like the name of a file.
fn names_after_space(text: &str) -> Vec<Mention> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let mut mentions = Vec::new();
    for (start, _) in text.match_indices('@') {
        if text[..start].chars().next_back().is_some_and(|before| !before.is_whitespace()) {
            continue;
        }
        let rest = &text[start + 1..];
        let run = &rest[..rest.find(|letter| !is_name(letter)).unwrap_or(rest.len())];
        // An extension ends the name, or else a capital begins one.
        let extension = run
            .match_indices('.')
            .map(|(at, _)| at)
            .rfind(|at| *at > 0 && run[at + 1..].starts_with(|letter: char| letter.is_ascii_alphanumeric()));
        let length = if let Some(dot) = extension {
            let after = &run[dot + 1..];
            dot + 1 + after.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(after.len())
        } else if run.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            run.find(['.', '/']).unwrap_or(run.len())
        } else if run.contains(['.', '/']) {
            run.len()
        } else {
            continue;
        };
        mentions.push(Mention { range: start..start + 1 + length, path: run[..length].to_owned() });
    }
    mentions
}

fn outside(mentions: Vec<Mention>, hidden: &[Range<usize>]) -> Vec<Mention> {
    let is_hidden = |mention: &Mention| {
        let next = hidden.partition_point(|range| range.end <= mention.range.start);
        hidden.get(next).is_some_and(|range| range.contains(&mention.range.start))
    };
    mentions.into_iter().filter(|mention| !is_hidden(mention)).collect()
}

/// Returns the text between equal runs of backticks: for each run its longest prefix that occurs again, up to that
/// occurrence.
fn backticked(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    // For each run, the length of the longest run after it.
    let mut longest = vec![0; runs.len()];
    for index in (1..runs.len()).rev() {
        longest[index - 1] = runs[index].len().max(longest[index]);
    }
    let mut ranges = Vec::new();
    let mut index = 0;
    while index < runs.len() {
        let run = runs[index].clone();
        // Both ends can be in one run: four backticks are an empty pair of two.
        let length = run.len().min(longest[index].max(run.len() / 2));
        if length == 0 {
            index += 1;
            continue;
        }
        let end = if length <= run.len() / 2 {
            run.start + 2 * length
        } else {
            index += 1 + runs[index + 1..].iter().take_while(|later| later.len() < length).count();
            runs[index].start + length
        };
        ranges.push(run.start..end);
        runs[index].start = end;
        if runs[index].is_empty() {
            index += 1;
        }
    }
    ranges
}

/// Returns the code that the agent finds, by the offsets of its search.
// It adds up the lengths of tokens, so whatever its parser leaves out moves everything behind it. It searches the tokens of
// quotes in their source, and gives up at the first that a mark interrupts. It does not look into lists and tables.
fn markdown_code(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut offset = 0;
    for token in marked::lex(text, Dialect::GitHub) {
        code_in(&token, offset, &mut ranges);
        offset += token.raw.len();
    }
    ranges
}

fn code_in(token: &Token, offset: usize, ranges: &mut Vec<Range<usize>>) {
    if matches!(token.kind, Kind::Code | Kind::CodeSpan) {
        ranges.push(offset..offset + token.raw.len());
    }
    let mut from = 0;
    for inner in token.tokens.iter().flatten() {
        let Some(at) = token.raw.get(from..).and_then(|rest| rest.find(&inner.raw)) else { break };
        code_in(inner, offset + from + at, ranges);
        from += at + inner.raw.len();
    }
}

/// Returns the mentions in plain text, as the tokens of the agent's parser have it.
fn in_markdown_text(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    in_tokens(&marked::lex(text, Dialect::Plain), &mut mentions);
    // A line of a list is searched as it is, and again as the tokens in it.
    let mut known = HashSet::new();
    mentions.retain(|mention| known.insert(mention.path.clone()));
    // A token's text may differ from its source, so each mention is searched, first behind the one before it.
    let mut at = 0;
    for mention in &mut mentions {
        let word = std::mem::take(&mut mention.range);
        let source = &mention.source[word];
        let found = text[at..].find(source).map(|found| at + found).or_else(|| text.find(source));
        if let Some(start) = found {
            at = start + source.len();
            mention.range = start..at;
        }
    }
    mentions.into_iter().map(|mention| Mention { range: mention.range, path: mention.path }).collect()
}

/// A mention in the text of a token.
struct TokenMention {
    source: String,
    range: Range<usize>,
    path: String,
}

fn in_tokens(tokens: &[Token], mentions: &mut Vec<TokenMention>) {
    for token in tokens {
        match token.kind {
            Kind::Code | Kind::CodeSpan => {}
            // Text after a comment in the same block is searched, other HTML is not.
            Kind::Html => {
                if let Some(rest) = without_comment(token) {
                    plain_mentions(&rest, mentions);
                }
            }
            kind => {
                if kind == Kind::Text {
                    plain_mentions(&token.text, mentions);
                }
                in_tokens(token.tokens.as_deref().unwrap_or_default(), mentions);
                in_tokens(&token.items, mentions);
            }
        }
    }
}

fn plain_mentions(text: &str, mentions: &mut Vec<TokenMention>) {
    let mut at = 0;
    while let Some(start) = text[at..].find('@').map(|found| at + found) {
        at = start + 1;
        if text[..start].chars().next_back().is_some_and(|before| !marked::is_space(before)) {
            continue;
        }
        let rest = &text[start + 1..];
        let mut end = 0;
        for (index, letter) in rest.char_indices() {
            // A backslash escapes a space in a name.
            let is_escaped = letter == ' ' && rest[..index].ends_with('\\');
            let is_escape = letter == '\\' && rest[index + 1..].starts_with(' ');
            if letter == '\\' && !is_escape || marked::is_space(letter) && !is_escaped {
                break;
            }
            end = index + letter.len_utf8();
        }
        let word = &rest[..end];
        at = start + 1 + end;
        let path = word.split('#').next().unwrap_or_default().replace("\\ ", " ");
        if names_a_file(&path) {
            mentions.push(TokenMention { source: format!("@{word}"), range: 0..1 + word.len(), path });
        }
    }
}

fn names_a_file(path: &str) -> bool {
    let first = path.chars().next();
    path.starts_with("~/")
        || path.starts_with('/') && path.len() > 1
        || first.is_some_and(|first| first.is_ascii_alphanumeric() || "._-".contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(syntax: ImportSyntax, text: &str, expected: &[&str]) {
        let found = find(text, syntax);
        let paths: Vec<&str> = found.iter().map(|mention| mention.path.as_str()).collect();
        assert_eq!(paths, expected, "{text}");
        for mention in &found {
            assert!(text[mention.range.clone()].starts_with('@'), "{text}");
        }
    }

    #[test]
    fn between_white_space() {
        let spaced =
            |text: &str, expected: &[&str]| check(ImportSyntax::SpacedOutsideBackticks, text, expected);
        spaced("@a.md b@c.md (@d.md) @./e @../f @/g @~/h @1 @@i", &["a.md", "./e", "../f", "/g"]);
        spaced("See @a.md, and\t@b.md.\r\n@c", &["a.md,", "b.md.", "c"]);
        spaced("<!-- @a.md -->\n    @b.md", &["a.md", "b.md"]);
        spaced("```\n@a.md\n```\n`@b.md` @c.md", &["c.md"]);
        spaced("`` @a ` @b `` @c", &["c"]);
        spaced("``` @a.md", &["a.md"]);
        spaced("a ` @b", &["b"]);
        spaced("``` @a ` @b `` @c", &["c"]);
        spaced("```` @a ` @b", &["a", "b"]);
        spaced("~~~\n@a.md\n~~~", &["a.md"]);
    }

    #[test]
    fn outside_code_as_markdown_has_it() {
        let check = |text: &str, expected: &[&str]| {
            check(ImportSyntax::SpacedOutsideMarkdownCode, text, expected);
        };
        check("~~~\n@a.md\n~~~\n\n    @b.md\n\n@c.md ` @d.md `", &["c.md"]);
        check("- ` @a.md `\n- @b.md\n\n> ` @c.md `\n", &["a.md", "b.md"]);
    }

    #[test]
    fn between_punctuation() {
        let check = |text: &str, expected: &[&str]| check(ImportSyntax::Punctuated, text, expected);
        check(
            "(@a.md) x@b.md .@c.md @d.md, \"@e.md\" <@f.md> @g.md's *@h.md @i.md*",
            &["a.md", "d.md", "e.md", "f.md", "g.md", "h.md", "i.md*"],
        );
        check(
            "@noext @.env @.hid.md @a(b).md @/abs.md @../x.md @a.md:3 @b.md...",
            &[".hid.md", "a(b).md", "../x.md", "a.md:3", "b.md"],
        );
        check("````\n@a.md\n```\n@b.md\n~~~\n@c.md\n```\n@d.md\n~~~ @e.md\n@f.md", &["b.md", "f.md"]);
        check("`open @a.md\n@b.md ``x @c.md`` @d.md ``y` @e.md", &["b.md", "d.md"]);
        check("> ```\n> @a.md @@b.md", &["a.md", "b.md"]);
    }

    #[test]
    fn names_behind_white_space() {
        let check = |text: &str, expected: &[&str]| check(ImportSyntax::NamesAfterSpace, text, expected);
        check("@a.md, @b.md. (@c.md) @Makefile @d @../out.md", &["a.md", "b.md", "Makefile", "../out.md"]);
        check(
            "@e_f-g/h.i.md @x.md-y @dir/ x@y.md @User's @a/b",
            &["e_f-g/h.i.md", "x.md", "dir/", "User", "a/b"],
        );
    }

    #[test]
    fn in_plain_text() {
        let check = |text: &str, expected: &[&str]| check(ImportSyntax::MarkdownText, text, expected);
        check("@a.md and (@b.md) **@c.md** x@d.md @~/e @/f @/ @@g @%h", &["a.md", "c.md", "~/e", "/f"]);
        check("\\@a.md \\*@b.md", &["b.md"]);
        check("see\n@a.md#part\nend @b\\ c.md @d.md.", &["a.md", "b c.md", "d.md."]);
        check("`@a.md` x`y`@b.md\n\n    @c.md\n\n```\n@d.md\n```\n- @e.md\n", &["b.md", "e.md"]);
        check("<!-- @a.md -->\n\n# @b.md\n\n> @c.md\n", &["b.md", "c.md"]);
    }

    #[test]
    fn hostile_texts_take_no_time() {
        let many = |one: &str| one.repeat(100_000 / one.len());
        let mut runs = String::new();
        for length in 1..400 {
            runs.push_str(&"`".repeat(length));
            runs.push('x');
        }
        for text in [many("@"), many(" @a"), many("`"), many("`` `"), many(" `@a"), runs, many("- @a\n")] {
            for syntax in [
                ImportSyntax::SpacedOutsideBackticks,
                ImportSyntax::SpacedOutsideMarkdownCode,
                ImportSyntax::Punctuated,
                ImportSyntax::MarkdownText,
            ] {
                find(&format!("@x {text}"), syntax);
            }
        }
    }
}

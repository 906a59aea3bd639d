//! Patterns of commands.

/// Pattern of the words of a simple command.
#[derive(Debug, Clone)]
pub(crate) struct CommandPattern {
    words: Vec<PatternWord>,
}

#[derive(Debug, Clone)]
enum PatternWord {
    /// Any number of words.
    Rest,
    /// One word, with `*` for any characters.
    Word(String),
}

impl CommandPattern {
    /// Parses a pattern, or returns `None` if it has no words.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let mut words: Vec<PatternWord> = Vec::new();
        for word in text.split_whitespace() {
            match (word, words.last()) {
                ("*", Some(PatternWord::Rest)) => {}
                ("*", _) => words.push(PatternWord::Rest),
                _ => words.push(PatternWord::Word(word.to_owned())),
            }
        }
        (!words.is_empty()).then_some(Self { words })
    }

    /// Returns true if the pattern matches all words. The program also matches by its base name.
    pub(crate) fn matches(&self, words: &[String]) -> bool {
        let is_same = |pattern: &PatternWord, place: usize| match (pattern, words.get(place)) {
            (PatternWord::Word(pattern), Some(word)) => {
                let base = || word.rsplit('/').next().unwrap_or_default();
                matches_text(pattern, word) || place == 0 && matches_text(pattern, base())
            }
            _ => false,
        };
        wildcard(
            self.words.len(),
            words.len(),
            |pattern| matches!(self.words[pattern], PatternWord::Rest),
            |pattern, place| is_same(&self.words[pattern], place),
        )
    }
}

/// Returns true if a text matches a pattern in which `*` stands for any characters.
fn matches_text(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    wildcard(
        pattern.len(),
        text.len(),
        |index| pattern[index] == b'*',
        |index, place| pattern[index] == text[place],
    )
}

/// Matches a pattern with wildcards for any number of items. Only the last wildcard is ever tried again, so the time is
/// at most the product of both lengths.
fn wildcard(
    pattern: usize,
    items: usize,
    is_wildcard: impl Fn(usize) -> bool,
    is_same: impl Fn(usize, usize) -> bool,
) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while place < items {
        if at < pattern && is_wildcard(at) {
            last = Some((at, place));
            at += 1;
        } else if at < pattern && is_same(at, place) {
            at += 1;
            place += 1;
        } else if let Some((wildcard, from)) = last {
            last = Some((wildcard, from + 1));
            at = wildcard + 1;
            place = from + 1;
        } else {
            return false;
        }
    }
    (at..pattern).all(is_wildcard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_commands() {
        for (pattern, command, expected) in [
            ("npm *", "npm install", true),
            ("npm *", "npm", true),
            ("npm *", "npx x", false),
            ("npm *", "/usr/local/bin/npm i", true),
            ("npm install", "npm install left-pad", false),
            ("git push * --force", "git push origin main --force", true),
            ("git push * --force", "git push --force", true),
            ("git push * --force", "git push --force origin", false),
            ("* --force *", "git push --force origin", true),
            ("npm-*", "npm-check -u", false),
            ("npm-* *", "npm-check -u", true),
            ("*sql *", "psql -c x", true),
            ("/usr/bin/env *", "/usr/bin/env x", true),
            ("*", "anything at all", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbY", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(
                CommandPattern::new(pattern).unwrap().matches(&words),
                expected,
                "{pattern}: {command}"
            );
        }
    }
}

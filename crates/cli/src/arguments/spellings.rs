//! Spellings that users of other programs type, rewritten before clap reads the command line.

use std::ffi::OsString;

/// Flags before a command that take the next word as their value.
pub(crate) const WITH_VALUE: &[&str] = &["--config", "--home", "--data", "--format", "--color"];

/// Rewrites the words of a command line: `--json` is `--format json`, `serve --port N` is `serve --listen 127.0.0.1:N`, and
/// `version` is `--version`.
pub(crate) fn rewritten(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let command = command(&words).map(|place| (place, words[place].to_string_lossy().into_owned()));
    if let Some((place, name)) = &command
        && name == "version"
        && words.len() == place + 1
    {
        words[*place] = "--version".into();
    }
    let is_serve = command.is_some_and(|(_, name)| name == "serve");
    let mut rewritten = Vec::with_capacity(words.len());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let port = text.strip_prefix("--port=").filter(|_| is_serve).map(str::to_owned);
        if text == "--" {
            // Behind this word everything is a value.
            rewritten.push(word);
            break;
        } else if text == "--json" {
            rewritten.extend(["--format".into(), "json".into()]);
        } else if let Some(port) = port {
            rewritten.extend(["--listen".into(), format!("127.0.0.1:{port}").into()]);
        } else if text == "--port" && is_serve {
            let port = words.next().unwrap_or_default();
            rewritten.extend(["--listen".into(), format!("127.0.0.1:{}", port.to_string_lossy()).into()]);
        } else {
            rewritten.push(word);
        }
    }
    rewritten.extend(words);
    rewritten
}

/// Returns the place of the command among the words of a command line.
pub(crate) fn command(words: &[OsString]) -> Option<usize> {
    let mut place = 1;
    while let Some(word) = words.get(place) {
        if WITH_VALUE.iter().any(|flag| word == *flag) {
            place += 2;
        } else if word.to_string_lossy().starts_with('-') {
            place += 1;
        } else {
            return Some(place);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn familiar_spellings_are_rewritten() {
        let rewritten = |line: &str| {
            let words = rewritten(line.split(' ').map(OsString::from));
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        for (typed, meant) in [
            ("foreword version", "foreword --version"),
            ("foreword status --json", "foreword status --format json"),
            ("foreword --home x serve --port 4700", "foreword --home x serve --listen 127.0.0.1:4700"),
            ("foreword serve --port=4700", "foreword serve --listen 127.0.0.1:4700"),
            ("foreword folder create version", "foreword folder create version"),
            ("foreword turn start t -- --json", "foreword turn start t -- --json"),
        ] {
            assert_eq!(rewritten(typed), meant, "{typed}");
        }
    }
}

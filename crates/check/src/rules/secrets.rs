//! Text in the form of a key, a token or a password.

use crate::document::Document;
use crate::finding::{Finding, Findings};
use crate::rule::RuleId;

/// Form of a secret: its prefix, and the number and kind of characters that follow.
struct Form {
    what: &'static str,
    begin: &'static str,
    length: usize,
    letters: fn(char) -> bool,
}

fn word(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
}

fn word_or_dash(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_')
}

fn capital(letter: char) -> bool {
    letter.is_ascii_uppercase() || letter.is_ascii_digit()
}

const FORMS: &[Form] = &[
    Form { what: "an AWS access key", begin: "AKIA", length: 16, letters: capital },
    Form { what: "an AWS access key", begin: "ASIA", length: 16, letters: capital },
    Form { what: "a GitHub token", begin: "ghp_", length: 36, letters: word },
    Form { what: "a GitHub token", begin: "gho_", length: 36, letters: word },
    Form { what: "a GitHub token", begin: "ghs_", length: 36, letters: word },
    Form { what: "a GitHub token", begin: "ghu_", length: 36, letters: word },
    Form { what: "a GitHub token", begin: "github_pat_", length: 50, letters: word_or_dash },
    Form { what: "a GitLab token", begin: "glpat-", length: 20, letters: word_or_dash },
    Form { what: "an Anthropic key", begin: "sk-ant-", length: 40, letters: word_or_dash },
    Form { what: "an OpenAI key", begin: "sk-proj-", length: 40, letters: word_or_dash },
    Form { what: "an API key", begin: "sk-", length: 40, letters: word },
    Form { what: "a Stripe key", begin: "sk_live_", length: 20, letters: word },
    Form { what: "a Stripe key", begin: "rk_live_", length: 20, letters: word },
    Form { what: "a Slack token", begin: "xoxb-", length: 30, letters: word_or_dash },
    Form { what: "a Slack token", begin: "xoxp-", length: 30, letters: word_or_dash },
    Form { what: "a Google API key", begin: "AIza", length: 35, letters: word_or_dash },
    Form { what: "an npm token", begin: "npm_", length: 36, letters: word },
    Form { what: "a Hugging Face token", begin: "hf_", length: 34, letters: word },
    Form { what: "a SendGrid key", begin: "SG.", length: 22, letters: word_or_dash },
];
/// Placeholders for passwords.
const PLACEHOLDERS: &[&str] = &[
    "password",
    "pass",
    "passwd",
    "pwd",
    "secret",
    "postgres",
    "root",
    "user",
    "admin",
    "test",
    "example",
    "changeme",
    "token",
    "key",
    "mypassword",
    "redacted",
    "hunter2",
];

pub(super) fn run(document: &Document, findings: &mut Findings<'_>) {
    for (index, line) in document.text.lines().enumerate() {
        if let Some(what) = secret(line) {
            let message =
                format!("this line has what looks like {what}; revoke it, and name its variable instead");
            findings.push(Finding::new(RuleId::LikelySecret, &document.path, message).at_line(index + 1));
        }
    }
}

fn secret(line: &str) -> Option<&'static str> {
    if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----") && !line.contains("...") {
        return Some("a private key");
    }
    let form = FORMS.iter().find(|form| {
        line.match_indices(form.begin).any(|(at, begin)| {
            // Checked first, so that the rest of a long word is not scanned again from each position.
            if line[..at].chars().next_back().is_some_and(word_or_dash) {
                return false;
            }
            let rest: String =
                line[at + begin.len()..].chars().take_while(|letter| (form.letters)(*letter)).collect();
            // The prefixes are public, and documentation is full of placeholders behind them. Only a long value that
            // looks generated is reported.
            rest.len() >= form.length && is_random(&rest)
        })
    });
    if let Some(form) = form {
        return Some(form.what);
    }
    line.match_indices("://")
        .find_map(|(at, _)| password(&line[at + 3..]))
        .map(|()| "a password in an address")
        .or_else(|| is_assigned(line).then_some("the value of a secret"))
}

/// Suffixes of setting names with secret values.
const SECRET_NAMES: &[&str] =
    &["password", "passwd", "secret", "token", "api_key", "apikey", "secret_key", "access_key"];

/// Returns true if a line assigns a random-looking value to such a setting: one word with letters of both
/// cases and digits.
fn is_assigned(line: &str) -> bool {
    line.match_indices(['=', ':']).any(|(at, _)| {
        let name = line[..at].trim_end().trim_end_matches(['"', '\'']).to_ascii_lowercase();
        if !SECRET_NAMES.iter().any(|known| name.ends_with(known)) {
            return false;
        }
        let value = line[at + 1..].trim_start().trim_start_matches(['"', '\'', '`']);
        let value: &str = value
            .split(|it: char| !(it.is_ascii_alphanumeric() || "+/=_-".contains(it)))
            .next()
            .unwrap_or("");
        let has = |kind: fn(&char) -> bool| value.chars().any(|it| kind(&it));
        value.len() >= 12
            && has(char::is_ascii_lowercase)
            && has(char::is_ascii_uppercase)
            && has(char::is_ascii_digit)
            && is_random(value)
    })
}

/// Returns true if a text does not look hand-written.
fn is_random(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let is_written =
        ["example", "xxxx", "your", "1234567", "abcdef", "....", "0000", "placeholder", "redacted"];
    // Typed placeholders repeat few characters, as in `xxxxxxxx` or `aaaa1111`. Generated values of this length hardly
    // ever have fewer than eight different ones.
    let mut letters: Vec<char> = small.chars().collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len() >= 8 && !is_written.iter().any(|word| small.contains(word))
}

/// Finds a password between a user name and a host.
fn password(rest: &str) -> Option<()> {
    let authority =
        rest.split(|letter: char| letter.is_whitespace() || "/?#`'\"<>)]".contains(letter)).next()?;
    let (user, host) = authority.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let small = password.to_ascii_lowercase();
    let host = host.split(':').next().unwrap_or(host);
    // A password for a database in a container on the same machine protects nothing, and such addresses are common in
    // instructions for development.
    let is_local = ["localhost", "0.0.0.0", "host", "db", "postgres", "redis", "mysql", "database"]
        .contains(&host)
        || host.starts_with("127.")
        || host.contains("example");
    let is_placeholder = password.len() < 8
        || PLACEHOLDERS.iter().any(|word| small.contains(word))
        || password == name
        || password.contains(['$', '{', '%', '*', '…', '.'])
        || is_local;
    (!is_placeholder && is_random(password)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found() {
        // Assembled at run time, so that secret scanners do not report this file.
        for (parts, what) in [
            (["AKIA", "QWERTZ7890UIOPAS"], "an AWS access key"),
            (["ghp_", "aZ3kQ9mP2xR7vT5wY8nB4cD6eF1gH0jKlMnO"], "a GitHub token"),
            (["sk-ant-", "api03-aZ3kQ9mP2xR7vT5wY8nB4cD6eF1gH0jKlMnO12"], "an Anthropic key"),
            (["-----BEGIN RSA ", "PRIVATE KEY-----"], "a private key"),
            (["postgres://app:", "q7Zp2vLx9w@db-prod.internal.net/x"], "a password in an address"),
            (["export DB_PASSWORD=", "EEtfjgVvVqE1SkHb"], "the value of a secret"),
            (["\"api_key\": \"", "q7Zp2vLx9wKd3\""], "the value of a secret"),
        ] {
            assert_eq!(secret(&format!("key: {}", parts.concat())), Some(what), "{parts:?}");
        }
    }

    #[test]
    fn placeholders_are_skipped() {
        for line in [
            "AKIAIOSFODNN7EXAMPLE",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "export OPENAI_API_KEY=sk-...",
            "sk-your-key-here",
            "postgres://user:password@localhost:5432/db",
            "postgres://app:$PASSWORD@db.prod.net/x",
            "https://example.com/a:b@c",
            "password = \"$DB_PASSWORD1aB2cD3\"",
            "secret: ask Kim for it",
            "API_KEY=your-Key-1234567890",
            "token: `${{ secrets.NPM_TOKEN1a }}`",
            "the build writes src/Token: see lib/TokenReader2Factory",
            "task-management-and-some-other-long-words-that-have-sk-in-them",
            "-----BEGIN PRIVATE KEY----- ...",
            "",
        ] {
            assert_eq!(secret(line), None, "{line}");
        }
    }
}

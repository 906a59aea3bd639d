//! Previews of error messages: one short line without secrets.

/// Longest preview, in characters.
pub const MAX_PREVIEW_CHARS: usize = 200;

/// Bytes of a message that are examined; more would not fit into a preview.
const MAX_LOOK_BYTES: usize = 4096;

const REDACTED: &str = "[redacted]";

/// Parts of names whose value is a secret: `api_key=…`, `"password": "…"`, `Authorization: …`.
const SECRET_NAMES: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "credential",
    "auth",
    "cookie",
    "signature",
    "private",
    "bearer",
];

/// Words followed by a secret, as in `Bearer …`.
const SCHEMES: &[&str] = &["bearer", "basic"];

/// Prefixes of well-known secrets.
const SECRET_STARTS: &[&str] = &[
    "sk-",
    "sk_",
    "pk-",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "whsec_",
];

/// Start of an armored key.
const ARMOUR: &str = "-----BEGIN";

/// From this length on, a mixture of letters and digits counts as a secret.
const MIXED_RUN: usize = 16;
/// From this length on, letters alone count as a secret.
const LETTER_RUN: usize = 32;

/// Makes one short line from a message: secrets become `[redacted]`, control characters are escaped.
///
/// Anything that looks like a secret is hidden, even if it is none: a preview is only a hint, and the hook's own log
/// has the rest. UUIDs are kept, because people search for ids.
pub fn preview(message: &str) -> String {
    let looked = head(message);
    let redacted = redact(looked);
    let mut shown = String::with_capacity(redacted.len().min(MAX_PREVIEW_CHARS * 4));
    let mut left = MAX_PREVIEW_CHARS;
    let mut whole = looked.len() == message.len();
    for character in redacted.trim().chars() {
        let escaped = escape(character);
        let size = escaped.as_ref().map_or(1, |text| text.chars().count());
        // Reserve one character for the ellipsis.
        // An escaped character may be longer than what is left. Cutting inside it would leave a broken escape
        // sequence.
        if size >= left {
            whole = false;
            break;
        }
        left -= size;
        match escaped {
            Some(text) => shown.push_str(&text),
            None => shown.push(character),
        }
    }
    if !whole {
        shown.push('…');
    }
    shown
}

/// Returns the part of a message to examine. A word cut in half is left out, because half a secret would not be
/// recognized.
fn head(message: &str) -> &str {
    if message.len() <= MAX_LOOK_BYTES {
        return message;
    }
    let head = &message[..message.floor_char_boundary(MAX_LOOK_BYTES)];
    head.rfind(char::is_whitespace).map_or("", |end| &head[..end])
}

/// Escapes a character that would break the line or mislead the reader.
fn escape(character: char) -> Option<String> {
    let deceiving = matches!(character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    (character.is_control() || deceiving).then(|| character.escape_default().to_string())
}

/// Replaces everything that looks like a secret.
fn redact(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    // The state carries over between words: a secret is mostly recognized by the word before it.
    let mut expected = Expected::Nothing;
    while let Some(first) = rest.chars().next() {
        if !is_word(first) {
            // Punctuation decides if the next word is still part of `name = value`.
            expected = expected.after(first);
            if first == '@' {
                hide_user(&mut output);
            }
            output.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        match expected {
            // An armored key spans many lines, and nothing after it is worth the risk of showing a part of it.
            _ if word.starts_with(ARMOUR) => {
                output.push_str(REDACTED);
                break;
            }
            // In `Authorization: Bearer abc` the value starts with a scheme, and the secret is the word after it.
            Expected::Value(quote) | Expected::Credential(quote) if !is_scheme(word) => {
                output.push_str(REDACTED);
                rest = after_value(rest, quote);
                expected = Expected::Nothing;
            }
            _ if starts_like_a_secret(word) => {
                output.push_str(REDACTED);
                rest = after_value(rest, None);
                expected = Expected::Nothing;
            }
            // A random word is hidden alone. Unlike a known prefix, it gives no reason to distrust the words after
            // it.
            _ if looks_random(word) => {
                output.push_str(REDACTED);
                expected = Expected::Nothing;
            }
            _ => {
                output.push_str(word);
                expected = if is_scheme(word) {
                    Expected::Credential(None)
                } else if is_secret_name(word) {
                    Expected::Sign
                } else {
                    Expected::Nothing
                };
            }
        }
    }
    output
}

/// The expected role of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Nothing,
    /// A secret's name was seen; `=` or `:` would make the next word its value.
    Sign,
    /// A value, perhaps in quotes.
    Value(Option<char>),
    /// The credential after a scheme such as `Bearer`.
    Credential(Option<char>),
}

impl Expected {
    fn after(self, character: char) -> Self {
        match (self, character) {
            (Self::Sign, '=' | ':') => Self::Value(None),
            (Self::Sign, '"' | '\'' | '`' | '\\' | ' ' | '\t' | ']' | ')') => Self::Sign,
            (Self::Value(_), '"' | '\'' | '`') => Self::Value(Some(character)),
            (Self::Credential(_), '"' | '\'' | '`') => Self::Credential(Some(character)),
            // Other characters between a name and its value, even a line end, do not make the value safe.
            (Self::Value(quote), _) => Self::Value(quote),
            (Self::Credential(quote), character) if character.is_whitespace() || character == ':' => {
                Self::Credential(quote)
            }
            _ => Self::Nothing,
        }
    }
}

/// Skips the rest of a value whose first word was hidden: up to its closing quote, or to a space.
fn after_value(rest: &str, quote: Option<char>) -> &str {
    let end = match quote {
        Some(quote) => rest.find(quote),
        None => rest.find(|character: char| {
            character.is_whitespace() || matches!(character, '&' | ',' | ';' | '"' | '\'' | '`')
        }),
    };
    &rest[end.unwrap_or(rest.len())..]
}

/// Hides the user name and password of an address, called at its `@`.
fn hide_user(output: &mut String) {
    let address = output.rsplit(char::is_whitespace).next().unwrap_or_default();
    if let Some(scheme) = address.find("://") {
        output.truncate(output.len() - address.len() + scheme + "://".len());
        output.push_str(REDACTED);
    }
}

/// Returns true for characters that words, keys and tokens consist of.
fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '+' | '/')
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn is_secret_name(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|name| word.contains(name))
}

fn starts_like_a_secret(word: &str) -> bool {
    let known = |part: &str| {
        SECRET_STARTS.iter().any(|start| part.starts_with(start) && part.len() >= start.len() + 5)
    };
    // The secret may follow a slash, as in an address.
    word.split(['/', '+']).any(known)
}

/// Returns true if a part of the word looks random. Only ASCII counts, because some languages do not use spaces.
fn looks_random(word: &str) -> bool {
    let random = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() >= if digits > 0 { MIXED_RUN } else { LETTER_RUN }
    };
    !is_uuid(word) && word.split(|character: char| !character.is_ascii_alphanumeric()).any(random)
}

fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn previews() {
        for (message, expected) in [
            ("", ""),
            ("connection refused", "connection refused"),
            (
                "no such file: /home/anna/Projects/foreword2/AGENTS.md",
                "no such file: /home/anna/Projects/foreword2/AGENTS.md",
            ),
            (
                "thread 01890a5d-ac96-774b-bcce-b302099a8057 is gone",
                "thread 01890a5d-ac96-774b-bcce-b302099a8057 is gone",
            ),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
            ("Authorization: Basic dXNlcg==", "Authorization: Basic [redacted]"),
            ("bearer abc", "bearer [redacted]"),
            ("key sk-proj-abcdefgh is wrong", "key [redacted] is wrong"),
            ("?api_key=abc&page=2", "?api_key=[redacted]&page=2"),
            ("password=hunter2, user=anna", "password=[redacted], user=anna"),
            (r#"{"client_secret":"a b c","n":1}"#, r#"{"client_secret":"[redacted]","n":1}"#),
            (r#"{\"token\": \"abc\"}"#, r#"{\"token\": \"[redacted]"}"#),
            ("postgres://anna:hunter2@db/foreword", "postgres://[redacted]@db/foreword"),
            ("\u{a0}@", "@"),
            (
                "无法打开文件因为磁盘已经满了请先删除一些不再需要的文件然后再试一次",
                "无法打开文件因为磁盘已经满了请先删除一些不再需要的文件然后再试一次",
            ),
            ("AWS says AKIAIOSFODNN7EXAMPLE", "AWS says [redacted]"),
            (
                "the asiatic lily, the skill and eyJhbGciOi.eyJzdWIi.abc",
                "the asiatic lily, the skill and [redacted]",
            ),
            ("hash 0123456789abcdef0123", "hash [redacted]"),
            ("two\nlines\tand \u{1b}[31m", r"two\nlines\tand \u{1b}[31m"),
            ("evil \u{202e}txt", r"evil \u{202e}txt"),
            ("-----BEGIN PRIVATE KEY-----\nabc\ndef", "[redacted]"),
        ] {
            assert_eq!(preview(message), expected, "{message:?}");
        }
    }

    #[test]
    fn long_messages_are_cut() {
        let shown = preview(&"word ".repeat(1_000_000));
        assert_eq!(shown.chars().count(), MAX_PREVIEW_CHARS);
        assert!(shown.ends_with('…'));
        assert_eq!(preview(&"x".repeat(1_000_000)), "…");
    }

    /// Forms in which secrets appear in messages.
    const FORMS: &[&str] = &[
        "Bearer {}",
        "Authorization: Basic {}",
        "sk-{}",
        "api_key={}",
        "key={}&a=b",
        "password: {}",
        "\"token\":\"{}\"",
        "https://user:{}@host/",
        "{}",
        "({})",
        "ghp_{}",
    ];

    proptest! {
        #[test]
        fn planted_secrets_do_not_show(
            before in "(?s).{0,80}",
            secret in "[A-Za-z]{4,16}[0-9][A-Za-z0-9]{12,40}",
            form in proptest::sample::select(FORMS),
            after in "(?s).{0,80}",
        ) {
            let message = format!("{before} {} {after}", form.replace("{}", &secret));
            let shown = preview(&message);
            for start in 0..=secret.len() - 8 {
                prop_assert!(!shown.contains(&secret[start..start + 8]), "{shown:?} of {message:?}");
            }
        }

        #[test]
        fn a_preview_is_one_short_line(message in "(?s).{0,600}") {
            let shown = preview(&message);
            prop_assert!(shown.chars().count() <= MAX_PREVIEW_CHARS);
            prop_assert!(!shown.chars().any(char::is_control));
        }
    }
}

//! Quoting for commands that users copy from our messages.

use std::borrow::Cow;

/// Quotes a word for a shell.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    // Everything else is quoted, because lists of dangerous characters tend to be incomplete.
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@%+,".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    // Nothing can be escaped between single quotes, so a single quote ends them, adds an escaped one and
    // starts them again.
    format!("'{}'", text.replace('\'', "'\\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_special_characters_cause_quoting() {
        assert_eq!(shell_word("/tmp/a-b_c.md"), "/tmp/a-b_c.md");
        assert_eq!(shell_word("my team"), "'my team'");
        assert_eq!(shell_word("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }
}

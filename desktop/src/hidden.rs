//! Makes hidden characters visible. Names and texts come from others, and people decide by what they see.

use gpui_kit::SharedString;

/// Spells out every hidden character of a text that a person decides about.
pub fn visible(text: &str) -> SharedString {
    spelled_out(text, |character| is_hidden(character) && !is_space(character))
}

/// Spells out hidden characters of a text, except joiners in scripts and emoji.
pub fn text(text: &str) -> SharedString {
    spelled_out(text, |character| is_hidden(character) && !is_space(character) && !joins(character))
}

/// Spells out hidden characters and line breaks of a name.
pub fn name(text: &str) -> SharedString {
    spelled_out(text, |character| is_hidden(character) && !joins(character))
}

fn is_space(character: char) -> bool {
    matches!(character, '\n' | '\t')
}

fn joins(character: char) -> bool {
    // Persian, Indic scripts and emoji need these to be displayed correctly; spelling them out would garble
    // honest names.
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// Joins the lines of a message.
pub fn line(text: &str) -> SharedString {
    name(&text.lines().collect::<Vec<_>>().join("; "))
}

fn is_hidden(character: char) -> bool {
    // The gateway's own table, so that the window spells out what the gateway makes visible for models. Line
    // separators and annotation marks are not in it, because they hide nothing from a model, but they change the
    // layout of a label.
    let breaks_layout = matches!(character, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}');
    character.is_control() || protocol::is_invisible(character) || breaks_layout
}

fn spelled_out(text: &str, is_meant: impl Fn(char) -> bool) -> SharedString {
    if !text.chars().any(&is_meant) {
        return text.to_owned().into();
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_meant(character) {
            shown.push_str(&format!("⟨U+{:04X}⟩", character as u32));
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_text_hides_nothing() {
        assert_eq!(visible("a\tb\n"), "a\tb\n");
        assert_eq!(visible("rm\u{202e}x\u{200b}\u{1b}"), "rm⟨U+202E⟩x⟨U+200B⟩⟨U+001B⟩");
    }

    #[test]
    fn a_name_is_one_line_in_one_direction() {
        assert_eq!(name("a\nb\u{202e}c"), "a⟨U+000A⟩b⟨U+202E⟩c");
        assert_eq!(line("no\nhint: ask"), "no; hint: ask");
        for kept in ["❤\u{fe0f}", "👩\u{200d}🔧", "می\u{200c}خواهم", "静かに"] {
            assert_eq!((name(kept), text(kept)), (kept.into(), kept.into()));
        }
    }
}

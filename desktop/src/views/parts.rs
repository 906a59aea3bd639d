//! What several views are made of.

use gpui_kit::TestSupportExt as _;
use gpui_kit::base::ObservedElement;
use gpui_kit::component::button::Button;
use gpui_kit::component::{ActiveTheme as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{App, Div, ElementId, Role, SharedString, Stateful, div, px};
use protocol::Timestamp;

use crate::strings::views as strings;

/// Something that is asked of the gateway.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Loaded<T> {
    Loading,
    Ready(T),
    Failed(String),
}

impl<T> Loaded<T> {
    pub(super) fn ready(&self) -> Option<&T> {
        match self {
            Self::Ready(value) => Some(value),
            Self::Loading | Self::Failed(_) => None,
        }
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Loaded<T> {
    fn from(answer: Result<T, E>) -> Self {
        match answer {
            Ok(value) => Self::Ready(value),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

/// The heading of a view, and what can be done there.
pub(super) fn heading(title: impl Into<SharedString>, cx: &App) -> Div {
    let title: SharedString = title.into();
    h_flex().w_full().flex_none().p_2().gap_2().border_b_1().border_color(cx.theme().border).child(
        div()
            .flex_1()
            .min_w_0()
            .overflow_hidden()
            .whitespace_nowrap()
            .font_weight(gpui_kit::FontWeight::SEMIBOLD)
            .child(title),
    )
}

/// Words that are part of the state of a view; assistive technology, and tests, read them.
pub(super) fn words(
    id: impl Into<ElementId>,
    text: impl Into<SharedString>,
) -> ObservedElement<Stateful<Div>> {
    let text: SharedString = text.into();
    div().id(id).role(Role::Status).aria_label(text.clone()).child(text).test_support()
}

/// Words in a quieter colour.
pub(super) fn quiet(text: impl Into<SharedString>, cx: &App) -> Div {
    div().text_sm().text_color(cx.theme().muted_foreground).child(text.into())
}

/// What is shown instead of something that is on its way or did not come.
pub(super) fn placeholder(text: impl Into<SharedString>, cx: &App) -> Div {
    v_flex()
        .size_full()
        .items_center()
        .justify_center()
        .p_4()
        .text_color(cx.theme().muted_foreground)
        .child(words("placeholder", text))
}

/// An error in words, and a way to try again.
pub(super) fn problem(text: &str, retry: Button, cx: &App) -> Div {
    v_flex()
        .size_full()
        .items_center()
        .justify_center()
        .gap_2()
        .p_4()
        .child(words("problem", text.to_owned()).text_color(cx.theme().danger))
        .child(retry.label(strings::TRY_AGAIN))
}

/// A text in the font of code, with its line ends.
pub(super) fn code(id: impl Into<ElementId>, text: &str, cx: &App) -> ObservedElement<Stateful<Div>> {
    let text = visible(text);
    div()
        .id(id)
        .role(Role::Document)
        .aria_label(text.clone())
        .p_2()
        .rounded(px(4.))
        .bg(cx.theme().muted)
        .font_family(cx.theme().mono_font_family.clone())
        .text_sm()
        .child(text)
        .test_support()
}

/// To the minute, as people read it.
pub(super) fn minute(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

/// A text with its hidden characters made visible: what a person decides about must be all of what runs.
pub(super) fn visible(text: &str) -> SharedString {
    let is_hidden = |character: char| {
        let plain = matches!(character, '\n' | '\t');
        let formats = matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
        !plain && (character.is_control() || formats)
    };
    if !text.chars().any(is_hidden) {
        return text.to_owned().into();
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
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
    fn nothing_hides_in_what_somebody_decides_about() {
        assert_eq!(visible("a\tb\n"), "a\tb\n");
        assert_eq!(visible("rm\u{202e}x\u{200b}\u{1b}"), "rm⟨U+202E⟩x⟨U+200B⟩⟨U+001B⟩");
    }
}

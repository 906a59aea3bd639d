//! What several views are made of.

use client::{ClientError, Failure};
use gpui_kit::TestSupportExt as _;
use gpui_kit::base::ObservedElement;
use gpui_kit::component::button::Button;
use gpui_kit::component::{ActiveTheme as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, Div, ElementId, HighlightStyle, Hsla, Role, SharedString, Stateful, StyledText, div, px,
};
use protocol::Timestamp;

use crate::hidden::visible;
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

impl<T> From<Result<T, ClientError>> for Loaded<T> {
    fn from(answer: Result<T, ClientError>) -> Self {
        match answer {
            Ok(value) => Self::Ready(value),
            Err(error) => Self::Failed(Failure::from(&error).message),
        }
    }
}

/// The heading of a view, and what can be done there.
pub(super) fn heading(title: impl Into<SharedString>, cx: &App) -> Div {
    let title: SharedString = title.into();
    h_flex().w_full().flex_none().px_4().py_2().gap_2().border_b_1().border_color(cx.theme().border).child(
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
    coded(id, text.clone(), text, cx)
}

/// The same for what would change: lines that come and go have a colour besides their sign.
pub(super) fn difference(id: impl Into<ElementId>, text: &str, cx: &App) -> ObservedElement<Stateful<Div>> {
    let text = visible(text);
    let mut highlights = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches('\n').len();
        let behind = |colour: Hsla| HighlightStyle {
            background_color: Some(colour.opacity(0.2)),
            ..HighlightStyle::default()
        };
        let style = match line.as_bytes() {
            [b'-', b'-', b'-', b' ', ..] | [b'+', b'+', b'+', b' ', ..] | [b'@', b'@', ..] => {
                Some(HighlightStyle::color(cx.theme().muted_foreground))
            }
            [b'+', ..] => Some(behind(cx.theme().success)),
            [b'-', ..] => Some(behind(cx.theme().danger)),
            _ => None,
        };
        highlights.extend(style.map(|style| (start..end, style)));
        start += line.len();
    }
    coded(id, text.clone(), StyledText::new(text).with_highlights(highlights), cx)
}

fn coded(
    id: impl Into<ElementId>,
    label: SharedString,
    text: impl IntoElement,
    cx: &App,
) -> ObservedElement<Stateful<Div>> {
    div()
        .id(id)
        .role(Role::Document)
        .aria_label(label)
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

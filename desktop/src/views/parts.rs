//! Elements shared by the views.

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

/// State of data requested from the gateway.
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

/// Builds the heading of a view; its actions are added as children.
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

/// Builds a text that assistive technology and tests can read.
pub(super) fn words(
    id: impl Into<ElementId>,
    text: impl Into<SharedString>,
) -> ObservedElement<Stateful<Div>> {
    // Role and label make the text an element of its own, which screen readers announce and tests find.
    let text: SharedString = text.into();
    div().id(id).role(Role::Status).aria_label(text.clone()).child(text).test_support()
}

/// Builds a text in a muted color.
pub(super) fn quiet(text: impl Into<SharedString>, cx: &App) -> Div {
    div().text_sm().text_color(cx.theme().muted_foreground).child(text.into())
}

/// Builds a placeholder for missing content.
pub(super) fn placeholder(text: impl Into<SharedString>, cx: &App) -> Div {
    v_flex()
        .size_full()
        .items_center()
        .justify_center()
        .p_4()
        .text_color(cx.theme().muted_foreground)
        .child(words("placeholder", text))
}

/// Builds an error message with a retry button.
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

/// Builds a text in a monospaced font with hidden characters spelled out.
pub(super) fn code(id: impl Into<ElementId>, text: &str, cx: &App) -> ObservedElement<Stateful<Div>> {
    let text = visible(text);
    coded(id, text.clone(), text, cx)
}

/// Builds a unified diff whose added and removed lines have a color besides their sign.
pub(super) fn difference(id: impl Into<ElementId>, text: &str, cx: &App) -> ObservedElement<Stateful<Div>> {
    let text = visible(text);
    // Ranges are computed on the text with hidden characters spelled out, which is longer than the original.
    let mut highlights = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches('\n').len();
        let behind = |colour: Hsla| HighlightStyle {
            background_color: Some(colour.opacity(0.2)),
            ..HighlightStyle::default()
        };
        let style = match line.as_bytes() {
            // File headers begin with the same signs as removed and added lines, so they are matched first.
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

/// Formats a time to the minute.
pub(super) fn minute(time: Timestamp) -> String {
    let text = time.to_string();
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

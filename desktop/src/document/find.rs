//! The find bar of the editor.

use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::input::{Input, InputEvent, InputState};
use gpui_kit::component::{ActiveTheme as _, Icon, Sizable as _, h_flex};
use gpui_kit::prelude::*;
use gpui_kit::{Context, Entity, Focusable as _, Subscription, Window, div};

use super::DocumentEditor;
use crate::actions;
use crate::icons::IconName;
use crate::strings::editor as words;

// The toolkit has a find bar, too, but it loses the first letter that is typed into it. This one only drives
// the editor's search.
pub(super) struct FindBar {
    input: Entity<InputState>,
    open: bool,
    _subscription: Subscription,
}

impl FindBar {
    pub(super) fn new(window: &mut Window, cx: &mut Context<DocumentEditor>) -> Self {
        let input = cx.new(|cx| InputState::new(window, cx).placeholder(words::FIND));
        let subscription = cx.subscribe(&input, |this: &mut DocumentEditor, _, event: &InputEvent, cx| {
            if matches!(event, InputEvent::Change) {
                this.search(cx);
            }
        });
        Self { input, open: false, _subscription: subscription }
    }
}

impl DocumentEditor {
    pub(super) fn open_find(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        self.find.open = true;
        self.find.input.update(cx, |input, cx| input.select_all(window, cx));
        self.find.input.focus_handle(cx).focus(window, cx);
        // The bar keeps its text while it is closed, so opening it again repeats the search.
        self.search(cx);
        cx.notify();
    }

    pub(super) fn close_find(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        self.find.open = false;
        self.editor.update(cx, |editor, cx| editor.close_search(cx));
        self.editor.focus_handle(cx).focus(window, cx);
        cx.notify();
    }

    fn search(&mut self, cx: &mut Context<Self>) {
        let query = self.find.input.read(cx).value();
        self.editor.update(cx, |editor, cx| editor.set_search_query(query, true, cx));
        cx.notify();
    }

    pub(super) fn find_next(&mut self, cx: &mut Context<Self>) {
        self.editor.update(cx, |editor, cx| editor.next_search_match(cx));
        cx.notify();
    }

    pub(super) fn find_previous(&mut self, cx: &mut Context<Self>) {
        self.editor.update(cx, |editor, cx| editor.previous_search_match(cx));
        cx.notify();
    }

    pub(super) fn find_bar(&self, cx: &mut Context<Self>) -> Option<impl IntoElement + use<>> {
        if !self.find.open {
            return None;
        }
        let session = self.editor.read(cx).search_session();
        let found = match session.matcher.len() {
            _ if self.find.input.read(cx).value().is_empty() => String::new(),
            0 => words::NO_MATCH.to_owned(),
            _ => session.matcher.label(),
        };
        let button = |id: &'static str, icon: IconName, tip: &'static str| {
            Button::new(id).ghost().xsmall().icon(Icon::new(icon)).tooltip(tip)
        };
        Some(
            h_flex()
                .id("find-bar")
                .key_context(actions::FIND)
                .gap_1()
                .px_2()
                .py_1()
                .border_b_1()
                .border_color(cx.theme().border)
                .child(
                    div()
                        .flex_1()
                        .child(Input::new(&self.find.input).id("find-text").small().aria_label(words::FIND)),
                )
                .child(div().text_xs().text_color(cx.theme().muted_foreground).child(found))
                .child(
                    button("find-previous", IconName::ArrowUp, words::FIND_PREVIOUS)
                        .on_click(cx.listener(|this, _, _, cx| this.find_previous(cx))),
                )
                .child(
                    button("find-next", IconName::ArrowDown, words::FIND_NEXT)
                        .on_click(cx.listener(|this, _, _, cx| this.find_next(cx))),
                )
                .child(
                    button("find-close", IconName::X, words::FIND_CLOSE)
                        .on_click(cx.listener(|this, _, window, cx| this.close_find(window, cx))),
                ),
        )
    }
}

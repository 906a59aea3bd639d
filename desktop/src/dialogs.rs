//! Dialogs that request a few texts or a confirmation.

use std::cell::Cell;
use std::rc::Rc;

use gpui_kit::component::WindowExt as _;
use gpui_kit::component::button::{Button, ButtonVariant, ButtonVariants as _};
use gpui_kit::component::input::{Input, InputState};
use gpui_kit::component::{h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{App, Entity, Focusable as _, SharedString, Window, px};

use crate::strings::dialogs as strings;

/// A text field of a form.
pub struct Field {
    pub id: &'static str,
    pub label: &'static str,
    pub value: String,
    /// Allows an empty value.
    pub optional: bool,
}

impl Field {
    pub fn new(id: &'static str, label: &'static str) -> Self {
        Self { id, label, value: String::new(), optional: false }
    }

    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = value.into();
        self
    }
}

/// Handles the confirmation and returns true if the dialog may close.
type Confirm = Rc<dyn Fn(&mut Window, &mut App) -> bool>;

/// Opens a form and passes its trimmed texts to `then` when the user confirms.
pub fn form(
    title: impl Into<SharedString>,
    ok: &'static str,
    fields: Vec<Field>,
    window: &mut Window,
    cx: &mut App,
    then: impl Fn(Vec<String>, &mut Window, &mut App) + 'static,
) {
    let title = title.into();
    let inputs: Vec<(Field, Entity<InputState>)> = fields
        .into_iter()
        .map(|field| {
            let value = field.value.clone();
            let input =
                cx.new(|cx| InputState::new(window, cx).placeholder(field.label).default_value(value));
            (field, input)
        })
        .collect();
    let inputs = Rc::new(inputs);
    // Enter and the button share one handler, so both validate.
    let confirm: Confirm = Rc::new({
        let inputs = Rc::clone(&inputs);
        move |window, cx| {
            let texts: Vec<String> =
                inputs.iter().map(|(_, input)| input.read(cx).value().trim().to_owned()).collect();
            let missing =
                inputs.iter().zip(&texts).find(|((field, _), text)| !field.optional && text.is_empty());
            // A required field without text keeps the dialog open and gets the focus, instead of an error
            // message.
            if let Some(((_, input), _)) = missing {
                input.focus_handle(cx).focus(window, cx);
                return false;
            }
            then(texts, window, cx);
            true
        }
    });
    // The dialog is built again for every frame. Only the first build may move the focus and the selection;
    // later ones would undo what the user types.
    let first = Cell::new(true);
    window.open_dialog(cx, move |dialog, window, cx| {
        if first.replace(false)
            && let Some((_, input)) = inputs.first()
        {
            input.update(cx, |input, cx| input.select_all(window, cx));
            input.focus_handle(cx).focus(window, cx);
        }
        let by_key = Rc::clone(&confirm);
        let by_click = Rc::clone(&confirm);
        let footer = h_flex()
            .gap_2()
            .justify_end()
            .child(
                Button::new("dialog-cancel")
                    .outline()
                    .label(strings::CANCEL)
                    .on_click(|_, window, cx| window.close_dialog(cx)),
            )
            .child(Button::new("dialog-ok").primary().label(ok).on_click(move |_, window, cx| {
                if by_click(window, cx) {
                    window.close_dialog(cx);
                }
            }));
        dialog
            .w(px(420.))
            .title(title.clone())
            .footer(footer)
            // Called for Enter in a field.
            .on_ok(move |_, window, cx| by_key(window, cx))
            .child(v_flex().gap_2().children(
                inputs.iter().map(|(field, input)| Input::new(input).id(field.id).aria_label(field.label)),
            ))
    });
}

/// Asks for confirmation of a destructive action.
pub fn confirm(
    title: impl Into<SharedString>,
    description: &'static str,
    ok: &'static str,
    window: &mut Window,
    cx: &mut App,
    then: impl Fn(&mut Window, &mut App) + 'static,
) {
    let title = title.into();
    let then = Rc::new(then);
    window.open_alert_dialog(cx, move |alert, _, _| {
        let then = Rc::clone(&then);
        alert
            .title(title.clone())
            .description(description)
            .ok_text(ok)
            .ok_variant(ButtonVariant::Danger)
            .cancel_text(strings::CANCEL)
            .show_cancel(true)
            .on_ok(move |_, window, cx| {
                then(window, cx);
                true
            })
    });
}

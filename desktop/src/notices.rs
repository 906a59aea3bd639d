//! Short messages above the window, each announced to assistive technology.

use gpui_kit::component::WindowExt as _;
use gpui_kit::component::notification::{Notification, NotificationType};
use gpui_kit::prelude::*;
use gpui_kit::{App, Role, SharedString, TestSupportExt as _, Window, div};

use crate::hidden;

/// Shows an error until the user closes it.
pub fn problem(text: &str, window: &mut Window, cx: &mut App) {
    push(text, NotificationType::Error, Role::Alert, false, window, cx);
}

/// Shows a reminder of a task until the user closes it.
pub fn reminder(text: &str, window: &mut Window, cx: &mut App) {
    push(text, NotificationType::Info, Role::Status, false, window, cx);
}

/// Shows a success notice that dismisses itself.
pub fn done(text: &str, window: &mut Window, cx: &mut App) {
    push(text, NotificationType::Info, Role::Status, true, window, cx);
}

fn push(text: &str, kind: NotificationType, role: Role, autohide: bool, window: &mut Window, cx: &mut App) {
    // The text may quote a gateway or a file name. The element gets its own label because the toolkit's
    // notification has none that a screen reader could announce.
    let text: SharedString = hidden::visible(text);
    let notice = Notification::new().with_type(kind).autohide(autohide).content(move |_, _, _| {
        let words = div().id("notice").role(role).aria_label(text.clone());
        words.test_support().text_sm().child(text.clone()).into_any_element()
    });
    window.push_notification(notice, cx);
}

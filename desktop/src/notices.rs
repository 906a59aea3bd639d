//! Short messages over the window. Each is an element of its own, so that assistive technology reads it.

use gpui_kit::component::WindowExt as _;
use gpui_kit::component::notification::{Notification, NotificationType};
use gpui_kit::prelude::*;
use gpui_kit::{App, Role, SharedString, TestSupportExt as _, Window, div};

use crate::hidden;

/// What went wrong. It stays until somebody has closed it.
pub fn problem(text: &str, window: &mut Window, cx: &mut App) {
    push(text, NotificationType::Error, Role::Alert, false, window, cx);
}

/// Something to know that somebody has to do something about.
pub fn reminder(text: &str, window: &mut Window, cx: &mut App) {
    push(text, NotificationType::Info, Role::Status, false, window, cx);
}

/// Something that was done. It goes by itself.
pub fn done(text: &str, window: &mut Window, cx: &mut App) {
    push(text, NotificationType::Info, Role::Status, true, window, cx);
}

fn push(
    text: &str,
    kind: NotificationType,
    role: Role,
    goes_by_itself: bool,
    window: &mut Window,
    cx: &mut App,
) {
    let text: SharedString = hidden::visible(text);
    let notice = Notification::new().with_type(kind).autohide(goes_by_itself).content(move |_, _, _| {
        let words = div().id("notice").role(role).aria_label(text.clone());
        words.test_support().text_sm().child(text.clone()).into_any_element()
    });
    window.push_notification(notice, cx);
}

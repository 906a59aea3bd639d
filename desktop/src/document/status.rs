//! The line below the text: the state of saving and the number of characters.

use client::EditingStatus;
use gpui_kit::component::button::Button;
use gpui_kit::component::{ActiveTheme as _, Icon, Sizable as _, h_flex};
use gpui_kit::prelude::*;
use gpui_kit::{Context, Hsla, Role, SharedString, TestSupportExt as _, div};

use super::DocumentEditor;
use crate::hidden;
use crate::icons::IconName;
use crate::strings::{self, editor as words};

impl DocumentEditor {
    /// Returns the state of the document in words.
    pub fn status_text(&self) -> String {
        match self.editing.status() {
            EditingStatus::Loading => words::LOADING.to_owned(),
            EditingStatus::Saved => match self.editing.version().0 {
                0 => words::NOTHING_SAVED.to_owned(),
                version => words::saved_version(version),
            },
            EditingStatus::Unsaved => words::UNSAVED.to_owned(),
            EditingStatus::Saving => words::SAVING.to_owned(),
            EditingStatus::Offline => words::OFFLINE.to_owned(),
            EditingStatus::Conflict => words::CONFLICT.to_owned(),
            EditingStatus::Unmerged => words::UNMERGED.to_owned(),
            EditingStatus::TooLong { bytes, limit } => words::too_long(bytes, limit),
            // The message comes from a gateway and may contain line breaks or hidden characters.
            EditingStatus::Failed { message, .. } => words::failed(&hidden::line(&message)),
        }
    }

    pub(super) fn status_line(&self, cx: &mut Context<Self>) -> impl IntoElement + use<> {
        let theme = cx.theme();
        let muted = theme.muted_foreground;
        let (icon, color): (IconName, Hsla) = match self.editing.status() {
            EditingStatus::Saved => (IconName::CircleCheck, theme.success),
            EditingStatus::Loading | EditingStatus::Saving => (IconName::Loader, muted),
            EditingStatus::Unsaved => (IconName::CircleDashed, muted),
            EditingStatus::Offline => (IconName::CloudOff, theme.warning),
            EditingStatus::Conflict | EditingStatus::Unmerged => (IconName::GitMerge, theme.warning),
            EditingStatus::Failed { .. } | EditingStatus::TooLong { .. } => {
                (IconName::CircleAlert, theme.danger)
            }
        };
        let failed = matches!(self.editing.status(), EditingStatus::Failed { .. });
        let text = SharedString::from(self.status_text());
        let count = self.editing.characters();
        let counter = strings::characters(count.count, count.limit);
        h_flex()
            .px_4()
            .py_1()
            .gap_2()
            .border_t_1()
            .border_color(theme.border)
            .text_xs()
            .child(Icon::new(icon).xsmall().text_color(color))
            .child(
                div()
                    .id("status")
                    .role(Role::Status)
                    .aria_label(text.clone())
                    .test_support()
                    .flex_1()
                    .truncate()
                    .text_color(if failed { color } else { muted })
                    .child(text),
            )
            .when(failed, |this| {
                this.child(Button::new("retry").xsmall().outline().label(words::RETRY).on_click(cx.listener(
                    |this, _, window, cx| {
                        this.input(window, cx, |editing, now| editing.retry(now));
                    },
                )))
            })
            .when_some(self.draft_problem.clone(), |this, problem| {
                this.child(
                    div().text_color(theme.danger).child(format!("{}: {problem}", words::DRAFT_FAILED)),
                )
            })
            .when(count.is_over(), |this| {
                this.child(Icon::new(IconName::TriangleAlert).xsmall().text_color(theme.warning))
                    .child(div().text_color(theme.warning).child(words::OVER))
            })
            .child(
                div()
                    .id("characters")
                    .aria_label(counter.clone())
                    .role(Role::Label)
                    .test_support()
                    .text_color(if count.is_over() { theme.warning } else { muted })
                    .child(counter),
            )
    }
}

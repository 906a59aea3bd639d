//! View of a conflict: the common base, the local text and the gateway's side by side, with the choices.

use client::Merged;
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::{ActiveTheme as _, Icon, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{AnyElement, App, Context, FontWeight, div, px, rems};

use super::DocumentEditor;
use crate::alignment::{Cell, FoldedRow, Mark, align, fold};
use crate::hidden;
use crate::icons::IconName;
use crate::strings::{conflict as words, editor};

impl DocumentEditor {
    pub(super) fn conflict_view(&self, cx: &mut Context<Self>) -> impl IntoElement + use<> {
        let remote = self.editing.remote().flatten().unwrap_or_default();
        // `Some(None)` means that the other client archived the document, `None` that its text is not loaded
        // yet.
        let archived = matches!(self.editing.remote(), Some(None));
        // Unchanged parts are folded, because every row is an element and documents may have thousands of
        // lines.
        let rows = fold(align(self.editing.base(), self.editing.text(), remote));
        let clean = matches!(self.editing.merged(), Some(Merged::Clean(_)));
        let theme = cx.theme();
        let column = |title: &'static str, note: &'static str| {
            h_flex()
                .flex_1()
                .min_w_0()
                .px_3()
                .py_1()
                .gap_2()
                .text_sm()
                .font_weight(FontWeight::MEDIUM)
                .child(title)
                .child(div().text_xs().text_color(theme.muted_foreground).child(note))
        };
        let heads = h_flex()
            .border_b_1()
            .border_color(theme.border)
            .bg(theme.muted)
            .child(column(words::BASE, ""))
            .child(column(words::LOCAL, words::LOCAL_NOTE))
            .child(column(words::REMOTE, if archived { words::ARCHIVED } else { "" }));
        let mono = (theme.mono_font_family.clone(), theme.mono_font_size);
        let rows: Vec<AnyElement> = rows.iter().map(|shown| row(shown, cx)).collect();
        let (merge, merge_tip) = if clean {
            (words::MERGE, words::MERGE_CLEAN_TIP)
        } else {
            (words::MERGE_MARKED, words::MERGE_MARKED_TIP)
        };
        v_flex()
            .id("conflict")
            .size_full()
            .child(
                h_flex()
                    .px_4()
                    .py_2()
                    .gap_2()
                    .border_b_1()
                    .border_color(theme.border)
                    .child(Icon::new(IconName::GitMerge).small().text_color(theme.warning))
                    .child(
                        v_flex()
                            .flex_1()
                            .min_w_0()
                            .child(div().text_sm().font_weight(FontWeight::MEDIUM).child(words::TITLE))
                            .child(
                                div().text_xs().text_color(theme.muted_foreground).child(editor::CONFLICT),
                            ),
                    )
                    .child(
                        Button::new("take-remote")
                            .small()
                            .outline()
                            .label(words::RELOAD)
                            .icon(Icon::new(IconName::Download))
                            .tooltip(words::RELOAD_TIP)
                            .on_click(cx.listener(|this, _, window, cx| this.take_remote(window, cx))),
                    )
                    .child(
                        Button::new("overwrite-remote")
                            .small()
                            .outline()
                            .label(words::OVERWRITE)
                            .icon(Icon::new(IconName::Upload))
                            .tooltip(words::OVERWRITE_TIP)
                            .on_click(cx.listener(|this, _, window, cx| {
                                this.choose(window, cx, |editing, now| editing.overwrite_remote(now));
                            })),
                    )
                    .child(
                        Button::new("take-merge")
                            .small()
                            .primary()
                            .label(merge)
                            .icon(Icon::new(IconName::GitMerge))
                            .tooltip(merge_tip)
                            .on_click(cx.listener(|this, _, window, cx| {
                                this.choose(window, cx, |editing, now| editing.take_merge(now));
                            })),
                    ),
            )
            .child(heads)
            .child(
                v_flex()
                    .id("conflict-rows")
                    .flex_1()
                    .min_h_0()
                    .overflow_y_scroll()
                    .font_family(mono.0)
                    .text_size(mono.1)
                    .children(rows),
            )
    }
}

fn row(shown: &FoldedRow, cx: &App) -> AnyElement {
    match shown {
        FoldedRow::Row(row) => h_flex()
            .w_full()
            .items_stretch()
            .child(cell(&row.base, cx))
            .child(cell(&row.local, cx))
            .child(cell(&row.remote, cx))
            .into_any_element(),
        FoldedRow::Folded(count) => h_flex()
            .w_full()
            .px_3()
            .gap_2()
            .text_xs()
            .bg(cx.theme().muted.opacity(0.4))
            .text_color(cx.theme().muted_foreground)
            .child(Icon::new(IconName::Ellipsis).xsmall())
            .child(words::equal_lines(*count))
            .into_any_element(),
    }
}

fn cell(cell: &Cell, cx: &App) -> impl IntoElement + use<> {
    let theme = cx.theme();
    let (sign, color) = match cell.mark {
        Mark::Same => (" ", None),
        Mark::Added => ("+", Some(theme.success.opacity(0.15))),
        Mark::Removed => ("−", Some(theme.danger.opacity(0.15))),
        // The sign differs as well as the color, for people who cannot distinguish the colors.
        Mark::Gap => (" ", Some(theme.muted.opacity(0.5))),
    };
    let number = cell.number.map(|number| number.to_string()).unwrap_or_default();
    h_flex()
        .flex_1()
        .min_w_0()
        .items_start()
        .gap_1()
        .py(px(1.))
        .border_r_1()
        .border_color(theme.border)
        .when_some(color, |this, color| this.bg(color))
        .child(
            div()
                .w(rems(2.))
                .flex_shrink_0()
                .text_right()
                .text_xs()
                .text_color(theme.muted_foreground)
                .child(number),
        )
        .child(div().w(rems(0.8)).flex_shrink_0().text_center().child(sign))
        .child(div().flex_1().min_w_0().pr_2().child(hidden::text(&cell.text)))
}

//! A pending approval: everything that would run, and the two decisions.

use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::{ActiveTheme as _, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{Context, SharedString, div, px};
use protocol::{TurnApproval, TurnId};

use super::super::parts;
use super::ThreadView;
use crate::hidden;
use crate::strings::views as strings;

/// Height in pixels above which a difference scrolls, so that the buttons stay visible.
const DIFFERENCE_HEIGHT: f32 = 320.;

impl ThreadView {
    /// Draws a pending approval.
    pub(super) fn question(
        &self,
        index: usize,
        turn_id: TurnId,
        approval: &TurnApproval,
        cx: &Context<Self>,
    ) -> impl IntoElement + use<> {
        let request = &approval.request;
        let mut facts = vec![strings::thread::asks(&request.tool, &request.rule)];
        facts.extend(request.paths.iter().cloned());
        facts.extend(request.new_file.then(|| strings::thread::NEW_FILE.to_owned()));
        facts.extend(request.replaces_lines.filter(|lines| *lines > 0).map(strings::thread::replaces));
        let id = ("difference", index);
        // Nothing is shortened, unlike tool results: the user approves exactly what runs, and a cut
        // difference could hide the line that matters.
        let body = match &request.diff {
            Some(diff) => parts::difference(id, diff, cx),
            None => {
                let arguments = serde_json::to_string_pretty(&request.arguments).unwrap_or_default();
                parts::code(id, &arguments, cx)
            }
        };
        let answer = |id: &'static str, label, tip, allow| {
            let turn_id = turn_id.clone();
            let call_id = request.call_id.clone();
            Button::new((id, index)).small().label(label).tooltip(tip).on_click(
                cx.listener(move |this, _, _, cx| this.decide(turn_id.clone(), &call_id, allow, cx)),
            )
        };
        v_flex()
            .flex_none()
            .m_2()
            .p_3()
            .gap_2()
            .border_1()
            .border_color(cx.theme().warning)
            .rounded(cx.theme().radius)
            .children(facts.into_iter().enumerate().map(|(line, fact)| {
                parts::words(SharedString::from(format!("question-{index}-{line}")), hidden::visible(&fact))
            }))
            .child(
                div()
                    .id(("difference-scroll", index))
                    .w_full()
                    .max_h(px(DIFFERENCE_HEIGHT))
                    .overflow_y_scroll()
                    .child(body),
            )
            .child(
                h_flex()
                    .gap_2()
                    .child(
                        answer("allow", strings::thread::ALLOW, strings::thread::ALLOW_TIP, true).primary(),
                    )
                    .child(answer("deny", strings::thread::DENY, strings::thread::DENY_TIP, false)),
            )
    }
}

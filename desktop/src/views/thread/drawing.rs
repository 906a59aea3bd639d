//! Drawing of a thread.

use client::{CallState, TurnItem, WatchedTurn};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::input::Textarea;
use gpui_kit::component::{ActiveTheme as _, Disableable as _, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{AnyElement, Context, SharedString, Window, div};
use protocol::TurnStatus;

use super::super::parts::{self, Loaded};
use super::ThreadView;
use crate::actions::{self, AllowCall, CancelTurn, DenyCall};
use crate::hidden;
use crate::session::{PageId, Subject};
use crate::strings::views as strings;

/// Characters of a tool result that are shown before it is expanded.
const SHOWN_RESULT: usize = 4_000;

impl ThreadView {
    fn turn(&self, number: usize, turn: &WatchedTurn, cx: &Context<Self>) -> AnyElement {
        let items = turn.items().into_iter().enumerate().map(|(index, item)| {
            // Ids consist of positions, which stay the same while an answer streams. Ids made from the
            // content would change with every delta.
            let id = SharedString::from(format!("item-{number}-{index}"));
            match item {
                TurnItem::Asked(text) => speech(strings::thread::YOU, id, text, cx),
                TurnItem::Said(text) | TurnItem::Saying(text) => speech(strings::thread::MODEL, id, text, cx),
                TurnItem::Reminder(reminder) => v_flex()
                    .gap_1()
                    .child(parts::quiet(strings::thread::REMINDER, cx))
                    .child(parts::code(id, &reminder.text, cx))
                    .into_any_element(),
                TurnItem::Call { call, state, result } => {
                    let heading = strings::thread::call(&hidden::name(&call.name), state_words(state));
                    let arguments = SharedString::from(format!("{id}-arguments"));
                    let result = result.map(|result| self.result(&id, &result.text, cx));
                    v_flex()
                        .gap_1()
                        .child(parts::words(id, heading))
                        .child(parts::code(arguments, &spread(&call.arguments), cx))
                        .children(result)
                        .into_any_element()
                }
            }
        });
        let items: Vec<AnyElement> = items.collect();
        let status = turn.turn().map(|turn| {
            let text = strings::thread::turn(turn.ordinal, status_words(turn.status));
            parts::words(("turn", number), text).text_sm().text_color(cx.theme().muted_foreground)
        });
        // The message may quote a provider, so hidden characters are spelled out.
        let error = turn.turn().and_then(|turn| turn.error.as_ref()).map(|error| {
            let text = protocol::error::with_hint(error.message.clone(), error.hint.as_deref());
            parts::words(("turn-error", number), hidden::visible(&text)).text_color(cx.theme().danger)
        });
        let retrying = turn.retrying().map(|it| {
            let text = strings::thread::retrying(it.attempt, it.delay_ms.div_ceil(1_000), &it.message);
            parts::words(("retrying", number), hidden::visible(&text))
        });
        let problem =
            turn.problem().map(|problem| parts::words(("turn-problem", number), problem.to_owned()));
        let children = turn.children().iter().enumerate().map(|(index, child)| {
            let text = strings::thread::delegated(status_words(child.status), &child.input);
            let thread_id = child.thread_id.clone();
            let id = SharedString::from(format!("child-{number}-{index}"));
            h_flex().gap_2().child(parts::words(id.clone(), hidden::visible(&text)).flex_1()).child(
                Button::new(SharedString::from(format!("open-{id}")))
                    .small()
                    .ghost()
                    .label(strings::OPEN)
                    .on_click(cx.listener(move |this, _, _, cx| {
                        let place = PageId::Thread(thread_id.clone());
                        this.session.update(cx, |session, cx| session.open(place, cx));
                    })),
            )
        });
        let children: Vec<_> = children.collect();
        v_flex()
            .gap_2()
            .children(items)
            .children(children)
            .children(retrying)
            .children(problem)
            .children(error)
            .children(status)
            .into_any_element()
    }

    /// Draws the result of a tool, or the beginning of a long one.
    fn result(&self, id: &str, text: &str, cx: &Context<Self>) -> AnyElement {
        let id = SharedString::from(format!("{id}-result"));
        // Results may have megabytes, and each frame lays out everything that is shown.
        let end = text.char_indices().nth(SHOWN_RESULT).map(|(end, _)| end);
        let is_whole = self.whole_results.contains(&id);
        let shown = match end {
            Some(end) if !is_whole => &text[..end],
            _ => text,
        };
        let more = end.map(|_| {
            let label = if is_whole {
                strings::thread::SHOW_LESS.to_owned()
            } else {
                strings::thread::show_all(text.chars().count())
            };
            let result = id.clone();
            Button::new(SharedString::from(format!("{id}-all")))
                .small()
                .ghost()
                .label(label)
                .tooltip(strings::thread::SHOW_ALL_TIP)
                .on_click(cx.listener(move |this, _, _, cx| this.toggle_result(&result, cx)))
        });
        v_flex()
            .items_start()
            .gap_1()
            .child(parts::code(id, shown, cx).w_full())
            .children(more)
            .into_any_element()
    }

    fn composer(&self, cx: &Context<Self>) -> impl IntoElement + use<> {
        let cancel = self.running().map(|_| {
            Button::new("cancel")
                .small()
                .label(strings::thread::CANCEL)
                .tooltip(strings::thread::CANCEL_TIP)
                .on_click(cx.listener(|this, _, _, cx| this.cancel(cx)))
        });
        v_flex()
            .flex_none()
            .p_2()
            .gap_2()
            .border_t_1()
            .border_color(cx.theme().border)
            .children(
                self.message
                    .clone()
                    .map(|message| parts::words("message", message).text_color(cx.theme().danger)),
            )
            .child(Textarea::new(&self.input).aria_label(strings::thread::PLACEHOLDER))
            .child(
                h_flex().gap_2().justify_end().children(cancel).child(
                    Button::new("send")
                        .small()
                        .primary()
                        .label(strings::thread::SEND)
                        .tooltip(strings::thread::SEND_TIP)
                        .disabled(self.is_sending)
                        .on_click(cx.listener(|this, _, window, cx| this.send(window, cx))),
                ),
            )
    }
}

fn speech(who: &'static str, id: SharedString, text: &str, cx: &Context<ThreadView>) -> AnyElement {
    v_flex()
        .gap_1()
        .child(parts::quiet(who, cx))
        .child(parts::words(id, hidden::visible(text)))
        .into_any_element()
}

fn state_words(state: CallState) -> &'static str {
    match state {
        CallState::Waiting => strings::thread::WAITING,
        CallState::Running => strings::thread::RUNNING,
        CallState::Done => strings::thread::DONE,
        CallState::Failed => strings::thread::FAILED,
        CallState::Abandoned => strings::thread::ABANDONED,
    }
}

fn status_words(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Running => strings::thread::TURN_RUNNING,
        TurnStatus::Completed => strings::thread::TURN_COMPLETED,
        TurnStatus::Failed => strings::thread::TURN_FAILED,
        TurnStatus::Cancelled => strings::thread::TURN_CANCELLED,
    }
}

/// Formats arguments of a call with one per line, or returns invalid JSON unchanged.
fn spread(arguments: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(arguments);
    parsed.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| arguments.to_owned())
}

impl Render for ThreadView {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let title = match &self.thread {
            Loaded::Ready(thread) => hidden::name(&thread.title),
            Loaded::Loading => strings::LOADING.into(),
            Loaded::Failed(error) => error.clone().into(),
        };
        let subject = Subject::Thread(self.thread_id.clone());
        let go = |id: &'static str, label, tip, place: PageId| {
            Button::new(id).small().ghost().label(label).tooltip(tip).on_click(cx.listener(
                move |this, _, _, cx| {
                    let place = place.clone();
                    this.session.update(cx, |session, cx| session.open(place, cx));
                },
            ))
        };
        let heading = parts::heading(title, cx)
            .child(go(
                "see-effective",
                strings::thread::EFFECTIVE,
                strings::thread::EFFECTIVE_TIP,
                PageId::Effective(subject),
            ))
            .child(go(
                "see-prompt",
                strings::thread::PROMPT,
                strings::thread::PROMPT_TIP,
                PageId::Prompt(self.thread_id.clone()),
            ));
        let earlier =
            self.turns.front().and_then(|turn| turn.turn()).filter(|_| self.has_earlier).map(|turn| {
                let ordinal = turn.ordinal;
                Button::new("earlier")
                    .small()
                    .label(strings::thread::EARLIER)
                    .on_click(cx.listener(move |this, _, _, cx| this.load_turns(Some(ordinal), cx)))
            });
        let turns: Vec<AnyElement> =
            self.turns.iter().enumerate().map(|(number, turn)| self.turn(number, turn, cx)).collect();
        let first = self.waiting().into_iter().next();
        // Recorded while drawing, because Alt+A must decide about the call that the user sees.
        self.first_question = first.map(|(turn_id, approval)| (turn_id, approval.request.call_id.clone()));
        let questions: Vec<_> = self
            .waiting()
            .into_iter()
            .enumerate()
            .map(|(index, (turn_id, approval))| self.question(index, turn_id, approval, cx))
            .collect();
        let is_empty = turns.is_empty();
        let conversation = if is_empty {
            parts::placeholder(strings::thread::EMPTY, cx).into_any_element()
        } else {
            div()
                .id("conversation")
                .flex_1()
                .min_h_0()
                .overflow_y_scroll()
                .track_scroll(&self.scroll)
                .child(v_flex().p_4().gap_4().children(earlier).children(turns))
                .into_any_element()
        };
        v_flex()
            .id("thread")
            .key_context(actions::THREAD)
            .on_action(cx.listener(|this, _: &AllowCall, _, cx| this.decide_first(true, cx)))
            .on_action(cx.listener(|this, _: &DenyCall, _, cx| this.decide_first(false, cx)))
            .on_action(cx.listener(|this, _: &CancelTurn, _, cx| this.cancel(cx)))
            .text_sm()
            .size_full()
            .child(heading)
            .child(div().flex_1().min_h_0().flex().flex_col().child(conversation))
            .children(questions)
            .child(self.composer(cx))
    }
}

//! The main area without an open page: the next steps.

use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::{ActiveTheme as _, Icon, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{AnyElement, Context, FontWeight, Window, div, px, rems};

use super::Workbench;
use crate::icons::IconName;
use crate::session::PageId;
use crate::strings::{self, link, welcome as words};

impl Workbench {
    pub(super) fn main_area(&mut self, _: &mut Window, cx: &mut Context<Self>) -> AnyElement {
        match &self.page {
            Some(page) => page.draw(),
            None => self.welcome(cx).into_any_element(),
        }
    }

    fn welcome(&self, cx: &mut Context<Self>) -> impl IntoElement + use<> {
        let session = self.session.read(cx);
        let (icon, title, hint, buttons): (IconName, &str, &str, Vec<Button>) =
            if session.workspace().is_some() {
                let write = Button::new("write-root")
                    .primary()
                    .label(strings::sidebar::OPEN_DOCUMENT)
                    .on_click(cx.listener(|this, _, window, cx| {
                        this.open(PageId::Document(None), window, cx);
                    }));
                (IconName::BookOpenText, words::TITLE, words::HINT, vec![write])
            } else if session.link().is_connected() {
                let make = Button::new("make-workspace")
                    .primary()
                    .label(strings::sidebar::NEW_WORKSPACE)
                    .on_click(cx.listener(|this, _, window, cx| this.new_workspace(window, cx)));
                (IconName::Library, words::NO_WORKSPACE_TITLE, words::NO_WORKSPACE_HINT, vec![make])
            } else {
                let start = Button::new("start-gateway")
                    .primary()
                    .label(link::START)
                    .tooltip(link::START_TIP)
                    .loading(self.starting)
                    .on_click(cx.listener(|this, _, window, cx| this.start_gateway(window, cx)));
                let choose = Button::new("choose-gateway")
                    .outline()
                    .label(link::CHOOSE)
                    .on_click(cx.listener(|this, _, window, cx| this.open(PageId::Gateways, window, cx)));
                let buttons = if self.starting || session.link().wants_gateway() {
                    vec![start, choose]
                } else {
                    vec![choose]
                };
                (IconName::ServerOff, words::OFFLINE_TITLE, words::OFFLINE_HINT, buttons)
            };
        v_flex()
            .size_full()
            .items_center()
            .justify_center()
            .gap_3()
            .child(Icon::new(icon).size(rems(2.5)).text_color(cx.theme().muted_foreground))
            .child(div().text_lg().font_weight(FontWeight::MEDIUM).child(title.to_owned()))
            .child(
                div()
                    .max_w(px(440.))
                    .text_sm()
                    .text_center()
                    .text_color(cx.theme().muted_foreground)
                    .child(hint.to_owned()),
            )
            .child(h_flex().gap_2().children(buttons))
    }
}

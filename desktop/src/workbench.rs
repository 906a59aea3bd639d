//! The window: the sidebar, what is open beside it, and the line at the bottom.

use gpui_kit::component::{ActiveTheme as _, h_flex, status_bar::StatusBar, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{Context, Entity, Subscription, Window, div};

use crate::bridge::Link;
use crate::session::{Session, SessionEvent};
use crate::strings;

pub struct Workbench {
    session: Entity<Session>,
    _subscriptions: Vec<Subscription>,
}

impl Workbench {
    pub fn new(session: Entity<Session>, _window: &mut Window, cx: &mut Context<Self>) -> Self {
        let subscriptions = vec![cx.subscribe(&session, |_, _, _: &SessionEvent, cx| cx.notify())];
        Self { session, _subscriptions: subscriptions }
    }

    pub fn session(&self) -> &Entity<Session> {
        &self.session
    }
}

impl Render for Workbench {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let session = self.session.read(cx);
        let link = match session.link() {
            Link::Connecting => strings::CONNECTING,
            Link::Connected { .. } => strings::CONNECTED,
            _ => strings::NOT_CONNECTED,
        };
        let names = session.workspaces().iter().map(|workspace| workspace.name.clone());
        v_flex()
            .size_full()
            .bg(cx.theme().background)
            .text_color(cx.theme().foreground)
            .child(h_flex().flex_1().children(names.map(|name| div().p_2().child(name))))
            .child(StatusBar::new().left(link))
    }
}

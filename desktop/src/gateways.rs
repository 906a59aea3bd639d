//! Page with the list of gateways: this machine's, and others by address and token.

use client::{GatewayEntry, GatewayPlace};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::input::{Input, InputState};
use gpui_kit::component::{ActiveTheme as _, Disableable as _, Icon, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    AnyElement, App, Context, Entity, FocusHandle, Focusable, FontWeight, SharedString, TestSupportExt as _,
    WeakEntity, Window, div, px,
};
use secrecy::SecretString;

use crate::icons::IconName;
use crate::session::Session;
use crate::state::tokens::{self, TokenStorage};
use crate::strings::{gateways as words, link};
use crate::workbench::Workbench;

pub struct GatewaysView {
    session: Entity<Session>,
    workbench: WeakEntity<Workbench>,
    name: Entity<InputState>,
    address: Entity<InputState>,
    token: Entity<InputState>,
    /// Last error, or the storage of the last token.
    note: Option<SharedString>,
    focus: FocusHandle,
}

impl Focusable for GatewaysView {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl GatewaysView {
    pub fn new(
        session: Entity<Session>,
        workbench: WeakEntity<Workbench>,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) -> Self {
        let mut field = |label: &'static str, masked: bool| {
            cx.new(|cx| InputState::new(window, cx).placeholder(label).masked(masked))
        };
        let name = field(words::NAME, false);
        let address = field(words::ADDRESS, false);
        let token = field(words::TOKEN, true);
        Self { session, workbench, name, address, token, note: None, focus: cx.focus_handle() }
    }

    fn add(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let text = |input: &Entity<InputState>| input.read(cx).value().trim().to_owned();
        let name = text(&self.name);
        let url = text(&self.address);
        let token = text(&self.token);
        // Checked before the address is stored: an entry without a token could never connect.
        if token.is_empty() {
            self.note = Some(words::TOKEN_NEEDED.into());
            cx.notify();
            return;
        }
        let added = self.workbench.update(cx, |workbench, cx| {
            let mut added = Err(String::new());
            workbench.change_settings(window, cx, |settings| {
                let entry = settings.gateways.add_address(&name, &url);
                added = entry.map(|entry| entry.place.clone()).map_err(|error| error.to_string());
            });
            added
        });
        let url = match added {
            Ok(Ok(GatewayPlace::Address(url))) => url,
            Ok(Ok(GatewayPlace::Local(_))) | Err(_) => return,
            Ok(Err(problem)) => {
                self.note = Some(problem.into());
                cx.notify();
                return;
            }
        };
        // The fields are cleared while the keyring still works: it may show a dialog of its own, and the
        // token should not stay in the window meanwhile.
        let state = self.session.read(cx).paths().state.clone();
        let keeping = tokens::keep(&state, &url, SecretString::from(token), cx);
        for input in [&self.name, &self.address, &self.token] {
            input.update(cx, |input, cx| input.set_value("", window, cx));
        }
        cx.spawn(async move |this, cx| {
            let kept = keeping.await;
            this.update(cx, |this, cx| {
                this.note = Some(match kept {
                    Ok(TokenStorage::Keyring) => words::IN_KEYRING.into(),
                    Ok(TokenStorage::File) => words::IN_FILE.into(),
                    Err(problem) => problem.into(),
                });
                cx.notify();
            })
            .ok();
        })
        .detach();
    }

    fn remove(&mut self, name: &str, url: Option<&str>, window: &mut Window, cx: &mut Context<Self>) {
        self.workbench
            .update(cx, |workbench, cx| {
                workbench.change_settings(window, cx, |settings| {
                    // A double click removes it once; the second attempt finds nothing.
                    let _ = settings.gateways.remove(name);
                });
            })
            .ok();
        if let Some(url) = url {
            let state = self.session.read(cx).paths().state.clone();
            tokens::forget(&state, url, cx).detach();
        }
        cx.notify();
    }

    fn connect(&mut self, name: Option<String>, window: &mut Window, cx: &mut Context<Self>) {
        self.workbench.update(cx, |workbench, cx| workbench.use_gateway(name, window, cx)).ok();
        cx.notify();
    }

    fn entry(&self, entry: &GatewayEntry, current: bool, cx: &mut Context<Self>) -> AnyElement {
        let (detail, url) = match &entry.place {
            GatewayPlace::Local(data) => (data.display().to_string(), None),
            GatewayPlace::Address(url) => (url.clone(), Some(url.clone())),
        };
        let name = entry.name.clone();
        let removed = name.clone();
        self.line(&name, detail, current, Some(name.clone()), cx)
            .child(
                Button::new(SharedString::from(format!("remove-{name}")))
                    .small()
                    .ghost()
                    .label(words::REMOVE)
                    // Removing the gateway in use would leave the window connected to an unlisted one.
                    .disabled(current)
                    .on_click(cx.listener(move |this, _, window, cx| {
                        this.remove(&removed, url.as_deref(), window, cx);
                    })),
            )
            .into_any_element()
    }

    fn line(
        &self,
        title: &str,
        detail: String,
        current: bool,
        target: Option<String>,
        cx: &mut Context<Self>,
    ) -> gpui_kit::Div {
        let id = SharedString::from(format!("connect-{title}"));
        h_flex()
            .p_3()
            .gap_3()
            .rounded(cx.theme().radius)
            .border_1()
            .border_color(if current { cx.theme().ring } else { cx.theme().border })
            .child(Icon::new(IconName::Server).small())
            .child(
                v_flex()
                    .flex_1()
                    .min_w_0()
                    .child(div().text_sm().font_weight(FontWeight::MEDIUM).child(title.to_owned()))
                    .child(div().text_xs().truncate().text_color(cx.theme().muted_foreground).child(detail)),
            )
            .map(|this| {
                if current {
                    this.child(div().text_xs().text_color(cx.theme().muted_foreground).child(words::CURRENT))
                } else {
                    this.child(Button::new(id).small().outline().label(words::CONNECT).on_click(
                        cx.listener(move |this, _, window, cx| this.connect(target.clone(), window, cx)),
                    ))
                }
            })
    }
}

impl Render for GatewaysView {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let Some(workbench) = self.workbench.upgrade() else { return div().into_any_element() };
        let settings = workbench.read(cx).settings().clone();
        let data = self.session.read(cx).paths().data.display().to_string();
        let local = self.line(words::LOCAL, data, settings.gateway.is_none(), None, cx);
        let others: Vec<AnyElement> = settings
            .gateways
            .iter()
            .map(|entry| self.entry(entry, settings.gateway.as_ref() == Some(&entry.name), cx))
            .collect();
        let muted = cx.theme().muted_foreground;
        let can_start = self.session.read(cx).link().wants_gateway();
        v_flex()
            .id("gateways-page")
            .test_support()
            .track_focus(&self.focus)
            .size_full()
            .overflow_y_scroll()
            .items_center()
            .child(
                v_flex()
                    .w(px(640.))
                    .max_w_full()
                    .p_6()
                    .gap_3()
                    .child(div().text_lg().font_weight(FontWeight::MEDIUM).child(words::TITLE))
                    .child(div().text_sm().text_color(muted).child(words::HINT))
                    .child(local)
                    .children(others)
                    .child(
                        v_flex()
                            .gap_2()
                            .pt_3()
                            .child(Input::new(&self.name).id("gateway-name").aria_label(words::NAME))
                            .child(Input::new(&self.address).id("gateway-address").aria_label(words::ADDRESS))
                            .child(Input::new(&self.token).id("gateway-token").aria_label(words::TOKEN))
                            .child(
                                h_flex()
                                    .gap_2()
                                    .child(
                                        Button::new("add-gateway").primary().label(words::ADD).on_click(
                                            cx.listener(|this, _, window, cx| this.add(window, cx)),
                                        ),
                                    )
                                    .when_some(self.note.clone(), |this, note| {
                                        this.child(div().text_xs().text_color(muted).child(note))
                                    }),
                            ),
                    )
                    .when(can_start, |this| {
                        this.child(
                            h_flex().child(
                                Button::new("start-local")
                                    .outline()
                                    .small()
                                    .label(link::START)
                                    .tooltip(link::START_TIP)
                                    .on_click(|_, window, cx| {
                                        window.dispatch_action(Box::new(crate::actions::StartGateway), cx);
                                    }),
                            ),
                        )
                    }),
            )
            .into_any_element()
    }
}

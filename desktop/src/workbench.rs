//! The window: the sidebar, the open page, and the line at the bottom.

mod page;
mod welcome;

use client::{GatewayPlace, RowKey, Scope, Target};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::status_bar::StatusBar;
use gpui_kit::component::{
    ActiveTheme as _, Icon, Sizable as _, TitleBar, WindowExt as _, h_flex, h_resizable, resizable_panel,
    v_flex,
};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, Context, Entity, FocusHandle, Focusable, Hsla, Role, SharedString, Subscription, Task,
    TestSupportExt as _, Window, div, px,
};

use self::page::Page;
use crate::actions::{self, *};
use crate::appearance;
use crate::bridge::Link;
use crate::dialogs::{self, Field};
use crate::document::DocumentEditor;
use crate::hidden;
use crate::icons::IconName;
use crate::local_gateway;
use crate::notices;
use crate::session::{PageId, Session, SessionEvent};
use crate::sidebar::Sidebar;
use crate::state::paths::Paths;
use crate::state::settings::{Appearance, Settings};
use crate::state::tokens;
use crate::strings::{self, link as link_words};

pub struct Workbench {
    session: Entity<Session>,
    sidebar: Entity<Sidebar>,
    /// The open page.
    page: Option<Page>,
    /// Closed editors with unsaved text.
    leaving: Vec<Entity<DocumentEditor>>,
    settings: Settings,
    focus: FocusHandle,
    /// A gateway was started and has not answered yet.
    starting: bool,
    _tasks: Vec<Task<()>>,
    _subscriptions: Vec<Subscription>,
}

impl Focusable for Workbench {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl Workbench {
    pub fn new(
        session: Entity<Session>,
        settings: Settings,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) -> Self {
        let sidebar = cx.new(|cx| Sidebar::new(session.clone(), window, cx));
        let subscriptions = vec![
            cx.subscribe_in(&session, window, Self::on_session),
            // Without this, no key would work after the focused element disappears, for example with a closed
            // dialog.
            cx.on_focus_lost(window, |this, window, cx| match &this.page {
                Some(page) => page.focus_handle(cx).focus(window, cx),
                None => this.sidebar.focus_handle(cx).focus(window, cx),
            }),
            cx.observe_window_appearance(window, |this, window, cx| {
                appearance::apply(&this.settings, window, cx)
            }),
        ];
        appearance::apply(&settings, window, cx);
        let this = cx.weak_entity();
        window.on_window_should_close(cx, move |window, cx| {
            this.update(cx, |this, cx| this.may_close(window, cx)).unwrap_or(true)
        });
        sidebar.focus_handle(cx).focus(window, cx);
        Self {
            session,
            sidebar,
            page: None,
            leaving: Vec::new(),
            settings,
            focus: cx.focus_handle(),
            starting: false,
            _tasks: Vec::new(),
            _subscriptions: subscriptions,
        }
    }

    pub fn session(&self) -> &Entity<Session> {
        &self.session
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the open editor.
    pub fn document(&self) -> Option<&Entity<DocumentEditor>> {
        self.page.as_ref()?.document()
    }

    fn on_session(
        &mut self,
        session: &Entity<Session>,
        event: &SessionEvent,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) {
        match event {
            SessionEvent::Open(place) => self.open(place.clone(), window, cx),
            SessionEvent::Problem(problem) => notices::problem(problem, window, cx),
            SessionEvent::Link if session.read(cx).link().is_connected() => self.starting = false,
            SessionEvent::Workspaces => self.close_foreign(window, cx),
            SessionEvent::DraftsLeft(documents) => {
                notices::reminder(&strings::editor::drafts_left(*documents), window, cx);
            }
            _ => {}
        }
        // Every event may be the answer that settles the last unsaved text of a closed editor.
        self.leaving.retain(|editor| !editor.read(cx).is_settled());
        cx.notify();
    }

    /// Opens a page in the main area.
    pub fn open(&mut self, place: PageId, window: &mut Window, cx: &mut Context<Self>) {
        if self.page.as_ref().map(Page::place) != Some(&place) {
            self.leave(window, cx);
            self.page = match place {
                PageId::Document(scope) => self.open_document(scope, window, cx),
                place => Page::open(&self.session, place, window, cx),
            };
        }
        self.focus_page(window, cx);
        cx.notify();
    }

    fn focus_page(&self, window: &mut Window, cx: &mut Context<Self>) {
        if let Some(page) = &self.page {
            page.focus_handle(cx).focus(window, cx);
        }
    }

    fn open_document(&mut self, scope: Scope, window: &mut Window, cx: &mut Context<Self>) -> Option<Page> {
        let workspace_id = self.session.read(cx).workspace_id().cloned()?;
        self.session.update(cx, |session, cx| {
            session.change_tree(cx, |tree| {
                tree.open_editor(scope.clone());
                tree.reveal(RowKey::Document(scope.clone()));
            });
        });
        // An editor that is still saving is reused. A second editor of the same document would load the old
        // text and then be in conflict with the save of the first.
        let same = |editor: &Entity<DocumentEditor>| {
            let editor = editor.read(cx);
            editor.scope() == &scope && editor.workspace_id() == &workspace_id
        };
        let editor = match self.leaving.iter().position(same) {
            Some(index) => self.leaving.swap_remove(index),
            None => {
                let session = self.session.clone();
                cx.new(|cx| DocumentEditor::new(session, workspace_id, scope, window, cx))
            }
        };
        Some(Page::of_document(editor, cx))
    }

    /// Closes the page. An editor stays alive until its text is saved.
    fn leave(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let Some(editor) = self.document().cloned() else { return };
        self.page = None;
        editor.update(cx, |editor, cx| editor.leave(window, cx));
        let scope = editor.read(cx).scope().clone();
        self.session.update(cx, |session, cx| session.change_tree(cx, |tree| tree.close_editor(&scope)));
        if !editor.read(cx).is_settled() {
            self.leaving.push(editor);
        }
    }

    /// Closes a page of a workspace that is no longer open.
    fn close_foreign(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let open = self.session.read(cx).workspace_id().cloned();
        let page = self.page.as_ref().and_then(Page::workspace_id);
        if page.is_some_and(|id| Some(id) != open.as_ref()) {
            self.leave(window, cx);
            self.page = None;
        }
    }

    /// Saves and closes. Returns true if the window may close immediately.
    fn may_close(&mut self, window: &mut Window, cx: &mut Context<Self>) -> bool {
        // Unsaved text is in the drafts in any case. With a connection the window stays open for a moment to
        // save it, so that the next start does not begin with a reminder.
        self.leave(window, cx);
        let saving = self.session.read(cx).link().is_connected() && !self.leaving.is_empty();
        if !saving {
            return true;
        }
        let task = cx.spawn_in(window, async move |this, cx| {
            // Two seconds are enough for a save. A conflict cannot be resolved without the user and waits for
            // the next start.
            for _ in 0..40 {
                cx.background_executor().timer(std::time::Duration::from_millis(50)).await;
                let done = this.update(cx, |this, cx| {
                    this.leaving.retain(|editor| !editor.read(cx).is_settled());
                    this.leaving.is_empty()
                });
                if done.unwrap_or(true) {
                    break;
                }
            }
            cx.update(|window, _| window.remove_window()).ok();
        });
        self._tasks.push(task);
        false
    }

    pub(crate) fn change_settings(
        &mut self,
        window: &mut Window,
        cx: &mut Context<Self>,
        change: impl FnOnce(&mut Settings),
    ) {
        let state = self.session.read(cx).paths().state.clone();
        let (settings, stored) = self.settings.change(&state, change);
        self.settings = settings;
        if let Err(error) = stored {
            notices::problem(&error.to_string(), window, cx);
        }
        appearance::apply(&self.settings, window, cx);
        cx.notify();
    }

    /// Connects to a listed gateway, or to this machine's.
    pub(crate) fn use_gateway(&mut self, name: Option<String>, window: &mut Window, cx: &mut Context<Self>) {
        self.leave(window, cx);
        // These editors would send their text to the new gateway. Their drafts belong to the old one and are
        // offered again when the user returns to it.
        self.leaving.clear();
        self.change_settings(window, cx, |settings| settings.gateway = name);
        let connecting = connect(&self.session, &self.settings, cx);
        self._tasks.push(connecting);
    }

    fn zoom(&mut self, step: i8, window: &mut Window, cx: &mut Context<Self>) {
        self.change_settings(window, cx, |settings| {
            let low = *appearance::ZOOM.start();
            let high = *appearance::ZOOM.end();
            // A step of 0 resets the zoom.
            settings.zoom = if step == 0 { 0 } else { (settings.zoom + step).clamp(low, high) };
        });
    }

    fn toggle_theme(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let next = if cx.theme().is_dark() { Appearance::Light } else { Appearance::Dark };
        self.change_settings(window, cx, |settings| settings.appearance = next);
    }

    fn start_gateway(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        // A second gateway on the data directory would be refused, and one beside a chosen remote gateway
        // would not be used.
        if self.starting || !self.session.read(cx).link().wants_gateway() {
            return;
        }
        let paths = self.session.read(cx).paths().clone();
        let mut child = match local_gateway::find_and_start(&paths) {
            Ok(child) => child,
            Err(error) => return notices::problem(&error.to_string(), window, cx),
        };
        // The connection keeps retrying with growing pauses. Retrying now starts with short ones, so that the
        // window connects soon after the gateway listens.
        self.starting = true;
        self.session.read(cx).gateway().retry();
        let (ended, waiting) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // Waiting reaps the process; otherwise it would stay as a zombie. A thread is used because the
            // window, and with it every task, may end earlier.
            let _ = child.wait();
            let _ = ended.send(());
        });
        let task = cx.spawn_in(window, async move |this, cx| {
            if waiting.await.is_ok() {
                this.update_in(cx, |this, window, cx| this.gateway_ended(&paths, window, cx)).ok();
            }
        });
        self._tasks.push(task);
        cx.notify();
    }

    /// Reports that a gateway ended before it answered.
    fn gateway_ended(&mut self, paths: &Paths, window: &mut Window, cx: &mut Context<Self>) {
        // If it had answered, `starting` is false and the lost connection is already shown.
        if self.starting {
            self.starting = false;
            notices::problem(&link_words::ended(&local_gateway::last_words(paths)), window, cx);
            cx.notify();
        }
    }

    fn new_workspace(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        use strings::dialogs as questions;
        let session = self.session.clone();
        let fields = vec![
            Field::new("workspace-name", questions::WORKSPACE_NAME),
            Field::new("workspace-root", questions::WORKSPACE_ROOT).optional(),
        ];
        dialogs::form(
            questions::NEW_WORKSPACE,
            questions::CREATE,
            fields,
            window,
            cx,
            move |texts, _, cx| {
                let mut texts = texts.into_iter();
                let name = texts.next().unwrap_or_default();
                let root = texts.next().filter(|root| !root.is_empty());
                session.update(cx, |session, cx| session.create_workspace(name, root, cx));
            },
        );
    }

    fn show_keys(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        window.open_dialog(cx, |dialog, _, cx| {
            let muted = cx.theme().muted_foreground;
            let groups = actions::listed().into_iter().map(|(title, keys)| {
                v_flex()
                    .gap_1()
                    .child(div().text_sm().font_weight(gpui_kit::FontWeight::MEDIUM).child(title))
                    .children(keys.into_iter().map(|(key, what)| {
                        h_flex()
                            .gap_2()
                            .text_sm()
                            .child(div().w(px(190.)).text_color(muted).child(shown_key(key)))
                            .child(what)
                    }))
            });
            dialog.w(px(520.)).title(strings::keys::TITLE).child(
                v_flex()
                    .id("key-list")
                    .test_support()
                    .gap_4()
                    .max_h(px(520.))
                    .overflow_y_scroll()
                    .children(groups),
            )
        });
    }

    fn title_bar(&self, cx: &mut Context<Self>) -> impl IntoElement + use<> {
        let button = |id: &'static str, icon: IconName, tip: &'static str| {
            Button::new(id).ghost().small().icon(Icon::new(icon)).tooltip(tip)
        };
        let theme = if cx.theme().is_dark() { IconName::Sun } else { IconName::Moon };
        TitleBar::new()
            .child(
                h_flex()
                    .gap_2()
                    .text_sm()
                    .child(Icon::new(IconName::BookOpenText).small())
                    .child(strings::APPLICATION),
            )
            .child(
                h_flex()
                    .pr_2()
                    .gap_1()
                    .child(
                        button("keys", IconName::Keyboard, strings::theme::KEYS_TIP)
                            .on_click(cx.listener(|this, _, window, cx| this.show_keys(window, cx))),
                    )
                    .child(
                        button("theme", theme, strings::theme::TIP)
                            .on_click(cx.listener(|this, _, window, cx| this.toggle_theme(window, cx))),
                    ),
            )
    }

    fn link_line(&self, cx: &mut Context<Self>) -> impl IntoElement + use<> {
        let theme = cx.theme();
        let muted = theme.muted_foreground;
        let link = self.session.read(cx).link().clone();
        let (icon, color, text): (IconName, Hsla, String) = match &link {
            Link::Idle => (IconName::Plug, muted, link_words::IDLE.to_owned()),
            link if self.starting && !link.is_connected() => {
                (IconName::Loader, muted, link_words::STARTING.to_owned())
            }
            Link::Connecting => (IconName::Loader, muted, link_words::CONNECTING.to_owned()),
            Link::Connected { server, .. } => {
                (IconName::PlugZap, theme.success, link_words::connected(&hidden::name(server)))
            }
            Link::Waiting { not_running: true, .. } => {
                (IconName::ServerOff, theme.warning, link_words::NOT_RUNNING.to_owned())
            }
            Link::Waiting { reason, .. } => {
                (IconName::WifiOff, theme.warning, link_words::lost(&hidden::line(reason)))
            }
            Link::Refused { reason } => {
                (IconName::CircleX, theme.danger, link_words::refused(&hidden::line(reason)))
            }
        };
        let text = SharedString::from(text);
        let stuck = matches!(link, Link::Waiting { .. } | Link::Refused { .. });
        let can_start = link.wants_gateway() && !self.starting;
        h_flex()
            .gap_2()
            .child(Icon::new(icon).xsmall().text_color(color))
            .child(div().id("link").role(Role::Status).aria_label(text.clone()).test_support().child(text))
            .when(stuck, |this| {
                this.child(
                    Button::new("retry-link")
                        .xsmall()
                        .ghost()
                        .label(link_words::RETRY)
                        .on_click(cx.listener(|this, _, _, cx| this.session.read(cx).gateway().retry())),
                )
            })
            .when(can_start, |this| {
                this.child(
                    Button::new("start-gateway-here")
                        .xsmall()
                        .ghost()
                        .label(link_words::START)
                        .tooltip(link_words::START_TIP)
                        .on_click(cx.listener(|this, _, window, cx| this.start_gateway(window, cx))),
                )
            })
    }
}

/// Connects a session to the gateway in the settings.
pub(crate) fn connect(session: &Entity<Session>, settings: &Settings, cx: &mut App) -> Task<()> {
    let paths = session.read(cx).paths().clone();
    let chosen = settings.gateway.as_ref();
    let entry = chosen.and_then(|name| settings.gateways.get(name)).cloned();
    let session = session.clone();
    let Some(entry) = entry else {
        session.update(cx, |session, cx| session.connect(Target::Local { data: paths.data }, cx));
        return Task::ready(());
    };
    // The keyring may ask the user to unlock it, so the token is awaited in a task and the window opens
    // without it.
    let finding = match &entry.place {
        GatewayPlace::Address(url) => tokens::find(&paths.state, url, cx),
        GatewayPlace::Local(_) => Task::ready(None),
    };
    cx.spawn(async move |cx| {
        let token = finding.await;
        session.update(cx, |session, cx| match entry.place.target(token) {
            Some(target) => session.connect(target, cx),
            None => cx.emit(SessionEvent::Problem(strings::gateways::NO_TOKEN.to_owned())),
        });
    })
}

/// Formats a key as it is labeled on keyboards.
fn shown_key(key: &str) -> String {
    let main = if cfg!(target_os = "macos") { "⌘" } else { "Ctrl" };
    let words = key.split('-').map(|part| match part {
        "secondary" => main.to_owned(),
        // Splitting `secondary--` at the dashes leaves empty parts for the minus key.
        "" => "−".to_owned(),
        part => {
            let mut letters = part.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
    });
    let mut words: Vec<String> = words.collect();
    words.dedup();
    words.join("+")
}

impl Render for Workbench {
    fn render(&mut self, window: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let main = self.main_area(window, cx);
        v_flex()
            .id("workbench")
            .key_context(actions::WORKBENCH)
            .track_focus(&self.focus)
            .size_full()
            .bg(cx.theme().background)
            .text_color(cx.theme().foreground)
            // Every window saves first, and closing the last one ends the application. The windows are closed
            // after this action, because this window is borrowed while it handles the action.
            .on_action(cx.listener(|_, _: &Quit, _, cx| {
                for window in cx.windows() {
                    cx.defer(move |cx| {
                        window
                            .update(cx, |_, window, cx| window.dispatch_action(Box::new(CloseWindow), cx))
                            .ok();
                    });
                }
            }))
            .on_action(cx.listener(|this, _: &CloseWindow, window, cx| {
                if this.may_close(window, cx) {
                    window.remove_window();
                }
            }))
            .on_action(cx.listener(|this, _: &NewWindow, window, cx| {
                let paths = this.session.read(cx).paths().clone();
                if let Err(error) = crate::open_window(paths, cx) {
                    notices::problem(&error.to_string(), window, cx);
                }
            }))
            .on_action(cx.listener(|this, _: &ZoomIn, window, cx| this.zoom(1, window, cx)))
            .on_action(cx.listener(|this, _: &ZoomOut, window, cx| this.zoom(-1, window, cx)))
            .on_action(cx.listener(|this, _: &ZoomReset, window, cx| this.zoom(0, window, cx)))
            .on_action(cx.listener(|this, _: &ToggleTheme, window, cx| this.toggle_theme(window, cx)))
            .on_action(cx.listener(|this, _: &ShowKeys, window, cx| this.show_keys(window, cx)))
            .on_action(cx.listener(|this, _: &Reconnect, _, cx| this.session.read(cx).gateway().retry()))
            .on_action(cx.listener(|this, _: &StartGateway, window, cx| this.start_gateway(window, cx)))
            .on_action(cx.listener(|this, _: &NewWorkspace, window, cx| this.new_workspace(window, cx)))
            .on_action(
                cx.listener(|this, _: &ShowGateways, window, cx| this.open(PageId::Gateways, window, cx)),
            )
            .on_action(
                cx.listener(|this, _: &ShowCompare, window, cx| this.open(PageId::Compare, window, cx)),
            )
            .on_action(cx.listener(|this, _: &FocusSidebar, window, cx| {
                this.sidebar.focus_handle(cx).focus(window, cx);
            }))
            .on_action(cx.listener(|this, _: &FocusMain, window, cx| this.focus_page(window, cx)))
            .on_action(cx.listener(|this, _: &FocusFilter, window, cx| {
                this.sidebar.update(cx, |sidebar, cx| sidebar.focus_filter(window, cx));
            }))
            .on_action(cx.listener(|this, _: &NewDocument, _, cx| {
                this.sidebar.update(cx, |sidebar, cx| sidebar.new_document(cx));
            }))
            .on_action(cx.listener(|this, _: &NewFolder, window, cx| {
                this.sidebar.update(cx, |sidebar, cx| sidebar.new_folder_here(window, cx));
            }))
            .on_action(cx.listener(|this, _: &NewThread, window, cx| {
                this.sidebar.update(cx, |sidebar, cx| sidebar.new_thread_here(window, cx));
            }))
            // An action on the open page has priority over the selected row, because the page is what the
            // user looks at.
            .on_action(cx.listener(|this, _: &ShowHistory, window, cx| {
                match this.page.as_ref().and_then(Page::scope) {
                    Some(scope) => this.open(PageId::History(scope), window, cx),
                    None => this.sidebar.update(cx, |sidebar, cx| sidebar.history_here(cx)),
                }
            }))
            .on_action(cx.listener(|this, _: &ShowEffective, window, cx| {
                match this.page.as_ref().and_then(Page::subject) {
                    Some(subject) => this.open(PageId::Effective(subject), window, cx),
                    None => this.sidebar.update(cx, |sidebar, cx| sidebar.effective_here(cx)),
                }
            }))
            .on_action(cx.listener(|this, _: &ShowPrompt, window, cx| {
                match this.page.as_ref().and_then(Page::thread) {
                    Some(thread) => this.open(PageId::Prompt(thread), window, cx),
                    None => this.sidebar.update(cx, |sidebar, cx| sidebar.prompt_here(cx)),
                }
            }))
            .child(self.title_bar(cx))
            .child(
                div().flex_1().min_h_0().child(
                    h_resizable("panels")
                        .child(
                            resizable_panel()
                                .size(px(280.))
                                .size_range(px(180.)..px(560.))
                                .child(self.sidebar.clone()),
                        )
                        .child(resizable_panel().child(main)),
                ),
            )
            .child(
                StatusBar::new().left(self.link_line(cx)).right(
                    Button::new("gateways")
                        .xsmall()
                        .ghost()
                        .label(link_words::CHOOSE)
                        .on_click(cx.listener(|this, _, window, cx| this.open(PageId::Gateways, window, cx))),
                ),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_formatted_as_on_keyboards() {
        let main = if cfg!(target_os = "macos") { "⌘" } else { "Ctrl" };
        assert_eq!(shown_key("secondary-shift-n"), format!("{main}+Shift+N"));
        assert_eq!(shown_key("secondary--"), format!("{main}+−"));
        assert_eq!(shown_key("f2"), "F2");
    }
}

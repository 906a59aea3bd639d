//! The tree of the open workspace: folders, threads and documents.

mod menu;
mod row;

use std::ops::Range;

use client::{RowKey, TreeRowKind};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::input::{Input, InputEvent, InputState};
use gpui_kit::component::menu::{ContextMenuExt as _, DropdownMenu as _, PopupMenuItem};
use gpui_kit::component::scroll::Scrollbar;
use gpui_kit::component::{ActiveTheme as _, Icon, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    AnyElement, App, Context, Entity, FocusHandle, Focusable, Role, ScrollStrategy, Subscription,
    TestSupportExt as _, UniformListScrollHandle, Window, div, uniform_list,
};
use protocol::FolderId;

use self::row::DraggedRow;
use crate::actions::{self, *};
use crate::hidden;
use crate::icons::IconName;
use crate::session::{PageId, Session, SessionEvent, Subject};
use crate::strings::{self, sidebar as words};

/// Rows skipped by Page Up and Page Down.
const PAGE: usize = 20;

pub struct Sidebar {
    session: Entity<Session>,
    focus: FocusHandle,
    filter: Entity<InputState>,
    scroll: UniformListScrollHandle,
    /// Row that was cut to be moved.
    carried: Option<RowKey>,
    shown: Range<usize>,
    _subscriptions: Vec<Subscription>,
}

impl Focusable for Sidebar {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl Sidebar {
    pub fn new(session: Entity<Session>, window: &mut Window, cx: &mut Context<Self>) -> Self {
        let filter = cx.new(|cx| InputState::new(window, cx).placeholder(words::FILTER).clean_on_escape());
        let subscriptions = vec![
            cx.observe(&session, |_, _, cx| cx.notify()),
            cx.subscribe(&session, |this, _, event: &SessionEvent, _| {
                // A row that was cut in another workspace cannot be pasted into this one.
                if matches!(event, SessionEvent::Workspaces) {
                    this.carried = None;
                }
            }),
            cx.subscribe_in(&filter, window, |this, filter, event: &InputEvent, window, cx| match event {
                InputEvent::Change => {
                    let text = filter.read(cx).value();
                    this.session
                        .update(cx, |session, cx| session.change_tree(cx, |tree| tree.set_filter(&text)));
                }
                InputEvent::PressEnter { .. } => {
                    this.focus.focus(window, cx);
                    this.on_tree(cx, |tree| tree.select_first());
                }
                _ => {}
            }),
        ];
        Self {
            session,
            focus: cx.focus_handle(),
            filter,
            scroll: UniformListScrollHandle::new(),
            carried: None,
            shown: 0..0,
            _subscriptions: subscriptions,
        }
    }

    pub fn focus_filter(&self, window: &mut Window, cx: &mut App) {
        self.filter.focus_handle(cx).focus(window, cx);
    }

    fn on_tree(&mut self, cx: &mut Context<Self>, change: impl FnOnce(&mut client::LiveTree)) {
        self.session.update(cx, |session, cx| session.change_tree(cx, change));
        // Keys can move the selection out of sight; the mouse cannot, so only this path scrolls.
        let selected = self.session.read(cx).tree().and_then(client::LiveTree::selected_index);
        if let Some(index) = selected {
            self.scroll.scroll_to_item(index, ScrollStrategy::Nearest);
        }
    }

    fn selected(&self, cx: &App) -> Option<RowKey> {
        self.session.read(cx).tree()?.selected().cloned()
    }

    fn select(&mut self, key: RowKey, cx: &mut Context<Self>) {
        self.session.update(cx, |session, cx| session.change_tree(cx, |tree| tree.select(Some(key))));
    }

    /// Returns the folder for a new entry: the selected one, or the one that contains the selected row.
    fn place(&self, cx: &App) -> Option<FolderId> {
        let key = self.selected(cx)?;
        self.place_of(&key, cx)
    }

    fn place_of(&self, key: &RowKey, cx: &App) -> Option<FolderId> {
        match key {
            RowKey::Folder(id) => Some(id.clone()),
            RowKey::Document(scope) | RowKey::More(scope) => scope.clone(),
            RowKey::Thread(id) => self.session.read(cx).tree()?.place_of(id).cloned().flatten(),
        }
    }

    /// Opens the entry of a row.
    fn open(&mut self, key: &RowKey, cx: &mut Context<Self>) {
        match key {
            // Folders have no page. Their document is a row of its own.
            RowKey::Folder(id) => self.on_tree(cx, |tree| tree.toggle(id)),
            RowKey::Document(scope) => {
                let place = PageId::Document(scope.clone());
                self.session.update(cx, |session, cx| session.open(place, cx));
            }
            RowKey::Thread(id) => {
                let place = PageId::Thread(id.clone());
                self.session.update(cx, |session, cx| session.open(place, cx));
            }
            RowKey::More(_) => {}
        }
    }

    fn open_document(&mut self, folder_id: Option<FolderId>, cx: &mut Context<Self>) {
        self.session.update(cx, |session, cx| session.open(PageId::Document(folder_id), cx));
    }

    fn show_history(&mut self, key: Option<RowKey>, cx: &mut Context<Self>) {
        let folder_id = key.and_then(|key| self.place_of(&key, cx));
        self.session.update(cx, |session, cx| session.open(PageId::History(folder_id), cx));
    }

    fn show_effective(&mut self, key: Option<RowKey>, cx: &mut Context<Self>) {
        let subject = match key {
            Some(RowKey::Thread(id)) => Subject::Thread(id),
            key => Subject::Scope(key.and_then(|key| self.place_of(&key, cx))),
        };
        self.session.update(cx, |session, cx| session.open(PageId::Effective(subject), cx));
    }

    fn show_prompt(&mut self, key: Option<RowKey>, cx: &mut Context<Self>) {
        if let Some(RowKey::Thread(id)) = key {
            self.session.update(cx, |session, cx| session.open(PageId::Prompt(id), cx));
        }
    }

    // Cut and paste move rows by keys, for people who cannot or do not want to drag.
    fn pick_up(&mut self, key: Option<RowKey>, cx: &mut Context<Self>) {
        self.carried = key.filter(|key| matches!(key, RowKey::Folder(_) | RowKey::Thread(_)));
        cx.notify();
    }

    fn put_down(&mut self, target: Option<FolderId>, cx: &mut Context<Self>) {
        if let Some(key) = self.carried.take() {
            self.session.update(cx, |session, cx| session.move_row(&key, target, cx));
        }
        cx.notify();
    }

    fn name_of(&self, key: &RowKey, cx: &App) -> String {
        let tree = self.session.read(cx).tree();
        let row = tree.and_then(|tree| tree.row(tree.index_of(key)?));
        match row.map(|row| row.kind) {
            Some(TreeRowKind::Folder(row)) => row.folder.name.clone(),
            Some(TreeRowKind::Thread(thread)) => thread.title.clone(),
            _ => strings::DOCUMENT.to_owned(),
        }
    }

    fn header(&self, cx: &mut Context<Self>) -> impl IntoElement {
        let session = self.session.read(cx);
        let name = session
            .workspace()
            .map_or_else(|| words::NO_WORKSPACE.into(), |workspace| hidden::name(&workspace.name));
        let open = session.workspace_id().cloned();
        let workspaces: Vec<_> =
            session.workspaces().iter().map(|one| (one.id.clone(), hidden::name(&one.name))).collect();
        let shared = self.session.clone();
        let chooser = Button::new("workspaces")
            .ghost()
            .label(name)
            .icon(Icon::new(IconName::Library))
            .dropdown_caret(true)
            .tooltip(words::CHOOSE_WORKSPACE)
            .dropdown_menu(move |mut menu, _, _| {
                for (id, name) in &workspaces {
                    let id = id.clone();
                    let session = shared.clone();
                    menu = menu.item(
                        PopupMenuItem::new(name.clone()).checked(open.as_ref() == Some(&id)).on_click(
                            move |_, _, cx| {
                                session.update(cx, |session, cx| session.open_workspace(&id, cx));
                            },
                        ),
                    );
                }
                menu.separator().menu_with_icon(words::NEW_WORKSPACE, IconName::Plus, Box::new(NewWorkspace))
            });
        let button = |id: &'static str, icon: IconName, tip: &'static str| {
            Button::new(id).ghost().small().icon(Icon::new(icon)).tooltip(tip)
        };
        v_flex()
            .p_2()
            .gap_2()
            .child(
                h_flex()
                    .gap_1()
                    .child(h_flex().flex_1().overflow_hidden().child(chooser))
                    .child(
                        button("new-document", IconName::FilePlus, words::NEW_DOCUMENT)
                            .on_click(|_, window, cx| window.dispatch_action(Box::new(NewDocument), cx)),
                    )
                    .child(
                        button("new-folder", IconName::FolderPlus, words::NEW_FOLDER)
                            .on_click(|_, window, cx| window.dispatch_action(Box::new(NewFolder), cx)),
                    )
                    .child(
                        button("new-thread", IconName::MessageSquarePlus, words::NEW_THREAD)
                            .on_click(|_, window, cx| window.dispatch_action(Box::new(NewThread), cx)),
                    ),
            )
            .child(
                Input::new(&self.filter)
                    .id("filter")
                    .aria_label(words::FILTER)
                    .small()
                    .cleanable(true)
                    .prefix(Icon::new(IconName::Search).small()),
            )
    }

    fn empty(&self, cx: &App) -> AnyElement {
        let session = self.session.read(cx);
        let (title, hint) = match session.tree() {
            Some(tree) if !tree.filter().is_empty() => (words::NO_MATCH, ""),
            Some(tree) if tree.is_loaded() => (words::NOTHING, words::NOTHING_HINT),
            Some(_) if session.link().is_connected() => (words::LOADING, ""),
            _ => ("", ""),
        };
        v_flex()
            .p_4()
            .gap_2()
            .text_sm()
            .text_color(cx.theme().muted_foreground)
            .child(title)
            .child(div().text_xs().child(hint))
            .into_any_element()
    }

    fn rows(&mut self, range: Range<usize>, cx: &mut Context<Self>) -> Vec<AnyElement> {
        if self.shown != range {
            self.shown = range.clone();
            // This runs while the list is drawn. Requesting missing rows changes the session, which must not
            // happen during a draw, so it is deferred.
            let session = self.session.clone();
            let shown = range.clone();
            cx.defer(move |cx| session.update(cx, |session, cx| session.shown(shown, cx)));
        }
        range.filter_map(|index| self.row(index, cx)).collect()
    }
}

impl Render for Sidebar {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let count = self.session.read(cx).tree().map_or(0, client::LiveTree::len);
        let carrying =
            self.carried.as_ref().map(|key| words::carrying(&hidden::name(&self.name_of(key, cx))));
        let session = self.session.read(cx);
        // Without a connection every load fails, and the line at the bottom already explains that.
        let tree = session.tree().filter(|_| session.link().is_connected());
        let problem =
            tree.and_then(client::LiveTree::problem).map(|reason| words::incomplete(&hidden::line(reason)));
        let sidebar = cx.entity();
        v_flex()
            .id("sidebar")
            .key_context(actions::SIDEBAR)
            .size_full()
            .bg(cx.theme().sidebar)
            .text_color(cx.theme().sidebar_foreground)
            .on_action(cx.listener(|this, _: &SelectNext, _, cx| this.on_tree(cx, |tree| tree.select_next())))
            .on_action(
                cx.listener(|this, _: &SelectPrevious, _, cx| {
                    this.on_tree(cx, |tree| tree.select_previous())
                }),
            )
            .on_action(
                cx.listener(|this, _: &SelectFirst, _, cx| this.on_tree(cx, |tree| tree.select_first())),
            )
            .on_action(cx.listener(|this, _: &SelectLast, _, cx| this.on_tree(cx, |tree| tree.select_last())))
            .on_action(cx.listener(|this, _: &PageDown, _, cx| {
                this.on_tree(cx, |tree| (0..PAGE).for_each(|_| tree.select_next()));
            }))
            .on_action(cx.listener(|this, _: &PageUp, _, cx| {
                this.on_tree(cx, |tree| (0..PAGE).for_each(|_| tree.select_previous()));
            }))
            .on_action(cx.listener(|this, _: &MoveIn, _, cx| this.on_tree(cx, |tree| tree.move_in())))
            .on_action(cx.listener(|this, _: &MoveOut, _, cx| this.on_tree(cx, |tree| tree.move_out())))
            .on_action(cx.listener(|this, _: &OpenSelected, _, cx| {
                if let Some(key) = this.selected(cx) {
                    this.open(&key, cx);
                }
            }))
            .on_action(cx.listener(|this, _: &Rename, window, cx| this.rename(this.selected(cx), window, cx)))
            .on_action(cx.listener(|this, _: &Delete, window, cx| this.delete(this.selected(cx), window, cx)))
            .on_action(cx.listener(|this, _: &PickUp, _, cx| this.pick_up(this.selected(cx), cx)))
            .on_action(cx.listener(|this, _: &PutDown, _, cx| this.put_down(this.place(cx), cx)))
            .on_action(cx.listener(|this, _: &LetGo, _, cx| this.pick_up(None, cx)))
            .child(self.header(cx))
            .child(
                div()
                    .id("tree")
                    .test_support()
                    .track_focus(&self.focus)
                    .tab_index(0)
                    .relative()
                    .flex_1()
                    .min_h_0()
                    .border_1()
                    .border_color(cx.theme().sidebar)
                    .focus(|style| style.border_color(cx.theme().ring))
                    .drag_over::<DraggedRow>(|style, _, _, cx| style.bg(cx.theme().drop_target))
                    .on_drop(cx.listener(|this, dragged: &DraggedRow, _, cx| {
                        this.session.update(cx, |session, cx| session.move_row(&dragged.key, None, cx));
                    }))
                    .map(|area| {
                        if count == 0 {
                            return area.child(self.empty(cx));
                        }
                        // All rows have one height, so only the visible ones are built. A workspace may have
                        // 100,000 threads.
                        let list = uniform_list(
                            "rows",
                            count,
                            cx.processor(|this, range, _, cx| this.rows(range, cx)),
                        );
                        area.child(list.size_full().track_scroll(&self.scroll))
                            .child(Scrollbar::vertical(&self.scroll))
                    })
                    .context_menu(move |menu, window, cx| menu::of_root(menu, &sidebar, window, cx)),
            )
            .when_some(problem, |this, problem| {
                this.child(
                    h_flex()
                        .p_2()
                        .gap_2()
                        .text_xs()
                        .border_t_1()
                        .border_color(cx.theme().sidebar_border)
                        .child(Icon::new(IconName::TriangleAlert).xsmall().text_color(cx.theme().warning))
                        .child(
                            div()
                                .id("tree-problem")
                                .role(Role::Status)
                                .aria_label(problem.clone())
                                .test_support()
                                .flex_1()
                                .min_w_0()
                                .child(problem),
                        )
                        .child(Button::new("retry-tree").xsmall().outline().label(words::RETRY).on_click(
                            cx.listener(|this, _, _, cx| {
                                this.session.update(cx, |session, cx| session.resume_tree(cx));
                            }),
                        )),
                )
            })
            .when_some(carrying, |this, carrying| {
                this.child(
                    div()
                        .p_2()
                        .text_xs()
                        .border_t_1()
                        .border_color(cx.theme().sidebar_border)
                        .text_color(cx.theme().muted_foreground)
                        .child(carrying),
                )
            })
    }
}

//! Context menus of the tree. Every entry also has a key.

use client::RowKey;
use gpui_kit::component::Icon;
use gpui_kit::component::menu::{PopupMenu, PopupMenuItem};
use gpui_kit::{App, Context, Entity, Window};
use protocol::{FolderId, ThreadMode};

use super::Sidebar;
use crate::dialogs::{self, Field};
use crate::hidden;
use crate::icons::IconName;
use crate::session::PageId;
use crate::strings::{dialogs as questions, sidebar as words};

/// Creates an entry that acts on the sidebar.
fn entry(
    sidebar: &Entity<Sidebar>,
    label: impl Into<gpui_kit::SharedString>,
    icon: IconName,
    act: impl Fn(&mut Sidebar, &mut Window, &mut Context<Sidebar>) + 'static,
) -> PopupMenuItem {
    let sidebar = sidebar.clone();
    PopupMenuItem::new(label).icon(Icon::new(icon)).on_click(move |_, window, cx| {
        sidebar.update(cx, |sidebar, cx| act(sidebar, window, cx));
    })
}

/// Adds the entries that create something in a folder or paste the cut row.
fn creation_entries(
    menu: PopupMenu,
    sidebar: &Entity<Sidebar>,
    folder_id: Option<FolderId>,
    cx: &App,
) -> PopupMenu {
    // Each entry owns a closure that outlives this call, so each needs its own copy of the folder.
    let document = folder_id.clone();
    let folder = folder_id.clone();
    let thread = folder_id.clone();
    let put = folder_id.clone();
    let exists = sidebar.read(cx).session.read(cx).has_document(&folder_id);
    let label = if exists { words::OPEN_DOCUMENT } else { words::NEW_DOCUMENT };
    let menu = menu
        .item(entry(sidebar, label, IconName::FilePlus, move |this, _, cx| {
            this.open_document(document.clone(), cx);
        }))
        .item(entry(sidebar, words::NEW_FOLDER, IconName::FolderPlus, move |this, window, cx| {
            this.new_folder(folder.clone(), window, cx);
        }))
        .item(entry(sidebar, words::NEW_THREAD, IconName::MessageSquarePlus, move |this, window, cx| {
            this.new_thread(thread.clone(), window, cx);
        }));
    let this = sidebar.read(cx);
    match this.carried.as_ref().map(|key| words::put_here(&hidden::name(&this.name_of(key, cx)))) {
        Some(label) => menu.item(entry(sidebar, label, IconName::CornerDownRight, move |this, _, cx| {
            this.put_down(put.clone(), cx);
        })),
        None => menu,
    }
}

/// Builds the menu of the empty area, for the workspace's root.
pub(super) fn of_root(
    menu: PopupMenu,
    sidebar: &Entity<Sidebar>,
    _: &mut Window,
    cx: &mut Context<PopupMenu>,
) -> PopupMenu {
    creation_entries(menu, sidebar, None, cx)
        .separator()
        .item(entry(sidebar, words::EFFECTIVE, IconName::Layers, |this, _, cx| this.show_effective(None, cx)))
        .item(entry(sidebar, words::COMPARE, IconName::Columns3, |this, _, cx| {
            this.session.update(cx, |session, cx| session.open(PageId::Compare, cx));
        }))
}

/// Builds the menu of a row.
pub(super) fn of_row(
    menu: PopupMenu,
    sidebar: &Entity<Sidebar>,
    key: &RowKey,
    _: &mut Window,
    cx: &mut Context<PopupMenu>,
) -> PopupMenu {
    let copy = || Some(key.clone());
    let open = key.clone();
    let history = copy();
    let effective = copy();
    let prompt = copy();
    let rename = copy();
    let carry = copy();
    let delete = copy();
    let menu = match key {
        RowKey::More(_) => return menu,
        RowKey::Document(scope) => {
            // An inherited row has no document of its own, which could be archived.
            let is_there = sidebar.read(cx).session.read(cx).has_document(scope);
            return menu
                .item(entry(sidebar, words::OPEN, IconName::FileText, move |this, _, cx| {
                    this.open(&open, cx)
                }))
                .item(entry(sidebar, words::HISTORY, IconName::FileClock, move |this, _, cx| {
                    this.show_history(history.clone(), cx);
                }))
                .item(entry(sidebar, words::EFFECTIVE, IconName::Layers, move |this, _, cx| {
                    this.show_effective(effective.clone(), cx);
                }))
                .separator()
                .item(
                    entry(sidebar, words::ARCHIVE, IconName::Archive, move |this, window, cx| {
                        this.delete(delete.clone(), window, cx);
                    })
                    .disabled(!is_there),
                );
        }
        RowKey::Folder(id) => creation_entries(menu, sidebar, Some(id.clone()), cx).separator(),
        RowKey::Thread(_) => menu
            .item(entry(sidebar, words::OPEN, IconName::MessageSquare, move |this, _, cx| {
                this.open(&open, cx);
            }))
            .item(entry(sidebar, words::PROMPT, IconName::ScanText, move |this, _, cx| {
                this.show_prompt(prompt.clone(), cx);
            })),
    };
    let away = match key {
        RowKey::Thread(_) => (words::ARCHIVE, IconName::Archive),
        _ => (words::DELETE, IconName::Trash),
    };
    menu.item(entry(sidebar, words::EFFECTIVE, IconName::Layers, move |this, _, cx| {
        this.show_effective(effective.clone(), cx);
    }))
    .separator()
    .item(entry(sidebar, words::RENAME, IconName::Pencil, move |this, window, cx| {
        this.rename(rename.clone(), window, cx);
    }))
    .item(entry(sidebar, words::MOVE, IconName::Move, move |this, _, cx| this.pick_up(carry.clone(), cx)))
    .item(entry(sidebar, away.0, away.1, move |this, window, cx| this.delete(delete.clone(), window, cx)))
}

impl Sidebar {
    /// Opens the document of the selected folder, which need not exist.
    pub fn new_document(&mut self, cx: &mut Context<Self>) {
        let place = self.place(cx);
        self.open_document(place, cx);
    }

    pub fn new_folder_here(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let place = self.place(cx);
        self.new_folder(place, window, cx);
    }

    pub fn new_thread_here(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let place = self.place(cx);
        self.new_thread(place, window, cx);
    }

    pub fn history_here(&mut self, cx: &mut Context<Self>) {
        let key = self.selected(cx);
        self.show_history(key, cx);
    }

    pub fn effective_here(&mut self, cx: &mut Context<Self>) {
        let key = self.selected(cx);
        self.show_effective(key, cx);
    }

    pub fn prompt_here(&mut self, cx: &mut Context<Self>) {
        let key = self.selected(cx);
        self.show_prompt(key, cx);
    }

    fn new_folder(&mut self, parent: Option<FolderId>, window: &mut Window, cx: &mut Context<Self>) {
        let session = self.session.clone();
        let fields = vec![Field::new("folder-name", questions::FOLDER_NAME)];
        dialogs::form(questions::NEW_FOLDER, questions::CREATE, fields, window, cx, move |texts, _, cx| {
            let parent = parent.clone();
            session.update(cx, |session, cx| session.create_folder(parent, first(texts), cx));
        });
    }

    fn new_thread(&mut self, folder_id: Option<FolderId>, window: &mut Window, cx: &mut Context<Self>) {
        let session = self.session.clone();
        // Tools need a directory. In a workspace without one, an agent would have nothing to work on.
        let works = session.read(cx).workspace().is_some_and(|workspace| workspace.root_path.is_some());
        let mode = if works { ThreadMode::Agent } else { ThreadMode::Chat };
        let fields = vec![Field::new("thread-title", questions::THREAD_TITLE)];
        dialogs::form(questions::NEW_THREAD, questions::CREATE, fields, window, cx, move |texts, _, cx| {
            let folder_id = folder_id.clone();
            session.update(cx, |session, cx| session.create_thread(folder_id, first(texts), mode, cx));
        });
    }

    pub(super) fn rename(&mut self, key: Option<RowKey>, window: &mut Window, cx: &mut Context<Self>) {
        let Some(key) = key else { return };
        let label = match key {
            RowKey::Folder(_) => questions::FOLDER_NAME,
            RowKey::Thread(_) => questions::THREAD_TITLE,
            RowKey::Document(_) | RowKey::More(_) => return,
        };
        let name = self.name_of(&key, cx);
        let session = self.session.clone();
        let fields = vec![Field::new("new-name", label).value(name.clone())];
        let title = questions::rename(&hidden::name(&name));
        dialogs::form(title, questions::RENAME, fields, window, cx, move |texts, _, cx| {
            session.update(cx, |session, cx| session.rename_row(&key, first(texts), cx));
        });
    }

    pub(super) fn delete(&mut self, key: Option<RowKey>, window: &mut Window, cx: &mut Context<Self>) {
        let Some(key) = key else { return };
        let name = hidden::name(&self.name_of(&key, cx));
        let (title, description, ok) = match &key {
            RowKey::Folder(_) => {
                (questions::delete_folder(&name), questions::DELETE_FOLDER, questions::DELETE)
            }
            RowKey::Thread(_) => {
                (questions::archive_thread(&name), questions::ARCHIVE_THREAD, questions::ARCHIVE)
            }
            RowKey::Document(scope) => {
                let place = self.session.read(cx).path_of(scope);
                (questions::archive_document(&place), questions::ARCHIVE_DOCUMENT, questions::ARCHIVE)
            }
            RowKey::More(_) => return,
        };
        let session = self.session.clone();
        dialogs::confirm(title, description, ok, window, cx, move |_, cx| {
            session.update(cx, |session, cx| session.remove_row(&key, cx));
        });
    }
}

fn first(texts: Vec<String>) -> String {
    texts.into_iter().next().unwrap_or_default()
}

//! Appearance of the tree's rows. Active, draft and inherited differ by icon, word and slant, not by color
//! alone.

use client::{DocumentRow, DocumentState, FolderRow, RowKey, TreeRowKind};
use gpui_kit::component::menu::ContextMenuExt as _;
use gpui_kit::component::tooltip::Tooltip;
use gpui_kit::component::{ActiveTheme as _, Icon, Sizable as _, h_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    AnyElement, Context, ElementId, FontWeight, Hsla, Render, Role, SharedString, TestSupportExt as _,
    Window, div, rems,
};
use protocol::{ThreadMode, ThreadSummary};

use super::{Sidebar, menu};
use crate::hidden;
use crate::icons::IconName;
use crate::strings::{self, sidebar as words};

/// Deepest level that is still indented.
const DEEPEST_INDENT: usize = 12;

/// A row that is being dragged.
pub(super) struct DraggedRow {
    pub(super) key: RowKey,
    name: SharedString,
}

/// Label that follows the pointer during a drag.
struct DragPreview(SharedString);

impl Render for DragPreview {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        div()
            .px_2()
            .py_1()
            .rounded(cx.theme().radius)
            .border_1()
            .border_color(cx.theme().drag_border)
            .bg(cx.theme().popover)
            .text_color(cx.theme().popover_foreground)
            .text_sm()
            .child(self.0.clone())
    }
}

/// Appearance of a row.
struct RowStyle {
    icon: IconName,
    label: SharedString,
    /// A word after the label.
    mark: Option<&'static str>,
    tip: Option<SharedString>,
    muted: bool,
    slanted: bool,
    strong: bool,
    /// `Some(true)` if expanded, `None` if the row cannot be expanded.
    expanded: Option<bool>,
    /// Icon and tooltip for the document that applies in a folder.
    document: Option<(IconName, &'static str)>,
}

impl RowStyle {
    fn new(icon: IconName, label: impl Into<SharedString>) -> Self {
        Self {
            icon,
            label: label.into(),
            mark: None,
            tip: None,
            muted: false,
            slanted: false,
            strong: false,
            expanded: None,
            document: None,
        }
    }

    fn of_document(row: &DocumentRow<'_>, path: &str) -> Self {
        let mut look = Self::new(IconName::FileText, strings::DOCUMENT);
        match &row.state {
            DocumentState::Active => {
                look.strong = true;
                look.tip = Some(words::ACTIVE_TIP.into());
            }
            DocumentState::Draft => {
                look.icon = IconName::FilePen;
                look.slanted = true;
                look.mark = Some(words::DRAFT);
                look.tip = Some(words::DRAFT_TIP.into());
            }
            DocumentState::Inherited(_) => {
                look.icon = IconName::FileUp;
                look.muted = true;
                look.slanted = true;
                look.mark = Some(words::INHERITED);
                look.tip = Some(words::inherited_from(path).into());
            }
            DocumentState::Missing => {
                look.icon = IconName::FilePlus;
                look.muted = true;
                look.slanted = true;
                look.mark = Some(words::NEW);
                look.tip = Some(words::NEW_TIP.into());
            }
        }
        look
    }

    fn of_folder(row: &FolderRow<'_>) -> Self {
        let icon = if row.is_expanded { IconName::FolderOpen } else { IconName::Folder };
        let mut look = Self::new(icon, hidden::name(&row.folder.name));
        look.tip = Some(look.label.clone());
        look.expanded = Some(row.is_expanded);
        look.document = match row.state {
            DocumentState::Active => Some((IconName::FileText, words::FOLDER_OWN_TIP)),
            DocumentState::Draft => Some((IconName::FilePen, words::FOLDER_DRAFT_TIP)),
            DocumentState::Inherited(_) => Some((IconName::FileUp, words::FOLDER_INHERITS_TIP)),
            DocumentState::Missing => None,
        };
        look
    }

    fn of_thread(thread: &ThreadSummary) -> Self {
        let icon = match thread.mode {
            ThreadMode::Agent => IconName::Bot,
            ThreadMode::Chat => IconName::MessageSquare,
        };
        let mut look = Self::new(icon, hidden::name(&thread.title));
        look.tip = Some(look.label.clone());
        look
    }
}

/// Returns an id that stays the same when rows move.
fn element_id(key: &RowKey) -> ElementId {
    let name = match key {
        RowKey::Document(scope) => match scope {
            Some(folder) => format!("document-{folder}"),
            None => "document-root".to_owned(),
        },
        RowKey::Folder(id) => format!("folder-{id}"),
        RowKey::Thread(id) => format!("thread-{id}"),
        RowKey::More(scope) => match scope {
            Some(folder) => format!("more-{folder}"),
            None => "more-root".to_owned(),
        },
    };
    ElementId::Name(name.into())
}

impl Sidebar {
    pub(super) fn row(&self, index: usize, cx: &mut Context<Self>) -> Option<AnyElement> {
        let session = self.session.read(cx);
        let tree = session.tree()?;
        let row = tree.row(index)?;
        let look = match &row.kind {
            TreeRowKind::Document(document) => {
                let from = match &document.state {
                    DocumentState::Inherited(scope) => session.path_of(scope),
                    _ => String::new(),
                };
                RowStyle::of_document(document, &from)
            }
            TreeRowKind::Folder(folder) => RowStyle::of_folder(folder),
            TreeRowKind::Thread(thread) => RowStyle::of_thread(thread),
            TreeRowKind::More { threads, .. } => {
                // Folders, or how many threads there are, are not known yet.
                let label = if *threads == 0 { words::LOADING.to_owned() } else { words::more(*threads) };
                let mut look = RowStyle::new(IconName::Ellipsis, label);
                look.muted = true;
                look
            }
        };
        let key = row.key();
        let selected = tree.selected() == Some(&key);
        let open = matches!(&row.kind, TreeRowKind::Document(document) if document.is_open);
        let depth = row.depth;
        Some(self.draw(key, depth, look, selected, open, cx))
    }

    fn draw(
        &self,
        key: RowKey,
        depth: usize,
        look: RowStyle,
        selected: bool,
        open: bool,
        cx: &mut Context<Self>,
    ) -> AnyElement {
        let theme = cx.theme();
        #[expect(clippy::cast_precision_loss, reason = "it is a small number")]
        // Without a limit, the names in a tree of 40 levels would be outside the sidebar.
        let indent = depth.min(DEEPEST_INDENT) as f32;
        let muted = theme.muted_foreground;
        let color: Hsla = if look.muted { muted } else { theme.sidebar_foreground };
        let sidebar = cx.entity();
        let clicked = key.clone();
        let chosen = key.clone();
        let dropped = key.clone();
        let menu_key = key.clone();
        let movable = matches!(key, RowKey::Folder(_) | RowKey::Thread(_));
        let carried = self.carried.as_ref() == Some(&key);
        let name = match look.mark {
            Some(mark) => format!("{}, {mark}", look.label),
            None => look.label.to_string(),
        };
        let dragged = DraggedRow { key: key.clone(), name: look.label.clone() };
        let sign = look.document.map(|(icon, tip)| {
            div()
                .id("applies")
                .child(Icon::new(icon).xsmall().text_color(muted))
                .tooltip(move |window, cx| Tooltip::new(tip).build(window, cx))
        });
        h_flex()
            .id(element_id(&key))
            .role(Role::TreeItem)
            .aria_label(name)
            .aria_level(depth + 1)
            .aria_selected(selected)
            .when_some(look.expanded, |this, expanded| this.aria_expanded(expanded))
            .test_support()
            .w_full()
            .h(rems(1.75))
            .pr_2()
            .pl(rems(0.4 + 0.9 * indent))
            .gap_1p5()
            .text_sm()
            .text_color(color)
            .when(carried, |this| this.opacity(0.5))
            .when(selected, |this| this.bg(theme.sidebar_accent).text_color(theme.sidebar_accent_foreground))
            .when(!selected, |this| this.hover(|style| style.bg(theme.list_hover)))
            .child(div().w(rems(0.9)).flex_shrink_0().when_some(look.expanded, |this, expanded| {
                let icon = if expanded { IconName::ChevronDown } else { IconName::ChevronRight };
                this.child(Icon::new(icon).xsmall().text_color(muted))
            }))
            .child(Icon::new(look.icon).small())
            .child(
                div()
                    .flex_1()
                    .truncate()
                    .when(look.slanted, |this| this.italic())
                    .when(look.strong || open, |this| this.font_weight(FontWeight::MEDIUM))
                    .when(open, |this| this.underline())
                    .child(look.label),
            )
            .when_some(look.mark, |this, mark| {
                this.child(
                    div()
                        .px_1()
                        .rounded(theme.radius)
                        .border_1()
                        .border_color(theme.sidebar_border)
                        .text_xs()
                        .text_color(muted)
                        .child(mark),
                )
            })
            .children(sign)
            .when_some(look.tip, |this, tip| {
                this.tooltip(move |window, cx| Tooltip::new(tip.clone()).build(window, cx))
            })
            .on_click(cx.listener(move |this, _, window, cx| {
                this.focus.focus(window, cx);
                this.select(clicked.clone(), cx);
                this.open(&clicked, cx);
            }))
            // A right click selects first, so that the menu and the highlighted row agree.
            .on_mouse_down(
                gpui_kit::MouseButton::Right,
                cx.listener(move |this, _, _, cx| this.select(chosen.clone(), cx)),
            )
            .when(movable, |this| {
                this.on_drag(dragged, |dragged, _, _, cx| {
                    let name = dragged.name.clone();
                    cx.new(|_| DragPreview(name))
                })
            })
            .drag_over::<DraggedRow>(|style, _, _, cx| style.bg(cx.theme().drop_target))
            .on_drop(cx.listener(move |this, dragged: &DraggedRow, _, cx| {
                // The area around the rows accepts drops as well, for the root. Without this, a drop on a row
                // would also move the entry to the root.
                cx.stop_propagation();
                let target = this.place_of(&dropped, cx);
                this.session.update(cx, |session, cx| session.move_row(&dragged.key, target, cx));
            }))
            .context_menu(move |menu, window, cx| menu::of_row(menu, &sidebar, &menu_key, window, cx))
            .into_any_element()
    }
}

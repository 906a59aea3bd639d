//! A window without a screen, a gateway for it, and another client of the same gateway.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Client, Target};
use desktop::{DocumentEditor, Paths, Workbench};
use gateway_process::{GatewayProcess, Launch};
use gpui_kit::component::Theme;
use gpui_kit::component::input::CursorBlink;
use gpui_kit::test::{TestQueryExt as _, TestWindowExt as _};
use gpui_kit::{AnyWindowHandle, App, Entity, HeadlessAppContext, Window};
use protocol::method::{
    DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams, FolderCreate, FolderCreateParams,
    ThreadCreate, ThreadCreateParams, WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::{Document, FolderId, Method, ThreadId, ThreadMode, Version, WorkspaceId};
use tempfile::TempDir;

/// Limit for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Step of the window's clock between two checks.
const TICK: Duration = Duration::from_millis(20);

/// Returns the command of the root workspace.
pub(crate) fn program() -> PathBuf {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/debug/foreword");
    let program = std::env::var_os("FOREWORD_PROGRAM").map_or_else(|| PathBuf::from(built), PathBuf::from);
    assert!(
        program.is_file(),
        "{} is not there: run `cargo build` in the repository's root, or set FOREWORD_PROGRAM",
        program.display()
    );
    program
}

/// A gateway with a workspace and a client that acts as another user.
pub(crate) struct Peer {
    pub(crate) gateway: GatewayProcess,
    runtime: tokio::runtime::Runtime,
    client: Option<Client>,
    pub(crate) workspace_id: WorkspaceId,
}

impl Peer {
    pub(crate) fn start() -> Self {
        Self::start_with(Launch::new(program()), None)
    }

    pub(crate) fn start_with(launch: Launch, root_path: Option<String>) -> Self {
        let gateway = GatewayProcess::start(launch).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(Client::connect(&gateway.target())).unwrap();
        let params = WorkspaceCreateParams { name: "shop".to_owned(), root_path, agents: None };
        let workspace_id = runtime.block_on(client.call::<WorkspaceCreate>(&params)).unwrap().workspace.id;
        Self { gateway, runtime, client: Some(client), workspace_id }
    }

    pub(crate) fn data(&self) -> PathBuf {
        match self.gateway.target() {
            Target::Local { data } => data,
            _ => unreachable!("a gateway process is local"),
        }
    }

    /// Returns the address of the gateway.
    pub(crate) fn url(&self) -> String {
        self.gateway.target().locate().unwrap().url
    }

    pub(crate) fn call<M: Method>(&mut self, params: &M::Params) -> M::Result {
        let target = self.gateway.target();
        let runtime = &self.runtime;
        // A killed gateway also ends the connection, so a new one is made after a restart.
        let client = self.client.get_or_insert_with(|| runtime.block_on(Client::connect(&target)).unwrap());
        runtime.block_on(client.call::<M>(params)).unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.client = None;
        self.gateway.kill().unwrap();
    }

    pub(crate) fn start_again(&mut self) {
        self.gateway.start_again().unwrap();
    }

    pub(crate) fn folder(&mut self, parent: Option<&FolderId>, name: &str) -> FolderId {
        let workspace_id = self.workspace_id.clone();
        let params =
            FolderCreateParams { workspace_id, parent_folder_id: parent.cloned(), name: name.to_owned() };
        self.call::<FolderCreate>(&params).folder.id
    }

    pub(crate) fn thread(&mut self, folder_id: Option<&FolderId>, title: &str) -> ThreadId {
        self.thread_in(folder_id, title, ThreadMode::Chat)
    }

    /// Creates a thread that may use tools.
    pub(crate) fn agent(&mut self, folder_id: Option<&FolderId>, title: &str) -> ThreadId {
        self.thread_in(folder_id, title, ThreadMode::Agent)
    }

    fn thread_in(&mut self, folder_id: Option<&FolderId>, title: &str, mode: ThreadMode) -> ThreadId {
        let params = ThreadCreateParams {
            workspace_id: self.workspace_id.clone(),
            folder_id: folder_id.cloned(),
            title: title.to_owned(),
            mode,
        };
        self.call::<ThreadCreate>(&params).thread.id
    }

    /// Creates many threads at the root, named `Thread 00001` and so on.
    pub(crate) fn threads(&mut self, count: u32) {
        let target = self.gateway.target();
        let workspace_id = self.workspace_id.clone();
        self.runtime.block_on(async move {
            let client = std::sync::Arc::new(Client::connect(&target).await.unwrap());
            // SQLite commits waiting writes together, so many at once are much faster than one after another.
            let wait = std::sync::Arc::new(tokio::sync::Semaphore::new(256));
            let mut made = tokio::task::JoinSet::new();
            for number in 1..=count {
                let permit = std::sync::Arc::clone(&wait).acquire_owned().await.unwrap();
                let params = ThreadCreateParams {
                    workspace_id: workspace_id.clone(),
                    folder_id: None,
                    title: format!("Thread {number:05}"),
                    mode: ThreadMode::Chat,
                };
                let client = std::sync::Arc::clone(&client);
                made.spawn(async move {
                    client.call::<ThreadCreate>(&params).await.unwrap();
                    drop(permit);
                });
            }
            while let Some(done) = made.join_next().await {
                done.unwrap();
            }
        });
    }

    pub(crate) fn save(&mut self, folder_id: Option<&FolderId>, content: &str) -> Version {
        let params = DocumentSaveParams {
            workspace_id: self.workspace_id.clone(),
            folder_id: folder_id.cloned(),
            content: content.to_owned(),
            expected_version: None,
            save_reason: None,
            message: None,
        };
        self.call::<DocumentSave>(&params).doc.version
    }

    pub(crate) fn document(&mut self, folder_id: Option<&FolderId>) -> Option<Document> {
        let workspace_id = self.workspace_id.clone();
        let params = DocumentScopeParams { workspace_id, folder_id: folder_id.cloned() };
        self.call::<DocumentGet>(&params).explicit
    }

    pub(crate) fn text(&mut self, folder_id: Option<&FolderId>) -> String {
        self.document(folder_id).map(|document| document.content).unwrap_or_default()
    }
}

/// Creates a directory for the state of a window.
pub(crate) fn state() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Creates an application that draws nothing.
pub(crate) fn context() -> HeadlessAppContext {
    let text_system = gpui_kit::platform::current_platform(true).text_system();
    HeadlessAppContext::with_asset_source(text_system, Arc::new(gpui_kit::assets::AllAssets))
}

/// A window and the application around it.
pub(crate) struct Desk {
    pub(crate) cx: HeadlessAppContext,
    pub(crate) window: AnyWindowHandle,
    pub(crate) workbench: Entity<Workbench>,
}

impl Desk {
    /// Opens a window on a gateway's data directory.
    pub(crate) fn open(data: PathBuf, state: &TempDir) -> Self {
        Self::open_in(context(), data, state)
    }

    pub(crate) fn open_in(cx: HeadlessAppContext, data: PathBuf, state: &TempDir) -> Self {
        Self::open_at(cx, Paths { data, state: state.path().to_owned(), program: None })
    }

    pub(crate) fn open_at(mut cx: HeadlessAppContext, paths: Paths) -> Self {
        // The executor is deterministic and would panic when it waits for something outside of it, such as
        // the answer of a real gateway.
        cx.allow_parking();
        let (window, workbench) = cx
            .update(|cx| {
                desktop::init(cx);
                // A blinking cursor would keep requesting frames, so the window would never be idle.
                Theme::update(cx, |theme| theme.cursor_blink = CursorBlink::steady());
                desktop::open_window(paths, cx)
            })
            .unwrap();
        Self { cx, window, workbench }
    }

    /// Opens a window and waits until the workspace is there.
    pub(crate) fn connected(other: &Peer, state: &TempDir) -> Self {
        let mut desk = Self::open(other.data(), state);
        desk.until("a tree", |workbench, _, cx| {
            workbench.read(cx).session().read(cx).tree().is_some_and(|tree| tree.seq().is_some())
        });
        desk
    }

    /// Opens a second window of the same application and switches to it. Returns the first.
    pub(crate) fn open_another(
        &mut self,
        data: PathBuf,
        state: &TempDir,
    ) -> (AnyWindowHandle, Entity<Workbench>) {
        let paths = Paths { data, state: state.path().to_owned(), program: None };
        let opened = self.cx.update(|cx| desktop::open_window(paths, cx)).unwrap();
        self.switch(opened)
    }

    /// Switches to another window. Returns the previous one.
    pub(crate) fn switch(
        &mut self,
        to: (AnyWindowHandle, Entity<Workbench>),
    ) -> (AnyWindowHandle, Entity<Workbench>) {
        let from = (self.window, std::mem::replace(&mut self.workbench, to.1));
        self.window = to.0;
        from
    }

    pub(crate) fn update<R>(&mut self, act: impl FnOnce(&mut Window, &mut App) -> R) -> R {
        self.cx.update_window(self.window, |_, window, cx| act(window, cx)).unwrap()
    }

    pub(crate) fn frame(&mut self) {
        self.cx.run_until_parked();
        self.update(|window, cx| window.render_frame(cx));
    }

    /// Waits until an element with this id has a label that passes the check.
    pub(crate) fn until_said(&mut self, id: impl Into<gpui_kit::ElementId>, is_meant: impl Fn(&str) -> bool) {
        let id = id.into();
        self.until(&format!("{id:?}"), |_, window, _| {
            let elements = window.elements();
            let mut named = elements.iter().filter(|element| element.path().last() == Some(&id));
            named.any(|element| element.label().is_some_and(&is_meant))
        });
    }

    /// Waits until the line at the bottom begins with this text.
    pub(crate) fn until_link(&mut self, beginning: &str) {
        self.until_said("link", |words| words.starts_with(beginning));
    }

    /// Waits for a condition while the window's clock advances.
    pub(crate) fn until(
        &mut self,
        what: &str,
        mut check: impl FnMut(&Entity<Workbench>, &mut Window, &mut App) -> bool,
    ) {
        let begun = Instant::now();
        let workbench = self.workbench.clone();
        loop {
            self.frame();
            if self.update(|window, cx| check(&workbench, window, cx)) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                let labels: Vec<String> = self.update(|window, _| {
                    let elements = window.elements();
                    elements.iter().filter_map(|element| element.label().map(str::to_owned)).collect()
                });
                panic!("timed out waiting for {what}; in the window: {labels:#?}");
            }
            // Timers of the window run on the simulated clock, and the gateway on the real one, so both must
            // advance.
            self.cx.advance_clock(TICK);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for an element with this label.
    pub(crate) fn until_label(&mut self, label: &str) {
        self.until(label, |_, window, _| window.try_find_by_label(label).is_some());
    }

    pub(crate) fn until_id(&mut self, id: &str) {
        let id = gpui_kit::SharedString::from(id.to_owned());
        let what = id.to_string();
        self.until(&what, |_, window, _| window.try_find(id.clone()).is_some());
    }

    pub(crate) fn until_gone(&mut self, id: &str) {
        let id = gpui_kit::SharedString::from(id.to_owned());
        let what = format!("the end of {id}");
        self.until(&what, |_, window, _| window.try_find(id.clone()).is_none());
    }

    pub(crate) fn click(&mut self, id: &str) {
        let id = gpui_kit::SharedString::from(id.to_owned());
        self.until_id(&id);
        self.update(|window, cx| window.click(id, cx));
        self.frame();
    }

    pub(crate) fn right_click(&mut self, id: &str) {
        let id = gpui_kit::SharedString::from(id.to_owned());
        self.until_id(&id);
        self.update(|window, cx| window.right_click(id, cx));
        self.frame();
    }

    /// Clicks the element with this label.
    pub(crate) fn click_label(&mut self, label: &str) {
        self.until_label(label);
        // Menu entries have no ids, so they are clicked by position.
        let center = self.update(|window, _| window.find_by_label(label).bounds().center());
        self.update(|window, cx| {
            use gpui_kit::test::TestEventExt as _;
            window.pointer_move(center, None, cx);
            window.pointer_down(center, gpui_kit::MouseButton::Left, cx);
            window.pointer_up(center, gpui_kit::MouseButton::Left, cx);
        });
        self.frame();
    }

    pub(crate) fn press(&mut self, key: &str) {
        self.update(|window, cx| window.press(key, cx));
        self.frame();
    }

    pub(crate) fn input(&mut self, text: &str) {
        self.update(|window, cx| window.input(text, cx));
        self.frame();
    }

    /// Returns the open editor.
    pub(crate) fn editor(&mut self) -> Option<Entity<DocumentEditor>> {
        let workbench = self.workbench.clone();
        self.update(|_, cx| workbench.read(cx).document().cloned())
    }

    pub(crate) fn text(&mut self) -> String {
        let editor = self.editor().unwrap();
        let (text, shown) =
            self.update(|_, cx| (editor.read(cx).text().to_owned(), editor.read(cx).shown_text(cx)));
        // Checked at every use: a difference between the state machine and the widget would save text that
        // the user never saw.
        assert_eq!(text, shown, "the saved text is the visible one");
        text
    }

    pub(crate) fn status(&mut self) -> String {
        let editor = self.editor().unwrap();
        self.update(|_, cx| editor.read(cx).status_text())
    }

    /// Waits until the line below the document begins with this text.
    pub(crate) fn until_status(&mut self, beginning: &str) {
        self.until(beginning, |workbench, _, cx| {
            let editor = workbench.read(cx).document().cloned();
            editor.is_some_and(|editor| editor.read(cx).status_text().starts_with(beginning))
        });
    }
}

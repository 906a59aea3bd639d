//! A gateway with a scripted model, and windows with single views.

use std::time::{Duration, Instant};

use client::Client;
use desktop::{Gateway, Paths, Session};
use gateway_process::{GatewayProcess, Launch};
use gpui_kit::prelude::*;
use gpui_kit::test::TestWindowExt as _;
use gpui_kit::{
    AnyWindowHandle, App, Bounds, Entity, Render, TestAppContext, Window, WindowBounds, WindowOptions, px,
    size,
};
use protocol::method::{
    DocumentSave, DocumentSaveParams, ThreadCreate, ThreadCreateParams, WorkspaceCreate,
    WorkspaceCreateParams,
};
use protocol::{Document, FolderId, Method, ThreadId, ThreadMode, Version, WorkspaceId};
use scripted_model::{ScriptedModel, Wire};

use crate::harness::program;

/// Limit for anything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) gateway: GatewayProcess,
    client: Client,
    pub(crate) workspace_id: WorkspaceId,
    /// The directory that the workspace's threads work in.
    pub(crate) root: tempfile::TempDir,
    state: tempfile::TempDir,
    // Fields are dropped in order. The model and the client need the runtime until they are gone, so it comes
    // last.
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let model = runtime.block_on(ScriptedModel::start()).unwrap();
        let configuration = format!(
            "[model]\ndefault = 'anthropic/scripted'\n[providers.anthropic]\nbase_url = '{}'\n",
            model.base_url(Wire::Anthropic),
        );
        let mut launch = Launch { configuration, ..Launch::new(program()) };
        launch.variables.push(("ANTHROPIC_API_KEY", "key".into()));
        let gateway = GatewayProcess::start(launch).unwrap();
        let client = runtime.block_on(Client::connect(&gateway.target())).unwrap();
        let root = tempfile::tempdir().unwrap();
        let params = WorkspaceCreateParams {
            name: "workspace".to_owned(),
            root_path: Some(root.path().canonicalize().unwrap().to_str().unwrap().to_owned()),
            agents: None,
        };
        let workspace = runtime.block_on(client.call::<WorkspaceCreate>(&params)).unwrap().workspace;
        let state = tempfile::tempdir().unwrap();
        Self { model, gateway, client, workspace_id: workspace.id, root, state, runtime }
    }

    /// Calls a method as another client.
    pub(crate) fn call<M: Method>(&self, params: &M::Params) -> M::Result {
        self.runtime.block_on(self.client.call::<M>(params)).unwrap()
    }

    pub(crate) fn save(&self, folder_id: Option<&FolderId>, content: &str) -> Document {
        let params = DocumentSaveParams {
            workspace_id: self.workspace_id.clone(),
            folder_id: folder_id.cloned(),
            content: content.to_owned(),
            expected_version: None::<Version>,
            save_reason: None,
            message: None,
        };
        self.call::<DocumentSave>(&params).doc
    }

    pub(crate) fn thread(&self, title: &str, mode: ThreadMode, folder_id: Option<&FolderId>) -> ThreadId {
        let params = ThreadCreateParams {
            workspace_id: self.workspace_id.clone(),
            folder_id: folder_id.cloned(),
            title: title.to_owned(),
            mode,
        };
        self.call::<ThreadCreate>(&params).thread.id
    }

    /// Opens a window with a single view, once its session knows the workspace.
    pub(crate) fn open<V: Render>(
        &self,
        cx: &mut TestAppContext,
        build: impl FnOnce(Entity<Session>, &mut Window, &mut App) -> Entity<V>,
    ) -> Opened<V> {
        // The deterministic executor would panic while it waits for the real gateway.
        cx.executor().allow_parking();
        cx.update(desktop::init);
        let (gateway, incoming) = Gateway::start().unwrap();
        gateway.connect(self.gateway.target());
        let client::Target::Local { data } = self.gateway.target() else { panic!() };
        let paths = Paths { data, state: self.state.path().to_owned(), program: None };
        let session = cx.update(|cx| cx.new(|cx| Session::new(gateway, incoming, paths, cx)));
        until(cx, |cx| session.read(cx).workspace_id().is_some());
        let (window, view) = cx.update(|cx| {
            let bounds = Bounds { origin: Default::default(), size: size(px(1200.), px(900.)) };
            let window_bounds = Some(WindowBounds::Windowed(bounds));
            let options = WindowOptions { window_bounds, ..WindowOptions::default() };
            gpui_kit::open_window(options, cx, |window, cx| build(session.clone(), window, cx)).unwrap()
        });
        Opened { window, view, session }
    }
}

/// A window with a single view.
pub(crate) struct Opened<V> {
    pub(crate) window: AnyWindowHandle,
    pub(crate) view: Entity<V>,
    #[expect(dead_code, reason = "the view works with it for as long as the window is open")]
    session: Entity<Session>,
}

impl<V: Render> Opened<V> {
    /// Waits for a condition of the view.
    pub(crate) fn until(&self, cx: &mut TestAppContext, is_true: impl Fn(&V) -> bool) {
        until(cx, |cx| is_true(self.view.read(cx)));
    }

    pub(crate) fn click(&self, cx: &mut TestAppContext, id: impl Into<gpui_kit::ElementId>) {
        let id = id.into();
        cx.update_window(self.window, |_, window, cx| {
            window.render_frame(cx);
            window.click(id, cx);
        })
        .unwrap();
    }

    /// Returns the label of an element if it is drawn.
    pub(crate) fn words(
        &self,
        cx: &mut TestAppContext,
        id: impl Into<gpui_kit::ElementId>,
    ) -> Option<String> {
        let id = id.into();
        cx.update_window(self.window, |_, window, cx| {
            window.render_frame(cx);
            window.try_find(id).and_then(|element| element.label().map(str::to_owned))
        })
        .unwrap()
    }

    /// Waits until an element has this label.
    pub(crate) fn until_says(
        &self,
        cx: &mut TestAppContext,
        id: impl Into<gpui_kit::ElementId> + Clone,
        words: &str,
    ) {
        self.until_words(cx, id, |said| said == words);
    }

    /// Waits until the label of an element passes a check.
    pub(crate) fn until_words(
        &self,
        cx: &mut TestAppContext,
        id: impl Into<gpui_kit::ElementId> + Clone,
        is_meant: impl Fn(&str) -> bool,
    ) {
        let begun = Instant::now();
        loop {
            // The executor does nothing on its own, so pending tasks are run before each check.
            cx.run_until_parked();
            let said = self.words(cx, id.clone());
            if said.as_deref().is_some_and(&is_meant) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "its label is {said:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Waits for a condition that depends on other threads.
pub(crate) fn until(cx: &mut TestAppContext, is_true: impl Fn(&App) -> bool) {
    let begun = Instant::now();
    loop {
        cx.run_until_parked();
        if cx.update(|cx| is_true(cx)) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the condition was not reached");
        std::thread::sleep(Duration::from_millis(5));
    }
}

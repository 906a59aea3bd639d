//! State shared by all views: the connection to the gateway and the open workspace.

mod changes;
mod tree;

use std::rc::Rc;
use std::time::Duration;

use client::{ClientError, Failure, LiveTree, Notification, Scope};
use gpui_kit::{Context, EventEmitter, Task};
use protocol::method::{WorkspaceList, WorkspaceListParams};
use protocol::{InstanceId, Method, ThreadId, Workspace, WorkspaceId};
use tokio::sync::mpsc;

use crate::bridge::{Gateway, Incoming, Link};
use crate::state::drafts::Drafts;
use crate::state::paths::Paths;

/// Pause before the list of workspaces is requested again.
const WORKSPACES_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Folder or thread whose effective document is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    Scope(Scope),
    Thread(ThreadId),
}

/// Identifies a page of the main area.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PageId {
    Document(Scope),
    History(Scope),
    Effective(Subject),
    Thread(ThreadId),
    Prompt(ThreadId),
    Compare,
    Gateways,
}

/// Event for the views.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// The state of the connection changed.
    Link,
    /// The list of workspaces or the open workspace changed.
    Workspaces,
    /// A notification about the open workspace arrived.
    Notification(Rc<Notification>),
    /// All loaded data of the workspace must be loaded again.
    Reload,
    /// A page should be shown.
    Open(PageId),
    /// A request failed; contains the message.
    Problem(String),
    /// Number of documents of the workspace with drafts of an earlier run.
    DraftsLeft(usize),
}

/// A connection and the open workspace.
pub struct Session {
    gateway: Gateway,
    paths: Paths,
    /// Storage of drafts, or the reason why it is unavailable.
    drafts: Result<Drafts, String>,
    link: Link,
    instance: Option<InstanceId>,
    workspaces: Vec<Workspace>,
    /// Requests the workspaces again after a temporary failure.
    workspaces_timer: Option<Task<()>>,
    workspace: Option<Workspace>,
    tree: Option<LiveTree>,
    /// Wakes the tree for a retry.
    tree_timer: Option<Task<()>>,
    /// The changes of the open workspace are being followed.
    followed: bool,
    _incoming: Task<()>,
}

impl EventEmitter<SessionEvent> for Session {}

impl Session {
    pub fn new(
        gateway: Gateway,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
        paths: Paths,
        cx: &mut Context<Self>,
    ) -> Self {
        // The receiver is polled on GPUI's executor, so that all state changes happen on the main thread. The
        // task ends with the session, because it holds only a weak reference.
        let task = cx.spawn(async move |this, cx| {
            while let Some(arrived) = incoming.recv().await {
                if this.update(cx, |this, cx| this.receive(arrived, cx)).is_err() {
                    return;
                }
            }
        });
        let drafts = Drafts::open(&paths.state).map_err(|error| error.to_string());
        Self {
            gateway,
            paths,
            drafts,
            link: Link::Idle,
            instance: None,
            workspaces: Vec::new(),
            workspaces_timer: None,
            workspace: None,
            tree: None,
            tree_timer: None,
            followed: false,
            _incoming: task,
        }
    }

    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    pub fn drafts(&self) -> Result<&Drafts, &str> {
        self.drafts.as_ref().map_err(String::as_str)
    }

    pub fn link(&self) -> &Link {
        &self.link
    }

    pub fn workspaces(&self) -> &[Workspace] {
        &self.workspaces
    }

    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    pub fn workspace_id(&self) -> Option<&WorkspaceId> {
        self.workspace.as_ref().map(|workspace| &workspace.id)
    }

    /// Identity of the gateway's database. `None` before the first connection.
    pub fn instance(&self) -> Option<&InstanceId> {
        self.instance.as_ref()
    }

    /// Shows a page in the main area.
    pub fn open(&mut self, place: PageId, cx: &mut Context<Self>) {
        cx.emit(SessionEvent::Open(place));
    }

    /// Calls a method, passes the result to `then`, and reports a failure as a problem.
    pub fn request<M: Method>(
        &mut self,
        params: M::Params,
        cx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, M::Result, &mut Context<Self>) + 'static,
    ) where
        M::Params: Send + Sync + 'static,
        M::Result: Send + 'static,
    {
        let call = self.gateway.call::<M>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| match answer {
                Ok(result) => then(this, result, cx),
                Err(error) => cx.emit(SessionEvent::Problem(Failure::from(&error).message)),
            })
            .ok();
        })
        .detach();
    }

    fn receive(&mut self, incoming: Incoming, cx: &mut Context<Self>) {
        match incoming {
            Incoming::Link(link) => {
                let connected = link.is_connected();
                if let Link::Connected { instance, .. } = &link {
                    self.instance = Some(instance.clone());
                }
                self.link = link;
                cx.emit(SessionEvent::Link);
                if connected {
                    self.load_workspaces(cx);
                }
            }
            Incoming::Notification(notification) => {
                // The tree is updated before the views are notified, because they read it while handling the
                // event.
                self.note_change(&notification, cx);
                cx.emit(SessionEvent::Notification(Rc::new(notification)));
            }
            Incoming::Reload => {
                self.reload_tree(cx);
                cx.emit(SessionEvent::Reload);
            }
        }
        cx.notify();
    }

    /// Connects to another gateway and drops all data of the previous one.
    pub fn connect(&mut self, target: client::Target, cx: &mut Context<Self>) {
        // Everything is dropped before the new connection exists. Ids of two databases may be equal, so data
        // of one must never be combined with requests to the other.
        self.workspaces.clear();
        self.workspace = None;
        self.tree = None;
        self.instance = None;
        self.gateway.connect(target);
        cx.emit(SessionEvent::Workspaces);
        cx.notify();
    }

    /// Opens a workspace of the list.
    pub fn open_workspace(&mut self, id: &WorkspaceId, cx: &mut Context<Self>) {
        let Some(workspace) = self.workspaces.iter().find(|workspace| workspace.id == *id) else { return };
        self.workspace = Some(workspace.clone());
        self.start_workspace(cx);
        cx.emit(SessionEvent::Workspaces);
        cx.notify();
    }

    fn start_workspace(&mut self, cx: &mut Context<Self>) {
        self.start_tree(cx);
        if let (Ok(drafts), Some(instance), Some(workspace_id)) =
            (&self.drafts, &self.instance, self.workspace_id())
        {
            match drafts.left(instance, workspace_id) {
                // Drafts are not opened automatically: saving them could start a conflict that the user did
                // not expect.
                0 => {}
                documents => cx.emit(SessionEvent::DraftsLeft(documents)),
            }
        }
    }

    pub fn load_workspaces(&mut self, cx: &mut Context<Self>) {
        let call = self.gateway.call::<WorkspaceList>(WorkspaceListParams::default());
        cx.spawn(async move |this, cx| {
            let answer = call.await.map(|result| result.workspaces);
            this.update(cx, |this, cx| this.workspaces_loaded(answer, cx)).ok();
        })
        .detach();
    }

    fn workspaces_loaded(&mut self, answer: Result<Vec<Workspace>, ClientError>, cx: &mut Context<Self>) {
        let workspaces = match answer {
            Ok(workspaces) => workspaces,
            // The state of the connection already shows this, and the list is requested again after the
            // reconnect.
            Err(ClientError::Lost | ClientError::NotConnected) => return,
            // A rate limit, for example. Without the list the window is useless, so it is requested again.
            Err(error) if error.is_transient() => {
                self.workspaces_timer = Some(cx.spawn(async move |this, cx| {
                    cx.background_executor().timer(WORKSPACES_RETRY_PAUSE).await;
                    this.update(cx, |this, cx| this.load_workspaces(cx)).ok();
                }));
                return;
            }
            Err(error) => {
                cx.emit(SessionEvent::Problem(Failure::from(&error).message));
                return;
            }
        };
        self.workspaces = workspaces;
        let open = self.workspace_id().cloned();
        // The open workspace stays open if it still exists. After an archive by another client the first one
        // takes its place.
        let still = self.workspaces.iter().find(|workspace| Some(&workspace.id) == open.as_ref());
        self.workspace = still.or(self.workspaces.first()).cloned();
        if self.workspace_id().cloned() != open || self.tree.is_none() {
            self.start_workspace(cx);
        } else {
            self.resume_tree(cx);
        }
        cx.emit(SessionEvent::Workspaces);
        cx.notify();
    }
}

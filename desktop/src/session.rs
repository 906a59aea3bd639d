//! What all views share: the way to the gateway, the state of the connection, and the workspace that is open.

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
use crate::drafts::Drafts;
use crate::places::Places;

/// The pause after which workspaces are asked for again.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What an effective document is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    Scope(Scope),
    Thread(ThreadId),
}

/// What the main area can show.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    Document(Scope),
    History(Scope),
    Effective(Subject),
    Thread(ThreadId),
    Prompt(ThreadId),
    Compare,
    Gateways,
}

/// What a view may want to know.
#[derive(Debug, Clone)]
pub enum SessionEvent {
    /// The state of the connection is another one.
    Link,
    /// The list of workspaces, or which one is open.
    Workspaces,
    /// Something happened in the open workspace.
    Notification(Rc<Notification>),
    /// Everything that was read of the workspace has to be read again.
    Reload,
    /// Somebody asks the window to show something.
    Open(Place),
    /// What was asked for could not be done, in words.
    Problem(String),
    /// So many documents of the workspace have text that was typed earlier and not saved.
    DraftsLeft(usize),
}

/// A connection and the workspace that is open.
pub struct Session {
    gateway: Gateway,
    places: Places,
    /// Where drafts are kept; why they cannot be where they cannot.
    drafts: Result<Drafts, String>,
    link: Link,
    instance: Option<InstanceId>,
    workspaces: Vec<Workspace>,
    /// Asks for them again where that failed for now.
    workspaces_timer: Option<Task<()>>,
    workspace: Option<Workspace>,
    tree: Option<LiveTree>,
    /// Wakes the tree where something is to be tried again.
    tree_timer: Option<Task<()>>,
    /// Whether the changes of the open workspace are followed.
    followed: bool,
    _incoming: Task<()>,
}

impl EventEmitter<SessionEvent> for Session {}

impl Session {
    pub fn new(
        gateway: Gateway,
        mut incoming: mpsc::UnboundedReceiver<Incoming>,
        places: Places,
        cx: &mut Context<Self>,
    ) -> Self {
        let task = cx.spawn(async move |this, cx| {
            while let Some(arrived) = incoming.recv().await {
                if this.update(cx, |this, cx| this.receive(arrived, cx)).is_err() {
                    return;
                }
            }
        });
        let drafts = Drafts::open(&places.state).map_err(|error| error.to_string());
        Self {
            gateway,
            places,
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

    pub fn places(&self) -> &Places {
        &self.places
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

    /// The database that the gateway works on; none before the first connection.
    pub fn instance(&self) -> Option<&InstanceId> {
        self.instance.as_ref()
    }

    /// Asks the window to show something.
    pub fn open(&mut self, place: Place, cx: &mut Context<Self>) {
        cx.emit(SessionEvent::Open(place));
    }

    /// Calls a method for a view or a menu: what goes wrong is told in words, what goes well is passed on.
    pub fn ask<M: Method>(
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

    /// Connects to another gateway: nothing that is known holds there.
    pub fn connect(&mut self, target: client::Target, cx: &mut Context<Self>) {
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
            // A lost connection is told by its state, and the list is asked for again when it is back.
            Err(ClientError::Lost | ClientError::NotConnected) => return,
            // Such as too many questions at once: there is no window without a workspace, so it is asked again.
            Err(error) if error.is_transient() => {
                self.workspaces_timer = Some(cx.spawn(async move |this, cx| {
                    cx.background_executor().timer(ASKED_AGAIN_AFTER).await;
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

//! Source of the MCP server's answers in a gateway: our own protocol's methods, called with the client's token.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::SurveyTarget;
use instructions::Resolution;
use instructions::path::normalise;
use mcp_server::{Address, CompareAsked, DocumentAddress, PlaceAsked, Refusal, SaveAsked, Saving, Source};
use protocol::error::{ErrorKind, ErrorObject};
use protocol::method::{
    DocumentGet, DocumentGetResult, DocumentSave, DocumentSaveParams, DocumentSaveResult,
    DocumentScopeParams, InstructionsCompare, InstructionsCompareParams, ThreadTree, ThreadTreeParams,
    WorkspaceList, WorkspaceListParams,
};
use protocol::{Comparison, Folder, FolderId, Method, Workspace};
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Handle;

use crate::access::Actor;
use crate::connection::peer::Peer;
use crate::error::from_agent;
use crate::handler::own_files;
use crate::service::Service;

/// Resources listed per kind; clients can address others through the templates.
const MAX_LISTED: usize = 100;

/// A gateway as one token sees it.
pub(super) struct Hosted {
    service: Arc<Service>,
    actor: Arc<Actor>,
    runtime: Handle,
}

/// Response of our own protocol.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answered<T> {
    Result(T),
    Error(ErrorObject),
}

impl Hosted {
    /// Must be called on the runtime that runs the calls.
    pub(super) fn new(service: Arc<Service>, actor: Arc<Actor>) -> Self {
        Self { service, actor, runtime: Handle::current() }
    }

    /// Calls a method with the client's token.
    fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, Refusal> {
        self.call_as::<M>(&Arc::new(Peer::nested(Arc::clone(&self.actor))), params)
    }

    fn call_as<M: Method>(&self, peer: &Arc<Peer>, params: &M::Params) -> Result<M::Result, Refusal> {
        // The call takes the way of every other client although both ends are in this process: roles, rate limits,
        // metrics and the audit then need no second implementation.
        let text = json!({ "jsonrpc": "2.0", "id": 1, "method": M::NAME, "params": params }).to_string();
        // Blocking is safe, because all of this runs on a thread for blocking work.
        let answer = self.runtime.block_on(rpc::dispatch(&*self.service, peer, &text));
        let frame = answer.frame.ok_or_else(|| Refusal::new("the gateway sent no answer"))?;
        #[derive(Deserialize)]
        struct Response<T> {
            #[serde(flatten)]
            answered: Answered<T>,
        }
        match serde_json::from_str::<Response<M::Result>>(frame.as_str()) {
            Ok(Response { answered: Answered::Result(result) }) => Ok(result),
            Ok(Response { answered: Answered::Error(error) }) => Err(refusal(&error)),
            Err(error) => Err(Refusal::new(format!("failed to read the answer: {error}"))),
        }
    }

    fn workspaces(&self) -> Result<Vec<Workspace>, Refusal> {
        Ok(self.call::<WorkspaceList>(&WorkspaceListParams::default())?.workspaces)
    }

    /// Returns the named workspace, the one that contains `path`, or the only one.
    fn workspace(&self, named: Option<&str>, path: Option<&Path>) -> Result<Workspace, Refusal> {
        let mut workspaces = self.workspaces()?;
        if let Some(named) = named {
            let found = workspaces.iter().position(|workspace| workspace.id.to_string() == named);
            // Ids come before names, so a workspace cannot hide another one by using its id as a name.
            let found = found.or_else(|| workspaces.iter().position(|workspace| workspace.name == named));
            let unknown = || {
                let message = format!("no workspace `{named}` that this token may read");
                refusal(&ErrorObject::new(ErrorKind::NotFound, message))
            };
            return Ok(workspaces.swap_remove(found.ok_or_else(unknown)?));
        }
        if let Some(path) = path.filter(|path| path.is_absolute()) {
            let path = normalise(path, Path::new("/"));
            let root = |workspace: &Workspace| {
                let root = normalise(Path::new(workspace.root_path.as_deref()?), Path::new("/"));
                path.starts_with(&root).then(|| root.components().count())
            };
            let nearest = workspaces.into_iter().filter(|workspace| root(workspace).is_some());
            // Roots may be nested. The innermost one has the most components.
            return nearest.max_by_key(root).ok_or_else(|| {
                let message = format!("{} is not in a workspace that this token may read", path.display());
                refusal(&ErrorObject::new(ErrorKind::Forbidden, message))
            });
        }
        match workspaces.len() {
            1 => Ok(workspaces.swap_remove(0)),
            0 => Err(Refusal::new("no workspace exists yet")),
            _ => {
                let names: Vec<&str> =
                    workspaces.iter().take(MAX_LISTED).map(|workspace| workspace.name.as_str()).collect();
                Err(Refusal::new(format!("`workspace` is missing; it may be {}", names.join(", "))))
            }
        }
    }

    fn scope(&self, document: &DocumentAddress) -> Result<DocumentScopeParams, Refusal> {
        let workspace_id = self.workspace(document.workspace.as_deref(), None)?.id;
        let is_root = |folder: &&str| folder.chars().all(|character| character == '/');
        let Some(named) = document.folder.as_deref().filter(|folder| !is_root(folder)) else {
            return Ok(DocumentScopeParams { workspace_id, folder_id: None });
        };
        let folders =
            self.call::<ThreadTree>(&ThreadTreeParams::without_threads(workspace_id.clone()))?.folders;
        let found =
            folders.iter().find(|folder| folder.id.to_string() == named).map(|folder| folder.id.clone());
        let path: Vec<&str> = named.split('/').filter(|name| !name.is_empty()).collect();
        let folder_id = found
            .or_else(|| below(&folders, &path))
            .ok_or_else(|| refusal(&ErrorObject::new(ErrorKind::NotFound, format!("no folder `{named}`"))))?;
        Ok(DocumentScopeParams { workspace_id, folder_id: Some(folder_id) })
    }
}

/// Returns the folder at a path from the root.
fn below(folders: &[Folder], path: &[&str]) -> Option<FolderId> {
    let mut at = None;
    for name in path {
        let is_next = |folder: &&Folder| folder.parent_folder_id == at && folder.name == *name;
        at = Some(folders.iter().find(is_next)?.id.clone());
    }
    at
}

impl Source for Hosted {
    /// Clients may save if their token may save through our own protocol.
    fn saving(&self) -> Saving {
        if self.actor.role >= DocumentSave::ROLE { Saving::Allowed } else { Saving::Refused }
    }

    fn about_paths(&self) -> &'static str {
        "A directory, or a file in it: absolute, or from the workspace's directory; that directory when absent"
    }

    fn has_workspaces(&self) -> bool {
        true
    }

    fn resolve(&self, place: &PlaceAsked) -> Result<Resolution, Refusal> {
        let workspace = self.workspace(place.workspace.as_deref(), place.path.as_deref())?;
        let path = directory(&workspace, place.path.as_deref())?;
        let place = SurveyTarget {
            file: file(&workspace, place.path.as_deref())?,
            path,
            workspace_id: workspace.id,
            profile: place.profile,
            own_files: own_files(&self.actor),
        };
        let surveyed = self.runtime.block_on(self.service.shared.agent.survey(place));
        surveyed.map_err(|error| refusal(&from_agent(error)))
    }

    fn compare(&self, asked: &CompareAsked) -> Result<Comparison, Refusal> {
        let workspace = self.workspace(asked.workspace.as_deref(), asked.path.as_deref())?;
        self.call::<InstructionsCompare>(&InstructionsCompareParams {
            path: directory(&workspace, asked.path.as_deref())?,
            workspace_id: workspace.id,
            reading: asked.reading.as_deref().map(text).transpose()?,
            agents: Some(asked.agents.iter().map(|agent| agent.name.to_owned()).collect()),
        })
    }

    fn document(&self, document: &DocumentAddress) -> Result<DocumentGetResult, Refusal> {
        self.call::<DocumentGet>(&self.scope(document)?)
    }

    fn save(&self, client: &str, save: SaveAsked) -> Result<DocumentSaveResult, Refusal> {
        let DocumentScopeParams { workspace_id, folder_id } = self.scope(&save.document)?;
        let peer = Peer::nested(Arc::clone(&self.actor));
        peer.set_client(client);
        self.call_as::<DocumentSave>(
            &Arc::new(peer),
            &DocumentSaveParams {
                workspace_id,
                folder_id,
                content: save.content,
                expected_version: Some(save.expected_version),
                save_reason: None,
                message: save.message,
            },
        )
    }

    fn is_open(&self) -> bool {
        // An error means that the database is unavailable, which is no reason to end a subscription.
        let valid = self.service.shared.access.is_still_valid(&self.actor);
        self.runtime.block_on(valid).unwrap_or(true)
    }

    fn addresses(&self) -> Vec<Address> {
        // A token that may not read workspaces has none to list.
        let workspaces = self.workspaces().unwrap_or_default();
        let directories = workspaces.iter().filter_map(|workspace| workspace.root_path.as_deref());
        let directories = directories.map(|root| Address::Effective(PathBuf::from(root))).take(MAX_LISTED);
        let documents = workspaces.iter().take(MAX_LISTED).map(|workspace| {
            Address::Document(DocumentAddress { workspace: Some(workspace.name.clone()), folder: None })
        });
        directories.chain(documents).collect()
    }
}

/// Returns the nearest existing directory of a workspace: the path may name a file that is about to be created.
fn directory(workspace: &Workspace, path: Option<&Path>) -> Result<Option<String>, Refusal> {
    let (Some(path), Some(root)) = (path, workspace.root_path.as_deref()) else {
        return path.map(text).transpose();
    };
    let path = normalise(path, Path::new(root));
    let mut inside: Vec<&Path> = path.ancestors().take_while(|above| above.starts_with(root)).collect();
    inside.reverse();
    let mut nearest = inside.first().copied().unwrap_or(&path);
    let real_root = Path::new(root).canonicalize();
    for above in inside {
        match (above.canonicalize(), &real_root) {
            // Refused where the link is: whether anything exists behind it must not show in the answer.
            (Ok(real), Ok(real_root)) if !real.starts_with(real_root) => {
                let message = format!("{} is outside the workspace {root}", path.display());
                return Err(refusal(&ErrorObject::new(ErrorKind::Forbidden, message)));
            }
            (Ok(real), _) if real.is_dir() => nearest = above,
            _ => break,
        }
    }
    text(nearest).map(Some)
}

/// Returns the named file of a workspace, or `None` if it is a directory.
fn file(workspace: &Workspace, path: Option<&Path>) -> Result<Option<String>, Refusal> {
    let (Some(path), Some(root)) = (path, workspace.root_path.as_deref()) else { return Ok(None) };
    let path = normalise(path, Path::new(root));
    if path.is_dir() { Ok(None) } else { text(&path).map(Some) }
}

fn text(path: &Path) -> Result<String, Refusal> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Refusal::new(format!("{} is not UTF-8", path.display())))
}

/// Converts an error of our protocol for the model and for programs.
fn refusal(error: &ErrorObject) -> Refusal {
    let hint = error.data.as_ref().and_then(|data| data.hint.as_deref());
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    Refusal { message: format!("{}{hint}", error.message), data: serde_json::to_value(error).ok() }
}

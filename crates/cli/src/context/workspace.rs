//! Lookup of workspaces, by name or by the current directory.

use std::path::Path;

use client::Client;
use protocol::Workspace;
use protocol::method::{WorkspaceList, WorkspaceListParams, WorkspaceListResult};

use super::names::{self, Candidate, WORKSPACE};
use crate::arguments::InWorkspace;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::shown_name;
use crate::output::terminal::time;
use crate::shell_quote::shell_word;

impl Context {
    /// Returns the named workspace, else the one whose root contains the current directory, else the only one.
    pub(crate) async fn workspace(&self, client: &Client, named: &InWorkspace) -> Result<Workspace, Failure> {
        let workspaces = client.call::<WorkspaceList>(&WorkspaceListParams::default()).await?.workspaces;
        let named = named.workspace.as_ref().or(self.configuration.sections().client.workspace.as_ref());
        match named {
            Some(named) => find(named, workspaces),
            None => match here(workspaces) {
                Ok(workspace) => Ok(workspace),
                Err(failure) => Err(hint_of_archived(client, failure).await),
            },
        }
    }

    /// Returns an archived workspace by name.
    pub(crate) async fn archived_workspace(
        &self,
        client: &Client,
        named: &str,
    ) -> Result<Workspace, Failure> {
        let params = WorkspaceListParams { archived: true };
        let archived = client.call::<WorkspaceList>(&params).await?.workspaces;
        let names: Vec<String> = archived.iter().map(|workspace| workspace.name.clone()).collect();
        let found = names::choose(WORKSPACE, named, candidates(archived))?;
        found.ok_or_else(|| {
            let mut failure = names::unknown(WORKSPACE, named, names.iter().map(String::as_str));
            failure.message = format!("there is no archived workspace `{named}`");
            failure.hints.pop();
            failure.hint("list archived workspaces with `foreword workspace list --archived`")
        })
    }
}

/// Adds a hint if the workspace of the current directory is archived.
async fn hint_of_archived(client: &Client, failure: Failure) -> Failure {
    // The hint is optional, so every problem on the way to it is ignored.
    let Ok(cwd) = std::env::current_dir() else { return failure };
    let listed = client.call::<WorkspaceList>(&WorkspaceListParams { archived: true }).await;
    let Ok(WorkspaceListResult { mut workspaces, .. }) = listed else { return failure };
    // Suggest the most recently archived workspace of the directory.
    workspaces.sort_by_key(|workspace| std::cmp::Reverse(workspace.archived_at));
    let holds =
        |workspace: &&Workspace| workspace.root_path.as_ref().is_some_and(|root| cwd.starts_with(root));
    let Some(archived) = workspaces.iter().find(holds) else { return failure };
    failure.hint(format!(
        "`{}`, the workspace of this directory, is archived; restore it with `foreword workspace restore {}`",
        shown_name(&archived.name),
        archived.id
    ))
}

/// Returns the workspace with this name.
fn find(named: &str, workspaces: Vec<Workspace>) -> Result<Workspace, Failure> {
    let names: Vec<String> = workspaces.iter().map(|workspace| workspace.name.clone()).collect();
    let found = names::choose(WORKSPACE, named, candidates(workspaces))?;
    found.ok_or_else(|| names::unknown(WORKSPACE, named, names.iter().map(String::as_str)))
}

fn candidates(workspaces: Vec<Workspace>) -> Vec<Candidate<Workspace>> {
    let candidates = workspaces.into_iter().map(|workspace| Candidate {
        id: workspace.id.to_string(),
        name: workspace.name.clone(),
        title: None,
        about: about(&workspace),
        value: workspace,
    });
    candidates.collect()
}

/// Returns what distinguishes an archived workspace from others of its name. Active workspaces have unique names.
fn about(workspace: &Workspace) -> Option<String> {
    let archived = format!("archived {}", time(workspace.archived_at?));
    let root = workspace.root_path.as_deref().map(shown_name);
    Some(root.map_or_else(|| archived.clone(), |root| format!("{archived}, of {root}")))
}

/// Returns the workspace of the current directory, else the only one.
fn here(mut workspaces: Vec<Workspace>) -> Result<Workspace, Failure> {
    // With a single workspace the directory does not matter, so that commands work from anywhere.
    if workspaces.len() > 1
        && let Ok(cwd) = std::env::current_dir()
        && let Some(index) = holding(&cwd, &workspaces)
    {
        return Ok(workspaces.swap_remove(index));
    }
    match workspaces.len() {
        1 => Ok(workspaces.remove(0)),
        0 => Err(Failure::usage("no workspace exists yet")
            .hint("create one with `foreword workspace create NAME`")),
        _ => {
            let names: Vec<&str> = workspaces.iter().map(|workspace| workspace.name.as_str()).collect();
            Err(Failure::usage(format!("there are several workspaces: {}", names.join(", "))).hint(format!(
                "add `-w {}`, set FOREWORD_WORKSPACE, or change to the directory of one",
                shell_word(names.first().copied().unwrap_or_default())
            )))
        }
    }
}

/// Returns the workspace with the nearest root above a directory. `None` if there is none, or if two share it.
fn holding(cwd: &Path, workspaces: &[Workspace]) -> Option<usize> {
    let depth = |root: &str| cwd.starts_with(root).then(|| Path::new(root).components().count());
    let depths: Vec<Option<usize>> =
        workspaces.iter().map(|workspace| workspace.root_path.as_deref().and_then(depth)).collect();
    let nearest = depths.iter().flatten().max()?;
    let mut at = (0..depths.len()).filter(|index| depths[*index].as_ref() == Some(nearest));
    let first = at.next()?;
    at.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use protocol::{Timestamp, WorkspaceId};

    use super::*;

    fn workspace(name: &str, root_path: Option<&str>) -> Workspace {
        let created_at = Timestamp::now();
        let root_path = root_path.map(str::to_owned);
        let name = name.to_owned();
        let id = WorkspaceId::new();
        Workspace { id, name, root_path, agents: None, created_at, updated_at: created_at, archived_at: None }
    }

    #[test]
    fn the_nearest_root_above_wins() {
        let workspaces =
            [workspace("none", None), workspace("outer", Some("/src")), workspace("inner", Some("/src/web"))];
        let held = |path: &str| holding(Path::new(path), &workspaces);
        assert_eq!(held("/src/web/a"), Some(2));
        assert_eq!(held("/src/webs"), Some(1));
        assert_eq!(held("/other"), None);
    }

    #[test]
    fn two_workspaces_with_one_root_are_ambiguous() {
        let workspaces = [workspace("one", Some("/src")), workspace("two", Some("/src"))];
        assert_eq!(holding(Path::new("/src"), &workspaces), None);
    }
}

//! `foreword workspace`.

use protocol::Workspace as WorkspaceRecord;
use protocol::method::{
    WorkspaceArchive, WorkspaceCreate, WorkspaceCreateParams, WorkspaceGetParams, WorkspaceList,
    WorkspaceListParams, WorkspaceRestore, WorkspaceResult, WorkspaceUpdate, WorkspaceUpdateParams,
};

use crate::arguments::{InWorkspace, Workspace};
use crate::context::{Context, absolute_directory};
use crate::failure::{Exit, Failure};
use crate::output::table;
use crate::output::terminal::time;

pub(crate) async fn run(context: Context, command: Workspace) -> Result<Exit, Failure> {
    let output = context.output;
    match command {
        Workspace::Create { name, root } => {
            // The directory is checked locally before anything is created.
            let root_path = root.as_deref().map(absolute_directory).transpose()?;
            let client = context.connect().await?;
            let params = WorkspaceCreateParams { name, root_path, agents: None };
            let result = client.call::<WorkspaceCreate>(&params).await?;
            output.data(&result, || format!("{}\n", result.workspace.id))?;
            output.note(format!("created workspace `{}`", result.workspace.name));
        }
        Workspace::List { archived } => {
            let result =
                context.connect().await?.call::<WorkspaceList>(&WorkspaceListParams { archived }).await?;
            output.data(&result, || {
                let rows = result.workspaces.iter().map(|workspace| {
                    vec![
                        workspace.name.clone(),
                        workspace.id.to_string(),
                        workspace.root_path.clone().unwrap_or_else(|| "-".to_owned()),
                    ]
                });
                table(&["name", "id", "root"], rows)
            })?;
            if result.workspaces.is_empty() && archived {
                output.note("no workspace is archived");
            } else if result.workspaces.is_empty() {
                output.note("no workspace exists yet; create one with `foreword workspace create NAME`");
            }
        }
        Workspace::Get { workspace } => {
            let client = context.connect().await?;
            let workspace = context.workspace(&client, &InWorkspace { workspace }).await?;
            let result = WorkspaceResult { workspace };
            output.data(&result, || describe(&result.workspace))?;
        }
        Workspace::Update { workspace, name, root } => {
            let root_path = root.as_deref().map(absolute_directory).transpose()?;
            // Checked before connecting, so that the mistake is reported even if no gateway is running.
            if name.is_none() && root_path.is_none() {
                return Err(Failure::usage("nothing to change").hint("give --name or --root"));
            }
            let client = context.connect().await?;
            let workspace_id =
                context.workspace(&client, &InWorkspace { workspace: Some(workspace) }).await?.id;
            let params = WorkspaceUpdateParams { workspace_id, name, root_path, agents: None };
            let result = client.call::<WorkspaceUpdate>(&params).await?;
            output.data(&result, String::new)?;
            let WorkspaceRecord { name, root_path, .. } = &result.workspace;
            let root = root_path.as_ref().map_or("no root".to_owned(), |root| format!("the root {root}"));
            output.note(format!("workspace `{name}` now has {root}"));
        }
        Workspace::Archive { workspace } => {
            let client = context.connect().await?;
            let found = context.workspace(&client, &InWorkspace { workspace: Some(workspace) }).await?;
            let params = WorkspaceGetParams { workspace_id: found.id };
            let result = client.call::<WorkspaceArchive>(&params).await?;
            output.data(&result, String::new)?;
            output.note(format!(
                "archived workspace `{}`; `foreword workspace restore {}` brings it back",
                found.name, params.workspace_id
            ));
        }
        Workspace::Restore { workspace } => {
            let client = context.connect().await?;
            let workspace_id = context.archived_workspace(&client, &workspace).await?.id;
            let params = WorkspaceGetParams { workspace_id };
            let result = client.call::<WorkspaceRestore>(&params).await?;
            output.data(&result, String::new)?;
            output.note(format!("restored workspace `{}`", result.workspace.name));
        }
    }
    Ok(Exit::Done)
}

fn describe(workspace: &WorkspaceRecord) -> String {
    let root = workspace.root_path.as_deref().unwrap_or("-");
    format!(
        "name     {}\nid       {}\nroot     {root}\ncreated  {}\nupdated  {}\n",
        workspace.name,
        workspace.id,
        time(workspace.created_at),
        time(workspace.updated_at)
    )
}

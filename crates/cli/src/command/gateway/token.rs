//! `foreword token`.

use std::collections::HashMap;

use client::Client;
use protocol::local::OWNER_TOKEN_FILE;
use protocol::method::{
    TokenCreate, TokenCreateParams, TokenList, TokenListParams, TokenRevoke, TokenRevokeParams,
    WorkspaceList, WorkspaceListParams,
};
use protocol::{AccessToken, Role, Timestamp, WorkspaceId};

use crate::arguments::{InWorkspace, Token};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::terminal::time;
use crate::output::{shown_name, table};

pub(crate) async fn run(context: Context, command: Token) -> Result<Exit, Failure> {
    let output = context.output;
    let client = context.connect().await?;
    match command {
        Token::Create { name, role, workspace, expires } => {
            let workspace_id = match workspace {
                Some(workspace) => {
                    Some(context.workspace(&client, &InWorkspace { workspace: Some(workspace) }).await?.id)
                }
                None => None,
            };
            let expires_at = expires.map(|expiry| expiry.from(Timestamp::now()));
            let params = TokenCreateParams { name, role, workspace_id, expires_at };
            let result = client.call::<TokenCreate>(&params).await?;
            // The secret is the only data on standard output, so that a script can capture it.
            output.data(&result, || format!("{}\n", result.secret))?;
            output.note(format!(
                "made token `{}` with the role {}; this is the only time its secret is shown",
                shown_name(&result.token.name),
                result.token.role
            ));
        }
        Token::List => {
            let result = client.call::<TokenList>(&TokenListParams {}).await?;
            let now = Timestamp::now();
            let names = workspace_names(&client).await?;
            output.data(&result, || {
                let rows = result.tokens.iter().map(|token| {
                    vec![
                        shown_name(&token.name),
                        token.role.to_string(),
                        token.workspace_id.as_ref().map_or("all".to_owned(), |id| {
                            names.get(id).cloned().unwrap_or_else(|| id.to_string())
                        }),
                        time(token.created_at),
                        token.created_by.as_deref().map_or_else(|| "-".to_owned(), shown_name),
                        state(token, now),
                    ]
                });
                table(&["name", "role", "workspace", "created", "by", "state"], rows)
            })?;
        }
        Token::Revoke { name, yes } => {
            if !yes {
                refuse_last_owner(&client, &name).await?;
            }
            let result = client.call::<TokenRevoke>(&TokenRevokeParams { name }).await?;
            output.data(&result, String::new)?;
            output.note(format!("revoked token `{}`", shown_name(&result.token.name)));
        }
    }
    Ok(Exit::Done)
}

/// Refuses to revoke the only token that can make others.
async fn refuse_last_owner(client: &Client, name: &str) -> Result<(), Failure> {
    let tokens = client.call::<TokenList>(&TokenListParams {}).await?.tokens;
    if !is_last_owner(&tokens, name, Timestamp::now()) {
        return Ok(());
    }
    let failure = Failure::new(Exit::CheckFailed, format!("`{}` is the last valid owner", shown_name(name)));
    Err(failure
        .hint("make another one first: foreword token create NAME --role owner")
        .hint(format!(
            "--yes revokes it anyway; to get a new one, delete {OWNER_TOKEN_FILE} in the gateway's data directory and restart it"
        )))
}

/// Returns true if no other valid token of an owner without a workspace exists.
fn is_last_owner(tokens: &[AccessToken], name: &str, now: Timestamp) -> bool {
    let is_owner = |token: &&AccessToken| {
        let is_expired = token.expires_at.is_some_and(|at| at <= now);
        token.role == Role::Owner && token.workspace_id.is_none() && token.revoked_at.is_none() && !is_expired
    };
    let mut owners = tokens.iter().filter(is_owner);
    owners.clone().any(|token| token.name == name) && owners.all(|token| token.name == name)
}

/// Returns the names of all workspaces, including archived ones.
async fn workspace_names(client: &Client) -> Result<HashMap<WorkspaceId, String>, Failure> {
    let mut names = HashMap::new();
    // A token may be restricted to a workspace that has been archived since.
    for archived in [true, false] {
        let listed = client.call::<WorkspaceList>(&WorkspaceListParams { archived }).await?;
        names.extend(listed.workspaces.into_iter().map(|workspace| (workspace.id, workspace.name)));
    }
    Ok(names)
}

fn state(token: &AccessToken, now: Timestamp) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", time(at)),
        (None, Some(at)) if at <= now => format!("expired {}", time(at)),
        (None, Some(at)) => format!("valid, expires {}", time(at)),
        (None, None) => "valid".to_owned(),
    }
}

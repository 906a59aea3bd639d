//! `foreword token`.

use protocol::method::{
    TokenCreate, TokenCreateParams, TokenList, TokenListParams, TokenRevoke, TokenRevokeParams,
};

use crate::arguments::{InWorkspace, Token};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::table;

pub(crate) async fn run(context: Context, command: Token) -> Result<Exit, Failure> {
    let output = context.output;
    let client = context.connect().await?;
    match command {
        Token::Create { name, role, workspace } => {
            let workspace_id = match workspace {
                Some(workspace) => {
                    Some(context.workspace(&client, &InWorkspace { workspace: Some(workspace) }).await?.id)
                }
                None => None,
            };
            let result = client.call::<TokenCreate>(&TokenCreateParams { name, role, workspace_id }).await?;
            output.data(&result, || format!("{}\n", result.secret))?;
            output.note(format!(
                "made token `{}` with the role {}; this is the only time its secret is shown",
                result.token.name, result.token.role
            ));
        }
        Token::List => {
            let result = client.call::<TokenList>(&TokenListParams {}).await?;
            output.data(&result, || {
                let rows = result.tokens.iter().map(|token| {
                    vec![
                        token.name.clone(),
                        token.role.to_string(),
                        token.workspace_id.as_ref().map_or("all".to_owned(), ToString::to_string),
                        token.created_at.to_string(),
                        token.created_by.clone().unwrap_or_else(|| "-".to_owned()),
                        token.revoked_at.map_or("valid".to_owned(), |at| format!("revoked {at}")),
                    ]
                });
                table(&["name", "role", "workspace", "created", "by", "state"], rows)
            })?;
        }
        Token::Revoke { name } => {
            let result = client.call::<TokenRevoke>(&TokenRevokeParams { name }).await?;
            output.data(&result, String::new)?;
            output.note(format!("revoked token `{}`", result.token.name));
        }
    }
    Ok(Exit::Done)
}

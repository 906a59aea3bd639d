//! Routing of methods to handlers.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use protocol::error::ErrorObject;
use protocol::{Method, Params, Role};
use rpc::Reply;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::connection::peer::Peer;
use crate::error::{invalid_params, needs_role, other_workspace};
use crate::service::Shared;

/// The state of the gateway and the caller, for a handler.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) peer: Arc<Peer>,
}

impl Context {
    /// Returns the name recorded in `created_by` and similar fields.
    pub(crate) fn actor(&self) -> Option<&str> {
        Some(&self.peer.actor.name)
    }

    /// Returns the owner whose private memory items are visible.
    pub(crate) fn memory_reader(&self) -> Option<&str> {
        self.peer.actor.reach().memory_owner(self.actor())
    }
}

type AnswerFuture = Pin<Box<dyn Future<Output = Result<Reply, ErrorObject>> + Send>>;
type Handler = Box<dyn Fn(Context, Option<&RawValue>) -> Result<AnswerFuture, ErrorObject> + Send + Sync>;

#[derive(Default)]
pub(crate) struct Router {
    handlers: HashMap<&'static str, (Role, Handler)>,
}

impl Router {
    pub(crate) fn on<M: Method, F>(self, handler: fn(Context, M::Params) -> F) -> Self
    where
        F: Future<Output = Result<M::Result, ErrorObject>> + Send + 'static,
    {
        self.on_reply::<M, _>(move |context, params| {
            let answer = handler(context, params);
            async move { answer.await.map(Reply::new) }
        })
    }

    /// Adds a handler that runs code after its answer was queued.
    pub(crate) fn on_reply<M: Method, F>(
        mut self,
        handler: impl Fn(Context, M::Params) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Reply, ErrorObject>> + Send + 'static,
    {
        let answer = move |context: Context, params: Option<&RawValue>| {
            let params: M::Params = parse(params)?;
            if let Some(workspace_id) = params.workspace_id()
                && !context.peer.actor.reaches(workspace_id)
            {
                return Err(other_workspace(Some(workspace_id)));
            }
            Ok(Box::pin(handler(context, params)) as AnswerFuture)
        };
        self.handlers.insert(M::NAME, (M::ROLE, Box::new(answer)));
        self
    }

    #[cfg(test)]
    pub(crate) fn methods(&self) -> impl Iterator<Item = &'static str> {
        self.handlers.keys().copied()
    }

    /// Runs a method after checking that it exists and that the caller's role allows it.
    pub(crate) async fn call(
        &self,
        context: Context,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Reply, ErrorObject> {
        // The role is checked before the parameters: a caller that may not use a method gets the same error whatever it
        // sends.
        let (needed, handler) = self.handlers.get(method).ok_or_else(|| rpc::no_method(method))?;
        if context.peer.actor.role < *needed {
            return Err(needs_role(method, *needed, context.peer.actor.role));
        }
        handler(context, params)?.await
    }
}

/// Parses named parameters. Missing parameters are treated as an empty object.
fn parse<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, ErrorObject> {
    let text = params.map_or("{}", RawValue::get);
    if !text.starts_with('{') {
        return Err(invalid_params("parameters are named: `params` must be an object, not an array"));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().to_string();
        // Drops serde's line and column: the client sent an object, not a text with lines.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        invalid_params(if path == "." { message.to_owned() } else { format!("`{path}`: {message}") })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::method::{DocumentSaveParams, FolderGetParams, WorkspaceCreateParams};

    fn refused<P: DeserializeOwned>(text: &str) -> String {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        match parse::<P>(Some(&raw)) {
            Ok(_) => panic!("accepted {text}"),
            Err(error) => error.message,
        }
    }

    #[test]
    fn bad_parameters_say_which_and_why() {
        assert_eq!(
            refused::<FolderGetParams>(r#"{"workspace_id":"w","folder_id":""}"#),
            "`folder_id`: an id must not be blank"
        );
        assert_eq!(refused::<FolderGetParams>(r#"{"workspace_id":"w"}"#), "missing field `folder_id`");
        assert_eq!(
            refused::<FolderGetParams>(r#"{"workspace_id":7,"folder_id":"f"}"#),
            "`workspace_id`: invalid type: integer `7`, expected a string"
        );
        assert!(
            refused::<FolderGetParams>(r#"{"workspace_id":"w","folder_id":"f","x":1}"#)
                .contains("unknown field `x`")
        );
        assert!(refused::<FolderGetParams>("[]").contains("must be an object"));
        assert!(
            refused::<WorkspaceCreateParams>(r#"{"name":"w","agents":{"root":{"mark":[]}}}"#)
                .starts_with("`agents.root.mark`: unknown field `mark`")
        );
        assert!(
            refused::<DocumentSaveParams>(r#"{"workspace_id":"w","content":"","expected_version":-1}"#)
                .starts_with("`expected_version`: invalid value: integer `-1`")
        );
    }
}

//! `turn/…` and `session/…`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use agent::TurnListener;
use futures_util::future::BoxFuture;
use mcp::UnusableServer;
use protocol::error::{ErrorKind, ErrorObject, ErrorSubject};
use protocol::hook::Visibility;
use protocol::limits::{DEFAULT_HISTORY_LIMIT, MAX_HISTORY_LIMIT, TURN_PAGE_BYTES};
use protocol::method::{
    SessionGetParams, SessionGetResult, SessionResumeParams, SessionResumeResult, TurnApproveParams,
    TurnApproveResult, TurnExplainResult, TurnGetParams, TurnGetResult, TurnListParams, TurnListResult,
    TurnPageParams, TurnResult, TurnStart, TurnStartParams,
};
use protocol::notification::{TurnDelta, TurnRetrying};
use protocol::{Hint as _, HowDecided, Method as _, Role, TokenReach, TurnId};
use rpc::Outgoing;
use serde::Serialize;
use store::{ApprovalAnswer, TurnActor};

use crate::error::{checked_limit, from_agent, from_store, invalid_params};
use crate::handler::turn_page;
use crate::router::Context;

pub(crate) async fn start(context: Context, params: TurnStartParams) -> Result<TurnResult, ErrorObject> {
    let servers = &context.shared.servers;
    let bound_to = context.peer.actor.workspace_id.as_ref();
    // Checked before the turn exists, so that a wrong name is an error of this call and not a turn that fails later.
    for name in &params.mcp {
        servers.find(name, &params.workspace_id, bound_to).map_err(|unusable| no_server(name, &unusable))?;
    }
    let outgoing = context.peer.outgoing().cloned();
    let listener = Arc::new(ConnectionListener { outgoing, number: context.peer.number });
    let caller = &context.peer.actor;
    let actor = TurnActor {
        name: Some(caller.name.clone()),
        token_id: caller.token_id.clone(),
        parent_turn_id: None,
    };
    let reach = caller.reach();
    let turn = context.shared.agent.start_turn(params, actor, reach, listener).await.map_err(from_agent)?;
    Ok(TurnResult { turn })
}

/// Returns the error for a requested MCP server that the turn cannot use.
fn no_server(name: &str, unusable: &UnusableServer) -> ErrorObject {
    let kind = match unusable {
        UnusableServer::Unknown { .. } => ErrorKind::NotFound,
        UnusableServer::OtherWorkspace { .. } => ErrorKind::Forbidden,
    };
    ErrorObject::with(kind, unusable.to_string(), |data| {
        data.what = Some(ErrorSubject::McpServer);
        data.id = Some(name.to_owned());
        data.hint = unusable.hint().map(Cow::into_owned);
    })
}

pub(crate) async fn get(context: Context, params: TurnPageParams) -> Result<TurnGetResult, ErrorObject> {
    let TurnPageParams { workspace_id, turn_id, after } = params;
    let agent = &context.shared.agent;
    let reader = context.memory_reader();
    let mut turn = agent.turn_view_for(&workspace_id, &turn_id, reader).await.map_err(from_agent)?;
    turn_page::cut(&mut turn, after.unwrap_or(0), TURN_PAGE_BYTES);
    Ok(turn)
}

pub(crate) async fn list(context: Context, params: TurnListParams) -> Result<TurnListResult, ErrorObject> {
    let limit = checked_limit(params.limit.unwrap_or(DEFAULT_HISTORY_LIMIT), MAX_HISTORY_LIMIT)?;
    let turns = match (&params.thread_id, params.before) {
        (Some(thread_id), before) => {
            let agent = &context.shared.agent;
            agent.turns(&params.workspace_id, thread_id, limit.into(), before).await.map_err(from_agent)?
        }
        (None, None) => {
            let store = &context.shared.store;
            store.latest_turns(&params.workspace_id, limit.into()).await.map_err(from_store)?
        }
        (None, Some(_)) => {
            let message = "`before` counts the turns of a thread: give `thread_id` too";
            return Err(invalid_params(message.to_owned()));
        }
    };
    Ok(TurnListResult { turns })
}

pub(crate) async fn cancel(context: Context, params: TurnGetParams) -> Result<TurnResult, ErrorObject> {
    let agent = &context.shared.agent;
    let cancelled = agent.cancel_turn(&params.workspace_id, &params.turn_id, context.actor()).await;
    cancelled.map_err(from_agent)?;
    let view = agent.turn_view(&params.workspace_id, &params.turn_id).await.map_err(from_agent)?;
    Ok(TurnResult { turn: view.turn })
}

pub(crate) async fn approve(
    context: Context,
    params: TurnApproveParams,
) -> Result<TurnApproveResult, ErrorObject> {
    let TurnApproveParams { workspace_id, turn_id, call_id, allow, digest, how } = params;
    let agent = &context.shared.agent;
    let actor = context.actor().map(str::to_owned);
    // The model's identity applies to every workspace, so a decision about it needs more than a right to this one.
    let is_unbound_owner =
        context.peer.actor.role == Role::Owner && context.peer.actor.reach() == TokenReach::Everything;
    if !is_unbound_owner
        && agent.asks_about_identity(&workspace_id, &turn_id, &call_id).await.map_err(from_agent)?
    {
        let message = "only an owner whose token is for all workspaces decides about the model's identity";
        return Err(ErrorObject::new(ErrorKind::Forbidden, message.to_owned()));
    }
    let is_possible = match how {
        HowDecided::Asked | HowDecided::Standing | HowDecided::Flag => true,
        HowDecided::Unattended => !allow,
        HowDecided::Expired => false,
    };
    if !is_possible {
        let message = "`how` does not fit: `unattended` is a denial, and `expired` is the gateway's own";
        return Err(invalid_params(message.to_owned()));
    }
    let answer = ApprovalAnswer { allow, digest, how, actor };
    let allowed = agent.approve(&workspace_id, &turn_id, &call_id, answer).await;
    Ok(TurnApproveResult { allowed: allowed.map_err(from_agent)? })
}

pub(crate) async fn explain(
    context: Context,
    params: TurnGetParams,
) -> Result<TurnExplainResult, ErrorObject> {
    let explained = context.shared.agent.explain(&params.workspace_id, &params.turn_id).await;
    let mut explanation = explained.map_err(from_agent)?;
    let role = context.peer.actor.role;
    agent::hide_notes_of_others(&mut explanation.rounds, context.memory_reader());
    explanation.hooks.retain(|run| role >= may_see(run.visibility));
    Ok(TurnExplainResult { explanation })
}

/// Returns the weakest role that may see a hook's runs.
pub(crate) fn may_see(visibility: Visibility) -> Role {
    match visibility {
        Visibility::Internal => Role::Owner,
        // Callers that may run turns may also debug them.
        Visibility::Debug => TurnStart::ROLE,
        Visibility::User => Role::Reader,
    }
}

pub(crate) async fn session(
    context: Context,
    params: SessionGetParams,
) -> Result<SessionGetResult, ErrorObject> {
    let found = context.shared.agent.thread_session(&params.workspace_id, &params.thread_id).await;
    Ok(SessionGetResult { session: found.map_err(from_agent)? })
}

pub(crate) async fn resume(
    context: Context,
    params: SessionResumeParams,
) -> Result<SessionResumeResult, ErrorObject> {
    let SessionResumeParams { workspace_id, thread_id, cwd } = params;
    let found = context.shared.agent.resume(&workspace_id, &thread_id, cwd.as_deref()).await;
    let (session, reminder) = found.map_err(from_agent)?;
    Ok(SessionResumeResult { session, reminder: reminder.as_ref().map(agent::turn_reminder) })
}

/// Forwards deltas to the connection that started the turn, while it is open.
struct ConnectionListener {
    outgoing: Option<Outgoing>,
    number: u64,
}

impl ConnectionListener {
    /// Sends a notification. A client that does not read is dropped by its own queue; the turn continues.
    async fn tell(&self, method: &str, params: &impl Serialize) {
        let Some(outgoing) = self.outgoing.as_ref().filter(|outgoing| !outgoing.is_gone()) else { return };
        if let Ok(frame) = rpc::notification(method, params) {
            outgoing.send(frame).await;
        }
    }
}

impl TurnListener for ConnectionListener {
    fn delta<'a>(&'a self, turn_id: &'a TurnId, index: u64, text: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.tell(TurnDelta::NAME, &delta(turn_id, index, text)).await;
        })
    }

    fn retrying<'a>(
        &'a self,
        turn_id: &'a TurnId,
        attempt: u32,
        delay: Duration,
        message: &'a str,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.tell(TurnRetrying::NAME, &retrying(turn_id, attempt, delay, message)).await;
        })
    }

    fn is_gone(&self) -> bool {
        // A client that has closed its side is still sent its answers, but it no longer waits for a turn that has not
        // begun.
        self.outgoing.as_ref().is_some_and(|outgoing| outgoing.is_gone() || outgoing.has_left())
    }

    fn recipient(&self) -> Option<u64> {
        Some(self.number)
    }
}

pub(crate) fn delta(turn_id: &TurnId, index: u64, text: &str) -> TurnDelta {
    TurnDelta { turn_id: turn_id.clone(), index, text: text.to_owned() }
}

pub(crate) fn retrying(turn_id: &TurnId, attempt: u32, delay: Duration, message: &str) -> TurnRetrying {
    TurnRetrying {
        turn_id: turn_id.clone(),
        attempt,
        delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
        message: message.to_owned(),
    }
}

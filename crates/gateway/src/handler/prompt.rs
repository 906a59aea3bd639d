//! `prompt/…` and `turn/manifest`.

use std::borrow::Cow;

use agent::{AgentError, PromptRequest, SessionStart};
use prompt::RebuildError;
use protocol::error::{ErrorData, ErrorKind, ErrorSubject, Hint as _, InternalReason};
use protocol::method::{
    PromptDiffParams, PromptDiffResult, PromptPreviewParams, PromptRebuildParams, PromptResult,
    TurnGetParams, TurnManifestResult,
};
use protocol::prompt::PromptManifest;
use rpc::Error;

use crate::error::{error, from_store};
use crate::handler::turn::may_see;
use crate::router::Context;

pub(crate) async fn preview(context: Context, params: PromptPreviewParams) -> Result<PromptResult, Error> {
    let request = PromptRequest {
        workspace_id: params.workspace_id,
        thread_id: params.thread_id,
        turn_id: None,
        cwd: params.cwd,
        input: params.input,
        actor: context.actor().map(str::to_owned),
        reach: context.peer.actor.reach(),
    };
    let preview = context.shared.agent.preview(&request, session_start(params.fresh)).await;
    let mut result: PromptResult = preview.map_err(from_agent)?.into();
    hide_hooks(&context, &mut result.manifest);
    Ok(result)
}

/// Leaves out of a manifest the hooks that the caller may not know of.
fn hide_hooks(context: &Context, manifest: &mut PromptManifest) {
    let (agent, role) = (&context.shared.agent, context.peer.actor.role);
    manifest.hook_sources.retain(|source| role >= may_see(agent.hook_visibility(&source.subscription_id)));
}

pub(crate) async fn diff(context: Context, params: PromptDiffParams) -> Result<PromptDiffResult, Error> {
    let agent = &context.shared.agent;
    let workspace_id = &params.workspace_id;
    agent.turn_of_thread(workspace_id, &params.thread_id, &params.turn_id).await.map_err(from_agent)?;
    let before = agent.manifest(workspace_id, &params.turn_id, None).await.map_err(from_agent)?;
    let (blame, frozen) = match &params.other_turn_id {
        Some(other) => {
            agent.turn_of_thread(workspace_id, &params.thread_id, other).await.map_err(from_agent)?;
            let after = agent.manifest(workspace_id, other, None).await.map_err(from_agent)?;
            (agent.blame(workspace_id, &before, &after, None).await, None)
        }
        None => {
            let request = PromptRequest {
                workspace_id: workspace_id.clone(),
                thread_id: params.thread_id,
                turn_id: None,
                cwd: params.cwd,
                input: None,
                actor: context.actor().map(str::to_owned),
                reach: context.peer.actor.reach(),
            };
            let preview = agent.preview(&request, session_start(params.fresh)).await.map_err(from_agent)?;
            let next = &preview.compiled;
            let blame = agent.blame(workspace_id, &before, &next.manifest, Some(next)).await;
            (blame, preview.frozen)
        }
    };
    Ok(PromptDiffResult { blame: blame.map_err(from_agent)?, frozen })
}

fn session_start(fresh: bool) -> SessionStart {
    if fresh { SessionStart::Fresh } else { SessionStart::Thread }
}

pub(crate) async fn rebuild(context: Context, params: PromptRebuildParams) -> Result<PromptResult, Error> {
    let agent = &context.shared.agent;
    let manifest =
        agent.manifest(&params.workspace_id, &params.turn_id, params.round).await.map_err(from_agent)?;
    let rebuilt = agent.rebuild(&params.workspace_id, &manifest).await.map_err(from_agent)?;
    let mut shown = manifest;
    hide_hooks(&context, &mut shown);
    Ok(PromptResult {
        manifest: shown,
        stable_text: rebuilt.stable_text,
        session_text: rebuilt.session_text,
        user_text: rebuilt.user_text,
        turn_text: rebuilt.turn_text,
        full_text: rebuilt.full_text,
        sizes: None,
        tools: Vec::new(),
        frozen: None,
    })
}

pub(crate) async fn manifest(context: Context, params: TurnGetParams) -> Result<TurnManifestResult, Error> {
    let found = context.shared.agent.rounds(&params.workspace_id, &params.turn_id).await;
    let (mut manifests, rounds) = found.map_err(from_agent)?;
    manifests.iter_mut().for_each(|round| hide_hooks(&context, &mut round.manifest));
    Ok(TurnManifestResult { manifests, rounds })
}

/// What the agent said, for the wire.
pub(crate) fn from_agent(failure: AgentError) -> Error {
    let kind = match &failure {
        AgentError::Hook(_) => ErrorKind::HookFailed,
        AgentError::OutsideWorkspace { .. } | AgentError::RootOutsideWorkspace { .. } => ErrorKind::Forbidden,
        AgentError::Files(_)
        | AgentError::NoDirectory
        | AgentError::Directory { .. }
        | AgentError::Tools(_)
        | AgentError::Toolbox(_)
        | AgentError::LeaseLost
        | AgentError::GatewayGone
        | AgentError::ShutDown
        | AgentError::Refused
        | AgentError::OnlyCalls
        | AgentError::CutCall { .. }
        | AgentError::Withdrawn
        | AgentError::Panicked
        | AgentError::TooLong { .. } => ErrorKind::InvalidState,
        AgentError::NoInput | AgentError::ModelName(_) | AgentError::OtherThread { .. } => {
            ErrorKind::InvalidParams
        }
        AgentError::NoModel | AgentError::NoAnswer | AgentError::Provider(_) => ErrorKind::ProviderFailed,
        // Named by the caller: with a default model of no provider, no gateway starts.
        AgentError::UnknownProvider(_)
        | AgentError::NoManifest { .. }
        | AgentError::Rebuild(RebuildError::Missing { .. }) => ErrorKind::NotFound,
        AgentError::TooManyTurns { .. } | AgentError::QueueFull { .. } | AgentError::TokensSpent { .. } => {
            ErrorKind::LimitReached
        }
        AgentError::Store(_) | AgentError::Rebuild(_) => ErrorKind::InternalError,
    };
    if let AgentError::Store(failure) = failure {
        return from_store(failure);
    }
    if kind == ErrorKind::InternalError {
        tracing::error!(error = %failure, "what is stored cannot be used");
    }
    error(kind, failure.to_string(), |data| {
        data.hint = failure.hint().map(Cow::into_owned);
        add_details(data, &failure);
    })
}

/// What an error's kind adds for programs.
fn add_details(data: &mut ErrorData, failure: &AgentError) {
    match failure {
        AgentError::Hook(hooks::HookError::Failed { hook_id, phase, .. }) => {
            data.hook_id = Some(hook_id.clone());
            data.phase = Some(phase.name().to_owned());
        }
        AgentError::NoModel | AgentError::NoAnswer => data.retryable = Some(false),
        AgentError::TooManyTurns { limit } | AgentError::QueueFull { limit } => {
            data.what = Some(ErrorSubject::Turns);
            data.limit = Some(*limit as u64);
        }
        AgentError::TokensSpent { limit } => {
            data.what = Some(ErrorSubject::TokensPerDay);
            data.limit = Some(*limit);
        }
        AgentError::UnknownProvider(failure) => {
            data.what = Some(ErrorSubject::Provider);
            data.id = Some(failure.provider.clone());
        }
        AgentError::Provider(failure) => {
            data.provider = Some(failure.provider.clone());
            data.status = failure.status;
            data.retryable = Some(failure.retryable);
        }
        AgentError::NoManifest { turn_id, .. } => {
            data.what = Some(ErrorSubject::Manifest);
            data.id = Some(turn_id.to_string());
        }
        AgentError::Rebuild(RebuildError::Missing { sha256, .. }) => {
            data.what = Some(ErrorSubject::PromptText);
            data.id = Some(sha256.to_string());
        }
        AgentError::Rebuild(_) => data.reason = Some(InternalReason::PromptAltered),
        _ => {}
    }
}

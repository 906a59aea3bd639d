//! `prompt/…` and `turn/manifest`.

use agent::{AgentError, PromptRequest};
use prompt::RebuildError;
use protocol::error::ErrorKind;
use protocol::method::{
    PromptDiffParams, PromptDiffResult, PromptPreviewParams, PromptRebuildParams, PromptResult,
    RoundManifest, TurnGetParams, TurnManifestResult,
};
use rpc::Error;

use crate::error::{error, from_store, internal, invalid_state};
use crate::router::Context;

pub(crate) async fn preview(context: Context, params: PromptPreviewParams) -> Result<PromptResult, Error> {
    let request = PromptRequest {
        workspace_id: params.workspace_id,
        thread_id: params.thread_id,
        turn_id: None,
        cwd: params.cwd,
        input: params.input,
        actor: context.actor().map(str::to_owned),
    };
    let compiled = context.shared.agent.prepare(&request).await.map_err(from_agent)?.compiled;
    Ok(PromptResult {
        manifest: compiled.manifest,
        stable_text: compiled.stable_text,
        session_text: compiled.session_text,
        turn_text: compiled.turn_text,
        full_text: compiled.full_text,
    })
}

pub(crate) async fn diff(context: Context, params: PromptDiffParams) -> Result<PromptDiffResult, Error> {
    let agent = &context.shared.agent;
    let workspace_id = &params.workspace_id;
    agent.turn_of_thread(workspace_id, &params.thread_id, &params.turn_id).await.map_err(from_agent)?;
    let before = agent.manifest(workspace_id, &params.turn_id, None).await.map_err(from_agent)?;
    let blame = match &params.other_turn_id {
        Some(other) => {
            agent.turn_of_thread(workspace_id, &params.thread_id, other).await.map_err(from_agent)?;
            let after = agent.manifest(workspace_id, other, None).await.map_err(from_agent)?;
            agent.blame(workspace_id, &before, &after, None).await
        }
        None => {
            let request = PromptRequest {
                workspace_id: workspace_id.clone(),
                thread_id: params.thread_id,
                turn_id: None,
                cwd: params.cwd,
                input: None,
                actor: context.actor().map(str::to_owned),
            };
            let next = agent.prepare(&request).await.map_err(from_agent)?.compiled;
            agent.blame(workspace_id, &before, &next.manifest, Some(&next)).await
        }
    };
    Ok(PromptDiffResult { blame: blame.map_err(from_agent)? })
}

pub(crate) async fn rebuild(context: Context, params: PromptRebuildParams) -> Result<PromptResult, Error> {
    let agent = &context.shared.agent;
    let manifest =
        agent.manifest(&params.workspace_id, &params.turn_id, params.round).await.map_err(from_agent)?;
    let rebuilt = agent.rebuild(&params.workspace_id, &manifest).await.map_err(from_agent)?;
    Ok(PromptResult {
        manifest,
        stable_text: rebuilt.stable_text,
        session_text: rebuilt.session_text,
        turn_text: rebuilt.turn_text,
        full_text: rebuilt.full_text,
    })
}

pub(crate) async fn manifest(context: Context, params: TurnGetParams) -> Result<TurnManifestResult, Error> {
    let found = context.shared.store.manifests(&params.workspace_id, &params.turn_id).await;
    let manifests = found.map_err(from_store)?.into_iter().map(|round| {
        let manifest = serde_json::from_value(round.manifest).map_err(unreadable)?;
        Ok(RoundManifest { round: round.round, manifest })
    });
    Ok(TurnManifestResult { manifests: manifests.collect::<Result<_, Error>>()? })
}

fn unreadable(failure: serde_json::Error) -> Error {
    tracing::error!(error = %failure, "a manifest cannot be read");
    internal("a manifest cannot be read; the gateway's log has the details", "manifest")
}

/// What the agent said, for the wire.
pub(crate) fn from_agent(failure: AgentError) -> Error {
    let message = failure.to_string();
    match failure {
        AgentError::Store(failure) => from_store(failure),
        AgentError::Hook(hooks::HookError::Failed { hook_id, phase, .. }) => {
            error(ErrorKind::HookFailed, message, |data| {
                data.hook_id = Some(hook_id);
                data.phase = Some(phase.name().to_owned());
            })
        }
        AgentError::Hook(_) => error(ErrorKind::HookFailed, message, |_| {}),
        AgentError::OutsideWorkspace { .. } | AgentError::RootOutsideWorkspace { .. } => {
            error(ErrorKind::Forbidden, message, |_| {})
        }
        AgentError::Files(_)
        | AgentError::NoDirectory
        | AgentError::Directory { .. }
        | AgentError::Tools(_)
        | AgentError::Toolbox(_)
        | AgentError::LeaseLost
        | AgentError::ShutDown
        | AgentError::Refused
        | AgentError::OnlyCalls
        | AgentError::Withdrawn
        | AgentError::Panicked
        | AgentError::TooLong { .. } => invalid_state(message),
        AgentError::NoInput | AgentError::ModelName(_) | AgentError::OtherThread { .. } => {
            Error::invalid_params(message)
        }
        AgentError::NoModel | AgentError::NoAnswer => {
            error(ErrorKind::ProviderFailed, message, |data| data.retryable = Some(false))
        }
        AgentError::Provider(failure) => error(ErrorKind::ProviderFailed, message, |data| {
            data.provider = Some(failure.provider);
            data.status = failure.status;
            data.retryable = Some(failure.retryable);
        }),
        AgentError::Stored { .. } => {
            tracing::error!(error = %message, "what is stored cannot be read");
            internal(message, "stored")
        }
        AgentError::NoManifest { turn_id, .. } => error(ErrorKind::NotFound, message, |data| {
            data.what = Some("manifest".to_owned());
            data.id = Some(turn_id);
        }),
        AgentError::Rebuild(RebuildError::Missing { sha256, .. }) => {
            error(ErrorKind::NotFound, message, |data| {
                data.what = Some("prompt_text".to_owned());
                data.id = Some(sha256.to_string());
            })
        }
        AgentError::Rebuild(_) => {
            tracing::error!(error = %message, "a kept text is not the one that was sent");
            internal(message, "prompt_altered")
        }
    }
}

//! `prompt/…`, `turn/manifest` and `turn/request`.

use agent::{PromptRequest, RebuiltRequest, SessionStart};
use protocol::error::{ErrorKind, ErrorObject};
use protocol::method::{
    PromptDiffParams, PromptDiffResult, PromptPreviewParams, PromptRebuildParams, PromptResult,
    TurnGetParams, TurnManifestResult, TurnRequestResult,
};
use protocol::prompt::PromptManifest;
use protocol::round::{ExplainedRound, SentRequest};
use protocol::{ThreadId, TurnScope, WorkspaceId};

use crate::error::from_agent;
use crate::handler::turn::may_see;
use crate::router::Context;

pub(crate) async fn preview(
    context: Context,
    params: PromptPreviewParams,
) -> Result<PromptResult, ErrorObject> {
    let scope = TurnScope {
        input: params.input,
        context: params.context,
        skills: params.skills,
        ..caller_scope(&context, params.workspace_id, params.thread_id)
    };
    let request = PromptRequest { scope, cwd: params.cwd };
    let preview = context.shared.agent.preview(&request, session_start(params.fresh)).await;
    let mut result: PromptResult = preview.map_err(from_agent)?.into();
    hide_hooks(&context, &mut result.manifest);
    Ok(result)
}

/// Removes hooks from a manifest that the caller's role may not see.
fn hide_hooks(context: &Context, manifest: &mut PromptManifest) {
    let agent = &context.shared.agent;
    let role = context.peer.actor.role;
    manifest.hook_sources.retain(|source| role >= may_see(agent.hook_visibility(&source.subscription_id)));
}

pub(crate) async fn diff(
    context: Context,
    params: PromptDiffParams,
) -> Result<PromptDiffResult, ErrorObject> {
    let agent = &context.shared.agent;
    let reader = context.memory_reader();
    let workspace_id = &params.workspace_id;
    // Turns of different threads have different prompts for many reasons, so comparing them would blame the wrong one.
    // The second turn is checked in the same way.
    agent.turn_of_thread(workspace_id, &params.thread_id, &params.turn_id).await.map_err(from_agent)?;
    let before = agent.manifest(workspace_id, &params.turn_id, None).await.map_err(from_agent)?;
    let (blame, frozen) = match &params.other_turn_id {
        Some(other) => {
            agent.turn_of_thread(workspace_id, &params.thread_id, other).await.map_err(from_agent)?;
            let after = agent.manifest(workspace_id, other, None).await.map_err(from_agent)?;
            (agent.blame(workspace_id, &before, &after, None, reader).await, None)
        }
        None => {
            let scope = caller_scope(&context, workspace_id.clone(), params.thread_id);
            let request = PromptRequest { scope, cwd: params.cwd };
            let preview = agent.preview(&request, session_start(params.fresh)).await.map_err(from_agent)?;
            let next = &preview.compiled;
            let blame = agent.blame(workspace_id, &before, &next.manifest, Some(next), reader).await;
            (blame, preview.frozen)
        }
    };
    Ok(PromptDiffResult { blame: blame.map_err(from_agent)?, frozen })
}

/// Returns the scope of a thread's next turn if the caller started it.
fn caller_scope(context: &Context, workspace_id: WorkspaceId, thread_id: ThreadId) -> TurnScope {
    TurnScope {
        actor: context.actor().map(str::to_owned),
        reach: context.peer.actor.reach(),
        ..TurnScope::new(workspace_id, thread_id)
    }
}

fn session_start(fresh: bool) -> SessionStart {
    if fresh { SessionStart::Fresh } else { SessionStart::Thread }
}

pub(crate) async fn rebuild(
    context: Context,
    params: PromptRebuildParams,
) -> Result<PromptResult, ErrorObject> {
    let agent = &context.shared.agent;
    let manifest =
        agent.manifest(&params.workspace_id, &params.turn_id, params.round).await.map_err(from_agent)?;
    if let Some(owner) = agent::memory_of_another(&manifest, context.memory_reader()) {
        let message = format!(
            "this prompt has what `{owner}` has remembered for themselves, and only they can have it rebuilt"
        );
        return Err(ErrorObject::new(ErrorKind::Forbidden, message));
    }
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
        root_fallback: None,
    })
}

pub(crate) async fn request(
    context: Context,
    params: PromptRebuildParams,
) -> Result<TurnRequestResult, ErrorObject> {
    let PromptRebuildParams { workspace_id, turn_id, round } = params;
    let agent = &context.shared.agent;
    let rebuilt = agent.rebuild_request(&workspace_id, &turn_id, round, context.memory_reader()).await;
    let RebuiltRequest { record, body } = rebuilt.map_err(from_agent)?;
    let SentRequest { round, api, model, sha256, bytes, .. } = record;
    Ok(TurnRequestResult { round, api, model, sha256, bytes, body })
}

pub(crate) async fn manifest(
    context: Context,
    params: TurnGetParams,
) -> Result<TurnManifestResult, ErrorObject> {
    let found = context.shared.agent.rounds(&params.workspace_id, &params.turn_id).await;
    let (mut manifests, mut rounds) = found.map_err(from_agent)?;
    rounds.iter_mut().for_each(ExplainedRound::remove_texts);
    manifests.iter_mut().for_each(|round| hide_hooks(&context, &mut round.manifest));
    Ok(TurnManifestResult { manifests, rounds })
}

//! `instructions/compare`.

use agent::{CompareTarget, OwnFiles};
use protocol::error::ErrorObject;
use protocol::method::{Comparison, InstructionsCompareParams};
use protocol::{Role, TokenReach};

use crate::access::Actor;
use crate::error::{from_agent, invalid_params};
use crate::router::Context;

pub(crate) async fn compare(
    context: Context,
    params: InstructionsCompareParams,
) -> Result<Comparison, ErrorObject> {
    let names = params.agents.as_deref();
    let agents = compare::agents(names).map_err(|error| invalid_params(format!("`agents`: {error}")))?;
    let place = CompareTarget {
        workspace_id: params.workspace_id,
        path: params.path,
        reading: params.reading,
        agents,
        own_files: own_files(&context.peer.actor),
    };
    context.shared.agent.compare(place).await.map_err(from_agent)
}

/// Returns whether an actor may see files of the user who runs the gateway: only unbound owners may.
pub(crate) fn own_files(actor: &Actor) -> OwnFiles {
    let is_unbound_owner = actor.role == Role::Owner && actor.reach() == TokenReach::Everything;
    if is_unbound_owner { OwnFiles::Shown } else { OwnFiles::Hidden }
}

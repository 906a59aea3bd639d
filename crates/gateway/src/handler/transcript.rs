//! `transcript/why`.

use agent::WhyTarget;
use protocol::error::{ErrorKind, ErrorObject};
use protocol::method::{TranscriptWhyParams, WhyReport};
use transcripts::{RuleError, Search, WhyError};

use crate::error::{from_agent, invalid_params};
use crate::handler::own_files;
use crate::router::Context;

pub(crate) async fn why(context: Context, params: TranscriptWhyParams) -> Result<WhyReport, ErrorObject> {
    let search = params.when.as_deref().map(Search::parse).transpose();
    let target = WhyTarget {
        workspace_id: params.workspace_id,
        thread_id: params.thread_id,
        rule: params.rule,
        search: search.map_err(|error| invalid_params(format!("`when`: {error}")))?,
        own_files: own_files(&context.peer.actor),
    };
    let report = context.shared.agent.why(target).await.map_err(from_agent)?;
    report.map_err(|error| {
        let kind = match error {
            WhyError::Rule(RuleError::NotFound { .. } | RuleError::File { .. }) => ErrorKind::NotFound,
            _ => ErrorKind::InvalidParams,
        };
        ErrorObject::with(kind, error.to_string(), |data| data.hint = Some(error.hint()))
    })
}
